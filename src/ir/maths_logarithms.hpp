// SPDX-License-Identifier: Apache-2.0
// log, log2, log10, log1p and pow for any format. The argument is split into 2^k (1 + f) with
// sqrt(1/2) <= 1 + f < sqrt(2), where f is exact, and log(1 + f) comes as a pair.
#pragma once

#include "ir/maths_powers.hpp"

namespace vyre::ir::maths {

template <class B, template <class> class Format>
struct LogarithmFunctions {
  using P = Parts<B, Format>;
  using T = typename P::T;
  using F = typename P::F;
  using U = typename P::U;
  using Bool = typename P::Bool;
  using Real = typename P::Real;
  using Word = typename P::Word;
  using Pair = typename P::Pair;

  static F log(F x) {
    const Split part = split(x);
    return special(x, natural(part.k, near_one(part.f), F(Real(0))));
  }

  static F log2(F x) {
    const Split part = split(x);
    const Pair v = times(near_one(part.f), T::kLog2E, T::kLog2ELow);
    const Pair sum = P::fast_sum(part.k, v.hi);
    return special(x, sum.hi + (sum.lo + v.lo));
  }

  static F log10(F x) {
    const Split part = split(x);
    const Pair v = times(near_one(part.f), T::kLgE, T::kLgELow);
    const Pair sum = P::fast_sum(B::let(part.k * T::kLg2Short), v.hi);
    return special(x, sum.hi + (sum.lo + B::fma(part.k, F(T::kLg2Rest), v.lo)));
  }

  // 1 + x = u + u_low; log(u + u_low) = log(u) + u_low / u and a little more. Near 0 f is x itself.
  static F log1p(F x) {
    const Pair u = P::sum(F(Real(1)), x);
    const Split part = split(u.hi);
    const Bool near = B::let(part.k == Real(0));
    const F f = B::let(B::select(near, x, part.f));
    // u_low 2^-k (1 / (1 + f)), where a line is near enough; from 2^100 on it is too small to
    // count.
    const U power = U(2 * T::kBias) - part.exponent;
    const F lost = u.lo * T::real(power << T::kFractionBits) * (Real(1.06) - f);
    const Bool none = B::either(near, part.exponent > T::kBias + 100);
    const F rest = B::let(B::select(none, F(Real(0)), lost));
    const F result = special(u.hi, natural(part.k, near_one(f), rest));
    return B::select(P::magnitude(x) < T::kTiny, x, result);
  }

  static F pow(F x, F y) {
    const U x_bits = B::let(T::bits(x));
    const U a_bits = B::let(x_bits & P::kMagnitude);
    const F a = B::let(T::real(a_bits));
    const F b = B::let(P::magnitude(y));

    // Whole and odd exponents: as for f32 (maths_log.hpp).
    const F wholes = F(T::kWholes);
    const F shifted = B::let(B::select(b < wholes, b + wholes, b));
    const Bool whole = B::let(B::either(b >= wholes, shifted - wholes == b));
    const Bool odd =
        B::both(B::both(b < T::kWholes * 2, whole), (T::bits(shifted) & Word(1)) == Word(1));
    const Bool negative = B::let(x_bits > P::kSign);  // less than zero, or NaN
    const U sign = B::let(B::select(odd, x_bits & P::kSign, U(Word(0))));

    const Bool grows = B::let(B::same(a > Real(1), y > Real(0)));
    const F limit = B::let(B::select(grows, P::infinity(), F(Real(0))));  // if it is not finite
    const F finite = B::let(exp2_pair(log2_pair(a), y));
    const Bool at_end =
        B::either(B::either(a_bits == Word(0), a_bits == P::kInfinity), b == P::infinity());
    const F size = B::let(B::select(at_end, limit, finite));

    const F result = B::let(P::flip(size, sign));
    const Bool invalid =
        B::either(B::both(B::both(negative, a < P::infinity()), !whole), B::either(a != a, b != b));
    const Bool unit = B::both(a_bits == P::kOne, B::either(x_bits == P::kOne, b == P::infinity()));
    return B::select(B::either(b == Real(0), unit), F(Real(1)),
                     B::select(invalid, P::nan(), result));
  }

 private:
  struct Split {
    F k, f;
    U exponent;  // k + bias, if x is normal
  };
  // x = 2^k (1 + f) for finite x > 0; subnormal numbers are scaled first.
  static Split split(F x) {
    const U bits = B::let(T::bits(x));
    const Bool tiny = B::let(bits < P::kMinNormal);
    const U normal = B::select(tiny, T::bits(x * P::kUp), bits);
    const U moved = B::let(normal + (P::kOne - T::kRootHalf));
    const U exponent = B::let(moved >> T::kFractionBits);
    const F k = B::let(P::number(exponent) -
                       B::select(tiny, F(Real(T::kBias + P::kUpExponent)), F(Real(T::kBias))));
    const F f = B::let(T::real((moved & P::kFraction) + T::kRootHalf) - Real(1));
    return {k, f, exponent};
  }

