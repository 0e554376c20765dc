// SPDX-License-Identifier: Apache-2.0
// What the text can say the builder can say: both give the same program.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "vyre/vyre.hpp"

namespace vyre {
namespace {

Program parsed(std::string_view source) {
  text::Parsed result = parse(source, "test");
  EXPECT_FALSE(result.diagnostics.has_errors())
      << render_text(result.diagnostics, {{"test", source}});
  return std::move(result.program);
}

std::string text_of(const Result<Program>& program) {
  return program ? print(*program) : to_string(program.error());
}

// What finish() gives is the program of the source.
void expect_program(ProgramBuilder& p, std::string_view source) {
  const Result<Program> built = p.finish();
  const Program expected = parsed(source);
  ASSERT_EQ(text_of(built), print(expected));
  EXPECT_EQ(*built, expected);
  EXPECT_EQ(decode(encode(*built)).value(), expected);
}

TEST(Builder, ScalesABuffer) {
  ProgramBuilder p("scale");
  p.workgroup(256);
  auto a = p.in<u32>("a");
  auto b = p.in<u32>("b");
  auto out = p.out<u32>("o", count(len(a)));
  auto i = let("i", gid.x);
  if_(i < len(out), [&] { out[i] = a[i] * 2u + b[i]; });
  expect_program(p, R"(program scale {
    workgroup 256;
    in a : u32[]; in b : u32[]; out o : u32[] @count(len(a));
    let i = gid.x;
    if i < len(o) { o[i] = a[i] * 2 + b[i]; }
  })");
}

// The function of the same name in README.md.
Result<Program> scale() {
  ProgramBuilder p("scale");
  p.workgroup(256);
  auto a = p.in<f32>("a");
  auto b = p.out<f32>("b", count(len(a)));
  auto i = let("i", gid.x);
  if_(i < len(b), [&] { b[i] = a[i] * 2.5f; });
  return p.finish();  // the program, or every mistake with its C++ line
}

TEST(Builder, BuildsTheExampleOfTheReadme) {
  EXPECT_EQ(
      text_of(scale()),
      print(parsed("program scale { workgroup 256; in a : f32[]; out b : f32[] @count(len(a));"
                   " let i = gid.x; if i < len(b) { b[i] = a[i] * 2.5; } }")));
}

TEST(Builder, DeclaresEverything) {
  ProgramBuilder p("decls");
  p.workgroup(8, 4, 2);
  auto n = p.constant<u32>("N", 4);
  auto scale = p.constant("SCALE", Type::F64, lit<f64>(-2.5));
  auto table = p.table<i32>("T", {1, -2, 3});
  auto a = p.in<u32>("a", binding(3), locality(Locality::Streaming), coalesce(1));
  p.require(len(a) > 0, "a is \"empty\"");
  auto params = p.uniform<f32>("params", elements(16), align(64));
  p.inout<u64>("state", live_out(), count(len(a) * 2));
  p.out("result", Type::F16, count(len(a)), range(0, 64));
  p.writeonly<u8>("trail", elements(1024));
  p.shared<i32>("tile", elements(n * 64));
  p.persistent<boolean>("keep");
  p.over(len(a), n, 1);
  p.require(scale < 1.0, "n");
  region_("r", [&] { let("x", as<f32>(table[1]) + params[0]); });
  expect_program(p, R"(program decls {
    workgroup 8, 4, 2;
    over len(a), N, 1;
    const N : u32 = 4; const SCALE : f64 = -2.5f64; const T : i32[] = { 1, -2, 3 };
    in a : u32[] @binding(3) @locality(streaming) @coalesce(y);
    require len(a) > 0, "a is \"empty\"";
    uniform params : f32[16] @align(64);
    inout state : u64[] @live_out @count(len(a) * 2);
    out result : f16[] @count(len(a)) @range(0 .. 64);
    writeonly trail : u8[1024];
    shared tile : i32[N * 64];
    persistent keep : bool[];
    require SCALE < 1.0, "n";
    region r { let x = (T[1] as f32) + params[0]; }
  })");
}

