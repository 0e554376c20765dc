// SPDX-License-Identifier: Apache-2.0
// log, log2 and pow. The argument is split into 2^k m with sqrt(1/2) <= m < sqrt(2); f = m - 1 is
// exact. pow needs log2(x) to some 35 bits, which two f32 numbers hold.
#pragma once

#include "ir/maths_exp.hpp"
#include "ir/maths_pieces.hpp"

namespace vyre::ir::maths {

// log(1 + f) = f + f^2 q(f)
inline constexpr std::array kLog = {-0x1p-1f,        0x1.555554p-2f,  -0x1.000226p-2f,
                                    0x1.99a01cp-3f,  -0x1.54728cp-3f, 0x1.22d936p-3f,
                                    -0x1.0d8232p-3f, 0x1.055e62p-3f,  -0x1.38c91p-4f};
// log2(1 + f) = f log2(e) + f^2 q(f)
inline constexpr std::array kLog2 = {-0x1.71547p-1f,  0x1.ec7094p-2f,  -0x1.715afep-2f,
                                     0x1.277f44p-2f,  -0x1.eaa24ap-3f, 0x1.a2c9ep-3f,
                                     -0x1.87f7f6p-3f, 0x1.7f27ecp-3f,  -0x1.c39ab2p-4f};
// log2(m) = s (2 log2(e) + s^2 (2/3 log2(e) + s^2 q(s^2))), s = (m - 1) / (m + 1)
inline constexpr std::array kPowLog2 = {0x1.27770ep-1f, 0x1.a5bbf4p-2f, 0x1.59ef0ap-2f};

template <class B>
struct LogFunctions {
  using P = Pieces<B>;
  using F = typename B::F32;
  using U = typename B::U32;
  using Bool = typename B::Bool;

  static F log(F x) {
    const Split part = split(x);
    const F f = part.f;
    // 15 bits of ln 2: their product with k is exact.
    const F base = B::let(part.k * 0x1.62e4p-1f);
    const typename P::Pair sum = P::fast_sum(base, f);
    const F tail = B::fma(part.k, F(0x1.7f7d1cp-20f), f * f * P::polynomial(kLog, f));
    return special(x, sum.hi + (sum.lo + tail));
  }

  static F log2(F x) {
    const Split part = split(x);
    const F f = part.f;
    const F first = B::let(f * kLog2E);
    const F rest = B::fma(f, F(kLog2ELow), B::fma(f, F(kLog2E), -first));
    const typename P::Pair sum = P::fast_sum(part.k, first);
    return special(x, sum.hi + (sum.lo + B::fma(f * f, P::polynomial(kLog2, f), rest)));
  }

  static F pow(F x, F y) {
    const U x_bits = B::let(B::bits32(x));
    const U a_bits = B::let(x_bits & kMagnitude);
    const F a = B::let(B::real32(a_bits));
    const F b = B::let(P::magnitude(y));

    // Is y a whole number, and an odd one? Below 2^23 adding 2^23 moves its units to the last bit,
    // from there to 2^24 they are there already, and beyond every number is even.
    const F shifted = B::let(B::select(b < 0x1p23f, b + 0x1p23f, b));
    const Bool whole = B::let(B::either(b >= 0x1p23f, shifted - 0x1p23f == b));
    const Bool odd = B::both(B::both(b < 0x1p24f, whole), (B::bits32(shifted) & 1u) == 1u);
    const Bool negative = B::let(x_bits > kSignBit);  // less than zero, or NaN
    const U sign = B::let(B::select(odd, x_bits & kSignBit, U(0u)));

    const Bool grows = B::let(B::same(a > 1.0f, y > 0.0f));
    const F limit = B::let(B::select(grows, P::infinity(), F(0.0f)));  // if it is not finite
    const F finite = B::let(exp2_pair(log2_pair(a), y));
    const Bool at_end =
        B::either(B::either(a_bits == 0u, a_bits == kInfinityBits), b == P::infinity());
    const F size = B::let(B::select(at_end, limit, finite));

    const F result = B::let(P::flip(size, sign));
    const Bool invalid =
        B::either(B::both(B::both(negative, a < P::infinity()), !whole), B::either(a != a, b != b));
    const Bool unit =
        B::both(a_bits == kOneBits, B::either(x_bits == kOneBits, b == P::infinity()));
    return B::select(B::either(b == 0.0f, unit), F(1.0f), B::select(invalid, P::nan(), result));
  }

