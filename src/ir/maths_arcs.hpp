// SPDX-License-Identifier: Apache-2.0
// asin, acos, atan and atan2 for any format. Quotients and roots are pairs, so that moving an
// argument into the middle costs no digits: atan(a / b) = pi/4 - atan((b - a) / (b + a)) beyond
// tan(pi/8), and asin as for f32 (maths_inverse.hpp).
#pragma once

#include "ir/maths_format.hpp"

namespace vyre::ir::maths {

template <class B, template <class> class Format>
struct ArcFunctions {
  using P = Parts<B, Format>;
  using T = typename P::T;
  using F = typename P::F;
  using U = typename P::U;
  using Bool = typename P::Bool;
  using Real = typename P::Real;
  using Word = typename P::Word;
  using Pair = typename P::Pair;

  static F atan(F x) {
    const F a = B::let(P::magnitude(x));
    constexpr Real kMost = sizeof(Real) == 4 ? 0x1p30 : 0x1p60;  // atan is pi/2 far before
    const F c = B::let(B::select(a > kMost, F(kMost), a));
    const Bool swapped = B::let(c > Real(1));
    const F low = B::let(B::select(swapped, F(Real(1)), c));
    const F high = B::let(B::select(swapped, c, F(Real(1))));
    return P::flip(turned(arc(low, high), swapped, c != c), P::sign(x));
  }

  // The arguments are scaled so that the larger one is in [2, 4).
  static F atan2(F y, F x) {
    const F ay = B::let(P::magnitude(y));
    const F ax = B::let(P::magnitude(x));
    const Bool swapped = B::let(ay > ax);
    const F low = B::let(B::select(swapped, ax, ay));
    const F high = B::let(B::select(swapped, ay, ax));
    // Two infinite numbers count as equal; one is as far from the other as from 0.
    const Bool endless = B::let(high == P::infinity());
    const F one_or_zero = B::select(low == P::infinity(), F(Real(1)), F(Real(0)));
    const F a = B::let(B::select(endless, one_or_zero, low));
    const F b = B::let(B::select(B::either(endless, high == Real(0)), F(Real(1)), high));
    const F up = B::let(B::select(b < T::real(U(P::kMinNormal)), F(P::kUp), F(Real(1))));
    const F b_up = B::let(b * up);
    const U power = U(2 * T::kBias + 1) - (T::bits(b_up) >> T::kFractionBits);
    const F factor = B::let(T::real(power << T::kFractionBits));
    const Arc part = arc(B::let(a * up * factor), B::let(b_up * factor));
    const F size = turned(part, swapped, P::sign(x) != Word(0));
    return B::select(B::either(x != x, y != y), P::nan(), P::flip(size, P::sign(y)));
  }

  static F asin(F x) {
    const F a = B::let(P::magnitude(x));
    const Folded part = fold(a);
    const Pair sum = P::fast_sum(F(T::kHalfPi), B::let(part.t * Real(-2)));
    const F large = sum.hi + ((sum.lo + T::kHalfPiLow) - part.w * Real(2));
    const F result = B::select(part.folded, large, part.t + part.w);
    return B::select(a <= Real(1), P::flip(result, P::sign(x)), P::nan());
  }

  // base + u + v, where base is 0, pi/2 or pi and (u, v) is the arc sine or twice it, with a sign.
  static F acos(F x) {
    const F a = B::let(P::magnitude(x));
    const Folded part = fold(a);
    const U sign = B::let(P::sign(x));
    const Bool negative = B::let(sign != Word(0));
    const F zero = F(Real(0));
    const F base =
        B::let(B::select(part.folded, B::select(negative, F(T::kPi), zero), F(T::kHalfPi)));
    const F base_low =
        B::select(part.folded, B::select(negative, F(T::kPiLow), zero), F(T::kHalfPiLow));
    const F factor = B::select(part.folded, F(Real(2)), F(Real(-1)));
    const F signed_factor = B::let(P::flip(factor, sign));
    const Pair sum = P::fast_sum(base, B::let(part.t * signed_factor));
    const F result = sum.hi + B::fma(part.w, signed_factor, sum.lo + base_low);
    return B::select(a <= Real(1), result, P::nan());
  }

 private:
  struct Arc {
    F t, w;  // atan(a / b) = t + w, or pi/4 - (t + w)
    Bool folded;
  };
  // 0 <= a <= b, b near 1.
  static Arc arc(F a, F b) {
    const Bool folded = B::let(a > b * Real(0.41421356));
    const Pair difference = P::fast_sum(b, B::let(-a));
    const Pair sum = P::fast_sum(b, a);
    const F zero = F(Real(0));
    const Pair over = {B::let(B::select(folded, difference.hi, a)),
                       B::let(B::select(folded, difference.lo, zero))};
    const Pair under = {B::let(B::select(folded, sum.hi, b)),
                        B::let(B::select(folded, sum.lo, zero))};
    const Pair q = P::quotient(over, under);
    const F z = B::let(q.hi * q.hi);
    // The slope of atan is 1 / (1 + z); a line is near enough for the rest of the quotient.
    const F w = B::fma(q.hi * z, P::polynomial(T::kAtan, z), B::fma(-z, q.lo, q.lo));
    return {q.hi, B::let(w), folded};
  }
  // The angle in its octant: `swapped`, pi/2 less it; `beyond`, pi less that.
  static F turned(const Arc& part, Bool swapped, Bool beyond) {
    const F near = B::let(B::select(part.folded, F(Real(1)), F(Real(0))));
    const F half = B::let(B::select(swapped, Real(2) - near, near));
    const F j = B::let(B::select(beyond, Real(4) - half, half));  // quarters of pi
    const U minus = U(P::kSign), plus = U(Word(0));
    const U sign = B::let(B::select(part.folded, minus, plus) ^ B::select(swapped, minus, plus) ^
                          B::select(beyond, minus, plus));
    const Pair c = P::product(j, F(T::kQuarterPi));
    const Pair sum = P::fast_sum(c.hi, B::let(P::flip(part.t, sign)));
    const F c_low = B::fma(j, F(T::kQuarterPiLow), c.lo);
    return sum.hi + (sum.lo + (c_low + P::flip(part.w, sign)));
  }

  struct Folded {
    F t, w;  // asin(t + ...) = t + w
    Bool folded;
  };
  static Folded fold(F a) {
    const Bool folded = B::let(a > Real(0.5));
    const F half = B::let(B::fma(a, F(Real(-0.5)), F(Real(0.5))));  // (1 - a) / 2, exact if folded
    const F y = P::near_rsqrt(half);
    const F root = B::let(half * y);
    const F root_low = B::fma(-root, root, half) * (y * Real(0.5));
    const F z = B::let(B::select(folded, half, a * a));
    const F t = B::let(B::select(folded, root, a));
    const F t_low = B::select(folded, root_low, F(Real(0)));
    return {t, B::let(B::fma(t * z, P::polynomial(T::kAsin, z), t_low)), folded};
  }
};

}  // namespace vyre::ir::maths
