// SPDX-License-Identifier: Apache-2.0
// vyre_verify_maths: compares the maths library with functions of higher precision: every f32 input
// of the functions of one argument, and large samples of those of two; the f64 functions are in
// verify_f64.cpp. Approximations are compared with the strict functions as well. Prints a markdown
// table (docs/design/maths.md shows one) and ends with 1 if a bound or a special value is missed.
//
// The reference is the C library in f64, whose error is below 2^-28 of an f32 ULP.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/approximations.hpp"
#include "ir/maths_approximate.hpp"
#include "ir/maths_arcs.hpp"
#include "ir/maths_backend.hpp"
#include "ir/maths_error_test.hpp"
#include "ir/maths_exp.hpp"
#include "ir/maths_inverse.hpp"
#include "ir/maths_log.hpp"
#include "ir/maths_logarithms.hpp"
#include "ir/maths_other.hpp"
#include "ir/maths_powers.hpp"
#include "ir/maths_root.hpp"
#include "ir/maths_samples_test.hpp"
#include "ir/maths_trig.hpp"
#include "maths/verify.hpp"

namespace {

using vyre::ir::maths::Native;
using vyre::test::kWrong;
using vyre::test::Options;
using vyre::test::recip_of;
using vyre::test::row;
using vyre::test::run;
using vyre::test::steps_between;
using vyre::test::Tally;
using vyre::test::ulp_error;
template <class B>
using Approximate = vyre::ir::maths::Approximations<B>;
using Exp = vyre::ir::maths::ExpFunctions<Native>;
using Log = vyre::ir::maths::LogFunctions<Native>;
template <class B>
using Trig = vyre::ir::maths::TrigFunctions<B>;
using Inverse = vyre::ir::maths::InverseFunctions<Native>;
using Roots = vyre::ir::maths::RootFunctions<Native, vyre::ir::maths::Single>;
using Powers = vyre::ir::maths::PowerFunctions<Native, vyre::ir::maths::Single>;
using Logarithms = vyre::ir::maths::LogarithmFunctions<Native, vyre::ir::maths::Single>;
using Arcs = vyre::ir::maths::ArcFunctions<Native, vyre::ir::maths::Single>;
using Others = vyre::ir::maths::OtherFunctions<Native, vyre::ir::maths::Single>;

constexpr size_t kBlock = 4096;

// Native for arguments that are all on one side of the only branch, so that loops over them become
// vector code.
struct Below : Native {
  template <class Body>
  static void when(bool, const Body&) {}
};
struct Beyond : Native {
  template <class Body>
  static void when(bool, const Body& body) {
    body();
  }
};

// One block of arguments and results. Judging in loops without calls and branches costs less than
// the functions themselves.
struct Block {
  size_t count = kBlock;
  float x[kBlock], y[kBlock], result[kBlock];
  double exact[kBlock];
  double error[kBlock];      // kWrong where the kind of the result is wrong
  uint32_t rounded[kBlock];  // 1: correctly rounded

  void judge() {
    uint32_t rest = 0;
    for (size_t i = 0; i < kBlock; ++i) {
      const uint64_t bits = std::bit_cast<uint64_t>(exact[i]);
      const uint64_t exponent = (bits >> 52) & 0x7ff;
      const auto wide = static_cast<double>(result[i]);
      const float size = std::fabs(result[i]);
      const bool usual = (exponent >= 1023 - 126) & (exponent <= 1023 + 126) & (size >= 0x1p-126f) &
                         (size < 0x1p127f);
      // Results that are right without a measure: NaN, infinity, zero with its sign; and zeros for
      // values far below the smallest number.
      const bool same_sign = (std::bit_cast<uint32_t>(result[i]) ^ (bits >> 32)) >> 31 == 0;
      const bool met =
          ((exponent == 0x7ff) & ((wide == exact[i]) | ((wide != wide) & (exact[i] != exact[i])))) |
          ((exponent < 1023 - 200) & (size == 0) & same_sign);
      const double value = usual ? exact[i] : 1.0;  // not to round subnormal numbers here
      const uint64_t unit = usual ? (2 * 1023 + 23 - exponent) << 52 : 0;  // 1 / ULP, as bits
      const double distance = usual ? std::fabs(wide - value) : 0.0;
      const double measured = distance * std::bit_cast<double>(unit);
      error[i] = (usual | met) ? measured : kUnusual;
      rounded[i] = (met | (result[i] == static_cast<float>(value))) ? 1 : 0;
      rest += (usual | met) ? 0 : 1;
    }
    for (size_t i = 0; rest != 0 && i < count; ++i)
      if (error[i] == kUnusual) judge_unusual(i);
  }

