// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/memory.hpp"

#include <tuple>

namespace vyre::backend::cuda {

using namespace device;

namespace {

// Code reads and writes vectors of this many bytes, also at the end of a buffer.
constexpr uint64_t kRow = 16;

}  // namespace

Result<Handle> DeviceMemory::allocate(uint64_t bytes, Memory kind) {
  const Handle handle = new_handle();
  Block block{.bytes = bytes};
  if (bytes != 0) {
    const uint64_t rounded = (bytes + kRow - 1) / kRow * kRow;
    if (kind == Memory::Device) {
      if (const Outcome got = gpu_.driver.memory_allocate(&block.address, rounded); !got.ok())
        return std::unexpected(gpu_.allocation_failed(got, bytes));
    } else {
      void* host = nullptr;
      if (const Outcome got =
              gpu_.driver.host_allocate(&host, rounded, kHostAllocPortable | kHostAllocDeviceMap);
          !got.ok())
        return std::unexpected(gpu_.allocation_failed(got, bytes));
      block.host = static_cast<std::byte*>(host);
      if (const Outcome got = gpu_.driver.host_address(&block.address, host, 0); !got.ok()) {
        free(block);
        return std::unexpected(gpu_.failed(got, "mapping memory of the host"));
      }
    }
  }
  const std::scoped_lock lock(mutex_);
  try {
    blocks_.emplace(handle.value, block);
  } catch (...) {
    free(block);
    throw;
  }
  return handle;
}

void DeviceMemory::free(const Block& block) noexcept {
  if (block.host != nullptr)
    std::ignore = gpu_.driver.host_free(block.host);
  else if (block.address != 0)
    std::ignore = gpu_.driver.memory_free(block.address);
}

bool DeviceMemory::release(Handle handle) noexcept {
  Block freed;
  {
    const std::scoped_lock lock(mutex_);
    const auto row = blocks_.find(handle.value);
    if (row == blocks_.end()) return false;
    freed = row->second;
    blocks_.erase(row);
  }
  free(freed);
  return true;
}

void DeviceMemory::clear() noexcept {
  const std::scoped_lock lock(mutex_);
  for (const auto& [handle, block] : blocks_) free(block);
  blocks_.clear();
}

DeviceMemory::Block DeviceMemory::find(Handle handle) const {
  const std::scoped_lock lock(mutex_);
  const auto row = blocks_.find(handle.value);
  return row == blocks_.end() ? Block{} : row->second;
}

}  // namespace vyre::backend::cuda
