// SPDX-License-Identifier: Apache-2.0
// Each error of the text stage: code, place, message; and its right neighbour that passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/text_test.hpp"

namespace vyre::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Case {
  std::string_view statements;  // from line 2 on
  std::string_view expected;    // the only diagnostic
};

class OneError : public testing::TestWithParam<Case> {};

TEST_P(OneError, IsReportedAloneAndInPlace) {
  EXPECT_THAT(errors_of(around(GetParam().statements)), ElementsAre(GetParam().expected))
      << GetParam().statements;
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, OneError,
    testing::Values(
        Case{"let x = ;", "V001 2:9 expected an expression, found `;`"},
        Case{"let x = 1 2;", "V001 2:11 expected an operator or `;`, found the number `2`"},
        Case{"let x = 1\nlet y = x;", "V001 2:10 expected `;` after the number `1`"},
        Case{"let x = (1;", "V001 2:11 expected an operator, `,` or `)`, found `;`"},
        Case{"let x = a[1;", "V001 2:12 expected an operator, `,` or `]`, found `;`"},
        Case{"let = 1;", "V001 2:5 expected the name of a local, found `=`"},
        Case{"let x;", "V001 2:6 expected `=` and a value, found `;`"},
        Case{"var x : u32;", "V001 2:12 expected `=` and a value, found `;`"},
        Case{"let x : uint = 1;", "V001 2:9 expected a type, found `uint`"},
        Case{"let x : f32[4];", "V001 2:1 the array `x` is declared with `let`"},
        Case{"var x : f32[4] = 1;", "V001 2:18 expected `{`, found the number `1`"},
        Case{";", "V001 2:1 a `;` without a statement before it"},
        Case{";;;;", "V001 2:1 a `;` without a statement before it"},
        Case{"1 + 2;", "V001 2:1 expected a statement, found the number `1`"},
        Case{"whlie true { g(); }", "V001 2:1 expected a statement, found `whlie`"},
        Case{"a[0];", "V001 2:5 expected `=` or an operator such as `+=`, found `;`"},
        Case{"N;", "V001 2:2 expected `=`, `[` or `(` after `N`, found `;`"},
        Case{"if true g();", "V001 2:9 expected `{`, found `g`"},
        Case{"if 1 = 2 { g(); }", "V001 2:6 expected `{`, found `=`"},
        Case{"else { g(); }", "V001 2:1 an `else` without an `if` before it"},
        Case{"for i on 0 .. 4 { }", "V001 2:7 expected `in` after the loop variable, found `on`"},
        Case{"for i in 0 { }", "V001 2:12 expected `..` between the bounds of the loop, found `{`"},
        Case{"region { }", "V001 2:8 expected the name of a region, found `{`"},
        Case{"barrier;", "V001 2:8 expected the scope of the barrier, found `;`"},
        Case{"barrier device;", "V001 2:9 expected the scope of the barrier, found `device`"},
        Case{"fixpoint 10 over (b) { }",
             "V001 2:10 expected `max` and the largest number of passes, found the number `10`"},
        Case{"fixpoint max 10 (b) { }",
             "V001 2:17 expected `over` and the watched buffers, found `(`"},
        Case{"fixpoint max 10 over () { }", "V001 2:23 expected the name of a buffer, found `)`"},
        Case{"async copi(1, s, 0, a, 0, 8);",
             "V001 2:7 expected `copy` after `async`, found `copi`"},
        Case{"async copy(1, s, 0, a, 0);",
             "V001 2:25 expected `,` and the number of elements, found `)`"},
        Case{"trap(1);", "V001 2:7 expected `,` and the value that is reported, found `)`"},
        Case{"let x = gid;", "V001 2:9 `gid` lacks its axis"},
        Case{"let x = gid[0];", "V001 2:9 `gid` lacks its axis"},
        Case{"let x = fixpoint_passes;", "V001 2:9 `fixpoint_passes` lacks its parentheses"},
        Case{"let x = u32(1);", "V001 2:9 expected an expression, found `u32`"},
        Case{"let x = bitcast(1);", "V001 2:16 expected `<` and a type after `bitcast`, found `(`"},
        Case{"let x = 1 as;", "V001 2:13 expected a type, found `;`"},
        Case{"let x = min(1, );", "V001 2:16 expected an expression, found `)`"},
        Case{"atomic_add(1, 2);",
             "V001 2:12 expected an element such as `b[i]`, found the number `1`"},
        Case{"let x = a[0][1];", "V001 2:13 expected an operator or `;`, found `[`"},
        Case{"{ const K : u32 = 1; }", "V001 2:3 `const` stands inside a block"},
        Case{"{ fn h() { } }", "V001 2:3 `fn` stands inside a block"},
        Case{"const K = 1;", "V001 2:9 expected `:` and a type, found `=`"},
        Case{"const K : u32[2] = { 1, 2 };",
             "V001 2:15 a size for the table `K`, found the number `2`"},
        Case{"const K : u32 = { 1 };", "V001 2:17 expected a value, found `{`"},
        Case{"const K : u32[] = { };", "V001 2:21 expected an expression, found `}`"},
        Case{"in c : u32;", "V001 2:11 expected `[`, found `;`"},
        Case{"in c u32[];",
             "V001 2:6 expected `:` and an element type after the name of a buffer, found `u32`"},
        Case{"require true;",
             "V001 2:13 expected `,` and a message after the condition, found `;`"},
        Case{"require true, 1;",
             "V001 2:15 expected a string that says what is required, found the number `1`"},
        Case{"fn h(x) { }",
             "V001 2:7 expected `:` and a type after the name of a parameter, found `)`"},
        Case{"fn h(x : u32[]) { }", "V001 2:13 expected `,` or `)`, found `[`"},
        Case{"fn h(x : u32 { }", "V001 2:14 expected an operator, `,` or `)`, found `{`"}));

