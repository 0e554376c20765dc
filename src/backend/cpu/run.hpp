// SPDX-License-Identifier: Apache-2.0
// The work of one thread that submits: where memory lies, and how launches are run. What a launch
// needs is looked up once for each step of a submission, so that loops pay only for the calls.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/block_pool.hpp"
#include "backend/cpu/kernel_code.hpp"
#include "backend/cpu/launch.hpp"
#include "backend/cpu/pool.hpp"
#include "backend/cpu/processor.hpp"
#include "device/host_memory.hpp"
#include "device/host_steps.hpp"

namespace vyre::backend::cpu {

inline constexpr uint32_t kMaxBindings = 1024;

// What a submission uses and leaves to the next one.
struct Kept {
  // Loaded code, which lives as long as launches of it may be run again.
  struct Code {
    device::Handle pipeline;
    std::shared_ptr<const KernelCode> code;
  };
  static constexpr uint32_t kCodes = 4;

  Scratch scratch;
  device::HostMemory::Lookups lookups;
  uint64_t code_releases = 0;  // when the codes were found
  uint32_t codes_used = 0;
  std::array<Code, kCodes> codes;
};

// What all submissions of a device share.
struct Parts {
  Parts(Pool::Options pool_options, device::HostMemory::Options memory_options, uint64_t kept_bytes,
        bool exact_blocks);
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() { delete spare.load(std::memory_order_relaxed); }

  std::string device;  // its id, for errors
  BlockPool blocks;
  device::HostMemory memory;
  device::HostCode<KernelCode> code;
  uint64_t stream_bytes = ~uint64_t{0};
  // One is enough unless several threads submit at once.
  std::atomic<Kept*> spare = nullptr;

  Pool pool;
  // The owner of the pool owns these.
  std::vector<Worker> helpers;
  std::vector<Scratch> helper_scratch;
  uint64_t launches = 0;
};

class Run : public device::HostDevice {
 public:
  Run(Parts& parts, const device::Submission& submission);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() override;

  std::span<std::byte> memory(device::Handle buffer) override {
    return parts_.memory.find(buffer, kept_->lookups);
  }
  void on_step(const device::Step& step) override;
  [[nodiscard]] bool watches_steps() const override { return false; }
  void fill(std::span<std::byte> to, std::byte value) override;
  void copy(std::span<std::byte> to, std::span<const std::byte> from) override;
  bool differ(std::span<const std::byte> a, std::span<const std::byte> b) override;

  Result<device::Timings> launch(const device::Launch& launch, const device::Axes& grid,
                                 device::Completion& completion) override;
  bool launch_again(uint32_t step, device::Completion& completion,
                    std::optional<Error>& error) override;

  // What launches took in all, with what the device did between them. To read the clock for
  // each of them would take longer than short ones do.
  uint64_t device_ns();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint32_t kPrepared = 32;
  static constexpr uint32_t kNoStep = ~uint32_t{0};

  Pool* pool_for(uint64_t work_ns);
  void start_clock();
  void stop_clock();
  void run(const PreparedLaunch& launch, device::Completion& completion,
           std::optional<Error>& failed);
  void take_end(LaunchJob::End end, const PreparedLaunch& launch, device::Completion& completion,
                std::optional<Error>& failed);

  void forget();
  const KernelCode* code_of(device::Handle pipeline);
  Result<const PreparedLaunch*> prepare(const device::Launch& launch, const device::Axes& grid);
  Result<const device::KernelArgs*> bind(const Kernel& kernel, const device::Launch& launch,
                                         const device::Axes& grid, uint64_t groups);
  Error ended(LaunchJob::End end, const Kernel& kernel);
  static Result<void> stopped(const device::KernelStop& stop, const Kernel& kernel,
                              device::Completion& completion);

  Parts& parts_;
  const device::Submission& submission_;
  std::unique_ptr<Kept> kept_;
  const device::Step* step_ = nullptr;
  bool owns_pool_ = false;
  bool clock_runs_ = false;
  Clock::time_point clock_start_;
  uint64_t device_ns_ = 0;
  KernelFloatingPoint floating_point_;
  Worker self_;
  LaunchJob job_;
  std::array<uint32_t, kPrepared> prepared_steps_;  // whose launch it is
  std::array<PreparedLaunch, kPrepared> prepared_;  // by the last digits of the step
  // KernelArgs and their bindings; only what launches use is ever written.
  size_t argument_bytes_used_ = 0;
  alignas(64) std::byte
      argument_bytes_[sizeof(device::KernelArgs) + kMaxBindings * sizeof(device::KernelBinding)];
};

}  // namespace vyre::backend::cpu
