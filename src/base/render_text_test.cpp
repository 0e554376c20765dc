// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/base/diagnostic.hpp"

namespace vyre {
namespace {

using testing::HasSubstr;
using testing::Not;

Diagnostics one(Position at, std::string message = "bad thing", std::string fix = "") {
  Diagnostics d;
  d.add(Code::BarrierNotUniform, std::move(at), std::move(message), std::move(fix));
  return d;
}

std::string render(std::string_view source, Position at) {
  at.file = "f.vyre";
  return render_text(one(at), {{"f.vyre", source}});
}

TEST(RenderText, NothingGivesNothing) {
  EXPECT_EQ(render_text({}, {}), "");
}

TEST(RenderText, WholeShape) {
  Diagnostics d;
  Diagnostic& barrier = d.add(Code::BarrierNotUniform, {"f.vyre", 3, 5, 12},
                              "barrier grid is not reached by all lanes", "move it out of the if");
  barrier.notes.push_back({{"f.vyre", 2, 6, 5}, "this differs between lanes"});
  barrier.notes.push_back({{}, "a general remark"});
  d.add(Code::Unused, {"f.vyre", 1, 1, 3}, "let a is not used", "remove it");
  EXPECT_EQ(render_text(d, {{"f.vyre", "let a = 1;\n  if gid.x {\n    barrier grid;\n"}}),
            "f.vyre:3:5: error[V070]: barrier grid is not reached by all lanes\n"
            "    3 |     barrier grid;\n"
            "      |     ^^^^^^^^^^^^\n"
            "f.vyre:2:6: note: this differs between lanes\n"
            "    2 |   if gid.x {\n"
            "      |      ^^^^^\n"
            "note: a general remark\n"
            "  Fix: move it out of the if\n"
            "\n"
            "f.vyre:1:1: warning[V090]: let a is not used\n"
            "    1 | let a = 1;\n"
            "      | ^^^\n"
            "  Fix: remove it\n"
            "\n"
            "1 error, 1 warning\n");
}

TEST(RenderText, UnknownPlaces) {
  EXPECT_EQ(render_text(one({"f.bin", 0, 0, 1}), {}), "f.bin: error[V070]: bad thing\n\n1 error\n");
  EXPECT_EQ(render_text(one({}), {}), "error[V070]: bad thing\n\n1 error\n");
  EXPECT_EQ(render_text(one({"f", 7, 0, 1}), {}), "f:7: error[V070]: bad thing\n\n1 error\n");
  EXPECT_EQ(render_text(one({"", 7, 2, 1}), {}), "line 7:2: error[V070]: bad thing\n\n1 error\n");
}

TEST(RenderText, APlacePastTheTextHasNoLine) {
  EXPECT_THAT(render("a\nb", {"", 3, 1, 1}), Not(HasSubstr("|")));
  EXPECT_THAT(render("a\nb\n", {"", 3, 1, 1}), HasSubstr("    3 | \n      | ^\n"));
  EXPECT_THAT(render("", {"", 1, 1, 1}), HasSubstr("    1 | \n      | ^\n"));
}

TEST(RenderText, ColumnsAreClampedAndLengthEndsWithTheLine) {
  EXPECT_THAT(render("abc", {"", 1, 99, 4}), HasSubstr(" | abc\n      |    ^\n"));
  EXPECT_THAT(render("abc", {"", 1, 2, 4000000000U}), HasSubstr(" | abc\n      |  ^^\n"));
  EXPECT_THAT(render("abc", {"", 1, 2, 0}), HasSubstr(" | abc\n      |  ^\n"));
}

TEST(RenderText, CarriageReturnsAreNotShown) {
  const std::string text = render("a\r\nbcd\r\n", {"", 2, 2, 2});
  EXPECT_THAT(text, HasSubstr("    2 | bcd\n      |  ^^\n"));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(RenderText, TabsGoToTheNextStop) {
  EXPECT_THAT(render("\tx = y;", {"", 1, 2, 1}), HasSubstr(" |     x = y;\n      |     ^\n"));
  EXPECT_THAT(render("ab\tx", {"", 1, 4, 1}), HasSubstr(" | ab  x\n      |     ^\n"));
  EXPECT_THAT(render("ab\tx", {"", 1, 3, 1}), HasSubstr(" | ab  x\n      |   ^^\n"));
}

TEST(RenderText, ColumnsCountCodePointsAndWideOnesTakeTwo) {
  EXPECT_THAT(render("// é x", {"", 1, 6, 1}), HasSubstr(" | // é x\n      |      ^\n"));
  EXPECT_THAT(render("漢字 x", {"", 1, 4, 1}), HasSubstr(" | 漢字 x\n      |      ^\n"));
  EXPECT_THAT(render("漢字 x", {"", 1, 1, 2}), HasSubstr(" | 漢字 x\n      | ^^^^\n"));
}

TEST(RenderText, BrokenBytesAndControlCharactersAreReplaced) {
  const std::string text = render("a\xFF\x1b[31mb", {"", 1, 2, 1});
  EXPECT_THAT(text, HasSubstr(" | a\uFFFD\uFFFD[31mb\n      |  ^\n"));
  const std::string message =
      render_text(one({"\x1b]0;x\x07", 1, 1, 1}, "bad \x1b[2J\nsecond line"), {});
  EXPECT_THAT(message, Not(HasSubstr("\x1b")));
  EXPECT_THAT(message, HasSubstr("bad \uFFFD[2J\n    second line\n"));
}

TEST(RenderText, ALongLineIsClippedAroundTheCaret) {
  const std::string line = std::string(5000, 'a') + "XYZ" + std::string(5000, 'b');
  const std::string text = render(line, {"", 1, 5001, 3});
  const size_t begin = text.find("| ") + 2;
  const std::string shown = text.substr(begin, text.find('\n', begin) - begin);
  EXPECT_LT(shown.size(), 175U);
  EXPECT_TRUE(shown.starts_with("...aaa"));
  EXPECT_TRUE(shown.ends_with("bbb..."));
  const size_t caret_line = text.find("      | ", begin) + 8;
  EXPECT_EQ(text.find("^^^\n", begin) - caret_line, shown.find("XYZ"));
}

TEST(RenderText, ALineThatFitsIsShownWhole) {
  const std::string line = std::string(150, 'a') + "X";
  EXPECT_THAT(render(line, {"", 1, 151, 1}), HasSubstr("| " + line + "\n"));
}

TEST(RenderText, ClippingCopesWithTabsWideAndCombiningCharacters) {
  for (const std::string_view unit : {"\t", "漢", "e\u0301", "\u0301", "\xFF"}) {
    std::string line;
    for (int i = 0; i < 1000; ++i) line += unit;
    const std::string text = render(line + "X" + line, {"", 1, 500, 1});
    EXPECT_THAT(text, HasSubstr("^"));
    EXPECT_LT(text.size(), 8000U);
  }
}

TEST(RenderText, SaysHowManyAreNotShown) {
  Diagnostics d;
  for (int i = 0; i < 105; ++i) d.add(Code::UnknownName, {"f", 1, 1, 1}, "m", "");
  EXPECT_THAT(render_text(d, {}), testing::EndsWith("\n100 errors, 5 more not shown\n"));
}

TEST(RenderText, OutputIsBounded) {
  Diagnostics d;
  for (int i = 0; i < 100; ++i) {
    Diagnostic& each = d.add(Code::UnknownName, {std::string(100000, 'f'), 1, 1, 1},
                             std::string(100000, '\n'), std::string(100000, '\xFF'));
    for (int n = 0; n < 100; ++n) each.notes.push_back({{}, std::string(100000, 'n')});
  }
  const std::string text = render_text(d, {});
  EXPECT_LE(text.size(), size_t{1} << 20);
  EXPECT_THAT(text, HasSubstr("more not shown\n"));
}

TEST(RenderText, ManyPlacesInOneHugeLineAreQuick) {
  const std::string line(size_t{16} << 20, 'x');
  Diagnostics d;
  for (uint32_t i = 0; i < 100; ++i)
    d.add(Code::UnknownName, {"f", 1, 16000000 - i, 1}, "m", "")
        .notes.push_back({{"f", 1, 1000 + i, 1}, "n"});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(render_text(d, {{"f", line}}), HasSubstr("100 errors"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(RenderText, ColorOnlyOnRequest) {
  const Diagnostics d = one({"f", 1, 1, 1}, "m", "fix it");
  EXPECT_THAT(render_text(d, {{"f", "x"}}), Not(HasSubstr("\x1b")));
  const std::string colored = render_text(d, {{"f", "x"}}, {.color = true});
  EXPECT_THAT(colored, HasSubstr("\x1b[1;31merror[V070]: \x1b[0m"));
  EXPECT_THAT(colored, HasSubstr("\x1b[1;32m^\x1b[0m\n"));
}

TEST(RenderText, FindingsHaveTheShapeOfDiagnostics) {
  const std::vector<Finding> findings = {
      {.label = "race",
       .at = {"f.vyre", 2, 3, 2},
       .message = "write by lane 1",
       .fix = "a barrier",
       .notes = {{{"f.vyre", 1, 1, 1}, "and this read"}}},
      {.label = "error[Timeout 1009]", .at = {}, .message = "too long", .fix = "", .notes = {}}};
  EXPECT_EQ(render_findings(findings, {{"f.vyre", "ab\n  cd\n"}}),
            "f.vyre:2:3: race: write by lane 1\n"
            "    2 |   cd\n"
            "      |   ^^\n"
            "f.vyre:1:1: note: and this read\n"
            "    1 | ab\n"
            "      | ^\n"
            "  Fix: a barrier\n"
            "\n"
            "error[Timeout 1009]: too long\n");
  EXPECT_EQ(render_findings({}, {}), "");
}

}  // namespace
}  // namespace vyre
