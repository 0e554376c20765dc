// SPDX-License-Identifier: Apache-2.0
// SplitMix64: small, and unlike the distributions of <random> the same on every library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vyre::property {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  // 0 <= result < n, n > 0; the bias of the remainder does not matter for tests.
  uint64_t below(uint64_t n) { return next() % n; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <class List>
  const auto& pick(const List& list) {
    return list[static_cast<size_t>(below(list.size()))];
  }

 private:
  uint64_t state_;
};

}  // namespace vyre::property
