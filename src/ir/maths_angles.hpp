// SPDX-License-Identifier: Apache-2.0
// sin, cos and tan of f64. |x| is split into n pi/2 + r with r as a pair: by three fused steps up
// to 2^30, beyond that by an exact product with the bits of 2/pi that matter, in 32-bit digits,
// which every device multiplies quickly and side by side.
#pragma once

#include "ir/maths_format.hpp"

namespace vyre::ir::maths {

template <class B>
struct AngleFunctions {
  using P = Parts<B, Double>;
  using T = typename P::T;
  using F = typename P::F;
  using U = typename P::U;
  using Bool = typename P::Bool;
  using Pair = typename P::Pair;

  static F sin(F x) {
    const F a = B::let(P::magnitude(x));
    const Bool tiny = B::let(a < kTiny);
    const Reduced part = reduce(without(tiny, a));
    const F wave = B::select(is_odd(part.quadrant), total(cosine(part)), total(sine(part)));
    return finish(
        a, P::flip(B::select(tiny, a, P::flip(wave, half_period(part.quadrant))), P::sign(x)));
  }

  static F cos(F x) {
    const F a = B::let(P::magnitude(x));
    const Reduced part = reduce(without(a < kTiny, a));
    const U quadrant = B::let(part.quadrant + uint64_t{1});
    const F wave = B::select(is_odd(quadrant), total(cosine(part)), total(sine(part)));
    return finish(a, P::flip(wave, half_period(quadrant)));
  }

  // sin / cos, in odd quadrants -cos / sin
  static F tan(F x) {
    const F a = B::let(P::magnitude(x));
    const Bool tiny = B::let(a < kTiny);
    const Reduced part = reduce(without(tiny, a));
    const Pair s = named(sine(part));
    const Pair c = named(cosine(part));
    const Bool odd = B::let(is_odd(part.quadrant));
    const Pair over = {B::let(B::select(odd, -c.hi, s.hi)), B::let(B::select(odd, -c.lo, s.lo))};
    const Pair under = {B::let(B::select(odd, s.hi, c.hi)), B::let(B::select(odd, s.lo, c.lo))};
    const Pair ratio = P::quotient(over, under);
    return finish(a, P::flip(B::select(tiny, a, ratio.hi + ratio.lo), P::sign(x)));
  }

 private:
  // Below this sin(a) and tan(a) round to a; powers of such an a may be subnormal, which is slow.
  static constexpr double kTiny = 0x1p-28;
  static F without(Bool tiny, F a) { return B::let(B::select(tiny, F(0.0), a)); }
  static Bool is_odd(U quadrant) { return (quadrant & uint64_t{1}) == uint64_t{1}; }
  static U half_period(U quadrant) { return (quadrant & uint64_t{2}) << 62; }
  static F finish(F a, F result) { return B::select(a < P::infinity(), result, P::nan()); }

  struct Reduced {
    F hi, lo;
    U quadrant;  // its low two bits count
  };
  static Reduced reduce(F a) {
    const Reduced small = reduce_small(a);
    auto hi = B::var(small.hi);
    auto lo = B::var(small.lo);
    auto quadrant = B::var(small.quadrant);
    B::when(a > 0x1p30, [&] {
      const Reduced large = reduce_large(B::let(T::bits(a)));
      hi = large.hi;
      lo = large.lo;
      quadrant = large.quadrant;
    });
    return {B::let(B::get(hi)), B::let(B::get(lo)), B::let(B::get(quadrant))};
  }

  // As for f32: the first step is exact because what is left is a multiple of 2^-52 below 1.
  static Reduced reduce_small(F a) {
    const typename P::Whole n = P::round_product(a, T::kTwoOverPi);
    const F first = B::let(B::fma(-n.number, F(T::kHalfPi), a));
    const F step = B::let(n.number * T::kHalfPiLow);
    const F step_low = B::fma(n.number, F(T::kHalfPiLow), -step);
    const Pair near = P::sum(first, B::let(-step));
    const F low = B::let(B::fma(-n.number, F(T::kHalfPiLowest), near.lo - step_low));
    const Pair r = P::fast_sum(near.hi, low);
    return {r.hi, r.lo, n.word};
  }

