// SPDX-License-Identifier: Apache-2.0
// Plans of the persistent route, printed: blocks iterate over the virtual workgroups of the
// dispatch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string persistent_plan(std::string_view body, PlanOptions options = {}) {
  options.variant.route = Route::Persistent;
  return planned("program p { workgroup 4; inout a : u32[]; inout d : u32[4]; shared s : u32[4]; " +
                     std::string(body) + "}",
                 options);
}

// What follows the ids of the launch, as far as it differs from program to program.
std::string iterations(std::string_view body, const PlanOptions& options = {}) {
  const std::string plan = persistent_plan(body, options);
  const size_t last = plan.find("let turns");
  if (last == std::string::npos) return plan;
  std::string out;
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
TEST(Persistent, WithoutState) {
  expect_golden("Persistent.WithoutState", iterations(R"(
    let i = gid.x;
    var level = 0;
    for n in 0 .. 9 { a[i] += level; level += n; barrier grid; level += 1; })"));
}

TEST(Persistent, StateInSlots) {
  expect_golden("Persistent.StateInSlots", iterations(R"(
    var x = a[gid.x];
    barrier grid;
    a[gid.x + 1] = x;)"));
}

TEST(Persistent, StateInRegisters) {
  expect_golden("Persistent.StateInRegisters",
                iterations(R"(
    var x = a[gid.x];
    barrier grid;
    a[gid.x + 1] = x;)",
                           {.variant = {.workgroups_per_block = 2, .unrolled_iterations = 2}}));
}

// Uniform locals that an iteration changes start anew in the next one.
TEST(Persistent, UniformLocals) {
  expect_golden("Persistent.UniformLocals", iterations(R"(
    var k = 1;
    barrier grid;
    if k < 3 { k += 1; a[gid.x] = k; }
    barrier grid;
    a[gid.x] += k;)"));
}

// A lane casts a vote if it reads that none is cast yet.
TEST(Persistent, EndedLanes) {
  expect_golden("Persistent.EndedLanes", iterations(R"(
    if gid.x > 5 { return; }
    barrier grid;
    a[gid.x] = 1;)",
                                                    {.variant = {.workgroups_per_block = 4}}));
}

// Between two barriers there is one loop over virtual workgroups: the end of an iteration of the
// source's loop and the beginning of the next.
// What is not needed after it is in no slot, and what follows from an iteration's number is
// computed again.
TEST(Persistent, RotatedLoops) {
  expect_golden("Persistent.RotatedLoops", iterations(R"(
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
                                                      {.variant = {.is_1d = true}}));
}

// Iterations are interleaved statement by statement; those that are left over are tested for
// whether they exist.
TEST(Persistent, Interleaved) {
  expect_golden("Persistent.Interleaved",
                iterations(R"(
    for n in 0 .. 9 {
      if gid.x < len(d) && d[gid.x] == n { a[gid.x] = n; }
      barrier grid;
    })",
                           {.variant = {.interleave = 2, .is_1d = true}}));
}

// The state of a few iterations is in registers that have no other name.
TEST(Persistent, InterleavedInRegisters) {
  expect_golden(
      "Persistent.InterleavedInRegisters",
      iterations(R"(
    var x = a[gid.x];
    barrier grid;
    x += a[gid.x + 1];
    barrier grid;
    a[gid.x] = x;)",
                 {.variant = {.unrolled_iterations = 2, .interleave = 2, .is_1d = true}}));
}

// A workgroup whose lanes synchronise has a block of its own; shared memory is copied in and out.
TEST(Persistent, SharedMemory) {
  expect_golden("Persistent.SharedMemory", iterations(R"(
    s[lid.x] = a[gid.x];
    barrier grid;
    a[gid.x] = s[3 - lid.x];)",
                                                      {.variant = {.workgroups_per_block = 4}}));
}

// These have a launch for each segment.
TEST(Persistent, NotPersistent) {
  for (const char* const body : {
           "async copy(1, s, 0, a, 0, 4); wait(1); barrier grid; a[gid.x] = s[0];",
           "if gid.x > 5 { return; } barrier grid; a[gid.x] = subgroup_add(1u32);",
       })
    EXPECT_THAT(persistent_plan(body), Not(HasSubstr("side by side"))) << body;
  EXPECT_THAT(planned("program p { workgroup 4; inout a : u32[]; barrier grid; a[gid.x] = 1; }",
                      {.variant = {.route = Route::Persistent}, .checked = true}),
              Not(HasSubstr("side by side")));
}

TEST(Persistent, Blocks) {
  Segment segment;
  segment.workgroups_per_block = 4;
  EXPECT_EQ(blocks_of(segment, 1000, 64), 64U);
  EXPECT_EQ(blocks_of(segment, 100, 64), 25U);  // each of them has a first iteration
  EXPECT_EQ(blocks_of(segment, 3, 64), 0U);
  EXPECT_EQ(blocks_of(segment, 100, 0), 0U);
  segment.unrolled_iterations = 2;
  EXPECT_EQ(blocks_of(segment, 100, 64), 13U);
  EXPECT_EQ(blocks_of(segment, 1000, 64), 0U);
}

}  // namespace
}  // namespace vyre::plan
