// SPDX-License-Identifier: Apache-2.0
// Subgroups and async copies.
#include <cmath>

#include <gmock/gmock.h>

#include "oracle/oracle_test.hpp"

namespace vyre::oracle {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class Scopes : public ::testing::TestWithParam<Schedule> {
 protected:
  static Options options(uint32_t subgroup_size) {
    return {.schedule = GetParam(), .seed = 11, .subgroup_size = subgroup_size};
  }
};
INSTANTIATE_TEST_SUITE_P(Schedules, Scopes,
                         ::testing::Values(Schedule::Forward, Schedule::Reversed,
                                           Schedule::Random));

constexpr std::string_view kLanes = "out o : u32[10];";

std::vector<uint32_t> each_lane(std::string_view expression, const Options& options,
                                std::string_view before = "") {
  // Ten lanes: subgroups of four are 0-3, 4-7 and 8-9.
  const Ran r(
      grid_program(kLanes, std::string(before) + "o[gid.x] = " + std::string(expression) + ";", 10,
                   10),
      {}, options);
  return r.get("o");
}

TEST_P(Scopes, Ids) {
  EXPECT_THAT(each_lane("subgroup_id * 100 + subgroup_lane * 10 + subgroup_size", options(4)),
              ElementsAre(4, 14, 24, 34, 104, 114, 124, 134, 204, 214));
  EXPECT_THAT(each_lane("subgroup_id * 100 + subgroup_lane * 10 + subgroup_size", options(1)),
              ElementsAre(1, 101, 201, 301, 401, 501, 601, 701, 801, 901));
}

TEST_P(Scopes, VotesAndBallots) {
  EXPECT_THAT(each_lane("subgroup_ballot(gid.x % 3 == 0)", options(4)),
              ElementsAre(9, 9, 9, 9, 4, 4, 4, 4, 2, 2));
  EXPECT_THAT(
      each_lane("select(subgroup_any(gid.x == 5), 1, 0) + select(subgroup_all(gid.x > 3), 2, 0)",
                options(4)),
      ElementsAre(0, 0, 0, 0, 3, 3, 3, 3, 2, 2));
  EXPECT_THAT(each_lane("subgroup_ballot(true)", options(32)), Each(1023U));
  EXPECT_THAT(each_lane("subgroup_ballot(gid.x == 3)", options(1)),
              ElementsAre(0, 0, 0, 1, 0, 0, 0, 0, 0, 0));
}

TEST_P(Scopes, Reductions) {
  EXPECT_THAT(each_lane("subgroup_add(gid.x)", options(4)),
              ElementsAre(6, 6, 6, 6, 22, 22, 22, 22, 17, 17));
  EXPECT_THAT(each_lane("subgroup_mul(gid.x + 1)", options(4)),
              ElementsAre(24, 24, 24, 24, 1680, 1680, 1680, 1680, 90, 90));
  EXPECT_THAT(each_lane("subgroup_min(gid.x) * 100 + subgroup_max(gid.x)", options(4)),
              ElementsAre(3, 3, 3, 3, 407, 407, 407, 407, 809, 809));
  EXPECT_THAT(
      each_lane("subgroup_and(gid.x | 4) * 1000 + subgroup_or(gid.x) * 100 + subgroup_xor(gid.x)",
                options(4)),
      ElementsAre(4300, 4300, 4300, 4300, 4700, 4700, 4700, 4700, 12901, 12901));
  EXPECT_THAT(
      each_lane("subgroup_inclusive_add(gid.x) * 100 + subgroup_exclusive_add(gid.x)", options(4)),
      ElementsAre(0, 100, 301, 603, 400, 904, 1509, 2215, 800, 1708));
}

TEST_P(Scopes, ShufflesOfMissingLanesGiveZero) {
  EXPECT_THAT(each_lane("subgroup_shuffle(gid.x + 1, 3 - subgroup_lane)", options(4)),
              ElementsAre(4, 3, 2, 1, 8, 7, 6, 5, 0, 0));
  EXPECT_THAT(each_lane("subgroup_shuffle(gid.x + 1, 99)", options(4)), Each(0U));
  EXPECT_THAT(each_lane("subgroup_shuffle_xor(gid.x + 1, 1)", options(4)),
              ElementsAre(2, 1, 4, 3, 6, 5, 8, 7, 10, 9));
  EXPECT_THAT(each_lane("subgroup_shuffle_up(gid.x + 1, 1)", options(4)),
              ElementsAre(0, 1, 2, 3, 0, 5, 6, 7, 0, 9));
  EXPECT_THAT(each_lane("subgroup_shuffle_down(gid.x + 1, 2)", options(4)),
              ElementsAre(3, 4, 0, 0, 7, 8, 0, 0, 0, 0));
  EXPECT_THAT(each_lane("subgroup_broadcast(gid.x + 1, 2)", options(4)),
              ElementsAre(3, 3, 3, 3, 7, 7, 7, 7, 0, 0));
}

TEST_P(Scopes, EndedLanesTakeNoPart) {
  const std::string_view ended = "if gid.x == 1 || gid.x == 6 { return; }\n";
  EXPECT_THAT(each_lane("subgroup_add(gid.x)", options(4), ended),
              ElementsAre(5, 0, 5, 5, 16, 16, 0, 16, 17, 17));
  EXPECT_THAT(each_lane("subgroup_shuffle_xor(gid.x + 1, 1)", options(4), ended),
              ElementsAre(0, 0, 4, 3, 6, 5, 0, 0, 10, 9));
  EXPECT_THAT(each_lane("subgroup_ballot(true)", options(4), ended),
              ElementsAre(13, 0, 13, 13, 11, 11, 0, 11, 3, 3));
  EXPECT_THAT(each_lane("subgroup_inclusive_add(1)", options(4), ended),
              ElementsAre(1, 0, 2, 3, 1, 2, 0, 3, 1, 2));
}

TEST_P(Scopes, FloatReductionsAreAButterfly) {
  const std::vector<float> x = {1e8F, 1.0F, -1e8F, 1.0F, 3e-8F, 0.1F, 0.2F};
  const Ran r(grid_program("in x : f32[7]; out o : f32[8]; out z : f32[8];", R"(
    if gid.x == 7 { return; }
    o[gid.x] = subgroup_add(x[gid.x]);
    z[gid.x] = subgroup_add(-0.0);
  )",
                           8, 8),
              {{"x", data(x)}}, options(8));
  const float expected = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + x[6]);
  const auto o = r.get<float>("o");
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(o[i], expected);
  EXPECT_TRUE(std::signbit(r.get<float>("z")[0]));  // the identity is -0.0
}

