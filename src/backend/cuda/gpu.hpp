// SPDX-License-Identifier: Apache-2.0
// One GPU with its primary context, which all parts of the backend share.
//
// cuMemFreeHost, cuMemFree, cuModuleLoadData and cuModuleUnload return only when no kernel runs in
// the context, and hold its lock meanwhile: no other thread can launch, copy or store `cancel`
// (seen with driver 580 on an H200). So none of them is called while work of the device is in
// flight. SubmissionTracker::exclusive() gives the moments at which they may be; what is to be
// freed waits in DeferredFrees until then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

#include "backend/cuda/driver_api.hpp"
#include "device/time_counter.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::backend::cuda {

class DeferredFrees {
 public:
  // Without memory for the list, what is to be freed stays as long as the process.
  void pinned(void* host, uint64_t bytes) noexcept;
  void memory(DeviceAddress address, uint64_t bytes) noexcept;
  void module(ModuleHandle module) noexcept;
  [[nodiscard]] bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  // So much that it is worth waiting for a moment without work.
  [[nodiscard]] bool many() const;
  // The context is current, and nothing is in flight.
  void run(const Driver& driver) noexcept;

 private:
  struct Free {
    enum class Kind : uint8_t { Pinned, Memory, Module };
    Kind kind = Kind::Pinned;
    void* handle = nullptr;
    DeviceAddress address = 0;
  };
  void add(const Free& free, uint64_t bytes) noexcept;

  std::mutex mutex_;
  std::vector<Free> frees_;
  std::atomic<size_t> count_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
};

// For Backend::metrics(); any thread adds and reads.
struct GpuCounters {
  std::atomic<uint64_t> staging_bytes = 0;
  std::atomic<uint64_t> graphs_built = 0;
  std::atomic<uint64_t> graphs_replayed = 0;
  std::atomic<uint64_t> graphs_patched = 0;
  device::TimeCounter jit;
  device::TimeCounter load;
};

struct Gpu {
  const Driver& driver;
  const device::BackendInfo& info;
  DeviceNumber number = 0;
  ContextHandle context = nullptr;
  mutable DeferredFrees deferred = {};
  // A kernel that did not end was abandoned. It may use any memory and code of the device, so from
  // here on nothing is freed, reused or waited for.
  mutable std::atomic<bool> hung = false;
  mutable std::atomic<uint32_t> in_flight_count = 0;  // submissions without a completed wait
  mutable GpuCounters counters = {};
  // Enforces the time limits of what is in flight; the device sets it.
  std::function<void()> watch = {};

  // `doing` of error_of, on this device.
  [[nodiscard]] Error failed(const Outcome& outcome, std::string_view doing) const;
  [[nodiscard]] Result<void> check(const Outcome& outcome, std::string_view doing) const {
    if (outcome.ok()) return {};
    return std::unexpected(failed(outcome, doing));
  }
  // Until the stream is idle, in place of cuStreamSynchronize: a fill may need a place among
  // kernels that do not end. Fails as a lost device does if one was abandoned.
  Outcome await(StreamHandle stream) const;
  // DeviceOutOfMemory names what was requested and what there is.
  [[nodiscard]] Error allocation_failed(const Outcome& outcome, uint64_t bytes) const;
};

// Streams of devices that were closed with a kernel running.
void remember_hung(const Gpu& gpu, std::vector<StreamHandle> streams);
// Whether one of them still has work on this GPU.
bool still_hangs(const Driver& driver, DeviceNumber number);

// The context is that of the calling thread as long as this lives.
class Current {
 public:
  explicit Current(const Gpu& gpu) : gpu_(gpu), pushed_(gpu.driver.context_push(gpu.context)) {}
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();
  [[nodiscard]] Result<void> check() const { return gpu_.check(pushed_, "using the device"); }

 private:
  const Gpu& gpu_;
  Outcome pushed_;
};

}  // namespace vyre::backend::cuda
