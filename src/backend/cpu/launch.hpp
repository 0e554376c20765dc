// SPDX-License-Identifier: Apache-2.0
// A launch: its workgroups at once, or in pieces on the caller's thread and those that help it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>

#include "backend/cpu/kernel_code.hpp"
#include "backend/cpu/pool.hpp"
#include "backend/cpu/processor.hpp"
#include "device/kernel.hpp"
#include "vyre/device/steps.hpp"

namespace vyre::backend::cpu {

// Less work than this is done before another thread has woken up; it is also the least that a
// worker takes at a time.
inline constexpr uint64_t kAloneNs = 10'000;
// The most, so that deadlines are seen in time.
inline constexpr uint64_t kMostChunkNs = 4'000'000;

// Memory of a worker that grows and is kept.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();
  // At a multiple of 64; null if the host has no more, or for no bytes at all.
  std::byte* at_least(uint64_t bytes) noexcept;

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

class LaunchJob;

// A thread's part in a launch, with what it keeps between launches.
struct alignas(kLineBytes) Worker : device::KernelWorker {
  LaunchJob* job = nullptr;
  uint64_t launch = 0;                  // the number of the last one it has made a call for
  std::optional<uint32_t> loop_site{};  // where a loop was when the launch was given up
  Scratch* memory = nullptr;
};

// A kernel with all that a call of it needs.
struct PreparedLaunch {
  const Kernel* kernel;
  const device::KernelArgs* args;
  uint64_t groups;
  uint64_t group_ns;  // what a workgroup is expected to take: what it took before, or what the
                      // code says of itself
  uint64_t work_ns;   // and all of them
  bool at_once;       // it is done before another thread has woken up

  PreparedLaunch() = default;  // of any contents: a submission has room for more than it uses
  PreparedLaunch(const Kernel& k, const device::KernelArgs* a, uint64_t groups_, uint64_t lanes);
};

// The launches of one submission, one after the other, and what all workers of the present one
// share. Lives on the caller's stack: no thread is in it when it ends.
class LaunchJob {
 public:
  // Who may help, if the work is worth it.
  struct Crew {
    Pool& pool;
    std::span<Worker> helpers;  // those of the pool
    uint64_t number = 0;        // of the launch: never the same twice for one set of helpers
  };

  enum class End : uint8_t { Done, Cancelled, OutOfTime, NoMemory };

  // `self` is worker 0; callbacks want the settings of `caller`.
  LaunchJob(const device::Submission& submission, Worker& self, KernelFloatingPoint& caller);
  LaunchJob(const LaunchJob&) = delete;
  LaunchJob& operator=(const LaunchJob&) = delete;

  // In a single call.
  End run_at_once(const PreparedLaunch& launch);
  // In pieces, with others if there is a crew.
  End run(const PreparedLaunch& launch, const Crew* crew);

  // After a run: whether a lane has stopped, and the stop of the smallest.
  [[nodiscard]] bool has_stop() const {
    return self_.stop.kind != device::KernelStop::Kind::None ||
           (!helpers_.empty() && any_stop_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] device::KernelStop stop() const;
  // After it was given up: a loop that did not end.
  [[nodiscard]] std::optional<uint32_t> loop_site() const;

 private:
  using Clock = std::chrono::steady_clock;

  static uint32_t poll(device::KernelWorker* worker, uint32_t site);
  static uint32_t never_stop(device::KernelWorker*, uint32_t) { return 0; }
  [[nodiscard]] bool make_ready(Worker& worker) const;
  bool begin(Worker& worker);
  void call(Worker& worker, uint64_t first, uint64_t count);
  void work(Worker& worker, uint32_t number);
  void report_progress();
  void learn() const;
  bool must_stop();
  void give_up(End why);
  void finish_all();

  const device::Submission& submission_;
  Worker& self_;
  KernelFloatingPoint& caller_;
  const PreparedLaunch* launch_ = nullptr;
  std::span<Worker> helpers_;  // of this launch
  const Pool* pool_ = nullptr;
  uint64_t number_ = 0;
  Clock::time_point next_progress_;
  std::exception_ptr thrown_;  // by a callback, which must not leave helpers behind
  std::atomic<End> end_ = End::Done;
  std::atomic<bool> any_stop_ = false;  // or a loop that was left: the stops have to be read
  Chunks* chunks_ = nullptr;
  std::chrono::nanoseconds timed_{};  // in the caller's calls of the kernel
  uint64_t timed_groups_ = 0;
};

}  // namespace vyre::backend::cpu