  void add_to(Tally& tally) const {
    double worst = 0;
    uint32_t sum = 0;
    for (size_t i = 0; i < count; ++i) worst = std::max(worst, error[i]), sum += rounded[i];
    tally.inputs += count;
    tally.rounded += sum;
    if (worst <= tally.worst) return;
    for (size_t i = 0; i < count; ++i)
      tally.add_error(error[i], static_cast<double>(x[i]), static_cast<double>(y[i]));
  }

 private:
  static constexpr double kUnusual = -1;

  void judge_unusual(size_t i) {
    const auto nearest = static_cast<float>(exact[i]);
    error[i] = ulp_error(result[i], exact[i]);
    rounded[i] = result[i] == nearest || (result[i] != result[i] && nearest != nearest) ? 1 : 0;
  }
};

// ---- references: the C library where the answer is not plain. What is left out of the short forms
// is below 2^-58 of the value.

constexpr double kSmall = 0x1p-30, kInfinity = std::numeric_limits<double>::infinity();

// f(0) is 0 and f(x) is about x.
template <class Reference>
double near_zero(double x, Reference reference) {
  return std::fabs(x) < kSmall ? x : reference();
}
// f(0) is 1, with that slope; too large or too small for f32 from 200 and -200 on.
template <class Reference>
double near_one(double x, double slope, Reference reference) {
  if (std::fabs(x) < kSmall) return 1 + slope * x;
  if (x > 200) return kInfinity;
  if (x < -200) return 0x1p-290;
  return reference();
}
double exact_sinh(double x) {
  return std::fabs(x) > 200 ? std::copysign(kInfinity, x)
                            : near_zero(x, [&] { return std::sinh(x); });
}
double exact_tanh(double x) {
  return std::fabs(x) > 30 ? std::copysign(1.0, x) : near_zero(x, [&] { return std::tanh(x); });
}
double exact_asin(double x) {
  return std::fabs(x) > 1 ? std::nan("") : near_zero(x, [&] { return std::asin(x); });
}
double exact_acos(double x) {
  return std::fabs(x) > 1 ? std::nan("") : std::acos(x);
}
double exact_atan(double x) {
  return std::fabs(x) > 0x1p60 ? std::copysign(1.5707963267948966, x)
                               : near_zero(x, [&] { return std::atan(x); });
}
double exact_log(double x) {
  return x < 0 ? std::nan("") : std::log(x);
}
double exact_log2(double x) {
  return x < 0 ? std::nan("") : std::log2(x);
}

enum class Symmetry : uint8_t { None, Odd, Even };

template <class Function>
void apply(const Function& function, const float (&x)[kBlock], float (&result)[kBlock]) {
  for (size_t i = 0; i < kBlock; ++i) result[i] = function(x[i]);
}

// A function that branches at 2^16, in the forms without the branch where a block allows it.
template <class Low, class High, class Any>
struct Branched {
  Low below;
  High beyond;
  Any any;
};
template <class Low, class High, class Any>
void apply(const Branched<Low, High, Any>& function, const float (&x)[kBlock],
           float (&result)[kBlock]) {
  uint32_t large = 0;
  for (const float each : x) large += std::fabs(each) > 0x1p16f ? 1 : 0;
  if (large == 0)
    apply(function.below, x, result);
  else if (large == kBlock)
    apply(function.beyond, x, result);
  else
    apply(function.any, x, result);
}

// What an approximation may be from the strict function, in numbers that lie between.
template <class Function>
struct Strict {
  Function function;
  uint32_t steps;

