// SPDX-License-Identifier: Apache-2.0
// What reaches ptxas of loops whose variable wraps behind the last iteration. That the loops end is
// for a device to say (test/conformance/programs/wrapping_loops.vyre).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/llvm/nvptx/target.hpp"
#include "vyre/text/text.hpp"

namespace vyre::codegen {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::Not;

// A kernel with the statements in it, which may use `x` and `n`; a subgroup operation in a loop
// keeps LLVM from writing its iterations out.
std::string ptx(std::string_view statements) {
  const std::string source = fmt::format(
      "program p {{ workgroup 32; in x : u32[]; out o : u32[64]; var n = 0; {} o[gid.x] = n; }}",
      statements);
  text::Parsed parsed = text::parse(source, "test");
  EXPECT_FALSE(parsed.diagnostics.has_errors()) << source;
  auto checked = check::check_valid(std::move(parsed.program));
  if (!checked) {
    ADD_FAILURE() << source << to_string(checked.error());
    return {};
  }
  const auto plan = plan::make_plan(*checked, {.variant = {.route = plan::Route::Resident}});
  const auto code = nvptx_code(*plan, {.architecture = "sm_90"}, NvptxListing::Ptx);
  EXPECT_TRUE(code.has_value()) << source;
  return {reinterpret_cast<const char*>(code->data()), code->size()};
}

const auto flips_sign = ContainsRegex("xor\\.b(32|64) [^\n]*0x80000000");
// A relational test against a constant near the end of the type.
const auto tests_the_end =
    ContainsRegex("setp\\.(lt|le|gt|ge)\\.[su](32|64)[^\n]*, (-[0-9]+|2147483[0-9]+|92233[0-9]+);");

class Wraps : public testing::TestWithParam<std::string_view> {};

TEST_P(Wraps, IsTestedInAnotherForm) {
  EXPECT_THAT(ptx(GetParam()), flips_sign);
}

constexpr std::array<std::string_view, 4> kWrapping = {
    "var i = 4294960000; var more = true; "
    "while more { n += subgroup_exclusive_add(x[i & 7]); more = i < 4294967293; i += 2; }",
    "var i = -2147480000i32; var more = true; "
    "while more { n += subgroup_exclusive_add(x[i & 7]); more = i >= -2147483645; i -= 3; }",
    "var i = 5000; var more = true; "
    "while more { n += subgroup_exclusive_add(x[i & 7]); more = i >= 3; i -= 3; }",
    "var i = 18446744073709500000u64; var more = true; while more "
    "{ n += subgroup_exclusive_add(x[i & 7]); more = i < 18446744073709551600u64; i += 100; }",
};
INSTANTIATE_TEST_SUITE_P(Loops, Wraps, testing::ValuesIn(kWrapping));

class Counts : public testing::TestWithParam<std::string_view> {};

TEST_P(Counts, TestsNoEnd) {
  EXPECT_THAT(ptx(GetParam()), AllOf(Not(tests_the_end), Not(flips_sign)));
}

constexpr std::array<std::string_view, 4> kCounting = {
    "for i in 4294960000 .. 4294967295 step 2 { n += subgroup_exclusive_add(x[i % 8]); }",
    "for i in 2147480000i32 .. 2147483647i32 step 2 { n += subgroup_exclusive_add(x[i & 7]); }",
    "for i in 18446744073709500000u64 .. 18446744073709551615u64 step 3 "
    "{ n += subgroup_exclusive_add(x[i & 7]); }",
    "for i in 9223372036854700000i64 .. 9223372036854775807i64 step 2 "
    "{ n += subgroup_exclusive_add(x[i & 7]); }",
};
INSTANTIATE_TEST_SUITE_P(Loops, Counts, testing::ValuesIn(kCounting));

// Bits of a counter, compared as floats: ptxas takes them for the number.
TEST(WrappingTests, BitsOfACounterAreHidden) {
  EXPECT_THAT(ptx("var c = 0; while bitcast<f32>(c) <= 1.5f32 && c < 300 "
                  "{ c += 1; n += subgroup_exclusive_add(x[c & 7]); }"),
              ContainsRegex("xor\\.b32 flipped"));
  EXPECT_THAT(ptx("var c = 0u64; while bitcast<f64>(c) <= 1.5f64 && c < 300 "
                  "{ c += 1; n += subgroup_exclusive_add(x[c & 7]); }"),
              ContainsRegex("xor\\.b64 flipped"));
}

class Stays : public testing::TestWithParam<std::string_view> {};

// Known to fit: the test is the plain one, which ptxas may unroll by.
TEST_P(Stays, IsTestedAsItIs) {
  EXPECT_THAT(ptx(GetParam()), Not(flips_sign));
}

constexpr std::array<std::string_view, 5> kFitting = {
    "for i in 0 .. 64 { n += subgroup_exclusive_add(x[i]); }",
    "for i in 0 .. 1000 step 7 { n += subgroup_exclusive_add(x[i]); }",
    "for i in -500 .. 500 step 3 { n += subgroup_exclusive_add(x[i & 7]); }",
    "for i in 0 .. len(x) { n += x[i]; }",
    "var i = 0; while i < 1000 { n += subgroup_exclusive_add(x[i & 7]); i += 3; }",
};
INSTANTIATE_TEST_SUITE_P(Loops, Stays, testing::ValuesIn(kFitting));

}  // namespace
}  // namespace vyre::codegen
