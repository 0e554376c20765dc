// SPDX-License-Identifier: Apache-2.0
// exp, exp2, exp10, expm1 and the hyperbolic functions for any format. The argument is split into
// n ln 2 + r with r as a pair, e^r - 1 comes as a pair, and everything else is made of that.
#pragma once

#include "ir/maths_format.hpp"

namespace vyre::ir::maths {

template <class B, template <class> class Format>
struct PowerFunctions {
  using P = Parts<B, Format>;
  using T = typename P::T;
  using F = typename P::F;
  using U = typename P::U;
  using Bool = typename P::Bool;
  using Real = typename P::Real;
  using Word = typename P::Word;
  using Pair = typename P::Pair;

  // Beyond the upper limits results overflow by themselves, below the lower ones they are selected:
  // on a CPU results that underflow take a hundred times as long as others. NaN passes.
  static F exp(F x) {
    const Bool zero = B::let(x < T::kExpLeast);
    const F c = limited(x, zero, T::kExpMost);
    const Reduced part = reduce(c, T::kLog2E, T::kLn2Short, T::kLn2Rest);
    return B::select(zero, F(Real(0)), P::scale(one_plus(expm1_reduced(part.r)), part.n));
  }

  static F exp2(F x) {
    const Bool zero = B::let(x < T::kExp2Least);
    const F c = limited(x, zero, T::kExp2Most);
    const typename P::Whole n = P::round(c);
    const Pair r = {B::let(c - n.number), F(Real(0))};
    return B::select(zero, F(Real(0)), P::scale(exp2_reduced(r), n.word));
  }

  static F exp10(F x) {
    const Bool zero = B::let(x < T::kExp10Least);
    const F c = limited(x, zero, T::kExp10Most);
    const Reduced part = reduce(c, T::kLog2Ten, T::kLg2Short, T::kLg2Rest);
    const Pair r = times(part.r, T::kLn10, T::kLn10Low);
    return B::select(zero, F(Real(0)), P::scale(one_plus(expm1_reduced(r)), part.n));
  }

  // 2^n ((1 - 2^-n) + (e^r - 1))
  static F expm1(F x) {
    const Bool low = B::let(x < T::kExpm1Least);
    const F c =
        B::let(B::select(x > T::kExpMost, F(T::kExpMost), B::select(low, F(T::kExpm1Least), x)));
    const Reduced part = reduce(c, T::kLog2E, T::kLn2Short, T::kLn2Rest);
    const Pair p = expm1_reduced(part.r);
    const Pair sum = expm1_scaled(p, inverse_power(part.n));
    const F result = P::scale(sum.hi + sum.lo, part.n);
    return B::select(P::magnitude(x) < T::kTiny, x, result);
  }

  // 2^(n-1) (d + 2^-2n / d) with d = e^r
  static F cosh(F x) {
    const Hyperbolic h = hyperbolic(x, Real(1), T::kCoshMost);
    const F square = B::let(h.q * h.q);
    const F y = P::near_recip(h.d.hi);
    const F y_low = B::fma(-h.d.lo, y, B::fma(-h.d.hi, y, F(Real(1)))) * y;
    const Pair sum = P::fast_sum(h.d.hi, B::let(y * square));
    return P::scale(sum.hi + (sum.lo + B::fma(y_low, square, h.d.lo)), h.n - Word(1));
  }

  // (E + E / (E + 1)) / 2 with E = e^|x| - 1
  static F sinh(F x) {
    const Hyperbolic h = hyperbolic(x, Real(1), T::kCoshMost);
    const Pair e = expm1_scaled(h.p, h.q);
    const Pair ratio = P::quotient(e, h.d);
    const Pair sum = P::fast_sum(e.hi, B::let(ratio.hi * h.q));
    const F size = sum.hi + (sum.lo + B::fma(ratio.lo, h.q, e.lo));
    return P::flip(P::scale(size, h.n - Word(1)), P::sign(x));
  }

