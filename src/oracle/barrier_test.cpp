// SPDX-License-Identifier: Apache-2.0
// Barriers, fixpoints, ended lanes: the programs of D-GRID.11 and their relatives, under every
// schedule.
#include <gmock/gmock.h>

#include "oracle/oracle_test.hpp"

namespace vyre::oracle {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class Barriers : public ::testing::TestWithParam<Options> {
 protected:
  static Ran go(std::string_view buffers, std::string_view statements, uint32_t lanes,
                uint32_t group, const Inputs& inputs = {}) {
    return Ran(grid_program(buffers, statements, lanes, group), inputs, GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(Schedules, Barriers, ::testing::ValuesIn(all_schedules()));

TEST_P(Barriers, PartialWritesAroundABarrier) {
  const Ran r = go("inout buf : u32[];", "buf[0] = 1; barrier grid; buf[1] = 2;", 4, 4,
                   {{"buf", words({9, 9, 9, 9})}});
  EXPECT_THAT(r.get("buf"), ElementsAre(1, 2, 9, 9));
}

TEST_P(Barriers, AnAtomicBeforeABarrierCountsOnce) {
  const Ran r = go("inout c : u32[1]; out o : u32[65];",
                   "let t = atomic_add(c[0], 1); barrier grid; o[t] = 1; o[64] = c[0];", 64, 8,
                   {{"c", words({0})}});
  std::vector<uint32_t> expected(65, 1);
  expected[64] = 64;
  EXPECT_EQ(r.get("o"), expected);
}

TEST_P(Barriers, LocalsSurvive) {
  const Ran r = go("inout a : u32[]; out o : u32[32];", R"(
    let x = a[gid.x];
    var y = 0;
    var z : u32[3];
    z[1] = gid.x * 3;
    y = 5;
    a[gid.x] = 7;
    barrier grid;
    o[gid.x] = x + y * 100 + z[1] * 1000;
  )",
                   32, 8, {{"a", data(std::vector<uint32_t>(32, 4))}});
  std::vector<uint32_t> expected(32);
  for (uint32_t i = 0; i < 32; ++i) expected[i] = 504 + i * 3000;
  EXPECT_EQ(r.get("o"), expected);
}

TEST_P(Barriers, SharedMemorySurvivesTheGridBarrierAndStartsAsZeros) {
  const Ran r = go("shared s : u32[8]; shared late : u32[8]; out o : u32[32];", R"(
    s[lid.x] = wid.x * 10 + lid.x;
    barrier grid;
    late[lid.x] += 1;
    barrier workgroup;
    o[gid.x] = s[7 - lid.x] * 10 + late[(lid.x + 1) % 8];
  )",
                   32, 8);
  std::vector<uint32_t> expected(32);
  for (uint32_t i = 0; i < 32; ++i) expected[i] = (i / 8 * 10 + 7 - i % 8) * 10 + 1;
  EXPECT_EQ(r.get("o"), expected);
}

TEST_P(Barriers, AHundredIterationsAroundABarrier) {
  const Ran r = go("inout a : u32[]; inout b : u32[];", R"(
    for t in 0 .. 50 {
      b[gid.x] = a[(gid.x + 1) % 12];
      barrier grid;
      a[gid.x] = b[(gid.x + 1) % 12];
      barrier grid;
    }
  )",
                   12, 4,
                   {{"a", words({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})},
                    {"b", data(std::vector<uint32_t>(12, 0))}});
  EXPECT_THAT(r.get("a"), ElementsAre(4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3));
  EXPECT_EQ(r.outcome().phases, 100U);
}

TEST_P(Barriers, AWhileOnGridLoadWithBreakAndContinue) {
  const Ran r = go("inout n : u32[2]; out trips : u32[9];", R"(
    while grid_load(n[0]) < 10 {
      if gid.x == 0 { n[0] += 1; }
      trips[gid.x] += 1;
      barrier grid;
      if grid_load(n[0]) == 3 { continue; }
      trips[gid.x] += 100;
      if grid_load(n[0]) == 6 { break; }
      barrier grid;
    }
  )",
                   9, 4, {{"n", words({0, 0})}});
  EXPECT_THAT(r.get("trips"), Each(506U));
  EXPECT_THAT(r.get("n"), ElementsAre(6, 0));
}

