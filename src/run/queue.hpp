// SPDX-License-Identifier: Apache-2.0
// One in-order queue of a device. Callers that wait for their work run it themselves when their
// turn comes; work that nobody waits for yet runs on a thread of the queue.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace vyre::run {

class Queue {
 public:
  Queue() : core_(std::make_shared<Core>()) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  // Waits for everything that was posted; not if that very work is what destroys the queue.
  ~Queue();

  // The caller's turn, until the object goes.
  class Turn {
   public:
    explicit Turn(Queue& queue);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Queue& queue_;
  };

  // Work must not throw. If this does, for want of memory or a thread, nothing was posted.
  void post(std::function<void()> work);
  // Waits until everything that came before has run.
  void drain();

 private:
  struct Posted {
    uint64_t turn = 0;
    std::function<void()> work;
  };
  // Shared with the thread: work may hold the last owner of the device, and with it of this queue.
  struct Core {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t given = 0;    // turns
    uint64_t serving = 0;  // the turn whose time it is
    std::deque<Posted> posted;
    bool closing = false;

    void next();
    void serve();
  };

  std::shared_ptr<Core> core_;
  std::thread thread_;  // started by the first post
};

}  // namespace vyre::run
