// SPDX-License-Identifier: Apache-2.0
// The values of the maths functions: samples against functions of higher precision, and tables of
// special values. vyre_verify_maths does the same for every input.
#include "ir/maths.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ir/maths_error_test.hpp"
#include "ir/maths_samples_test.hpp"

namespace vyre::ir {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

// ---- errors

struct Accuracy {
  Intrinsic op;
  double (*exact)(double);
  double bound;  // what vyre_verify_maths finds, rounded up; the language promises 2
};

// clang-format off
const Accuracy kAccuracy[] = {
    {Intrinsic::Exp,   [](double x) { return std::exp(x); }, 0.85},
    {Intrinsic::Exp2,  [](double x) { return std::exp2(x); }, 0.9},
    {Intrinsic::Log,   [](double x) { return std::log(x); }, 0.9},
    {Intrinsic::Log2,  [](double x) { return std::log2(x); }, 1.0},
    {Intrinsic::Sin,   [](double x) { return std::sin(x); }, 0.8},
    {Intrinsic::Cos,   [](double x) { return std::cos(x); }, 0.8},
    {Intrinsic::Tan,   [](double x) { return std::tan(x); }, 1.25},
    {Intrinsic::Asin,  [](double x) { return std::asin(x); }, 0.8},
    {Intrinsic::Acos,  [](double x) { return std::acos(x); }, 0.75},
    {Intrinsic::Atan,  [](double x) { return std::atan(x); }, 1.0},
    {Intrinsic::Sinh,  [](double x) { return std::sinh(x); }, 1.1},
    {Intrinsic::Cosh,  [](double x) { return std::cosh(x); }, 0.9},
    {Intrinsic::Tanh,  [](double x) { return std::tanh(x); }, 1.15},
    {Intrinsic::Rsqrt, [](double x) { return test::recip_of(std::sqrt(x)); }, 0.51},
    {Intrinsic::Recip, [](double x) { return test::recip_of(x); }, 0.76},
};
// clang-format on

class MathsAccuracy : public testing::TestWithParam<Accuracy> {};

TEST_P(MathsAccuracy, StaysWithinItsBound) {
  const auto [op, exact, bound] = GetParam();
  const MathsF32 function = native_maths_f32(op);
  double worst = 0;
  for (const float x : test::stratified_f32(300'000)) {
    const double error = test::ulp_error(function(x, 0), exact(static_cast<double>(x)));
    ASSERT_LE(error, bound) << name_of(op) << "(" << x << ") = " << function(x, 0);
    worst = std::fmax(worst, error);
  }
  // A function that is exact everywhere would be a test that compares with itself.
  EXPECT_GE(worst, 0.49);
}

INSTANTIATE_TEST_SUITE_P(F32, MathsAccuracy, testing::ValuesIn(kAccuracy),
                         [](const auto& info) { return std::string(name_of(info.param.op)); });

void expect_pow(float x, float y) {
  const float found = native_maths_f32(Intrinsic::Pow)(x, y);
  const double exact = std::pow(static_cast<double>(x), static_cast<double>(y));
  EXPECT_LE(test::ulp_error(found, exact), 0.95) << "pow(" << x << ", " << y << ") = " << found;
}

TEST(MathsPow, StaysWithinItsBound) {
  const std::vector<float> special = test::special_f32();
  for (const float x : special)
    for (const float y : special) expect_pow(x, y);
  test::Random random(2);
  for (size_t i = 0; i < 500'000; ++i) {
    float x = 0;
    float y = 0;
    test::pow_arguments(random, i % 8, x, y);
    expect_pow(x, y);
  }
}

TEST(MathsF64Accuracy, StaysWithinItsBound) {
  for (const double x : test::stratified_f64(300'000)) {
    const auto wide = static_cast<long double>(x);
    EXPECT_LE(test::ulp_error(native_maths_f64(Intrinsic::Recip)(x), test::recip_of(wide)), 0.76)
        << x;
    EXPECT_LE(
        test::ulp_error(native_maths_f64(Intrinsic::Rsqrt)(x), test::recip_of(std::sqrt(wide))),
        0.51)
        << x;
  }
}

// ---- special values

struct Case {
  Intrinsic op;
  float x, y, result;
};

void expect_cases(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    const float found = native_maths_f32(c.op)(c.x, c.y);
    const bool same = std::isnan(c.result)
                          ? std::isnan(found)
                          : std::bit_cast<uint32_t>(found) == std::bit_cast<uint32_t>(c.result);
    EXPECT_TRUE(same) << name_of(c.op) << "(" << c.x << ", " << c.y << ") = " << found
                      << ", expected " << c.result;
  }
}

TEST(MathsSpecialValues, NanInNanOut) {
  for (const Accuracy& each : kAccuracy) {
    EXPECT_TRUE(std::isnan(native_maths_f32(each.op)(kNan, 0))) << name_of(each.op);
    EXPECT_TRUE(std::isnan(native_maths_f32(each.op)(-kNan, 0))) << name_of(each.op);
  }
}

TEST(MathsSpecialValues, Exponentials) {
  using enum Intrinsic;
  expect_cases({
      {Exp, 0, 0, 1},
      {Exp, -0.0f, 0, 1},
      {Exp, kInf, 0, kInf},
      {Exp, -kInf, 0, 0},
      {Exp, kMax, 0, kInf},
      {Exp, -kMax, 0, 0},
      {Exp, kTiny, 0, 1},
      {Exp, -kTiny, 0, 1},
      {Exp, 0x1.62e43p6f, 0, kInf},  // just above the largest with a finite result
      {Exp, 0x1.62e42ep6f, 0, 0x1.ffff08p127f},
      {Exp, -103.972084f, 0, 0},
      {Exp, -103.0f, 0, 0x1p-149f},
      {Exp2, 0, 0, 1},
      {Exp2, -0.0f, 0, 1},
      {Exp2, kInf, 0, kInf},
      {Exp2, -kInf, 0, 0},
      {Exp2, 128, 0, kInf},
      {Exp2, 127, 0, 0x1p127f},
      {Exp2, -126, 0, 0x1p-126f},
      {Exp2, -149, 0, kTiny},
      {Exp2, -150, 0, 0},
      {Exp2, -149.5f, 0, kTiny},
      {Exp2, kMax, 0, kInf},
      {Exp2, -kMax, 0, 0},
      {Sinh, 0, 0, 0},
      {Sinh, -0.0f, 0, -0.0f},
      {Sinh, kInf, 0, kInf},
      {Sinh, -kInf, 0, -kInf},
      {Sinh, kMax, 0, kInf},
      {Sinh, -kMax, 0, -kInf},
      {Sinh, kTiny, 0, kTiny},
      {Sinh, -kTiny, 0, -kTiny},
      {Cosh, 0, 0, 1},
      {Cosh, -0.0f, 0, 1},
      {Cosh, kInf, 0, kInf},
      {Cosh, -kInf, 0, kInf},
      {Cosh, kMax, 0, kInf},
      {Cosh, -kMax, 0, kInf},
      {Cosh, kTiny, 0, 1},
      {Tanh, 0, 0, 0},
      {Tanh, -0.0f, 0, -0.0f},
      {Tanh, kInf, 0, 1},
      {Tanh, -kInf, 0, -1},
      {Tanh, kMax, 0, 1},
      {Tanh, -kMax, 0, -1},
      {Tanh, kTiny, 0, kTiny},
      {Tanh, 10, 0, 1},
  });
}

TEST(MathsSpecialValues, Logarithms) {
  using enum Intrinsic;
  for (const Intrinsic op : {Log, Log2})
    expect_cases({{op, 0, 0, -kInf},
                  {op, -0.0f, 0, -kInf},
                  {op, 1, 0, 0},
                  {op, kInf, 0, kInf},
                  {op, -kTiny, 0, kNan},
                  {op, -1, 0, kNan},
                  {op, -kMax, 0, kNan},
                  {op, -kInf, 0, kNan}});
  for (int e = -149; e < 128; ++e)
    expect_cases({{Log2, std::ldexp(1.0f, e), 0, static_cast<float>(e)}});
}

TEST(MathsSpecialValues, Trigonometry) {
  using enum Intrinsic;
  for (const Intrinsic op : {Sin, Tan, Asin, Atan})
    expect_cases({{op, 0, 0, 0},
                  {op, -0.0f, 0, -0.0f},
                  {op, kTiny, 0, kTiny},
                  {op, -kTiny, 0, -kTiny},
                  {op, 0x1p-126f, 0, 0x1p-126f}});
  for (const Intrinsic op : {Sin, Cos, Tan})
    expect_cases({{op, kInf, 0, kNan}, {op, -kInf, 0, kNan}});
  for (const Intrinsic op : {Asin, Acos})
    expect_cases({{op, 0x1.000002p0f, 0, kNan},
                  {op, -0x1.000002p0f, 0, kNan},
                  {op, 2, 0, kNan},
                  {op, kMax, 0, kNan},
                  {op, kInf, 0, kNan},
                  {op, -kInf, 0, kNan}});
  const float pi = 0x1.921fb6p1f;
  expect_cases({
      {Cos, 0, 0, 1},
      {Cos, -0.0f, 0, 1},
      {Cos, kTiny, 0, 1},
      {Asin, 1, 0, pi / 2},
      {Asin, -1, 0, -pi / 2},
      {Acos, 1, 0, 0},
      {Acos, -1, 0, pi},
      {Acos, 0, 0, pi / 2},
      {Acos, -0.0f, 0, pi / 2},
      {Atan, kInf, 0, pi / 2},
      {Atan, -kInf, 0, -pi / 2},
      {Atan, kMax, 0, pi / 2},
      {Atan, 1, 0, pi / 4},
      {Atan, -1, 0, -pi / 4},
      // Near multiples of pi/2, where most digits of the argument cancel.
      {Sin, 0x1.6ac5b2p62f, 0, static_cast<float>(std::sin(0x1.6ac5b2p62))},
      {Cos, 0x1.6ac5b2p62f, 0, static_cast<float>(std::cos(0x1.6ac5b2p62))},
      {Sin, kMax, 0, static_cast<float>(std::sin(static_cast<double>(kMax)))},
      {Cos, kMax, 0, static_cast<float>(std::cos(static_cast<double>(kMax)))},
  });
}

TEST(MathsSpecialValues, RootsAndReciprocals) {
  using enum Intrinsic;
  expect_cases({
      {Rsqrt, 0, 0, kInf},
      {Rsqrt, -0.0f, 0, -kInf},
      {Rsqrt, kInf, 0, 0},
      {Rsqrt, -kInf, 0, kNan},
      {Rsqrt, -1, 0, kNan},
      {Rsqrt, -kTiny, 0, kNan},
      {Rsqrt, 4, 0, 0.5f},
      {Rsqrt, 0x1p-148f, 0, 0x1p74f},
      {Rsqrt, 0x1p126f, 0, 0x1p-63f},
      {Recip, 0, 0, kInf},
      {Recip, -0.0f, 0, -kInf},
      {Recip, kInf, 0, 0},
      {Recip, -kInf, 0, -0.0f},
      {Recip, 1, 0, 1},
      {Recip, -2, 0, -0.5f},
      {Recip, kTiny, 0, kInf},
      {Recip, -kTiny, 0, -kInf},
      {Recip, 0x1p127f, 0, 0x1p-127f},
      {Recip, 0x1p-128f, 0, kInf},
      {Recip, 0x1.000008p-128f, 0, 0x1.fffffp127f},
      {Recip, kMax, 0, 0x1p-128f},
  });
  using Limits = std::numeric_limits<double>;
  const auto bits = [](Intrinsic op, double x) {
    return std::bit_cast<uint64_t>(native_maths_f64(op)(x));
  };
  const auto expected = [](double x) { return std::bit_cast<uint64_t>(x); };
  for (const Intrinsic op : {Rsqrt, Recip}) {
    EXPECT_EQ(bits(op, 0.0), expected(Limits::infinity()));
    EXPECT_EQ(bits(op, -0.0), expected(-Limits::infinity()));
    EXPECT_EQ(bits(op, Limits::infinity()), expected(0.0));
    EXPECT_TRUE(std::isnan(native_maths_f64(op)(Limits::quiet_NaN())));
  }
  EXPECT_EQ(bits(Recip, -Limits::infinity()), expected(-0.0));
  EXPECT_EQ(bits(Recip, Limits::denorm_min()), expected(Limits::infinity()));
  EXPECT_EQ(bits(Recip, 0x1p1023), expected(0x1p-1023));
  EXPECT_EQ(bits(Rsqrt, Limits::denorm_min()), expected(0x1p537));
  EXPECT_TRUE(std::isnan(native_maths_f64(Rsqrt)(-1.0)));
  EXPECT_TRUE(std::isnan(native_maths_f64(Rsqrt)(-Limits::infinity())));
}

TEST(MathsSpecialValues, Pow) {
  using enum Intrinsic;
  for (const float x : {0.0f, -0.0f, 1.0f, -1.0f, 7.5f, -7.5f, kTiny, kMax, kInf, -kInf, kNan})
    expect_cases({{Pow, x, 0, 1}, {Pow, x, -0.0f, 1}, {Pow, 1, x, 1}});
  for (const float y : {0.5f, 1.0f, 2.0f, kInf, -1.0f, kNan}) expect_cases({{Pow, kNan, y, kNan}});
  expect_cases({
      {Pow, 2, kNan, kNan},
      {Pow, -1, kNan, kNan},
      {Pow, 0, kNan, kNan},
      {Pow, kInf, kNan, kNan},
      {Pow, -1, kInf, 1},
      {Pow, -1, -kInf, 1},
      {Pow, 0, 3, 0},
      {Pow, -0.0f, 3, -0.0f},
      {Pow, 0, 2, 0},
      {Pow, -0.0f, 2, 0},
      {Pow, -0.0f, 2.5f, 0},
      {Pow, -0.0f, kInf, 0},
      {Pow, 0, kInf, 0},
      {Pow, 0, -3, kInf},
      {Pow, -0.0f, -3, -kInf},
      {Pow, -0.0f, -2, kInf},
      {Pow, -0.0f, -2.5f, kInf},
      {Pow, -0.0f, -kInf, kInf},
      {Pow, 0, -kInf, kInf},
      {Pow, 0, kTiny, 0},
      {Pow, 0, -kTiny, kInf},
      {Pow, 0.5f, kInf, 0},
      {Pow, -0.5f, kInf, 0},
      {Pow, 0.5f, -kInf, kInf},
      {Pow, 2, kInf, kInf},
      {Pow, -2, kInf, kInf},
      {Pow, 2, -kInf, 0},
      {Pow, -2, -kInf, 0},
      {Pow, kInf, 3, kInf},
      {Pow, kInf, -3, 0},
      {Pow, kInf, kInf, kInf},
      {Pow, kInf, -kInf, 0},
      {Pow, -kInf, 3, -kInf},
      {Pow, -kInf, 2, kInf},
      {Pow, -kInf, 2.5f, kInf},
      {Pow, -kInf, -3, -0.0f},
      {Pow, -kInf, -2, 0},
      {Pow, -kInf, -2.5f, 0},
      {Pow, -2, 3, -8},
      {Pow, -2, 2, 4},
      {Pow, -2, -1, -0.5f},
      {Pow, -2, 0.5f, kNan},
      {Pow, -kTiny, 0.5f, kNan},
      {Pow, -kMax, 1.5f, kNan},
      {Pow, -1, 3, -1},
      {Pow, -1, 4, 1},
      {Pow, -1, 16777215, -1},
      {Pow, -1, 16777216, 1},
      {Pow, -1, 8388609, -1},
      {Pow, -1, 8388607.5f, kNan},
      {Pow, -1, kMax, 1},
      {Pow, -1, 0x1.000002p0f, kNan},
      {Pow, 2, 127, 0x1p127f},
      {Pow, 2, 128, kInf},
      {Pow, 2, -149, kTiny},
      {Pow, 2, -150, 0},
      {Pow, -2, 127, -0x1p127f},
      {Pow, -2, 129, -kInf},
      {Pow, -2, -149, -kTiny},
      {Pow, -2, -151, -0.0f},
      {Pow, kTiny, -1, kInf},
      {Pow, kTiny, 1, kTiny},
      {Pow, 0x1.fffffep-1f, -kMax, kInf},
      {Pow, 0x1.fffffep-1f, kMax, 0},
      {Pow, 0x1.000002p0f, kMax, kInf},
      {Pow, kMax, kMax, kInf},
      {Pow, kMax, -kMax, 0},
      {Pow, kMax, kTiny, 1},
  });
}

}  // namespace
}  // namespace vyre::ir
