// SPDX-License-Identifier: Apache-2.0
#include "run/queue.hpp"

#include <algorithm>

namespace vyre::run {

using namespace std::chrono_literals;

namespace {

constexpr size_t kMostUnderWay = 64;
// From here on a thread that starts more checks whether the oldest is done, so that what it holds
// serves again.
constexpr size_t kManyUnderWay = 8;
// A row of short dispatches is over before, and the thread does not get in its way.
constexpr auto kUnattended = 1ms;
constexpr auto kCancelPollInterval = 2ms;
constexpr auto kWorkPollInterval = 20us;

}  // namespace

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
    do ++serving;
    while (given_up.erase(serving) != 0);
    others = serving != given;
  }
  if (others) changed.notify_all();
}

bool Queue::Patience::is_limited() const {
  return deadline != Clock::time_point::max() || cancel != nullptr;
}

bool Queue::Patience::is_over() const {
  return (cancel != nullptr && cancel->load(std::memory_order_relaxed)) || Clock::now() >= deadline;
}

Queue::Lock::Lock(Queue& queue, const Patience& patience) : queue_(queue) {
  Core& core = *queue_.core_;
  std::unique_lock lock(core.mutex);
  const uint64_t ticket = core.given++;
  if (ticket == core.serving) return;
  const auto is_served = [&] { return core.serving == ticket; };
  if (!patience.is_limited()) {
    core.changed.wait(lock, is_served);
    return;
  }
  while (!core.changed.wait_until(
      lock, std::min(patience.deadline, Clock::now() + kCancelPollInterval), is_served)) {
    if (!patience.is_over()) continue;
    core.given_up.insert(ticket);
    held_ = false;
    return;
  }
}

Queue::Lock::~Lock() {
  // A callback that forked has come back in the child, where the lock may be held for ever.
  if (held_ && !base::is_forked_since(queue_.core_->fork_epoch)) queue_.core_->next();
}

void Queue::post(std::function<void()> work) {
  {
    const std::scoped_lock lock(core_->mutex);
    // The ticket is drawn last: no thread would ever serve one whose work or thread could not be
    // had.
    if (!thread_.joinable()) thread_ = std::thread([core = core_] { core->serve(); });
    core_->posted.push_back({core_->given, std::move(work)});
    ++core_->given;
  }
  core_->changed.notify_all();
}

void Queue::drain() {
  const Lock lock(*this);
  finish_started();
}

// ---- work that is started and finished later

std::shared_ptr<Queue::Started> Queue::Core::oldest() {
  while (!under_way.empty() && under_way.front().work->is_finished()) under_way.pop_front();
  return under_way.empty() ? nullptr : under_way.front().work;
}

bool Queue::can_start() {
  std::shared_ptr<Started> oldest;
  size_t count = 0;
  {
    const std::scoped_lock lock(core_->mutex);
    // The thread is there from the first post on.
    if (core_->given != core_->serving || !thread_.joinable()) return false;
    oldest = core_->oldest();
    count = core_->under_way.size();
  }
  if (count < kManyUnderWay) return true;
  if (!oldest->is_done()) return count < kMostUnderWay;
  oldest->finish(Started::By::Caller);
  return true;
}

void Queue::make_room() {
  for (;;) {
    std::shared_ptr<Started> oldest;
    size_t count = 0;
    {
      const std::scoped_lock lock(core_->mutex);
      oldest = core_->oldest();
      count = core_->under_way.size();
    }
    if (count < kManyUnderWay || (count < kMostUnderWay && !oldest->is_done())) return;
    oldest->finish(Started::By::Caller);
  }
}

void Queue::started(std::shared_ptr<Started> work) {
  bool asleep = false;
  {
    const std::scoped_lock lock(core_->mutex);
    core_->under_way.push_back({std::move(work), Clock::now()});
    asleep = core_->asleep;
  }
  if (asleep) core_->changed.notify_all();
}

void Queue::finish_started() {
  for (;;) {
    std::shared_ptr<Started> oldest;
    {
      const std::scoped_lock lock(core_->mutex);
      oldest = core_->oldest();
    }
    if (!oldest) return;
    oldest->finish(Started::By::Caller);
  }
}

bool Queue::finish_started(const Patience& patience) {
  for (;;) {
    std::shared_ptr<Started> oldest;
    {
      const std::scoped_lock lock(core_->mutex);
      oldest = core_->oldest();
    }
    if (!oldest) return true;
    while (!oldest->is_done()) {
      if (patience.is_over()) return false;
      std::this_thread::sleep_for(kWorkPollInterval);
    }
    oldest->finish(Started::By::Caller);
  }
}

void Queue::Core::serve() {
  std::unique_lock lock(mutex);
  for (;;) {
    if (!posted.empty() && posted.front().ticket == serving) {
      Posted next_work = std::move(posted.front());
      posted.pop_front();
      lock.unlock();
      next_work.work();
      next_work.work = nullptr;  // what it holds goes before a waiter learns that it is done
      next();
      lock.lock();
    } else if (std::shared_ptr<Started> first = oldest()) {
      const Clock::time_point then = under_way.front().since + kUnattended;
      if (Clock::now() < then) {
        changed.wait_until(lock, then);
        continue;
      }
      lock.unlock();
      first->finish(Started::By::Thread);
      first.reset();
      lock.lock();
    } else if (posted.empty() && closing) {
      return;
    } else {
      asleep = true;
      changed.wait(lock);
      asleep = false;
    }
  }
}

}  // namespace vyre::run
