// SPDX-License-Identifier: Apache-2.0
// Several short copies and fills as one launch. In a graph a copy between host and device takes 3
// to 5 us, since another engine does it; a kernel that reads or writes pinned memory takes 1 to 2
// us for all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/code.hpp"
#include "backend/cuda/command_sink.hpp"
#include "backend/cuda/gpu.hpp"
#include "vyre/base/result.hpp"

namespace vyre::backend::cuda {

// As the kernel reads it.
struct BatchedCopy {
  DeviceAddress to = 0;
  DeviceAddress from = 0;  // 0: `value` is stored
  uint32_t bytes = 0;
  uint32_t value = 0;  // a word; where there is an odd number of bytes, its first one
};
static_assert(sizeof(BatchedCopy) == 24);

inline constexpr uint64_t kMostBatchedBytes = 4096;

// Copies that are waiting to be done, in any order.
class BatchedCopies {
 public:
  explicit BatchedCopies(const Gpu& gpu);

  // A kernel that compiles for some milliseconds the first time.
  bool load() { return kernel_.function().has_value(); }
  [[nodiscard]] bool is_loaded() const { return kernel_.is_loaded(); }
  void clear() noexcept { kernel_.clear(); }

  // Of one list: whether the copy can be done with those in it.
  static bool fits(const std::vector<BatchedCopy>& list, const BatchedCopy& copy);
  Result<void> launch(const std::vector<BatchedCopy>& list, CommandSink& sink);

 private:
  const Gpu& gpu_;
  OwnKernel kernel_;
};

}  // namespace vyre::backend::cuda