 private:
  struct Split {
    F k, f;
  };
  // x = 2^k (1 + f) for finite x > 0; subnormal numbers are scaled first.
  static Split split(F x) {
    const U bits = B::let(B::bits32(x));
    const Bool tiny = B::let(bits < kMinNormalBits);
    const U normal = B::select(tiny, B::bits32(x * 0x1p24f), bits);
    const U moved = B::let(normal + (kOneBits - kRootHalf));
    const F k = B::let(B::number(moved >> 23) - B::select(tiny, F(151.0f), F(127.0f)));
    return {k, B::let(B::real32((moved & kFraction) + kRootHalf) - 1.0f)};
  }
  static constexpr uint32_t kRootHalf = 0x3f35'04f3;  // sqrt(1/2)

  // `finite` for finite x > 0, else what log and log2 have in common.
  static F special(F x, F finite) {
    const U bits = B::let(B::bits32(x));
    const U end = B::select((bits & kMagnitude) == 0u, U(kInfinityBits | kSignBit),
                            B::select(bits == kInfinityBits, U(kInfinityBits), U(kNanBits)));
    return B::select(bits - 1u < kInfinityBits - 1u, finite, B::real32(end));
  }

  // log2(a) for finite a > 0, relative error about 2^-35.
  static typename P::Pair log2_pair(F a) {
    const Split part = split(a);
    const F f = part.f;
    // s = f / (2 + f); 2 + f has a rest, and so has the quotient.
    const F d = B::let(f + 2.0f);
    const F d_low = B::let(f - (d - 2.0f));
    F r = B::let(B::fma(d, F(-0.23903f), F(0.98512f)));  // 1 / d within 1.5 %
    const F e = B::let(B::fma(-d, r, F(1.0f)));
    r = B::let(B::fma(B::fma(e, e, e), r, r));
    r = B::let(B::fma(B::fma(-d, r, F(1.0f)), r, r));
    const F s = B::let(f * r);
    const F s_low = B::let(B::fma(-s, d_low, B::fma(-s, d, f)) * r);

    const F z = B::let(s * s);
    const F z_low = B::fma(s + s, s_low, B::fma(s, s, -z));
    // t = 2/3 log2(e) + z q(z)
    const typename P::Pair t =
        P::fast_sum(F(0x1.ec709ep-1f), B::let(z * P::polynomial(kPowLog2, z)));
    const F t_low = t.lo + -0x1.e2fe02p-28f;
    // v = z t
    const F v = B::let(z * t.hi);
    const F v_low = B::fma(z_low, t.hi, B::fma(z, t_low, B::fma(z, t.hi, -v)));
    // g = 2 log2(e) + v
    const typename P::Pair g = P::fast_sum(F(0x1.715476p1f), v);
    const F g_low = g.lo + (v_low + 0x1.4ae0cp-25f);
    // p = s g
    const F p = B::let(s * g.hi);
    const F p_low = B::fma(s, g_low, B::fma(s_low, g.hi, B::fma(s, g.hi, -p)));
    const typename P::Pair sum = P::fast_sum(part.k, p);
    return {sum.hi, B::let(sum.lo + p_low)};
  }

  // 2^(y l)
  static F exp2_pair(const typename P::Pair& l, F y) {
    const F product = B::let(y * l.hi);
    const F low = B::fma(y, l.lo, B::fma(y, l.hi, -product));
    const Bool zero = B::let(product < -152.0f);
    const F c = B::let(B::select(product > 160.0f, F(160.0f), B::select(zero, F(0.0f), product)));
    const typename P::Whole n = P::round(c);
    // Where the product was cut, or is infinite, its rest means nothing.
    const F r = B::let((c - n.number) + B::select(c == product, low, F(0.0f)));
    return B::select(zero, F(0.0f), P::scale(ExpFunctions<B>::exp2_reduced(r), n.word));
  }
};

}  // namespace vyre::ir::maths
