// SPDX-License-Identifier: Apache-2.0
#include "base/fork.hpp"

#include <new>

#include <pthread.h>

namespace vyre::base {

namespace {

std::atomic<uint32_t> g_inside = 0;  // threads in fork-sensitive libraries
thread_local uint32_t t_inside = 0;  // this one, once for each guard
std::atomic<bool> g_locked = false;

void in_child() {
  detail::g_fork_epoch.fetch_add(1, std::memory_order_relaxed);
  if (g_inside.load(std::memory_order_relaxed) != t_inside)
    g_locked.store(true, std::memory_order_relaxed);
  g_inside.store(t_inside, std::memory_order_relaxed);
}

struct Abandoned {
  void* object = nullptr;
  Abandoned* next = nullptr;
};
std::atomic<Abandoned*> g_abandoned = nullptr;

}  // namespace

uint32_t fork_epoch() {
  static const bool kRegistered = [] {
    return ::pthread_atfork(nullptr, nullptr, &in_child) == 0;
  }();
  (void)kRegistered;
  return detail::g_fork_epoch.load(std::memory_order_relaxed);
}

namespace {
const CalledAtLoad kForkEpoch(fork_epoch);
}

void abandon(void* object) noexcept {
  auto* const node = new (std::nothrow) Abandoned{object, nullptr};
  if (node == nullptr) return;
  node->next = g_abandoned.load(std::memory_order_relaxed);
  while (!g_abandoned.compare_exchange_weak(node->next, node)) {
  }
}

ForkSensitive::ForkSensitive() {
  (void)fork_epoch();  // registers the handler
  ++t_inside;
  g_inside.fetch_add(1, std::memory_order_relaxed);
}
ForkSensitive::~ForkSensitive() {
  g_inside.fetch_sub(1, std::memory_order_relaxed);
  --t_inside;
}

bool ForkSensitive::is_locked() {
  return g_locked.load(std::memory_order_relaxed);
}

}  // namespace vyre::base
