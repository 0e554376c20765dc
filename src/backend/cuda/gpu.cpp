// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/gpu.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace vyre::backend::cuda {

namespace {

constexpr size_t kManyFrees = 64;
constexpr uint64_t kManyBytes = uint64_t{256} << 20;

struct Hung {
  const Driver* driver = nullptr;
  DeviceNumber number = 0;
  ContextHandle context = nullptr;
  std::vector<StreamHandle> streams;
};
std::mutex g_hung_mutex;
std::vector<Hung>& hung_devices() {
  static auto& g_hung = *new std::vector<Hung>;  // devices may be closed when the program ends
  return g_hung;
}

bool runs(const Hung& hung) {
  ContextHandle popped = nullptr;
  if (!hung.driver->context_push(hung.context).ok()) return false;
  const bool busy = std::ranges::any_of(hung.streams, [&](StreamHandle stream) {
    return hung.driver->stream_query(stream).status == status::kNotReady;
  });
  std::ignore = hung.driver->context_pop(&popped);
  return busy;
}

}  // namespace

// ---- frees

void DeferredFrees::add(const Free& free, uint64_t bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  try {
    frees_.push_back(free);
  } catch (const std::bad_alloc&) {
    return;
  }
  count_.store(frees_.size(), std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void DeferredFrees::pinned(void* host, uint64_t bytes) noexcept {
  add({.kind = Free::Kind::Pinned, .handle = host}, bytes);
}
void DeferredFrees::memory(DeviceAddress address, uint64_t bytes) noexcept {
  add({.kind = Free::Kind::Memory, .address = address}, bytes);
}
void DeferredFrees::module(ModuleHandle module) noexcept {
  add({.kind = Free::Kind::Module, .handle = module}, 0);
}

bool DeferredFrees::many() const {
  return count_.load(std::memory_order_relaxed) >= kManyFrees ||
         bytes_.load(std::memory_order_relaxed) >= kManyBytes;
}

void DeferredFrees::run(const Driver& driver) noexcept {
  std::vector<Free> frees;
  {
    const std::scoped_lock lock(mutex_);
    frees.swap(frees_);
    count_.store(0, std::memory_order_relaxed);
    bytes_.store(0, std::memory_order_relaxed);
  }
  for (const Free& free : frees) switch (free.kind) {
      case Free::Kind::Pinned: std::ignore = driver.host_free(free.handle); break;
      case Free::Kind::Memory: std::ignore = driver.memory_free(free.address); break;
      case Free::Kind::Module:
        std::ignore = driver.module_unload(static_cast<ModuleHandle>(free.handle));
        break;
    }
}

void remember_hung(const Gpu& gpu, std::vector<StreamHandle> streams) {
  const std::scoped_lock lock(g_hung_mutex);
  hung_devices().push_back({.driver = &gpu.driver,
                            .number = gpu.number,
                            .context = gpu.context,
                            .streams = std::move(streams)});
}

bool still_hangs(const Driver& driver, DeviceNumber number) {
  const std::scoped_lock lock(g_hung_mutex);
  const auto here = [&](const Hung& hung) {
    return hung.driver == &driver && hung.number == number;
  };
  if (std::ranges::any_of(hung_devices(),
                          [&](const Hung& hung) { return here(hung) && runs(hung); }))
    return true;
  std::erase_if(hung_devices(), here);
  return false;
}

// ---- errors

Error Gpu::failed(const Outcome& outcome, std::string_view doing) const {
  return error_of(driver, outcome, fmt::format("{} on device `{}`", doing, info.id));
}

Outcome Gpu::await(StreamHandle stream) const {
  constexpr std::chrono::milliseconds kSpin{2};
  constexpr std::chrono::microseconds kSleep{50};
  if (in_flight_count == 0) return driver.stream_synchronize(stream);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const Outcome queried = driver.stream_query(stream);
    if (queried.status != status::kNotReady) return queried;
    if (hung) return {status::kLaunchTimeout, queried.call};
    if (watch) watch();
    if (std::chrono::steady_clock::now() - begin > kSpin) std::this_thread::sleep_for(kSleep);
  }
}

Error Gpu::allocation_failed(const Outcome& outcome, uint64_t bytes) const {
  if (outcome.status != status::kOutOfMemory)
    return failed(outcome, fmt::format("allocating {} bytes", bytes));
  size_t available = 0;
  size_t total = 0;
  const bool known = driver.memory_info(&available, &total).ok();
  return {.code = ErrorCode::DeviceOutOfMemory,
          .message = fmt::format("{} bytes are requested on device `{}`, which has {} bytes "
                                 "available: {}. Fix: free buffers, or use smaller ones",
                                 bytes, info.id,
                                 known ? fmt::to_string(available) : "an unknown number of",
                                 describe(driver, outcome)),
          .context = {},
          .at = {},
          .diagnostics = {}};
}

Current::~Current() {
  ContextHandle popped = nullptr;
  if (pushed_.ok()) std::ignore = gpu_.driver.context_pop(&popped);
}

}  // namespace vyre::backend::cuda
