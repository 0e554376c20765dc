// SPDX-License-Identifier: Apache-2.0
#include "check/program_test.hpp"

namespace vyre::check {
namespace {

using ir::Type;

Type type_of_local(std::string_view statements, std::string_view name = "x") {
  const CheckedProgram c = checked(in_program(statements));
  return c.local_types.at(local_named(c.program, name).index()).value();
}

TEST(LiteralTypes, DefaultsWithoutContext) {
  EXPECT_EQ(type_of_local("let x = 1;"), Type::U32);
  EXPECT_EQ(type_of_local("let x = -1;"), Type::I32);
  EXPECT_EQ(type_of_local("let x = 1.5;"), Type::F32);
  EXPECT_EQ(type_of_local("let x = 1u64;"), Type::U64);
  EXPECT_EQ(type_of_local("let x = 2.5f64;"), Type::F64);
  EXPECT_EQ(type_of_local("let x = true;"), Type::Bool);
}

TEST(LiteralTypes, TakeTheTypeOfTheOtherSide) {
  EXPECT_EQ(type_of_local("let x = wide[0] * 2;"), Type::U64);
  EXPECT_EQ(type_of_local("let x = 2 * wide[0];"), Type::U64);
  EXPECT_EQ(type_of_local("let x = (1 + 2) * wide[0];"), Type::U64);
  EXPECT_EQ(type_of_local("let x = reals[0] + 1;"), Type::F32);
  EXPECT_EQ(type_of_local("let x = select(true, 1, wide[0]);"), Type::U64);
  EXPECT_EQ(type_of_local("let x = min(3, iwork[0]);"), Type::I32);
  EXPECT_EQ(type_of_local("let x = clamp(iwork[0], -3, 3);"), Type::I32);
  EXPECT_EQ(type_of_local("var y = 0u64; for i in 0 .. wide[0] { y = i; } let x = y;"), Type::U64);
}

TEST(LiteralTypes, TakeTheTypeOfTheDestination) {
  EXPECT_EQ(type_of_local("let x : u64 = 1 + 2;"), Type::U64);
  EXPECT_EQ(type_of_local("let x : f64 = 0.1;"), Type::F64);
  EXPECT_EQ(errors(in_program("fwork[0] = 1;")), "");
  EXPECT_EQ(errors(in_program("wide[0] = 5000000000;")), "");
  EXPECT_EQ(errors(in_program("iwork[0] = -(5);")), "");
  EXPECT_EQ(errors(in_program("fwork[0] = sqrt(2);")), "");
}

TEST(LiteralTypes, ValuesThatDoNotFit) {
  EXPECT_EQ(errors(in_program("work[0] = 4294967296;")), "V032");
  EXPECT_EQ(errors(in_program("work[0] = 4294967295;")), "");
  EXPECT_EQ(errors(in_program("work[0] = -1;")), "V032");
  EXPECT_EQ(errors(in_program("iwork[0] = -2147483648;")), "");
  EXPECT_EQ(errors(in_program("iwork[0] = -2147483649;")), "V032");
  EXPECT_EQ(errors(in_program("iwork[0] = 2147483648;")), "V032");
  EXPECT_EQ(errors(in_program("fwork[0] = 16777216;")), "");
  EXPECT_EQ(errors(in_program("fwork[0] = 16777217;")), "V032");
  EXPECT_EQ(errors(in_program("fwork[0] = 16777217.0;")), "");
  EXPECT_EQ(errors(in_program("fwork[0] = 1.0e39;")), "V032");
  EXPECT_EQ(errors(in_program("fwork[0] = 1.0e-99;")), "");
  EXPECT_EQ(errors(in_program("let x = work[5000000000];")), "V032");
}

TEST(Types, NoImplicitConversion) {
  EXPECT_EQ(errors(in_program("work[0] = iwork[0];")), "V030");
  EXPECT_EQ(errors(in_program("work[0] = iwork[0] as u32;")), "");
  EXPECT_EQ(errors(in_program("let x = work[0] + iwork[0];")), "V030");
  EXPECT_EQ(errors(in_program("let x = work[0] + 1.5;")), "V030");
  EXPECT_EQ(errors(in_program("let x : bool = 1;")), "V030");
  EXPECT_EQ(errors(in_program("work[0] += reals[0];")), "V030");
}

TEST(Types, OperatorsAndTheirOperands) {
  EXPECT_EQ(errors(in_program("let x = reals[0] % 2.0;")), "V031");
  EXPECT_EQ(errors(in_program("let x = true + false;")), "V031");
  EXPECT_EQ(errors(in_program("let x = true & false; let y = true ^ x; let z = x == y;")), "");
  EXPECT_EQ(errors(in_program("let x = !work[0];")), "V031");
  EXPECT_EQ(errors(in_program("let x = ~reals[0];")), "V031");
  EXPECT_EQ(errors(in_program("let x = -true;")), "V031");
  EXPECT_EQ(errors(in_program("let x = -work[0]; let y = ~iwork[0];")), "");
  EXPECT_EQ(errors(in_program("let x = work[0] << iwork[0]; let y = iwork[0] >> wide[0];")), "");
  EXPECT_EQ(errors(in_program("let x = work[0] << reals[0];")), "V036");
  EXPECT_EQ(errors(in_program("let x = work[0] && true;")), "V031");
  EXPECT_EQ(errors(in_program("let x = true < false;")), "V031");
}

TEST(Types, DivisionByTheLiteralZero) {
  EXPECT_EQ(errors(in_program("let x = work[0] / 0;")), "V035");
  EXPECT_EQ(errors(in_program("let x = work[0] % 0;")), "V035");
  EXPECT_EQ(errors(in_program("work[0] /= 0;")), "V035");
  EXPECT_EQ(errors(in_program("let x = reals[0] / 0.0;")), "");
}

TEST(Types, ConditionsAreBool) {
  EXPECT_EQ(errors(in_program("if work[0] { }")), "V033");
  EXPECT_EQ(errors(in_program("while 1 { }")), "V033");
  EXPECT_EQ(errors(in_program("let x = select(1, 2, 3);")), "V033");
}

TEST(Types, BuiltInFunctions) {
  EXPECT_EQ(errors(in_program("let x = sqrt(work[0]);")), "V031");
  EXPECT_EQ(errors(in_program("let x = popcount(reals[0]);")), "V031");
  EXPECT_EQ(type_of_local("let x = sin(1.0f64);"), Type::F64);
  EXPECT_EQ(type_of_local("let x = atan2(1.0f64, 2.0);"), Type::F64);
  EXPECT_EQ(errors(in_program("let x = hypot(1.0f64, 2.0f32);")), "V030");
  EXPECT_EQ(errors(in_program("let x = round_away(work[0]);")), "V031");
  EXPECT_EQ(errors(in_program("let x = rsqrt(1.0f64) + recip(2.0f64);")), "");
  EXPECT_EQ(type_of_local("let x = is_nan(reals[0]);"), Type::Bool);
  EXPECT_EQ(type_of_local("let x = popcount(wide[0]);"), Type::U64);
  EXPECT_EQ(type_of_local("let x = rotl(work[0], iwork[0]);"), Type::U32);
}

TEST(Types, CastsAndBitcasts) {
  EXPECT_EQ(type_of_local("let x = true as f64;"), Type::F64);
  EXPECT_EQ(type_of_local("let x = reals[0] as bool;"), Type::Bool);
  EXPECT_EQ(errors(in_program("let x = bitcast<f32>(work[0]);")), "");
  EXPECT_EQ(errors(in_program("let x = bitcast<f64>(work[0]);")), "V037");
  EXPECT_EQ(errors(in_program("let x = bitcast<u32>(true);")), "V037");
}

TEST(Types, StepsOfLoops) {
  EXPECT_EQ(errors(in_program("for i in 0 .. 9 step u[0] { work[i] = 1; }")), "");
  EXPECT_EQ(errors(in_program("for i in rev 0 .. 9 step len(data) { work[i] = 1; }")), "");
  EXPECT_EQ(errors(in_program("for i in 0 .. 9 step work[0] { work[i] = 1; }")), "V073");
  EXPECT_EQ(errors(in_program("for i in rev 0 .. 9 step 0 { work[i] = 1; }")), "V048");
  EXPECT_EQ(errors(in_program("for i in 0i32 .. 9 step -2 { work[i] = 1; }")), "V048");
  EXPECT_EQ(errors(in_program("for i in 0i32 .. 9 step u[0] { work[i] = 1; }")), "V030");
}

TEST(Types, ValuesOfArrays) {
  EXPECT_EQ(errors(in_program("var a : i32[3] = {-1, 2}; iwork[0] = a[0];")), "");
  EXPECT_EQ(errors(in_program("var a : u32[2] = {1, 2, 3}; work[0] = a[0];")), "V040");
  EXPECT_EQ(errors(in_program("var a : u32[2] = {1, 2.5}; work[0] = a[0];")), "V030");
  EXPECT_EQ(errors(in_program("var a : u32[2] = {u[0]}; work[0] = a[0];")), "V039");
}

TEST(Types, AtomicsOfSmallAndFloatElements) {
  const std::string_view small =
      "inout b : u8[]; inout h : i16[]; inout d : f64[]; inout q : f16[];";
  const auto found = [&](std::string_view statement) {
    return errors(in_program(statement, small));
  };
  EXPECT_EQ(found("atomic_or(b[0], 256); atomic_and(b[0], 1); atomic_store(b[0], 2);"), "");
  EXPECT_EQ(found("let x = atomic_exchange(h[0], -1) + atomic_add(h[1], 2) + atomic_load(h[2]);"),
            "");
  EXPECT_EQ(found("atomic_xor(b[0], 1);"), "V051");
  EXPECT_EQ(found("atomic_max(h[0], 1);"), "V051");
  EXPECT_EQ(found("atomic_cas(b[0], 1, 2);"), "V051");
  EXPECT_EQ(found("atomic_min(fwork[0], 1.0); atomic_max(d[0], 1.0); atomic_add(d[0], 1.0);"), "");
  EXPECT_EQ(found("atomic_exchange(d[0], 1.0);"), "V051");
  EXPECT_EQ(found("atomic_add(q[0], 1.0);"), "V051");
}

TEST(Types, AtomicsAndOrders) {
  EXPECT_EQ(errors(in_program("atomic_add(work[0], 1, acq_rel); let x = atomic_load(work[0], "
                              "acquire); atomic_store(work[0], 1, release);")),
            "");
  EXPECT_EQ(errors(in_program("let x = atomic_load(work[0], release);")), "V052");
  EXPECT_EQ(errors(in_program("atomic_store(work[0], 1, acquire);")), "V052");
  EXPECT_EQ(errors(in_program("atomic_sub(fwork[0], 1.0);")), "V051");
  EXPECT_EQ(errors(in_program("atomic_add(fwork[0], 1.0);")), "");
  EXPECT_EQ(errors(in_program("atomic_add(data[0], 1);")), "V051");
  EXPECT_EQ(errors(in_program("atomic_add(sink[0], 1);")), "V051");
  EXPECT_EQ(errors(in_program("let x = atomic_store(work[0], 1);")), "V044");
  EXPECT_EQ(errors(in_program("atomic_add(tile[0], 1); atomic_cas(kept[0], 1, 2);")), "");
}

TEST(Types, SubgroupOperations) {
  EXPECT_EQ(type_of_local("let x = subgroup_ballot(work[0] == 1);"), Type::U32);
  EXPECT_EQ(errors(in_program("let x = subgroup_ballot(work[0]);")), "V031");
  EXPECT_EQ(errors(in_program("let x = subgroup_and(reals[0]);")), "V031");
  EXPECT_EQ(errors(in_program("let x = subgroup_shuffle(reals[0], -1);")), "V032");
  EXPECT_EQ(errors(in_program("let x = subgroup_add(reals[0]);")), "");
}

TEST(Types, StatementsWithoutEffect) {
  EXPECT_EQ(errors(in_program("min(1, 2);")), "V044");
  EXPECT_EQ(errors(in_program("let x = f();", "fn f() { }")), "V044");
  EXPECT_EQ(errors(in_program("f();", "fn f() { }")), "");
}

TEST(Types, Assignments) {
  EXPECT_EQ(errors(in_program("let x = 1; x = 2;")), "V045");
  EXPECT_EQ(errors(in_program("var x = 1; x = 2; x <<= 3;")), "");
  EXPECT_EQ(errors(in_program("for i in 0 .. 3 { i = 2; }")), "V045");
  EXPECT_EQ(errors(in_program("f(1);", "fn f(x : u32) { x = 2; }")), "V045");
  EXPECT_EQ(errors(in_program("T[0] = 1;", "const T : u32[] = { 1, 2 };")), "V045");
  EXPECT_EQ(errors(in_program("data[0] = 1;")), "V050");
  EXPECT_EQ(errors(in_program("u[0] = 1;")), "V050");
  EXPECT_EQ(errors(in_program("sink[0] = 1;")), "");
  EXPECT_EQ(errors(in_program("sink[0] += 1;")), "V050");
  EXPECT_EQ(errors(in_program("let x = sink[0];")), "V050");
}

TEST(Types, FunctionsCheckBuffersAtEachCall) {
  const std::string_view put = "fn put(b : buffer u32[], i : u32) { b[i] = 1; }";
  EXPECT_EQ(errors(in_program("put(work, 0); put(tile, 1);", put)), "");
  EXPECT_EQ(errors(in_program("put(work, 0); put(data, 1);", put)), "V050");
  EXPECT_EQ(errors(in_program("put(fwork, 1);", put)), "V030");
  EXPECT_EQ(errors(in_program("put(3, 1);", put)), "V023");
  EXPECT_EQ(errors(in_program("put(work);", put)), "V024");
  EXPECT_EQ(
      errors(in_program(
          "a(work);",
          "fn a(b : buffer u32[]) { c(b); } fn c(b : buffer u32[]) { atomic_add(b[0], 1); }")),
      "");
  EXPECT_EQ(
      errors(in_program(
          "a(data);",
          "fn a(b : buffer u32[]) { c(b); } fn c(b : buffer u32[]) { atomic_add(b[0], 1); }")),
      "V051");
}

TEST(Types, Returns) {
  EXPECT_EQ(errors(in_program("return 1;")), "V043");
  EXPECT_EQ(errors(in_program("let x = f(1);", "fn f(a : u32) -> u32 { if a == 1 { return 2; } }")),
            "V042");
  EXPECT_EQ(
      errors(in_program("let x = f(1);",
                        "fn f(a : u32) -> u32 { if a == 1 { return 2; } else { return 3; } }")),
      "");
  EXPECT_EQ(errors(in_program("let x = f(1);",
                              "fn f(a : u32) -> u32 { while true { if a == 1 { return 2; } } }")),
            "");
  EXPECT_EQ(errors(in_program("let x = f(1);", "fn f(a : u32) -> u32 { while true { break; } }")),
            "V042");
  EXPECT_EQ(errors(in_program("let x = f(1);", "fn f(a : u32) -> u32 { trap(1, a); }")), "");
  EXPECT_EQ(errors(in_program("f(1);", "fn f(a : u32) { return a; }")), "V043");
  EXPECT_EQ(errors(in_program("let x = f();", "fn f() -> u32 { return; }")), "V043");
}

TEST(Types, Recursion) {
  EXPECT_EQ(errors(in_program("f();", "fn f() { f(); }")), "V025");
  EXPECT_EQ(errors(in_program("f();", "fn f() { g(); } fn g() { h(); } fn h() { f(); }")), "V025");
  EXPECT_EQ(errors(in_program("f(); g();", "fn f() { g(); } fn g() { }")), "");
}

TEST(Loops, BoundsStepAndJumps) {
  EXPECT_EQ(errors(in_program("for i in 0 .. 10 step 0 { }")), "V048");
  EXPECT_EQ(errors(in_program("for i in -5 .. 10 step -1 { }")), "V048");
  EXPECT_EQ(errors(in_program("for i in 0 .. 10 step work[0] { }")), "V073");
  EXPECT_EQ(errors(in_program("for i in -5 .. 10 step 2 { }")), "");
  EXPECT_EQ(errors(in_program("for i in 0 .. iwork[0] { let x = work[i]; iwork[1] = i; }")), "");
  EXPECT_EQ(errors(in_program("for i in 0.5 .. 10.5 { }")), "V036");
  EXPECT_EQ(errors(in_program("break;")), "V047");
  EXPECT_EQ(errors(in_program("while true { if work[0] == 1 { continue; } break; }")), "");
  EXPECT_EQ(errors(in_program("for i in 0 .. 3 { fixpoint max 3 over (work) { break; } }")),
            "V047");
}

}  // namespace
}  // namespace vyre::check
