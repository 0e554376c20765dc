// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_traffic.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "cli/profile_view.hpp"
#include "vyre/text/text.hpp"

namespace vyre::cli {
namespace {

// 100 elements in each buffer without a length, 2 workgroups of 64 lanes.
Traffic traffic(std::string_view body, uint32_t groups = 2) {
  const std::string text =
      "program p {\n  workgroup 64;\n  in a : f32[];\n  in u : u8[];\n  uniform n : u32[1];\n"
      "  inout o : f32[];\n  inout c : u32[];\n  shared s : f32[64];\n"
      "  require len(a) == len(o), \"\";\n  region r {\n" +
      std::string(body) + "\n  }\n}\n";
  auto parsed = text::parse(text, "p.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors());
  const auto checked = check::check_valid(std::move(parsed.program));
  EXPECT_TRUE(checked) << checked.error().message;
  if (!checked) return {};
  check::Launch launch;
  launch.workgroup = {64, 1, 1};
  launch.grid = {groups, 1, 1};
  const std::vector<std::byte> ten = {std::byte{10}, std::byte{0}, std::byte{0}, std::byte{0}};
  std::vector<std::span<const std::byte>> given;
  for (const ir::Buffer& buffer : checked->program.buffers) {
    launch.counts.push_back(buffer.name == "n" ? 1 : buffer.name == "s" ? 64 : 100);
    given.push_back(buffer.name == "n" ? std::span(ten) : std::span<const std::byte>());
  }
  return traffic_of(*checked, launch, given);
}

void expect(const Traffic& got, uint64_t bytes, bool exact, uint64_t active) {
  EXPECT_EQ(got.at_least, bytes);
  EXPECT_EQ(got.exact, exact);
  EXPECT_EQ(got.active_lanes, active);
}

TEST(Traffic, CountsLanesThatPassAGuard) {
  expect(traffic("let i = gid.x; if i < len(o) { o[i] = a[i]; }"), 100 * 8, true, 100);
  expect(traffic("let i = gid.x; if i < len(o) { o[i] += 1.0; }"), 100 * 8, true, 100);
  expect(traffic("let i = gid.x; if i >= len(o) { return; } o[i] = 1.0;"), 100 * 4, true, 100);
  expect(traffic("let i = gid.x; if i < 10 && i < len(c) { c[i] = 1; }"), 40, true, 10);
  expect(traffic("let i = gid.x; if i < len(u) { s[lid.x] = u[i] as f32; }"), 100, true, 100);
}

TEST(Traffic, MultipliesByLoops) {
  expect(traffic("let i = gid.x; if i < len(o) { for k in 0 .. 3 { o[i] = a[i]; } }"), 3 * 800,
         true, 100);
  expect(traffic("let i = gid.x; if i < len(o) { for k in 0 .. n[0] { o[i] = 1.0; } }"),
         10 * 400 + 100 * 4, true, 100);
  expect(traffic("let i = gid.x; if i < len(o) { for k in 5 .. 2 { o[i] = a[i]; } }"), 0, true, 0);
}

TEST(Traffic, LeavesOutWhatHangsOnData) {
  // The load of the condition is certain, what it decides is not.
  expect(traffic("let i = gid.x; if i < len(o) { if a[i] > 1.0 { o[i] = 1.0; } }"), 400, false,
         100);
  expect(traffic("let i = gid.x; if i < len(c) { for k in 0 .. c[i] { o[k] = 1.0; } }"), 400, false,
         100);
  expect(traffic("let i = gid.x; if i < len(c) { o[c[i]] = 1.0; }"), 400, false, 100);
  const Traffic walk =
      traffic("let i = gid.x; if i >= len(o) { return; } if a[i] > 0.5 { return; } o[i] = 2.0;");
  expect(walk, 400, false, 100);
}

TEST(Traffic, LeavesOutWhatIsOutOfBounds) {
  // What is not proved for every launch may be known of this one.
  expect(traffic("o[gid.x] = 1.0;"), 400, true, 100);
  expect(traffic("c[gid.x + 90] = u[3];"), 128 + 10 * 4, true, 128);
  expect(traffic("c[gid.x * 2] = 1;"), 50 * 4, true, 50);
}

TEST(Traffic, KnowsWhoHasLeft) {
  expect(traffic("let i = gid.x; if i < len(o) { { if i < 50 { return; } } o[i] = 1.0; }"), 200,
         true, 50);
  expect(
      traffic("let i = gid.x; if i < len(o) { if i < 50 { if i < 20 { return; } } o[i] = 1.0; }"),
      0, false, 0);
  // What is not a conjunction of guards is not counted.
  const Traffic other = traffic(
      "let i = gid.x; if i < len(o) && i < 30 { o[i] = 1.0; } else { if len(c) > 0 { c[0] = 1; } "
      "}");
  EXPECT_EQ(other.at_least, 30U * 4);
  EXPECT_FALSE(other.exact);
}

TEST(Traffic, CountsAtomicsTwiceAndSharedMemoryNever) {
  expect(traffic("let i = gid.x; if i < len(c) { atomic_add(c[i], 1); }"), 800, true, 100);
  expect(traffic("let i = gid.x; if i < len(c) { let x = atomic_load(c[i]); s[0] = x as f32; }"),
         400, true, 100);
  expect(traffic("s[lid.x] = 1.0;"), 0, true, 0);
}

TEST(Traffic, KnowsLanesOfAWorkgroup) {
  expect(traffic("if lid.x == 0 { if wid.x < len(c) { c[wid.x] = 1; } }"), 8, true, 2);
  expect(traffic("if lid.x < 32 { if wid.x < len(c) { c[wid.x] = 1; } }", 4), 4 * 32 * 4, true,
         128);
}

TEST(Traffic, GoesThroughFunctions) {
  const std::string text = R"(program p {
  workgroup 64;
  in a : f32[];
  out o : f32[] @count(len(a));
  fn get(b : buffer f32[], i : u32) -> f32 {
    if i >= len(b) { return 0.0; }
    return b[i];
  }
  region r {
    let i = gid.x;
    if i < len(o) { o[i] = get(a, i); }
  }
})";
  const auto checked = check::check_valid(text::parse(text, "p").program);
  ASSERT_TRUE(checked);
  check::Launch launch{.workgroup = {64, 1, 1}, .grid = {2, 1, 1}, .counts = {100, 100}};
  const std::vector<std::span<const std::byte>> given(2);
  const Traffic got = traffic_of(*checked, launch, given);
  EXPECT_EQ(got.at_least, 800U);
  EXPECT_EQ(got.lanes, 128U);
}

TEST(ProfileNumbers, SayWhetherTheyAreExact) {
  EXPECT_EQ(bytes_text({.at_least = 512, .exact = true}), "512 B");
  EXPECT_EQ(bytes_text({.at_least = 1536, .exact = false}), "≥ 1.50 KiB");
  EXPECT_EQ(bytes_text({.at_least = uint64_t{150} << 20, .exact = true}), "150 MiB");
  EXPECT_EQ(bandwidth_text(12.34e9, false), "≥ 12.3 GB/s");
  EXPECT_EQ(bandwidth_text(5e6, true), "5.00 MB/s");
  EXPECT_EQ(percent_text(0.375), "37.5 %");
}

}  // namespace
}  // namespace vyre::cli
