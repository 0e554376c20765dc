// SPDX-License-Identifier: Apache-2.0
// Threads that help a caller with one job after the other. The caller is worker 0 and starts at
// once; helpers join when they can. A job never waits for a helper that has not joined it, so
// waking one does not delay the job. One caller at a time owns the helpers; others work alone
// meanwhile. pool_protocol.hpp has the synchronisation.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include <pthread.h>
#include <sched.h>

#include "backend/cpu/pool_protocol.hpp"
#include "backend/cpu/pool_system.hpp"
#include "backend/cpu/processor.hpp"

namespace vyre::backend::cpu {

// Numbers 0 to total - 1, handed out in pieces. Each worker has a part of its own, the same one in
// every job of one shape, so that data stays in its caches; it takes ever smaller pieces of it and
// then helps with the parts of others.
class Chunks {
 public:
  struct Range {
    uint64_t first = 0;
    uint64_t count = 0;  // 0: nothing is left
  };

  // No worker claims meanwhile.
  void reset(uint64_t total, uint32_t workers, uint64_t least, uint64_t most) {
    total_ = total;
    count_ = std::clamp<uint32_t>(workers, 1, kMostParts);
    share_ = uint64_t{4} * ((workers + count_ - 1) / count_);
    least_ = std::max<uint64_t>(least, 1);
    most_ = std::max(most, least_);
    // Not total * (i + 1) / count, which could overflow.
    const uint64_t each = total / count_;
    const uint64_t more = total % count_;
    uint64_t first = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      parts_[i].first = first;
      parts_[i].next.store(first, std::memory_order_relaxed);
      first += each + (i < more ? 1 : 0);
      parts_[i].end = first;
    }
  }
  // `coming(w)`: whether worker w can be expected to take part soon. What it has not begun is left
  // to it for a while: it has the data in its caches, and would lose them to an earlier worker.
  template <class Coming>
  Range claim(uint32_t worker, Coming&& coming) {
    for (int pauses = 0;; ++pauses) {
      bool wait = false;
      uint32_t at = worker % count_;
      for (uint32_t i = 0; i < count_; ++i) {
        Part& part = parts_[at];
        const uint32_t whose = at;
        if (++at == count_) at = 0;
        const uint64_t seen = part.next.load(std::memory_order_relaxed);
        if (seen >= part.end) continue;
        if (i != 0 && seen == part.first && pauses < kMostPauses && coming(whose)) {
          wait = true;
          continue;
        }
        const uint64_t size = std::clamp((part.end - seen) / share_, least_, most_);
        const uint64_t first = part.next.fetch_add(size, std::memory_order_relaxed);
        if (first < part.end) return {first, std::min(size, part.end - first)};
      }
      if (!wait) return {};
      spin_pause();
    }
  }
  Range claim(uint32_t worker) {
    return claim(worker, [](uint32_t) { return false; });
  }
  // What is left is not handed out any more.
  void stop() {
    for (uint32_t i = 0; i < count_; ++i)
      parts_[i].next.store(parts_[i].end, std::memory_order_relaxed);
  }
  [[nodiscard]] uint64_t claimed() const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count_; ++i)
      sum +=
          std::min(parts_[i].next.load(std::memory_order_relaxed), parts_[i].end) - parts_[i].first;
    return sum;
  }
  [[nodiscard]] uint64_t total() const { return total_; }

 private:
  static constexpr uint32_t kMostParts = 16;
  static constexpr int kMostPauses = 40;  // about a microsecond
  struct alignas(kLineBytes) Part {
    std::atomic<uint64_t> next = 0;
    uint64_t first = 0;
    uint64_t end = 0;
  };
  std::array<Part, kMostParts> parts_;
  uint64_t total_ = 0;
  uint32_t count_ = 1;
  uint64_t share_ = 4;
  uint64_t least_ = 1;
  uint64_t most_ = 1;
};

class Pool {
 public:
  struct Options {
    uint32_t workers = 1;  // with the caller
    // Before a helper sleeps; up to five times as long while jobs keep coming.
    std::chrono::nanoseconds spin = std::chrono::microseconds(80);
  };
  // Waking a thread takes as long as this work, so less of it is not worth a system call.
  static constexpr uint64_t kWorthWaking = 100'000;

  // Threads start with the first try_own().
  explicit Pool(Options options);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // Without an owner. Ends the threads; in a child of fork() there are none.
  ~Pool();

  [[nodiscard]] uint32_t workers() const { return options_.workers; }
  // Threads that were started.
  [[nodiscard]] uint32_t helpers() const { return helpers_.load(std::memory_order_relaxed); }
  // Whether a worker executes a job or spins for the next one.
  [[nodiscard]] bool awake(uint32_t worker) const {
    if (worker == 0) return true;
    return worker <= helpers() && threads_[worker - 1].awake.load(std::memory_order_relaxed);
  }
  // System calls that woke helpers.
  [[nodiscard]] uint64_t wakes() const { return protocol_.wakes(); }

  // The helpers are this caller's until disown(). False: another caller owns them, or there are
  // none, also in a child of fork().
  bool try_own();
  void disown() { protocol_.disown(); }

  // On each worker that takes part, at the same time; it returns when no work is left.
  using Body = void (*)(void* context, uint32_t worker);
  // For the owner: runs the body on this thread as worker 0 and on helpers that join in time, and
  // returns when all of them have left it. `work_ns`: how long the job may take. If the body forks,
  // this returns in the child without the results of the helpers.
  void run(Body body, void* context, uint64_t work_ns);

 private:
  struct Job {
    Body body = nullptr;
    void* context = nullptr;
  };
  using Protocol = PoolProtocol<ThreadSystem, Job>;
  class Client;
  struct alignas(kLineBytes) Helper {
    std::atomic<bool> awake = false;
    Pool* pool = nullptr;
    uint32_t worker = 0;
    pthread_t thread = {};
    cpu_set_t usable = {};  // cores it may run on
    cpu_set_t placed = {};  // and those of them that keep_off() left
  };

  static void* helper_main(void* helper);
  void start_helpers();
  void wake_sleepers(uint64_t work_ns);
  void keep_off(Helper& helper, pthread_t thread, int core);

  const Options options_;
  const uint32_t fork_epoch_;
  Protocol protocol_;
  // Written by the thread that starts the helpers, before they run.
  std::unique_ptr<Helper[]> threads_;
  std::unique_ptr<Protocol::Place[]> places_;
  std::atomic<uint32_t> helpers_ = 0;

  std::atomic<int> owner_core_ = -1;  // where the owner was when it published its job
  std::mutex placing_;                // of helpers on cores
  // The owner's.
  int kept_off_ = -1;        // the core that sleeping helpers were moved away from
  uint64_t unwoken_ns_ = 0;  // work of jobs that ran while helpers slept
};

}  // namespace vyre::backend::cpu
