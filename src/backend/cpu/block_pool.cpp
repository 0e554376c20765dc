// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/block_pool.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <ranges>

#include <sys/mman.h>

#include "base/free_memory.hpp"

namespace vyre::backend::cpu {

namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr std::align_val_t kAlign{256};
constexpr uint64_t kMostBytes = uint64_t{1} << 46;  // of an address space

uint64_t rounded(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

uint64_t BlockPool::class_bytes(uint64_t bytes) {
  const uint64_t step = std::bit_floor(bytes) / 8;
  return rounded(bytes, bytes >= kHuge ? std::max(step, kHugePage) : step);
}

BlockPool::~BlockPool() {
  trim_to(0);
}

std::optional<BlockPool::Taken> BlockPool::take_kept(uint64_t bytes, uint64_t owner) noexcept {
  const std::scoped_lock lock(mutex_);
  // The newest is the warmest.
  const auto own = std::ranges::find_if(free_ | std::views::reverse, [&](const Block& b) {
    return owner != 0 && b.bytes == bytes && b.owner == owner;
  });
  const auto found =
      own != free_.rend() ? std::next(own).base() : std::ranges::find(free_, bytes, &Block::bytes);
  if (found == free_.end()) return std::nullopt;
  const Taken taken{found->data, bytes, own != free_.rend() ? Held::Own : Held::Foreign};
  free_.erase(found);
  free_bytes_ -= bytes;
  return taken;
}

BlockPool::Taken BlockPool::take(uint64_t bytes, uint64_t owner) noexcept {
  if (bytes < kMapped) {
    auto* const data = static_cast<std::byte*>(::operator new(bytes, kAlign, std::nothrow));
    return {data, bytes, Held::Foreign};
  }
  if (bytes > kMostBytes) return {};
  const uint64_t size = class_bytes(bytes);
  if (const auto kept = take_kept(size, owner)) return *kept;
  // A mapping costs nothing until it is used, and then it is too late to refuse it.
  std::byte* data = may_grow_memory(size) ? map(size) : nullptr;
  if (data == nullptr) {
    trim();
    data = may_grow_memory(size) ? map(size) : nullptr;
  }
  return {data, size, Held::Zeros};
}

void BlockPool::give(std::byte* block, uint64_t bytes, uint64_t owner) noexcept {
  if (bytes < kMapped) {
    ::operator delete(block, kAlign);
    return;
  }
  const uint64_t size = class_bytes(bytes);
  const std::scoped_lock lock(mutex_);
  try {
    free_.push_back({block, size, owner});
  } catch (const std::bad_alloc&) {
    ::munmap(block, size);
    return;
  }
  free_bytes_ += size;
  trim_to(keep_);
}

void BlockPool::trim(uint64_t keep) noexcept {
  const std::scoped_lock lock(mutex_);
  trim_to(keep);
}

uint64_t BlockPool::kept_bytes() const {
  const std::scoped_lock lock(mutex_);
  return free_bytes_;
}

std::byte* BlockPool::map(uint64_t bytes) noexcept {
  const uint64_t extra = bytes >= kHuge ? kHugePage : 0;
  void* const memory = ::mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(memory);
  if (extra == 0) return first;
  const auto address = reinterpret_cast<uint64_t>(first);
  const uint64_t before = rounded(address, kHugePage) - address;
  if (before != 0) ::munmap(first, before);
  if (before != extra) ::munmap(first + before + bytes, extra - before);
  ::madvise(first + before, bytes, MADV_HUGEPAGE);
  return first + before;
}

void BlockPool::trim_to(uint64_t keep) noexcept {
  size_t count = 0;
  for (; count < free_.size() && free_bytes_ > keep; ++count) {
    ::munmap(free_[count].data, free_[count].bytes);
    free_bytes_ -= free_[count].bytes;
  }
  free_.erase(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace vyre::backend::cpu
