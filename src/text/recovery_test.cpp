// SPDX-License-Identifier: Apache-2.0
// Several mistakes in one text are all reported, each once, and nothing else; limits hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/text_test.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string repeat(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Recovery, ReportsEveryBrokenStatement) {
  EXPECT_THAT(places_of(around("let x = ;\nlet y = (1;\nb[0] = q1;\nlet z = 1 +;\nb[1] = q2\nb[2] "
                               "= q3;\nif q4 { b[3] = ; }\nlet w = x + y + z;")),
              ElementsAre("V001 2:9", "V001 3:11", "V020 4:8", "V001 5:12", "V020 6:8", "V001 6:10",
                          "V020 7:8", "V020 8:4", "V001 8:16"));
}

TEST(Recovery, ReadsTheBlockAfterABrokenHead) {
  EXPECT_THAT(
      places_of(around("if 1 < { b[0] = q1; } else { b[0] = q2; }\nwhile ) { b[0] = q3; }\nfor i "
                       "in 0 . 4 { b[i] = q4; }\nfixpoint max over (b) { b[0] = q5; }")),
      ElementsAre("V001 2:8", "V020 2:17", "V020 2:37", "V001 3:7", "V020 3:18", "V001 4:12",
                  "V020 4:25", "V001 5:14", "V020 5:32"));
  EXPECT_THAT(places_of(around("whlie true { b[0] = q1; }\nfn 3(x : u32) { let y = q2; }")),
              ElementsAre("V001 2:1", "V020 2:21", "V001 3:4", "V020 3:25"));
}

TEST(Recovery, StaysInsideTheBlockOfTheMistake) {
  EXPECT_THAT(places_of(around("region r {\n  let x = 1 +\n}\nlet y = q;")),
              ElementsAre("V001 4:1", "V020 5:9"));
  EXPECT_THAT(places_of(around("if true { let x = ( }\nlet y = q;")),
              ElementsAre("V001 2:21", "V020 3:9"));
}

TEST(Recovery, FindsTheNextStatementByItsLine) {
  EXPECT_THAT(
      places_of(around("  b[0] = 1 1\n  b[1] = q;\n  b[2] = f(1, a\n  let x = 1;\n  b[3] = x +\n   "
                       " q2 q3 +\n    1;\n  b[4] = q4;")),
      ElementsAre("V001 2:12", "V020 3:10", "V001 5:3", "V020 7:5", "V001 7:8", "V020 9:10"));
}

TEST(Recovery, DeclaresWhatABrokenStatementDeclares) {
  EXPECT_THAT(places_of(around("let x = ;\nvar y : = 1;\nlet z = x + y;\nconst K = 3;\nlet v = "
                               "K;\nin c : u32;\nlet w = c[0];\nfn h(q : ) { let r = q; }\nh(1);")),
              ElementsAre("V001 2:9", "V001 3:9", "V001 5:9", "V001 7:11", "V001 9:10"));
}

TEST(Recovery, ExpressionsThatAreNotOurs) {
  EXPECT_THAT(places_of(around("let x = if true { 1 } else { 2 };\nlet y = q;")),
              ElementsAre("V001 2:9", "V020 3:9"));
  EXPECT_THAT(places_of(around("let x = let y = 1;\nlet z = x + y;")), ElementsAre("V001 2:9"));
  EXPECT_THAT(places_of(around("const K : u32 k = { 1, 2 };\nlet z = K;")),
              ElementsAre("V001 2:15"));
}

TEST(Recovery, UnclosedBlocks) {
  const Parsed parsed = parse("program p {\n  workgroup 1;\n  if true {\n    let x = 1;\n}\n", "t");
  EXPECT_THAT(lines_of(parsed.diagnostics),
              ElementsAre("V005 6:1 the text ends inside a block that is not closed"));
  ASSERT_EQ(parsed.diagnostics.list()[0].notes.size(), 1u);
  EXPECT_EQ(parsed.diagnostics.list()[0].notes[0].at, (Position{"t", 3, 11, 1}));

  const Parsed plain = parse("program p {\n  workgroup 1;\n  region r { let x = 1; }\n", "t");
  EXPECT_THAT(lines_of(plain.diagnostics),
              ElementsAre("V005 4:1 the text ends inside a block that is not closed"));
  EXPECT_EQ(plain.diagnostics.list()[0].notes[0].at, (Position{"t", 1, 11, 1}));
}

