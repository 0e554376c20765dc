// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/block_pool.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/free_memory.hpp"

namespace vyre::backend::cpu {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

bool aligned(const std::byte* block, uint64_t to) {
  return reinterpret_cast<uintptr_t>(block) % to == 0;
}

TEST(BlockPool, ClassesAreCloseToWhatIsRequested) {
  for (uint64_t bytes = BlockPool::kMapped; bytes < 1000 * kMiB; bytes += bytes / 7 + 1) {
    const uint64_t size = BlockPool::class_bytes(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_EQ(size % 4096, 0u);
    EXPECT_LE(size, bytes + bytes / 8 + (bytes >= BlockPool::kHuge ? 2 * kMiB : 0)) << bytes;
    EXPECT_EQ(BlockPool::class_bytes(size), size);
  }
}

constexpr uint64_t kOne = 1;
constexpr uint64_t kTwo = 2;
using Held = device::BlockSource::Held;

TEST(BlockPool, BlocksAreAlignedAndUsable) {
  BlockPool pool(64 * kMiB);
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, BlockPool::kMapped - 1,
                               BlockPool::kMapped, 3 * kMiB + 5, 4 * kMiB, 9 * kMiB + 1}) {
    const device::BlockSource::Taken taken = pool.take(bytes, kOne);
    std::byte* const block = taken.data;
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_GE(taken.bytes, bytes);
    EXPECT_EQ(taken.held, bytes < BlockPool::kMapped ? Held::Foreign : Held::Zeros);
    EXPECT_TRUE(aligned(block, bytes >= BlockPool::kHuge ? 2 * kMiB : 256)) << bytes;
    std::memset(block, 1, bytes);
    pool.give(block, bytes, kOne);
  }
  EXPECT_EQ(pool.take(~uint64_t{0}, kOne).data, nullptr);
}

TEST(BlockPool, KeepsTheNewestAndNotTooMuch) {
  BlockPool pool(20 * kMiB);
  std::byte* const a = pool.take(8 * kMiB, kOne).data;
  std::byte* const b = pool.take(8 * kMiB, kOne).data;
  std::byte* const c = pool.take(8 * kMiB, kOne).data;
  pool.give(a, 8 * kMiB, kOne);
  pool.give(b, 8 * kMiB, kOne);
  EXPECT_EQ(pool.kept_bytes(), 16 * kMiB);
  pool.give(c, 8 * kMiB, kOne);
  EXPECT_EQ(pool.kept_bytes(), 16 * kMiB);  // a is gone
  EXPECT_EQ(pool.take(8 * kMiB, kOne).data, c);
  EXPECT_EQ(pool.take(8 * kMiB - 100, kOne).data, b);  // of the same class
  EXPECT_EQ(pool.kept_bytes(), 0u);
  pool.give(b, 8 * kMiB - 100, kOne);
  pool.give(c, 8 * kMiB, kOne);
  pool.trim();
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

// The blocks of an owner are its own again; others get the oldest, and are told whose it was.
TEST(BlockPool, OwnersGetTheirBlocksBack) {
  BlockPool pool(64 * kMiB);
  std::byte* const a = pool.take(kMiB, kOne).data;
  std::byte* const b = pool.take(kMiB, kTwo).data;
  std::byte* const c = pool.take(kMiB, kOne).data;
  pool.give(a, kMiB, kOne);
  pool.give(b, kMiB, kTwo);
  pool.give(c, kMiB, kOne);
  const auto take = [&](uint64_t owner) {
    const auto taken = pool.take(kMiB - 5, owner);
    EXPECT_EQ(taken.bytes, kMiB);
    return std::pair(taken.data, taken.held);
  };
  EXPECT_EQ(take(kTwo), std::pair(b, Held::Own));
  EXPECT_EQ(take(kTwo), std::pair(a, Held::Foreign));
  EXPECT_EQ(take(kOne), std::pair(c, Held::Own));
  pool.give(a, kMiB, 0);
  EXPECT_EQ(take(0), std::pair(a, Held::Foreign));  // nobody owns anything
  const auto [fresh, held] = take(kOne);
  EXPECT_EQ(held, Held::Zeros);
  for (std::byte* const block : {a, b, c, fresh}) pool.give(block, kMiB, kOne);
}

// What is kept is no growth; what is too much is tried again once all that is kept has gone back.
TEST(BlockPool, NewBlocksNeedMemoryThatIsFree) {
  std::string root = "/tmp/vyre_block_pool_test.XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  std::filesystem::create_directories(root + "/proc");
  const auto have_free = [&](uint64_t bytes) {
    std::ofstream(root + "/proc/meminfo") << "MemAvailable: " << bytes / 1024 << " kB\n";
    set_memory_root(root);
  };
  {
    BlockPool pool(64 * kMiB);
    have_free(100 * kMiB);
    std::byte* const a = pool.take(8 * kMiB, kOne).data;
    ASSERT_NE(a, nullptr);
    pool.give(a, 8 * kMiB, kOne);
    have_free(0);
    const uint64_t readings = memory_readings();
    EXPECT_EQ(pool.take(8 * kMiB, kOne).data, a);
    EXPECT_EQ(memory_readings(), readings);
    EXPECT_EQ(pool.take(8 * kMiB, kOne).data, nullptr);
    pool.give(a, 8 * kMiB, kOne);
    EXPECT_EQ(pool.take(20 * kMiB, kOne).data, nullptr);
    EXPECT_EQ(pool.kept_bytes(), 0U) << "it is given back before anything is refused";
  }
  set_memory_root("");
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace vyre::backend::cpu
