// SPDX-License-Identifier: Apache-2.0
// Scalars, scratch and axes: rules, proofs and what a launch makes of them.
#include <gmock/gmock.h>

#include "check/program_test.hpp"
#include "ir/properties.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/check/overwritten.hpp"

namespace vyre::check {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kItems =
    "uniform h : u32; uniform w : u32; in a : u32[h, w]; out b : u32[w, h]; ";

std::string in_shapes(std::string_view statements, std::string_view items = "") {
  return "program t { workgroup 8, 8; over w, h; " + std::string(kItems) + std::string(items) +
         std::string(statements) + " b[0] = a[0] + h + w; }";
}

// Proved accesses of those that the statements have, as "1/2".
std::string proved(std::string_view statements, std::string_view items = "") {
  const CheckedProgram c = checked(in_shapes(statements, items));
  size_t proofs = 0;
  for (uint32_t i = 0; i < c.expr_proofs.size(); ++i)
    if (c.expr_proofs[i] >= 0 && !ir::reads_scalar(c.program, c.program.exprs[i])) ++proofs;
  for (const int32_t proof : c.stmt_proofs) proofs += proof >= 0 ? 1 : 0;
  return std::to_string(proofs) + "/" + std::to_string(c.access_count - 2);
}

TEST(Shapes, EachAxisIsProvedByItself) {
  EXPECT_EQ(proved("let y = gid.y; let x = gid.x; if y < h && x < w { b[x, y] = a[y, x]; }"),
            "2/2");
  EXPECT_EQ(proved("if gid.y < len(a, 0) && gid.x < len(a, 1) { b[gid.x, gid.y] = 1; }"), "1/1");
  EXPECT_EQ(proved("if gid.y < h && gid.x < w { b[gid.y, gid.x] = 1; }"), "0/1");
  EXPECT_EQ(proved("if gid.y < h { b[gid.x, gid.y] = 1; }"), "0/1");
  EXPECT_EQ(proved("for y in 0 .. h { for x in 0 .. w { b[x, y] = a[y, x]; } }"), "2/2");
  EXPECT_EQ(proved("for y in 1 .. h { for x in 0 .. w { b[x, y] = a[y - 1, x]; } }"), "2/2");
  EXPECT_EQ(proved("for y in 0 .. h { for x in 0 .. w { b[x, y] = a[y + 1, x]; } }"), "1/2");
  EXPECT_EQ(proved("let i = gid.x; if i >= 1 && i + 1 < w && gid.y < h { "
                   "b[0, 0] = a[gid.y, i - 1] + a[gid.y, i] + a[gid.y, i + 1]; }"),
            "4/4");
  EXPECT_EQ(proved("let i = gid.x as i32; if i < w as i32 && gid.y < h { b[i, gid.y] = 1; }"),
            "0/1");
  // The guard of the whole says nothing about an axis, nor the other way round.
  EXPECT_EQ(proved("if gid.x < len(a) { b[gid.x, 0] = 1; }"), "0/1");
  EXPECT_EQ(proved("if gid.x < w { b[gid.x] = 1; }"), "0/1");
}

TEST(Shapes, LengthsThatAreWritten) {
  EXPECT_EQ(proved("if gid.x < w { t[gid.x] = 1; }", "scratch t : u32[w];"), "1/1");
  EXPECT_EQ(proved("if gid.x <= w { t[gid.x] = 1; }", "scratch t : u32[w + 1];"), "1/1");
  EXPECT_EQ(proved("if gid.x < w { t[gid.x + 1] = 1; }", "scratch t : u32[w + 1];"), "1/1");
  EXPECT_EQ(proved("if gid.x < w { t[gid.x] = 1; }", "scratch t : u32[w - 1];"), "0/1");
  EXPECT_EQ(proved("if gid.x < len(a) { t[gid.x] = 1; }", "scratch t : u32[len(a)];"), "1/1");
  EXPECT_EQ(proved("if gid.x < len(b, 1) { t[gid.x, 2] = 1; }", "scratch t : u32[h, 3];"), "1/1");
  EXPECT_EQ(proved("t[lid.y, lid.x] = 1; t[lid.x, 8] = 2; t[8, 8] = 3;", "shared t : u32[8, 9];"),
            "2/3");
  EXPECT_EQ(proved("var t : u32[2, 3]; t[1, gid.x % 3] = 1; t[gid.x & 1, 3] = 2;"), "1/2");
}

TEST(Shapes, AxesThatAreProved) {
  const CheckedProgram c = checked(in_shapes("if gid.y < h { b[gid.x, gid.y] = 1; }"));
  uint8_t axes = 0;
  for (uint32_t i = 0; i < c.program.exprs.size(); ++i)
    if (std::holds_alternative<ir::AxisIndex>(c.program.exprs[i])) axes = c.axis_proofs[i];
  EXPECT_EQ(axes, 2);
}

TEST(Shapes, ParametersTakeTheAxesOfWhatIsPassed) {
  const std::string fn =
      "fn f(p : buffer u32[,], y : u32) -> u32 { "
      "if y < len(p, 0) && 0 < len(p, 1) { return p[y, 0]; } return 0; } ";
  EXPECT_EQ(proved("b[1] = f(a, gid.y) + f(b, gid.x);", fn), "1/2");
  EXPECT_EQ(codes(in_shapes("b[1] = f(t);",
                            "scratch t : u32[2, 2]; fn f(p : buffer u32[]) -> u32 "
                            "{ return p[1]; } ")),
            "");
}

TEST(Shapes, Rules) {
  EXPECT_EQ(codes(in_shapes("", "in s : u32[8, len(z)]; in z : u32[];")), "V090");
  EXPECT_EQ(codes(in_shapes("", "out s : u32[8, len(z)]; out z : u32[4, h];")), "V058");
  EXPECT_EQ(codes(in_shapes("", "out s : u32[8, len(s)];")), "V058");
  EXPECT_EQ(codes(in_shapes("", "out s : u32[gid.x];")), "V057");
  EXPECT_EQ(codes(in_shapes("", "shared s : u32[h, 4];")), "V039");
  EXPECT_EQ(codes(in_shapes("", "shared s : u32[-1, 4];")), "V041");
  EXPECT_EQ(codes(in_shapes("", "in s : f32[2.5];")), "V036");
  EXPECT_EQ(codes(in_shapes("h = 3;")), "V023");
  EXPECT_EQ(codes(in_shapes("b[1.5, 2] = 1;")), "V036");
  EXPECT_EQ(codes(in_shapes("b[1, 2, 3] = 1;")), "V067");
  EXPECT_EQ(codes(in_shapes("let scratch = 3; b[scratch] = scratch;")), "");
}

Result<Launch> launch(std::string_view text, const std::vector<std::vector<uint32_t>>& inputs) {
  const CheckedProgram program = checked(text);
  std::vector<std::span<const std::byte>> views;
  for (const auto& input : inputs) views.push_back(std::as_bytes(std::span(input)));
  return resolve_launch(program, {.inputs = views});
}

TEST(Shapes, Launches) {
  const std::string text = in_shapes("", "scratch t : u32[len(a) * 2]; scratch u : u32[2, h, w];");
  const auto l = launch(text, {{2}, {3}, {1, 2, 3, 4, 5, 6}});
  ASSERT_TRUE(l.has_value()) << to_string(l.error());
  EXPECT_THAT(l->counts, ElementsAre(1, 1, 6, 6, 12, 12));
  EXPECT_THAT(l->axes[2], ElementsAre(2, 3));
  EXPECT_THAT(l->axes[5], ElementsAre(2, 2, 3));
  EXPECT_THAT(l->grid, ElementsAre(1, 1, 1));
}

std::string refusal(std::string_view text, const std::vector<std::vector<uint32_t>>& inputs) {
  const auto l = launch(text, inputs);
  return l ? "" : to_string(l.error());
}

TEST(Shapes, LaunchesThatAreRefused) {
  EXPECT_THAT(refusal(in_shapes(""), {{2}, {3}, {1, 2, 3, 4, 5}}),
              HasSubstr("input `a` expected 6 elements (2 x 3), received 5"));
  EXPECT_THAT(refusal(in_shapes(""), {{70000}, {70000}, {1}}),
              HasSubstr("`a` of 70000 x 70000 has more than 4294967295 elements"));
  EXPECT_THAT(refusal(in_shapes(""), {{2, 2}, {3}, {1}}), HasSubstr("`h`"));
  EXPECT_EQ(refusal(in_shapes(""), {{0}, {4294967295}, {}}), "");
  EXPECT_THAT(refusal(in_shapes("", "scratch t : u32[h - w];"), {{2}, {3}, {1, 2, 3, 4, 5, 6}}),
              HasSubstr("does not fit its type u32"));
  EXPECT_THAT(refusal(in_shapes("", "uniform p : u32[]; scratch t : u32[p[3], 2];"),
                      {{1}, {1}, {1}, {1, 2}}),
              HasSubstr("a shape reads element 3 of `p`, which has 2 elements"));
  EXPECT_THAT(refusal("program t { workgroup 8; uniform n : u32; in a : u32[n]; out b : u32[1]; "
                      "b[0] = a[0]; }",
                      {{4}, {1, 2}}),
              HasSubstr("input `a` expected 4 elements, received 2"));
}

// The default grid is for what the caller gets.
TEST(Shapes, ScratchDoesNotCountForTheGrid) {
  const auto l = launch(
      "program t { workgroup 8; in a : u32[]; scratch t : u32[1000]; out b : "
      "u32[3]; t[0] = 1; b[gid.x] = a[0] + t[1]; }",
      {{1}});
  ASSERT_TRUE(l.has_value());
  EXPECT_THAT(l->grid, ElementsAre(1, 1, 1));
}

TEST(Shapes, OverwrittenByAxes) {
  const auto all = [](std::string_view statements) {
    const CheckedProgram program = checked(
        "program t { workgroup 4, 2; over w, h; uniform h : u32; uniform w : u32; out b : "
        "u32[h, w]; scratch t : u32[h, w]; " +
        std::string(statements) + " }");
    const std::vector<uint32_t> h = {3};
    const std::vector<uint32_t> w = {5};
    const std::vector<std::span<const std::byte>> given = {
        std::as_bytes(std::span(h)), std::as_bytes(std::span(w)), {}, {}};
    const auto l = resolve_launch(program, {.inputs = std::span(given).first(2)});
    EXPECT_TRUE(l.has_value());
    const std::vector<bool> found = overwritten(program, *l, given);
    return std::to_string(found[2]) + std::to_string(found[3]);
  };
  EXPECT_EQ(all("t[gid.y, gid.x] = 1; barrier grid; b[gid.y, gid.x] = t[gid.y, gid.x];"), "11");
  EXPECT_EQ(all("b[gid.y, gid.x] = t[gid.y, gid.x]; t[gid.y, gid.x] = 1;"), "10");
  EXPECT_EQ(all("b[gid.y, gid.x + 1] = t[0]; t[gid.y + 1, gid.x] = 1;"), "00");
  EXPECT_EQ(all("b[gid.x, gid.y] = t[0]; t[0] = 1;"), "00");
}

}  // namespace
}  // namespace vyre::check
