// SPDX-License-Identifier: Apache-2.0
// One launch: its workgroups in pieces, on the caller's thread and those that help it.
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

// Less work than this is done before anybody else has heard of it; it is also the least that a
// worker takes at a time.
inline constexpr uint64_t kAloneNs = 20'000;
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

// What all workers of a launch share. Lives on the caller's stack: nobody is in it when it ends.
class LaunchJob {
 public:
  struct Request {
    const Kernel& kernel;
    const device::KernelArgs& args;
    const device::Submission& submission;
    uint64_t number = 0;  // never the same twice for one set of helpers
    uint64_t groups = 0;
    uint64_t lanes = 0;                     // of a workgroup
    Pool* pool = nullptr;                   // null: this thread alone
    std::span<Worker> helpers = {};         // those of the pool
    KernelFloatingPoint* caller = nullptr;  // whose settings callbacks want
  };

  enum class End : uint8_t { Done, Cancelled, OutOfTime, NoMemory };

  explicit LaunchJob(const Request& request);
  LaunchJob(const LaunchJob&) = delete;
  LaunchJob& operator=(const LaunchJob&) = delete;

  // Expected time of the whole launch, by what the code says of itself.
  static uint64_t expected_ns(const Kernel& kernel, uint64_t groups, uint64_t lanes);

  // `self` is worker 0.
  End run(Worker& self);

  // After run(): the stop of the smallest lane, or Kind::None.
  [[nodiscard]] device::KernelStop stop(const Worker& self) const;
  // After it was given up: a loop that did not end.
  [[nodiscard]] std::optional<uint32_t> loop_site(const Worker& self) const;

 private:
  using Clock = std::chrono::steady_clock;

  static uint32_t poll(device::KernelWorker* worker, uint32_t site);
  bool begin(Worker& worker);
  void call(Worker& worker, uint64_t first, uint64_t count);
  void work(Worker& worker, bool is_caller);
  void report_progress();
  bool must_stop();
  void give_up(End why);
  void finish_all(Worker& self);

  const Request& r_;
  uint64_t group_ns_;
  Worker* self_ = nullptr;
  Clock::time_point next_progress_;
  Chunks chunks_;
  std::exception_ptr thrown_;  // by a callback, which must not leave helpers behind
  std::atomic<End> end_ = End::Done;
  std::atomic<bool> any_stop_ = false;  // or a loop that was left: somebody has to be asked
};

}  // namespace vyre::backend::cpu