  void judge(Block& b) const {
    float expected[kBlock];
    apply(function, b.x, expected);
    for (size_t i = 0; i < kBlock; ++i)
      if (steps_between(b.result[i], expected[i]) > steps) b.error[i] = kWrong;
  }
};
struct NoOther {
  static void judge(Block&) {}
};

// All inputs. With a symmetry the reference is asked for one sign only and the other must agree bit
// by bit.
template <class Function, class Reference, class Other = NoOther>
Tally every_input(const Options& options, Symmetry symmetry, Function function, Reference reference,
                  const Other& other = {}) {
  const uint64_t inputs = (uint64_t{1} << (symmetry == Symmetry::None ? 32 : 31)) / options.stride;
  return run((inputs + kBlock - 1) / kBlock, options.threads, [&](uint64_t number, Tally& tally) {
    Block b;
    const uint64_t first = number * kBlock;
    b.count = static_cast<size_t>(std::min<uint64_t>(kBlock, inputs - first));
    for (size_t i = 0; i < kBlock; ++i) {
      b.x[i] = std::bit_cast<float>(static_cast<uint32_t>((first + i) * options.stride));
      b.y[i] = 0;
    }
    apply(function, b.x, b.result);
    for (size_t i = 0; i < kBlock; ++i) b.exact[i] = reference(static_cast<double>(b.x[i]));
    b.judge();
    other.judge(b);
    b.add_to(tally);
    if (symmetry == Symmetry::None) return;

    // The error is that of the other sign, or the whole argument is wrong.
    const uint32_t flip = symmetry == Symmetry::Odd ? 0x8000'0000 : 0;
    float mirrored[kBlock];
    for (float& x : b.x) x = -x;
    apply(function, b.x, mirrored);
    for (size_t i = 0; i < kBlock; ++i) {
      const bool same =
          std::bit_cast<uint32_t>(mirrored[i]) == (std::bit_cast<uint32_t>(b.result[i]) ^ flip);
      const bool both_nan = (mirrored[i] != mirrored[i]) & (b.result[i] != b.result[i]);
      b.error[i] = (same | both_nan) ? 0 : kWrong;
    }
    b.add_to(tally);
  });
}

Tally sampled_pow(const Options& options) {
  const std::vector<float> special = vyre::test::special_f32();
  const uint64_t pairs = special.size() * special.size();
  return run((pairs + options.pairs) / kBlock, options.threads, [&](uint64_t number, Tally& tally) {
    Block b;
    vyre::test::Random random(number);
    for (size_t i = 0; i < kBlock; ++i) {
      const uint64_t index = number * kBlock + i;
      vyre::test::pow_arguments(random, i % 8, b.x[i], b.y[i]);
      if (index >= pairs) continue;
      b.x[i] = special[index / special.size()];
      b.y[i] = special[index % special.size()];
    }
    for (size_t i = 0; i < kBlock; ++i) b.result[i] = Log::pow(b.x[i], b.y[i]);
    for (size_t i = 0; i < kBlock; ++i)
      b.exact[i] = std::pow(static_cast<double>(b.x[i]), static_cast<double>(b.y[i]));
    b.judge();
    b.add_to(tally);
  });
}

// Functions of two arguments other than pow: special values, any bits, and numbers of one size.
template <class Function, class Reference>
Tally sampled_pairs(const Options& options, Function function, Reference reference) {
  const std::vector<float> special = vyre::test::special_f32();
  const uint64_t pairs = special.size() * special.size();
  return run((pairs + options.pairs) / kBlock, options.threads, [&](uint64_t number, Tally& tally) {
    Block b;
    vyre::test::Random random(number);
    for (size_t i = 0; i < kBlock; ++i) {
      const uint64_t index = number * kBlock + i;
      b.x[i] = random.any_float();
      b.y[i] = random.any_float();
      const double factor = random.unit() * 4 - 2;
      if (i % 4 != 0) b.y[i] = static_cast<float>(static_cast<double>(b.x[i]) * factor);
      if (index >= pairs) continue;
      b.x[i] = special[index / special.size()];
      b.y[i] = special[index % special.size()];
    }
    for (size_t i = 0; i < kBlock; ++i) b.result[i] = function(b.x[i], b.y[i]);
    for (size_t i = 0; i < kBlock; ++i)
      b.exact[i] = reference(static_cast<double>(b.x[i]), static_cast<double>(b.y[i]));
    b.judge();
    b.add_to(tally);
  });
}

void verify(const Options& o) {
  std::puts(
      "| function | inputs | largest error (ULP) | at | correctly rounded | wrong special values | "
      "seconds |\n|---|---|---|---|---|---|---|");
  std::fflush(stdout);
#define VYRE_ROW(name, symmetry, function, reference)            \
  row(o, #name, 2, [&] {                                         \
    return every_input(                                          \
        o, Symmetry::symmetry, [](float x) { return function; }, \
        [](double x) { return reference; });                     \
  });
  // One branch for a whole block instead of one per argument.
#define VYRE_TRIG(name, symmetry, reference)                                    \
  row(o, #name, 2, [&] {                                                        \
    return every_input(o, Symmetry::symmetry,                                   \
                       Branched{[](float x) { return Trig<Below>::name(x); },   \
                                [](float x) { return Trig<Beyond>::name(x); },  \
                                [](float x) { return Trig<Native>::name(x); }}, \
                       [](double x) { return reference; });                     \
  });
  VYRE_ROW(exp, None, Exp::exp(x), near_one(x, 1, [&] { return std::exp(x); }))
  VYRE_ROW(exp2, None, Exp::exp2(x), near_one(x, std::log(2.0), [&] { return std::exp2(x); }))
  VYRE_ROW(log, None, Log::log(x), exact_log(x))
  VYRE_ROW(log2, None, Log::log2(x), exact_log2(x))
  VYRE_TRIG(sin, Odd, near_zero(x, [&] { return std::sin(x); }))
  VYRE_TRIG(cos, Even, std::fabs(x) < kSmall ? 1.0 : std::cos(x))
  VYRE_TRIG(tan, Odd, near_zero(x, [&] { return std::tan(x); }))
  VYRE_ROW(asin, Odd, Inverse::asin(x), exact_asin(x))
  VYRE_ROW(acos, None, Inverse::acos(x), exact_acos(x))
  VYRE_ROW(atan, Odd, Inverse::atan(x), exact_atan(x))
  VYRE_ROW(sinh, Odd, Exp::sinh(x), exact_sinh(x))
  VYRE_ROW(cosh, Even, Exp::cosh(x), near_one(std::fabs(x), 0, [&] { return std::cosh(x); }))
  VYRE_ROW(tanh, Odd, Exp::tanh(x), exact_tanh(x))
  row(o, "pow", 4, [&] { return sampled_pow(o); });
  VYRE_ROW(rsqrt, None, Roots::rsqrt(x), recip_of(std::sqrt(x)))
  VYRE_ROW(recip, Odd, Roots::recip(x), recip_of(x))
  VYRE_ROW(log10, None, Logarithms::log10(x), x < 0 ? std::nan("") : std::log10(x))
  VYRE_ROW(log1p, None, Logarithms::log1p(x),
           x < -1 ? std::nan("") : near_zero(x, [&] { return std::log1p(x); }))
  VYRE_ROW(expm1, None, Powers::expm1(x), near_zero(x, [&] { return std::expm1(x); }))
  VYRE_ROW(cbrt, Odd, Others::cbrt(x), std::cbrt(x))
  VYRE_ROW(erf, Odd, Others::erf(x), std::erf(x))
  VYRE_ROW(exp10, None, Powers::exp10(x), near_one(x, std::log(10.0), [&] { return exp10(x); }))