INSTANTIATE_TEST_SUITE_P(
    Letters, OneError,
    testing::Values(
        Case{"let x = 1 \u00a7 2;",
             "V002 2:11 the character `§` (U+00A7) has no place in a program"},
        Case{"let \u00e9 = 1;", "V002 2:5 the character `é` (U+00E9) has no place in a program"},
        Case{"let x = 12ab;", "V003 2:9 `ab` is glued to the number `12ab`"},
        Case{"let x = .5;", "V003 2:9 the decimal `.5` lacks digits on one side of its point"},
        Case{"require true, \"abc;\ng();", "V004 2:15 the string is not closed on its line"},
        Case{"require true, \"a\\qc\";", "V004 2:17 unknown escape `\\q` in a string"},
        Case{"let x = 1 < 2 < 3;",
             "V010 2:15 comparisons do not chain, but `<` follows a comparison"},
        Case{"let x = 1 == 2 != 3 >= 4;",
             "V010 2:16 comparisons do not chain, but `!=` follows a comparison"},
        Case{"trap(65536, 1);", "V011 2:6 the tag `65536` is not a whole number from 0 to 65535"},
        Case{"trap(-1, 1);", "V011 2:6 the tag `-` is not a whole number from 0 to 65535"},
        Case{"wait(N + 1);", "V011 2:6 the tag `N` is not a whole number from 0 to 65535"},
        Case{"wait(1f32);", "V011 2:6 the tag `1f32` is not a whole number from 0 to 65535"}));

INSTANTIATE_TEST_SUITE_P(
    Headers, OneError,
    testing::Values(
        Case{"workgroup 1;", "V012 2:1 the workgroup size is given twice"},
        Case{"over 1;\nover 2;", "V013 3:1 the `over` clause is given twice"},
        Case{"over 1, 2, 3, 4, 5;", "V013 2:15 `over` has more than 3 axes"},
        Case{"in c : u32[] @bind(1);", "V014 2:15 unknown attribute `@bind`"},
        Case{"in c : u32[] @align(1) @align(2);",
             "V014 2:25 the attribute `@align` of buffer `c` is given twice"},
        Case{"in c : u32[] @align;", "V014 2:15 `@align` needs an argument"},
        Case{"in c : u32[] @live_out(1);", "V014 2:15 `@live_out` takes no argument"},
        Case{"in c : u32[] @range(1);", "V014 2:21 `@range` takes a first and a last byte"},
        Case{"in c : u32[] @range(1, 2);", "V014 2:21 `@range` takes a first and a last byte"},
        Case{"in c : u32[] @align(1, 2);", "V014 2:15 `@align` takes one argument"},
        Case{"in c : u32[] @locality(near);", "V014 2:24 `@locality` does not know `near`"},
        Case{"in c : u32[] @coalesce(w);", "V014 2:24 `@coalesce` does not know `w`"},
        Case{"for i in 0 .. 4 @fast { }", "V014 2:18 a loop has no attribute `fast`"}));

