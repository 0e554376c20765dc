// SPDX-License-Identifier: Apache-2.0
// Plans of the persistent route, printed: blocks take turns at the workgroups of the dispatch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string folded(std::string_view body, PlanOptions options = {}) {
  options.variant.route = Route::Persistent;
  return planned("program p { workgroup 4; inout a : u32[]; inout d : u32[4]; shared s : u32[4]; " +
                     std::string(body) + "}",
                 options);
}

// What follows the ids of the launch, as far as it differs from program to program.
std::string turns(std::string_view body, const PlanOptions& options = {}) {
  const std::string plan = folded(body, options);
  const size_t last = plan.find("let turns");
  if (last == std::string::npos) return plan;
  std::string out = "\n";
  for (size_t at = plan.find('\n', last) + 1; at < plan.size();) {
    const size_t end = plan.find('\n', at);
    const std::string line = plan.substr(at, end - at);
    at = end + 1;
    if (line.size() < 6) break;
    if (line != "    }") out += line.substr(6) + "\n";
  }
  return out;
}

// Ids are computed again, what all lanes share is kept once, and runs once where it can.
TEST(Fold, WithoutState) {
  EXPECT_EQ(turns(R"(
    let i = gid.x;
    var level = 0;
    for n in 0 .. 9 { a[i] += level; level += n; barrier grid; level += 1; })"),
            R"(
var level : u32 = 0u32;
level = 0;
for n in 0 .. 9 {
  for turn in 0u32 .. turns {
    let turn_group : u32 = first + turn * stride;
    var turn_wid : u32 = turn_group;
    if !is_row {
      turn_wid = turn_group % num;
    }
    let turn_gid : u32 = turn_wid * 4u32 + lid.x;
    let i : u32 = turn_gid;
    a[i] += level;
  }
  level += n;
  barrier grid;
  level += 1;
}
)");
}

TEST(Fold, StateInSlots) {
  EXPECT_EQ(turns(R"(
    var x = a[gid.x];
    barrier grid;
    a[gid.x + 1] = x;)"),
            R"(
var x : u32 = 0u32;
for turn in 0u32 .. turns {
  let turn_group : u32 = first + turn * stride;
  var turn_wid : u32 = turn_group;
  if !is_row {
    turn_wid = turn_group % num;
  }
  let turn_gid : u32 = turn_wid * 4u32 + lid.x;
  let turn_lane : u32 = turn_group * 4u32 + lid.x;
  x = a[turn_gid];
  turn_slot[turn_lane] = x;
}
barrier grid;
for turn_2 in 0u32 .. turns {
  let turn_group_2 : u32 = first + turn_2 * stride;
  var turn_wid_2 : u32 = turn_group_2;
  if !is_row {
    turn_wid_2 = turn_group_2 % num;
  }
  let turn_gid_2 : u32 = turn_wid_2 * 4u32 + lid.x;
  let turn_lane_2 : u32 = turn_group_2 * 4u32 + lid.x;
  x = turn_slot[turn_lane_2];
  a[turn_gid_2 + 1] = x;
}
)");
}

