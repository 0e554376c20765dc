// SPDX-License-Identifier: Apache-2.0
// Plans of the native route, printed: barriers stay, inactive lanes execute uniform code.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

std::string native(std::string_view body) {
  return planned("program p { workgroup 4; inout a : u32[]; inout d : u32[4]; shared s : u32[4]; " +
                     std::string(body) + "}",
                 {.variant = {.route = Route::Native}});
}

// No lane ends: the program stays as it is.
TEST(Native, PlainBarriers) {
  expect_golden("Native.PlainBarriers", native(R"(
    var k = a[gid.x];
    barrier grid;
    while k < 4 { k += 1; }
    let n = grid_load(a[0]);
    for i in 0 .. n { a[gid.x] += k; barrier grid; if i == 3 { break; } }
    a[gid.x] += s[lid.x];)"));
}

TEST(Native, EndedLanes) {
  expect_golden("Native.EndedLanes", native(R"(
    let x = a[gid.x];
    var k = 0u32;
    if x == 3 { return; }
    let y = x + 1;
    k += 1;
    barrier grid;
    if k == 1 { a[gid.x] = y; barrier workgroup; a[gid.x] += y; }
    for i in 0 .. k { a[gid.x] += i; barrier grid; })"));
}

TEST(Native, UnmatchedTrap) {
  expect_golden("Native.UnmatchedTrap",
                native("if a[gid.x] == 3 { trap(9, 7); } barrier grid; a[gid.x] = 1;"));
}

// In a loop that lanes may leave for good, each iteration votes whether a lane is active, unless a
// barrier of every iteration does so.
TEST(Native, Vote) {
  expect_golden("Native.Vote", native(R"(
    while true {
      a[gid.x] += 1;
      if a[gid.x] > 3 { return; }
      if len(a) == 7 { barrier grid; }
    })"));
  expect_golden("Native.Vote.2",
                native("while true { barrier grid; a[gid.x] += 1; if a[gid.x] > 3 { return; } }"));
}

// Live lanes run the loop alone and tell the others what became of uniform locals.
TEST(Native, Resync) {
  expect_golden("Native.Resync", native(R"(
    var k = 0u32;
    while k < 9 { if a[gid.x] == k { return; } k += 1; }
    for i in 0 .. k { barrier grid; })"));
}

// A workgroup without lanes leaves the loop early; its grid-uniform values come from the others.
TEST(Native, WorkgroupVoteAndGridResync) {
  expect_golden("Native.WorkgroupVoteAndGridResync", native(R"(
    var k = 0u32;
    while k < 9 { if a[gid.x] == k { return; } s[lid.x] += 1; barrier workgroup; k += 1; }
    barrier grid;
    a[gid.x] = k;)"));
}

}  // namespace
}  // namespace vyre::plan
