// SPDX-License-Identifier: Apache-2.0
// Whether this process is a child of fork(). Only the thread that called fork() exists in the
// child: the library's other threads are gone, and locks that they held stay locked. Objects that
// depend on threads or locks keep the epoch of their construction and refuse every call, without
// taking a lock, once is_forked_since() is true.
#pragma once

#include <atomic>
#include <cstdint>

namespace vyre::base {

namespace detail {
inline constinit std::atomic<uint32_t> g_fork_epoch = 0;
}

// How many forks this process is away from the one that called this first. The first call registers
// the handler (pthread_atfork), so objects call it when they are constructed.
uint32_t fork_epoch();

inline bool is_forked_since(uint32_t epoch) {
  return epoch != detail::g_fork_epoch.load(std::memory_order_relaxed);
}

// A function-local static is a lock as well: a child hangs in its guard if another thread of the
// parent was constructing it. Functions with such statics that children may call (a child may open
// devices of its own) are called once while the library is loaded, before there are threads.
struct CalledAtLoad {
  template <class Function>
  explicit CalledAtLoad(Function function) {
    (void)function();
  }
};

// For what a child can neither use nor destroy, because that would wait for threads of its parent:
// it is kept, where leak checkers see it, and never freed.
void abandon(void* object) noexcept;

// Held while this thread may hold locks of a library that does not survive a fork (a compiler).
class ForkSensitive {
 public:
  ForkSensitive();
  ForkSensitive(const ForkSensitive&) = delete;
  ForkSensitive& operator=(const ForkSensitive&) = delete;
  ~ForkSensitive();

  // In a child: another thread of the parent was in such a library when this process was forked, so
  // its locks may be held for ever.
  static bool is_locked();
};

}  // namespace vyre::base
