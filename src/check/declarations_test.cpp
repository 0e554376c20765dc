// SPDX-License-Identifier: Apache-2.0
#include "check/program_test.hpp"

namespace vyre::check {
namespace {

std::string items(std::string_view text) {
  return errors("program t { workgroup 8; " + std::string(text) + " }");
}

TEST(Buffers, SizesOfOutputs) {
  EXPECT_EQ(items("out o : u32[16];"), "");
  EXPECT_EQ(items("in a : u32[]; out o : u32[] @count(len(a) * 2);"), "");
  EXPECT_EQ(items("out o : u32[];"), "V053");
  EXPECT_EQ(items("writeonly o : u32[];"), "V053");
  EXPECT_EQ(items("inout o : u32[] @live_out;"), "V053");
  EXPECT_EQ(items("inout o : u32[8] @live_out;"), "");
  EXPECT_EQ(items("out o : u32[8] @count(8);"), "V014");
  EXPECT_EQ(items("in o : u32[] @count(8);"), "V014");
  EXPECT_EQ(items("in o : u32[8] @live_out;"), "V014");
}

TEST(Buffers, Counts) {
  EXPECT_EQ(items("shared s : u32[];"), "V041");
  EXPECT_EQ(items("shared s : u32[0];"), "V041");
  EXPECT_EQ(items("in s : u32[0];"), "");
  EXPECT_EQ(items("uniform s : u32[16384];"), "");
  EXPECT_EQ(items("uniform s : u32[16385];"), "V041");
  EXPECT_EQ(items("in s : u32[-1];"), "V041");
  EXPECT_EQ(items("in s : u32[1.5];"), "V036");
  EXPECT_EQ(items("in s : u32[4294967296u64];"), "V041");
  EXPECT_EQ(items("in a : u32[]; in s : u32[len(a)];"), "");
  EXPECT_EQ(items("in a : u32[]; shared s : u32[len(a)];"), "V039");
  EXPECT_EQ(items("const N : u32 = 8; in s : u32[N * 2]; var x : f32[N];"), "");
  EXPECT_EQ(items("var x : f32[256];"), "");
  EXPECT_EQ(items("var x : f32[4097];"), "V041");
  EXPECT_EQ(items("var x : f32[0];"), "V041");
}

TEST(Buffers, Attributes) {
  EXPECT_EQ(items("in a : u32[] @binding(3); in b : u32[] @binding(3);"), "V054");
  EXPECT_EQ(items("in a : u32[] @align(48);"), "V055");
  EXPECT_EQ(items("in a : u32[] @align(0); in b : u32[] @align(64);"), "");
  EXPECT_EQ(items("out a : u32[8] @range(4 .. 16);"), "");
  EXPECT_EQ(items("out a : u32[8] @range(3 .. 16);"), "V056");
  EXPECT_EQ(items("out a : u32[8] @range(16 .. 4);"), "V056");
  EXPECT_EQ(items("in a : u32[8] @range(0 .. 4);"), "V014");
  EXPECT_EQ(items("shared a : u32[8] @binding(1);"), "V014");
}

TEST(Buffers, BindingsAndSlots) {
  // D-BIND.2: bindings 9, 8, 0, 1 keep their numbers; slots count in declaration order.
  const CheckedProgram c = checked(
      "program t { workgroup 8; in a : u32[] @binding(9); out b : u32[4] @binding(8); uniform c : "
      "u32[] @binding(0); inout d : u32[] @binding(1); "
      "in e : u32[]; persistent f : u32[]; shared g : u32[4]; inout h : u32[4] @live_out; a_(); fn "
      "a_() {} }");
  std::vector<int> bindings;
  for (const BufferFacts& b : c.buffers)
    bindings.push_back(b.binding ? static_cast<int>(*b.binding) : -1);
  EXPECT_EQ(bindings, (std::vector<int>{9, 8, 0, 1, 2, 3, -1, 4}));
  std::vector<int> inputs;
  std::vector<int> outputs;
  for (const BufferFacts& b : c.buffers) {
    inputs.push_back(b.input_slot ? static_cast<int>(*b.input_slot) : -1);
    outputs.push_back(b.output_slot ? static_cast<int>(*b.output_slot) : -1);
  }
  EXPECT_EQ(inputs, (std::vector<int>{0, -1, 1, 2, 3, 4, -1, -1}));
  EXPECT_EQ(outputs, (std::vector<int>{-1, 0, -1, 1, -1, -1, -1, 2}));
}

TEST(Buffers, AtMostSixtyFour) {
  std::string many;
  for (int i = 0; i < 64; ++i) many += "in b" + std::to_string(i) + " : u32[]; ";
  EXPECT_EQ(items(many), "");
  EXPECT_EQ(items(many + "shared s : u32[4];"), "");
  EXPECT_EQ(items(many + "in c : u32[];"), "V060");
}

TEST(Headers, Workgroup) {
  EXPECT_EQ(errors("program t { workgroup 0; }"), "V012");
  EXPECT_EQ(errors("program t { workgroup 8, 8, 4; }"), "");
  EXPECT_EQ(errors("program t { workgroup 65536, 65536; }"), "V012");
  EXPECT_EQ(errors("program t { workgroup N; const N : u32 = 32; }"), "");
  EXPECT_EQ(errors("program t { workgroup len(a); in a : u32[]; }"), "V039");
  EXPECT_EQ(errors("program t { }"), "V012");
}

TEST(Headers, Over) {
  EXPECT_EQ(errors("program t { workgroup 8, 8; over len(a); in a : u32[]; }"), "V013");
  EXPECT_EQ(errors("program t { workgroup 8; over len(a), 2; in a : u32[]; }"), "");
  EXPECT_EQ(errors("program t { workgroup 8; over a[0]; in a : u32[]; }"), "V057");
  EXPECT_EQ(errors("program t { workgroup 8; over a[0] / 2; uniform a : u32[]; }"), "");
  EXPECT_EQ(errors("program t { workgroup 8; over a[len(a)]; uniform a : u32[]; }"), "V057");
  EXPECT_EQ(errors("program t { workgroup 8; over gid.x; }"), "V057");
  EXPECT_EQ(errors("program t { workgroup 8; over clamp(len(a), 1, 2); in a : u32[]; }"), "V057");
  EXPECT_EQ(
      errors(
          "program t { workgroup 8; over select(len(a) > 4, max(len(a), 2), 3); in a : u32[]; }"),
      "");
  EXPECT_EQ(errors("program t { workgroup 8; over 1.5; }"), "V036");
}

TEST(HostExpressions, InDeclarationOrder) {
  EXPECT_EQ(items("in a : u32[]; out o : u32[] @count(len(a)); out q : u32[] @count(len(o) + 1);"),
            "");
  EXPECT_EQ(items("out q : u32[] @count(len(o) + 1); in a : u32[]; out o : u32[] @count(len(a));"),
            "V058");
  EXPECT_EQ(items("out q : u32[] @count(len(q));"), "V058");
  EXPECT_EQ(items("require len(o) > 0, \"x\"; in a : u32[]; out o : u32[] @count(len(a));"),
            "V058");
  EXPECT_EQ(items("in a : u32[]; out o : u32[] @count(len(a)); require len(o) > 0, \"x\";"), "");
  EXPECT_EQ(items("require len(a) > 0, \"x\"; in a : u32[];"), "");
  EXPECT_EQ(items("in a : u32[]; require len(a), \"x\";"), "V033");
  EXPECT_EQ(
      errors("program t { workgroup 8; over len(o); out o : u32[] @count(len(a)); in a : u32[]; }"),
      "");
}

TEST(Constants, UseEachOtherInAnyOrder) {
  const CheckedProgram c = checked(
      "program t { workgroup A; const A : u32 = B * 2; const B : u32 = T[1] + 1; const T : u32[] = "
      "{ 3, C }; const C : u32 = 7; }");
  EXPECT_EQ(c.workgroup[0], 16U);
  EXPECT_EQ(items("const A : u32 = B; const B : u32 = A;"), "V039");
  EXPECT_EQ(items("const A : u32 = A;"), "V039");
  EXPECT_EQ(items("const A : u32 = gid.x;"), "V039");
  EXPECT_EQ(items("const A : f32 = sin(1.0);"), "V039");
  EXPECT_EQ(items("const A : u32 = 1.5;"), "V030");
  EXPECT_EQ(items("const A : u32 = -1;"), "V032");
}

TEST(Names, OneMeaningEach) {
  EXPECT_EQ(items("in a : u32[]; const a : u32 = 1;"), "V021");
  EXPECT_EQ(items("in a : u32[]; let a = 1;"), "V021");
  EXPECT_EQ(items("let a = 1; { let a = 2; }"), "V021");
  EXPECT_EQ(items("{ let a = 1; } { let a = 2; } for a in 0 .. 3 { } for a in 0 .. 3 { }"), "");
  EXPECT_EQ(items("in a : u32[]; fn f(a : buffer u32[]) { let b = len(a); } f(a); let b = 1;"), "");
  EXPECT_EQ(items("fn f(a : u32, a : u32) { }"), "V021");
  EXPECT_EQ(items("fn f() { let f = 1; }"), "V021");
  EXPECT_EQ(items("for i in 0 .. 3 { let i = 2; }"), "V021");
  EXPECT_EQ(items("let t = 1;"), "");  // the program's own name is no variable
}

TEST(Limits, StatementsAfterInlining) {
  // 2^17 statements from 17 functions.
  std::string fns = "fn g0() { work(); work(); } fn work() { } ";
  for (int i = 1; i < 17; ++i)
    fns += "fn g" + std::to_string(i) + "() { g" + std::to_string(i - 1) + "(); g" +
           std::to_string(i - 1) + "(); } ";
  EXPECT_EQ(items(fns + "g8();").substr(0, 4), "V061");  // g16 by itself is too large
  EXPECT_EQ(items("fn g() { } g(); g();"), "");
}

TEST(Limits, NestingAfterInlining) {
  std::string fns = "fn g0() { } ";
  for (int i = 1; i < 70; ++i)
    fns += "fn g" + std::to_string(i) + "() { g" + std::to_string(i - 1) + "(); } ";
  EXPECT_EQ(items(fns + "g69();"), "V007");
}

TEST(BarriersInExpressions, WhereTheyMayStand) {
  EXPECT_EQ(
      errors(in_program(
          "let x = grid_load(work[0]); var y = workgroup_load(tile[0]); y = grid_load(work[1]);")),
      "");
  EXPECT_EQ(errors(in_program("let x = grid_load(work[0]) + 1;")), "V046");
  EXPECT_EQ(errors(in_program("if grid_load(work[0]) + 1 == 2 { }")), "");
  EXPECT_EQ(errors(in_program("if grid_load(work[0]) == 1 && data[0] == 1 { }")), "");
  EXPECT_EQ(errors(in_program("if data[0] == 1 && grid_load(work[0]) == 1 { }")), "V046");
  EXPECT_EQ(errors(in_program("if select(true, grid_load(work[0]), 1) == 1 { }")), "V046");
  EXPECT_EQ(errors(in_program("var y = 0; y += grid_load(work[0]);")), "V046");
  EXPECT_EQ(errors(in_program("work[0] = grid_load(work[1]);")), "V046");
  EXPECT_EQ(errors(in_program("for i in 0 .. grid_load(work[1]) { }")), "V046");
  EXPECT_EQ(errors(in_program("let x = f(); f();", "fn f() -> u32 { barrier grid; return 1; }")),
            "");
  EXPECT_EQ(errors(in_program("let x = f() + 1;", "fn f() -> u32 { barrier grid; return 1; }")),
            "V046");
  EXPECT_EQ(errors(in_program("if f() == 1 { }", "fn f() -> u32 { barrier grid; return 1; }")),
            "V046");
  EXPECT_EQ(errors(in_program("let x = f() + 1;", "fn f() -> u32 { barrier subgroup; return 1; }")),
            "");
}

TEST(Fixpoints, Lists) {
  EXPECT_EQ(errors(in_program("fixpoint max 3 over (work, result, sink, kept) { }")), "");
  EXPECT_EQ(errors(in_program("fixpoint max 3 over (data) { }")), "V059");
  EXPECT_EQ(errors(in_program("fixpoint max 3 over (tile) { }")), "V059");
  EXPECT_EQ(errors(in_program("fixpoint max 3 over (work, work) { }")), "V059");
  EXPECT_EQ(errors(in_program("fixpoint max 0 over (work) { }")), "V062");
  EXPECT_EQ(errors(in_program("fixpoint max u[0] over (work) { }")), "");
  EXPECT_EQ(errors(in_program("f(work);",
                              "fn f(b : buffer u32[]) { fixpoint max 2 over (b) { b[0] = 1; } }")),
            "");
  EXPECT_EQ(
      errors(in_program("f(data);", "fn f(b : buffer u32[]) { fixpoint max 2 over (b) { } }")),
      "V059");
  EXPECT_EQ(errors(in_program("f(work);",
                              "fn f(b : buffer u32[]) { fixpoint max 2 over (b) { return; } }")),
            "V043");
}

TEST(Collectives, BuffersAndOperations) {
  EXPECT_EQ(errors(in_program("all_reduce(work, add); broadcast(work, 0); all_gather(data, work); "
                              "reduce_scatter(data, work, xor, 2);")),
            "");
  EXPECT_EQ(errors(in_program("all_reduce(data, add);")), "V063");
  EXPECT_EQ(errors(in_program("all_reduce(tile, add);")), "V063");
  EXPECT_EQ(errors(in_program("all_reduce(fwork, xor);")), "V063");
  EXPECT_EQ(errors(in_program("all_reduce(fwork, min);")), "");
  EXPECT_EQ(errors(in_program("all_gather(work, fwork);")), "V063");
  EXPECT_EQ(errors(in_program("all_gather(work, work);")), "V063");
  EXPECT_EQ(errors(in_program("broadcast(work, data[0]);")), "V039");
}

TEST(Warnings, UnusedAndUnreachable) {
  const auto warned = [](std::string_view text) {
    return codes("program t { workgroup 8; inout b : u32[]; b[0] = 1; " + std::string(text) + " }");
  };
  EXPECT_EQ(warned("let x = 1;"), "V090");
  EXPECT_EQ(warned("let _x = 1;"), "");
  EXPECT_EQ(warned("var x = 1; x = 2;"), "V090");
  EXPECT_EQ(warned("let x = 1; b[1] = x;"), "");
  EXPECT_EQ(warned("const C : u32 = 1;"), "V090");
  EXPECT_EQ(warned("in c : u32[];"), "V090");
  EXPECT_EQ(warned("fn f() { }"), "V090");
  EXPECT_EQ(warned("return; b[1] = 2;"), "V091");
  EXPECT_EQ(warned("while true { break; b[1] = 2; }"), "V091");
  EXPECT_EQ(warned("if b[0] == 1 { return; } b[1] = 2;"), "");
  EXPECT_EQ(warned("if b[0] == 1 { return; } else { return; } b[1] = 2;"), "V091");
  EXPECT_EQ(warned("trap(1, 0); b[1] = 2;"), "V091");
  EXPECT_EQ(warned("trap(1, 0); resume(1); b[1] = 2;"), "");
  EXPECT_EQ(warned("while atomic_load(b[0]) == 0 { }"), "V092");
  EXPECT_EQ(warned("while true { if atomic_load(b[0]) != 0 { break; } }"), "V092");
  EXPECT_EQ(warned("while true { if atomic_load(b[0]) != 0 { break; } atomic_add(b[0], 1); }"), "");
  EXPECT_EQ(warned("while b[0] == 0 { b[1] = 3u32; }"), "");
  EXPECT_EQ(warned("while atomic_exchange(b[0], 1) == 1 { }"), "V092");
  EXPECT_EQ(warned("while atomic_load(b[0]) == 0 { barrier grid; }").substr(0, 4), "V070");
}

}  // namespace
}  // namespace vyre::check