TEST_P(Barriers, EndedLanesStayEndedAndAreNotWaitedFor) {
  const Ran r = go("out o : u32[16]; inout c : u32[1];", R"(
    if gid.x % 3 == 0 { return; }
    for t in 0 .. 4 {
      if gid.x == t + 1 { return; }
      atomic_add(c[0], 1);
      barrier grid;
      barrier workgroup;
    }
    o[gid.x] = c[0];
  )",
                   16, 8, {{"c", words({0})}});
  // Ten lanes do not stop at once; of those 1, 2 and 4 leave in trips 0, 1 and 3.
  const uint32_t sum = 9 + 8 + 8 + 7;
  std::vector<uint32_t> expected(16, sum);
  for (uint32_t i = 0; i < 16; ++i)
    if (i % 3 == 0 || i == 1 || i == 2 || i == 4) expected[i] = 0;
  EXPECT_EQ(r.get("o"), expected);
}

TEST_P(Barriers, AllLanesEndBeforeTheBarrier) {
  const Ran r = go("inout a : u32[];", "a[gid.x] = 1; return; barrier grid; a[gid.x] = 2;", 8, 4,
                   {{"a", data(std::vector<uint32_t>(8, 0))}});
  EXPECT_THAT(r.get("a"), Each(1U));
  EXPECT_EQ(r.outcome().phases, 0U);  // a barrier that no live lane reaches counts as none
}

TEST_P(Barriers, BarriersInBranchesAndInFunctionsCalledTwice) {
  const Ran r = go("in flag : u32[1]; inout a : u32[]; out o : u32[8];", R"(
    fn shift(b : buffer u32[], by : u32) -> u32 {
      barrier grid;
      let v = b[(gid.x + by) % 8];
      barrier grid;
      b[gid.x] = v + 1;
      return v;
    }
    let first = shift(a, 1);
    if flag[0] == 1 { barrier grid; o[gid.x] = 1000; } else { o[gid.x] = 5; barrier grid; }
    let second = shift(a, 2);
    o[gid.x] += first * 10 + second;
  )",
                   8, 4, {{"flag", words({1})}, {"a", words({0, 1, 2, 3, 4, 5, 6, 7})}});
  std::vector<uint32_t> expected(8);
  for (uint32_t i = 0; i < 8; ++i) expected[i] = 1000 + (i + 1) % 8 * 10 + (i + 3) % 8 + 1;
  EXPECT_EQ(r.get("o"), expected);
}

TEST_P(Barriers, WorkgroupLoadIsOneValuePerWorkgroup) {
  const Ran r = go("shared s : u32[4]; out o : u32[16];", R"(
    if lid.x == 2 { s[1] = wid.x + 7; }
    var turns = 0;
    while workgroup_load(s[1]) > 7 {
      turns += 1;
      if lid.x == 0 { s[1] -= 1; }
    }
    o[gid.x] = turns;
  )",
                   16, 4);
  EXPECT_THAT(r.get("o"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
}

TEST_P(Barriers, FixpointRunsUntilNothingChanges) {
  const Ran r = go("inout d : u32[]; out seen : u32[20];", R"(
    fixpoint max 100 over (d) {
      if gid.x > 0 { atomic_min(d[gid.x], atomic_load(d[gid.x - 1]) + 1); }
      barrier grid;
    }
    seen[gid.x] = fixpoint_passes() * 2 + select(fixpoint_converged(), 1, 0);
  )",
                   20, 5, {{"d", data([] {
                              std::vector<uint32_t> d(20, 1000);
                              d[0] = 0;
                              return d;
                            }())}});
  std::vector<uint32_t> expected(20);
  for (uint32_t i = 0; i < 20; ++i) expected[i] = i;
  EXPECT_EQ(r.get("d"), expected);
  // How many passes it takes depends on the order of lanes, but the last one changes nothing.
  const auto seen = r.get("seen");
  EXPECT_THAT(seen, Each(r.outcome().fixpoints.at(0).passes * 2 + 1));
}