TEST(Fold, StateInRegisters) {
  EXPECT_EQ(turns(R"(
    var x = a[gid.x];
    barrier grid;
    a[gid.x + 1] = x;)",
                  {.variant = {.workgroups_per_block = 2, .unrolled_iterations = 2}}),
            R"(
var x : u32 = 0u32;
var x_2 : u32 = 0u32;
var x_3 : u32 = 0u32;
{
  let turn_group : u32 = first + 0u32 * stride;
  let in_group : u32 = lid.x % 4u32;
  let turn_lid : u32 = in_group;
  var turn_wid : u32 = turn_group;
  if !is_row {
    turn_wid = turn_group % num;
  }
  let turn_gid : u32 = turn_wid * 4u32 + turn_lid;
  x = a[turn_gid];
  x_2 = x;
}
if 1u32 < turns {
  let turn_group_2 : u32 = first + 1u32 * stride;
  let in_group_2 : u32 = lid.x % 4u32;
  let turn_lid_2 : u32 = in_group_2;
  var turn_wid_2 : u32 = turn_group_2;
  if !is_row {
    turn_wid_2 = turn_group_2 % num;
  }
  let turn_gid_2 : u32 = turn_wid_2 * 4u32 + turn_lid_2;
  x = a[turn_gid_2];
  x_3 = x;
}
barrier grid;
{
  let turn_group_3 : u32 = first + 0u32 * stride;
  let in_group_3 : u32 = lid.x % 4u32;
  let turn_lid_3 : u32 = in_group_3;
  var turn_wid_3 : u32 = turn_group_3;
  if !is_row {
    turn_wid_3 = turn_group_3 % num;
  }
  let turn_gid_3 : u32 = turn_wid_3 * 4u32 + turn_lid_3;
  x = x_2;
  a[turn_gid_3 + 1] = x;
}
if 1u32 < turns {
  let turn_group_4 : u32 = first + 1u32 * stride;
  let in_group_4 : u32 = lid.x % 4u32;
  let turn_lid_4 : u32 = in_group_4;
  var turn_wid_4 : u32 = turn_group_4;
  if !is_row {
    turn_wid_4 = turn_group_4 % num;
  }
  let turn_gid_4 : u32 = turn_wid_4 * 4u32 + turn_lid_4;
  x = x_3;
  a[turn_gid_4 + 1] = x;
}
)");
}

// Uniform locals that a turn changes start anew in the next one.
TEST(Fold, UniformLocals) {
  EXPECT_EQ(turns(R"(
    var k = 1;
    barrier grid;
    if k < 3 { k += 1; a[gid.x] = k; }
    barrier grid;
    a[gid.x] += k;)"),
            R"(
var k : u32 = 0u32;
k = 1;
barrier grid;
let before : u32 = k;
for turn in 0u32 .. turns {
  let turn_group : u32 = first + turn * stride;
  var turn_wid : u32 = turn_group;
  if !is_row {
    turn_wid = turn_group % num;
  }
  let turn_gid : u32 = turn_wid * 4u32 + lid.x;
  k = before;
  if k < 3 {
    k += 1;
    a[turn_gid] = k;
  }
}
barrier grid;
for turn_2 in 0u32 .. turns {
  let turn_group_2 : u32 = first + turn_2 * stride;
  var turn_wid_2 : u32 = turn_group_2;
  if !is_row {
    turn_wid_2 = turn_group_2 % num;
  }
  let turn_gid_2 : u32 = turn_wid_2 * 4u32 + lid.x;
  a[turn_gid_2] += k;
}
)");
}

// Votes are cast by those who see that nobody has.
TEST(Fold, EndedLanes) {
  EXPECT_EQ(turns(R"(
    if gid.x > 5 { return; }
    barrier grid;
    a[gid.x] = 1;)",
                  {.variant = {.workgroups_per_block = 4}}),
            R"(
var live : bool = false;
var meeting_round : u32 = 0u32;
let first_lane : bool = first == 0u32 && lid.x % 4u32 == 0u32;
for turn in 0u32 .. turns {
  let turn_group : u32 = first + turn * stride;
  let in_group : u32 = lid.x % 4u32;
  let turn_lid : u32 = in_group;
  var turn_wid : u32 = turn_group;
  if !is_row {
    turn_wid = turn_group % num;
  }
  let turn_gid : u32 = turn_wid * 4u32 + turn_lid;
  let turn_lane : u32 = turn_group * 4u32 + in_group;
  let lane : u32 = turn_lane;
  live = true;
  meeting_round = 0u32;
  var group_round : u32 = 0u32;
  if live {
    if turn_gid > 5 {
      mask[lane] = 1u32;
      live = false;
    }
  }
  if live {
    if meeting[0u32 + meeting_round] == 0u32 {
      atomic_store(meeting[0u32 + meeting_round], 1u32);
    }
  }
  turn_slot[turn_lane] = live;
}
if first_lane {
  atomic_store(meeting[0u32 + select(meeting_round == 2u32, 0u32, meeting_round + 1u32)], 0u32);
}
barrier grid;
if meeting[0u32 + meeting_round] == 0u32 {
  return;
}
meeting_round = select(meeting_round == 2u32, 0u32, meeting_round + 1u32);
for turn_2 in 0u32 .. turns {
  let turn_group_2 : u32 = first + turn_2 * stride;
  let in_group_2 : u32 = lid.x % 4u32;
  let turn_lid_2 : u32 = in_group_2;
  var turn_wid_2 : u32 = turn_group_2;
  if !is_row {
    turn_wid_2 = turn_group_2 % num;
  }
  let turn_gid_2 : u32 = turn_wid_2 * 4u32 + turn_lid_2;
  let turn_lane_2 : u32 = turn_group_2 * 4u32 + in_group_2;
  live = turn_slot[turn_lane_2];
  if live {
    a[turn_gid_2] = 1;
  }
  if live {
    if control[0u32] == 0u32 {
      atomic_store(control[0u32], 1u32);
    }
  }
}
)");
}

