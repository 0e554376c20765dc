// SPDX-License-Identifier: Apache-2.0
// Device memory that is kept when it is freed: the first touch of a page costs more than any loop
// over it, so a warm program should not see fresh pages again. Small blocks are the heap's, which
// keeps them itself; large ones are mapped, those from 4 MiB on for huge pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "device/host_memory.hpp"

namespace vyre::backend::cpu {

class BlockPool : public device::BlockSource {
 public:
  static constexpr uint64_t kMapped = uint64_t{128} << 10;  // from here on
  static constexpr uint64_t kHuge = uint64_t{4} << 20;

  // Free blocks of more bytes than `keep` in all go back to the system, the oldest first.
  explicit BlockPool(uint64_t keep) : keep_(keep) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() override;  // all blocks were given back

  // A block of its own, else the oldest of others, which may want their newer ones again; else a
  // fresh one. The heap's blocks are always foreign.
  Taken take(uint64_t bytes, uint64_t owner) noexcept override;
  void give(std::byte* block, uint64_t bytes, uint64_t owner) noexcept override;
  void trim(uint64_t keep = 0) noexcept;
  [[nodiscard]] uint64_t kept_bytes() const;

  // The size of a block for `bytes` bytes: at most an eighth more, so that blocks can be used again
  // for sizes like theirs.
  static uint64_t class_bytes(uint64_t bytes);

 private:
  struct Block {
    std::byte* data;
    uint64_t bytes;
    uint64_t owner;
  };
  std::optional<Taken> take_kept(uint64_t bytes, uint64_t owner) noexcept;
  static std::byte* map(uint64_t bytes) noexcept;
  void trim_to(uint64_t keep) noexcept;

  const uint64_t keep_;
  mutable std::mutex mutex_;
  std::vector<Block> free_;  // oldest first
  uint64_t free_bytes_ = 0;
};

}  // namespace vyre::backend::cpu
