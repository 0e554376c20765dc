// SPDX-License-Identifier: Apache-2.0
// Plans of small programs, printed: steps, hidden memory, segments.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

TEST(Segments, SavedVariable) {
  expect_golden("Segments.SavedVariable", planned(R"(program p {
    workgroup 4; inout a : u32[];
    var x = a[gid.x];
    barrier grid;
    x += a[0];
    barrier grid;
    a[gid.x] = x;
  })"));
}

// Ids and inputs are read again, nothing is saved.
TEST(Segments, RecomputedValue) {
  expect_golden("Segments.RecomputedValue", planned(R"(program p {
    workgroup 4; inout a : u32[]; in n : u32[2];
    let i = gid.x + n[1];
    let k = i * 2;
    a[i] = k;
    barrier grid;
    a[gid.x] += k;
  })"));
}

// Element k of all lanes is contiguous; the index is 64 bits wide where the device has them.
TEST(Segments, PrivateArray) {
  constexpr std::string_view kSource = R"(program p {
    workgroup 4; inout a : u32[];
    var v : u32[3];
    v[a[gid.x] % 3] = 7;
    barrier grid;
    a[gid.x] = v[1];
  })";
  expect_golden("Segments.PrivateArray", planned(kSource));
  expect_golden("Segments.PrivateArray.2", planned(kSource, {.wide_index = false}));
}

TEST(Segments, WideUniformValueInTwoFrameWords) {
  expect_golden("Segments.WideUniformValueInTwoFrameWords", planned(R"(program p {
    workgroup 4; inout a : u64[];
    var x = 5u64;
    for i in 0 .. 3 { x = x * x; barrier grid; }
    a[gid.x] = x;
  })"));
}

TEST(Segments, SharedMemory) {
  expect_golden("Segments.SharedMemory", planned(R"(program p {
    workgroup 4; inout a : u32[]; shared s : u32[4]; shared t : u32[4];
    s[lid.x] = a[gid.x];
    barrier grid;
    t[lid.x] = s[3 - lid.x];
    barrier workgroup;
    a[gid.x] = t[0];
  })"));
}

TEST(Segments, FixpointResult) {
  expect_golden("Segments.FixpointResult", planned(R"(program p {
    workgroup 4; inout a : u32[]; inout d : u32[4]; in n : u32[1];
    fixpoint max n[0] over (a, d) { atomic_max(d[0], a[gid.x]); a[0] = 3; }
    a[gid.x] = fixpoint_passes() + select(fixpoint_converged(), 1u32, 0);
  })"));
}

// Regions stay around what is left of them in each segment.
TEST(Segments, Regions) {
  expect_golden("Segments.Regions", planned(R"(program p {
    workgroup 4; inout a : u32[];
    region first { let x = a[gid.x]; region inner { a[gid.x] = 1; barrier grid; a[gid.x] += x; } }
    barrier grid;
    region second { a[gid.x] += 2; }
  })"));
}

TEST(Segments, OtherWorkgroupSize) {
  expect_golden("Segments.OtherWorkgroupSize", planned(R"(program p {
    workgroup 4; inout a : u32[];
    let x = a[gid.x];
    barrier grid;
    a[gid.x + 1] = x;
  })",
                                                       {.workgroup = check::Axes{8, 1, 1}}));
}

TEST(Segments, SeveralAxes) {
  expect_golden("Segments.SeveralAxes", planned(R"(program p {
    workgroup 4, 2, 3; inout a : u32[];
    let x = a[gid.x + gid.y + gid.z];
    var w = wid.y;
    barrier grid;
    w += 1;
    barrier grid;
    a[gid.x] = x + w;
  })"));
}

}  // namespace
}  // namespace vyre::plan
