// SPDX-License-Identifier: Apache-2.0
#include "check/program_test.hpp"

namespace vyre::check {
namespace {

Level level_of_local(std::string_view statements, std::string_view name = "x",
                     std::string_view items = "") {
  const CheckedProgram c = checked(in_program(statements, items));
  return c.local_levels.at(local_named(c.program, name).index());
}

TEST(Levels, OfBuiltIns) {
  EXPECT_EQ(
      level_of_local("let x = len(work) + num_workgroups.x * workgroup_size.y + subgroup_size;"),
      Level::Grid);
  EXPECT_EQ(level_of_local("let x = fixpoint_passes() + (fixpoint_converged() as u32);"),
            Level::Grid);
  EXPECT_EQ(level_of_local("let x = wid.x;"), Level::Workgroup);
  EXPECT_EQ(level_of_local("let x = subgroup_id;"), Level::Subgroup);
  EXPECT_EQ(level_of_local("let x = gid.x;"), Level::Lane);
  EXPECT_EQ(level_of_local("let x = lid.z;"), Level::Lane);
  EXPECT_EQ(level_of_local("let x = subgroup_lane;"), Level::Lane);
}

TEST(Levels, OfLoads) {
  EXPECT_EQ(level_of_local("let x = data[3];"), Level::Grid);
  EXPECT_EQ(level_of_local("let x = u[wid.x];"), Level::Workgroup);
  EXPECT_EQ(level_of_local("let x = data[gid.x];"), Level::Lane);
  EXPECT_EQ(level_of_local("let x = work[3];"), Level::Lane);
  EXPECT_EQ(level_of_local("let x = tile[3];"), Level::Lane);
  EXPECT_EQ(level_of_local("let x = T[2];", "x", "const T : u32[] = { 1, 2, 3 };"), Level::Grid);
  EXPECT_EQ(level_of_local("let x = grid_load(work[3]);"), Level::Grid);
  EXPECT_EQ(level_of_local("let x = workgroup_load(tile[3]);"), Level::Workgroup);
  EXPECT_EQ(level_of_local("let x = atomic_load(work[3]);"), Level::Lane);
}

TEST(Levels, OfSubgroupResults) {
  EXPECT_EQ(level_of_local("let x = subgroup_add(gid.x);"), Level::Subgroup);
  EXPECT_EQ(level_of_local("let x = subgroup_any(gid.x == 1);"), Level::Subgroup);
  EXPECT_EQ(level_of_local("let x = subgroup_broadcast(gid.x, 0);"), Level::Subgroup);
  EXPECT_EQ(level_of_local("let x = subgroup_shuffle(gid.x, 0);"), Level::Lane);
  EXPECT_EQ(level_of_local("let x = subgroup_inclusive_add(1u32);"), Level::Lane);
}

TEST(Levels, OfVariablesAreTheWorstOfAllAssignments) {
  EXPECT_EQ(level_of_local("var x = 0; x = 1; x += len(work);"), Level::Grid);
  EXPECT_EQ(level_of_local("var x = 0; x = gid.x; x = 0;"), Level::Lane);
  EXPECT_EQ(level_of_local("var x = 0; if wid.x == 1 { x = 1; }"), Level::Workgroup);
  EXPECT_EQ(level_of_local("var x = 0; if gid.x == 1 { x = 1; }"), Level::Lane);
  EXPECT_EQ(level_of_local("var x = 0; var y = 0; for i in 0 .. 3 { x = y; y = gid.x; }"),
            Level::Lane);
  EXPECT_EQ(level_of_local("var x : u32[4]; x[0] = 1; x[1] = len(work);"), Level::Grid);
  EXPECT_EQ(level_of_local("var x : u32[4]; x[gid.x] = 1;"), Level::Lane);
}

TEST(Levels, OfFunctionResults) {
  const std::string_view pick = "fn pick(a : u32) -> u32 { if a > 3 { return 1; } return 2; }";
  EXPECT_EQ(level_of_local("let x = pick(len(work));", "x", pick), Level::Grid);
  EXPECT_EQ(level_of_local("let x = pick(wid.x);", "x", pick), Level::Workgroup);
  EXPECT_EQ(level_of_local("let y = pick(wid.x); let x = pick(1);", "x", pick), Level::Grid);
  EXPECT_EQ(level_of_local("let x = first(data);", "x",
                           "fn first(b : buffer u32[]) -> u32 { return b[0]; }"),
            Level::Grid);
  EXPECT_EQ(level_of_local("let x = first(work);", "x",
                           "fn first(b : buffer u32[]) -> u32 { return b[0]; }"),
            Level::Lane);
}

TEST(Barriers, InUniformFlow) {
  EXPECT_EQ(errors(in_program("if data[0] == 1 { barrier grid; } else { barrier workgroup; }")),
            "");
  EXPECT_EQ(
      errors(in_program(
          "for i in 0 .. data[1] { barrier grid; if i == data[2] { break; } barrier grid; }")),
      "");
  EXPECT_EQ(errors(in_program("while grid_load(work[0]) != 0 { barrier grid; if u[0] == 3 { "
                              "continue; } barrier grid; }")),
            "");
  EXPECT_EQ(errors(in_program("if wid.x == 1 { barrier workgroup; barrier subgroup; }")), "");
  EXPECT_EQ(
      errors(in_program("if subgroup_id == 1 { barrier subgroup; let x = subgroup_add(1u32); }")),
      "");
  EXPECT_EQ(errors(in_program("if gid.x > 3 { return; } barrier grid;")), "");
  EXPECT_EQ(errors(in_program("if gid.x > 3 { trap(1, 2); } barrier grid;")), "");
}

TEST(Barriers, InDivergentFlow) {
  EXPECT_EQ(errors(in_program("if gid.x == 1 { barrier grid; }")), "V070");
  EXPECT_EQ(errors(in_program("if wid.x == 1 { barrier grid; }")), "V070");
  EXPECT_EQ(errors(in_program("if subgroup_id == 1 { barrier workgroup; }")), "V070");
  EXPECT_EQ(errors(in_program("if lid.x == 1 { barrier subgroup; }")), "V070");
  EXPECT_EQ(errors(in_program("for i in 0 .. work[0] { barrier grid; }")), "V070");
  EXPECT_EQ(errors(in_program("while work[0] == 1 { barrier grid; }")), "V070");
  EXPECT_EQ(errors(in_program("while true { barrier grid; if gid.x == 1 { break; } }")), "V070");
  EXPECT_EQ(errors(in_program("while data[0] == 1 { if gid.x == 1 { continue; } barrier grid; }")),
            "V070");
  EXPECT_EQ(errors(in_program("while data[0] == 1 { barrier grid; if gid.x == 1 { continue; } }")),
            "");
  EXPECT_EQ(
      errors(in_program(
          "while data[0] == 1 { while data[1] == 1 { if gid.x == 1 { break; } } barrier grid; }")),
      "");
}

// Each call is judged with its buffers; without a call there is nothing to judge.
TEST(Levels, BuffersOfFunctionsWithoutCalls) {
  const std::string_view next =
      "fn next(b : buffer u32[]) -> u32 { let x = grid_load(b[b[0]]); return x; }";
  EXPECT_EQ(errors(in_program("", next)), "");
  EXPECT_EQ(errors(in_program("let x = next(data);", next)), "");
  EXPECT_EQ(errors(in_program("let x = next(work);", next)), "V073");
}

TEST(Barriers, InFunctions) {
  const std::string_view sync = "fn sync(c : u32) { if c == 1 { barrier grid; } }";
  EXPECT_EQ(errors(in_program("sync(data[0]); sync(1);", sync)), "");
  EXPECT_EQ(errors(in_program("sync(data[0]); sync(gid.x);", sync)), "V070");
  EXPECT_EQ(errors(in_program("if gid.x == 1 { sync(1); }", sync)), "V070");
  EXPECT_EQ(
      errors(in_program("f(gid.x);", "fn f(c : u32) { if c == 1 { return; } barrier grid; }")),
      "V070");
  EXPECT_EQ(errors(in_program("f(gid.x); barrier grid;",
                              "fn f(c : u32) { if c == 1 { return; } work_(c); } fn work_(c : u32) "
                              "{ if c == 2 { return; } }")),
            "");
  EXPECT_EQ(
      errors(in_program("f(gid.x);",
                        "fn f(c : u32) { while true { barrier grid; if c == 1 { return; } } }")),
      "V070");
}

TEST(Barriers, OtherStatementsThatNeedUniformFlow) {
  EXPECT_EQ(errors(in_program("if gid.x == 1 { fixpoint max 3 over (work) { } }")), "V071");
  EXPECT_EQ(errors(in_program("if gid.x == 1 { let x = grid_load(work[0]); }")), "V071");
  EXPECT_EQ(errors(in_program("if lid.x == 1 { let x = workgroup_load(tile[0]); }")), "V071");
  EXPECT_EQ(errors(in_program("if lid.x == 1 { async copy(1, tile, 0, data, 0, 4); wait(1); }")),
            "V071 V071");
  EXPECT_EQ(errors(in_program("if gid.x == 1 { all_reduce(work, add); }")), "V071");
  EXPECT_EQ(errors(in_program("if gid.x == 1 { trap(1, 0); resume(1); }")), "V071");
  EXPECT_EQ(errors(in_program("while grid_load(work[0]) < gid.x { }")), "V071");
}

TEST(Barriers, ValuesThatMustBeUniform) {
  EXPECT_EQ(errors(in_program("let x = grid_load(work[gid.x]);")), "V073");
  EXPECT_EQ(errors(in_program("let x = grid_load(work[wid.x]);")), "V073");
  EXPECT_EQ(errors(in_program("let x = workgroup_load(tile[wid.x]);")), "");
  EXPECT_EQ(errors(in_program("fixpoint max gid.x over (work) { }")), "V073");
  EXPECT_EQ(errors(in_program("async copy(1, tile, 0, data, gid.x, 4); wait(1);")), "V073");
  EXPECT_EQ(errors(in_program("let x = subgroup_broadcast(1u32, subgroup_lane);")), "V073");
}

TEST(Barriers, LazyOperatorsDiverge) {
  EXPECT_EQ(errors(in_program("let x = gid.x == 1 && subgroup_any(true);")), "V072");
  EXPECT_EQ(errors(in_program("let x = data[0] == 1 && subgroup_any(true);")), "");
  EXPECT_EQ(errors(in_program("let x = (gid.x == 1) & subgroup_any(true);")), "");
}

TEST(Barriers, AResumeSplitsVariables) {
  EXPECT_EQ(errors(in_program("var k = 0; if gid.x == 1 { trap(1, 0); } k = 1; resume(1); while k "
                              "< 3 { barrier grid; k += 1; }")),
            "V070");
  EXPECT_EQ(errors(in_program("var k = 0; if gid.x == 1 { trap(1, 0); } resume(1); while k < 3 { "
                              "barrier grid; k += 1; }")),
            "");
  EXPECT_EQ(errors(in_program("if gid.x == 1 { trap(1, 0); } var k = 0; while k < 3 { barrier "
                              "grid; k += 1; } resume(1);")),
            "");
}

TEST(Barriers, TheErrorShowsTheValue) {
  const std::string source = in_program(
      "let v = gid.x;\nvar k = 0;\nif v < 3 {\n  k = 1;\n}\nwhile k < 3 {\n  barrier grid;\n}");
  text::Parsed parsed = text::parse(source, "t");
  const Checked result = check(std::move(parsed.program));
  ASSERT_EQ(result.diagnostics.errors(), 1U);
  const Diagnostic& d = result.diagnostics.list().front();
  EXPECT_EQ(d.at.line, 22U);
  std::vector<uint32_t> lines;
  for (const Note& note : d.notes) lines.push_back(note.at.line);
  // k in the condition, its assignment, v in the branch around it, gid in v.
  EXPECT_EQ(lines, (std::vector<uint32_t>{21, 19, 18, 16}));
  EXPECT_NE(d.notes.back().message.find("gid"), std::string::npos);
}

}  // namespace
}  // namespace vyre::check