TEST_P(Scopes, SubgroupBarriersAndOperationsInUniformLoops) {
  const Ran r(grid_program("shared s : u32[8]; out o : u32[8];", R"(
    s[lid.x] = lid.x;
    for d in 0 .. 3 {
      barrier subgroup;
      let other = s[(lid.x & ~3) | ((lid.x + 1) & 3)];
      barrier subgroup;
      s[lid.x] = other + subgroup_max(d);
    }
    o[gid.x] = s[lid.x];
  )",
                           8, 8),
              {}, options(4));
  EXPECT_THAT(r.get("o"), ElementsAre(6, 3, 4, 5, 10, 7, 8, 9));
}

TEST_P(Scopes, AsyncCopies) {
  const Ran r(
      grid_program("in a : u32[16]; inout b : u32[20]; shared s : u32[8]; out o : u32[16];", R"(
    async copy(1, s, 0, a, wid.x * 8, 8);
    async copy(2, b, wid.x * 8 + 2, a, wid.x * 8, 4);
    wait(1);
    o[gid.x] = s[7 - lid.x];
    wait(2);
    barrier workgroup;
    if lid.x < 4 { o[gid.x] += b[wid.x * 8 + 2 + lid.x] * 100; }
  )",
                   16, 8),
      {{"a", data([] {
          std::vector<uint32_t> a(16);
          for (uint32_t i = 0; i < 16; ++i) a[i] = i + 1;
          return a;
        }())},
       {"b", data(std::vector<uint32_t>(20, 0))}},
      options(4));
  EXPECT_THAT(r.get("o"),
              ElementsAre(108, 207, 306, 405, 4, 3, 2, 1, 916, 1015, 1114, 1213, 12, 11, 10, 9));
}

TEST_P(Scopes, AsyncCopiesOutOfBounds) {
  const Ran r(
      grid_program("in a : u32[3]; inout b : u32[6]; in n : i32[2];", R"(
    async copy(1, b, 4, a, 1, 5);
    wait(1);
    async copy(1, b, n[0], a, n[0], 3);
    wait(1);
    async copy(2, b, 0, a, 0, n[1]);
    wait(2);
  )",
                   4, 4),
      {{"a", words({1, 2, 3})}, {"b", words({9, 9, 9, 9, 9, 9})}, {"n", data<int32_t>({-1, -5})}},
      options(4));
  // b[4] = a[1], b[5] = a[2]; b[-1] dropped, b[0] = a[0], b[1] = a[1]; nothing for a negative
  // count.
  EXPECT_THAT(r.get("b"), ElementsAre(1, 2, 9, 9, 2, 3));
}

}  // namespace
}  // namespace vyre::oracle
