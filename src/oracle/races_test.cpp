// SPDX-License-Identifier: Apache-2.0
// The race detector: what it must find, and what it must not take for a race.
#include <gmock/gmock.h>

#include "oracle/oracle_test.hpp"

namespace vyre::oracle {
namespace {

using ::testing::HasSubstr;

class Races : public ::testing::TestWithParam<Options> {
 protected:
  static std::vector<Race> find(std::string_view buffers, std::string_view statements,
                                const Inputs& inputs = {}, uint32_t lanes = 16,
                                uint32_t group = 8) {
    Options options = GetParam();
    options.races = true;
    const Ran r(grid_program(buffers, statements, lanes, group), inputs, options);
    EXPECT_TRUE(r.ok()) << r.error();
    return r.ok() ? r.outcome().races : std::vector<Race>();
  }
  static size_t count(std::string_view buffers, std::string_view statements,
                      const Inputs& inputs = {}, uint32_t lanes = 16, uint32_t group = 8) {
    return find(buffers, statements, inputs, lanes, group).size();
  }
};
INSTANTIATE_TEST_SUITE_P(Schedules, Races, ::testing::ValuesIn(all_schedules()));

const Inputs kA = {{"a", data(std::vector<uint32_t>(16, 1))}};
constexpr std::string_view kInOut = "inout a : u32[16]; out o : u32[16];";
constexpr std::string_view kShared = "shared s : u32[8]; out o : u32[16];";

TEST_P(Races, BothLinesAndLanesAreNamed) {
  const auto races = find(kInOut, "a[gid.x] = 2;\no[gid.x] = a[(gid.x + 1) % 16];\n", kA);
  ASSERT_EQ(races.size(), 1U);
  const Race& race = races[0];
  EXPECT_EQ(race.memory, "a");
  EXPECT_EQ(race.first.at.line + race.second.at.line, 5U + 6U);
  EXPECT_NE(race.first.lane, race.second.lane);
  EXPECT_GT(race.times, 1U);
  EXPECT_THAT(to_string(race), HasSubstr("data race on `a`["));
  EXPECT_THAT(to_string(race), HasSubstr("line 5"));
  EXPECT_THAT(to_string(race), HasSubstr("line 6"));
}

TEST_P(Races, BarriersOrder) {
  EXPECT_EQ(count(kInOut, "a[gid.x] = 2; barrier grid; o[gid.x] = a[(gid.x + 1) % 16];", kA), 0U);
  EXPECT_EQ(count(kShared, "s[lid.x] = 1; barrier workgroup; o[gid.x] = s[(lid.x + 1) % 8];"), 0U);
  EXPECT_EQ(count(kShared, "s[lid.x] = 1; barrier grid; o[gid.x] = s[(lid.x + 1) % 8];"), 0U);
  // A barrier of the workgroup does not order two workgroups.
  EXPECT_EQ(count(kInOut, "a[gid.x] = 2; barrier workgroup; o[gid.x] = a[(gid.x + 8) % 16];", kA),
            1U);
  // But it does order the lanes of one.
  EXPECT_EQ(count(kInOut, "a[gid.x] = 2; barrier workgroup; o[gid.x] = a[gid.x ^ 7];", kA), 0U);
}

TEST_P(Races, SubgroupBarriersOrderOnlyTheSubgroup) {
  const uint32_t size = GetParam().subgroup_size;
  const std::string_view neighbours =
      "s[lid.x] = 1; barrier subgroup; o[gid.x] = s[lid.x / 4 * 4 + (lid.x + 1) % 4];";
  EXPECT_EQ(count(kShared, neighbours), size >= 4 ? 0U : 1U);
  const std::string_view far = "s[lid.x] = 1; barrier subgroup; o[gid.x] = s[(lid.x + 4) % 8];";
  EXPECT_EQ(count(kShared, far), size >= 8 ? 0U : 1U);
}

TEST_P(Races, WritesToOneElement) {
  EXPECT_EQ(count(kInOut, "a[0] = 5;", kA), 1U);
  EXPECT_EQ(count(kInOut, "if gid.x == 3 { a[0] = 5; }", kA), 0U);
  EXPECT_EQ(count(kInOut, "a[gid.x / 2] += 1;", kA), 2U);  // read-write and write-write
}

TEST_P(Races, AtomicsRaceWithPlainAccessesOnly) {
  EXPECT_EQ(
      count(kInOut, "atomic_add(a[0], 1); atomic_max(a[0], 7); o[gid.x] = atomic_load(a[0]);", kA),
      0U);
  EXPECT_EQ(count(kInOut, "atomic_add(a[0], 1); if gid.x == 2 { o[0] = a[0]; }", kA), 1U);
  EXPECT_EQ(count(kInOut, "if gid.x == 2 { a[0] = 3; } else { o[gid.x] = atomic_load(a[0]); }", kA),
            1U);
  EXPECT_EQ(count(kInOut, "o[gid.x] = a[0] + atomic_load(a[0]);", kA), 0U);
}

TEST_P(Races, ReleaseAndAcquireOrder) {
  // One lane writes and publishes; whoever sees the flag may read.
  const std::string_view buffers = "inout a : u32[2]; out o : u32[16];";
  const Inputs a = {{"a", words({0, 0})}};
  EXPECT_EQ(count(buffers, R"(
    if gid.x == 5 { a[0] = 9; atomic_store(a[1], 1, release); }
    if atomic_load(a[1], acquire) == 1 { o[gid.x] = a[0]; }
  )",
                  a),
            0U);
  // A read-modify-write continues the chain.
  EXPECT_EQ(count(buffers, R"(
    if gid.x == 5 { a[0] = 9; atomic_store(a[1], 1, release); }
    if gid.x == 6 { atomic_add(a[1], 10); }
    if atomic_load(a[1], acquire) % 2 == 1 { o[gid.x] = a[0]; }
  )",
                  a),
            0U);
}

