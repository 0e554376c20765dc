// SPDX-License-Identifier: Apache-2.0
// From a source to a result with NVRTC, which is loaded when it is wanted.
#include <dlfcn.h>

#include <string>

#include "peers.cuh"

namespace peers {
namespace {

struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*binary_size)(Program, size_t*);
  int (*binary)(Program, char*);
  int (*ptx_size)(Program, size_t*);
  int (*ptx)(Program, char*);
  int (*destroy)(Program*);
  std::string missing;

  Nvrtc() {
    void* library = nullptr;
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                             "/usr/local/cuda/lib64/libnvrtc.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      missing = "no libnvrtc";
      return;
    }
    const auto find = [&](auto& to, const char* name) {
      to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(library, name));
      if (to == nullptr) missing = std::string("libnvrtc has no ") + name;
    };
    find(create, "nvrtcCreateProgram");
    find(compile, "nvrtcCompileProgram");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(binary_size, "nvrtcGetCUBINSize");
    find(binary, "nvrtcGetCUBIN");
    find(ptx_size, "nvrtcGetPTXSize");
    find(ptx, "nvrtcGetPTX");
    find(destroy, "nvrtcDestroyProgram");
  }
};
const Nvrtc& nvrtc() {
  static const Nvrtc kNvrtc;
  return kNvrtc;
}

}  // namespace

void make_context() {
  must(cudaFree(nullptr));
  (void)stream();
}

const char* why_no_compiler() {
  return nvrtc().missing.empty() ? nullptr : nvrtc().missing.c_str();
}

size_t compile(const char* source, int to_binary, char** code) {
  const Nvrtc& n = nvrtc();
  int major = 0;
  int minor = 0;
  must(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  must(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  const std::string architecture = std::string("--gpu-architecture=") +
                                   (to_binary != 0 ? "sm_" : "compute_") + std::to_string(major) +
                                   std::to_string(minor);
  const char* const options[] = {architecture.c_str(), "--fmad=false"};
  Nvrtc::Program program = nullptr;
  if (n.create(&program, source, "peer.cu", 0, nullptr, nullptr) != 0) return 0;
  size_t bytes = 0;
  if (n.compile(program, 2, options) != 0) {
    n.log_size(program, &bytes);
    std::string log(bytes, ' ');
    n.log(program, log.data());
    std::fprintf(stderr, "peers_cold.cu: %s\n", log.c_str());
    n.destroy(&program);
    return 0;
  }
  (to_binary != 0 ? n.binary_size : n.ptx_size)(program, &bytes);
  *code = static_cast<char*>(std::malloc(bytes));
  (to_binary != 0 ? n.binary : n.ptx)(program, *code);
  n.destroy(&program);
  return bytes;
}
void drop(char* code) {
  std::free(code);
}

void run_code(const void* code, const VyreCudaPeers::Call* call) {
  cudaLibrary_t library = nullptr;
  must(cudaLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0));
  cudaKernel_t kernel = nullptr;
  must(cudaLibraryGetKernel(&kernel, library, call->kernel));
  char* d = nullptr;  // a, b and o in one piece
  const size_t room = (call->bytes + 255) / 256 * 256;
  must(cudaMalloc(&d, 3 * room));
  must(cudaMemcpyAsync(d, call->a, call->bytes, cudaMemcpyHostToDevice, stream()));
  must(cudaMemcpyAsync(d + room, call->b, call->bytes, cudaMemcpyHostToDevice, stream()));
  void* a = d;
  void* b = d + room;
  void* o = d + 2 * room;
  uint32_t n = call->n;
  void* arguments[] = {&a, &b, &o, &n};
  must(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(call->grid[0], call->grid[1]),
                        dim3(call->block[0], call->block[1]), arguments, 0, stream()));
  must(cudaMemcpyAsync(call->o, o, call->bytes, cudaMemcpyDeviceToHost, stream()));
  must(cudaStreamSynchronize(stream()));
  must(cudaFree(d));
  must(cudaLibraryUnload(library));
}

}  // namespace peers
