// SPDX-License-Identifier: Apache-2.0
// Every construct of the grammar: read, printed, and read again.
#include <gtest/gtest.h>

#include "text/text_test.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::text {
namespace {

struct Snippet {
  std::string_view source;
  std::string_view printed;  // empty: the same
};

// The lines that print() gives for statements inside `region r`.
std::string print_statements(std::string_view source) {
  const Parsed parsed = parse(around("region r {\n" + std::string(source) + "\n}"), "t");
  EXPECT_EQ(lines_of(parsed.diagnostics), std::vector<std::string>{}) << source;
  const std::string text = print(parsed.program);
  const Parsed again = parse(text, "t");
  EXPECT_EQ(lines_of(again.diagnostics), std::vector<std::string>{}) << text;
  EXPECT_TRUE(again.program == parsed.program) << text;
  EXPECT_EQ(print(again.program), text);
  EXPECT_EQ(format(text, "t").text, text);
  const std::string opening = "  region r {\n";
  const size_t first = text.find(opening) + opening.size();
  std::string body = text.substr(first, text.rfind("  }\n}\n") - first);
  std::string flat;
  for (size_t i = 0; i < body.size();) {
    const size_t end = body.find('\n', i);
    flat += (flat.empty() ? "" : "\n") + body.substr(i + 4, end - i - 4);
    i = end + 1;
  }
  return flat;
}

class Statements : public testing::TestWithParam<Snippet> {};

TEST_P(Statements, ArePrintedAndReadBack) {
  const Snippet& snippet = GetParam();
  EXPECT_EQ(print_statements(snippet.source),
            snippet.printed.empty() ? snippet.source : snippet.printed);
}

INSTANTIATE_TEST_SUITE_P(
    Print, Statements,
    testing::Values(
        Snippet{"let x = 1;", ""}, Snippet{"let x:u32=1;", "let x : u32 = 1;"},
        Snippet{"var x : bool = true;", ""}, Snippet{"var x : f32[16];", ""},
        Snippet{"var x : f32[N * 2];", ""},
        Snippet{"var x:u32[4]={1,N};", "var x : u32[4] = { 1, N };"},
        Snippet{"for i in rev -1 .. 4 step 2 { g(); }", "for i in rev -1 .. 4 step 2 {\n  g();\n}"},
        Snippet{"let rev = 1; for i in rev .. 4 { }", "let rev = 1;\nfor i in rev .. 4 {\n}"},
        Snippet{"for rev in rev 0 .. 4 { for k in rev .. rev + 1 { } }",
                "for rev in rev 0 .. 4 {\n  for k in rev .. rev + 1 {\n  }\n}"},
        Snippet{"var x = 0; x = 1; x <<= 2;", "var x = 0;\nx = 1;\nx <<= 2;"},
        Snippet{"b[0] = 1.0;", ""},
        Snippet{"s[0] += 1; s[0] -= 1; s[0] *= 1; s[0] /= 1; s[0] %= 1; s[0] &= 1; "
                "s[0] |= 1; s[0] ^= 1; s[0] >>= 1;",
                "s[0] += 1;\ns[0] -= 1;\ns[0] *= 1;\ns[0] /= 1;\ns[0] %= 1;\ns[0] &= "
                "1;\ns[0] |= 1;\ns[0] ^= 1;\ns[0] >>= 1;"},
        Snippet{"g();", ""}, Snippet{"f(1, a);", ""}, Snippet{"atomic_add(s[0], 1);", ""},
        Snippet{"if true { g(); }", "if true {\n  g();\n}"},
        Snippet{"if (true) { } else { }", "if true {\n}"},
        Snippet{"if true { } else { g(); }", "if true {\n} else {\n  g();\n}"},
        Snippet{"if true { } else if false { } else { g(); }",
                "if true {\n} else if false {\n} else {\n  g();\n}"},
        Snippet{"if true { } else { if false { } }", "if true {\n} else if false {\n}"},
        Snippet{"for i in 0..4{g();}", "for i in 0 .. 4 {\n  g();\n}"},
        Snippet{"for i in a[0] .. a[1] step N @unroll { }",
                "for i in a[0] .. a[1] step N @unroll {\n}"},
        Snippet{"while true { break; continue; }", "while true {\n  break;\n  continue;\n}"},
        Snippet{"return;", ""}, Snippet{"{ { } }", "{\n  {\n  }\n}"},
        Snippet{"region x { }", "region x {\n}"}, Snippet{"barrier subgroup;", ""},
        Snippet{"barrier workgroup;", ""}, Snippet{"barrier grid;", ""},
        Snippet{"fixpoint max 10 over (b) { }", "fixpoint max 10 over (b) {\n}"},
        Snippet{"fixpoint max(N) over(b,s){}", "fixpoint max N over (b, s) {\n}"},
        Snippet{"async copy(7, s, 0, a, gid.x, 8); wait(7);",
                "async copy(7, s, 0, a, gid.x, 8);\nwait(7);"},
        Snippet{"trap(65535, 1); resume(65535);", "trap(65535, 1);\nresume(65535);"},
        Snippet{"wait(0x10);", "wait(16);"}, Snippet{"all_reduce(b, add);", ""},
        Snippet{"all_reduce(b, max, 3);", ""}, Snippet{"broadcast(b, 0);", ""},
        Snippet{"broadcast(b, N, 1);", ""}, Snippet{"all_gather(a, s);", ""},
        Snippet{"all_gather(a, s, 2);", ""}, Snippet{"reduce_scatter(a, s, xor);", ""},
        Snippet{"reduce_scatter(a, s, min, 1);", ""}, Snippet{"print(\"no argument\");", ""},
        Snippet{"print(\"{} \\\"{:>8.3f}\\\"\\n\",gid.x,1.5);",
                "print(\"{} \\\"{:>8.3f}\\\"\\n\", gid.x, 1.5);"},
        Snippet{"assert(true, \"t\");", ""},
        Snippet{"assert(gid.x<1&&true,\"x = {:#x}\",a[0]);",
                "assert(gid.x < 1 && true, \"x = {:#x}\", a[0]);"},
        Snippet{"let print = 1; let assert = print; print(\"{}\", print + assert);",
                "let print = 1;\nlet assert = print;\nprint(\"{}\", print + assert);"}));

class Expressions : public testing::TestWithParam<Snippet> {};

TEST_P(Expressions, ArePrintedAndReadBack) {
  const Snippet& snippet = GetParam();
  const std::string printed(snippet.printed.empty() ? snippet.source : snippet.printed);
  EXPECT_EQ(print_statements("let x = 1; var y = x; let z = " + std::string(snippet.source) + ";"),
            "let x = 1;\nvar y = x;\nlet z = " + printed + ";");
}

INSTANTIATE_TEST_SUITE_P(
    Print, Expressions,
    testing::Values(
        Snippet{"0", ""}, Snippet{"18446744073709551615", ""}, Snippet{"0xff", "255"},
        Snippet{"0b101u64", "5u64"}, Snippet{"1_000", "1000"}, Snippet{"1f32", ""},
        Snippet{"1.50", "1.5"}, Snippet{"1.0e30", ""}, Snippet{"0.00000001", "1.0e-8"},
        Snippet{"-0.0", ""}, Snippet{"-0", ""}, Snippet{"- 5", "-5"}, Snippet{"-(5)", ""},
        Snippet{"-(-5)", ""}, Snippet{"--5", "-(-5)"}, Snippet{"-(1.5)", ""}, Snippet{"--x", ""},
        Snippet{"!true", ""}, Snippet{"!false", ""}, Snippet{"~-5", ""}, Snippet{"~~x", ""},
        Snippet{"-x as i32", ""}, Snippet{"-(x as i32)", ""}, Snippet{"x as u64 as f32", ""},
        Snippet{"(x + 1) as u64", ""}, Snippet{"x + 1 as u32", ""}, Snippet{"x * y as u32", ""},
        Snippet{"(x * y) as u32", ""}, Snippet{"-5 as u32", ""}, Snippet{"x + y * 2", ""},
        Snippet{"(x + y) * 2", ""}, Snippet{"x - (y - 1)", ""}, Snippet{"(x - y) - 1", "x - y - 1"},
        Snippet{"x - -1", ""}, Snippet{"x - -y", ""}, Snippet{"x / y % 2", ""},
        Snippet{"x / (y % 2)", ""}, Snippet{"x << 1 >> 2", ""}, Snippet{"x << (1 >> 2)", ""},
        Snippet{"x & y ^ 1 | 2", ""}, Snippet{"x & (y ^ (1 | 2))", ""},
        Snippet{"x | y & 1 << 2 + 3 * 4", ""}, Snippet{"x == 1 && y != 2 || x < 3", ""},
        Snippet{"(x == 1) == true", ""}, Snippet{"true == (x < 1)", ""},
        Snippet{"(x < 1) != (y >= 2)", ""}, Snippet{"true || (false || true)", ""},
        Snippet{"(true || false) && true", ""}, Snippet{"x <= 1 || x > 2", ""},
        Snippet{"x | 1 == 2", ""}, Snippet{"x | (1 == 2) as u32", ""}, Snippet{"N", ""},
        Snippet{"T[x]", ""}, Snippet{"a[a[x + 1]]", ""}, Snippet{"len(a)", ""},
        Snippet{"gid.x + lid.y + wid.z", ""}, Snippet{"num_workgroups.x * workgroup_size.y", ""},
        Snippet{"subgroup_lane + subgroup_id + subgroup_size", ""},
        Snippet{"fixpoint_passes()", ""}, Snippet{"fixpoint_converged()", ""},
        Snippet{"bitcast<f32>(x)", ""},
        Snippet{"bitcast < u32 > ( 1.0 ) >> 2", "bitcast<u32>(1.0) >> 2"},
        Snippet{"select(x < 1, x, y)", ""},
        Snippet{"min(x, y) + max(x, y) + clamp(x, 1, 2) + abs(x)", ""},
        Snippet{"fma(1.0, 2.0, 3.0)", ""}, Snippet{"atomic_add(s[x], 1)", ""},
        Snippet{"atomic_add(s[x], 1, relaxed)", "atomic_add(s[x], 1)"},
        Snippet{"atomic_load(s[0], acquire)", ""}, Snippet{"atomic_cas(s[0], 1, 2, acq_rel)", ""},
        Snippet{"atomic_exchange(s[0], x, release)", ""}, Snippet{"subgroup_ballot(true)", ""},
        Snippet{"subgroup_shuffle_up(x, 1)", ""}, Snippet{"subgroup_inclusive_add(x)", ""},
        Snippet{"grid_load(a[0])", ""}, Snippet{"workgroup_load(s[x])", ""},
        Snippet{"f(x + 1, a)", ""}, Snippet{"f(f(1, s), a)", ""},
        Snippet{"f((x), (1 + 2), a)", "f(x, 1 + 2, a)"}));

TEST(Print, EveryBuiltinFunction) {
  std::string source = "let x = 1;\n";
  std::string expected = "let x = 1;";
  const auto add = [&](std::string_view name, std::string_view first, int more) {
    std::string call = fmt::format("{}({}", name, first);
    for (int i = 0; i < more; ++i) call += first.empty() && i == 0 ? "x" : ", x";
    source += call + ");\n";
    expected += "\n" + call + ");";
  };
  for (int i = 0; i < ir::kIntrinsicCount; ++i)
    add(ir::name_of(static_cast<ir::Intrinsic>(i)), "",
        ir::arity_of(static_cast<ir::Intrinsic>(i)));
  for (int i = 0; i < ir::kAtomicCount; ++i)
    add(ir::name_of(static_cast<ir::AtomicOp>(i)), "s[0]",
        ir::arity_of(static_cast<ir::AtomicOp>(i)));
  for (int i = 0; i < ir::kSubgroupOpCount; ++i)
    add(ir::name_of(static_cast<ir::SubgroupOp>(i)), "",
        ir::arity_of(static_cast<ir::SubgroupOp>(i)));
  EXPECT_EQ(print_statements(source), expected);
}

TEST(Print, DeclarationsInTheirOrder) {
  const std::string_view source = R"(program everything {
  out late : u8[] @coalesce(z) @locality(random) @live_out @range(0 .. N * 4) @count(len(early)) @align(64) @binding(3);
  fn twice(x : f32, m : buffer bf16[]) -> f32 { return x * 2.0 + m[0]; }
  require 1 < 2, "before\n\"early\"";
  over len(early), 2, 3;
  in early : i16[];
  const N : u32 = M + 1;
  let v = twice(1.0, early);
  require len(early) > 0, "after";
  uniform u : f16[2];
  inout io : f64[] @locality(streaming);
  writeonly wo : i64[N] @locality(temporal) @coalesce(x);
  shared s : bool[4];
  persistent ps : i8[];
  const M : u32 = 3;
  const T : f32[] = { 1.0, -2.0, 3 };
  workgroup 8, 4, 2;
  fn nothing() { }
}
)";
  const std::string_view expected = R"(program everything {
  workgroup 8, 4, 2;
  over len(early), 2, 3;

  const N : u32 = M + 1;
  const M : u32 = 3;
  const T : f32[] = { 1.0, -2.0, 3 };

  out late : u8[] @binding(3) @align(64) @count(len(early)) @range(0 .. N * 4) @live_out
      @locality(random) @coalesce(z);

  require 1 < 2, "before\n\"early\"";

  in early : i16[];

  require len(early) > 0, "after";

  uniform    u  : f16[2];
  inout      io : f64[] @locality(streaming);
  writeonly  wo : i64[N] @locality(temporal) @coalesce(x);
  shared     s  : bool[4];
  persistent ps : i8[];

  fn twice(x : f32, m : buffer bf16[]) -> f32 {
    return x * 2.0 + m[0];
  }

  fn nothing() {
  }

  region main {
    let v = twice(1.0, early);
  }
}
)";
  const Parsed parsed = parse(source, "t");
  EXPECT_EQ(lines_of(parsed.diagnostics), std::vector<std::string>{});
  EXPECT_EQ(print(parsed.program), expected);
  const Parsed again = parse(expected, "t");
  EXPECT_TRUE(again.program == parsed.program);
  EXPECT_EQ(format(expected, "t").text, expected);
}