  // E / (E + 2) with E = e^2|x| - 1
  static F tanh(F x) {
    const Hyperbolic h = hyperbolic(x, Real(2), T::kTanhMost);
    const Pair e = expm1_scaled(h.p, h.q);
    const Pair d = P::fast_sum(h.d.hi, h.q);
    const Pair ratio = P::quotient(e, {d.hi, B::let(d.lo + h.d.lo)});
    return P::flip(ratio.hi + ratio.lo, P::sign(x));
  }

  // 2^r
  static F exp2_reduced(const Pair& r) {
    return one_plus(expm1_reduced(times(r, T::kLn2, T::kLn2Low)));
  }

 private:
  static F limited(F x, Bool zero, Real most) {
    return B::let(B::select(x > most, F(most), B::select(zero, F(Real(0)), x)));
  }

  struct Reduced {
    Pair r;
    U n;
  };
  // c = n unit + r, where the product of n and the short part of the unit, and its difference from
  // c, are exact.
  static Reduced reduce(F c, Real factor, Real unit, Real unit_rest) {
    const typename P::Whole n = P::round_product(c, factor);
    const F first = B::let(B::fma(-n.number, F(unit), c));
    const F step = B::let(n.number * unit_rest);
    const F hi = B::let(first - step);
    const F lo = ((first - hi) - step) - B::fma(n.number, F(unit_rest), -step);
    return {{hi, B::let(lo)}, n.word};
  }
  static Pair times(const Pair& r, Real factor, Real factor_low) {
    const Pair t = P::product(r.hi, F(factor));
    return {t.hi, B::let(t.lo + B::fma(r.hi, F(factor_low), r.lo * factor))};
  }

  // e^(r.hi + r.lo) - 1 = r + r^2 / 2 + r^3 q(r)
  static Pair expm1_reduced(const Pair& r) {
    const F x = r.hi;
    const Pair square = P::product(x, B::let(x * Real(0.5)));
    const Pair near = P::fast_sum(x, square.hi);
    const F tail = near.lo + (square.lo + B::fma(x, r.lo, r.lo));
    const F cube = B::let(square.hi * (x + x));
    return P::fast_sum(near.hi, B::let(B::fma(cube, P::polynomial(T::kExp, x), tail)));
  }
  static F one_plus(const Pair& p) {
    const Pair sum = P::fast_sum(F(Real(1)), p.hi);
    return sum.hi + (sum.lo + p.lo);
  }

  // 2^-n, or a number too small to count.
  static F inverse_power(U n) {
    constexpr Word kFew = 2 * Word(T::kFractionBits);
    const U few = B::select(n + T::kBias < T::kBias + kFew, n, U(kFew));
    return B::let(T::real((U(T::kBias) - few) << T::kFractionBits));
  }
  // (1 - q) + p
  static Pair expm1_scaled(const Pair& p, F q) {
    const Pair a = P::sum(F(Real(1)), B::let(-q));
    const Pair b = P::fast_sum(a.hi, p.hi);
    return P::fast_sum(b.hi, B::let(b.lo + (a.lo + p.lo)));
  }

  // factor |x| = n ln 2 + r: e^r - 1, e^r and 2^-n.
  struct Hyperbolic {
    Pair p, d;
    F q;
    U n;
  };
  static Hyperbolic hyperbolic(F x, Real factor, Real most) {
    const F a = B::let(P::magnitude(x));
    const F c = B::let(B::select(a > most, F(most * factor), a * factor));
    const Reduced part = reduce(c, T::kLog2E, T::kLn2Short, T::kLn2Rest);
    const Pair p = expm1_reduced(part.r);
    const Pair one = P::fast_sum(F(Real(1)), p.hi);
    const Pair d = P::fast_sum(one.hi, B::let(one.lo + p.lo));
    return {p, d, inverse_power(part.n), part.n};
  }
};

}  // namespace vyre::ir::maths
