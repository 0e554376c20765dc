// SPDX-License-Identifier: Apache-2.0
// What statements and expressions mean inside one lane: order of evaluation, loops, functions,
// accesses out of bounds, storage types, the grid and its ids.
#include <cmath>

#include <gmock/gmock.h>

#include "oracle/oracle_test.hpp"

namespace vyre::oracle {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Ran one_lane(std::string_view buffers, std::string_view statements, const Inputs& inputs = {},
             const Options& options = {}) {
  return Ran(grid_program(buffers, statements, 1, 1), inputs, options);
}

TEST(Values, ForLoops) {
  const Ran r = one_lane("out o : u32[16]; out s : i32[8];", R"(
    var n = 0;
    for i in 0 .. 10 step 3 { o[n] = i; n += 1; }
    for i in 5 .. 5 { n = 100; }
    for i in 9 .. 2 { n = 100; }
    for i in 4294967290 .. 4294967295 step 4 { o[n] = i; n += 1; }
    var k = 0;
    for i in -2 .. 2 { s[k] = i; k += 1; }
    for i in 2147483645 .. 2147483647i32 step 5 { s[k] = i; k += 1; }
    o[15] = n;
  )");
  EXPECT_THAT(r.get("o"),
              ElementsAre(0, 3, 6, 9, 4294967290, 4294967294, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6));
  EXPECT_THAT(r.get<int32_t>("s"), ElementsAre(-2, -1, 0, 1, 2147483645, 0, 0, 0));
}

TEST(Values, ReversedLoops) {
  const Ran r = one_lane("out o : u32[16]; out s : i32[8]; out w : i64[4];", R"(
    var n = 0;
    for i in rev 0 .. 10 step 3 { o[n] = i; n += 1; }
    for i in rev 5 .. 5 { n = 100; }
    for i in rev 9 .. 2 { n = 100; }
    for i in rev 4294967290 .. 4294967295 step 4 { o[n] = i; n += 1; if n == 99 { break; } }
    for i in rev 0 .. 4294967295 step 4000000000 { o[n] = i; n += 1; }
    var k = 0;
    for i in rev -2 .. 2 { if i == 0 { continue; } s[k] = i; k += 1; }
    for i in rev -2147483648 .. 2147483647 step 2147483647 { s[k] = i; k += 1; }
    var j = 0;
    for i in rev -9223372036854775808i64 .. 9223372036854775807 step 9223372036854775807 {
      w[j] = i;
      j += 1;
    }
    o[15] = n;
  )");
  EXPECT_THAT(r.get("o"), ElementsAre(9, 6, 3, 0, 4294967294, 4294967290, 4000000000, 0, 0, 0, 0, 0,
                                      0, 0, 0, 8));
  EXPECT_THAT(r.get<int32_t>("s"), ElementsAre(1, -1, -2, 2147483646, -1, INT32_MIN, 0, 0));
  EXPECT_THAT(r.get<int64_t>("w"), ElementsAre(INT64_MAX - 1, -1, INT64_MIN, 0));
}

TEST(Values, StepsOfTheRun) {
  const std::string buffers = "in n : u32[2]; in m : i32[1]; out o : u32[8];";
  const std::string loop = R"(
    var k = 0;
    for i in n[0] .. 10 step n[1] { o[k] = i; k += 1; }
    for i in rev n[0] .. 10 step n[1] { o[k] = i; k += 1; }
    for i in 3 .. 3i32 step m[0] { o[7] = 1; }
  )";
  const Bytes negative = data<int32_t>({-1});
  const Ran r = one_lane(buffers, loop, {{"n", data<uint32_t>({1, 4})}, {"m", negative}});
  EXPECT_THAT(r.get("o"), ElementsAre(1, 5, 9, 9, 5, 1, 0, 0));
  const Ran none = one_lane(buffers, loop, {{"n", data<uint32_t>({10, 0})}, {"m", negative}});
  EXPECT_THAT(none.get("o"), Each(0));
  const Ran zero = one_lane(buffers, loop, {{"n", data<uint32_t>({1, 0})}, {"m", negative}});
  EXPECT_THAT(zero.error(), HasSubstr("trapped with tag 65535 and value 0"));
  const Ran taken = one_lane(
      buffers, "if n[0] == 7 { trap(65535, 1); } for i in rev 0 .. 4i32 step m[0] { o[0] = 1; }",
      {{"n", data<uint32_t>({1, 0})}, {"m", negative}});
  EXPECT_THAT(taken.error(), HasSubstr("trapped with tag 65534 and value 4294967295"));
}