  // `finite` for finite x > 0, else what the logarithms have in common.
  static F special(F x, F finite) {
    const U bits = B::let(T::bits(x));
    const U end = B::select((bits & P::kMagnitude) == Word(0), U(P::kInfinity | P::kSign),
                            B::select(bits == P::kInfinity, U(P::kInfinity), U(P::kNan)));
    return B::select(bits - Word(1) < P::kInfinity - 1, finite, T::real(end));
  }

  // 1 / d for 1.7 <= d <= 2.42, from a line within 1.5 %.
  static F recip_two(F d) {
    return P::cubic_recip(d, B::let(B::fma(d, F(Real(-0.23903)), F(Real(0.98512)))), 2);
  }

  // log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + z q(z)); the second part is some percent of the first.
  static Pair near_one(F f) {
    const F s = B::let(f * recip_two(B::let(f + Real(2))));
    const F z = B::let(s * s);
    const F half = B::let(f * Real(0.5));
    const Pair h = P::product(f, half);
    const Pair sum = P::fast_sum(f, B::let(-h.hi));
    const F rest = B::fma(s, B::fma(z, P::polynomial(T::kLog, z), h.hi), sum.lo - h.lo);
    return {sum.hi, B::let(rest)};
  }
  // k ln 2 + l + rest
  static F natural(F k, const Pair& l, F rest) {
    const Pair sum = P::fast_sum(B::let(k * T::kLn2Short), l.hi);
    return sum.hi + (sum.lo + (B::fma(k, F(T::kLn2Rest), l.lo) + rest));
  }
  static Pair times(const Pair& l, Real factor, Real factor_low) {
    const Pair near = P::fast_sum(l.hi, l.lo);
    const Pair v = P::product(near.hi, F(factor));
    return {v.hi, B::let(v.lo + B::fma(near.hi, F(factor_low), near.lo * factor))};
  }

  // c + z t as a pair
  static Pair step(const Pair& z, const Pair& t, Real c, Real c_low) {
    const F v = B::let(z.hi * t.hi);
    const F v_low = B::fma(z.lo, t.hi, B::fma(z.hi, t.lo, B::fma(z.hi, t.hi, -v)));
    const Pair sum = P::fast_sum(F(c), v);
    return {sum.hi, B::let(sum.lo + (v_low + c_low))};
  }
  // log2(a) for finite a > 0, relative error about 2^-66.
  static Pair log2_pair(F a) {
    const Split part = split(a);
    const F f = part.f;
    // s = f / (2 + f); 2 + f has a rest, and so has the quotient.
    const F d = B::let(f + Real(2));
    const F d_low = B::let(f - (d - Real(2)));
    const F r = recip_two(d);
    const F s = B::let(f * r);
    const F s_low = B::let(B::fma(-s, d_low, B::fma(-s, d, f)) * r);
    const F square = B::let(s * s);
    const Pair z = {square, B::let(B::fma(s + s, s_low, B::fma(s, s, -square)))};
    const Pair last = P::fast_sum(F(T::kPow5), B::let(square * P::polynomial(T::kPow, square)));
    const Pair t5 = {last.hi, B::let(last.lo + T::kPow5Low)};
    const Pair t3 = step(z, t5, T::kPow3, T::kPow3Low);
    const Pair t1 = step(z, t3, T::kPow1, T::kPow1Low);
    const F p = B::let(s * t1.hi);
    const F p_low = B::fma(s, t1.lo, B::fma(s_low, t1.hi, B::fma(s, t1.hi, -p)));
    const Pair sum = P::fast_sum(part.k, p);
    return P::fast_sum(sum.hi, B::let(sum.lo + p_low));
  }

  // 2^(y l)
  static F exp2_pair(const Pair& l, F y) {
    const F product = B::let(y * l.hi);
    const F low = B::fma(y, l.lo, B::fma(y, l.hi, -product));
    const Bool zero = B::let(product < T::kExp2Least);
    const F c = B::let(
        B::select(product > T::kExp2Most, F(T::kExp2Most), B::select(zero, F(Real(0)), product)));
    const typename P::Whole n = P::round(c);
    // Where the product was cut, or is infinite, its rest means nothing.
    const F rest = B::let(B::select(c == product, low, F(Real(0))));
    const Pair r = P::fast_sum(B::let(c - n.number), rest);
    const F power = PowerFunctions<B, Format>::exp2_reduced(r);
    return B::select(zero, F(Real(0)), P::scale(power, n.word));
  }
};

}  // namespace vyre::ir::maths