INSTANTIATE_TEST_SUITE_P(
    Names, OneError,
    testing::Values(
        Case{"let x = y;", "V020 2:9 the name `y` is not declared"},
        Case{"let x = y + y * y;", "V020 2:9 the name `y` is not declared"},
        Case{"h(1);", "V020 2:1 the function `h` is not declared"},
        Case{"h(a, s, b[0]);", "V020 2:1 the function `h` is not declared"},
        Case{"c[gid.x] = 1;", "V020 2:1 the name `c` is not declared"},
        Case{"x += 1;", "V020 2:1 the name `x` is not declared"},
        Case{"let x = gdi.x;", "V020 2:9 the name `gdi` is not declared"},
        Case{"let x = x;", "V020 2:9 the name `x` is not declared"},
        Case{"{ let x = 1; }\nlet y = x;", "V020 3:9 the name `x` is not declared"},
        Case{"for i in 0 .. i { }", "V020 2:15 the name `i` is not declared"},
        Case{"fixpoint max 1 over (q) { }", "V020 2:22 the name `q` is not declared"},
        Case{"let max = 1;\nlet y = max + 1;",
             "V022 2:5 `max` is a word of the language and cannot name a local"},
        Case{"var len = 1;\nlen = 2;",
             "V022 2:5 `len` is a word of the language and cannot name a local"},
        Case{"const step : u32 = 1;\nlet y = step;",
             "V022 2:7 `step` is a word of the language and cannot name a constant"},
        Case{"in gid : u32[];\nlet y = gid[0];",
             "V022 2:4 `gid` is a word of the language and cannot name a buffer"},
        Case{"fn grid(x : f32) { }",
             "V022 2:4 `grid` is a word of the language and cannot name a function"},
        Case{"region grid { }",
             "V022 2:8 `grid` is a word of the language and cannot name a region"},
        Case{"a(1);", "V023 2:1 `a` is a buffer and cannot be called"},
        Case{"let x = a;", "V023 2:9 `a` is a buffer and cannot be used as a value"},
        Case{"let x = T + 1;", "V023 2:9 `T` is a constant table and cannot be used as a value"},
        Case{"let x = f;", "V023 2:9 `f` is a function and cannot be used as a value"},
        Case{"let x = N[0];", "V023 2:9 `N` is a constant and cannot be indexed"},
        Case{"let x = 1; let y = x[0];", "V023 2:20 `x` is a local value and cannot be indexed"},
        Case{"let x = 1; x[0] = 1;",
             "V023 2:12 `x` is a local value, but an assignment needs an element of a buffer"},
        Case{"var x : u32[4]; x = 1;",
             "V023 2:17 `x` is a private array and cannot be assigned as a whole"},
        Case{"b = 1;", "V023 2:1 `b` is a buffer and cannot be assigned as a whole"},
        Case{"f = 1;", "V023 2:1 `f` is a function and cannot be assigned"},
        Case{"let x = f(1, T);", "V023 2:14 `T` is a constant table and cannot be used as a value"},
        Case{"let x = min + 1;",
             "V023 2:9 `min` is a built-in function and cannot be used as a value"},
        Case{"min = 1;", "V023 2:1 `min` is a word of the language, not a name"},
        Case{"let x = len(N);", "V023 2:13 `N` is a constant, but `len` takes a buffer"},
        Case{"let x = len(T);", "V023 2:13 `T` is a constant table, but `len` takes a buffer"},
        Case{"let x = gid.w;", "V023 2:13 `gid` has no axis `w`"},
        Case{"let x = subgroup_lane();",
             "V023 2:9 `subgroup_lane` is a value and cannot be called or indexed"},
        Case{"atomic_add(s, 1);",
             "V023 2:12 `s` is a buffer, but `atomic_add` needs an element of a buffer"},
        Case{"let x = grid_load(N);",
             "V023 2:19 `N` is a constant, but `grid_load` needs an element of a buffer"},
        Case{"fixpoint max 1 over (N) { }",
             "V023 2:22 `N` is a constant, but `fixpoint` takes a buffer"},
        Case{"all_reduce(g, add);", "V023 2:12 `g` is a function, but `all_reduce` takes a buffer"},
        Case{"N = 1;", "V045 2:1 the constant `N` cannot be assigned"},
        Case{"gid.x = 1;", "V045 2:1 `gid` cannot be assigned"}));