TEST(Recovery, ATextThatBreaksOffIsOneMistake) {
  const std::string whole =
      "program p { workgroup 64; in a : u32[4] @align(4); const T : u32[] = { 1, 2 }; fn f(x : "
      "u32) -> u32 { return x + 1; } "
      "require len(a) > 0, \"m\"; region r { let x = f(a[T[1]] as u32) + select(true, 1, 2); for i "
      "in 0 .. 4 { trap(1, i); } } }";
  ASSERT_THAT(errors_of(whole), IsEmpty());
  for (size_t cut = whole.find(' '); cut < whole.size(); cut = whole.find(' ', cut + 1)) {
    const Parsed parsed = parse(std::string_view(whole).substr(0, cut), "t");
    ASSERT_FALSE(parsed.diagnostics.list().empty()) << whole.substr(0, cut);
    size_t syntax = 0;
    for (const Diagnostic& d : parsed.diagnostics.list())
      syntax += d.code == Code::UnexpectedToken || d.code == Code::UnclosedBlock ? 1 : 0;
    EXPECT_EQ(syntax, 1u) << whole.substr(0, cut);
  }
}

TEST(Recovery, ReadsOnAfterABraceTooMany) {
  EXPECT_THAT(places_of("program p {\n  workgroup 1;\n  region r { } }\n  let x = q;\n}\n"),
              ElementsAre("V001 4:3", "V020 4:11"));
}

TEST(Recovery, ProgramsAreFitForTheChecker) {
  // Whatever could not be read, every id in the program is valid or marked absent where that is
  // allowed.
  for (const std::string_view statements :
       {"let x = ;", "const K = 1;", "in c : ;", "fn h(", "for i in { }", "x[",
        "fixpoint max 1 over (q) { }", "trap(q, 1);", "all_reduce(q, add);"}) {
    const Parsed parsed = parse(around(statements), "t");
    EXPECT_TRUE(parsed.diagnostics.has_errors());
    EXPECT_NO_FATAL_FAILURE(print(parsed.program));
    EXPECT_FALSE(to_json(parsed.program).empty());
    for (const ir::Const& constant : parsed.program.consts)
      EXPECT_GT(constant.values.count, 0u) << constant.name;
  }
}

// ---- limits

TEST(Limits, TextSize) {
  EXPECT_THAT(errors_of(std::string(kMaxTextBytes + 1, ' ')),
              ElementsAre("V006 1:1 the text has 16777217 bytes, more than 16777216"));
  EXPECT_THAT(errors_of(std::string(kMaxTextBytes - 40, ' ') + "program p { workgroup 1; }"),
              IsEmpty());
}

TEST(Limits, BlockNesting) {
  const auto nested = [](size_t depth) { return repeat("{", depth) + repeat("}", depth); };
  // In a region the 64 blocks count it; loose statements get `region main` around them.
  EXPECT_THAT(errors_of(around("region r {" + nested(63) + "}")), IsEmpty());
  EXPECT_THAT(errors_of(around("region r {" + nested(64) + "}")),
              ElementsAre("V007 2:74 blocks are nested more than 64 deep"));
  EXPECT_THAT(errors_of(around(nested(63))), IsEmpty());
  EXPECT_THAT(errors_of(around(nested(64))),
              ElementsAre("V007 2:64 blocks are nested more than 64 deep, with the `region main` "
                          "around the statements"));
  EXPECT_THAT(places_of(around(repeat("{", 64) + "{ } { } { }" + repeat("}", 64) + "\nlet x = q;")),
              ElementsAre("V007 2:65", "V020 3:9"));
  EXPECT_THAT(errors_of(around("fn h() {" + nested(63) + "}")), IsEmpty());
  EXPECT_THAT(places_of(around("fn h() {" + nested(64) + "}")), ElementsAre("V007 2:72"));
}

TEST(Limits, ElseIfChainsNest) {
  const auto chain = [](size_t length) {
    return "region r {" + repeat("if true { } else ", length - 1) + "if true { } }";
  };
  EXPECT_THAT(errors_of(around(chain(63))), IsEmpty());
  EXPECT_THAT(places_of(around(chain(64))).size(), 1u);
  EXPECT_THAT(places_of(around(chain(200) + "\nlet x = q;")),
              ElementsAre(testing::StartsWith("V007 2:"), "V020 3:9"));
}

