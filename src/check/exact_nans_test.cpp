// SPDX-License-Identifier: Apache-2.0
#include "vyre/check/exact_nans.hpp"

#include "check/program_test.hpp"

namespace vyre::check {
namespace {

// The outputs that only copies reach, as "o p".
std::string exact_in(std::string_view source) {
  const CheckedProgram program = checked(source);
  const std::vector<bool> all = exact_nans(program);
  EXPECT_EQ(all.size(), program.buffers.size());
  std::string names;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] && program.buffers[i].output_slot)
      names += (names.empty() ? "" : " ") + program.program.buffers[i].name;
  return names;
}

bool is_exact(std::string_view statements, std::string_view items = "") {
  return exact_in(
             "program t {\n  workgroup 32;\n  in a : f32[];\n  in h : f16[];\n"
             "  in w : u32[];\n  out o : f32[] @count(len(a));\n  shared s : f32[32];\n" +
             std::string(items) + "\n  let i = gid.x;\n" + std::string(statements) + "\n}\n") ==
         "o";
}

TEST(ExactNans, CopiesAreExact) {
  EXPECT_TRUE(is_exact("o[i] = a[i];"));
  EXPECT_TRUE(is_exact("o[i] = h[i];"));
  EXPECT_TRUE(is_exact("o[i] = 1.5;"));
  EXPECT_TRUE(is_exact("o[i] = bitcast<f32>(w[i] ^ 0x80000000);"));
  EXPECT_TRUE(is_exact("o[i] = bitcast<f32>(bitcast<u32>(a[i]) + 1);"));
  EXPECT_TRUE(is_exact("o[i] = select(a[i] < 1.0, a[i], h[i]);"));
  EXPECT_TRUE(is_exact("o[i] = subgroup_shuffle(a[i], w[i]);"));
  EXPECT_TRUE(is_exact("o[i] = subgroup_broadcast(a[i], 3);"));
  EXPECT_TRUE(is_exact("let u = grid_load(a[3]); o[i] = u;"));
  EXPECT_TRUE(is_exact("s[lid.x] = a[i]; barrier workgroup; o[i] = s[31 - lid.x];"));
  EXPECT_TRUE(is_exact("var p : f32[4]; p[i % 4] = a[i]; o[i] = p[w[i] % 4];"));
  EXPECT_TRUE(is_exact("var x = a[i]; if w[i] > 3 { x = h[i]; } o[i] = x;"));
  EXPECT_TRUE(is_exact("atomic_exchange(o[i], a[i]);"));
  // No NaN comes of an integer, and which NaN it is shows in no comparison and in no integer.
  EXPECT_TRUE(is_exact("o[i] = w[i] as f32;"));
  EXPECT_TRUE(is_exact("o[i] = bitcast<f32>((a[i] * 2.0) as u32);"));
  EXPECT_TRUE(is_exact("o[i] = select(is_nan(a[i] / a[0]), a[i], h[i]);"));
  EXPECT_TRUE(is_exact("o[i] = select(a[i] + 1.0 == 2.0, a[i], h[i]);"));
  EXPECT_TRUE(
      is_exact("o[i] = pass(a, i);", "fn pass(v : buffer f32[], k : u32) -> f32 { return v[k]; }"));
}

TEST(ExactNans, ArithmeticIsNot) {
  for (const char* const e :
       {"a[i] + 1.0", "-a[i]", "abs(a[i])", "min(a[i], a[0])", "fma(a[i], a[i], a[i])",
        "sqrt(a[i])", "floor(a[i])", "exp(a[i])", "sign(a[i])", "clamp(a[i], 0.0, 1.0)",
        "(a[i] as f64) as f32", "subgroup_add(a[i])", "subgroup_max(a[i])",
        "subgroup_exclusive_add(a[i])", "select(w[i] > 1, a[i], h[i] * 2.0)",
        "bitcast<f32>(bitcast<u32>(a[i] * 2.0))", "bitcast<f32>(bitcast<u32>(a[i] * 2.0) | 1)",
        "subgroup_shuffle(a[i] * 2.0, 1)"})
    EXPECT_FALSE(is_exact("o[i] = " + std::string(e) + ";")) << e;
  EXPECT_FALSE(is_exact("o[i] = a[i]; o[i] += 1.0;"));
  EXPECT_FALSE(is_exact("var x = a[i]; x *= 2.0; o[i] = x;"));
}

TEST(ExactNans, GoByAllWays) {
  // Backwards, so that one sweep in source order does not find it.
  EXPECT_FALSE(
      is_exact("var x = a[i]; var y = a[i]; for k in 0 .. 3 { o[i] = x; x = y; "
               "y = a[i] * 2.0; }"));
  EXPECT_FALSE(is_exact("s[lid.x] = a[i] * 2.0; barrier workgroup; o[i] = s[31 - lid.x];"));
  EXPECT_FALSE(is_exact("var p : f32[4]; p[i % 4] = a[i] * 2.0; o[i] = p[w[i] % 4];"));
  EXPECT_FALSE(is_exact("o[i] = twice(a[i]);", "fn twice(x : f32) -> f32 { return x * 2.0; }"));
  EXPECT_FALSE(is_exact("o[i] = same(a[i] * 2.0);", "fn same(x : f32) -> f32 { return x; }"));
  EXPECT_FALSE(is_exact("put(o, i);", "fn put(v : buffer f32[], k : u32) { v[k] = v[k] * 2.0; }"));
  EXPECT_FALSE(is_exact("if w[i] > 2 { o[i] = h[i] + 1.0; }"));
  EXPECT_FALSE(is_exact("atomic_exchange(o[i], a[i] * 2.0);"));
}

TEST(ExactNans, EachBufferForItself) {
  EXPECT_EQ(exact_in("program t { workgroup 32; in a : f32[]; inout b : f32[]; inout untouched : "
                     "f32[];\n"
                     "out c : bf16[] @count(len(a)); out d : f64[] @count(len(a));\n"
                     "out e : u32[] @count(len(a)); let i = gid.x; b[i] = a[i] * 2.0;\n"
                     "c[i] = a[i]; d[i] = a[i] as f64; e[i] = bitcast<u32>(b[i]); }\n"),
            "untouched c");
}

}  // namespace
}  // namespace vyre::check
