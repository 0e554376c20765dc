// SPDX-License-Identifier: Apache-2.0
// Plans of the native route, printed: fixpoints inside a launch, and where launches end.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

std::string native(std::string_view body) {
  return planned("program p { workgroup 4; inout a : u32[]; inout d : u32[4]; shared s : u32[4]; " +
                     std::string(body) + "}",
                 {.variant = {.route = Route::Native}});
}

TEST(Native, FixpointLoop) {
  expect_golden("Native.FixpointLoop", native(R"(
    fixpoint max 5 over (d) { atomic_max(d[0], a[gid.x]); }
    a[gid.x] = fixpoint_passes();)"));
}

TEST(Native, FixpointWithSnapshotAndReturn) {
  expect_golden("Native.FixpointWithSnapshotAndReturn",
                native("fixpoint max 5 over (d) { if a[gid.x] == 1 { return; } d[0] = a[0]; }"));
}

// A launch ends only where the host has to act.
TEST(Native, CutAtResumes) {
  expect_golden("Native.CutAtResumes", native(R"(
    let x = a[gid.x];
    if x == 1 { trap(1, x); }
    barrier grid;
    a[gid.x] = 1;
    resume(1);
    a[gid.x] += x;)"));
}

}  // namespace
}  // namespace vyre::plan
