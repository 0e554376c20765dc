// SPDX-License-Identifier: Apache-2.0
// asin, acos and atan. Arguments near the ends are folded into the middle: asin(x) = pi/2 - 2
// asin(sqrt((1 - x) / 2)) beyond 1/2, atan(x) = pi/2 - atan(1 / x) beyond 1. Roots and reciprocals
// are pairs, so that folding costs no digits.
#pragma once

#include "ir/maths_pieces.hpp"

namespace vyre::ir::maths {

// asin(t) = t + t^3 q(t^2) for t <= 1/2
inline constexpr std::array kAsin = {0x1.5555c8p-3f, 0x1.330204p-4f, 0x1.747bbap-5f, 0x1.8c3e2ap-6f,
                                     0x1.595c8cp-5f};
// atan(t) = t + t^3 q(t^2) for t <= 1
inline constexpr std::array kAtan = {
    -0x1.555552p-2f, 0x1.99981cp-3f,  -0x1.24762p-3f, 0x1.c5117p-4f,   -0x1.6953bcp-4f,
    0x1.150ap-4f,    -0x1.7080bap-5f, 0x1.75303ep-6f, -0x1.e6a0dcp-8f, 0x1.29685ep-10f};

template <class B>
struct InverseFunctions {
  using P = Pieces<B>;
  using F = typename B::F32;
  using U = typename B::U32;
  using Bool = typename B::Bool;

  static F asin(F x) {
    const F a = B::let(P::magnitude(x));
    const Folded part = fold(a);
    const typename P::Pair sum = P::fast_sum(F(kHalfPi), B::let(part.t * -2.0f));
    const F large = sum.hi + ((sum.lo + kHalfPiLow) - part.w * 2.0f);
    const F result = B::select(part.folded, large, part.t + part.w);
    return B::select(a <= 1.0f, P::flip(result, P::sign(x)), P::nan());
  }

  // base + u + v, where base is 0, pi/2 or pi and (u, v) is the arc sine or twice it, with a sign.
  static F acos(F x) {
    const F a = B::let(P::magnitude(x));
    const Folded part = fold(a);
    const U sign = B::let(P::sign(x));
    const Bool negative = B::let(sign != 0u);
    const F base = B::let(B::select(part.folded, B::select(negative, F(kPi), F(0.0f)), F(kHalfPi)));
    const F base_low =
        B::select(part.folded, B::select(negative, F(kPiLow), F(0.0f)), F(kHalfPiLow));
    const F factor = B::select(part.folded, F(2.0f), F(-1.0f));
    const F signed_factor = B::let(P::flip(factor, sign));
    const typename P::Pair sum = P::fast_sum(base, B::let(part.t * signed_factor));
    const F result = sum.hi + B::fma(part.w, signed_factor, sum.lo + base_low);
    return B::select(a <= 1.0f, result, P::nan());
  }

  static F atan(F x) {
    const F a = B::let(P::magnitude(x));
    const F c = B::let(B::select(a > 0x1p30f, F(0x1p30f), a));  // atan is pi/2 far before
    const Bool folded = B::let(a >= 1.0f);                      // 1 too: so it is rounded to pi/4
    const F y = P::near_recip(c);
    const F y_low = B::fma(-c, y, F(1.0f)) * y;
    const F t = B::let(B::select(folded, y, c));
    const F t_low = B::select(folded, y_low, F(0.0f));
    const F z = B::let(t * t);
    // The slope of atan is 1 / (1 + z); a line is near enough for the rest of t.
    const F w =
        B::let(B::fma(t * z, P::polynomial(kAtan, z), t_low * B::fma(z, F(-0.5f), F(1.0f))));
    const typename P::Pair sum = P::fast_sum(F(kHalfPi), B::let(-t));
    const F large = sum.hi + ((sum.lo + kHalfPiLow) - w);
    return P::flip(B::select(folded, large, t + w), P::sign(x));
  }

 private:
  struct Folded {
    F t, w;  // asin(t + ...) = t + w
    Bool folded;
  };
  static Folded fold(F a) {
    const Bool folded = B::let(a > 0.5f);
    const F half = B::let(B::fma(a, F(-0.5f), F(0.5f)));  // (1 - a) / 2, exact if folded
    const F y = P::near_rsqrt(half);
    const F root = B::let(half * y);
    const F root_low = B::fma(-root, root, half) * (y * 0.5f);
    const F z = B::let(B::select(folded, half, a * a));
    const F t = B::let(B::select(folded, root, a));
    const F t_low = B::select(folded, root_low, F(0.0f));
    return {t, B::let(B::fma(t * z, P::polynomial(kAsin, z), t_low)), folded};
  }
};

}  // namespace vyre::ir::maths