TEST(Limits, ExpressionDepth) {
  EXPECT_THAT(errors_of(around("let x = 1" + repeat("+1", 127) + ";")), IsEmpty());
  EXPECT_THAT(errors_of(around("let x = 1" + repeat("+1", 128) + ";")),
              ElementsAre("V008 2:264 the expression is more than 128 nodes deep"));
  EXPECT_THAT(places_of(around("let x = 1" + repeat("+1", 500) + ";\nlet y = q;")),
              ElementsAre("V008 2:264", "V020 3:9"));
  EXPECT_THAT(errors_of(around("let x = " + repeat("(", 128) + "1" + repeat(")", 128) + ";")),
              IsEmpty());
  EXPECT_THAT(
      places_of(around("let x = " + repeat("(", 129) + "1" + repeat(")", 129) + ";\nlet y = q;")),
      ElementsAre("V008 2:137", "V020 3:9"));
  EXPECT_THAT(errors_of(around("let x = " + repeat("~", 127) + "N;")), IsEmpty());
  EXPECT_THAT(places_of(around("let x = " + repeat("~", 200) + "N;")), ElementsAre("V008 2:137"));
  EXPECT_THAT(errors_of(around("let x = " + repeat("a[", 127) + "0" + repeat("]", 127) + ";")),
              IsEmpty());
  EXPECT_THAT(
      places_of(around("let x = " + repeat("a[", 200) + "0" + repeat("]", 200) + ";\nlet y = q;"))
          .size(),
      2u);
  EXPECT_THAT(places_of(around("let x = " + repeat("min(1, ", 200) + "0" + repeat(")", 200) +
                               ";\nlet y = q;"))
                  .size(),
              2u);
  EXPECT_THAT(places_of(around("let x = 1" + repeat(" as u32", 200) + ";\nlet y = q;")).size(), 2u);
  EXPECT_THAT(places_of(around("for i in 1" + repeat("+1", 200) + " .. 1" + repeat("+1", 200) +
                               " step 2 { let y = q; }"))
                  .size(),
              3u);
}

TEST(Limits, DeepestPrintableExpressionReadsBack) {
  std::string expression = "1";
  for (int i = 0; i < 127; ++i) expression = "1 - (" + expression + ")";
  const Parsed parsed = parse(around("region r { let x = " + expression + "; }"), "t");
  EXPECT_THAT(lines_of(parsed.diagnostics), IsEmpty());
  const Parsed again = parse(print(parsed.program), "t");
  EXPECT_THAT(lines_of(again.diagnostics), IsEmpty());
  EXPECT_EQ(print(again.program), print(parsed.program));
}

TEST(Limits, NameLength) {
  const std::string fits(255, 'n');
  const std::string long_name(256, 'n');
  EXPECT_THAT(errors_of(around("let " + fits + " = 1;")), IsEmpty());
  EXPECT_THAT(errors_of(around("let " + long_name + " = 1; let y = " + long_name + ";")),
              ElementsAre(fmt::format("V009 2:5 the name `{}...` has 256 bytes, more than 255",
                                      std::string(60, 'n'))));
}

TEST(Limits, StatementsAndNodes) {
  const auto program = [](std::string_view unit, size_t times) {
    return "program p { workgroup 1; inout b : u32[];\nregion r {" + repeat(unit, times) + "} }";
  };
  EXPECT_THAT(errors_of(program("g();\n", 99'999)).front(),
              "V020 2:11 the function `g` is not declared");
  EXPECT_THAT(errors_of(program("b[0]=1;\n", 99'999)), IsEmpty());
  EXPECT_THAT(errors_of(program("b[0]=1;\n", 100'000)),
              ElementsAre("V061 100001:1 the text has more than 100000 statements"));
  EXPECT_THAT(
      errors_of("program p { workgroup 1;\n" + repeat("const a : u32 = 1;\n", 100'001) + "}")
          .size(),
      1u);
  const std::string table =
      "program p { workgroup 1; const T : u32[] = {\n" + repeat("1,", ir::kMaxNodes) + "1}; }";
  EXPECT_THAT(
      errors_of(table),
      ElementsAre(
          "V061 2:4194303 the text has more than 2097152 operands, operators and statements"));
}

TEST(Limits, ManyErrorsAreCutShort) {
  const Parsed parsed = parse(around(repeat("let x = ;\n", 5000)), "t");
  EXPECT_EQ(parsed.diagnostics.list().size(), Diagnostics::kMaxDiagnostics);
}

class Hostile : public testing::TestWithParam<std::string_view> {};

TEST_P(Hostile, LongTextsEndWithFewErrors) {
  static constexpr size_t kBytes = size_t{1} << 18;
  for (const std::string_view start : {"", "program p { workgroup 1; in b : u32[]; ",
                                       "program p { workgroup 1; in b : u32[]; let x = "}) {
    std::string source(start);
    while (source.size() < kBytes) source += GetParam();
    const Parsed parsed = parse(source, "t");
    EXPECT_TRUE(parsed.diagnostics.has_errors()) << start << GetParam();
    EXPECT_FALSE(format(source, "t").text);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Limits, Hostile,
    testing::Values(";", "(", ")", "{", "}", "[", "{(", "x ", "1+1+", "-", "!~", "b[", "min(",
                    "min(b[", "if x { ", "if x {} else ", "else ", "@", "\"", "\"\n", "//", "..",
                    "let ", "let x = y;", "fn f(", "fn f() {", "const c = {", "in ",
                    "in a : ", "atomic_add(b[0], ", "bitcast<", "b[0] = 1;\n", "\xff ", "\x80", "9",
                    "0x", "1.0e", "a", "region r ", "fixpoint max 1 over (", "for i in 0 .. ",
                    "x as u32 as ", "x == ", "return ", "program p {", "async copy(", "trap(1, "));

}  // namespace
}  // namespace vyre::text