TEST(Values, PrivateArraysStartWithValues) {
  const Ran r = one_lane("out o : u32[8];", R"(
    var at = 0;
    for i in 0 .. 2 {
      var a : u32[3] = {4 + 3, 9};
      for k in 0 .. 3 { o[at] = a[k]; at += 1; a[k] = 100; }
    }
  )");
  EXPECT_THAT(r.get("o"), ElementsAre(7, 9, 0, 7, 9, 0, 0, 0));
}

TEST(Values, BoundsOfAForAreEvaluatedOnce) {
  const Ran r = one_lane("out o : u32[4]; out c : u32[1];", R"(
    for i in atomic_add(c[0], 1) .. atomic_add(c[0], 1) + 3 { o[i] += 1; }
  )");
  EXPECT_THAT(r.get("o"), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(r.get("c"), ElementsAre(2));
}

TEST(Values, BreakContinueAndNestedLoops) {
  const Ran r = one_lane("out o : u32[3];", R"(
    var i = 0;
    while true {
      i += 1;
      if i % 2 == 0 { continue; }
      for j in 0 .. 100 {
        if j > i { break; }
        if j == 1 { continue; }
        o[0] += 1;
      }
      if i > 6 { break; }
      o[1] += i;
    }
    o[2] = i;
  )");
  EXPECT_THAT(r.get("o"), ElementsAre(1 + 3 + 5 + 7, 1 + 3 + 5, 7));
}

TEST(Values, LeftBeforeRightOnceEach) {
  const Ran r = one_lane("out o : u32[8]; out c : u32[1];", R"(
    fn next(c : buffer u32[], weight : u32) -> u32 { return atomic_add(c[0], 1) * weight; }
    o[0] = next(c, 100) + next(c, 10) + next(c, 1);
    o[1] = select(true, next(c, 1), next(c, 1));
    o[2] = next(c, 1);
    o[next(c, 1) - 3] = next(c, 1);
    o[4] += next(c, 10) + 1;
  )");
  // The last: the element is loaded before the right side is evaluated.
  EXPECT_THAT(r.get("o"), ElementsAre(12, 3, 5, 7, 81, 0, 0, 0));
}

TEST(Values, LazyOperatorsSkipTheRightSide) {
  const Ran r = one_lane("out o : u32[4]; out c : u32[1];", R"(
    if false && atomic_add(c[0], 1) == 0 { o[0] = 1; }
    if true || atomic_add(c[0], 1) == 0 { o[1] = 1; }
    if true && atomic_add(c[0], 10) == 0 { o[2] = 1; }
    if false || atomic_add(c[0], 100) == 10 { o[3] = 1; }
  )");
  EXPECT_THAT(r.get("o"), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(r.get("c"), ElementsAre(110));
}

TEST(Values, FunctionsNestAndReturnEarly) {
  const Ran r = one_lane("out o : u32[4];", R"(
    fn twice(x : u32) -> u32 { return x * 2; }
    fn pick(x : u32) -> u32 {
      for i in 0 .. 10 { if i == x { return 100 + twice(i); } }
      return twice(twice(x));
    }
    fn put(b : buffer u32[], at : u32, v : u32) { if at > 3 { return; } b[at] = v; }
    put(o, 0, twice(twice(twice(1))));
    put(o, 1, pick(3) + pick(20));
    put(o, 9, 1);
    put(o, 2, pick(pick(0)));
  )");
  EXPECT_THAT(r.get("o"), ElementsAre(8, 186, 400, 0));
}

TEST(Values, PrivateArraysAreZeroedAtEachDeclaration) {
  const Ran r = one_lane("out o : u32[4]; out h : f64[2];", R"(
    for t in 0 .. 2 {
      var a : u32[5];
      a[t] = t + 1;
      o[t] = a[0] + a[1] * 10 + a[5];
    }
    var d : f64[2];
    var b : bool[3];
    d[1] = 2.5;
    b[2] = true;
    h[0] = d[1];
    if b[2] && !b[1] { h[1] = 1.0; }
  )");
  EXPECT_THAT(r.get("o"), ElementsAre(1, 20, 0, 0));
  EXPECT_THAT(r.get<double>("h"), ElementsAre(2.5, 1.0));
}

TEST(Values, StorageTypesWidenAndNarrow) {
  const Ran r = one_lane(
      "inout a : u8[4]; inout b : i16[2]; inout h : f16[2]; inout g : bf16[1]; inout t : bool[2];"
      "out o : i32[4];",
      R"(
    a[0] += 250;
    a[3] = 511;
    b[0] = b[1] - 1;
    h[0] = h[1] * 3.0 + 0.0001;
    g[0] = 1.00390625 + 0.0000001;
    t[1] = t[0];
    o[0] = b[0];
    o[1] = a[0] as i32;
  )",
      {{"a", data<uint8_t>({10, 2, 3, 4})},
       {"b", data<int16_t>({5, -32768})},
       {"h", data<uint16_t>({0, 0x3C00})},
       {"g", data<uint16_t>({0})},
       {"t", words({7, 0})}});
  EXPECT_THAT(r.get<uint8_t>("a"), ElementsAre(4, 2, 3, 255));
  EXPECT_THAT(r.get<int16_t>("b"), ElementsAre(32767, -32768));
  EXPECT_THAT(r.get<uint16_t>("h"), ElementsAre(0x4200, 0x3C00));
  EXPECT_THAT(r.get<uint16_t>("g"), ElementsAre(0x3F81));
  EXPECT_THAT(r.get("t"), ElementsAre(7, 1));  // the load is true, the store writes 1
  EXPECT_THAT(r.get<int32_t>("o"), ElementsAre(32767, 4, 0, 0));
}

TEST(Values, NanBitsSurviveMovement) {
  const Ran r = one_lane("inout a : f32[3]; out o : u32[2];", R"(
    a[1] = a[0];
    a[2] = select(true, a[0], 1.0);
    o[0] = bitcast<u32>(a[0]);
    o[1] = bitcast<u32>(-a[0]);
  )",
                         {{"a", words({0x7FA0'0001, 0, 0})}});  // a signalling NaN
  EXPECT_THAT(r.get("a"), Each(0x7FA0'0001U));
  EXPECT_THAT(r.get("o"), ElementsAre(0x7FA0'0001U, 0xFFA0'0001U));
}

TEST(Values, OutOfBoundsIsDefined) {
  const Ran r = one_lane(
      "inout a : u32[2]; shared s : u32[2]; in z : u32[]; in i : i32[2]; in l : u64[2]; out o : "
      "u32[9];",
      R"(
    const T : u32[] = {5, 6};
    var p : u32[2];
    a[2] = 9;
    a[i[0]] = 9;
    a[l[0]] = 9;
    s[2] = 9;
    p[2] = 9;
    o[0] = a[2] + a[i[0]] + a[l[0]] + a[l[1]] + s[2] + p[2] + T[2] + T[i[0]] + z[0];
    o[1] = atomic_add(a[2], 5) + atomic_max(s[7], 5) + atomic_cas(a[i[1]], 0, 1);
    o[2] = len(z);
    a[l[1]] += 3;
    o[3] = T[1] + a[1];
    o[9] = 1;
  )",
      {{"a", words({1, 2})},
       {"z", {}},
       {"i", data<int32_t>({-1, -2147483648})},
       {"l", data<uint64_t>({uint64_t{1} << 32, ~uint64_t{0}})}});
  EXPECT_THAT(r.get("a"), ElementsAre(1, 2));
  EXPECT_THAT(r.get("o"), ElementsAre(0, 0, 0, 8, 0, 0, 0, 0, 0));
}

TEST(Values, CheckedModeNamesTheFirstAccess) {
  const Options checked{.checked = true};
  const Ran r(grid_program("inout a : u32[4];", "let v = gid.x;\nif v >= 5 { a[v] = 1; }\n", 8, 4),
              {{"a", words({0, 0, 0, 0})}}, checked);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.result.error().code, ErrorCode::OutOfBounds);
  EXPECT_THAT(r.result.error().message, HasSubstr("lane 5 accesses `a`[5], which has 4 elements"));
  EXPECT_EQ(r.result.error().at.line, 6U);

  for (const std::string_view access :
       {"o[0] = a[i[0]];", "o[0] = atomic_load(a[i[0]]);", "var p : u32[3]; p[i[0]] = 1;",
        "shared_[i[0]] = 1;", "o[0] = T[i[0]];", "a[i[0]] += 1;"}) {
    const Ran bad = one_lane(
        "const T : u32[] = {1, 2}; inout a : u32[4]; shared shared_ : u32[2]; in i : i32[1]; out o "
        ": u32[1];",
        access, {{"a", words({0, 0, 0, 0})}, {"i", data<int32_t>({-7})}}, checked);
    ASSERT_FALSE(bad.ok()) << access;
    EXPECT_EQ(bad.result.error().code, ErrorCode::OutOfBounds) << access;
    EXPECT_THAT(bad.result.error().message, HasSubstr("[-7]")) << access;
  }
  // In bounds it says nothing.
  EXPECT_TRUE(Ran(grid_program("out o : u32[8];", "o[gid.x] = 1;", 8, 4), {}, checked).ok());
}

TEST(Values, CheckedModeReportsTheFirstPhaseThenTheSmallestLane) {
  for (Options options : all_schedules()) {
    options.checked = true;
    const Ran r(grid_program("inout a : u32[8];", R"(
      if gid.x == 6 { a[100] = 1; }
      if gid.x == 3 { a[200] = 1; }
      a[gid.x] = 5;
      barrier grid;
      if gid.x == 0 { a[300] = 1; }
      a[gid.x] = 6;
    )",
                             8, 4),
                {{"a", data(std::vector<uint32_t>(8, 0))}}, options);
    ASSERT_FALSE(r.ok());
    EXPECT_THAT(r.result.error().message, HasSubstr("lane 3 accesses `a`[200]"));
  }
}

TEST(Values, IdsOfAThreeDimensionalGrid) {
  const Ran r(R"(program p {
    workgroup 2, 3, 1;
    over 4, 3, 2;
    out o : u32[200] ;
    let lane = lid.y * workgroup_size.x + lid.x;
    let w = (wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x;
    o[w * 6 + lane] = gid.x + gid.y * 10 + gid.z * 100 + 1000;
  })",
              {});
  const auto o = r.get("o");
  size_t at = 0;
  for (uint32_t z = 0; z < 2; ++z)
    for (uint32_t wx = 0; wx < 2; ++wx)
      for (uint32_t y = 0; y < 3; ++y)
        for (uint32_t x = 0; x < 2; ++x) EXPECT_EQ(o[at++], wx * 2 + x + y * 10 + z * 100 + 1000);
  EXPECT_EQ(o[at], 0U);
}

TEST(Values, TranscendentalsComeFromTheMathsLibrary) {
  const Ran r =
      one_lane("inout x : f32[4];",
               "x[0] = exp(x[0]); x[1] = sin(x[1]); x[2] = pow(x[2], 0.5); x[3] = recip(x[3]);",
               {{"x", data<float>({1.0F, 1.0F, 2.0F, 0.0F})}});
  const auto x = r.get<float>("x");
  EXPECT_NEAR(x[0], 2.7182817F, 5e-7F);
  EXPECT_NEAR(x[1], 0.84147098F, 1e-7F);
  EXPECT_NEAR(x[2], 1.41421356F, 3e-7F);
  EXPECT_TRUE(std::isinf(x[3]));
}

TEST(Values, RepeatsTheWholeProgramUntilNothingChanges) {
  const std::string text = grid_program("inout n : u32[1]; out o : u32[1];",
                                        "if n[0] < 3 { n[0] += 1; } o[0] += 1;", 1, 1);
  const Ran once(text, {{"n", words({0})}});
  EXPECT_THAT(once.get("n"), ElementsAre(1));
  const Ran some(text, {{"n", words({0})}}, {.iterations = 2});
  EXPECT_THAT(some.get("n"), ElementsAre(2));
  EXPECT_FALSE(some.outcome().converged);
  // An output that keeps growing never settles.
  const Ran all(text, {{"n", words({0})}}, {.iterations = 10});
  EXPECT_THAT(all.get("o"), ElementsAre(10));
  const Ran settled(grid_program("inout n : u32[1];", "if n[0] < 3 { n[0] += 1; }", 1, 1),
                    {{"n", words({0})}}, {.iterations = 10});
  EXPECT_EQ(settled.outcome().iterations, 4U);
  EXPECT_TRUE(settled.outcome().converged);
  EXPECT_THAT(Ran(text, {{"n", words({0})}}, {.iterations = 0}).error(),
              HasSubstr("fixpoint_iterations must be at least 1"));
}

}  // namespace
}  // namespace vyre::oracle