// Between two barriers there is one loop of turns: the end of a trip and the beginning of the next.
// What is not needed after it is in no slot, and what a trip's number tells is computed again.
TEST(Fold, JoinedTrips) {
  EXPECT_EQ(turns(R"(
    var x = a[gid.x];
    var y = 0;
    for n in 0 .. len(d) step 2 {
      let at = n + gid.x;
      x += y;
      a[at] = x;
      barrier grid;
      y = a[at + 1];
    }
    a[gid.x] = x;)",
                  {.variant = {.is_1d = true}}),
            R"(
var x : u32 = 0u32;
var y : u32 = 0u32;
var next_n : u32 = 0u32;
var n : u32 = 0u32;
var end_n : u32 = 0u32;
for turn in 0u32 .. turns {
  let turn_group : u32 = first + turn * stride;
  var turn_wid : u32 = turn_group;
  let turn_gid : u32 = turn_wid * 4u32 + lid.x;
  let turn_lane : u32 = turn_group * 4u32 + lid.x;
  x = a[turn_gid];
  y = 0;
  next_n = 0;
  end_n = len(d);
  if next_n < end_n {
    let at : u32 = next_n + turn_gid;
    x += y;
    a[at] = x;
  }
  turn_slot[turn_lane] = x;
}
while next_n < end_n {
  n = next_n;
  barrier grid;
  next_n = select(end_n - next_n > 2u32, next_n + 2u32, end_n);
  for turn_2 in 0u32 .. turns {
    let turn_group_2 : u32 = first + turn_2 * stride;
    var turn_wid_2 : u32 = turn_group_2;
    let turn_gid_2 : u32 = turn_wid_2 * 4u32 + lid.x;
    let turn_lane_2 : u32 = turn_group_2 * 4u32 + lid.x;
    x = turn_slot[turn_lane_2];
    let at_2 : u32 = n + turn_gid_2;
    y = a[at_2 + 1];
    if next_n < end_n {
      let at_3 : u32 = next_n + turn_gid_2;
      x += y;
      a[at_3] = x;
    }
    turn_slot[turn_lane_2] = x;
  }
}
for turn_3 in 0u32 .. turns {
  let turn_group_3 : u32 = first + turn_3 * stride;
  var turn_wid_3 : u32 = turn_group_3;
  let turn_gid_3 : u32 = turn_wid_3 * 4u32 + lid.x;
  let turn_lane_3 : u32 = turn_group_3 * 4u32 + lid.x;
  x = turn_slot[turn_lane_3];
  a[turn_gid_3] = x;
}
)");
}

