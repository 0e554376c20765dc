// SPDX-License-Identifier: Apache-2.0
#include "peers.hpp"

#include <cstdlib>
#include <string>

#include <dlfcn.h>

namespace vyre::bench {

const VyreCudaPeers* cuda_peers(const char** why) {
  static std::string reason;
  static const VyreCudaPeers* const kFound = []() -> const VyreCudaPeers* {
    const char* const path = std::getenv("VYRE_CUDA_PEERS");
    if (path == nullptr) {
      reason = "VYRE_CUDA_PEERS names no library (bench/cuda/peers.cu, made by nvcc)";
      return nullptr;
    }
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      reason = dlerror();
      return nullptr;
    }
    using Table = const VyreCudaPeers* (*)();
    const auto table = reinterpret_cast<Table>(dlsym(library, "vyre_cuda_peers"));
    if (table == nullptr) {
      reason = "it has no vyre_cuda_peers";
      return nullptr;
    }
    return table();
  }();
  *why = reason.c_str();
  return kFound;
}

}  // namespace vyre::bench
