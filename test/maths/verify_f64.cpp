// SPDX-License-Identifier: Apache-2.0
// The f64 functions of vyre_verify_maths: special values, any bits, and numbers where each function
// is neither 0 nor infinite.
//
// The long double of the C library on x86 has 11 bits more than f64 and measures most arguments;
// its own error is some thousandths of an ULP. Where MPFR was found (libmpfr-dev), which is exact
// for any argument of any function, it measures the special values and one in 256 of the others.
// For all it would take a hundred times as long; libquadmath comes with g++ only, and its functions
// are not rounded correctly either.
#include <bit>
#include <cmath>
#include <cstdint>

#ifdef VYRE_MPFR
#include <mpfr.h>
#endif

#include "ir/maths.hpp"
#include "ir/maths_samples_test.hpp"
#include "maths/verify.hpp"

namespace vyre::test {
namespace {

using ir::Intrinsic;

#ifdef VYRE_MPFR
using Exact = int (*)(mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr y);
#define VYRE_EXACT(function) \
  [](mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr) { return function(result, x, MPFR_RNDN); }
#define VYRE_EXACT_2(function) \
  [](mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr y) { return function(result, x, y, MPFR_RNDN); }
#else
using Exact = int (*)();
#define VYRE_EXACT(function) nullptr
#define VYRE_EXACT_2(function) nullptr
#endif

struct Function {
  Intrinsic op;
  long double (*reference)(long double x, long double y);
  Exact exact;
  double bound;
  double first, last;  // where most arguments are taken from
};

#ifdef VYRE_MPFR
int recip_exactly(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t) {
  return mpfr_ui_div(result, 1, x, MPFR_RNDN);
}
// Of -0 it is -inf, as IEEE-754 has it; mpfr_rec_sqrt says +inf.
int rsqrt_exactly(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t) {
  mpfr_sqrt(result, x, MPFR_RNDN);
  return mpfr_ui_div(result, 1, result, MPFR_RNDN);
}
#endif

#define VYRE_ONE(op, function, mpfr, bound, first, last)               \
  {Intrinsic::op,                                                      \
   [](long double x, long double) -> long double { return function; }, \
   VYRE_EXACT(mpfr),                                                   \
   bound,                                                              \
   first,                                                              \
   last}
#define VYRE_TWO(op, function, mpfr, bound, first, last)                 \
  {Intrinsic::op,                                                        \
   [](long double x, long double y) -> long double { return function; }, \
   VYRE_EXACT_2(mpfr),                                                   \
   bound,                                                                \
   first,                                                                \
   last}
const Function kFunctions[] = {
    VYRE_ONE(Exp, std::exp(x), mpfr_exp, 1, -750, 712),
    VYRE_ONE(Exp2, std::exp2(x), mpfr_exp2, 1, -1080, 1026),
    VYRE_ONE(Log, std::log(x), mpfr_log, 1, 0, 4),
    VYRE_ONE(Log2, std::log2(x), mpfr_log2, 1, 0, 4),
    VYRE_ONE(Sin, std::sin(x), mpfr_sin, 1, -10, 10),
    VYRE_ONE(Cos, std::cos(x), mpfr_cos, 1, -10, 10),
    VYRE_ONE(Tan, std::tan(x), mpfr_tan, 1, -10, 10),
    VYRE_ONE(Asin, std::asin(x), mpfr_asin, 1, -1, 1),
    VYRE_ONE(Acos, std::acos(x), mpfr_acos, 1, -1, 1),
    VYRE_ONE(Atan, std::atan(x), mpfr_atan, 1, -5, 5),
    VYRE_ONE(Sinh, std::sinh(x), mpfr_sinh, 1, -30, 30),
    VYRE_ONE(Cosh, std::cosh(x), mpfr_cosh, 1, -30, 30),
    VYRE_ONE(Tanh, std::tanh(x), mpfr_tanh, 1, -25, 25),
    VYRE_TWO(Pow, std::pow(x, y), mpfr_pow, 2, 0, 4),
    VYRE_ONE(Rsqrt, recip_of(std::sqrt(x)), rsqrt_exactly, 1, 0, 4),
    VYRE_ONE(Recip, recip_of(x), recip_exactly, 1, -4, 4),
    VYRE_TWO(Atan2, std::atan2(x, y), mpfr_atan2, 1, -4, 4),
    VYRE_TWO(Hypot, std::hypot(x, y), mpfr_hypot, 1, -4, 4),
    VYRE_ONE(Log10, std::log10(x), mpfr_log10, 1, 0, 4),
    VYRE_ONE(Log1p, std::log1p(x), mpfr_log1p, 1, -1, 4),
    VYRE_ONE(Expm1, std::expm1(x), mpfr_expm1, 1, -45, 45),
    VYRE_ONE(Cbrt, std::cbrt(x), mpfr_cbrt, 1, -8, 8),
    VYRE_ONE(Erf, std::erf(x), mpfr_erf, 2, -6.2, 6.2),
    VYRE_ONE(Exp10, exp10l(x), mpfr_exp10, 1, -325, 310),
};
#undef VYRE_ONE
#undef VYRE_TWO

// Of four kinds: any bits; a number of the range; the same closer to 0; and one that fits the
// first.
void arguments(Random& random, size_t kind, const Function& f, double& x, double& y) {
  x = std::bit_cast<double>(random.next());
  y = std::bit_cast<double>(random.next());
  const double place = random.unit();
  const double other = random.unit();
  const uint64_t choice = random.next();
  if (kind % 4 == 0) return;
  if (kind % 4 == 3) {
    if (f.op == Intrinsic::Pow) {
      // A result of any size, for any base and for bases near 1.
      x = std::fabs(x);
      if (choice % 2 == 0) x = 1 + std::ldexp(other - 0.5, -static_cast<int>((choice >> 8) % 50));
      y = (place * 2120 - 1090) / std::log2(x);
    } else {
      y = x * (other * 4 - 2);
      if (ir::arity_of(f.op) == 1) x = std::ldexp(place + 1, static_cast<int>(choice % 128) - 64);
    }
    return;
  }
  x = f.first + (f.last - f.first) * place;
  y = f.first + (f.last - f.first) * other;
  if (kind % 4 == 2) x = std::ldexp(x, -static_cast<int>(choice % 40));
}

#ifdef VYRE_MPFR
// 64 bits, as long double, of 200.
class Precise {
 public:
  Precise() { mpfr_inits2(200, x_, y_, result_, nullptr); }
  ~Precise() { mpfr_clears(x_, y_, result_, nullptr); }
  Precise(const Precise&) = delete;
  Precise& operator=(const Precise&) = delete;
  long double operator()(const Function& f, double x, double y) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    mpfr_set_d(y_, y, MPFR_RNDN);
    f.exact(result_, x_, y_);
    return mpfr_get_ld(result_, MPFR_RNDN);
  }