// Turns go on statement by statement, those that are left over with a look at whether they exist.
TEST(Fold, Interleaved) {
  EXPECT_EQ(turns(R"(
    for n in 0 .. 9 {
      if gid.x < len(d) && d[gid.x] == n { a[gid.x] = n; }
      barrier grid;
    })",
                  {.variant = {.interleave = 2, .is_1d = true}}),
            R"(
var backwards : bool = false;
for n in 0 .. 9 {
  let from : u32 = select(backwards, first + (turns - 1u32) * stride, first);
  let by : u32 = select(backwards, 0u32 - stride, stride);
  let whole : u32 = turns - turns % 2u32;
  for turn in 0u32 .. whole step 2u32 {
    let turn_group : u32 = from + (turn + 0u32) * by;
    var turn_wid : u32 = turn_group;
    let turn_gid : u32 = turn_wid * 4u32 + lid.x;
    let turn_group_2 : u32 = from + (turn + 1u32) * by;
    var turn_wid_2 : u32 = turn_group_2;
    let turn_gid_2 : u32 = turn_wid_2 * 4u32 + lid.x;
    let early : u32 = d[turn_gid];
    let early_2 : u32 = d[turn_gid_2];
    if turn_gid < len(d) && early == n {
      a[turn_gid] = n;
    }
    if turn_gid_2 < len(d) && early_2 == n {
      a[turn_gid_2] = n;
    }
  }
  if whole < turns {
    let turn_group_3 : u32 = from + (whole + 0u32) * by;
    var turn_wid_3 : u32 = turn_group_3;
    let turn_gid_3 : u32 = turn_wid_3 * 4u32 + lid.x;
    let active : bool = turns - whole > 1u32;
    let turn_group_4 : u32 = from + (whole + select(active, 1u32, 0u32)) * by;
    var turn_wid_4 : u32 = turn_group_4;
    let turn_gid_4 : u32 = turn_wid_4 * 4u32 + lid.x;
    let early_3 : u32 = d[turn_gid_3];
    let early_4 : u32 = d[turn_gid_4];
    if turn_gid_3 < len(d) && early_3 == n {
      a[turn_gid_3] = n;
    }
    if active {
      if turn_gid_4 < len(d) && early_4 == n {
        a[turn_gid_4] = n;
      }
    }
  }
  backwards = !backwards;
  barrier grid;
}
)");
}

// The state of a few turns is in registers that have no other name.
TEST(Fold, InterleavedInRegisters) {
  EXPECT_EQ(turns(R"(
    var x = a[gid.x];
    barrier grid;
    x += a[gid.x + 1];
    barrier grid;
    a[gid.x] = x;)",
                  {.variant = {.unrolled_iterations = 2, .interleave = 2, .is_1d = true}}),
            R"(
var x : u32 = 0u32;
var x_2 : u32 = 0u32;
var x_3 : u32 = 0u32;
{
  let turn_group : u32 = first + 0u32 * stride;
  var turn_wid : u32 = turn_group;
  let turn_gid : u32 = turn_wid * 4u32 + lid.x;
  let active : bool = turns > 1u32;
  let turn_group_2 : u32 = first + select(active, 1u32, 0u32) * stride;
  var turn_wid_2 : u32 = turn_group_2;
  let turn_gid_2 : u32 = turn_wid_2 * 4u32 + lid.x;
  let early : u32 = a[turn_gid];
  let early_2 : u32 = a[turn_gid_2];
  x_2 = early;
  x_3 = early_2;
}
barrier grid;
{
  let turn_group_3 : u32 = first + 0u32 * stride;
  var turn_wid_3 : u32 = turn_group_3;
  let turn_gid_3 : u32 = turn_wid_3 * 4u32 + lid.x;
  let active_2 : bool = turns > 1u32;
  let turn_group_4 : u32 = first + select(active_2, 1u32, 0u32) * stride;
  var turn_wid_4 : u32 = turn_group_4;
  let turn_gid_4 : u32 = turn_wid_4 * 4u32 + lid.x;
  let early_3 : u32 = a[turn_gid_3 + 1];
  let early_4 : u32 = a[turn_gid_4 + 1];
  x_2 += early_3;
  x_3 += early_4;
}
barrier grid;
{
  let turn_group_5 : u32 = first + 0u32 * stride;
  var turn_wid_5 : u32 = turn_group_5;
  let turn_gid_5 : u32 = turn_wid_5 * 4u32 + lid.x;
  x = x_2;
  a[turn_gid_5] = x;
}
if 1u32 < turns {
  let turn_group_6 : u32 = first + 1u32 * stride;
  var turn_wid_6 : u32 = turn_group_6;
  let turn_gid_6 : u32 = turn_wid_6 * 4u32 + lid.x;
  x = x_3;
  a[turn_gid_6] = x;
}
)");
}

