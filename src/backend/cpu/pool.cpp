// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/pool.hpp"

#include <bit>
#include <climits>
#include <csignal>
#include <cstdio>
#include <new>
#include <utility>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/cpu/processor.hpp"

namespace vyre::backend::cpu {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kOwnerSleeps = uint64_t{1} << 30;
constexpr uint64_t kOpen = uint64_t{1} << 31;
constexpr uint64_t kGeneration = uint64_t{1} << 32;

constexpr uint64_t kWorkPerHelper = 20'000;
// Pauses of an owner at the end of a job before it sleeps; longer than a piece of work mostly is.
constexpr int kOwnerPauses = 2000;
constexpr int kPausesPerLook = 32;  // at the clock
constexpr int kMostPatience = 5;    // times Options::spin

static_assert(std::endian::native == std::endian::little, "halves of the state are futexes");

uint32_t generation_of(uint64_t state) {
  return static_cast<uint32_t>(state >> 32);
}
// Where a helper is.
constexpr uint64_t kNoJob = 0;
uint64_t in_job(uint32_t generation) {
  return uint64_t{generation} << 1 | 1;
}
uint32_t* lower_half(std::atomic<uint64_t>& word) {
  return reinterpret_cast<uint32_t*>(&word);
}
uint32_t* upper_half(std::atomic<uint64_t>& word) {
  return reinterpret_cast<uint32_t*>(&word) + 1;
}

void futex_wait(uint32_t* word, uint32_t value) {
  ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void futex_wake(uint32_t* word, int count) {
  ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

std::atomic<uint32_t> g_fork_epoch = 0;

uint32_t fork_epoch() {
  static const bool kWatching = [] {
    return ::pthread_atfork(nullptr, nullptr, [] { g_fork_epoch.fetch_add(1); }) == 0;
  }();
  (void)kWatching;
  return g_fork_epoch.load(std::memory_order_relaxed);
}

}  // namespace

Pool::Pool(Options options) : options_(options), fork_epoch_(fork_epoch()) {}

Pool::~Pool() {
  const uint32_t count = helpers_.load(std::memory_order_relaxed);
  if (fork_epoch_ != fork_epoch() || count == 0) return;
  stopping_.store(true, std::memory_order_relaxed);
  state_.fetch_add(kGeneration);  // closed: nobody joins, everybody looks up
  futex_wake(upper_half(state_), INT_MAX);
  for (uint32_t i = 0; i < count; ++i) ::pthread_join(threads_[i].thread, nullptr);
}

bool Pool::try_own() {
  if (options_.workers < 2 || fork_epoch_ != fork_epoch()) return false;
  if (owned_.load(std::memory_order_relaxed) || owned_.exchange(true, std::memory_order_acquire))
    return false;
  if (!threads_) start_helpers();
  if (helpers_.load(std::memory_order_relaxed) != 0) return true;
  disown();
  return false;
}

void Pool::disown() {
  owned_.store(false, std::memory_order_release);
}

// As many as the system gives. They inherit that all signals are blocked: those of the process are
// for the threads of the program.
void Pool::start_helpers() {
  const uint32_t wanted = options_.workers - 1;
  threads_.reset(new (std::nothrow) Helper[wanted]());
  if (!threads_) return;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  uint32_t started = 0;
  while (started < wanted) {
    Helper& helper = threads_[started];
    helper.pool = this;
    helper.worker = started + 1;
    if (::pthread_create(&helper.thread, nullptr, &Pool::helper_main, &helper) != 0) break;
    ++started;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  helpers_.store(started, std::memory_order_relaxed);
}

void* Pool::helper_main(void* helper) {
  const auto& self = *static_cast<const Helper*>(helper);
  char name[16];
  std::snprintf(name, sizeof(name), "vyre-cpu-%u", self.worker);
  ::pthread_setname_np(::pthread_self(), name);
  self.pool->help(self.worker);
  return nullptr;
}

void Pool::help(uint32_t worker) {
  const KernelFloatingPoint floating_point;
  threads_[worker - 1].awake.store(true, std::memory_order_relaxed);
  uint32_t seen = 0;
  bool woken = false;
  // Where jobs keep coming, one that comes a little later than the last ones is worth waiting for.
  std::chrono::nanoseconds patience = options_.spin;
  Clock::time_point sleepy = Clock::now() + patience;
  for (int pauses = 0;; ++pauses) {
    if (generation_of(state_.load(std::memory_order_acquire)) != seen) {
      if (stopping_.load(std::memory_order_relaxed)) return;
      if (join(worker, seen, std::exchange(woken, false))) {
        patience = std::min(2 * patience, kMostPatience * options_.spin);
        sleepy = Clock::now() + patience;
      }
      continue;
    }
    spin_pause();
    if (pauses < kPausesPerLook) continue;
    pauses = 0;
    if (Clock::now() >= sleepy) {
      sleep(worker, seen);
      woken = true;
      patience = options_.spin;
      sleepy = Clock::now() + patience;
      pauses = kPausesPerLook;
    } else if (::sched_getcpu() == owner_core_.load(std::memory_order_relaxed)) {
      keep_off(threads_[worker - 1], ::pthread_self(), owner_core_.load(std::memory_order_relaxed));
      ::sched_yield();
    }
  }
}

// A helper that is woken up on the core of the owner waits there until the system takes the core
// from the owner, which can be longer than the job. Virtual machines do this often: a core of
// theirs that sleeps does not look idle.
void Pool::keep_off(Helper& helper, pthread_t thread, int core) {
  const std::lock_guard lock(placing_);
  cpu_set_t now;
  if (core < 0 || core >= CPU_SETSIZE || ::pthread_getaffinity_np(thread, sizeof(now), &now) != 0)
    return;
  // Somebody else has placed it since: that is where it may be.
  if (CPU_EQUAL(&now, &helper.placed) == 0) helper.usable = now;
  cpu_set_t next = helper.usable;
  CPU_CLR(core, &next);
  if (CPU_COUNT(&next) == 0 || CPU_EQUAL(&next, &now) != 0) return;
  if (::pthread_setaffinity_np(thread, sizeof(next), &next) == 0) helper.placed = next;
}

// Takes part in the job if it is still open. `seen` is the job that was looked at.
//
// A helper says that it is in the job and then looks whether the job is open; the owner closes the
// job and then looks who is in it. One of them sees the other, and all write to words of their
// own (but for a helper that wakes an owner up).
bool Pool::join(uint32_t worker, uint32_t& seen, bool woken) {
  std::atomic<uint64_t>& place = threads_[worker - 1].place;
  const uint64_t state = state_.load(std::memory_order_acquire);
  seen = generation_of(state);
  if ((state & kOpen) == 0) return false;
  place.store(in_job(seen));
  const bool open =
      (state_.load() & (~(kGeneration - 1) | kOpen)) == ((state & ~(kGeneration - 1)) | kOpen);
  if (open) {
    if (woken && sleepers_.load(std::memory_order_relaxed) != 0) wake_some();
    body_(context_, worker);
    finish_streaming_stores();
  }
  place.store(kNoJob);
  if ((state_.load() & kOwnerSleeps) != 0) {
    state_.fetch_and(~kOwnerSleeps);
    futex_wake(lower_half(state_), 1);
  }
  return open;
}

// The owner looks for sleepers after it has written the new generation, and a sleeper at the
// generation after it has said that it sleeps: one of them sees the other.
void Pool::sleep(uint32_t worker, uint32_t seen) {
  std::atomic<bool>& awake = threads_[worker - 1].awake;
  awake.store(false, std::memory_order_relaxed);
  sleepers_.fetch_add(1);
  if (generation_of(state_.load()) == seen) futex_wait(upper_half(state_), seen);
  sleepers_.fetch_sub(1);
  awake.store(true, std::memory_order_relaxed);
}

void Pool::run(Body body, void* context, uint64_t work_ns) {
  body_ = body;
  context_ = context;
  owner_core_.store(::sched_getcpu(), std::memory_order_relaxed);
  // Nobody is in a job and none is open: what a helper may still clear is no more than the sign of
  // an owner that does not sleep.
  const uint64_t next = (state_.load(std::memory_order_relaxed) & ~(kGeneration - 1)) + kGeneration;
  state_.store(next | kOpen);
  if (sleepers_.load() != 0) wake_sleepers(work_ns);
  body(context, 0);
  finish_streaming_stores();
  close();
}

// A job that is too small by itself may be one of many: what was missed adds up.
void Pool::wake_sleepers(uint64_t work_ns) {
  unwoken_ns_ += std::min(work_ns, kWorthWaking);
  if (unwoken_ns_ < kWorthWaking) return;
  unwoken_ns_ = 0;
  const int core = owner_core_.load(std::memory_order_relaxed);
  if (std::exchange(kept_off_, core) != core)
    for (uint32_t i = 0; i < helpers_.load(std::memory_order_relaxed); ++i)
      keep_off(threads_[i], threads_[i].thread, core);
  const uint64_t useful = std::clamp<uint64_t>(work_ns / kWorkPerHelper, 1, options_.workers - 1);
  to_wake_.store(static_cast<int32_t>(useful), std::memory_order_relaxed);
  wake_some();
}

// Waking many takes long, so whoever is woken up wakes others before it begins.
void Pool::wake_some() {
  constexpr int32_t kAtOnce = 2;
  const int32_t left = to_wake_.fetch_sub(kAtOnce, std::memory_order_relaxed);
  if (left <= 0) return;
  wakes_.fetch_add(1, std::memory_order_relaxed);
  futex_wake(upper_half(state_), std::min(left, kAtOnce));
}

void Pool::close() {
  const uint64_t job = in_job(generation_of(state_.fetch_and(~kOpen)));
  const uint32_t count = helpers_.load(std::memory_order_relaxed);
  int pauses = 0;
  for (uint32_t i = 0; i < count;) {
    if (threads_[i].place.load() != job) {
      ++i;
    } else if (++pauses < kOwnerPauses) {
      spin_pause();
    } else {
      const auto word = static_cast<uint32_t>(state_.fetch_or(kOwnerSleeps) | kOwnerSleeps);
      if (threads_[i].place.load() == job) futex_wait(lower_half(state_), word);
    }
  }
}

}  // namespace vyre::backend::cpu
