// SPDX-License-Identifier: Apache-2.0
#include "base/fork.hpp"

#include <atomic>

#include <pthread.h>

namespace vyre::base {

namespace {

std::atomic<uint32_t> g_fork_epoch = 0;

}  // namespace

uint32_t fork_epoch() {
  static const bool kRegistered = [] {
    return ::pthread_atfork(nullptr, nullptr, [] { g_fork_epoch.fetch_add(1); }) == 0;
  }();
  (void)kRegistered;
  return g_fork_epoch.load(std::memory_order_relaxed);
}

}  // namespace vyre::base