// Lanes that meet in their workgroup have a block for themselves; shared memory comes and goes.
TEST(Fold, SharedMemory) {
  EXPECT_EQ(turns(R"(
    s[lid.x] = a[gid.x];
    barrier grid;
    a[gid.x] = s[3 - lid.x];)",
                  {.variant = {.workgroups_per_block = 4}}),
            R"(
for turn in 0u32 .. turns {
  let turn_group : u32 = first + turn * stride;
  var turn_wid : u32 = turn_group;
  if !is_row {
    turn_wid = turn_group % num;
  }
  let turn_gid : u32 = turn_wid * 4u32 + lid.x;
  for i in lid.x .. 4u32 step 4u32 {
    s[i] = kept_s[turn_group as u64 * 4u64 + i as u64];
  }
  barrier workgroup;
  s[lid.x] = a[turn_gid];
  barrier workgroup;
  for i_2 in lid.x .. 4u32 step 4u32 {
    kept_s[turn_group as u64 * 4u64 + i_2 as u64] = s[i_2];
  }
  barrier workgroup;
}
barrier grid;
for turn_2 in 0u32 .. turns {
  let turn_group_2 : u32 = first + turn_2 * stride;
  var turn_wid_2 : u32 = turn_group_2;
  if !is_row {
    turn_wid_2 = turn_group_2 % num;
  }
  let turn_gid_2 : u32 = turn_wid_2 * 4u32 + lid.x;
  for i_3 in lid.x .. 4u32 step 4u32 {
    s[i_3] = kept_s[turn_group_2 as u64 * 4u64 + i_3 as u64];
  }
  barrier workgroup;
  a[turn_gid_2] = s[3 - lid.x];
  barrier workgroup;
  for i_4 in lid.x .. 4u32 step 4u32 {
    kept_s[turn_group_2 as u64 * 4u64 + i_4 as u64] = s[i_4];
  }
  barrier workgroup;
}
)");
}

// These have a launch for each segment.
TEST(Fold, NotFolded) {
  for (const char* const body : {
           "async copy(1, s, 0, a, 0, 4); wait(1); barrier grid; a[gid.x] = s[0];",
           "if gid.x > 5 { return; } barrier grid; a[gid.x] = subgroup_add(1u32);",
       })
    EXPECT_THAT(folded(body), Not(HasSubstr("side by side"))) << body;
  EXPECT_THAT(planned("program p { workgroup 4; inout a : u32[]; barrier grid; a[gid.x] = 1; }",
                      {.variant = {.route = Route::Persistent}, .checked = true}),
              Not(HasSubstr("side by side")));
}

TEST(Fold, Blocks) {
  Segment segment;
  segment.workgroups_per_block = 4;
  EXPECT_EQ(blocks_of(segment, 1000, 64), 64U);
  EXPECT_EQ(blocks_of(segment, 100, 64), 25U);  // each of them has a first turn
  EXPECT_EQ(blocks_of(segment, 3, 64), 0U);
  EXPECT_EQ(blocks_of(segment, 100, 0), 0U);
  segment.unrolled_iterations = 2;
  EXPECT_EQ(blocks_of(segment, 100, 64), 13U);
  EXPECT_EQ(blocks_of(segment, 1000, 64), 0U);
}

}  // namespace
}  // namespace vyre::plan