TEST(Builder, WritesLiterals) {
  ProgramBuilder p("lits");
  p.workgroup(1);
  let("a", 2u);
  let("b", -3);
  let("c", 1.5f);
  let("d", 0.1);
  let("e", lit<u64>(5));
  let("f", true);
  let("g", 0.1f);
  let("h", -0.0);
  let("i", std::numeric_limits<uint64_t>::max());
  let("j", std::numeric_limits<int64_t>::min());
  let("k", std::numeric_limits<float>::infinity());
  let("l", lit<f64>(-std::numeric_limits<double>::infinity()));
  let("m", whole(0, true));
  let("n", decimal("12345678901234567890.123456789e-3", Type::F64));
  let("o", 1e300);
  let("q", std::numeric_limits<float>::denorm_min());
  let("r", lit<f32>(7));
  let("s", 100.0f);
  expect_program(p, R"(program lits { workgroup 1;
    let a = 2; let b = -3; let c = 1.5; let d = 0.1; let e = 5u64; let f = true; let g = 0.1; let h = -0.0;
    let i = 18446744073709551615; let j = -9223372036854775808; let k = bitcast<f32>(0x7f800000u32);
    let l = bitcast<f64>(0xfff0000000000000u64); let m = -0; let n = 12345678901234567.890123456789f64;
    let o = 1.0e300; let q = 1.0e-45; let r = 7f32; let s = 100.0; })");
}

TEST(Builder, WritesOperatorsAndFunctions) {
  ProgramBuilder p("ops");
  p.workgroup(1);
  auto x = let("x", gid.y);
  let("a", (x + 1 - 2 * x / 3 % x) ^ (x | 7) ^ (x & ~x));
  let("b", ((!(x == 1 || (x != 2 && x < 3))) == (x <= 4)) && x > 5 && x >= 6);
  let("c", -x << 2 >> 3);
  let("d", select(x == 0, min(x, 1), max(2, x)));
  let("e", clamp(x, 0, 9) + popcount(x) + mul_hi(x, x) + rotl(x, 3));
  let("f", fma(1.0, 2.0, sqrt(3.0)) + pow(2.0, 0.5) + round(exp2(1.5)));
  let("g", as<i64>(x) + as(Type::I64, bitcast<i32>(x)));
  let("h", subgroup_lane + subgroup_id + subgroup_size + num_workgroups.z + workgroup_size.x +
               lid.x + wid.x);
  let("i", fixpoint_passes());
  let("j", fixpoint_converged());
  let("k", is_nan(as<f32>(x)) || is_inf(1.0));
  expect_program(p, R"(program ops { workgroup 1; let x = gid.y;
    let a = (x + 1 - 2 * x / 3 % x) ^ (x | 7) ^ (x & ~x);
    let b = (!(x == 1 || x != 2 && x < 3) == (x <= 4)) && x > 5 && x >= 6;
    let c = -x << 2 >> 3;
    let d = select(x == 0, min(x, 1), max(2, x));
    let e = clamp(x, 0, 9) + popcount(x) + mul_hi(x, x) + rotl(x, 3);
    let f = fma(1.0, 2.0, sqrt(3.0)) + pow(2.0, 0.5) + round(exp2(1.5));
    let g = (x as i64) + (bitcast<i32>(x) as i64);
    let h = subgroup_lane + subgroup_id + subgroup_size + num_workgroups.z + workgroup_size.x + lid.x + wid.x;
    let i = fixpoint_passes(); let j = fixpoint_converged(); let k = is_nan(x as f32) || is_inf(1.0); })");
}

TEST(Builder, WritesLocalsAndAssignments) {
  ProgramBuilder p("locals");
  p.workgroup(64);
  auto b = p.inout<f32>("b");
  auto x = var("x", 0);
  auto y = var<f32>("y", 0.5);
  auto z = var("z", Type::F32, y);
  auto tmp = private_array<f32>("tmp", 16);
  private_array<u32>("few", 3, {1, 2});
  x = x + 1;
  x += 2;
  x <<= 3;
  y = z;
  z = tmp[x];
  tmp[0] = b[x];
  tmp[1] *= y;
  b[x] -= tmp[1];
  let<f32>("w", b[0]);
  expect_program(p, R"(program locals { workgroup 64; inout b : f32[];
    var x = 0; var y : f32 = 0.5; var z : f32 = y; var tmp : f32[16]; var few : u32[3] = {1, 2};
    x = x + 1; x += 2; x <<= 3; y = z; z = tmp[x]; tmp[0] = b[x]; tmp[1] *= y; b[x] -= tmp[1];
    let w : f32 = b[0]; })");
}