INSTANTIATE_TEST_SUITE_P(
    Arguments, OneError,
    testing::Values(
        Case{"let x = min(1);", "V024 2:9 `min` takes 2 arguments, 1 given"},
        Case{"let x = abs(1, 2);", "V024 2:9 `abs` takes 1 argument, 2 given"},
        Case{"let x = select();", "V024 2:9 `select` takes 3 arguments, 0 given"},
        Case{"let x = subgroup_shuffle(1);",
             "V024 2:9 `subgroup_shuffle` takes 2 arguments, 1 given"},
        Case{"atomic_add(s[0]);", "V024 2:1 `atomic_add` takes 2 arguments, 1 given"},
        Case{"atomic_add(s[0], 1, 2);", "V024 2:1 `atomic_add` takes 2 arguments, 3 given"},
        Case{"atomic_add();", "V024 2:1 `atomic_add` takes 2 arguments, 0 given"},
        Case{"atomic_add(s[0], relaxed);", "V024 2:1 `atomic_add` takes 2 arguments, 1 given"},
        Case{"let x = atomic_cas(s[0], 1);", "V024 2:9 `atomic_cas` takes 3 arguments, 2 given"},
        Case{"let x = len();", "V024 2:9 `len` takes 1 argument, 0 given"},
        Case{"let x = len(a, b);", "V067 2:16 an axis is a number, not `b`"},
        Case{"let x = fixpoint_passes(1);",
             "V024 2:9 `fixpoint_passes` takes 0 arguments, 1 given"},
        Case{"let x = bitcast<u32>();", "V024 2:9 `bitcast` takes 1 argument, 0 given"},
        Case{"let x = grid_load(a[0], 1);", "V024 2:9 `grid_load` takes 1 argument, 2 given"},
        Case{"all_reduce(b);", "V024 2:1 `all_reduce` takes 2 or 3 arguments, 1 given"},
        Case{"all_gather(a, s, 1, 2);", "V024 2:1 `all_gather` takes 2 or 3 arguments, 4 given"},
        Case{"reduce_scatter(a, s);", "V024 2:1 `reduce_scatter` takes 3 or 4 arguments, 2 given"},
        Case{"broadcast();", "V024 2:1 `broadcast` takes 2 or 3 arguments, 0 given"},
        Case{"all_reduce(b, mul);", "V063 2:15 `all_reduce` does not know the operation `mul`"},
        Case{"atomic_add(s[0], 1, seq_cst);",
             "V052 2:21 `atomic_add` does not know the memory order `seq_cst`"},
        Case{"let x : u8 = 1;", "V034 2:9 the storage type `u8` is used for a value"},
        Case{"let x = 1 as bf16;", "V034 2:14 the storage type `bf16` is used for a value"},
        Case{"let x = bitcast<i16>(1);", "V034 2:17 the storage type `i16` is used for a value"},
        Case{"const K : f16 = 1;", "V034 2:11 the storage type `f16` is used for a value"},
        Case{"fn h(x : u16) { }", "V034 2:10 the storage type `u16` is used for a value"},
        Case{"fn h() -> i8 { return 1; }", "V034 2:11 the storage type `i8` is used for a value"}));

