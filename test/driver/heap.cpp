// SPDX-License-Identifier: Apache-2.0
// In a file of its own: a compiler that sees these bodies takes them for a mismatch with new. All
// forms are here, since a sanitizer has its own for those that are not.
#include "driver/heap.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/sanitizers.hpp"

namespace vyre::driver_test {
namespace {

constexpr int64_t kNever = -1;
std::atomic<uint64_t> g_allocations = 0;
std::atomic<int64_t> g_pieces = 0;
std::atomic<int64_t> g_until_failure = kNever;  // allocations that succeed before
std::atomic<bool> g_all_after = false;
std::atomic<bool> g_struck = false;
thread_local bool t_exempt = false;

[[maybe_unused]] bool fails_now() {
  if (t_exempt) return false;
  if (g_until_failure.load(std::memory_order_relaxed) < 0)
    return g_struck.load(std::memory_order_relaxed) && g_all_after.load(std::memory_order_relaxed);
  if (g_until_failure.fetch_sub(1) != 0) return false;
  g_struck = true;
  return true;
}

[[maybe_unused]] void* take(size_t bytes, size_t alignment) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (fails_now()) return nullptr;
  if (bytes == 0) bytes = 1;
  void* const memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory != nullptr) g_pieces.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

[[maybe_unused]] void* take_or_throw(size_t bytes, size_t alignment = 1) {
  if (void* const memory = take(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

[[maybe_unused]] void give(void* memory) {
  if (memory == nullptr) return;
  g_pieces.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

uint64_t heap_allocations() {
  return g_allocations.load(std::memory_order_relaxed);
}
int64_t heap_pieces() {
  return g_pieces.load(std::memory_order_relaxed);
}

FailingHeap::FailingHeap(uint64_t n, bool all_after) {
  g_struck = false;
  g_all_after = all_after;
  t_exempt = true;
  g_until_failure = static_cast<int64_t>(n);
}
FailingHeap::~FailingHeap() {
  g_until_failure = kNever;
  g_all_after = false;
  t_exempt = false;
}
InDriver::InDriver() : was_exempt_(std::exchange(t_exempt, false)) {}
InDriver::~InDriver() {
  t_exempt = was_exempt_;
}
bool FailingHeap::struck() {
  return g_struck;
}

}  // namespace vyre::driver_test

#if !VYRE_THREAD_SANITIZER
using vyre::driver_test::give;
using vyre::driver_test::take;
using vyre::driver_test::take_or_throw;

// clang-format off
void* operator new(size_t n) { return take_or_throw(n); }
void* operator new[](size_t n) { return take_or_throw(n); }
void* operator new(size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<size_t>(a)); }
void* operator new[](size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<size_t>(a)); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return take(n, 1); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return take(n, 1); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return take(n, static_cast<size_t>(a)); }
void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return take(n, static_cast<size_t>(a)); }
void operator delete(void* p) noexcept { give(p); }
void operator delete[](void* p) noexcept { give(p); }
void operator delete(void* p, size_t) noexcept { give(p); }
void operator delete[](void* p, size_t) noexcept { give(p); }
void operator delete(void* p, std::align_val_t) noexcept { give(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { give(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { give(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { give(p); }
// clang-format on
#endif