TEST(Print, WrapsLooseStatementsInOneRegion) {
  const auto body_of = [](std::string_view statements) {
    const std::string text =
        print(parse(fmt::format("program p {{ workgroup 1; {} }}", statements), "t").program);
    return text.substr(text.find(";\n") + 2);
  };
  EXPECT_EQ(body_of("barrier grid;"), "\n  barrier grid;\n}\n");
  EXPECT_EQ(body_of("region a { } barrier grid; region b { }"),
            "\n  region a {\n  }\n\n  barrier grid;\n\n  region b {\n  }\n}\n");
  EXPECT_EQ(body_of("region a { } let x = 1;"),
            "\n  region main {\n    region a {\n    }\n    let x = 1;\n  }\n}\n");
  EXPECT_EQ(body_of(""), "}\n");
}

TEST(Print, OneExpression) {
  const Parsed parsed =
      parse("program p { workgroup 1; over (1 + 2) * len(a); in a : u32[]; }", "t");
  EXPECT_EQ(print_expr(parsed.program, parsed.program.over[0]), "(1 + 2) * len(a)");
  const Parsed broken = parse("program p { workgroup 1; over 1 + q; }", "t");
  EXPECT_EQ(print_expr(broken.program, broken.program.over[0]), "1 + _");
}

TEST(Print, CutsOffWhatIsTooDeepForTheStack) {
  ir::Program program;
  program.name = "deep";
  ir::ExprId chain = program.add(ir::Expr{ir::IntLiteral{1, false, {}}});
  for (int i = 0; i < 100'000; ++i)
    chain = program.add(ir::Expr{ir::Unary{ir::UnaryOp::BitNot, chain}});
  program.workgroup[0] = chain;
  EXPECT_LT(print(program).size(), 1000u);
  EXPECT_NE(to_json(program).find("too_deep"), std::string::npos);
}

TEST(Parse, KeepsPositions) {
  const Parsed parsed = parse(
      "program p {\n  workgroup 64;\n  in a : u32[];\n  const N : u32 = 1;\n  fn f(q : u32) { }\n  "
      "over 1;\n"
      "  require N < len(a), \"m\";\n  let x = -1 + a[N * 2];\n}\n",
      "file.vyre");
  ASSERT_TRUE(parsed.diagnostics.list().empty());
  const ir::Program& program = parsed.program;
  const auto at = [&](ir::LocId id) {
    const Position position = program.position(id);
    return fmt::format("{}:{}+{}", position.line, position.column, position.length);
  };
  EXPECT_EQ(program.positions.files, std::vector<std::string>{"file.vyre"});
  EXPECT_EQ(at(program.positions.program), "1:9+1");
  EXPECT_EQ(at(program.positions.workgroup), "2:3+9");
  EXPECT_EQ(at(program.loc(ir::BufferId{0})), "3:6+1");
  EXPECT_EQ(at(program.loc(ir::ConstId{0})), "4:9+1");
  EXPECT_EQ(at(program.loc(ir::FnId{0})), "5:6+1");
  EXPECT_EQ(at(program.positions.over), "6:3+4");
  EXPECT_EQ(at(program.loc_of_require(0)), "7:3+7");
  EXPECT_EQ(at(program.loc(program.require_list[0].condition)), "7:13+1");
  EXPECT_EQ(at(program.loc(ir::LocalId{0})), "5:8+1");
  const ir::StmtId region = program.items(program.body)[0];
  const ir::StmtId let = program.items(std::get<ir::Region>(program[region]).body)[0];
  EXPECT_EQ(at(program.loc(region)), "8:3+3");
  EXPECT_EQ(at(program.loc(let)), "8:3+3");
  const ir::Let& node = std::get<ir::Let>(program[let]);
  EXPECT_EQ(at(program.loc(node.local)), "8:7+1");
  EXPECT_EQ(at(program.loc(node.value)), "8:14+1");
  const ir::Binary& sum = std::get<ir::Binary>(program[node.value]);
  EXPECT_EQ(at(program.loc(sum.left)), "8:11+2");
  EXPECT_EQ(at(program.loc(sum.right)), "8:16+1");
  EXPECT_EQ(at(program.loc(std::get<ir::Load>(program[sum.right]).index)), "8:20+1");
}

}  // namespace
}  // namespace vyre::text
