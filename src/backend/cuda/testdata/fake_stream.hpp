// SPDX-License-Identifier: Apache-2.0
// Streams of the driver of the tests: each has a thread, or makes a graph of what it gets.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace vyre::backend::cuda {

using Clock = std::chrono::steady_clock;

struct FakeEvent {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0;
  uint64_t happened = 0;
  Clock::time_point time;
};

// What a node is, is settled when it is captured; what it does may be patched where a graph has
// been made ready to run. A handle is good as long as the graph that it was captured in.
struct FakeNode {
  enum class Kind : uint8_t { Other, Launch, Cooperative, Fill, Copy };
  Kind kind = Kind::Other;
  const void* function = nullptr;  // of a launch
  std::function<void()> work{};
};
struct FakeGraph {
  std::vector<std::shared_ptr<FakeNode>> nodes;
  std::shared_ptr<const FakeGraph> source;  // of one that is ready to run
};

class FakeStream {
 public:
  FakeStream() : thread_([this] { run(); }) {}
  ~FakeStream() {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  // What is added from here on becomes a graph.
  bool capture() {
    const std::scoped_lock lock(mutex_);
    if (captured_) return false;
    captured_ = std::make_shared<FakeGraph>();
    dead_ = false;
    return true;
  }
  [[nodiscard]] bool capturing() {
    const std::scoped_lock lock(mutex_);
    return captured_ != nullptr;
  }
  // Nothing: there was none, or something in it was not allowed.
  std::shared_ptr<FakeGraph> end_capture() {
    const std::scoped_lock lock(mutex_);
    auto graph = std::exchange(captured_, nullptr);
    return dead_ ? nullptr : graph;
  }
  void invalidate() {
    const std::scoped_lock lock(mutex_);
    dead_ = true;
  }
  void add(FakeNode node) {
    {
      const std::scoped_lock lock(mutex_);
      if (captured_) {
        captured_->nodes.push_back(std::make_shared<FakeNode>(std::move(node)));
        last_ = captured_->nodes.back().get();
        return;
      }
      work_.push_back(std::move(node.work));
      ++added_;
    }
    changed_.notify_all();
  }
  void add(std::function<void()> work) {
    add({.kind = FakeNode::Kind::Other, .work = std::move(work)});
  }
  // That the next one would depend on, where there is one. It changes with the next one.
  FakeNode* const* last_captured() {
    const std::scoped_lock lock(mutex_);
    return captured_ && !captured_->nodes.empty() ? &last_ : nullptr;
  }
  // Whether something that it was given is not done.
  [[nodiscard]] bool busy() {
    const std::scoped_lock lock(mutex_);
    return done_ != added_;
  }
  void await_room(uint64_t most) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return added_ - done_ < most; });
  }
  void synchronize() {
    std::unique_lock lock(mutex_);
    const uint64_t all = added_;
    changed_.wait(lock, [&] { return done_ >= all; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || !work_.empty(); });
      if (work_.empty()) return;
      const auto work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::shared_ptr<FakeGraph> captured_;
  bool dead_ = false;  // what is captured
  FakeNode* last_ = nullptr;
  uint64_t added_ = 0;
  uint64_t done_ = 0;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace vyre::backend::cuda
