// SPDX-License-Identifier: Apache-2.0
#include "cli/values_random.hpp"

namespace vyre::cli {
namespace {

constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

// Mixed twice: seeds and names that differ in one bit must not give streams that are shifted
// copies of each other.
Random::Random(uint64_t seed, std::string_view name)
    : state_(mix(mix(seed + kStep) ^ fnv1a(name))) {}

uint64_t Random::next() {
  state_ += kStep;
  return mix(state_);
}

// The high half of next() * bound; products whose low half falls below 2^64 mod bound are drawn
// again, which leaves every result the same number of draws.
uint64_t Random::below(uint64_t bound) {
  if (bound == 0) return next();
  const uint64_t surplus = -bound % bound;
  while (true) {
    const unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
    if (static_cast<uint64_t>(product) >= surplus) return static_cast<uint64_t>(product >> 64);
  }
}

}  // namespace vyre::cli
