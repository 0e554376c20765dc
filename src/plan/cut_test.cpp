// SPDX-License-Identifier: Apache-2.0
// Where programs are cut, what lives across the boundaries of segments, and where it is kept.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

constexpr std::string_view kHead =
    "program p { workgroup 4; inout a : u32[]; in n : u32[4]; shared s : u32[4]; shared t : "
    "u32[4];";

std::string tree(std::string_view body) {
  return tree_of(std::string(kHead) + std::string(body) + "}");
}
std::string homes(std::string_view body) {
  return storage_of(std::string(kHead) + std::string(body) + "}");
}

TEST(Cut, StraightLine) {
  expect_golden("Cut.StraightLine", tree(R"(
    let x = a[gid.x];
    let i = gid.x + n[0];
    var y = 1u32;
    barrier grid;
    y += x;
    barrier grid;
    barrier grid;
    a[i] = y;)"));
}

// Cuts before a branch or loop end no phase; the word they decide on is never computed again.
TEST(Cut, BranchAndLoop) {
  expect_golden("Cut.BranchAndLoop", tree(R"(
    let x = a[gid.x];
    let go = n[0] == 1;
    if go { barrier grid; a[gid.x] = x; } else { a[gid.x] = 2; }
    for i in 0 .. 2 { barrier grid; a[gid.x] += i; })"));
}

TEST(Cut, GridLoadEndsTwoPhases) {
  expect_golden("Cut.GridLoadEndsTwoPhases",
                tree("a[gid.x] = 1; let x = grid_load(a[0]); a[gid.x] += x;"));
}

TEST(Cut, Fixpoint) {
  expect_golden("Cut.Fixpoint", tree(R"(
    var k = a[gid.x];
    fixpoint max n[0] over (a) { a[gid.x] = k; k += 1; }
    a[gid.x] = fixpoint_passes();)"));
}

// An element keeps the rest of a private array alive; its declaration begins a new one.
TEST(Cut, PrivateArrays) {
  expect_golden("Cut.PrivateArrays", tree(R"(
    var v : u32[3];
    v[0] = a[gid.x];
    barrier grid;
    v[1] = 2;
    barrier grid;
    a[gid.x] = v[0] + v[1];
    var w : u32[3];
    barrier grid;
    a[gid.x] = w[0];)"));
}

// A lane that waits needs what lives after its own resume and, while others may wait, after theirs.
TEST(Cut, TwoTags) {
  expect_golden("Cut.TwoTags", tree(R"(
    let x = a[gid.x];
    if gid.x == 1 { trap(1, 0); }
    let y = a[gid.x + 1];
    if gid.x == 2 { trap(2, 0); }
    let z = a[gid.x + 2];
    barrier grid;
    a[gid.x] = z;
    resume(2);
    a[gid.x] += y;
    if gid.x == 3 { trap(1, 1); }
    resume(1);
    a[gid.x] += x;)"));
}

TEST(Cut, ReturnAndUnmatchedTrap) {
  expect_golden("Cut.ReturnAndUnmatchedTrap", tree(R"(
    let x = a[gid.x];
    let y = a[gid.x + 1];
    barrier grid;
    if x == 1 { return; }
    if x == 2 { trap(9, x + y); }
    barrier grid;
    a[gid.x] = 1;)"));
}

// Restored where it may have been written before and matters; `t` is written and never read.
TEST(Cut, SharedMemory) {
  expect_golden("Cut.SharedMemory", tree(R"(
    s[lid.x] = 1;
    t[lid.x] = 2;
    barrier grid;
    a[gid.x] = 1;
    barrier grid;
    a[gid.x] = s[0];
    t[0] = 1;
    barrier grid;
    s[lid.x] = 4;)"));
}

// Dead on the way of lanes that go on, needed by those that wait.
TEST(Cut, SharedMemoryOfWaitingLanes) {
  expect_golden("Cut.SharedMemoryOfWaitingLanes", tree(R"(
    if gid.x == 1 { trap(1, 0); }
    s[lid.x] = 1;
    barrier grid;
    a[gid.x] = 1;
    return;
    resume(1);
    a[gid.x] = s[lid.x];)"));
}

TEST(Cut, Collective) {
  expect_golden("Cut.Collective", tree("let x = a[gid.x]; all_reduce(a, add); a[gid.x] += x;"));
}

TEST(Cut, WorkgroupScope) {
  expect_golden("Cut.WorkgroupScope", tree_of(R"(program p {
    workgroup 4; inout a : u32[]; shared s : u32[4];
    let x = a[gid.x];
    async copy(1, s, 0, a, wid.x * 4, 4);
    let w = wid.x + 1;
    wait(1);
    for i in 0 .. w { barrier workgroup; s[lid.x] += x; }
    a[gid.x] = s[0];
  })",
                                              ir::Scope::Workgroup));
}

// ---- storage

// A slot is used again when nothing that is live together with its value needs it.
TEST(Homes, SlotsAreUsedAgain) {
  expect_golden("Homes.SlotsAreUsedAgain", homes(R"(
    let x = a[gid.x];
    let y = a[gid.x + 1];
    barrier grid;
    a[gid.x] = x + y;
    let z = a[gid.x + 2];
    barrier grid;
    let f = (z as f32);
    barrier grid;
    a[gid.x] = (f as u32);)"));
}

TEST(Homes, ConflictOverOneEdge) {
  expect_golden("Homes.ConflictOverOneEdge", homes(R"(
    let x = a[gid.x];
    barrier grid;
    let y = a[gid.x + 1];
    barrier grid;
    a[gid.x] = x + y;)"));
}

// While a lane may wait, its values keep their slots over all boundaries.
TEST(Homes, ConflictThroughAResume) {
  expect_golden("Homes.ConflictThroughAResume", homes(R"(
    let x = a[gid.x];
    if gid.x == 1 { trap(1, 0); }
    barrier grid;
    let y = a[gid.x];
    barrier grid;
    a[gid.x] = y;
    return;
    resume(1);
    a[gid.x] = x;)"));
}

TEST(Homes, FramesAndArrays) {
  expect_golden("Homes.FramesAndArrays", homes(R"(
    var g = n[0];
    var wide = (n[1] as u64);
    var w = wid.x;
    var wide_w = (wid.x as i64);
    var flag = true;
    var v : f32[3];
    var u : f32[3];
    var l = (a[gid.x] as i64);
    barrier grid;
    g += 1; wide += 1; w += 1; wide_w += 1; flag = !flag; v[0] = 1.0; u[0] = 1.0; l += 1;
    barrier grid;
    if flag { a[gid.x] = g + (wide as u32) + w + (wide_w as u32) + (v[1] as u32) + (l as u32) + (u[1] as u32); })"));
}

// At workgroup scope everything that a workgroup shares lies in the frame.
TEST(Homes, WorkgroupScope) {
  expect_golden("Homes.WorkgroupScope", storage_of(R"(program p {
    workgroup 4; inout a : u32[];
    var g = len(a);
    var w = wid.x;
    var l = a[gid.x];
    barrier workgroup;
    g += 1; w += 1; l += 1;
    barrier workgroup;
    a[gid.x] = g + w + l;
  })",
                                                   ir::Scope::Workgroup));
}

}  // namespace
}  // namespace vyre::plan
