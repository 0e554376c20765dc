// SPDX-License-Identifier: Apache-2.0
// The numbers of random(n,lo,hi): splitmix64 from a seed and a buffer's name, so that an input does
// not depend on the others, and integer arithmetic only, so that it is the same on every platform.
#pragma once

#include <cstdint>
#include <string_view>

namespace vyre::cli {

class Random {
 public:
  Random(uint64_t seed, std::string_view name);

  uint64_t next();
  // 0 to bound - 1, all equally likely; a bound of 0 stands for 2^64.
  uint64_t below(uint64_t bound);

 private:
  uint64_t state_;
};

}  // namespace vyre::cli
