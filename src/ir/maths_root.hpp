// SPDX-License-Identifier: Apache-2.0
// recip and rsqrt for f32 and f64: a start from the bits or a line, steps that cube the error, and
// a last step whose residual is (nearly) exact.
#pragma once

#include <cstdint>

#include "ir/maths_format.hpp"

namespace vyre::ir::maths {

template <class B, template <class> class Format>
struct RootFunctions {
  using T = Format<B>;
  using F = typename T::F;
  using U = typename T::U;
  using Bool = typename B::Bool;
  using Real = typename T::Real;
  using Word = typename T::Word;

  static F recip(F x) {
    const U bits = B::let(T::bits(x));
    const U a = B::let(bits & kMagnitude);
    const Bool tiny = B::let(a < kMinNormal);
    const U normal = B::let(B::select(tiny, T::bits(T::real(a) * kUp), a));
    // 1 / m for 1 <= m < 2
    const F m = B::let(T::real((normal & kFraction) | kOne));
    F y = B::let(B::fma(m, F(Real(-8.0 / 17.0)), F(Real(24.0 / 17.0))));  // within 6 %
    for (int step = 0; step < T::kSteps; ++step) {
      const F e = B::let(B::fma(-m, y, F(Real(1))));
      y = B::let(B::fma(B::fma(e, e, e), y, y));
    }
    y = B::fma(B::fma(-m, y, F(Real(1))), y, y);
    // 2^-e in two halves: the result may be subnormal, and 2^-e above the largest number.
    const U e = B::let((normal >> T::kFractionBits) - B::select(tiny, U(kUpExponent), U(Word(0))));
    const U half = B::let((U(3 * T::kBias) - e) >> 1);  // bias + floor((bias - e) / 2)
    const U other = (U(3 * T::kBias) - e) - half;
    const F finite = y * T::real(half << T::kFractionBits) * T::real(other << T::kFractionBits);

    const U end =
        B::select(a == Word(0), U(kInfinity), B::select(a == kInfinity, U(Word(0)), U(kNan)));
    const Bool inside = a - Word(1) < kInfinity - 1;
    return T::real(B::select(inside, T::bits(finite), end) | (bits & kSign));
  }

  static F rsqrt(F x) {
    const U bits = B::let(T::bits(x));
    const Bool tiny = B::let(bits < kMinNormal);
    const F v = B::let(B::select(tiny, x * kUp, x));
    F y = B::let(T::real(U(T::kRsqrtStart) - (T::bits(v) >> 1)));  // within 3.5 %
    for (int step = 0; step < T::kSteps; ++step) {
      const F e = B::let(B::fma(-(v * y), y, F(Real(1))));
      y = B::let(B::fma(y * e, B::fma(e, F(Real(0.375)), F(Real(0.5))), y));
    }
    const F h = B::let(v * y);
    const F h_low = B::fma(v, y, -h);
    const F e = B::fma(-h_low, y, B::fma(-h, y, F(Real(1))));
    const F near = B::fma(y * Real(0.5), e, y);
    const F finite = near * B::select(tiny, F(kUpRoot), F(Real(1)));

    const U end = B::select((bits & kMagnitude) == Word(0), bits | kInfinity,
                            B::select(bits == kInfinity, U(Word(0)), U(kNan)));
    return B::select(bits - Word(1) < kInfinity - 1, finite, T::real(end));
  }

 private:
  static constexpr Word kSign = Word(1) << (sizeof(Word) * 8 - 1);
  static constexpr Word kMagnitude = kSign - 1;
  static constexpr Word kMinNormal = Word(1) << T::kFractionBits;
  static constexpr Word kFraction = kMinNormal - 1;
  static constexpr Word kOne = T::kBias << T::kFractionBits;
  static constexpr Word kInfinity = (2 * T::kBias + 1) << T::kFractionBits;
  static constexpr Word kNan = kInfinity | (kMinNormal >> 1);
  // An even power of two that makes every subnormal number normal, and its root.
  static constexpr Word kUpExponent = T::kFractionBits + 1 + (T::kFractionBits + 1) % 2;
  static constexpr Real kUp = Real(uint64_t{1} << kUpExponent);
  static constexpr Real kUpRoot = Real(uint64_t{1} << (kUpExponent / 2));
};

}  // namespace vyre::ir::maths
