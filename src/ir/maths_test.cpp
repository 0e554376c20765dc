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
    {Intrinsic::Log,   [](double x) { return std::log(x); }, 0.95},
    {Intrinsic::Log2,  [](double x) { return std::log2(x); }, 1.0},
    {Intrinsic::Sin,   [](double x) { return std::sin(x); }, 0.8},
    {Intrinsic::Cos,   [](double x) { return std::cos(x); }, 0.8},
    {Intrinsic::Tan,   [](double x) { return std::tan(x); }, 1.25},
    {Intrinsic::Asin,  [](double x) { return std::asin(x); }, 0.8},
    {Intrinsic::Acos,  [](double x) { return std::acos(x); }, 0.75},
    {Intrinsic::Atan,  [](double x) { return std::atan(x); }, 1.05},
    {Intrinsic::Sinh,  [](double x) { return std::sinh(x); }, 1.15},
    {Intrinsic::Cosh,  [](double x) { return std::cosh(x); }, 0.9},
    {Intrinsic::Tanh,  [](double x) { return std::tanh(x); }, 1.15},
    {Intrinsic::Rsqrt, [](double x) { return test::recip_of(std::sqrt(x)); }, 0.51},
    {Intrinsic::Recip, [](double x) { return test::recip_of(x); }, 0.76},
    {Intrinsic::Log10, [](double x) { return std::log10(x); }, 0.65},
    {Intrinsic::Log1p, [](double x) { return std::log1p(x); }, 0.7},
    {Intrinsic::Expm1, [](double x) { return std::expm1(x); }, 0.6},
    {Intrinsic::Cbrt,  [](double x) { return std::cbrt(x); }, 0.51},
    {Intrinsic::Erf,   [](double x) { return std::erf(x); }, 0.9},
    {Intrinsic::Exp10, [](double x) { return ::exp10(x); }, 0.76},
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

struct AccuracyF64 {
  Intrinsic op;
  long double (*exact)(long double x, long double y);
  double
      bound;  // what vyre_verify_maths finds, rounded up; the language promises 1, of pow and erf 2
};

// The long double of x86 has 11 bits more, so what the C library loses is not seen.
// clang-format off
const AccuracyF64 kAccuracyF64[] = {
    {Intrinsic::Exp,   [](long double x, long double) { return std::exp(x); }, 0.76},
    {Intrinsic::Exp2,  [](long double x, long double) { return std::exp2(x); }, 0.76},
    {Intrinsic::Log,   [](long double x, long double) { return std::log(x); }, 0.75},
    {Intrinsic::Log2,  [](long double x, long double) { return std::log2(x); }, 0.8},
    {Intrinsic::Sin,   [](long double x, long double) { return std::sin(x); }, 0.8},
    {Intrinsic::Cos,   [](long double x, long double) { return std::cos(x); }, 0.8},
    {Intrinsic::Tan,   [](long double x, long double) { return std::tan(x); }, 0.9},
    {Intrinsic::Asin,  [](long double x, long double) { return std::asin(x); }, 0.7},
    {Intrinsic::Acos,  [](long double x, long double) { return std::acos(x); }, 0.7},
    {Intrinsic::Atan,  [](long double x, long double) { return std::atan(x); }, 0.65},
    {Intrinsic::Sinh,  [](long double x, long double) { return std::sinh(x); }, 0.6},
    {Intrinsic::Cosh,  [](long double x, long double) { return std::cosh(x); }, 0.6},
    {Intrinsic::Tanh,  [](long double x, long double) { return std::tanh(x); }, 0.6},
    {Intrinsic::Pow,   [](long double x, long double y) { return std::pow(x, y); }, 0.8},
    {Intrinsic::Atan2, [](long double y, long double x) { return std::atan2(y, x); }, 0.85},
    {Intrinsic::Hypot, [](long double x, long double y) { return std::hypot(x, y); }, 0.8},
    {Intrinsic::Log10, [](long double x, long double) { return std::log10(x); }, 0.75},
    {Intrinsic::Log1p, [](long double x, long double) { return std::log1p(x); }, 0.75},
    {Intrinsic::Expm1, [](long double x, long double) { return std::expm1(x); }, 0.6},
    {Intrinsic::Cbrt,  [](long double x, long double) { return std::cbrt(x); }, 0.51},
    {Intrinsic::Erf,   [](long double x, long double) { return std::erf(x); }, 0.8},
    {Intrinsic::Exp10, [](long double x, long double) { return ::exp10l(x); }, 0.76},
};
// clang-format on