 private:
  mpfr_t x_, y_, result_;
};
#else
struct Precise {
  long double operator()(const Function& f, double x, double y) const { return f.reference(x, y); }
};
#endif

constexpr uint64_t kBlock = 4096;
constexpr uint64_t kSeldom = 256;

Tally sampled(const Options& options, const Function& f) {
  const std::vector<double> special = special_f64();
  const uint64_t known = arity_of(f.op) == 2 ? special.size() * special.size() : special.size();
  const ir::MathsF64 function = ir::native_maths_f64(f.op);
  return run(
      (known + options.doubles) / kBlock, options.threads, [&](uint64_t number, Tally& tally) {
        Random random(number);
        Precise precise;
        for (uint64_t i = 0; i < kBlock; ++i) {
          const uint64_t index = number * kBlock + i;
          double x = 0, y = 0;
          arguments(random, i, f, x, y);
          if (index < known) {
            x = special[index % special.size()];
            y = special[index / special.size()];
          }
          const double result = function(x, y);
          long double exact = f.reference(x, y);
          if (index < known || i % kSeldom == i / kSeldom % 4) exact = precise(f, x, y);
          const auto nearest = static_cast<double>(exact);
          ++tally.inputs;
          tally.rounded += result == nearest || (result != result && nearest != nearest) ? 1 : 0;
          tally.add_error(ulp_error(result, exact), x, y);
        }
      });
}

}  // namespace

void verify_f64(const Options& options) {
  for (const Function& f : kFunctions) {
    const std::string name = std::string(name_of(f.op)) + " f64";
    row(options, name.c_str(), f.bound, [&] { return sampled(options, f); });
  }
}

}  // namespace vyre::test