// What the grammar allows next to what it forbids.
TEST(Parse, AcceptsTheNeighboursOfTheErrors) {
  for (const std::string_view good :
       {"wait(0);", "wait(65535u32);", "let x = (1 < 2) == (2 < 3);",
        "in c : u8[] @range(0 .. 8) @align(0);", "let relaxed = 1; atomic_add(s[0], relaxed);",
        "let x = 1; { let y = x; } { let y = x; }", "for i in 0 .. 2 { } for i in 0 .. 2 { }",
        "in x : u32[]; // comment\n", "let x = - 1;", "let add = 1; all_reduce(b, add, 2);",
        "async copy(1, s, 0, a, 0, 8); wait(1);", "fn h(x : buffer f16[]) { }", "return; ",
        "let x = f(1, s);"}) {
    EXPECT_THAT(errors_of(around(good)), IsEmpty()) << good;
  }
}

TEST(Parse, SeesProgramDeclarationsBeforeTheyStand) {
  EXPECT_THAT(
      errors_of("program p { over LATE; let x = late(1) + LATE + TABLE[0] + buf[0]; region r { }\n"
                "fn late(x : u32) -> u32 { return later() + LATE + TABLE[x]; } fn later() -> u32 { "
                "return 1; }\n"
                "const LATE : u32 = EVEN_LATER; const EVEN_LATER : u32 = 1; const TABLE : u32[] = "
                "{ 1 }; in buf : u32[]; workgroup 1; }"),
      IsEmpty());
}

TEST(Parse, SeesLocalsOnlyAfterTheyStand) {
  EXPECT_THAT(
      places_of(around("let x = y;\nlet y = 1;\nlet z = y;\nif true { let w = z; }\nlet v = w;")),
      ElementsAre("V020 2:9", "V020 6:9"));
}

TEST(Parse, ReportsAnUnknownNameOncePerScope) {
  EXPECT_THAT(places_of(around("{\nlet x = q;\nlet y = q;\n{ let z = q; }\n}\nlet x = q;")),
              ElementsAre("V020 3:9", "V020 7:9"));
}

TEST(Parse, FunctionsSeeOnlyTheirParametersAndTheProgramsConstants) {
  const std::string source =
      "program p { workgroup 1; in a : u8[]; const N : u32 = 1;\nlet before = 1;\nfn f(m : buffer "
      "u32[]) -> u32 {\nreturn a[0]\n+ before\n+ after\n+ m[N];\n}\nlet after = 1; }";
  const Parsed parsed = parse(source, "t");
  EXPECT_THAT(lines_of(parsed.diagnostics),
              ElementsAre("V026 4:8 a function does not see the buffer `a` of the program",
                          "V026 5:3 a function does not see the local `before` of the program",
                          "V026 6:3 a function does not see the local `after` of the program"));
  EXPECT_EQ(parsed.diagnostics.list()[0].fix, "pass it as a parameter, `a : buffer u8[]`");
  ASSERT_EQ(parsed.diagnostics.list()[0].notes.size(), 1u);
  EXPECT_EQ(parsed.diagnostics.list()[0].notes[0].at.column, 29u);
}

TEST(Parse, SuggestsNamesInTheFix) {
  const auto fix_of = [](std::string_view statements) {
    const Parsed parsed = parse(around(statements), "t");
    return parsed.diagnostics.list().empty() ? "" : parsed.diagnostics.list()[0].fix;
  };
  EXPECT_EQ(fix_of("let visited = 1; let x = visitd;"), "did you mean `visited`?");
  EXPECT_EQ(fix_of("let x = popcont(1);"), "did you mean `popcount`?");
  EXPECT_EQ(fix_of("let x = elephant;"), "declare it before its use");
  EXPECT_EQ(fix_of("elephant();"), "declare it with `fn`");
  EXPECT_EQ(fix_of("regoin r { }"), "did you mean `region`?");
  EXPECT_EQ(fix_of("let x = u32(1);"), "convert a value with `x as u32`");
  EXPECT_EQ(fix_of("let x : u8 = 1;"), "use `u32`, the type that a load of `u8` gives");
}