class MathsAccuracyF64 : public testing::TestWithParam<AccuracyF64> {};

TEST_P(MathsAccuracyF64, StaysWithinItsBound) {
  const auto [op, exact, bound] = GetParam();
  const MathsF64 function = native_maths_f64(op);
  double worst = 0;
  const auto measure = [&](double x, double y) {
    const double error = test::ulp_error(function(x, y), exact(x, y));
    EXPECT_LE(error, bound) << name_of(op) << "(" << x << ", " << y << ") = " << function(x, y);
    worst = std::fmax(worst, error);
  };
  const std::vector<double> special = test::special_f64();
  if (arity_of(op) == 2)
    for (size_t i = 0; i < special.size() * special.size(); i += 5)
      measure(special[i / special.size()], special[i % special.size()]);
  test::Random random(4);
  double before = 1;
  for (const double x : test::stratified_f64(100'000)) {
    measure(x, before);
    before = x;
    const double near = (random.unit() - 0.5) * 20;
    measure(near, random.unit() * 10);
    measure(x, op == Intrinsic::Pow ? near * 100 / std::log2(std::fabs(x)) : x * near);
  }
  EXPECT_GE(worst, 0.49);
}

INSTANTIATE_TEST_SUITE_P(F64, MathsAccuracyF64, testing::ValuesIn(kAccuracyF64),
                         [](const auto& info) { return std::string(name_of(info.param.op)); });

float f32_of(Intrinsic op, float x, float y) {
  return native_maths_f32(op)(x, y);
}
double f64_of(Intrinsic op, double x, double y) {
  return native_maths_f64(op)(x, y);
}

// Both widths of the functions of two arguments, and what they share with the C library.
TEST(MathsOfTwo, AgreesWithTheCLibraryOnSpecialValues) {
  const std::vector<float> special = test::special_f32();
  for (const float x : special)
    for (const float y : special) {
      const double a = x, b = y;
      EXPECT_LE(test::ulp_error(f32_of(Intrinsic::Atan2, x, y), std::atan2(a, b)), 0.85)
          << x << " " << y;
      EXPECT_LE(test::ulp_error(f32_of(Intrinsic::Hypot, x, y), std::hypot(a, b)), 0.85)
          << x << " " << y;
    }
}

TEST(MathsSpecialValues, WholeResultsAreExact) {
  for (int n = -30; n <= 38; ++n) {
    const auto power = static_cast<float>(std::pow(10.0, n));
    EXPECT_EQ(f32_of(Intrinsic::Exp10, static_cast<float>(n), 0), power) << n;
    if (n < 0 || n > 10) continue;
    EXPECT_EQ(f32_of(Intrinsic::Log10, power, 0), static_cast<float>(n));
  }
  for (int n = 0; n <= 22; ++n) {
    const double power = std::pow(10.0, n);
    EXPECT_EQ(f64_of(Intrinsic::Exp10, n, 0), power) << n;
    EXPECT_EQ(f64_of(Intrinsic::Log10, power, 0), n) << n;
    EXPECT_EQ(f64_of(Intrinsic::Pow, 10.0, n), power) << n;
    EXPECT_EQ(f64_of(Intrinsic::Cbrt, -n * n * n, 0), -n);
    EXPECT_EQ(f64_of(Intrinsic::Hypot, 3 * n, -4 * n), 5 * n);
  }
  for (int e = -1074; e < 1024; ++e) {
    EXPECT_EQ(f64_of(Intrinsic::Log2, std::ldexp(1.0, e), 0), e);
    EXPECT_EQ(f64_of(Intrinsic::Exp2, e, 0), std::ldexp(1.0, e));
  }
}

// The largest angle, and the ones nearest to a multiple of pi/2.
TEST(MathsSpecialValues, HugeAnglesF64) {
  for (const double x : {std::numeric_limits<double>::max(), 6381956970095103.0 * 0x1p797,
                         0x1.6ac5b262ca1ffp849, 0x1.921fb54442d18p0, 0x1p30, 0x1.0000001p30}) {
    const auto wide = static_cast<long double>(x);
    EXPECT_LE(test::ulp_error(f64_of(Intrinsic::Sin, x, 0), std::sin(wide)), 0.8) << x;
    EXPECT_LE(test::ulp_error(f64_of(Intrinsic::Cos, -x, 0), std::cos(wide)), 0.8) << x;
    EXPECT_LE(test::ulp_error(f64_of(Intrinsic::Tan, x, 0), std::tan(wide)), 0.9) << x;
  }
}

TEST(MathsF64Accuracy, StaysWithinItsBound) {
  for (const double x : test::stratified_f64(300'000)) {
    const auto wide = static_cast<long double>(x);
    EXPECT_LE(test::ulp_error(native_maths_f64(Intrinsic::Recip)(x, 0), test::recip_of(wide)), 0.76)
        << x;
    EXPECT_LE(
        test::ulp_error(native_maths_f64(Intrinsic::Rsqrt)(x, 0), test::recip_of(std::sqrt(wide))),
        0.51)
        << x;
  }
}

// ---- special values

struct Case {
  float x, result;
};
struct PowCase {
  float x, y, result;
};

void expect_value(Intrinsic op, float x, float y, float expected) {
  const float found = native_maths_f32(op)(x, y);
  if (std::isnan(expected) && std::isnan(found)) return;
  EXPECT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(expected))
      << name_of(op) << "(" << x << ", " << y << ") = " << found << ", expected " << expected;
}
void expect_values(Intrinsic op, std::initializer_list<Case> cases) {
  for (const auto& [x, expected] : cases) expect_value(op, x, 0, expected);
}
void expect_powers(std::initializer_list<PowCase> cases) {
  for (const auto& [x, y, expected] : cases) expect_value(Intrinsic::Pow, x, y, expected);
}

TEST(MathsSpecialValues, NanInNanOut) {
  for (const Accuracy& each : kAccuracy) expect_values(each.op, {{kNan, kNan}, {-kNan, kNan}});
}

TEST(MathsSpecialValues, Exponentials) {
  expect_values(Intrinsic::Exp, {{0, 1},
                                 {-0.0f, 1},
                                 {kInf, kInf},
                                 {-kInf, 0},
                                 {kMax, kInf},
                                 {-kMax, 0},
                                 {kTiny, 1},
                                 {-kTiny, 1},
                                 {-103.972084f, 0},
                                 {-103.0f, 0x1p-149f}});
  // The last argument with a finite result, and the next one.
  expect_values(Intrinsic::Exp, {{0x1.62e42ep6f, 0x1.ffff08p127f}, {0x1.62e43p6f, kInf}});
  expect_values(Intrinsic::Exp2, {{0, 1},
                                  {-0.0f, 1},
                                  {kInf, kInf},
                                  {-kInf, 0},
                                  {128, kInf},
                                  {127, 0x1p127f},
                                  {-126, 0x1p-126f},
                                  {-149, kTiny},
                                  {-149.5f, kTiny},
                                  {-150, 0},
                                  {kMax, kInf},
                                  {-kMax, 0}});
}

TEST(MathsSpecialValues, Hyperbolic) {
  for (const Intrinsic op : {Intrinsic::Sinh, Intrinsic::Tanh})
    expect_values(
        op, {{0, 0}, {-0.0f, -0.0f}, {kTiny, kTiny}, {-kTiny, -kTiny}, {0x1p-126f, 0x1p-126f}});
  expect_values(Intrinsic::Sinh, {{kInf, kInf}, {-kInf, -kInf}, {kMax, kInf}, {-kMax, -kInf}});
  expect_values(Intrinsic::Tanh, {{kInf, 1}, {-kInf, -1}, {kMax, 1}, {-kMax, -1}, {10, 1}});
  expect_values(
      Intrinsic::Cosh,
      {{0, 1}, {-0.0f, 1}, {kTiny, 1}, {kInf, kInf}, {-kInf, kInf}, {kMax, kInf}, {-kMax, kInf}});
}

TEST(MathsSpecialValues, Logarithms) {
  for (const Intrinsic op : {Intrinsic::Log, Intrinsic::Log2})
    expect_values(op, {{0, -kInf},
                       {-0.0f, -kInf},
                       {1, 0},
                       {kInf, kInf},
                       {-kTiny, kNan},
                       {-1, kNan},
                       {-kMax, kNan},
                       {-kInf, kNan}});
  for (int e = -149; e < 128; ++e)
    expect_value(Intrinsic::Log2, std::ldexp(1.0f, e), 0, static_cast<float>(e));
}

TEST(MathsSpecialValues, Trigonometry) {
  for (const Intrinsic op : {Intrinsic::Sin, Intrinsic::Tan, Intrinsic::Asin, Intrinsic::Atan})
    expect_values(
        op, {{0, 0}, {-0.0f, -0.0f}, {kTiny, kTiny}, {-kTiny, -kTiny}, {0x1p-126f, 0x1p-126f}});
  for (const Intrinsic op : {Intrinsic::Sin, Intrinsic::Cos, Intrinsic::Tan})
    expect_values(op, {{kInf, kNan}, {-kInf, kNan}});
  for (const Intrinsic op : {Intrinsic::Asin, Intrinsic::Acos})
    expect_values(op, {{0x1.000002p0f, kNan},
                       {-0x1.000002p0f, kNan},
                       {2, kNan},
                       {kMax, kNan},
                       {kInf, kNan},
                       {-kInf, kNan}});
  const float pi = 0x1.921fb6p1f;
  expect_values(Intrinsic::Cos, {{0, 1}, {-0.0f, 1}, {kTiny, 1}});
  expect_values(Intrinsic::Asin, {{1, pi / 2}, {-1, -pi / 2}});
  expect_values(Intrinsic::Acos, {{1, 0}, {-1, pi}, {0, pi / 2}, {-0.0f, pi / 2}});
  expect_values(Intrinsic::Atan,
                {{kInf, pi / 2}, {-kInf, -pi / 2}, {kMax, pi / 2}, {1, pi / 4}, {-1, -pi / 4}});
}

// The largest argument, and the one nearest to a multiple of pi/2.
TEST(MathsSpecialValues, HugeAngles) {
  for (const float x : {kMax, 0x1.f37c8ap95f}) {
    const auto wide = static_cast<double>(x);
    expect_value(Intrinsic::Sin, x, 0, static_cast<float>(std::sin(wide)));
    expect_value(Intrinsic::Cos, x, 0, static_cast<float>(std::cos(wide)));
    expect_value(Intrinsic::Tan, x, 0, static_cast<float>(std::tan(wide)));
  }
}

TEST(MathsSpecialValues, RootsAndReciprocals) {
  expect_values(Intrinsic::Rsqrt, {{0, kInf},
                                   {-0.0f, -kInf},
                                   {kInf, 0},
                                   {-kInf, kNan},
                                   {-1, kNan},
                                   {-kTiny, kNan},
                                   {4, 0.5f},
                                   {0x1p-148f, 0x1p74f},
                                   {0x1p126f, 0x1p-63f}});
  expect_values(Intrinsic::Recip, {{0, kInf},
                                   {-0.0f, -kInf},
                                   {kInf, 0},
                                   {-kInf, -0.0f},
                                   {1, 1},
                                   {-2, -0.5f},
                                   {kTiny, kInf},
                                   {-kTiny, -kInf},
                                   {0x1p127f, 0x1p-127f},
                                   {0x1p-128f, kInf},
                                   {0x1.000008p-128f, 0x1.fffffp127f},
                                   {kMax, 0x1p-128f}});
}

TEST(MathsSpecialValues, RootsAndReciprocalsF64) {
  using Limits = std::numeric_limits<double>;
  constexpr double kInf64 = Limits::infinity();
  const auto expect = [](Intrinsic op, double x, double expected) {
    const double found = native_maths_f64(op)(x, 0);
    if (std::isnan(expected) && std::isnan(found)) return;
    EXPECT_EQ(std::bit_cast<uint64_t>(found), std::bit_cast<uint64_t>(expected))
        << name_of(op) << "(" << x << ") = " << found;
  };
  for (const Intrinsic op : {Intrinsic::Rsqrt, Intrinsic::Recip}) {
    expect(op, 0.0, kInf64);
    expect(op, -0.0, -kInf64);
    expect(op, kInf64, 0.0);
    expect(op, Limits::quiet_NaN(), Limits::quiet_NaN());
  }
  expect(Intrinsic::Recip, -kInf64, -0.0);
  expect(Intrinsic::Recip, Limits::denorm_min(), kInf64);
  expect(Intrinsic::Recip, 0x1p1023, 0x1p-1023);
  expect(Intrinsic::Rsqrt, Limits::denorm_min(), 0x1p537);
  expect(Intrinsic::Rsqrt, -1.0, Limits::quiet_NaN());
  expect(Intrinsic::Rsqrt, -kInf64, Limits::quiet_NaN());
}

TEST(MathsSpecialValues, PowOfEverythingToZeroAndOfOne) {
  for (const float x : {0.0f, -0.0f, 1.0f, -1.0f, 7.5f, -7.5f, kTiny, kMax, kInf, -kInf, kNan})
    expect_powers({{x, 0, 1}, {x, -0.0f, 1}, {1, x, 1}});
}

TEST(MathsSpecialValues, PowWithNan) {
  for (const float x : {0.5f, -1.0f, 2.0f, kInf, -kInf})
    expect_powers({{kNan, x, kNan}, {x, kNan, kNan}});
  expect_powers({{0, kNan, kNan}, {kNan, 1, kNan}});
}

TEST(MathsSpecialValues, PowOfZero) {
  expect_powers({{0, 3, 0},
                 {-0.0f, 3, -0.0f},
                 {0, 2, 0},
                 {-0.0f, 2, 0},
                 {-0.0f, 2.5f, 0},
                 {-0.0f, kInf, 0},
                 {0, kInf, 0},
                 {0, kTiny, 0}});
  expect_powers({{0, -3, kInf},
                 {-0.0f, -3, -kInf},
                 {-0.0f, -2, kInf},
                 {-0.0f, -2.5f, kInf},
                 {-0.0f, -kInf, kInf},
                 {0, -kInf, kInf},
                 {0, -kTiny, kInf}});
}

TEST(MathsSpecialValues, PowWithInfinity) {
  expect_powers({{-1, kInf, 1},
                 {-1, -kInf, 1},
                 {0.5f, kInf, 0},
                 {-0.5f, kInf, 0},
                 {0.5f, -kInf, kInf},
                 {2, kInf, kInf},
                 {-2, kInf, kInf},
                 {2, -kInf, 0},
                 {-2, -kInf, 0}});
  expect_powers({{kInf, 3, kInf},
                 {kInf, -3, 0},
                 {kInf, kInf, kInf},
                 {kInf, -kInf, 0},
                 {-kInf, 3, -kInf},
                 {-kInf, 2, kInf},
                 {-kInf, 2.5f, kInf},
                 {-kInf, -3, -0.0f},
                 {-kInf, -2, 0},
                 {-kInf, -2.5f, 0}});
}

TEST(MathsSpecialValues, PowOfNegativeNumbers) {
  expect_powers({{-2, 3, -8},
                 {-2, 2, 4},
                 {-2, -1, -0.5f},
                 {-2, 0.5f, kNan},
                 {-kTiny, 0.5f, kNan},
                 {-kMax, 1.5f, kNan},
                 {-1, 3, -1},
                 {-1, 4, 1},
                 {-1, 0x1.000002p0f, kNan}});
  // Where the last bit of an exponent is a half, a one, a two.
  expect_powers({{-1, 8388607.5f, kNan},
                 {-1, 8388609, -1},
                 {-1, 16777215, -1},
                 {-1, 16777216, 1},
                 {-1, kMax, 1}});
}

TEST(MathsSpecialValues, PowAtTheEndsOfTheRange) {
  expect_powers({{2, 127, 0x1p127f},
                 {2, 128, kInf},
                 {2, -149, kTiny},
                 {2, -150, 0},
                 {-2, 127, -0x1p127f},
                 {-2, 129, -kInf},
                 {-2, -149, -kTiny},
                 {-2, -151, -0.0f},
                 {kTiny, -1, kInf},
                 {kTiny, 1, kTiny}});
  expect_powers({{0x1.fffffep-1f, -kMax, kInf},
                 {0x1.fffffep-1f, kMax, 0},
                 {0x1.000002p0f, kMax, kInf},
                 {kMax, kMax, kInf},
                 {kMax, -kMax, 0},
                 {kMax, kTiny, 1}});
}

}  // namespace
}  // namespace vyre::ir