TEST_P(Races, AnAcquireIsKnownToTheWorkgroupAfterABarrier) {
  EXPECT_EQ(count("inout a : u32[4]; shared s : u32[1]; out o : u32[16];", R"(
    if gid.x == 0 { a[0] = 9; atomic_store(a[1], 1, release); }
    if gid.x == 8 && atomic_load(a[1], acquire) == 1 { s[0] = 1; }
    barrier workgroup;
    if s[0] == 1 { o[gid.x] = a[0]; }
  )",
                  {{"a", words({0, 0, 0, 0})}}),
            0U);
}

TEST(Races1, RelaxedAtomicsDoNotPublish) {
  Options options;
  options.races = true;
  const auto races = [&](std::string_view store, std::string_view load) {
    const Ran r(grid_program("inout a : u32[2]; out o : u32[16];",
                             "if gid.x == 5 { a[0] = 9; atomic_store(a[1], 1" + std::string(store) +
                                 "); }\nif atomic_load(a[1]" + std::string(load) +
                                 ") == 1 { o[gid.x] = a[0]; }",
                             16, 8),
                {{"a", words({0, 0})}}, options);
    return r.outcome().races.size();
  };
  // In forward order the lanes after 5 see the flag.
  EXPECT_EQ(races(", release", ", acquire"), 0U);
  EXPECT_EQ(races("", ", acquire"), 1U);
  EXPECT_EQ(races(", release", ""), 1U);
}

TEST(Races1, APlainOrRelaxedStoreBreaksTheChain) {
  Options options;
  options.races = true;
  const Ran r(grid_program("inout a : u32[2]; out o : u32[16];", R"(
    if gid.x == 5 { a[0] = 9; atomic_store(a[1], 1, release); }
    if gid.x == 6 { atomic_store(a[1], 2); }
    if atomic_load(a[1], acquire) == 2 { o[gid.x] = a[0]; }
  )",
                           16, 8),
              {{"a", words({0, 0})}}, options);
  EXPECT_EQ(r.outcome().races.size(), 1U);
}

TEST_P(Races, AsyncCopies) {
  const std::string_view buffers = "inout a : u32[16]; shared s : u32[8]; out o : u32[16];";
  EXPECT_EQ(
      count(buffers, "async copy(1, s, 0, a, wid.x * 8, 8); wait(1); o[gid.x] = s[7 - lid.x];", kA),
      0U);
  // Its data before the wait.
  const auto early =
      find(buffers, "async copy(1, s, 0, a, wid.x * 8, 8); o[gid.x] = s[lid.x]; wait(1);", kA);
  ASSERT_EQ(early.size(), 1U);
  EXPECT_TRUE(early[0].first.access == Race::Access::CopyWrite ||
              early[0].second.access == Race::Access::CopyWrite);
  // Its source written since the last barrier, or before the wait.
  EXPECT_EQ(count(buffers, "a[gid.x] = 5; async copy(1, s, 0, a, wid.x * 8, 8); wait(1);", kA), 1U);
  EXPECT_EQ(count(buffers, "async copy(1, s, 0, a, wid.x * 8, 8); a[gid.x] = 5; wait(1);", kA), 1U);
  EXPECT_EQ(
      count(buffers,
            "a[gid.x] = 5; barrier workgroup; async copy(1, s, 0, a, wid.x * 8, 8); wait(1);", kA),
      0U);
  // Two copies into one place.
  EXPECT_EQ(
      count(buffers,
            "async copy(1, s, 0, a, 0, 4); async copy(2, s, 3, a, 0, 4); wait(1); wait(2);", kA),
      1U);
}

TEST_P(Races, FixpointsAndPassesAreOrdered) {
  EXPECT_EQ(count(kInOut, R"(
    fixpoint max 5 over (a) {
      o[gid.x] = a[(gid.x + 1) % 16];
      barrier grid;
      a[gid.x] = min(o[gid.x] + 1, 4);
    }
  )",
                  kA),
            0U);
}

TEST_P(Races, GridLoadAndEndedLanes) {
  EXPECT_EQ(count(kInOut, R"(
    if gid.x == 3 { a[0] = 8; }
    let n = grid_load(a[0]);
    if gid.x == 4 { a[0] = n; }
  )",
                  kA),
            0U);
  // A lane that ended has arrived at every later barrier.
  EXPECT_EQ(count(kShared, R"(
    s[lid.x] = 1;
    if lid.x == 2 { return; }
    barrier workgroup;
    o[gid.x] = s[2];
  )"),
            0U);
}

TEST_P(Races, SharedMemoryOfDifferentWorkgroupsIsDifferent) {
  EXPECT_EQ(count(kShared, "if lid.x == 1 { s[0] = wid.x; }"), 0U);
}

}  // namespace
}  // namespace vyre::oracle
