// SPDX-License-Identifier: Apache-2.0
#include "check/program_test.hpp"

namespace vyre::check {
namespace {

// Proved accesses of all accesses, as "1/2".
std::string proved(std::string_view statements, std::string_view items = "") {
  const CheckedProgram c = checked(in_program(statements, items));
  return std::to_string(c.proofs.size()) + "/" + std::to_string(c.access_count);
}

TEST(Bounds, FixedLengths) {
  EXPECT_EQ(proved("tile[lid.x] = 1;"), "1/1");
  EXPECT_EQ(proved("tile[lid.x + 1] = 1;"), "0/1");
  EXPECT_EQ(proved("tile[63] = 1; tile[64] = 2;"), "1/2");
  EXPECT_EQ(proved("tile[gid.x % 64] = 1;"), "1/1");
  EXPECT_EQ(proved("tile[gid.x & 63] = 1; tile[gid.x & 64] = 2;"), "1/2");
  EXPECT_EQ(proved("tile[gid.x >> 26] = 1; tile[gid.x >> 25] = 2;"), "1/2");
  EXPECT_EQ(proved("tile[min(gid.x, 63)] = 1;"), "1/1");
  EXPECT_EQ(proved("var a : u32[8]; for i in 0 .. 8 { a[i] = 1; } a[8] = 1;"), "1/2");
  EXPECT_EQ(proved("var a : u32[8]; for i in 0 .. 9 { a[i] = 1; }"), "0/1");
  EXPECT_EQ(proved("work[0] = T[gid.x & 3];", "const T : u32[] = { 1, 2, 3, 4 };"), "1/2");
}

TEST(Bounds, Guards) {
  EXPECT_EQ(proved("let i = gid.x; if i < len(work) { work[i] = 1; } else { work[i] = 2; }"),
            "1/2");
  EXPECT_EQ(proved("if gid.x < len(work) { work[gid.x] = 1; }"), "1/1");
  EXPECT_EQ(proved("if len(work) > gid.x { work[gid.x] = 1; }"), "1/1");
  EXPECT_EQ(proved("if gid.x <= len(work) { work[gid.x] = 1; }"), "0/1");
  EXPECT_EQ(proved("if gid.x >= len(work) { return; } work[gid.x] = 1;"), "1/1");
  EXPECT_EQ(proved("if !(gid.x < len(work)) { return; } work[gid.x] = 1;"), "1/1");
  EXPECT_EQ(proved("if gid.x < len(work) && work[gid.x] == 1 { }"), "1/1");
  EXPECT_EQ(proved("if gid.x >= len(work) || work[gid.x] == 1 { }"), "1/1");
  EXPECT_EQ(proved("if gid.x < len(work) || work[gid.x] == 1 { }"), "0/1");
  EXPECT_EQ(proved("let inside = gid.x < len(work) && gid.y < 3; if inside { work[gid.x] = 1; }"),
            "1/1");
  EXPECT_EQ(proved("if gid.x < len(data) { work[gid.x] = 1; }"), "0/1");
}

// Conditions that refer to each other again and again do not take for ever.
TEST(Bounds, GuardsOfGuards) {
  std::string lets = "let c0 = gid.x < len(work);";
  for (int i = 1; i < 60; ++i)
    lets += "let c" + std::to_string(i) + " = c" + std::to_string(i - 1) + " && c" +
            std::to_string(i - 1) + ";";
  EXPECT_EQ(proved(lets + "if c3 { work[gid.x] = 1; }"), "1/1");
  EXPECT_EQ(proved(lets + "if c59 { work[gid.x] = 1; }"), "1/1");
}

// What no lane reaches has bounds that contradict each other.
TEST(Bounds, ContradictingGuards) {
  EXPECT_EQ(proved("let i = gid.x; if i >= 1 && i < 1 { tile[500 / i] = 1; }"), "0/1");
  EXPECT_EQ(proved("if gid.x > 3 && gid.x == 0 { tile[100 / gid.x] = 1; }"), "0/1");
  EXPECT_EQ(proved("if len(work) >= 2 && len(work) < 1 { tile[700 / len(work) | 1] = 1; }"), "0/1");
}

TEST(Bounds, Neighbours) {
  EXPECT_EQ(proved("let i = gid.x; if i + 1 < len(work) { work[i] = 1; work[i + 1] = 2; }"), "2/2");
  EXPECT_EQ(proved("let i = data[gid.x]; if i + 1 < len(work) { work[i] = 1; work[i + 1] = 2; }"),
            "0/3");  // i + 1 may wrap
  EXPECT_EQ(
      proved(
          "let i = gid.x; if i < len(work) - 1 && len(work) > 0 { work[i] = 1; work[i + 1] = 2; }"),
      "0/2");
  EXPECT_EQ(
      proved(
          "let i = gid.x; if len(work) > 0 && i < len(work) - 1 { work[i] = 1; work[i + 1] = 2; }"),
      "2/2");
  EXPECT_EQ(proved("let i = gid.x; if i > 0 && i < len(work) { work[i - 1] = 1; }"), "1/1");
  EXPECT_EQ(proved("let i = gid.x; if i < len(work) { work[i - 1] = 1; }"), "0/1");
  EXPECT_EQ(proved("let i = gid.x; if i != 0 && i < len(work) { work[i - 1] = 1; }"), "1/1");
}

TEST(Bounds, Loops) {
  EXPECT_EQ(proved("for i in 0 .. len(work) { work[i] = 1; }"), "1/1");
  EXPECT_EQ(proved("let n = len(work); for i in 0 .. n { work[i] = 1; }"), "1/1");
  EXPECT_EQ(
      proved("let n = min(len(work), len(data)); for i in 3 .. n step 2 { work[i] = data[i]; }"),
      "2/2");
  EXPECT_EQ(proved("for i in 1 .. len(work) { work[i - 1] = work[i]; }"), "2/2");
  EXPECT_EQ(proved("var i = gid.x; while i < len(work) { work[i] = 1; i += 64; work[i] = 2; }"),
            "1/2");
  EXPECT_EQ(proved("var i = gid.x; if i < len(work) { i = 5; work[i] = 1; }"), "0/1");
  EXPECT_EQ(
      proved("var i = gid.x; if i < len(work) { for k in 0 .. 3 { work[i] = 1; i = i + 1; } }"),
      "0/1");
  EXPECT_EQ(proved("for i in 0i32 .. 10i32 { work[i] = 1; tile[i] = 1; }"), "1/2");
  EXPECT_EQ(proved("for i in -3 .. 10i32 { tile[i] = 1; }"), "0/1");
}

TEST(Bounds, BranchesThatAssignWhatTheyTest) {
  // The condition spoke of the old value of i.
  EXPECT_EQ(proved("var i = gid.x; if i >= len(work) { i = 0; return; } work[i] = 1;"), "0/1");
  EXPECT_EQ(proved("var i = gid.x; if i < len(work) { i = 9; } else { work[i] = 1; }"), "0/1");
}

TEST(Bounds, RequirementsRelateLengths) {
  const std::string_view same = "require len(data) == len(work), \"same\";";
  const std::string_view more = "require len(data) >= len(work) + 1, \"one more\";";
  const std::string_view some = "require len(data) >= 16, \"some\";";
  EXPECT_EQ(proved("if gid.x < len(work) { work[gid.x] = data[gid.x]; }", same), "2/2");
  EXPECT_EQ(proved("if gid.x < len(data) { work[gid.x] = data[gid.x]; }", same), "2/2");
  EXPECT_EQ(proved("if gid.x < len(work) { work[gid.x] = data[gid.x] + data[gid.x + 1]; }", more),
            "3/3");
  EXPECT_EQ(proved("if gid.x < len(work) { work[gid.x] = data[gid.x + 2]; }", more), "1/2");
  EXPECT_EQ(proved("result[0] = data[15] + data[16];", some), "1/3");
  EXPECT_EQ(proved("result[0] = data[gid.x % len(data)];", some), "1/2");
  EXPECT_EQ(proved("result[0] = data[gid.x % len(data)];"), "0/2");
}

TEST(Bounds, LanesThatComeBackAtAResumePassedNoGuard) {
  EXPECT_EQ(
      proved(
          "let i = gid.x; if i >= len(work) { trap(1, i); } work[i] = 1; resume(1); work[i] = 2;"),
      "1/2");
}

TEST(Bounds, FunctionsHoldForEveryCall) {
  const std::string_view put =
      "fn put(b : buffer u32[], i : u32) { if i < len(b) { b[i] = 1; } b[i] = 2; }";
  EXPECT_EQ(proved("put(work, gid.x); put(tile, 3);", put), "1/2");
}

TEST(Bounds, ReasonsNameTheLines) {
  const CheckedProgram c =
      checked(in_program("let i = gid.x;\nif i < len(work) {\n  work[i] = 1;\n}"));
  ASSERT_EQ(c.proofs.size(), 1U);
  EXPECT_EQ(c.proofs[0].kind, BoundsProof::Kind::Compared);
  EXPECT_EQ(c.proofs[0].reason, "the index is below len(work): line 17");
}

}  // namespace
}  // namespace vyre::check