  // a = m 2^s with a whole m < 2^53. m 2^s 2/pi is needed modulo 4 only, so the product starts with
  // the bit of 2/pi that 2^s moves to the place of 2^1. Of 192 bits from there 139 are good, less
  // two for the quadrant and at most 62 zeros: no f64 is closer than 2^-61.5 quarter turns to a
  // whole number of them.
  static Reduced reduce_large(U bits) {
    const std::array<U, 6> r = product(bits);
    // Two bits of quadrant, then the fraction; from one half on it counts down to the next one.
    const U f0 = B::let((r[0] << 34) | (r[1] << 2) | (r[2] >> 30));
    const U f1 = (r[2] << 34) | (r[3] << 2) | (r[4] >> 30);
    const U f2 = (r[4] << 34) | (r[5] << 2);
    const Bool above = B::let(f0 >= P::kSign);
    const U mask = B::let(B::select(above, U(~uint64_t{0}), U(uint64_t{0})));
    const U g0 = B::let(f0 ^ mask);
    const U g1 = B::let(f1 ^ mask);
    const U g2 = f2 ^ mask;
    const U quadrant = B::let((r[0] >> 30) + (mask & uint64_t{1}));

    // The fraction as three numbers of 52 bits, then as a pair, times pi/2
    const F first = B::let(P::number(g0 >> 12) * 0x1p-52);
    const F second = B::let(P::number(((g0 & uint64_t{0xfff}) << 40) | (g1 >> 24)) * 0x1p-104);
    const F third = P::number(((g1 & uint64_t{0xff'ffff}) << 28) | (g2 >> 36)) * 0x1p-156;
    const Pair fraction = P::fast_sum(first, second);
    const F fraction_low = B::let(fraction.lo + third);
    const Pair p = P::product(fraction.hi, F(T::kHalfPi));
    const F p_low = p.lo + B::fma(fraction.hi, F(T::kHalfPiLow), fraction_low * T::kHalfPi);
    const Pair angle = P::fast_sum(p.hi, B::let(p_low));
    const U sign = B::let(mask & P::kSign);
    return {P::flip(angle.hi, sign), P::flip(angle.lo, sign), quadrant};
  }

  // The 192 bits of the product, 32 in each word, the first one first.
  static std::array<U, 6> product(U bits) {
    const U skip = B::let((bits >> 52) - uint64_t{1045});  // of kTwoOverPiWide, in bits: s + 30
    const std::array<U, 6> digit = window(skip);
    const U low = B::let(bits & kDigit);
    const U high = B::let(((bits & P::kFraction) | P::kMinNormal) >> 32);
    std::array<U, 6> r;
    U carry = U(uint64_t{0});
    for (size_t i = 6; i-- > 0;) {
      const U sum = B::let(low * digit[i] + carry);
      r[i] = B::let(sum & kDigit);
      if (i > 0) carry = B::let(sum >> 32);  // the last one would be a multiple of 4
    }
    carry = U(uint64_t{0});
    for (size_t i = 5; i > 0; --i) {
      const U sum = B::let(high * digit[i] + r[i - 1] + carry);
      r[i - 1] = B::let(sum & kDigit);
      if (i > 1) carry = B::let(sum >> 32);
    }
    return r;
  }
  static constexpr uint64_t kDigit = 0xffff'ffff;

  // 192 bits of kTwoOverPiWide from bit `skip` (8 to 1001) on, 32 in each word: whole words by
  // halving the choice, the rest by shifts. Selects of constants need no memory.
  static std::array<U, 6> window(U skip) {
    std::array<U, 19> w;
    for (size_t i = 0; i < w.size(); ++i) w[i] = U(kTwoOverPiWide[i]);
    skip_words<8, 11>(w, skip);
    skip_words<4, 7>(w, skip);
    skip_words<2, 5>(w, skip);
    skip_words<1, 4>(w, skip);
    const U shift = B::let(skip & uint64_t{63});
    const U back = B::let(U(uint64_t{63}) - shift);
    std::array<U, 6> out;
    for (size_t i = 0; i < 3; ++i) {
      const U word = B::let((w[i] << shift) | ((w[i + 1] >> 1) >> back));
      out[2 * i] = B::let(word >> 32);
      out[2 * i + 1] = B::let(word & kDigit);
    }
    return out;
  }
  // Drops the first kStep words if the bit of `skip` says so; kCount words are left.
  template <uint64_t kStep, size_t kCount>
  static void skip_words(std::array<U, 19>& w, U skip) {
    const Bool move = B::let((skip & (kStep << 6)) != uint64_t{0});
    for (size_t i = 0; i < kCount; ++i) w[i] = B::let(B::select(move, w[i + kStep], w[i]));
  }

  static F total(const Pair& sum) { return sum.hi + sum.lo; }
  static Pair named(const Pair& sum) { return P::fast_sum(sum.hi, B::let(sum.lo)); }
  // sin(r) and cos(r), the second number some percent of the first
  static Pair sine(const Reduced& part) {
    const F r = part.hi;
    const F z = B::let(r * r);
    const F slope = B::fma(z, F(-0.5), F(1.0));
    return {r, B::fma(r * z, P::polynomial(T::kSin, z), part.lo * slope)};
  }
  static Pair cosine(const Reduced& part) {
    const F r = part.hi;
    const F z = B::let(r * r);
    const F half = B::let(z * 0.5);
    const F w = B::let(1.0 - half);
    // Half of what z lost by rounding, and what r.lo changes
    const F lost = B::fma(r, part.lo, B::fma(r, r, -z) * 0.5);
    const F tail = B::fma(z * z, P::polynomial(T::kCos, z), -lost);
    return {w, ((1.0 - w) - half) + tail};
  }
};

}  // namespace vyre::ir::maths
