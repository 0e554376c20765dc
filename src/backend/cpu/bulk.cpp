// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/bulk.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace vyre::backend::cpu {

namespace {

constexpr uint64_t kUnit = uint64_t{64} << 10;  // whole pages, so that workers share none
constexpr uint64_t kLeastUnits = 4;
constexpr uint64_t kMostUnits = 256;

// act(first byte, bytes) -> whether to go on, in chunks that cover all of them.
template <class Act>
void in_pieces(Pool& pool, uint64_t bytes, Act act) {
  struct Job {
    Act& act;
    uint64_t bytes;
    Chunks chunks;
  };
  Job job{.act = act, .bytes = bytes, .chunks = {}};
  job.chunks.reset((bytes + kUnit - 1) / kUnit, pool.workers(), kLeastUnits, kMostUnits);
  pool.run(
      [](void* context, uint32_t worker) {
        auto& j = *static_cast<Job*>(context);
        for (auto range = j.chunks.claim(worker); range.count != 0;
             range = j.chunks.claim(worker)) {
          const uint64_t first = range.first * kUnit;
          if (!j.act(first, std::min(range.count * kUnit, j.bytes - first))) j.chunks.stop();
        }
      },
      &job, bulk_ns(bytes));
}

}  // namespace

void bulk_fill(Pool* pool, std::span<std::byte> to, std::byte value) {
  const auto act = [&](uint64_t first, uint64_t bytes) {
    std::memset(to.data() + first, static_cast<int>(value), bytes);
    return true;
  };
  if (pool == nullptr)
    act(0, to.size());
  else
    in_pieces(*pool, to.size(), act);
}

void bulk_copy(Pool* pool, std::span<std::byte> to, std::span<const std::byte> from) {
  const auto act = [&](uint64_t first, uint64_t bytes) {
    std::memcpy(to.data() + first, from.data() + first, bytes);
    return true;
  };
  if (pool == nullptr)
    act(0, to.size());
  else
    in_pieces(*pool, to.size(), act);
}

bool bulk_differ(Pool* pool, std::span<const std::byte> a, std::span<const std::byte> b) {
  std::atomic<bool> differs = false;
  const auto act = [&](uint64_t first, uint64_t bytes) {
    if (std::memcmp(a.data() + first, b.data() + first, bytes) == 0) return true;
    differs.store(true, std::memory_order_relaxed);
    return false;
  };
  if (pool == nullptr)
    act(0, a.size());
  else
    in_pieces(*pool, a.size(), act);
  return differs.load(std::memory_order_relaxed);
}

}  // namespace vyre::backend::cpu
