// SPDX-License-Identifier: Apache-2.0
#include "run/queue.hpp"

namespace vyre::run {

Queue::~Queue() {
  {
    const std::scoped_lock lock(core_->mutex);
    core_->closing = true;
  }
  core_->changed.notify_all();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

void Queue::Core::next() {
  bool others = false;
  {
    const std::scoped_lock lock(mutex);
    ++serving;
    others = serving != given;
  }
  if (others) changed.notify_all();
}

Queue::Turn::Turn(Queue& queue) : queue_(queue) {
  Core& core = *queue_.core_;
  std::unique_lock lock(core.mutex);
  const uint64_t turn = core.given++;
  if (turn == core.serving) return;
  core.changed.wait(lock, [&] { return core.serving == turn; });
}

Queue::Turn::~Turn() {
  queue_.core_->next();
}

void Queue::post(std::function<void()> work) {
  {
    const std::scoped_lock lock(core_->mutex);
    // Whatever throws does so before the turn is given, which nobody would ever take.
    if (!thread_.joinable()) thread_ = std::thread([core = core_] { core->serve(); });
    core_->posted.push_back({core_->given, std::move(work)});
    ++core_->given;
  }
  core_->changed.notify_all();
}

void Queue::drain() {
  const Turn turn(*this);
}

void Queue::Core::serve() {
  for (;;) {
    Posted next_work;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return posted.empty() ? closing : posted.front().turn == serving; });
      if (posted.empty()) return;
      next_work = std::move(posted.front());
      posted.pop_front();
    }
    next_work.work();
    next_work.work = nullptr;  // what it holds goes before anybody is told that it is done
    next();
  }
}

}  // namespace vyre::run
