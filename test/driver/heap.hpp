// SPDX-License-Identifier: Apache-2.0
// The heap of this test program: counted, and failing where a test wants it. For one thread or for
// all of them.
#pragma once

#include <cstdint>
#include <utility>

namespace vyre::driver_test {

// Calls of operator new so far, by every thread.
uint64_t heap_allocations();

// While it lives, the n-th allocation from now on fails, and with `all_after` every later one.
// Whatever thread makes it.
class FailingHeap {
 public:
  explicit FailingHeap(uint64_t n, bool all_after = false);
  FailingHeap(const FailingHeap&) = delete;
  FailingHeap& operator=(const FailingHeap&) = delete;
  ~FailingHeap();
  // Whether an allocation has failed.
  [[nodiscard]] static bool struck();
};

// Bytes that operator new has given out and delete not yet taken back, and how many pieces.
struct HeapUse {
  int64_t pieces = 0;
};
HeapUse heap_use();

}  // namespace vyre::driver_test
