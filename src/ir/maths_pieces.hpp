// SPDX-License-Identifier: Apache-2.0
// Pieces that several f32 maths functions share: constants, polynomials, rounding to a whole
// number, scaling by a power of two, approximate reciprocals and roots.
#pragma once

#include <array>
#include <cstdint>

namespace vyre::ir::maths {

inline constexpr uint32_t kSignBit = 0x8000'0000;
inline constexpr uint32_t kMagnitude = 0x7fff'ffff;
inline constexpr uint32_t kFraction = 0x007f'ffff;
inline constexpr uint32_t kOneBits = 0x3f80'0000;
inline constexpr uint32_t kMinNormalBits = 0x0080'0000;
inline constexpr uint32_t kInfinityBits = 0x7f80'0000;
inline constexpr uint32_t kNanBits = 0x7fc0'0000;

inline constexpr float kLog2E = 0x1.715476p0f, kLog2ELow = 0x1.4ae0cp-26f;
inline constexpr float kLn2 = 0x1.62e43p-1f, kLn2Low = -0x1.05c61p-29f;
inline constexpr float kPi = 0x1.921fb6p1f, kPiLow = -0x1.777a5cp-24f;
inline constexpr float kHalfPi = 0x1.921fb6p0f, kHalfPiLow = -0x1.777a5cp-25f;
inline constexpr float kHalfPiLowest = -0x1.ee59dap-50f;

template <class B>
struct Pieces {
  using F = typename B::F32;
  using U = typename B::U32;
  using Bool = typename B::Bool;

  // A number as the sum of two; `lo` is at most about an ULP of `hi`.
  struct Pair {
    F hi, lo;
  };

  // c[0] + c[1] x + c[2] x^2 + ...; x must be named.
  template <size_t N>
  static F polynomial(const std::array<float, N>& c, F x) {
    static_assert(N >= 2);
    F sum = B::fma(F(c[N - 1]), x, F(c[N - 2]));
    for (size_t i = N - 2; i-- > 0;) sum = B::fma(sum, x, F(c[i]));
    return sum;
  }

  // round(x * factor) for |x * factor| < 2^22: adding 1.5 * 2^23 leaves no room for a fraction, and
  // the low bits of the sum are those of the whole number.
  struct Whole {
    F number;
    U word;  // two's complement
  };
  static Whole round_product(F x, F factor) { return whole(B::fma(x, factor, F(kRounder))); }
  static Whole round(F x) { return whole(x + F(kRounder)); }

  // p * 2^n, rounded once, for a normal p near 1 and -252 <= n <= 254 (two's complement). One power
  // of two would not do: 2^n is no number at both ends, so it is split into two halves.
  static F scale(F p, U n) {
    const U half = B::let((n + 256u) >> 1);  // 128 + floor(n / 2)
    const F first = B::real32((half - 1u) << 23);
    const F second = B::real32((n - half + 255u) << 23);
    return p * first * second;
  }

  // 1 / x to about an ULP, for a normal x whose reciprocal is far from subnormal. The start is good
  // to 12 %, each step cubes the error.
  static F near_recip(F x) {
    F y = B::let(B::real32(0x7ef3'11c7u - B::bits32(x)));
    for (int step = 0; step < 2; ++step) {
      const F e = B::let(B::fma(-x, y, F(1.0f)));
      y = B::let(B::fma(B::fma(e, e, e), y, y));
    }
    return y;
  }

  // 1 / sqrt(x) to about an ULP, for a normal x > 0; finite for 0. Start 3.5 %, cubic steps.
  static F near_rsqrt(F x) {
    F y = B::let(B::real32(0x5f37'59dfu - (B::bits32(x) >> 1)));
    for (int step = 0; step < 2; ++step) {
      const F e = B::let(B::fma(-(x * y), y, F(1.0f)));
      y = B::let(B::fma(y * e, B::fma(e, F(0.375f), F(0.5f)), y));
    }
    return y;
  }

  // hi + lo == a + b exactly, if |a| >= |b| or a is 0. The operands must be named.
  static Pair fast_sum(F a, F b) {
    const F hi = B::let(a + b);
    return {hi, B::let((a - hi) + b)};
  }

  static F magnitude(F x) { return B::real32(B::bits32(x) & kMagnitude); }
  static U sign(F x) { return B::bits32(x) & kSignBit; }
  // x with its sign flipped where `sign` has the sign bit.
  static F flip(F x, U sign) { return B::real32(B::bits32(x) ^ sign); }
  static F nan() { return B::real32(U(kNanBits)); }
  static F infinity() { return B::real32(U(kInfinityBits)); }

 private:
  static constexpr float kRounder = 0x1.8p23f;
  static Whole whole(F shifted) {
    const F sum = B::let(shifted);
    return {B::let(sum - F(kRounder)), B::let(B::bits32(sum) - 0x4b40'0000u)};
  }
};

}  // namespace vyre::ir::maths
