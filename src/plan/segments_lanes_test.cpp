// SPDX-License-Identifier: Apache-2.0
// Plans of programs whose lanes end or wait, printed.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

TEST(SegmentsOfLanes, Return) {
  expect_golden("SegmentsOfLanes.Return", planned(R"(program p {
    workgroup 4; inout a : u32[];
    if a[gid.x] == 3 { return; }
    barrier grid;
    a[gid.x] = 1;
  })"));
}

TEST(SegmentsOfLanes, MatchedAndUnmatchedTrap) {
  expect_golden("SegmentsOfLanes.MatchedAndUnmatchedTrap", planned(R"(program p {
    workgroup 4; inout a : u32[];
    let x = a[gid.x];
    if x == 3 { trap(1, x + 1); }
    if x == 4 { trap(9, x); }
    a[gid.x] = 0;
    resume(1);
    a[gid.x] += x;
  })"));
}

// A lane that waits misses the change, so from then on the value is one of single lanes.
TEST(SegmentsOfLanes, ValueThatWaitingLanesMiss) {
  expect_golden("SegmentsOfLanes.ValueThatWaitingLanesMiss", planned(R"(program p {
    workgroup 4; inout a : u32[];
    var w = wid.x;
    if gid.x == 1 { trap(1, 0); }
    barrier grid;
    w += 1;
    resume(1);
    a[gid.x] = w;
  })"));
}

// Workgroups all of whose lanes wait keep their values though the halves change roles.
TEST(SegmentsOfLanes, WorkgroupFrameIsCarried) {
  expect_golden("SegmentsOfLanes.WorkgroupFrameIsCarried", planned(R"(program p {
    workgroup 4; inout a : u32[];
    var w = wid.x;
    w += 1;
    if gid.x == 1 { trap(1, 0); }
    barrier grid;
    var v = w * 2;
    barrier grid;
    a[gid.x] = v;
    resume(1);
    a[gid.x] += w;
  })"));
}

// In checked mode a lane that stops in the middle of a segment has not said that it goes on.
TEST(SegmentsOfLanes, CheckedMode) {
  expect_golden("SegmentsOfLanes.CheckedMode", planned(R"(program p {
    workgroup 4; inout a : u32[];
    a[gid.x] = 1;
    barrier grid;
    a[gid.x + 1] = 2;
  })",
                                                       {.checked = true}));
}

}  // namespace
}  // namespace vyre::plan
