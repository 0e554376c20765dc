// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "harness.hpp"
#include "peers.hpp"

namespace vyre::bench {

void pass_rows(Bench& bench);
void stream_rows(Bench& bench);
void dispatch_rows(Bench& bench);
void graph_rows(Bench& bench);
void reduce_rows(Bench& bench);

// Memory of the peers' side.
class PeerBuffer {
 public:
  PeerBuffer(const VyreCudaPeers& peers, size_t bytes) : peers_(peers), at_(peers.allocate(bytes)) {
    if (at_ == nullptr) throw Failed("the GPU has no memory left for the peer");
  }
  PeerBuffer(const PeerBuffer&) = delete;
  PeerBuffer& operator=(const PeerBuffer&) = delete;
  ~PeerBuffer() { peers_.release(at_); }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(at_);
  }
  template <class R>
  void upload(const R& values) {
    const auto bytes = std::as_bytes(std::span(values));
    peers_.upload(at_, bytes.data(), bytes.size());
  }
  template <class T>
  [[nodiscard]] std::vector<T> read(size_t count) const {
    std::vector<T> values(count);
    peers_.download(values.data(), at_, count * sizeof(T));
    return values;
  }

 private:
  const VyreCudaPeers& peers_;
  void* at_;
};

// `make` says what to run and how to compare; without the library the row says why it is empty.
template <class Make>
void add_peer(Case& c, std::string name, std::string variant, Goal goal, Make make) {
  const char* why = nullptr;
  const VyreCudaPeers* const peers = cuda_peers(&why);
  Peer peer{.name = std::move(name), .variant = std::move(variant), .goal = goal};
  if (peers == nullptr)
    peer.unavailable = why;
  else
    std::tie(peer.run, peer.compare) = make(*peers);
  c.peers.push_back(std::move(peer));
}
using Sides = std::tuple<std::function<void()>, std::function<Agreement()>>;

inline std::vector<uint32_t> random_words(size_t n, uint32_t seed) {
  std::vector<uint32_t> words(n);
  uint32_t x = seed * 2654435761U + 1;
  for (uint32_t& w : words) w = x = x * 1664525U + 1013904223U;
  return words;
}

}  // namespace vyre::bench
