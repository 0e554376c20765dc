// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/block_pool.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace vyre::backend::cpu {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

bool aligned(const std::byte* block, uint64_t to) {
  return reinterpret_cast<uintptr_t>(block) % to == 0;
}

TEST(BlockPool, ClassesAreCloseToWhatIsAsked) {
  for (uint64_t bytes = BlockPool::kMapped; bytes < 1000 * kMiB; bytes += bytes / 7 + 1) {
    const uint64_t size = BlockPool::class_bytes(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_EQ(size % 4096, 0u);
    EXPECT_LE(size, bytes + bytes / 8 + (bytes >= BlockPool::kHuge ? 2 * kMiB : 0)) << bytes;
    EXPECT_EQ(BlockPool::class_bytes(size), size);
  }
}

TEST(BlockPool, BlocksAreAlignedAndUsable) {
  BlockPool pool(64 * kMiB);
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, BlockPool::kMapped - 1,
                               BlockPool::kMapped, 3 * kMiB + 5, 4 * kMiB, 9 * kMiB + 1}) {
    std::byte* const block = pool.take(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_TRUE(aligned(block, bytes >= BlockPool::kHuge ? 2 * kMiB : 256)) << bytes;
    std::memset(block, 1, bytes);
    pool.give(block, bytes);
  }
  EXPECT_EQ(pool.take(~uint64_t{0}), nullptr);
}

TEST(BlockPool, KeepsTheNewestAndNotTooMuch) {
  BlockPool pool(20 * kMiB);
  std::byte* const a = pool.take(8 * kMiB);
  std::byte* const b = pool.take(8 * kMiB);
  std::byte* const c = pool.take(8 * kMiB);
  pool.give(a, 8 * kMiB);
  pool.give(b, 8 * kMiB);
  EXPECT_EQ(pool.kept_bytes(), 16 * kMiB);
  pool.give(c, 8 * kMiB);
  EXPECT_EQ(pool.kept_bytes(), 16 * kMiB);  // a is gone
  EXPECT_EQ(pool.take(8 * kMiB), c);
  EXPECT_EQ(pool.take(8 * kMiB - 100), b);  // of the same class
  EXPECT_EQ(pool.kept_bytes(), 0u);
  pool.give(b, 8 * kMiB - 100);
  pool.give(c, 8 * kMiB);
  pool.trim();
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

}  // namespace
}  // namespace vyre::backend::cpu
