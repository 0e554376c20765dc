// SPDX-License-Identifier: Apache-2.0
// trap and resume, stopping, limits.
#include <gmock/gmock.h>

#include "oracle/oracle_test.hpp"

namespace vyre::oracle {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Traps : public ::testing::TestWithParam<Options> {};
INSTANTIATE_TEST_SUITE_P(Schedules, Traps, ::testing::ValuesIn(all_schedules()));

std::vector<uint32_t> lanes_of(const std::vector<TrapReport>& reports) {
  std::vector<uint32_t> lanes;
  for (const TrapReport& report : reports) lanes.push_back(report.lane);
  return lanes;
}

TEST_P(Traps, AnUnmatchedTrapFailsWithTheSmallestLaneOfTheFirstPhase) {
  const Ran r(grid_program("inout a : u32[8];", R"(
    if gid.x == 6 { trap(3, 60); }
    if gid.x >= 4 { trap(4, gid.x * 10); }
    a[gid.x] = 1;
    barrier grid;
    trap(5, 0);
  )",
                           8, 4),
              {{"a", data(std::vector<uint32_t>(8, 0))}}, GetParam());
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.result.error().code, ErrorCode::Trapped);
  EXPECT_THAT(r.result.error().message, HasSubstr("lane 4 trapped with tag 4 and value 40"));
  EXPECT_EQ(r.result.error().at.line, 7U);
}

TEST_P(Traps, ResumedLanesGoOnWithTheOthers) {
  const Ran r(grid_program("inout c : u32[4]; out o : u32[12];", R"(
    var mine = gid.x;
    if gid.x % 4 == 1 { trap(7, gid.x + 100); }
    if gid.x % 4 != 1 { atomic_add(c[0], 1); mine += 1000; }
    barrier grid;
    barrier workgroup;
    atomic_add(c[1], 1);
    resume(7);
    atomic_add(c[2], 1);
    barrier grid;
    o[gid.x] = mine + c[2] * 10000;
  )",
                           12, 6),
              {{"c", words({0, 0, 0, 0})}}, GetParam());
  EXPECT_THAT(r.get("c"), ElementsAre(9, 9, 12, 0));
  std::vector<uint32_t> expected(12);
  for (uint32_t i = 0; i < 12; ++i) expected[i] = 120000 + i + (i % 4 == 1 ? 0 : 1000);
  EXPECT_EQ(r.get("o"), expected);
  EXPECT_THAT(lanes_of(r.outcome().resumed), ElementsAre(1, 5, 9));
  EXPECT_EQ(r.outcome().resumed[1].value, 105U);
  EXPECT_EQ(r.outcome().resumed[1].tag, 7);
}

TEST_P(Traps, AllLanesTrapAndTheGridGoesOnAtTheFirstResume) {
  const Ran r(grid_program("inout c : u32[3];", R"(
    fn inner(c : buffer u32[]) {
      if gid.x % 2 == 1 { trap(1, 5); }
      atomic_add(c[0], 1);
      trap(1, 6);
      resume(1);
      atomic_add(c[1], 1);
    }
    if gid.x < 2 { trap(2, 0); }
    inner(c);
    atomic_add(c[2], 1);
    trap(2, 1);
    resume(2);
    atomic_add(c[2], 100);
  )",
                           6, 3),
              {{"c", words({0, 0, 0})}}, GetParam());
  EXPECT_THAT(r.get("c"), ElementsAre(2, 4, 604));
  EXPECT_THAT(lanes_of(r.outcome().resumed), ElementsAre(2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
}

TEST_P(Traps, InALoopEachIterationHasItsOwnReports) {
  const Ran r(grid_program("inout c : u32[1];", R"(
    for t in 0 .. 3 {
      if gid.x == t { trap(0, t); }
      atomic_add(c[0], 1);
      resume(0);
    }
  )",
                           4, 2),
              {{"c", words({0})}}, GetParam());
  EXPECT_THAT(r.get("c"), ElementsAre(9));
  EXPECT_THAT(lanes_of(r.outcome().resumed), ElementsAre(0, 1, 2));
}

