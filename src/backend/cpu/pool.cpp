// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/pool.hpp"

#include <climits>
#include <csignal>
#include <cstdio>
#include <new>
#include <utility>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fork.hpp"

namespace vyre::backend::cpu {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kWorkPerHelper = 20'000;
constexpr int kPausesPerClockRead = 32;
constexpr int kMostPatience = 5;  // times Options::spin

}  // namespace

void ThreadSystem::wait(uint32_t* word, uint32_t value) {
  ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void ThreadSystem::wake(uint32_t* word, int count) {
  ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

Pool::Pool(Options options) : options_(options), fork_epoch_(base::fork_epoch()) {}

Pool::~Pool() {
  const uint32_t count = helpers_.load(std::memory_order_relaxed);
  if (base::is_forked_since(fork_epoch_) || count == 0) return;
  protocol_.stop();
  for (uint32_t i = 0; i < count; ++i) ::pthread_join(threads_[i].thread, nullptr);
}

bool Pool::try_own() {
  if (options_.workers < 2 || base::is_forked_since(fork_epoch_) || !protocol_.try_own())
    return false;
  if (!threads_) start_helpers();
  if (helpers_.load(std::memory_order_relaxed) != 0) return true;
  disown();
  return false;
}

// As many as the system gives. They inherit a mask that blocks all signals: those of the process
// are for the threads of the program.
void Pool::start_helpers() {
  const uint32_t wanted = options_.workers - 1;
  places_.reset(new (std::nothrow) Protocol::Place[wanted]());
  if (!places_) return;
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

// What a helper does in and between jobs.
class Pool::Client {
 public:
  Client(Pool& pool, Helper& self)
      : pool_(pool),
        self_(self),
        patience_(pool.options_.spin),
        sleep_at_(Clock::now() + patience_) {
    awake();
  }
  void execute(const Job& job) {
    job.body(job.context, self_.worker);
    finish_streaming_stores();
  }
  // While jobs keep coming, one that comes a little later than the last ones is worth spinning for.
  void joined() {
    patience_ = std::min(2 * patience_, kMostPatience * pool_.options_.spin);
    sleep_at_ = Clock::now() + patience_;
    pauses_ = 0;
  }
  // Spins. True: it is time to sleep.
  bool idle() {
    spin_pause();
    if (++pauses_ <= kPausesPerClockRead) return false;
    pauses_ = 0;
    if (Clock::now() >= sleep_at_) return true;
    const int core = pool_.owner_core_.load(std::memory_order_relaxed);
    if (::sched_getcpu() == core) {
      pool_.keep_off(self_, ::pthread_self(), core);
      ::sched_yield();
    }
    return false;
  }
  void sleeping() { self_.awake.store(false, std::memory_order_relaxed); }
  void awake() {
    self_.awake.store(true, std::memory_order_relaxed);
    patience_ = pool_.options_.spin;
    sleep_at_ = Clock::now() + patience_;
    pauses_ = kPausesPerClockRead;
  }

 private:
  Pool& pool_;
  Helper& self_;
  std::chrono::nanoseconds patience_;
  Clock::time_point sleep_at_;
  int pauses_ = 0;
};

void* Pool::helper_main(void* helper) {
  auto& self = *static_cast<Helper*>(helper);
  char name[16];
  std::snprintf(name, sizeof(name), "vyre-cpu-%u", self.worker);
  ::pthread_setname_np(::pthread_self(), name);
  const KernelFloatingPoint floating_point;
  Client client(*self.pool, self);
  self.pool->protocol_.help(self.pool->places_[self.worker - 1], client);
  return nullptr;
}

// A helper that wakes up on the core of the owner waits there until the system takes the core from
// the owner, which can be longer than the job. Virtual machines do this often: a sleeping core of
// theirs does not look idle.
void Pool::keep_off(Helper& helper, pthread_t thread, int core) {
  const std::lock_guard lock(placing_);
  cpu_set_t now;
  if (core < 0 || core >= CPU_SETSIZE || ::pthread_getaffinity_np(thread, sizeof(now), &now) != 0)
    return;
  // Another affinity than the one set here was given to the helper since: it is respected.
  if (CPU_EQUAL(&now, &helper.placed) == 0) helper.usable = now;
  cpu_set_t next = helper.usable;
  CPU_CLR(core, &next);
  if (CPU_COUNT(&next) == 0 || CPU_EQUAL(&next, &now) != 0) return;
  if (::pthread_setaffinity_np(thread, sizeof(next), &next) == 0) helper.placed = next;
}

void Pool::run(Body body, void* context, uint64_t work_ns) {
  owner_core_.store(::sched_getcpu(), std::memory_order_relaxed);
  if (protocol_.open({body, context})) wake_sleepers(work_ns);
  body(context, 0);
  finish_streaming_stores();
  (void)protocol_.close(places_.get(), helpers_.load(std::memory_order_relaxed), fork_epoch_);
}

// A job that is too small to wake helpers for may be one of many: their work adds up.
void Pool::wake_sleepers(uint64_t work_ns) {
  unwoken_ns_ += std::min(work_ns, kWorthWaking);
  if (unwoken_ns_ < kWorthWaking) return;
  unwoken_ns_ = 0;
  const int core = owner_core_.load(std::memory_order_relaxed);
  if (std::exchange(kept_off_, core) != core)
    for (uint32_t i = 0; i < helpers_.load(std::memory_order_relaxed); ++i)
      keep_off(threads_[i], threads_[i].thread, core);
  const uint64_t useful = std::clamp<uint64_t>(work_ns / kWorkPerHelper, 1, options_.workers - 1);
  protocol_.wake(static_cast<int32_t>(useful));
}

}  // namespace vyre::backend::cpu
