// SPDX-License-Identifier: Apache-2.0
// D-PIPE.9: what a budget permits, and that the library's forms keep within it. vyre_verify_maths
// does the same for every argument.
#include "codegen/approximations.hpp"

#include <bit>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "codegen/codegen.hpp"
#include "codegen/target.hpp"
#include "ir/maths.hpp"
#include "ir/maths_error_test.hpp"
#include "ir/maths_samples_test.hpp"
#include "vyre/text/text.hpp"

namespace vyre::codegen {
namespace {

using namespace ir;

double exact(Intrinsic op, double x) {
  switch (op) {
    case Intrinsic::Recip: return test::recip_of(x);
    case Intrinsic::Rsqrt: return test::recip_of(std::sqrt(x));
    case Intrinsic::Sin: return std::sin(x);
    case Intrinsic::Cos: return std::cos(x);
    default: ADD_FAILURE() << "no reference for " << name_of(op); return 0;
  }
}

TEST(Approximations, KeepWithinTheirBounds) {
  for (const Approximation& row : kHostApproximations) {
    ASSERT_EQ(row.kind, Approximation::Kind::Library);
    const MathsF32 function = native_approximation(row.op);
    ASSERT_NE(function, nullptr) << name_of(row.op);
    const MathsF32 strict = native_maths_f32(row.op);
    bool differs = false;
    for (const float x : test::stratified_f32(300'000)) {
      const float found = function(x, 0);
      const float expected = strict(x, 0);
      EXPECT_LE(test::ulp_error(found, exact(row.op, static_cast<double>(x))), row.ulps)
          << name_of(row.op) << "(" << x << ") = " << found;
      EXPECT_LE(test::steps_between(found, expected), row.ulps)
          << name_of(row.op) << "(" << x << ") = " << found << ", strict " << expected;
      differs = differs || test::steps_between(found, expected) != 0;
    }
    EXPECT_TRUE(differs) << name_of(row.op) << " is the strict function";
  }
}

TEST(Approximations, EveryFormIsThere) {
  for (const TargetDescriptor* const target : targets()) {
    std::set<Intrinsic> seen;
    for (const Approximation& row : target->approximations) {
      EXPECT_TRUE(seen.insert(row.op).second) << "one row for each function";
      EXPECT_GT(row.ulps, 0U) << "with no error it would be the strict function";
      EXPECT_EQ(arity_of(row.op), 1) << "others need samples of pairs";
      if (row.kind != Approximation::Kind::Library) continue;
      EXPECT_TRUE(maths_library().approximation(row.op).valid()) << name_of(row.op);
    }
  }
  for (int i = 0; i < kIntrinsicCount; ++i) {
    const auto op = static_cast<Intrinsic>(i);
    if (native_approximation(op) == nullptr) continue;
    EXPECT_NE(find_approximation(kHostApproximations, op, Type::F32, ~0U), nullptr)
        << name_of(op) << " is used by no target";
  }
}

check::CheckedProgram with(std::string_view value) {
  text::Parsed parsed = text::parse(
      "program p { workgroup 64; inout x : f32[]; inout d : f64[]; " + std::string(value) + " }",
      "test");
  auto checked = check::check_valid(std::move(parsed.program));
  EXPECT_TRUE(checked) << (checked ? "" : to_string(checked.error()));
  return checked ? std::move(*checked) : check::CheckedProgram{};
}

// What does not change the code leaves the budget at what does.
TEST(Approximations, TheEffectiveBudgetIsTheLargestThatIsUsed) {
  const auto ulps = [](device::Format format, std::string_view value, uint32_t budget) {
    return code_choices(format, with(value), budget).ulps;
  };
  using device::Format;
  const std::string_view both = "x[0] = recip(x[1]) + sin(x[2]);";
  EXPECT_EQ(ulps(Format::Object, both, 0), 0U);
  EXPECT_EQ(ulps(Format::Object, both, 1), 1U);
  EXPECT_EQ(ulps(Format::Object, both, 2), 2U);
  EXPECT_EQ(ulps(Format::Object, both, 1000), 2U);
  EXPECT_EQ(ulps(Format::Ptx, both, 1), 0U) << "of the instruction only 2 is documented";
  EXPECT_EQ(ulps(Format::Ptx, "x[0] = exp2(x[1]);", 2), 0U);
  EXPECT_EQ(ulps(Format::Ptx, "x[0] = exp2(x[1]);", 4), 3U);
  EXPECT_EQ(ulps(Format::Object, "x[0] = exp2(x[1]);", 4), 0U);
  EXPECT_EQ(ulps(Format::Object, "d[0] = recip(d[1]);", 4), 0U) << "f64 is always strict";
  EXPECT_EQ(ulps(Format::Object, "x[0] = x[1] * 2.0;", 4), 0U);
  EXPECT_EQ(ulps(Format::Program, both, 4), 0U) << "the interpreter is strict";
}

}  // namespace
}  // namespace vyre::codegen