TEST_P(Traps, TheHandlerSeesAllReportsAndMayWrite) {
  Options options = GetParam();
  std::vector<uint32_t> seen;
  options.on_resume = [&](std::span<const TrapReport> reports, HandlerBuffers& buffers) {
    for (const TrapReport& report : reports) seen.push_back(report.lane);
    EXPECT_EQ(buffers.read(ir::BufferId{0}).size(), 4U);
    EXPECT_TRUE(buffers.write(ir::BufferId{0}).empty());  // an input
    const std::span<std::byte> table = buffers.write(ir::BufferId{1});
    for (const TrapReport& report : reports)
      std::memcpy(table.data() + size_t{report.lane} * 4, &report.value, 4);
    return Result<void>();
  };
  const Ran r(grid_program("in base : u32[1]; inout table : u32[6]; out o : u32[6];", R"(
    if table[gid.x] == 0 { trap(1, base[0] + gid.x); }
    resume(1);
    o[gid.x] = table[gid.x];
  )",
                           6, 2),
              {{"base", words({50})}, {"table", words({9, 0, 9, 0, 0, 9})}}, options);
  EXPECT_THAT(r.get("o"), ElementsAre(9, 51, 9, 53, 54, 9));
  EXPECT_THAT(seen, ElementsAre(1, 3, 4));
}

TEST_P(Traps, AnErrorOfTheHandlerEndsTheDispatch) {
  Options options = GetParam();
  options.on_resume = [](std::span<const TrapReport>, HandlerBuffers&) -> Result<void> {
    return std::unexpected(Error{.code = ErrorCode::InvalidArgument,
                                 .message = "no such page. Fix: none",
                                 .context = {},
                                 .at = {},
                                 .diagnostics = {}});
  };
  const Ran r(grid_program("out o : u32[1];", "trap(1, 0); resume(1); o[0] = 1;", 1, 1), {},
              options);
  EXPECT_THAT(r.error(), HasSubstr("no such page"));
}

TEST_P(Traps, AResumeWithoutReportsIsABarrier) {
  const Ran r(grid_program("inout a : u32[4]; out o : u32[4];", R"(
    if a[gid.x] == 99 { trap(1, 0); }
    a[gid.x] = gid.x + 1;
    resume(1);
    o[gid.x] = a[3 - gid.x];
  )",
                           4, 2),
              {{"a", words({0, 0, 0, 0})}}, GetParam());
  EXPECT_THAT(r.get("o"), ElementsAre(4, 3, 2, 1));
  EXPECT_EQ(r.outcome().phases, 1U);
}

TEST_P(Traps, FixpointFiguresBelongToTheDispatchAlsoForTrappedLanes) {
  const Ran r(grid_program("inout a : u32[1]; out o : u32[4];", R"(
    if gid.x == 2 { trap(1, 0); }
    fixpoint max 10 over (a) { atomic_max(a[0], min(atomic_load(a[0]) + 1, 3)); barrier grid; }
    resume(1);
    o[gid.x] = select(fixpoint_converged(), fixpoint_passes(), 0);
  )",
                           4, 2),
              {{"a", words({3})}}, GetParam());
  EXPECT_THAT(r.get("o"), Each(1U));
}

TEST_P(Traps, CollectivesOfOneRankTakePartEvenWithoutLanes) {
  const Ran r(grid_program("inout a : u32[2]; inout b : u32[2];", R"(
    a[gid.x] += 1;
    return;
    all_reduce(a, add);
    all_gather(a, b);
  )",
                           2, 2),
              {{"a", words({1, 2})}, {"b", words({0, 0})}}, GetParam());
  EXPECT_THAT(r.get("a"), ElementsAre(2, 3));
  EXPECT_THAT(r.get("b"), ElementsAre(2, 3));
}