TEST(Parse, NotesTheDeclarationOfAMisusedName) {
  const Parsed parsed = parse("program p { workgroup 1;\n  in a : u32[];\n  let x = a + 1; }", "t");
  ASSERT_EQ(parsed.diagnostics.list().size(), 1u);
  ASSERT_EQ(parsed.diagnostics.list()[0].notes.size(), 1u);
  EXPECT_EQ(parsed.diagnostics.list()[0].notes[0].at, (Position{"t", 2, 6, 1}));
}

TEST(Parse, WholeFileErrors) {
  EXPECT_THAT(errors_of(""), ElementsAre("V001 1:1 expected `program`, found the end of the file"));
  EXPECT_THAT(errors_of("hello"), ElementsAre("V001 1:1 expected `program`, found `hello`"));
  EXPECT_THAT(errors_of("progam p { workgroup 1; }"),
              ElementsAre("V001 1:1 expected `program`, found `progam`"));
  EXPECT_THAT(errors_of("program { workgroup 1; }"),
              ElementsAre("V001 1:9 expected the name of a program, found `{`"));
  EXPECT_THAT(
      errors_of("program p workgroup 1; }"),
      ElementsAre("V001 1:11 expected `{` after the name of the program, found `workgroup`"));
  EXPECT_THAT(errors_of("program grid { workgroup 1; }"),
              ElementsAre("V022 1:9 `grid` is a word of the language and cannot name a program"));
  EXPECT_THAT(errors_of("program p { }"),
              ElementsAre("V012 1:9 the program has no workgroup size"));
  EXPECT_THAT(errors_of("program p { workgroup 1, 2, 3, 4; }"),
              ElementsAre("V012 1:32 `workgroup` has more than 3 axes"));
  EXPECT_THAT(errors_of("program p { workgroup 1; } program q { }"),
              ElementsAre("V001 1:28 a second program in one file"));
  EXPECT_THAT(errors_of("program p { workgroup 1; } }"),
              ElementsAre("V001 1:28 unexpected `}` after the end of the program `p`"));
  EXPECT_THAT(errors_of("program p { workgroup 1; } // fine\n"), IsEmpty());
}

template <class Node>
size_t count_of(const ir::Program& p) {
  size_t count = 0;
  for (const ir::Expr& e : p.exprs) count += std::holds_alternative<Node>(e) ? 1 : 0;
  return count;
}

// A function of the program wins; what cannot be called does not hide the built-in function.
TEST(Parse, FunctionsOfTheSecondEditionAreNotReserved) {
  const Parsed own = parse(
      "program hypot { workgroup 1; inout b : f32[];"
      " fn erf(x : f32) -> f32 { return x; } let cbrt = erf(b[0]); erf(cbrt); b[1] = cbrt; }",
      "t");
  EXPECT_THAT(lines_of(own.diagnostics), IsEmpty());
  EXPECT_EQ(count_of<ir::Call>(own.program), 2U);
  EXPECT_EQ(count_of<ir::IntrinsicCall>(own.program), 0U);

  const Parsed both = parse(
      "program cbrt { workgroup 1; inout log10 : f32[]; const erf : f32 = 0.5;"
      " fn f(atan2 : f32) -> f32 { return log10(atan2(atan2, erf)); }"
      " let hypot = hypot(log10[0], erf); log10[1] = f(hypot) + erf(erf); }",
      "t");
  EXPECT_THAT(lines_of(both.diagnostics), IsEmpty());
  EXPECT_EQ(count_of<ir::IntrinsicCall>(both.program), 4U);
  EXPECT_EQ(parse(print(both.program), "t").program, both.program);

  EXPECT_THAT(errors_of(around("b[0] = erf + 1.0;")),
              ElementsAre("V023 2:8 `erf` is a built-in function and cannot be used as a value"));
  EXPECT_THAT(errors_of(around("b[0] = atan2(1.0);")),
              ElementsAre("V024 2:8 `atan2` takes 2 arguments, 1 given"));
}

}  // namespace
}  // namespace vyre::text
