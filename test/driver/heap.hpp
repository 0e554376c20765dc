// SPDX-License-Identifier: Apache-2.0
// The heap of this test program: counted, and failing where a test wants it.
#pragma once

#include <cstdint>

#include "base/sanitizers.hpp"

namespace vyre::driver_test {

// ThreadSanitizer has these functions itself and does not give them up.
inline constexpr bool kOwnHeap = !base::kThreadSanitizer;

// Calls of operator new so far, by all threads, and pieces that were not given back.
uint64_t heap_allocations();
int64_t heap_pieces();

// While it lives, the n-th allocation from now on fails, and with `all_after` every later one as
// well: on other threads any, on this one those that happen InDriver. The test's own never fail.
class FailingHeap {
 public:
  explicit FailingHeap(uint64_t n, bool all_after = false);
  FailingHeap(const FailingHeap&) = delete;
  FailingHeap& operator=(const FailingHeap&) = delete;
  ~FailingHeap();
  [[nodiscard]] static bool struck();
};

class InDriver {
 public:
  InDriver();
  InDriver(const InDriver&) = delete;
  InDriver& operator=(const InDriver&) = delete;
  ~InDriver();

 private:
  bool was_exempt_;
};

}  // namespace vyre::driver_test