TEST(Builder, WritesControlFlow) {
  ProgramBuilder p("control");
  p.workgroup(64);
  auto b = p.inout<u32>("b");
  auto n = let("n", len(b));
  for_("i", 0, n, [&](Value i) { b[i] = i; });
  for_("i", 0, 8, [&](Value i) { b[i] += 1; }, {.step = 2, .unroll = true});
  for_("i", 0, 8, [&](Value i) { b[i] += 1; }, {.step = n, .reversed = true});
  while_(b[0] < 5, [&] {
    if_(b[1] == 0, [&] { break_(); })
        .else_if_(b[1] == 1, [&] { continue_(); })
        .else_if_(b[1] == 2, [&] { let("q", 1); })
        .else_([&] { return_(); });
  });
  block_([&] { let("m", n); });
  if_(true, [] {});
  region_("named", [&] { barrier_subgroup(); });
  expect_program(p, R"(program control { workgroup 64; inout b : u32[]; let n = len(b);
    for i in 0 .. n { b[i] = i; }
    for i in 0 .. 8 step 2 @unroll { b[i] += 1; }
    for i in rev 0 .. 8 step n { b[i] += 1; }
    while b[0] < 5 {
      if b[1] == 0 { break; } else if b[1] == 1 { continue; } else if b[1] == 2 { let q = 1; } else { return; } }
    { let m = n; }
    if true { }
    region named { barrier subgroup; } })");
}

TEST(Builder, WritesDeviceStatements) {
  ProgramBuilder p("device");
  p.workgroup(64);
  auto a = p.in<u32>("a");
  auto b = p.inout<u32>("b");
  auto c = p.inout<u32>("c");
  auto tile = p.shared<u32>("tile", elements(64));
  region_("load", [&] {
    async_copy(7, tile, 0, a, wid.x * 64, 64);
    wait(7);
    barrier_workgroup();
    trap(3, lid.x);
    resume(3);
  });
  barrier_grid();
  fixpoint_(100, {b, c}, [&] { region_("pass", [&] { atomic_max(b[0], 1); }); });
  all_reduce(b, ReduceOp::Xor, 3);
  all_reduce(b, ReduceOp::Add);
  broadcast(b, 0);
  all_gather(b, c);
  reduce_scatter(c, b, ReduceOp::Max, 1);
  swap_(b, c);
  expect_program(
      p,
      R"(program device { workgroup 64; in a : u32[]; inout b : u32[]; inout c : u32[]; shared tile : u32[64];
    region load { async copy(7, tile, 0, a, wid.x * 64, 64); wait(7); barrier workgroup; trap(3, lid.x); resume(3); }
    barrier grid;
    fixpoint max 100 over (b, c) { region pass { atomic_max(b[0], 1); } }
    all_reduce(b, xor, 3); all_reduce(b, add); broadcast(b, 0); all_gather(b, c); reduce_scatter(c, b, max, 1);
    swap(b, c); })");
}

TEST(Builder, WritesPrintsAndAsserts) {
  ProgramBuilder p("tell");
  p.workgroup(64);
  auto a = p.inout<u32>("a");
  print("start");
  auto x = let("x", a[gid.x]);
  if_(x > 3, [&] { print("{} of {:>8.3f}", x, 1.5); });
  assert_(x < 9, "x = {:#x}, {}", x, gid.x);
  assert_(true, "never");
  a[gid.x] = x + 1;
  expect_program(p, R"(program tell { workgroup 64; inout a : u32[];
    print("start");
    let x = a[gid.x];
    if x > 3 { print("{} of {:>8.3f}", x, 1.5); }
    assert(x < 9, "x = {:#x}, {}", x, gid.x);
    assert(true, "never");
    a[gid.x] = x + 1; })");
}

TEST(Builder, WritesAtomicsAndSubgroupOperations) {
  ProgramBuilder p("effects");
  p.workgroup(64);
  auto b = p.inout<u32>("b");
  atomic_add(b[0], 1);
  atomic_store(b[1], 2, MemoryOrder::Release);
  auto old = let("old", atomic_cas(b[0], 1, 2, MemoryOrder::AcqRel));
  if_(atomic_load(b[old], MemoryOrder::Acquire) == 1, [&] { subgroup_any(true); });
  b[2] = subgroup_shuffle_xor(old, 1) + subgroup_and(old);
  let("g", grid_load(b[0]));
  let("w", workgroup_load(b[0]));
  b[atomic_exchange(b[4], 1)] = atomic_sub(b[5], 1);
  expect_program(p, R"(program effects { workgroup 64; inout b : u32[];
    atomic_add(b[0], 1); atomic_store(b[1], 2, release);
    let old = atomic_cas(b[0], 1, 2, acq_rel);
    if atomic_load(b[old], acquire) == 1 { subgroup_any(true); }
    b[2] = subgroup_shuffle_xor(old, 1) + subgroup_and(old);
    let g = grid_load(b[0]); let w = workgroup_load(b[0]);
    b[atomic_exchange(b[4], 1)] = atomic_sub(b[5], 1); })");
}

