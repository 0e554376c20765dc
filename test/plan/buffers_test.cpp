// SPDX-License-Identifier: Apache-2.0
// How segments see the caller's buffers.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "plan/interpreter.hpp"
#include "vyre/text/text.hpp"

namespace vyre::plan_test {
namespace {

using plan::Argument;
using plan::Route;

check::CheckedProgram checked_text(std::string_view text) {
  auto checked = check::check_valid(text::parse(text, "p.vyre").program);
  EXPECT_TRUE(checked.has_value()) << (checked ? "" : to_string(checked.error()));
  return std::move(*checked);
}

const ir::Buffer* buffer_named(const plan::Segment& segment, std::string_view name) {
  const auto& buffers = segment.program.program.buffers;
  const auto it = std::ranges::find(buffers, name, &ir::Buffer::name);
  return it == buffers.end() ? nullptr : &*it;
}

// D-GRID.6: a segment that does not provably overwrite all of a buffer must not see it write-only.
TEST(SegmentBuffers, AreNeverWriteOnly) {
  const auto checked = checked_text(R"(program p { workgroup 4; over 8;
    out o : u32[8]; writeonly w : u32[8];
    o[gid.x] = 1; w[gid.x] = 2; barrier grid; o[0] = 3; w[1] = 4; })");
  for (const Route route : {Route::Native, Route::Persistent, Route::Resident, Route::Host}) {
    const auto made = plan::make_plan(checked, {.variant = {.route = route}});
    for (const plan::Segment& segment : made->segments)
      for (const std::string_view name : {"o", "w"})
        EXPECT_EQ(buffer_named(segment, name)->kind, ir::BufferKind::InOut);
  }
}

// D-GRID.6: outputs start as zeros, also when the first segment reads or updates them, and keep
// what earlier segments wrote.
TEST(SegmentBuffers, OutputsStartAsZeros) {
  const auto checked = checked_text(R"(program p { workgroup 2; over 4;
    out o : u32[4]; out sum : u32[1];
    o[gid.x] += 5; barrier grid; if gid.x == 1 { o[1] += o[0]; } atomic_add(sum[0], o[gid.x] / 5); })");
  for (const Route route : {Route::Native, Route::Persistent, Route::Resident, Route::Host}) {
    const auto made = plan::make_plan(checked, {.variant = {.route = route}});
    const Ran ran = interpret(checked, *made, {}, {});
    ASSERT_FALSE(ran.error.has_value());
    const std::vector<uint32_t> expected = {5, 10, 5, 5};
    ASSERT_EQ(ran.buffers[0].size(), 16U);
    EXPECT_EQ(std::memcmp(ran.buffers[0].data(), expected.data(), 16), 0) << name_of(route);
    EXPECT_EQ(ran.buffers[1][0], std::byte{5}) << name_of(route);
  }
}

// D-GRID.6: @range is about what the caller gets in the end; a segment has the whole buffer.
TEST(SegmentBuffers, HaveNoRange) {
  const auto checked = checked_text(R"(program p { workgroup 4; over 8;
    out o : u32[8] @range(0..8);
    o[gid.x] = gid.x; barrier grid; o[gid.x] += o[7]; })");
  const auto made = plan::make_plan(checked);
  ASSERT_EQ(made->segments.size(), 2U);
  for (const plan::Segment& segment : made->segments) {
    EXPECT_FALSE(buffer_named(segment, "o")->range_first.valid());
    EXPECT_FALSE(segment.program.buffers[0].range_bytes.has_value());
  }
  const Ran ran = interpret(checked, *made, {}, {});
  EXPECT_EQ(ran.buffers[0].size(), 32U);
}

// D-GRID.6: a buffer whose length or copy is all that is used is bound like any other.
TEST(SegmentBuffers, StayBoundForLengthsAndCopies) {
  const auto checked = checked_text(R"(program p { workgroup 4; over 8;
    in a : u32[]; in b : u32[]; inout c : u32[]; shared s : u32[4];
    c[gid.x] = 0; barrier grid;
    async copy(1, s, 0, b, wid.x * 4, 4); wait(1);
    c[gid.x] = len(a) + s[lid.x]; })");
  const auto made = plan::make_plan(checked);
  ASSERT_EQ(made->segments.size(), 2U);
  EXPECT_EQ(buffer_named(made->segments[0], "a"), nullptr);
  ASSERT_NE(buffer_named(made->segments[1], "a"), nullptr);
  ASSERT_NE(buffer_named(made->segments[1], "b"), nullptr);
  const auto index = static_cast<size_t>(buffer_named(made->segments[1], "a") -
                                         made->segments[1].program.program.buffers.data());
  EXPECT_EQ(made->segments[1].arguments[index], (Argument{Argument::Kind::Source, 0}));
}

// D-GRID.3: one grid and one workgroup size for all segments, and names of regions are kept.
TEST(Segments, KeepRegionsAndWorkgroup) {
  const auto checked = checked_text(R"(program p { workgroup 4, 2; over 8, 4; inout a : u32[32];
    region load { let x = a[gid.x]; barrier grid; a[gid.x + gid.y * 8] = x; }
    region done { a[0] = 1; } })");
  const auto made = plan::make_plan(checked);
  ASSERT_EQ(made->segments.size(), 2U);
  EXPECT_EQ(made->segments[0].regions, (std::vector<std::string>{"load"}));
  EXPECT_EQ(made->segments[1].regions, (std::vector<std::string>{"load", "done"}));
  for (const plan::Segment& segment : made->segments)
    EXPECT_EQ(segment.program.workgroup, checked.workgroup);
}

}  // namespace
}  // namespace vyre::plan_test
