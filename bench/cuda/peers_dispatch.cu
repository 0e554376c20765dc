// SPDX-License-Identifier: Apache-2.0
// Small launches: alone, many, with a few bytes there and back, as a graph.
#include <cudaTypedefs.h>

#include <map>
#include <tuple>

#include "peers.cuh"

namespace peers {
namespace {

__global__ void small(uint32_t* d) {
  d[threadIdx.x] = d[threadIdx.x] * 2 + 1;
}

// The driver's own calls: the runtime's go through them.
struct Driver {
  PFN_cuLaunchKernel_v4000 launch = nullptr;
  PFN_cuStreamSynchronize_v2000 synchronize = nullptr;
  CUfunction small_kernel = nullptr;

  Driver() {
    const auto find = [](const char* name, void** to) {
      must(cudaGetDriverEntryPointByVersion(name, to, 12000, cudaEnableDefault, nullptr));
    };
    find("cuLaunchKernel", reinterpret_cast<void**>(&launch));
    find("cuStreamSynchronize", reinterpret_cast<void**>(&synchronize));
    cudaFunction_t function = nullptr;
    must(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(small)));
    small_kernel = function;
  }
  void launch_small(uint32_t* d) const {
    void* arguments[] = {&d};
    if (launch(small_kernel, 1, 1, 1, 64, 1, 1, 0, stream(), arguments, nullptr) != CUDA_SUCCESS)
      std::abort();
  }
};
const Driver& driver() {
  static const Driver kDriver;
  return kDriver;
}

void launch(void* const* d, const uint32_t*) {
  begin();
  small<<<1, 64, 0, stream()>>>(at<uint32_t>(d, 0));
  done();
}
void launch_driver(void* const* d, const uint32_t*) {
  driver().launch_small(at<uint32_t>(d, 0));
  if (driver().synchronize(stream()) != CUDA_SUCCESS) std::abort();
}
// Each call takes the next one of as many buffers as its number says.
void launch_other(void* const* d, const uint32_t* n) {
  static std::map<uint32_t, uint32_t> next;  // of each row
  driver().launch_small(at<uint32_t>(d, static_cast<int>(next[n[0]]++ % n[0])));
  if (driver().synchronize(stream()) != CUDA_SUCCESS) std::abort();
}
// Number: how many, without a wait in between.
void launch_many(void* const* d, const uint32_t* n) {
  for (uint32_t i = 0; i < n[0]; ++i) driver().launch_small(at<uint32_t>(d, 0));
  if (driver().synchronize(stream()) != CUDA_SUCCESS) std::abort();
}
// 256 bytes up, a launch, 256 bytes back, through pinned memory.
void launch_bytes(void* const* d, const uint32_t*) {
  static uint32_t* host = nullptr;
  if (host == nullptr) {
    must(cudaMallocHost(&host, 256));
    for (int i = 0; i < 64; ++i) host[i] = 0;
  }
  must(cudaMemcpyAsync(d[0], host, 256, cudaMemcpyHostToDevice, stream()));
  driver().launch_small(at<uint32_t>(d, 0));
  must(cudaMemcpyAsync(host, d[0], 256, cudaMemcpyDeviceToHost, stream()));
  must(cudaStreamSynchronize(stream()));
}
// Numbers: kernels of the graph, launches of it.
void graph_many(void* const* d, const uint32_t* n) {
  static std::map<std::tuple<void*, uint32_t>, cudaGraphExec_t> graphs;
  cudaGraphExec_t& graph = graphs[{d[0], n[0]}];
  if (graph == nullptr)
    graph = graph_of([&] {
      for (uint32_t i = 0; i < n[0]; ++i) small<<<1, 64, 0, stream()>>>(at<uint32_t>(d, 0));
    });
  begin();
  for (uint32_t i = 0; i < n[1]; ++i) must(cudaGraphLaunch(graph, stream()));
  done();
}

constexpr Named kRuns[] = {
    {"launch", launch},           {"launch_driver", launch_driver}, {"launch_other", launch_other},
    {"launch_many", launch_many}, {"launch_bytes", launch_bytes},   {"graph_many", graph_many},
};

}  // namespace

List dispatch_runs() {
  return {kRuns, std::size(kRuns)};
}

}  // namespace peers
