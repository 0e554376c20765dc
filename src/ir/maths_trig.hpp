// SPDX-License-Identifier: Apache-2.0
// sin, cos and tan. |x| is split into n pi/2 + r with r as a pair of numbers, |r| <= pi/4 and a
// little more: by three fused steps up to 2^16, beyond that by an exact product with the bits of
// 2/pi that matter. The only branch of the library is the one between the two.
#pragma once

#include "ir/maths_pieces.hpp"

namespace vyre::ir::maths {

// sin(r) = r + r^3 q(r^2)
inline constexpr std::array kSin = {-0x1.555556p-3f, 0x1.111174p-7f, -0x1.a0591ep-13f,
                                    0x1.7c1116p-19f};
// cos(r) = 1 - r^2 / 2 + r^4 q(r^2)
inline constexpr std::array kCos = {0x1.55555p-5f, -0x1.6c0f26p-10f, 0x1.9aa15ap-16f};
// tan(r) = r + r^3 q(r^2)
inline constexpr std::array kTan = {0x1.555562p-2f, 0x1.110d1ap-3f, 0x1.baf0bap-5f,
                                    0x1.5bd58ap-6f, 0x1.678956p-7f, -0x1.62c9aap-14f,
                                    0x1.24759cp-8f};
// 0, then the fraction of 2/pi, 32 bits each
inline constexpr std::array<uint32_t, 8> kTwoOverPi = {
    0, 0xa2f9'836e, 0x4e44'1529, 0xfc27'57d1, 0xf534'ddc0, 0xdb62'9599, 0x3c43'9041, 0xfe51'63ab};

template <class B>
struct TrigFunctions {
  using P = Pieces<B>;
  using F = typename B::F32;
  using U = typename B::U32;
  using Bool = typename B::Bool;

  static F sin(F x) {
    const F a = B::let(P::magnitude(x));
    const Bool tiny = B::let(a < kTiny);
    const Reduced part = reduce(without(tiny, a));
    return finish(a, B::select(tiny, a, wave(part, part.quadrant)), P::sign(x));
  }

  static F cos(F x) {
    const F a = B::let(P::magnitude(x));
    const Reduced part = reduce(without(a < kTiny, a));
    return finish(a, wave(part, B::let(part.quadrant + 1u)), U(0u));
  }

  // In odd quadrants -1 / tan(r), which needs the tangent as a pair.
  static F tan(F x) {
    const F a = B::let(P::magnitude(x));
    const Bool tiny = B::let(a < kTiny);
    const Reduced part = reduce(without(tiny, a));
    const F r = part.hi;
    const F z = B::let(r * r);
    const F cubic = B::let(r * z * P::polynomial(kTan, z));
    const F near = B::let(r + cubic);
    const F w = B::let(cubic + B::fma(near * near, part.lo, part.lo));
    const typename P::Pair t = P::fast_sum(r, w);
    const F y = P::near_recip(t.hi);
    const F e = B::fma(-t.lo, y, B::fma(-t.hi, y, F(1.0f)));
    const F cotangent = B::fma(e, y, y);
    const Bool odd = (part.quadrant & 1u) == 1u;
    const F result = B::select(odd, -cotangent, t.hi);
    return finish(a, B::select(tiny, a, result), P::sign(x));
  }

  // ---- what the approximations share (maths_approximate.hpp)

  // Below this sin(a) and tan(a) round to a. The powers of such an a may be subnormal, which takes
  // a CPU a hundred times as long as other numbers, so they are made of 0 instead.
  static constexpr float kTiny = 0x1p-14f;
  static F without(Bool tiny, F a) { return B::let(B::select(tiny, F(0.0f), a)); }

  struct Reduced {
    F hi, lo;
    U quadrant;  // its low two bits count
  };

  // a = m 2^s with a whole m < 2^24. m 2^s 2/pi is needed modulo 4 only, so the product starts with
  // the bit of 2/pi that 2^s moves to the place of 2^1. Of 96 bits from there 72 are good, less two
  // for the quadrant and at most 29 zeros: no f32 is closer than 2^-29.9 quarter turns to a whole
  // number of them. `kLow`: as a pair; otherwise as its sum, twice.
  template <bool kLow>
  static Reduced reduce_large(U bits) {
    const U skip = B::let((bits >> 23) - 120u);  // of kTwoOverPi, in bits: s + 30
    const Words x = window(skip);
    const U m = B::let((bits & kFraction) | kMinNormalBits);

    const U low = B::let(m * x.word[2]);
    const U carried = B::mul_hi(m, x.word[2]);
    const U added = B::let(m * x.word[1]);
    const U middle = B::let(added + carried);
    const U overflow = B::select(middle < added, U(1u), U(0u));
    const U high = B::let(m * x.word[0] + B::mul_hi(m, x.word[1]) + overflow);

    // Two bits of quadrant, then the fraction; from one half on it counts down to the next one.
    const U top = B::let((high << 2) | (middle >> 30));
    const U rest = (middle << 2) | (low >> 30);
    const Bool above = B::let(top >= kSignBit);
    const U mask = B::let(B::select(above, U(0xffff'ffffu), U(0u)));
    const U f0 = B::let(top ^ mask);
    const U f1 = B::let(rest ^ mask);
    const U quadrant = B::let((high >> 30) + (mask & 1u));

    // 48 bits of the fraction as two numbers of 24 bits
    const U zeros = B::let(B::clz(f0 | 1u));
    const U n0 = B::let((f0 << zeros) | ((f1 >> 1) >> (31u - zeros)));
    const U n1 = f1 << zeros;
    const F unit = B::let(B::real32((103u - zeros) << 23));  // 2^(-24 - zeros)
    const F h = B::let(B::number(n0 >> 8) * unit);
    const F l = B::number(((n0 & 0xffu) << 16) | (n1 >> 16)) * (unit * 0x1p-24f);

    const F r = B::let(h * kHalfPi);
    const F r_low = B::fma(l, F(kHalfPi), B::fma(h, F(kHalfPiLow), B::fma(h, F(kHalfPi), -r)));
    const U sign = B::let(mask & kSignBit);
    if constexpr (kLow) {
      return {B::let(P::flip(r, sign)), B::let(P::flip(r_low, sign)), quadrant};
    } else {
      const F sum = B::let(P::flip(r + r_low, sign));
      return {sum, sum, quadrant};
    }
  }

  static F finish(F a, F result, U sign) {
    return B::select(a < P::infinity(), P::flip(result, sign), P::nan());
  }

 private:
  static Reduced reduce(F a) {
    const Reduced small = reduce_small(a);
    auto hi = B::var(small.hi);
    auto lo = B::var(small.lo);
    auto quadrant = B::var(small.quadrant);
    B::when(a > 0x1p16f, [&] {
      const Reduced large = reduce_large<true>(B::let(B::bits32(a)));
      hi = large.hi;
      lo = large.lo;
      quadrant = large.quadrant;
    });
    return {B::get(hi), B::get(lo), B::get(quadrant)};
  }

  static Reduced reduce_small(F a) {
    const typename P::Whole n = P::round_product(a, F(0x1.45f306p-1f));
    // Exact: both terms are multiples of 2^-24, and little more than pi/4 is left.
    const F first = B::let(B::fma(-n.number, F(kHalfPi), a));
    const F step = B::let(n.number * kHalfPiLow);
    const F step_low = B::fma(n.number, F(kHalfPiLow), -step);
    // first - step with its rounding error, whichever of the two is larger
    const F near = B::let(first - step);
    const F back = B::let(near - first);
    const F error = (first - (near - back)) - (step + back);
    const F low = B::let(B::fma(-n.number, F(kHalfPiLowest), error - step_low));
    const typename P::Pair r = P::fast_sum(near, low);
    return {r.hi, r.lo, n.word};
  }

  struct Words {
    std::array<U, 3> word;
  };
  // 96 bits of kTwoOverPi from bit `skip` (23 to 135) on: whole words by halving the choice, the
  // rest by shifts. Selects of constants need no memory.
  static Words window(U skip) {
    std::array<U, 8> w;
    for (size_t i = 0; i < w.size(); ++i) w[i] = U(kTwoOverPi[i]);
    // Four words are needed in the end, and before that one more for each that may still be
    // skipped; after a skip of four there is no other.
    skip_words<4, 4>(w, skip);
    skip_words<2, 5>(w, skip);
    skip_words<1, 4>(w, skip);
    const U shift = B::let(skip & 31u);
    const U back = B::let(31u - shift);
    Words out;
    for (size_t i = 0; i < 3; ++i)
      out.word[i] = B::let((w[i] << shift) | ((w[i + 1] >> 1) >> back));
    return out;
  }

  // Drops the first kStep words if the bit of `skip` says so; kCount words are left.
  template <uint32_t kStep, size_t kCount>
  static void skip_words(std::array<U, 8>& w, U skip) {
    const Bool move = B::let((skip & (kStep << 5)) != 0u);
    for (size_t i = 0; i < kCount; ++i) w[i] = B::let(B::select(move, w[i + kStep], w[i]));
  }

  // sin(r + quadrant pi/2); the quadrant must be named.
  static F wave(const Reduced& part, U quadrant) {
    const F r = part.hi;
    const F z = B::let(r * r);
    const F half = B::let(z * 0.5f);
    const F w = B::let(1.0f - half);
    const F sine = r + B::fma(r * z, P::polynomial(kSin, z), part.lo * w);
    // Half of what z lost by rounding, and what r.lo changes
    const F lost = B::fma(r, part.lo, B::fma(r, r, -z) * 0.5f);
    const F tail = B::fma(z * z, P::polynomial(kCos, z), -lost);
    const F cosine = w + (((1.0f - w) - half) + tail);
    const Bool odd = (quadrant & 1u) == 1u;
    return P::flip(B::select(odd, cosine, sine), (quadrant & 2u) << 30);
  }
};

}  // namespace vyre::ir::maths