#undef VYRE_TRIG
#undef VYRE_ROW
  row(o, "atan2", 2, [&] {
    return sampled_pairs(o, Arcs::atan2, [](double y, double x) { return std::atan2(y, x); });
  });
  row(o, "hypot", 2, [&] {
    return sampled_pairs(o, Others::hypot, [](double x, double y) { return std::hypot(x, y); });
  });
}

uint32_t bound_of(vyre::ir::Intrinsic op) {
  using vyre::codegen::find_approximation;
  return find_approximation(vyre::codegen::kHostApproximations, op, vyre::ir::Type::F32, ~0U)->ulps;
}

template <template <class> class Functions>
auto branched_sin() {
  return Branched{[](float x) { return Functions<Below>::sin(x); },
                  [](float x) { return Functions<Beyond>::sin(x); },
                  [](float x) { return Functions<Native>::sin(x); }};
}
template <template <class> class Functions>
auto branched_cos() {
  return Branched{[](float x) { return Functions<Below>::cos(x); },
                  [](float x) { return Functions<Beyond>::cos(x); },
                  [](float x) { return Functions<Native>::cos(x); }};
}

// Those of codegen/approximations.hpp that are functions of the library.
void verify_approximations(const Options& o) {
  using vyre::ir::Intrinsic;
  const auto each = [&](const char* name, Intrinsic op, Symmetry symmetry, auto function,
                        auto strict, auto reference) {
    const uint32_t ulps = bound_of(op);
    row(o, name, ulps, [&] {
      return every_input(o, symmetry, function, reference, Strict<decltype(strict)>{strict, ulps});
    });
  };
  each("approximate sin", Intrinsic::Sin, Symmetry::Odd, branched_sin<Approximate>(),
       branched_sin<Trig>(), [](double x) { return near_zero(x, [&] { return std::sin(x); }); });
  each("approximate cos", Intrinsic::Cos, Symmetry::Even, branched_cos<Approximate>(),
       branched_cos<Trig>(), [](double x) { return std::fabs(x) < kSmall ? 1.0 : std::cos(x); });
  each(
      "approximate rsqrt", Intrinsic::Rsqrt, Symmetry::None,
      [](float x) { return Approximate<Native>::rsqrt(x); },
      [](float x) { return Roots::rsqrt(x); }, [](double x) { return recip_of(std::sqrt(x)); });
  each(
      "approximate recip", Intrinsic::Recip, Symmetry::Odd,
      [](float x) { return Approximate<Native>::recip(x); },
      [](float x) { return Roots::recip(x); }, [](double x) { return recip_of(x); });
}

constexpr const char* kUsage =
    "usage: vyre_verify_maths [--stride N] [--pairs N] [--doubles N] [--threads N] [FUNCTION...]\n"
    "  --stride N    check every Nth input of the functions of one argument (1)\n"
    "  --pairs N     arguments of pow, atan2 and hypot (2^32)\n"
    "  --doubles N   arguments of each f64 function (2^28)\n"
    "  --threads N   (1)\n";

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) {
      options.only.emplace_back(word);
      continue;
    }
    const uint64_t number = i + 1 < argc ? std::strtoull(argv[i + 1], nullptr, 0) : 0;
    ++i;
    if (number == 0) {
      std::fputs(kUsage, stderr);
      return 2;
    }
    if (word == "--stride")
      options.stride = number;
    else if (word == "--pairs")
      options.pairs = number;
    else if (word == "--doubles")
      options.doubles = number;
    else if (word == "--threads")
      options.threads = static_cast<unsigned>(number);
    else {
      std::fputs(kUsage, stderr);
      return 2;
    }
  }
  verify(options);
  vyre::test::verify_f64(options);
  verify_approximations(options);
  return vyre::test::failures() == 0 ? 0 : 1;
}
