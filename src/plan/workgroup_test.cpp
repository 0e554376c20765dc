// SPDX-License-Identifier: Apache-2.0
// The phases between workgroup barriers, printed.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

TEST(WorkgroupPhases, Barriers) {
  expect_golden("WorkgroupPhases.Barriers", workgroup_phases(R"(program p {
    workgroup 4, 2; inout a : u32[]; shared s : u32[8];
    let x = a[gid.x];
    var w = wid.x;
    s[lid.x] = x;
    barrier workgroup;
    w += s[3 - lid.x & 3] & 0;
    barrier workgroup;
    a[gid.x] = x + w;
  })"));
}

TEST(WorkgroupPhases, LoopsAndLoads) {
  expect_golden("WorkgroupPhases.LoopsAndLoads", workgroup_phases(R"(program p {
    workgroup 4; inout a : u32[]; shared s : u32[4];
    var v : u32[2];
    let n = workgroup_load(s[0]);
    for i in 0 .. n {
      v[i & 1] += a[gid.x];
      barrier workgroup;
    }
    a[gid.x] = v[1];
  })"));
}

// Done at the wait, by all lanes of the workgroup.
TEST(WorkgroupPhases, AsyncCopy) {
  expect_golden("WorkgroupPhases.AsyncCopy", workgroup_phases(R"(program p {
    workgroup 4; inout a : u32[]; shared s : u32[4];
    async copy(1, s, 0, a, wid.x * 4, 4);
    let x = wid.x;
    wait(1);
    a[gid.x] = s[3 - lid.x] + x;
  })"));
}

TEST(WorkgroupPhases, EndedLanesAndTraps) {
  expect_golden("WorkgroupPhases.EndedLanesAndTraps", workgroup_phases(R"(program p {
    workgroup 4; inout a : u32[]; shared s : u32[4];
    if a[gid.x] == 1 { return; }
    s[lid.x] = 1;
    barrier workgroup;
    if s[0] == 0 { trap(7, gid.x); }
    a[gid.x] = s[1];
  })"));
}

}  // namespace
}  // namespace vyre::plan
