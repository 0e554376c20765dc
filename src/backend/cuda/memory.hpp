// SPDX-License-Identifier: Apache-2.0
// Buffers by handle. Memory of the device comes from a pool, which keeps what is freed and does not
// wait for kernels; where the device has no pools, from the driver piece by piece. That of the host
// is pinned and has an address of the device too. Any thread may call anything; the context is
// current.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "backend/cuda/gpu.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::backend::cuda {

class DeviceMemory {
 public:
  struct Block {
    DeviceAddress address = 0;  // at the alignment that was wanted; 0 if there are no bytes
    DeviceAddress start = 0;    // of what the driver gave, which is freed
    std::byte* host = nullptr;  // of pinned memory
    uint64_t bytes = 0;
  };

  explicit DeviceMemory(const Gpu& gpu) : gpu_(gpu) {}

  Result<void> open();
  // Frees everything.
  void close() noexcept;

  // DeviceOutOfMemory, with what was requested and what there is. Neither the driver nor its pools
  // say whose memory it was, so all of it is cleared unless the caller overwrites it.
  Result<device::Allocated> allocate(const device::Allocation& wanted);
  // Nothing: no memory of this one. Else the caller frees it.
  std::optional<Block> take(device::Handle handle) noexcept;
  // What the driver frees only when nothing runs is left to Gpu::deferred.
  void free(const Block& block) noexcept;
  // For code too: handles are 1, 2, 3 and so on, and are never used again.
  device::Handle new_handle() { return {next_.fetch_add(1, std::memory_order_relaxed)}; }

  // Of no bytes for a handle that is no memory of this one.
  [[nodiscard]] Block find(device::Handle handle) const;
  struct Sum {
    uint64_t buffers = 0;
    uint64_t bytes = 0;
    uint64_t peak_bytes = 0;  // that there ever were
  };
  [[nodiscard]] Sum sum() const;

 private:
  Result<DeviceAddress> allocate_on_device(uint64_t bytes, bool clear);
  Result<Block> allocate_on_host(uint64_t bytes, bool clear);

  const Gpu& gpu_;
  StreamHandle stream_ = nullptr;  // of the pool, and of what is cleared
  PoolHandle pool_ = nullptr;      // none: the device has no pools
  std::atomic<uint64_t> next_ = 1;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Block> blocks_;
  uint64_t bytes_ = 0;  // of all blocks
  uint64_t peak_bytes_ = 0;
};

}  // namespace vyre::backend::cuda
