// SPDX-License-Identifier: Apache-2.0
// The rows, by goal, and what they share: the peers' buffers and runs.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "harness.hpp"
#include "peers.hpp"

namespace vyre::bench {

void pass_rows(Bench& bench);      // G1
void stream_rows(Bench& bench);    // G2
void corpus_rows(Bench& bench);    // G3
void dispatch_rows(Bench& bench);  // G4
void sequence_rows(Bench& bench);  // G5
void cold_rows(Bench& bench);      // G6
void cached_rows(Bench& bench);    // G7
void graph_rows(Bench& bench);     // G8
void reduce_rows(Bench& bench);    // G9
void phase_rows(Bench& bench);     // G10

// What a process that cold_rows and cached_rows have started does, in place of rows; its exit code.
int run_child(int argc, char** argv);
inline constexpr const char* kChildFlag = "--child";

// Memory of the peers' side, zeros at first. Without the library there is none, and nobody asks.
class PeerBuffer {
 public:
  explicit PeerBuffer(size_t bytes) {
    const char* why = nullptr;
    peers_ = cuda_peers(&why);
    if (peers_ == nullptr) return;
    at_ = peers_->allocate(bytes);
    if (at_ == nullptr) throw Failed("the GPU has no memory left for the peer");
  }
  PeerBuffer(const PeerBuffer&) = delete;
  PeerBuffer& operator=(const PeerBuffer&) = delete;
  ~PeerBuffer() {
    if (at_ != nullptr) peers_->release(at_);
  }
  [[nodiscard]] void* at() const { return at_; }
  template <class R>
  void upload(const R& values) {
    const auto bytes = std::as_bytes(std::span(values));
    if (at_ != nullptr) peers_->upload(at_, bytes.data(), bytes.size());
  }
  template <class T>
  [[nodiscard]] std::vector<T> read(size_t count) const {
    std::vector<T> values(count);
    peers_->download(values.data(), at_, count * sizeof(T));
    return values;
  }

 private:
  const VyreCudaPeers* peers_ = nullptr;
  void* at_ = nullptr;
};
using PeerMemory = std::shared_ptr<PeerBuffer>;

inline PeerMemory peer_room(size_t bytes) {
  return std::make_shared<PeerBuffer>(bytes);
}
template <class R>
PeerMemory peer_data(const R& values) {
  PeerMemory made = peer_room(std::as_bytes(std::span(values)).size());
  made->upload(values);
  return made;
}

// What a peer runs: a name of peers*.cu, its buffers and numbers.
struct PeerRun {
  const char* function;
  std::vector<PeerMemory> buffers;
  std::vector<uint32_t> numbers{};
  bool on_device = true;  // whether it knows its time on the device
};
// Without the library the row says why it is empty.
void add_peer(Case& c, std::string name, std::string variant, Goal goal, PeerRun run,
              std::function<Agreement()> compare = nullptr);
// For a goal that needs no peer.
inline void add_absolute(Case& c, Goal goal) {
  c.peers.push_back({.name = "-", .goal = goal, .unavailable = "-"});
}

// Ours, with its time on the device.
inline Case case_of(const std::shared_ptr<Ours>& ours) {
  return {.ours = [ours] { ours->run(); }, .device = [ours] { return ours->device_ns(); }};
}
// Whether a result on the device has the same bits on both sides.
template <class T>
std::function<Agreement()> same(const std::shared_ptr<Ours>& ours, const std::string& name,
                                const PeerMemory& theirs, size_t count) {
  return [=] { return equal_values<T>(ours->read<T>(name), theirs->template read<T>(count)); };
}

inline std::vector<uint32_t> random_words(size_t n, uint32_t seed) {
  std::vector<uint32_t> words(n);
  uint32_t x = seed * 2654435761U + 1;
  for (uint32_t& w : words) w = x = x * 1664525U + 1013904223U;
  return words;
}
// From 0 to 1.
inline std::vector<float> random_floats(size_t n, uint32_t seed) {
  std::vector<float> values(n);
  uint32_t x = seed * 2654435761U + 1;
  for (float& v : values) {
    x = x * 1664525U + 1013904223U;
    v = static_cast<float>(x >> 8) * 0x1p-24F;
  }
  return values;
}
// "2^28" or the number itself.
inline std::string count_text(uint64_t n) {
  for (uint32_t bits = 10; bits < 40; ++bits)
    if (n == uint64_t{1} << bits) return "2^" + std::to_string(bits);
  return std::to_string(n);
}

}  // namespace vyre::bench
