// SPDX-License-Identifier: Apache-2.0
// The synchronisation of a Pool: how an owner publishes a job, how helpers join and leave it, how
// both sides sleep, and how helpers learn to end. No threads and no clock: `System` supplies
// atomics, futexes, spinning and fork detection (pool_system.hpp for threads), so that
// pool_protocol_test.cpp executes this code under every interleaving.
//
// One word, `state_`, holds everything that a helper decides on, so that one load is one decision:
//   bit 63      stop: helpers end; never cleared
//   bits 62-32  generation: counts jobs, wraps
//   bit 31      open: the job of this generation may be joined
//   bit 30      owner sleeps: the last helper to leave wakes it
// The upper half (stop and generation: the epoch) is the futex of sleeping helpers, the lower half
// that of a sleeping owner. A stop changes the epoch, so no helper can sleep through it.
//
// Three pairs of threads synchronise as in Dekker's algorithm, each storing its own word and then
// loading the other's, all sequentially consistent, so that at least one of the two sees the other:
// - join and close: a helper stores its place and loads `open`; the owner clears `open` and loads
//   the places;
// - leave and sleep: a helper clears its place and loads `owner sleeps`; the owner sets that and
//   loads the places;
// - sleep and publish: a helper counts itself among the sleepers and loads the epoch; the owner
//   stores the epoch and loads the count.
#pragma once

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <utility>

namespace vyre::backend::cpu {

// Two lines: processors fetch them in pairs.
inline constexpr size_t kLineBytes = 128;

template <class System, class Job>
class PoolProtocol {
 public:
  template <class T>
  using Atomic = typename System::template Atomic<T>;

  static constexpr uint64_t kOwnerSleeps = uint64_t{1} << 30;
  static constexpr uint64_t kOpen = uint64_t{1} << 31;
  static constexpr uint64_t kGeneration = uint64_t{1} << 32;
  static constexpr uint64_t kStop = uint64_t{1} << 63;
  static constexpr uint64_t kEpoch = ~(kGeneration - 1);

  // Where a helper is; one per helper.
  struct alignas(kLineBytes) Place {
    Atomic<uint64_t> job = uint64_t{0};
  };

  // ---- ownership: one caller at a time publishes jobs

  bool try_own() {
    return !owned_.load(std::memory_order_relaxed) &&
           !owned_.exchange(true, std::memory_order_acquire);
  }
  void disown() { owned_.store(false, std::memory_order_release); }

  // ---- the owner

  // Publishes a job. True: a helper sleeps or is about to.
  bool open(const Job& job) {
    job_ = job;
    // No job is open and no helper is in one. A helper that is late may still clear `owner sleeps`,
    // which is not set.
    const uint64_t epoch = state_.load(std::memory_order_relaxed) & kEpoch;
    state_.store(((epoch + kGeneration) & ~kStop) | kOpen);
    return sleepers_.load() != 0;
  }
  // Wakes up to `count` helpers. Each wake is a system call, so helpers that wake up wake others.
  void wake(int32_t count) {
    to_wake_.store(count, std::memory_order_relaxed);
    wake_more();
  }
  // Closes the job and waits for the helpers that have joined it. False: this process is a child of
  // a fork during the job, and its helpers are in the parent.
  bool close(Place* places, uint32_t count, uint32_t fork_epoch) {
    const auto entry = System::position();
    const uint64_t job = in_job(epoch_of(state_.fetch_and(~kOpen)));
    typename System::Patience patience;
    for (uint32_t i = 0; i < count;) {
      System::merge(entry, job, i, patience.is_over());
      if (places[i].job.load() != job) {
        ++i;
      } else if (!patience.is_over()) {
        patience.spin();
      } else if (System::is_forked_since(fork_epoch)) {
        return false;
      } else {
        const auto word = static_cast<uint32_t>(state_.fetch_or(kOwnerSleeps) | kOwnerSleeps);
        if (places[i].job.load() == job) System::wait_lower(state_, word);
      }
    }
    return true;
  }
  // Without an owner. Every call of help() returns soon.
  void stop() {
    state_.fetch_or(kStop);
    System::wake_upper(state_, INT_MAX);
  }
  [[nodiscard]] uint64_t wakes() const { return wakes_.load(std::memory_order_relaxed); }

  // ---- a helper

  // Joins one job after the other until stop(). The client executes jobs (`execute(job)`), spins
  // between them (`idle()`: true when it is time to sleep) and is notified of `joined()`,
  // `sleeping()` and `awake()`.
  template <class Client>
  void help(Place& place, Client& client) {
    const auto entry = System::position();
    uint32_t seen = 0;
    bool woken = false;
    for (;;) {
      System::merge(entry, seen, woken);
      const uint64_t state = state_.load(std::memory_order_acquire);
      if (epoch_of(state) != seen) {
        if ((state & kStop) != 0) return;
        seen = epoch_of(state);
        if (join(place, state, std::exchange(woken, false), client)) client.joined();
      } else if (client.idle()) {
        client.sleeping();
        sleep(seen);
        client.awake();
        woken = true;
      }
    }
  }

 protected:
  static constexpr uint64_t kNoJob = 0;
  static uint32_t epoch_of(uint64_t state) { return static_cast<uint32_t>(state >> 32); }
  static uint64_t in_job(uint32_t epoch) { return uint64_t{epoch} << 1 | 1; }

  // Takes part in the job of `state` if it is still open.
  template <class Client>
  bool join(Place& place, uint64_t state, bool woken, Client& client) {
    if ((state & kOpen) == 0) return false;
    const auto entry = System::position();
    place.job.store(in_job(epoch_of(state)));
    const bool open = (state_.load() & (kEpoch | kOpen)) == (state & (kEpoch | kOpen));
    if (open) {
      if (woken && sleepers_.load(std::memory_order_relaxed) != 0) wake_more();
      System::merge(entry, 0);
      client.execute(job_);
    }
    System::merge(entry, 1, open);
    leave(place);
    return open;
  }
  void leave(Place& place) {
    place.job.store(kNoJob);
    if ((state_.load() & kOwnerSleeps) == 0) return;
    state_.fetch_and(~kOwnerSleeps);
    System::wake_lower(state_, 1);
  }
  void sleep(uint32_t seen) {
    sleepers_.fetch_add(1);
    if (epoch_of(state_.load()) == seen) System::wait_upper(state_, seen);
    sleepers_.fetch_sub(1);
  }
  void wake_more() {
    constexpr int32_t kAtOnce = 2;
    const int32_t left = to_wake_.fetch_sub(kAtOnce, std::memory_order_relaxed);
    if (left <= 0) return;
    wakes_.fetch_add(1, std::memory_order_relaxed);
    System::wake_upper(state_, std::min(left, kAtOnce));
  }

  alignas(kLineBytes) Atomic<uint64_t> state_ = uint64_t{0};
  // Of the open job: written by the owner before it is published.
  alignas(kLineBytes) typename System::template Plain<Job> job_ = Job{};
  alignas(kLineBytes) Atomic<uint32_t> sleepers_ = uint32_t{0};
  Atomic<int32_t> to_wake_ = int32_t{0};  // helpers that the job could still use
  typename System::template Counter<uint64_t> wakes_ = uint64_t{0};
  Atomic<bool> owned_ = false;
};

}  // namespace vyre::backend::cpu
