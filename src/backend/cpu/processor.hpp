// SPDX-License-Identifier: Apache-2.0
// The few instructions of the processor that C++ has no words for. Code of Format::Object is made
// for x86-64 only; elsewhere this compiles and the backend says that it cannot be used.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace vyre::backend::cpu {

#if defined(__x86_64__)
inline constexpr bool kRunsObjects = true;
inline void spin_pause() {
  _mm_pause();
}
// Stores that go past the caches are seen by others only after this.
inline void finish_streaming_stores() {
  _mm_sfence();
}
#else
inline constexpr bool kRunsObjects = false;
inline void spin_pause() {}
inline void finish_streaming_stores() {}
#endif

// While it lives, floating point is as the language requires it: round to nearest, subnormals kept,
// no traps. The caller's settings and sticky flags come back at the end. Writing the register costs
// more than reading it, so it is left alone where it is right already.
class KernelFloatingPoint {
 public:
  KernelFloatingPoint() { enter(); }
  KernelFloatingPoint(const KernelFloatingPoint&) = delete;
  KernelFloatingPoint& operator=(const KernelFloatingPoint&) = delete;
  ~KernelFloatingPoint() { leave(); }

  // The caller's own settings for a moment, when its code is called back.
  void leave() {
#if defined(__x86_64__)
    if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
#endif
  }
  void enter() {
#if defined(__x86_64__)
    saved_ = _mm_getcsr();
    if (saved_ != kDefault) _mm_setcsr(kDefault);
#endif
  }

 private:
  static constexpr uint32_t kDefault = 0x1F80;
  uint32_t saved_ = kDefault;
};

}  // namespace vyre::backend::cpu
