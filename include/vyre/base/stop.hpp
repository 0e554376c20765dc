// SPDX-License-Identifier: Apache-2.0
// What ends the host's work on a program early: a point in time, or a flag that another thread (or
// a signal handler) sets. Reading, checking, planning and compiling end soon after either.
#pragma once

#include <atomic>
#include <chrono>

namespace vyre {

struct StopCondition {
  using Time = std::chrono::steady_clock::time_point;
  Time deadline = Time::max();                // max(): none
  const std::atomic<bool>* cancel = nullptr;  // must outlive the call

  // `limit` from now on; 0 and what overflows is no limit.
  static StopCondition after(std::chrono::nanoseconds limit,
                             const std::atomic<bool>* cancel = nullptr,
                             Time start = std::chrono::steady_clock::now()) {
    if (limit.count() <= 0 || limit >= Time::max() - start) return {Time::max(), cancel};
    return {start + limit, cancel};
  }
};

}  // namespace vyre
