// SPDX-License-Identifier: Apache-2.0
// One in-order queue of a device. Callers that wait for their work run it themselves when their
// ticket is served; work without a waiter is started at its ticket and finished later, or runs on
// a thread of the queue. In a child of fork() a queue is neither used nor destroyed: its device
// refuses every call and is abandoned.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "base/fork.hpp"

namespace vyre::run {

class Queue {
 public:
  Queue() : core_(std::make_shared<Core>()) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  // Waits for everything that was posted; not if that very work is what destroys the queue.
  ~Queue();

  // How long a caller waits for what comes before it.
  struct Patience {
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    const std::atomic<bool>* cancel = nullptr;
    [[nodiscard]] bool is_limited() const;
    [[nodiscard]] bool is_over() const;
  };

  // The lock of the queue, in the order of the calls, until the object goes.
  class Lock {
   public:
    explicit Lock(Queue& queue) : Lock(queue, Patience{}) {}
    // Not taken: patience was over first.
    Lock(Queue& queue, const Patience& patience);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    [[nodiscard]] bool is_held() const { return held_; }

   private:
    Queue& queue_;
    bool held_ = true;
  };

  // Work must not throw. If this does, for want of memory or a thread, nothing was posted.
  void post(std::function<void()> work);
  // Waits until everything that came before has run.
  void drain();

  // Work that the device has been given. It keeps this queue alive until it is finished, by
  // any thread: at the latest by the thread of the queue, a moment after it was started, so that
  // limits of time are enforced and what it uses is given back.
  class Started {
   public:
    virtual ~Started() = default;
    // Whether finish() would not have to wait.
    [[nodiscard]] virtual bool is_done() = 0;
    // Once, by the first caller; the others wait until it is.
    enum class By : uint8_t { Caller, Thread };
    virtual void finish(By by) = 0;
    [[nodiscard]] virtual bool is_finished() = 0;
  };
  // Whether work could be started at once: the lock is free, and not too much is under way.
  [[nodiscard]] bool can_start();
  // While the queue is locked, before and after something is started.
  void make_room();
  void started(std::shared_ptr<Started> work);
  // While the queue is locked, before what the device does not do in the order of the queue.
  void finish_started();
  // While the queue is locked, before work with a time limit, which the device would not check
  // behind other work. False: patience was over first.
  bool finish_started(const Patience& patience);

 private:
  using Clock = std::chrono::steady_clock;
  struct Posted {
    uint64_t ticket = 0;
    std::function<void()> work;
  };
  struct UnderWay {
    std::shared_ptr<Started> work;
    Clock::time_point since;
  };
  // Shared with the thread: work may hold the last owner of the device, and with it of this queue.
  struct Core {
    const uint32_t fork_epoch = base::fork_epoch();
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t given = 0;           // tickets
    uint64_t serving = 0;         // the ticket that holds the lock
    std::set<uint64_t> given_up;  // tickets without a waiter
    std::deque<Posted> posted;
    std::deque<UnderWay> under_way;  // in order
    bool asleep = false;             // the thread, until something changes
    bool closing = false;

    void next();
    void serve();
    // Under the lock: the first one that is not finished.
    std::shared_ptr<Started> oldest();
  };

  std::shared_ptr<Core> core_;
  std::thread thread_;  // started by the first post
};

}  // namespace vyre::run
