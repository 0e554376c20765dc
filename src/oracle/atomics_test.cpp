// SPDX-License-Identifier: Apache-2.0
// Atomics: every operation, type and order, on buffers and shared memory.
#include <gmock/gmock.h>

#include "oracle/oracle_test.hpp"

namespace vyre::oracle {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Atomics, EveryOperationGivesTheOldValue) {
  const Ran r(grid_program("inout a : u32[12]; out o : u32[12];", R"(
    o[0] = atomic_add(a[0], 4294967295);
    o[1] = atomic_sub(a[1], 8);
    o[2] = atomic_min(a[2], 3);
    o[3] = atomic_max(a[3], 4294967295);
    o[4] = atomic_and(a[4], 5);
    o[5] = atomic_or(a[5], 8);
    o[6] = atomic_xor(a[6], 5);
    o[7] = atomic_nand(a[7], 5);
    o[8] = atomic_exchange(a[8], 70);
    o[9] = atomic_cas(a[9], 7, 90);
    o[10] = atomic_cas(a[10], 8, 90);
    atomic_store(a[11], 50);
    o[11] = atomic_load(a[11]);
  )",
                           1, 1),
              {{"a", data(std::vector<uint32_t>(12, 7))}});
  EXPECT_THAT(r.get("o"), ElementsAre(7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 50));
  EXPECT_THAT(r.get("a"), ElementsAre(6, 4294967295, 3, 4294967295, 5, 15, 2, ~5U, 70, 90, 7, 50));
}

TEST(Atomics, SignedAndWideTypes) {
  const Ran r(grid_program("inout i : i32[3]; inout u : u64[3]; inout l : i64[2];", R"(
    atomic_min(i[0], -5);
    atomic_max(i[1], -5);
    atomic_add(i[2], -10);
    atomic_add(u[0], 1);
    atomic_max(u[1], 18446744073709551615);
    atomic_cas(u[2], 4294967296, 8);
    atomic_min(l[0], -1);
    atomic_nand(l[1], 1);
  )",
                           1, 1),
              {{"i", data<int32_t>({3, 3, 3})},
               {"u", data<uint64_t>({~uint64_t{0}, 1, uint64_t{1} << 32})},
               {"l", data<int64_t>({0, 3})}});
  EXPECT_THAT(r.get<int32_t>("i"), ElementsAre(-5, 3, -7));
  EXPECT_THAT(r.get<uint64_t>("u"), ElementsAre(0, ~uint64_t{0}, 8));
  EXPECT_THAT(r.get<int64_t>("l"), ElementsAre(-1, -2));
}

TEST(Atomics, Floats) {
  const Ran r(grid_program("inout f : f32[3]; out o : f32[2];", R"(
    atomic_add(f[0], 0.25);
    o[0] = atomic_exchange(f[1], 9.0);
    atomic_store(f[2], atomic_load(f[0]) * 2.0);
  )",
                           1, 1),
              {{"f", data<float>({1.5F, 2.5F, 0.0F})}});
  EXPECT_THAT(r.get<float>("f"), ElementsAre(1.75F, 9.0F, 3.5F));
  EXPECT_THAT(r.get<float>("o"), ElementsAre(2.5F, 0.0F));
}

TEST(Atomics, ManyLanesOnBuffersAndSharedMemoryInAnyOrder) {
  for (const Options& options : all_schedules()) {
    const Ran r(grid_program("inout c : u32[4]; shared s : u32[2]; out o : u32[96];", R"(
      atomic_add(c[0], gid.x);
      atomic_max(c[1], gid.x ^ 21);
      atomic_or(c[2], 1 << (gid.x % 32));
      let ticket = atomic_add(s[0], 1, acq_rel);
      atomic_add(s[1], ticket);
      barrier workgroup;
      o[gid.x] = atomic_load(s[1], acquire) + s[0] * 1000;
      atomic_sub(c[3], 1, release);
    )",
                             96, 32),
                {{"c", words({0, 0, 0, 0})}}, options);
    EXPECT_THAT(r.get("c"), ElementsAre(96 * 95 / 2, 95, ~0U, 0U - 96));
    EXPECT_THAT(r.get("o"), Each(32 * 31 / 2 + 32000));
  }
}

}  // namespace
}  // namespace vyre::oracle