TEST(Builder, WritesFunctions) {
  ProgramBuilder p("functions");
  p.workgroup(64);
  auto b = p.inout<f32>("b");
  auto axpy =
      p.fn<f32>("axpy", {"s", "x", "y"},
                [](Param<f32> s, Param<f32> x, BufferParam<f32> y) { return_(s * x + y[0]); });
  auto clear = p.fn("clear", {"y"}, [](BufferParam<f32> y) { y[0] = 0.0; });
  auto twice = p.fn("twice", {param<f32>("v"), buffer_param("d", Type::F32)}, Type::F32,
                    [&](const Params& a) {
                      clear(a.buffer(1));
                      return_(a.value(0) * 2.0);
                    });
  auto now = p.fn<u32>("now", [] { return_(1); });
  b[0] = axpy(2.0, b[1], b);
  clear(b);
  let("r", twice(axpy(1.0, 2.0, b), b));
  b[now()] = 1.0;
  expect_program(p, R"(program functions { workgroup 64; inout b : f32[];
    fn axpy(s : f32, x : f32, y : buffer f32[]) -> f32 { return s * x + y[0]; }
    fn clear(y : buffer f32[]) { y[0] = 0.0; }
    fn twice(v : f32, d : buffer f32[]) -> f32 { clear(d); return v * 2.0; }
    fn now() -> u32 { return 1; }
    b[0] = axpy(2.0, b[1], b); clear(b); let r = twice(axpy(1.0, 2.0, b), b); b[now()] = 1.0; })");
}

TEST(Builder, RepeatsAValueThatIsUsedTwice) {
  ProgramBuilder p("twice");
  p.workgroup(1);
  auto b = p.inout<u32>("b");
  const Value square = b[gid.x] * b[gid.x];
  Value sum = square;
  for (int i = 0; i < 2; ++i) sum = sum + square;
  b[0] = sum;
  b[1] = square;
  expect_program(p, R"(program twice { workgroup 1; inout b : u32[];
    b[0] = b[gid.x] * b[gid.x] + b[gid.x] * b[gid.x] + b[gid.x] * b[gid.x];
    b[1] = b[gid.x] * b[gid.x]; })");
}

TEST(Builder, NamesWhatHasNoName) {
  ProgramBuilder p("names");
  p.workgroup(1);
  auto b = p.inout<u32>("t2");
  auto f = p.fn<u32>("f", [](Param<u32> x) { return_(x); });
  auto x = let(gid.x);
  let("t4", 1);
  auto v = var(2);
  for_(0, 4, [&](Value i) { b[i] = x + v; });
  b[0] = f(1);
  expect_program(p, R"(program names { workgroup 1; inout t2 : u32[];
    fn f(t1 : u32) -> u32 { return t1; }
    let t3 = gid.x; let t4 = 1; var t5 = 2;
    for t6 in 0 .. 4 { t2[t6] = t3 + t5; } t2[0] = f(1); })");
}

TEST(Builder, WrapsTheTopLevelOnlyWhereItMust) {
  ProgramBuilder standing("p");
  standing.workgroup(1);
  barrier_grid();
  region_("r", [] {});
  expect_program(standing, "program p { workgroup 1; barrier grid; region r { } }");
  ProgramBuilder loose("p");
  loose.workgroup(1);
  barrier_grid();
  return_();
  expect_program(loose, "program p { workgroup 1; region main { barrier grid; return; } }");
  ProgramBuilder empty("p");
  empty.workgroup(1);
  expect_program(empty, "program p { workgroup 1; }");
}

TEST(Builder, BuildersNest) {
  ProgramBuilder outer("outer");
  outer.workgroup(1);
  let("a", 1);
  {
    ProgramBuilder inner("inner");
    inner.workgroup(2);
    let("b", 2);
    expect_program(inner, "program inner { workgroup 2; let b = 2; }");
  }
  let("c", 3);
  expect_program(outer, "program outer { workgroup 1; let a = 1; let c = 3; }");
}

TEST(Builder, RecordsWhereThingsStand) {
  ProgramBuilder p("where");
  p.workgroup(1);
  auto b = p.inout<u32>("b");
  const uint32_t first = std::source_location::current().line();
  auto x = let("x", gid.x);
  // clang-format off
  b[x] =
      x * 3;
  // clang-format on
  const Program program = p.finish().value();
  const auto body =
      program.items(std::get<ir::Region>(program[program.items(program.body)[0]]).body);
  ASSERT_EQ(body.size(), 2u);
  EXPECT_EQ(program.position_of(body[0]).line, first + 1);
  EXPECT_EQ(program.position_of(body[1]).line, first + 3);
  EXPECT_EQ(program.position_of(std::get<ir::Store>(program[body[1]]).value).line, first + 4);
  EXPECT_NE(program.position_of(body[0]).file.find("builder_test.cpp"), std::string::npos);
  EXPECT_EQ(program.position_of(ir::BufferId{0}).line, first - 1);
}

}  // namespace
}  // namespace vyre
