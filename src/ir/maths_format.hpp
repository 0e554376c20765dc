// SPDX-License-Identifier: Apache-2.0
// The two formats of numbers, and the pieces of functions that are written once for both. A
// function of this kind is a template over the backend and the format; the f32 functions of the
// first edition have sources of their own (maths_pieces.hpp), because their bits stay as they are.
#pragma once

#include <array>
#include <cstdint>

#include "ir/maths_tables.hpp"

namespace vyre::ir::maths {

// `kSteps` is how many steps that cube an error of some percent reach the last bits.
template <class B>
struct Single : SingleTables {
  using F = typename B::F32;
  using U = typename B::U32;
  using Real = float;
  using Word = uint32_t;
  static constexpr int kFractionBits = 23, kSteps = 2;
  static constexpr Word kBias = 127;
  static constexpr Word kRecipStart = 0x7ef3'11c7, kRsqrtStart = 0x5f37'59df;
  static constexpr Word kRcbrtStart = 0x54a2'fa8c;
  static constexpr Word kRootHalf = 0x3f35'04f3;  // sqrt(1/2)
  static U bits(F x) { return B::bits32(x); }
  static F real(U x) { return B::real32(x); }
  // About a third.
  static U third(U x) { return B::mul_hi(x, U(0x5555'5556u)); }
};
template <class B>
struct Double : DoubleTables {
  using F = typename B::F64;
  using U = typename B::U64;
  using Real = double;
  using Word = uint64_t;
  static constexpr int kFractionBits = 52, kSteps = 3;
  static constexpr Word kBias = 1023;
  static constexpr Word kRecipStart = 0x7fde'6238'22fc'16e6, kRsqrtStart = 0x5fe6'eb50'c7b5'37a9;
  static constexpr Word kRcbrtStart = 0x553e'f0ff'289d'd796;
  static constexpr Word kRootHalf = 0x3fe6'a09e'667f'3bcd;
  static U bits(F x) { return B::bits64(x); }
  static F real(U x) { return B::real64(x); }
  static U third(U x) {
    return ((x >> 32) * uint64_t{0x5555'5556}) & uint64_t{0xffff'ffff'0000'0000};
  }
};

template <class B, template <class> class Format>
struct Parts {
  using T = Format<B>;
  using F = typename T::F;
  using U = typename T::U;
  using Bool = typename B::Bool;
  using Real = typename T::Real;
  using Word = typename T::Word;

  static constexpr Word kSign = Word(1) << (sizeof(Word) * 8 - 1);
  static constexpr Word kMagnitude = kSign - 1;
  static constexpr Word kMinNormal = Word(1) << T::kFractionBits;
  static constexpr Word kFraction = kMinNormal - 1;
  static constexpr Word kOne = T::kBias << T::kFractionBits;
  static constexpr Word kInfinity = (2 * T::kBias + 1) << T::kFractionBits;
  static constexpr Word kNan = kInfinity | (kMinNormal >> 1);
  // A power of two, its exponent a multiple of 2 and 3, that makes every subnormal number normal.
  static constexpr Word kUpExponent = sizeof(Word) == 4 ? 24 : 54;
  static constexpr Real kUp = Real(uint64_t{1} << kUpExponent);

  // A number as the sum of two; `lo` is at most about an ULP of `hi`.
  struct Pair {
    F hi, lo;
  };

  // c[0] + c[1] x + c[2] x^2 + ...; x must be named.
  template <size_t N>
  static F polynomial(const std::array<Real, N>& c, F x) {
    static_assert(N >= 2);
    F sum = B::fma(F(c[N - 1]), x, F(c[N - 2]));
    for (size_t i = N - 2; i-- > 0;) sum = B::fma(sum, x, F(c[i]));
    return sum;
  }

  // round(x * factor), as maths_pieces.hpp does.
  struct Whole {
    F number;
    U word;  // two's complement
  };
  static Whole round_product(F x, Real factor) {
    return whole(B::fma(x, F(factor), F(T::kRounder)));
  }
  static Whole round(F x) { return whole(x + F(T::kRounder)); }

  // Of a word below 2^(fraction bits).
  static F number(U word) {
    constexpr Word kExponent = (T::kBias + Word(T::kFractionBits)) << T::kFractionBits;
    return T::real(word | kExponent) - F(T::kWholes);
  }

  // p * 2^n, rounded once, for a normal p near 1 and n (two's complement) from twice the least to
  // twice the greatest exponent.
  static F scale(F p, U n) {
    const U half = B::let((n + 2 * (T::kBias + 1)) >> 1);  // bias + 1 + floor(n / 2)
    const F first = T::real((half - Word(1)) << T::kFractionBits);
    const F second = T::real((n - half + (2 * T::kBias + 1)) << T::kFractionBits);
    return p * first * second;
  }

  // 1 / x to about an ULP, for a normal x whose reciprocal is far from subnormal.
  static F near_recip(F x) {
    return cubic_recip(x, B::let(T::real(U(T::kRecipStart) - T::bits(x))), T::kSteps);
  }
  // From a start y that is near.
  static F cubic_recip(F x, F y, int steps) {
    for (int step = 0; step < steps; ++step) {
      const F e = B::let(B::fma(-x, y, F(Real(1))));
      y = B::let(B::fma(B::fma(e, e, e), y, y));
    }
    return y;
  }

  // 1 / sqrt(x) to about an ULP, for a normal x > 0; finite for 0.
  static F near_rsqrt(F x) {
    F y = B::let(T::real(U(T::kRsqrtStart) - (T::bits(x) >> 1)));
    for (int step = 0; step < T::kSteps; ++step) {
      const F e = B::let(B::fma(-(x * y), y, F(Real(1))));
      y = B::let(B::fma(y * e, B::fma(e, F(Real(0.375)), F(Real(0.5))), y));
    }
    return y;
  }

  // hi + lo == a + b exactly, if |a| >= |b| or a is 0. The operands must be named.
  static Pair fast_sum(F a, F b) {
    const F hi = B::let(a + b);
    return {hi, B::let((a - hi) + b)};
  }
  // The same whichever is larger.
  static Pair sum(F a, F b) {
    const F hi = B::let(a + b);
    const F back = B::let(hi - a);
    return {hi, B::let((a - (hi - back)) + (b - back))};
  }
  // a b; the operands must be named.
  static Pair product(F a, F b) {
    const F hi = B::let(a * b);
    return {hi, B::let(B::fma(a, b, -hi))};
  }
  static Pair quotient(const Pair& a, const Pair& b) {
    const F y = near_recip(b.hi);
    const F q = B::let(a.hi * y);
    const F rest = B::fma(-q, b.hi, a.hi) + B::fma(-q, b.lo, a.lo);
    return {q, B::let(rest * y)};
  }

  static F magnitude(F x) { return T::real(T::bits(x) & kMagnitude); }
  static U sign(F x) { return T::bits(x) & kSign; }
  // x with its sign flipped where `sign` has the sign bit.
  static F flip(F x, U sign) { return T::real(T::bits(x) ^ sign); }
  static F nan() { return T::real(U(kNan)); }
  static F infinity() { return T::real(U(kInfinity)); }

 private:
  static Whole whole(F shifted) {
    constexpr Word kRounderBits =
        ((T::kBias + Word(T::kFractionBits)) << T::kFractionBits) | (kMinNormal >> 1);
    const F at = B::let(shifted);
    return {B::let(at - F(T::kRounder)), B::let(T::bits(at) - kRounderBits)};
  }
};

}  // namespace vyre::ir::maths
