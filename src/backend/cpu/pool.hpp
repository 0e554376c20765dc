// SPDX-License-Identifier: Apache-2.0
// Threads that help a caller with one job after the other. The caller is worker 0 and starts at
// once; helpers join when they can. Nobody waits for a helper that has not joined, so waking one is
// never on the way of a job. One caller at a time has the helpers; others work alone meanwhile.
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

#include "backend/cpu/processor.hpp"

namespace vyre::backend::cpu {

// Two lines: processors fetch them in pairs.
inline constexpr size_t kLineBytes = 128;

// Numbers 0 to total - 1, handed out in pieces. Each worker has a part of its own, the same one in
// every job of one shape, so that data stays in its caches; it takes ever smaller pieces of it and
// then helps with the parts of others.
class Chunks {
 public:
  struct Range {
    uint64_t first = 0;
    uint64_t count = 0;  // 0: nothing is left
  };

  // Nobody claims meanwhile.
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
  // to it for a while: it has the data in its caches, and would lose them to whoever is early.
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
  // Waking a thread takes as long as this work, so less of it is not worth a call of the system.
  static constexpr uint64_t kWorthWaking = 100'000;

  // Threads start when the first job wants them.
  explicit Pool(Options options);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // Nobody owns it any more.
  ~Pool();

  [[nodiscard]] uint32_t workers() const { return options_.workers; }
  // Threads that are there.
  [[nodiscard]] uint32_t helpers() const { return helpers_.load(std::memory_order_relaxed); }
  // A worker that is there or waits for work, and does not sleep.
  [[nodiscard]] bool awake(uint32_t worker) const {
    if (worker == 0) return true;
    return worker <= helpers() && threads_[worker - 1].awake.load(std::memory_order_relaxed);
  }
  // Calls of the system to wake somebody up.
  [[nodiscard]] uint64_t wakes() const { return wakes_.load(std::memory_order_relaxed); }

  // The helpers are this caller's until disown(). False: somebody else's, or there are none, also
  // in a child of fork(), where all threads but one are gone.
  bool try_own();
  void disown();

  // On each worker that takes part, at the same time; it returns when nothing is left to do.
  using Body = void (*)(void* context, uint32_t worker);
  // For the owner: body on this thread as worker 0 and on helpers that come in time, all done at
  // the end. `work_ns` is what the job may take, so that nobody is woken up for a trifle.
  void run(Body body, void* context, uint64_t work_ns);

 private:
  struct alignas(kLineBytes) Helper {
    std::atomic<uint64_t> place = 0;  // the job it is in
    std::atomic<bool> awake = false;
    Pool* pool = nullptr;
    uint32_t worker = 0;
    pthread_t thread = {};
    cpu_set_t usable = {};  // cores it may run on
    cpu_set_t placed = {};  // and those of them that keep_off() left
  };

  static void* helper_main(void* helper);
  void start_helpers();
  void help(uint32_t worker);
  bool join(uint32_t worker, uint32_t& seen, bool woken);
  void sleep(uint32_t worker, uint32_t seen);
  void wake_sleepers(uint64_t work_ns);
  void wake_some();
  void keep_off(Helper& helper, pthread_t thread, int core);
  void close();

  const Options options_;

  // Generation of the job (upper half), whether it is open and whether the owner sleeps.
  alignas(kLineBytes) std::atomic<uint64_t> state_ = 0;

  alignas(kLineBytes) Body body_ = nullptr;  // of the open job
  void* context_ = nullptr;
  std::atomic<int> owner_core_ = -1;  // where the owner was when it asked for help
  int kept_off_ = -1;                 // the core on which no helper is to wake up
  uint64_t unwoken_ns_ = 0;           // work that was done while somebody slept
  uint32_t fork_epoch_ = 0;
  std::unique_ptr<Helper[]> threads_;
  std::mutex placing_;  // of helpers on cores

  alignas(kLineBytes) std::atomic<uint32_t> sleepers_ = 0;
  std::atomic<uint32_t> helpers_ = 0;
  std::atomic<int32_t> to_wake_ = 0;  // helpers that the job could still use
  std::atomic<uint64_t> wakes_ = 0;
  std::atomic<bool> owned_ = false;
  std::atomic<bool> stopping_ = false;
};

}  // namespace vyre::backend::cpu
