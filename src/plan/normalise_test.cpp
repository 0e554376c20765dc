// SPDX-License-Identifier: Apache-2.0
// Control flow around barriers in its normal form, printed.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

std::string grid(std::string_view body) {
  return normalised(
      "program p { workgroup 4; inout a : u32[]; inout b : u32[]; in n : u32[4]; shared s : "
      "u32[4];" +
      std::string(body) + "}");
}
std::string workgroup(std::string_view body) {
  return normalised(
      "program p { workgroup 4; inout a : u32[]; shared s : u32[4];" + std::string(body) + "}",
      ir::Scope::Workgroup);
}

TEST(Normalise, LeavesWhatHasNoBarrier) {
  expect_golden("Normalise.LeavesWhatHasNoBarrier", grid(R"(
    for i in 0 .. 3 { if n[i] == 1 { break; } barrier workgroup; }
    while a[gid.x] < 3 { a[gid.x] += 1; if a[gid.x] == 2 { continue; } }
    barrier grid;)"));
}

TEST(Normalise, Branch) {
  expect_golden(
      "Normalise.Branch",
      grid("if n[0] == 1 { barrier grid; } else if n[1] == 2 { a[gid.x] = 1; barrier grid; }"));
}

// What is read to the left of the load is read before its barriers.
TEST(Normalise, GridLoadInACondition) {
  expect_golden("Normalise.GridLoadInACondition",
                grid("if a[gid.x] + n[0] * grid_load(b[0]) > a[1] { b[gid.x] = 1; }"));
  expect_golden("Normalise.GridLoadInACondition.2",
                grid("if workgroup_load(s[0]) + grid_load(b[1]) == 2 { b[gid.x] = 1; }"));
  expect_golden("Normalise.GridLoadInACondition.3",
                grid("if grid_load(b[0]) == 1 && a[gid.x] == 2 { b[gid.x] = 1; }"));
  expect_golden("Normalise.GridLoadInACondition.4",
                grid("if grid_load(b[0]) == 1 { barrier grid; b[gid.x] = 1; }"));
}

TEST(Normalise, GridLoadInOtherPlaces) {
  expect_golden("Normalise.GridLoadInOtherPlaces", grid("let x = grid_load(b[0]); a[gid.x] = x;"));
  expect_golden("Normalise.GridLoadInOtherPlaces.2",
                grid("var x = grid_load(b[0]); x = grid_load(b[x]); a[gid.x] += x;"));
  expect_golden("Normalise.GridLoadInOtherPlaces.3",
                grid("let x = grid_load(b[n[1]]); a[gid.x] = x;"));
}

TEST(Normalise, ForSteps) {
  expect_golden("Normalise.ForSteps", grid("for i in 1 .. n[0] { a[gid.x] += i; barrier grid; }"));
  expect_golden("Normalise.ForSteps.2",
                grid("for i in 0 .. n[0] step 3 { a[gid.x] += i; barrier grid; }"));
  expect_golden(
      "Normalise.ForSteps.3",
      grid("for i in -5i32 .. (n[0] as i32) step 2 { a[gid.x] += (i as u32); barrier grid; }"));
  expect_golden(
      "Normalise.ForSteps.4",
      grid("for i in 0u64 .. (n[0] as u64) step 2 { a[gid.x] += (i as u32); barrier grid; }"));
}

TEST(Normalise, BreakAndContinue) {
  expect_golden("Normalise.BreakAndContinue", grid(R"(
    for i in 0 .. 9 {
      if n[0] == i { a[gid.x] = 1; break; a[gid.x] = 2; }
      a[gid.x] += 3;
      if n[1] == i { continue; } else { a[gid.x] += 4; }
      barrier grid;
      a[gid.x] += 5;
    })"));
  expect_golden(
      "Normalise.BreakAndContinue.2",
      grid("for i in 0 .. 9 { barrier grid; if n[0] == i { continue; } a[gid.x] += 1; }"));
}

TEST(Normalise, While) {
  expect_golden("Normalise.While", grid("var k = 0u32; while k < n[0] { k += 1; barrier grid; }"));
  expect_golden("Normalise.While.2",
                grid("while grid_load(b[0]) < 4 { if gid.x == 0 { b[0] += 1; } }"));
}

// After a break the condition is not evaluated again: its barriers would count.
TEST(Normalise, WhileWithBreakAndBarrierInItsCondition) {
  expect_golden("Normalise.WhileWithBreakAndBarrierInItsCondition", grid(R"(
    var k = 0u32;
    while grid_load(b[0]) < 4 {
      k += 1;
      if k == n[0] { break; }
      a[gid.x] += k;
    })"));
}

TEST(Normalise, Nested) {
  expect_golden("Normalise.Nested", grid(R"(
    region outer {
      for i in 0 .. 3 {
        var k = i;
        while true {
          if k == n[0] { break; }
          { k += 1; barrier grid; }
        }
        for j in 0 .. 2 { if a[gid.x] == j { continue; } a[gid.x] += 1; }
        if n[1] == i { continue; }
        a[gid.x] += 2;
      }
    })"));
}

TEST(Normalise, Fixpoint) {
  expect_golden(
      "Normalise.Fixpoint",
      grid("fixpoint max n[0] + 1 over (b) { if n[1] == 1 { barrier grid; } b[0] = 1; }"));
}

// At workgroup scope the same with barriers of the workgroup; those of a condition, too.
TEST(Normalise, WorkgroupScope) {
  expect_golden("Normalise.WorkgroupScope", workgroup(R"(
    for i in 0 .. wid.x {
      s[lid.x] = i;
      barrier workgroup;
      if workgroup_load(s[0]) == 2 { break; }
      a[gid.x] += s[3];
    })"));
  expect_golden(
      "Normalise.WorkgroupScope.2",
      workgroup("if wid.x == 1 { async copy(1, s, 0, a, wid.x, 4); wait(1); } a[gid.x] = s[1];"));
}

}  // namespace
}  // namespace vyre::plan
