// SPDX-License-Identifier: Apache-2.0
// Whether this process is a child of fork(). Only the thread that called fork() exists in the
// child: the library's other threads are gone, and locks that they held stay locked. Objects that
// depend on threads or locks keep the epoch of their construction and refuse every call, without
// taking a lock, once is_forked_since() says that it is another one. A relaxed load and a
// comparison.
#pragma once

#include <cstdint>

namespace vyre::base {

// The number of forks between the process that called this first and this one. The first call
// registers the handler (pthread_atfork), so objects call it when they are constructed.
uint32_t fork_epoch();

inline bool is_forked_since(uint32_t epoch) {
  return epoch != fork_epoch();
}

}  // namespace vyre::base