TEST(Collectives, LengthsMustFit) {
  const Ran r(
      grid_program("inout a : u32[2]; inout b : u32[3];", "reduce_scatter(a, b, add);", 2, 2),
      {{"a", words({1, 2})}, {"b", words({0, 0, 0})}});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.result.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(r.error(), HasSubstr("copies `a` (2 elements) to `b` (3 elements)"));
}

// ---- limits

TEST(Limits, ALoopThatWaitsForeverEndsWithTimeout) {
  Options options;
  options.timeout = std::chrono::milliseconds(30);
  const Ran r(grid_program("inout flag : u32[1];",
                           "if gid.x == 0 { while atomic_load(flag[0]) == 0 { } } else { "
                           "atomic_store(flag[0], 1); }",
                           2, 2),
              {{"flag", words({0})}}, options);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.result.error().code, ErrorCode::Timeout);
  EXPECT_EQ(r.result.error().at.line, 5U);
}

TEST(Limits, CancelStopsSoon) {
  const std::atomic<bool> cancel = true;
  Options options;
  options.cancel = &cancel;
  const Ran r(grid_program("out o : u32[1];", "while true { o[0] += 1; }", 1, 1), {}, options);
  EXPECT_THAT(r.error(), HasSubstr("cancelled"));
}

TEST(Limits, StateThatDoesNotFitIsRefusedBeforeAnythingRuns) {
  Options options;
  options.memory_limit = 1 << 20;
  const Ran r(grid_program("out o : u32[1];",
                           "var a : u32[100]; a[0] = 1; barrier grid; o[0] = a[0];", 100000, 64),
              {}, options);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.result.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(r.error(), HasSubstr("1563 workgroups of 64 lanes"));
  // Without a grid barrier one workgroup after the other fits.
  EXPECT_TRUE(
      Ran(grid_program("out o : u32[1];", "var a : u32[100]; a[0] = 1; o[0] = a[0];", 100000, 64),
          {}, options)
          .ok());
  const Ran buffers(grid_program("out o : u32[1000000];", "o[0] = 1;", 1, 1), {}, options);
  EXPECT_THAT(buffers.error(), HasSubstr("the buffers up to `o` need 4000000 bytes"));
}

TEST(Limits, AMillionLanesFitInTwoGigabytes) {
  Options options;
  options.memory_limit = uint64_t{2} << 30;
  const Ran r(grid_program("in a : u32[4]; out o : u32[1]; shared s : u32[256];", R"(
    var x = gid.x;
    var y = 1.5;
    var v : f32[16];
    s[lid.x] = x;
    barrier workgroup;
    for i in 0 .. 2 { v[i] = y * (s[255 - lid.x] as f32); x += a[i]; }
    barrier grid;
    atomic_add(o[0], x % 3 + (v[1] as u32) % 2);
  )",
                           1 << 20, 256),
              {{"a", words({1, 2, 3, 4})}}, options);
  ASSERT_TRUE(r.ok()) << r.error();
  EXPECT_LT(r.outcome().peak_state_bytes, uint64_t{2} << 30);
  EXPECT_GT(r.outcome().peak_state_bytes, (uint64_t{1} << 20) * 100);
}

TEST(Limits, OptionsAreChecked) {
  EXPECT_THAT(
      Ran(grid_program("out o : u32[1];", "o[0] = 1;", 1, 1), {}, {.subgroup_size = 2}).error(),
      HasSubstr("a subgroup of 2 lanes"));
}

TEST(Limits, ProgressIsReported) {
  Options options;
  uint64_t calls = 0;
  options.on_progress = [&](const Progress& p) {
    ++calls;
    EXPECT_EQ(p.workgroups, 2U);
  };
  EXPECT_TRUE(
      Ran(grid_program("out o : u32[1];", "for i in 0 .. 1000 { atomic_add(o[0], 1); }", 64, 32),
          {}, options)
          .ok());
  EXPECT_GE(calls, 1U);
}

}  // namespace
}  // namespace vyre::oracle
