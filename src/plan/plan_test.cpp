// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/plan.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/text/text.hpp"

namespace vyre::plan {
namespace {

using ::testing::HasSubstr;

check::CheckedProgram checked_program(std::string_view body) {
  const std::string text =
      "program p { workgroup 4; inout a : u32[]; shared s : u32[8]; " + std::string(body) + " }";
  auto checked = check::check_valid(text::parse(text, "p.vyre").program);
  EXPECT_TRUE(checked.has_value()) << (checked ? "" : to_string(checked.error()));
  return std::move(*checked);
}

check::Launch launch_of(const check::CheckedProgram& checked, uint32_t groups) {
  const std::vector<std::byte> a(64);
  const std::vector<std::span<const std::byte>> inputs = {a};
  return *check::resolve_launch(checked, {.inputs = inputs, .grid = check::Axes{groups, 1, 1}});
}

// D-GRID.1: at any depth, and only what is a barrier of the grid.
TEST(ContainsGridBarrier, AtAnyDepth) {
  for (const std::string_view body :
       {"barrier grid;", "if len(a) == 3 { for i in 0..3 { while true { barrier grid; break; } } }",
        "let x = grid_load(a[0]);", "fixpoint max 2 over (a) { }",
        "if gid.x == 0 { trap(1, 0); } resume(1);", "all_reduce(a, add);",
        "region r { { barrier grid; } }", "f(); fn f() { barrier grid; }"})
    EXPECT_TRUE(contains_grid_barrier(checked_program(body))) << body;
  for (const std::string_view body :
       {"barrier workgroup;", "barrier subgroup;", "let x = workgroup_load(a[0]);",
        "if gid.x == 0 { trap(1, 0); }", "async copy(1, s, 0, a, 0, 4); wait(1);"})
    EXPECT_FALSE(contains_grid_barrier(checked_program(body))) << body;
}

// D-GRID.1: without one there is one segment, the program itself.
TEST(MakePlan, WithoutBarrierIsTheProgram) {
  const auto checked = checked_program("a[gid.x] = 1; if gid.x == 3 { return; }");
  for (const Route route : {Route::Native, Route::Persistent, Route::Resident, Route::Host}) {
    const auto plan = make_plan(checked, {.variant = {.route = route}});
    ASSERT_TRUE(plan.has_value());
    ASSERT_EQ(plan->segments.size(), 1U);
    EXPECT_TRUE(plan->segments[0].program.program == checked.program);
    EXPECT_TRUE(plan->hidden.empty());
  }
}

TEST(StateBytes, CountsWhatIsSaved) {
  const auto checked = checked_program(
      "let x = a[gid.x]; var y = x as f64; s[lid.x] = 1; barrier grid; y += 1.0; a[gid.x] = x + "
      "s[lid.x] + y as u32;");
  const auto plan = make_plan(checked);
  const auto bytes = state_bytes(*plan, checked, launch_of(checked, 1000));
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(bytes->per_lane, 4U + 8U);
  EXPECT_EQ(bytes->per_workgroup, 32U);
  EXPECT_EQ(bytes->total, 4000U * 12 + 1000U * 32 + bytes->fixed);
  EXPECT_TRUE(check_state(*plan, checked, launch_of(checked, 1000), bytes->total).has_value());
  const auto refused = check_state(*plan, checked, launch_of(checked, 1000), bytes->total - 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(refused.error().message, HasSubstr("12 per lane, 32 per workgroup"));
  EXPECT_THAT(refused.error().message, HasSubstr("`x` (4 bytes per lane)"));
  EXPECT_THAT(refused.error().message, HasSubstr("Fix:"));
  EXPECT_EQ(refused.error().at.line, 1U);
}

TEST(StateBytes, NarrowIndicesHaveALimit) {
  const auto checked = checked_program(
      "var v : u32[200]; v[gid.x % 200] = a[gid.x]; barrier grid; a[gid.x] = v[3];");
  const check::Launch large = launch_of(checked, 10'000'000);  // 40 million lanes, 8e9 elements
  EXPECT_TRUE(state_bytes(*make_plan(checked), checked, large).has_value());
  const auto narrow = make_plan(checked, {.wide_index = false});
  const auto refused = state_bytes(*narrow, checked, large);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(refused.error().message, HasSubstr("200 elements for each of 40000000"));
  EXPECT_TRUE(state_bytes(*narrow, checked, launch_of(checked, 1000)).has_value());
}

// D-GRID.5
TEST(MakePlan, StraightLineHasOneSegmentMoreThanBarriers) {
  const auto count = [&](std::string_view body) {
    return make_plan(checked_program(body))->segments.size();
  };
  EXPECT_EQ(count("a[0] = 1; barrier grid; a[1] = 2;"), 2U);
  EXPECT_EQ(
      count("a[0] = 1; barrier grid; a[1] = 2; barrier grid; a[2] = 3; barrier grid; a[3] = 4;"),
      4U);
  // Empty ones are not launched.
  EXPECT_EQ(count("barrier grid; a[1] = 2; barrier grid; barrier grid;"), 1U);
}

// A file that no test names is never compared.
TEST(Golden, EveryFileIsUsed) {
  const std::filesystem::path root(VYRE_SOURCE_DIR);
  std::string tests;
  for (const auto& file : std::filesystem::directory_iterator(root / "src/plan")) {
    if (!file.path().string().ends_with("_test.cpp")) continue;
    std::ifstream stream(file.path());
    tests += std::string(std::istreambuf_iterator<char>(stream), {});
  }
  for (const auto& file : std::filesystem::directory_iterator(root / "test/golden/plan"))
    EXPECT_NE(tests.find('"' + file.path().stem().string() + '"'), std::string::npos)
        << file.path();
}

}  // namespace
}  // namespace vyre::plan
