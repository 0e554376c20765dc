// SPDX-License-Identifier: Apache-2.0
#include "peers.hpp"

#include <cstdlib>
#include <string>

#include <dlfcn.h>

#include "rows.hpp"

namespace vyre::bench {

const VyreCudaPeers* cuda_peers(const char** why) {
  static std::string reason;
  static const VyreCudaPeers* const kFound = []() -> const VyreCudaPeers* {
    const char* const path = std::getenv("VYRE_CUDA_PEERS");
    if (path == nullptr) {
      reason = "VYRE_CUDA_PEERS names no library (bench/cuda/peers*.cu, made by nvcc)";
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

void add_peer(Case& c, std::string name, std::string variant, Goal goal, PeerRun run,
              std::function<Agreement()> compare) {
  const char* why = nullptr;
  const VyreCudaPeers* const peers = cuda_peers(&why);
  Peer peer{.name = std::move(name), .variant = std::move(variant), .goal = goal};
  if (peers == nullptr) {
    peer.unavailable = why;
    c.peers.push_back(std::move(peer));
    return;
  }
  const VyreCudaRun function = peers->find(run.function);
  if (function == nullptr)
    throw Failed(std::string("the library of the peers has no ") + run.function);
  const auto call = [function, run] {
    std::vector<void*> at;
    at.reserve(run.buffers.size());
    for (const PeerMemory& buffer : run.buffers) at.push_back(buffer->at());
    function(at.data(), run.numbers.data());
  };
  peer.run = call;
  peer.compare = std::move(compare);
  if (run.on_device)
    peer.device = [peers, call] {
      peers->set_timers(1);
      call();
      peers->set_timers(0);
      return peers->device_ns();
    };
  c.peers.push_back(std::move(peer));
}

}  // namespace vyre::bench
