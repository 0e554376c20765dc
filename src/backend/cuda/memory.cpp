// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/memory.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/errors.hpp"

namespace vyre::backend::cuda {

using namespace device;

namespace {

// Code reads and writes vectors of this many bytes, also at the end of a buffer.
constexpr uint64_t kRow = 16;

uint64_t rounded(uint64_t bytes, uint64_t to = kRow) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

Result<void> DeviceMemory::open() {
  constexpr std::string_view kDoing = "making a pool of memory";
  int pools = 0;
  VYRE_TRY(gpu_.check(
      gpu_.driver.device_attribute(&pools, DeviceAttribute::MemoryPools, gpu_.number), kDoing));
  VYRE_TRY(gpu_.check(gpu_.driver.stream_create(&stream_, kStreamNonBlocking), kDoing));
  if (pools == 0) return {};
  const PoolProperties properties{.device = gpu_.number};
  if (auto ok = gpu_.check(gpu_.driver.pool_create(&pool_, &properties), kDoing); !ok) {
    pool_ = nullptr;
    return ok;
  }
  uint64_t keep = ~uint64_t{0};  // what is freed serves the next buffers
  if (auto ok =
          gpu_.check(gpu_.driver.pool_set_attribute(pool_, kPoolReleaseThreshold, &keep), kDoing);
      !ok)
    return ok;
  // The first piece of a pool takes milliseconds, which is time for a context but not for a
  // program.
  VYRE_TRY_ASSIGN(auto first, allocate_on_device(kRow, false));
  VYRE_TRY(gpu_.check(gpu_.driver.pool_free(first, stream_), kDoing));
  return gpu_.check(gpu_.await(stream_), kDoing);
}

void DeviceMemory::close() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [handle, block] : blocks_) free(block);
    blocks_.clear();
    bytes_ = 0;
  }
  if (stream_ != nullptr) {
    if (pool_ != nullptr) std::ignore = gpu_.driver.pool_destroy(std::exchange(pool_, nullptr));
    std::ignore = gpu_.driver.stream_destroy(std::exchange(stream_, nullptr));
  }
}

Result<DeviceAddress> DeviceMemory::allocate_on_device(uint64_t bytes, bool clear) {
  DeviceAddress address = 0;
  Outcome got;
  if (pool_ == nullptr) {
    got = gpu_.driver.memory_allocate(&address, bytes);
  } else {
    got = gpu_.driver.pool_allocate(&address, bytes, pool_, stream_);
    // What the pool keeps may be in the wrong pieces.
    if (got.status == status::kOutOfMemory && gpu_.driver.pool_trim(pool_, 0).ok())
      got = gpu_.driver.pool_allocate(&address, bytes, pool_, stream_);
  }
  if (!got.ok()) return std::unexpected(gpu_.allocation_failed(got, bytes));
  Outcome ready;
  if (clear) ready = gpu_.driver.set_bytes(address, 0, bytes, stream_);
  // Other streams may use it only when this one has come so far.
  if (ready.ok() && (clear || pool_ != nullptr)) ready = gpu_.await(stream_);
  if (ready.ok()) return address;
  free({.address = address, .start = address, .bytes = bytes});
  return std::unexpected(gpu_.allocation_failed(ready, bytes));
}

Result<DeviceMemory::Block> DeviceMemory::allocate_on_host(uint64_t bytes, bool clear) {
  void* host = nullptr;
  if (const Outcome got = gpu_.driver.host_allocate(&host, rounded(bytes),
                                                    kHostAllocPortable | kHostAllocDeviceMap);
      !got.ok())
    return std::unexpected(gpu_.allocation_failed(got, bytes));
  Block block{.host = static_cast<std::byte*>(host)};
  if (const Outcome got = gpu_.driver.host_address(&block.address, host, 0); !got.ok()) {
    free(block);
    return std::unexpected(gpu_.failed(got, "mapping memory of the host"));
  }
  if (clear) std::memset(host, 0, rounded(bytes));
  return block;
}

Result<Allocated> DeviceMemory::allocate(const Allocation& wanted) {
  const Handle handle = new_handle();
  const bool clear = !wanted.overwritten;
  uint64_t taken = rounded(wanted.bytes);
  Block block;
  if (wanted.bytes != 0 && wanted.kind == Memory::Device) {
    // The driver's memory is at multiples of 256: more of it has other multiples inside.
    taken += wanted.alignment - kLeastAlignment;
    VYRE_TRY_ASSIGN(block.start, allocate_on_device(taken, clear));
    block.address = rounded(block.start, wanted.alignment);
  } else if (wanted.bytes != 0) {
    VYRE_TRY_ASSIGN(auto made, allocate_on_host(wanted.bytes, clear));
    block = made;
  }
  block.bytes = wanted.bytes;
  const std::scoped_lock lock(mutex_);
  try {
    blocks_.emplace(handle.value, block);
  } catch (...) {
    free(block);
    throw;
  }
  bytes_ += block.bytes;
  peak_bytes_ = std::max(peak_bytes_, bytes_);
  return Allocated{handle, clear ? taken : 0};
}

void DeviceMemory::free(const Block& block) noexcept {
  if (block.host != nullptr)
    gpu_.deferred.pinned(block.host, block.bytes);
  else if (block.start != 0 && pool_ != nullptr)
    std::ignore = gpu_.driver.pool_free(block.start, stream_);
  else if (block.start != 0)
    gpu_.deferred.memory(block.start, block.bytes);
}

std::optional<DeviceMemory::Block> DeviceMemory::take(Handle handle) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto row = blocks_.find(handle.value);
  if (row == blocks_.end()) return std::nullopt;
  const Block taken = row->second;
  blocks_.erase(row);
  bytes_ -= taken.bytes;
  return taken;
}

DeviceMemory::Sum DeviceMemory::sum() const {
  const std::scoped_lock lock(mutex_);
  return {.buffers = blocks_.size(), .bytes = bytes_, .peak_bytes = peak_bytes_};
}

DeviceMemory::Block DeviceMemory::find(Handle handle) const {
  const std::scoped_lock lock(mutex_);
  const auto row = blocks_.find(handle.value);
  return row == blocks_.end() ? Block{} : row->second;
}

}  // namespace vyre::backend::cuda