TEST_P(Barriers, AFixpointIsExactAboutChange) {
  // Each pass writes something else and puts it back: nothing has changed.
  const Ran r = go("inout a : u32[];",
                   "fixpoint max 9 over (a) { a[gid.x] = 5; barrier grid; a[gid.x] = 3; }", 4, 4,
                   {{"a", words({3, 3, 3, 3})}});
  EXPECT_EQ(r.outcome().fixpoints.at(0).passes, 1U);
  EXPECT_TRUE(r.outcome().fixpoints.at(0).converged);
  EXPECT_EQ(r.outcome().phases, 3U);  // entry, inside, end of the pass
}

TEST_P(Barriers, AFixpointStopsAtItsLimit) {
  const Ran r = go("inout a : u32[1]; out o : u32[2];", R"(
    o[0] = fixpoint_passes();
    fixpoint max 3 over (a) { if gid.x == 0 { a[0] += 1; } }
    o[1] = fixpoint_passes() * 10 + select(fixpoint_converged(), 1, 0);
  )",
                   6, 3, {{"a", words({0})}});
  EXPECT_THAT(r.get("a"), ElementsAre(3));
  EXPECT_THAT(r.get("o"), ElementsAre(0, 30));
}

TEST_P(Barriers, FixpointsInLoopsAndLoopsInFixpoints) {
  const Ran r = go("inout a : u32[1]; inout b : u32[1];", R"(
    for turn in 0 .. 3 {
      fixpoint max 100 over (a) {
        for t in 0 .. 2 {
          if gid.x == t { atomic_max(a[0], min(atomic_load(a[0]) + 1, 4 * (turn + 1))); }
          barrier grid;
        }
      }
      if gid.x == 0 { b[0] = b[0] * 10 + fixpoint_passes(); }
    }
  )",
                   6, 3, {{"a", words({0})}, {"b", words({0})}});
  EXPECT_THAT(r.get("a"), ElementsAre(12));
  EXPECT_THAT(r.get("b"), ElementsAre(333));
}

TEST_P(Barriers, AFixpointInWhichAllLanesEndDoesNotCount) {
  const Ran r = go("inout a : u32[1];", R"(
    fixpoint max 5 over (a) { atomic_add(a[0], 1); return; }
    a[0] = 99;
  )",
                   4, 2, {{"a", words({0})}});
  EXPECT_THAT(r.get("a"), ElementsAre(4));
  EXPECT_TRUE(r.outcome().fixpoints.empty());
}

TEST_P(Barriers, ZeroIterationsAndTenThousand) {
  const Ran r = go("in n : u32[2]; inout a : u32[1];", R"(
    for i in 0 .. n[0] { barrier grid; a[0] = 7; }
    for i in 0 .. n[1] { if gid.x == 1 { a[0] += 1; } barrier grid; }
  )",
                   2, 1, {{"n", words({0, 10000})}, {"a", words({0})}});
  EXPECT_THAT(r.get("a"), ElementsAre(10000));
}

TEST(Grid, NothingRunsOnAnEmptyGrid) {
  const Ran r(R"(program p {
    workgroup 4;
    over 0;
    inout a : u32[];
    out o : u32[3];
    fixpoint max 4 over (a) { a[0] = 1; }
    o[0] = 5;
  })",
              {{"a", words({3})}});
  EXPECT_THAT(r.get("a"), ElementsAre(3));
  EXPECT_THAT(r.get("o"), Each(0U));
  EXPECT_EQ(r.outcome().statements, 0U);
}

TEST(Grid, AZeroMaximumFoundAtRunTimeStopsTheDispatch) {
  const Ran r(R"(program p {
    workgroup 4;
    in n : u32[1];
    inout a : u32[];
    fixpoint max n[0] over (a) { a[0] = 1; }
  })",
              {{"n", words({0})}, {"a", words({3})}});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.result.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(r.result.error().at.line, 5U);
}

}  // namespace
}  // namespace vyre::oracle
