// SPDX-License-Identifier: Apache-2.0
// Faster forms of some f32 functions for callers who allow an error of a few ULP: division and
// square root where processors have them as instructions, and angles as one number where the strict
// functions carry the rest of it in a second one.
#pragma once

#include "ir/maths_trig.hpp"

namespace vyre::ir::maths {

template <class B>
struct Approximations {
  using P = Pieces<B>;
  using Trig = TrigFunctions<B>;
  using F = typename B::F32;
  using U = typename B::U32;
  using Bool = typename B::Bool;

  static F recip(F x) { return B::divide(F(1.0f), x); }
  static F rsqrt(F x) { return B::divide(F(1.0f), B::sqrt(x)); }

  static F sin(F x) {
    const F a = B::let(P::magnitude(x));
    const Bool tiny = B::let(a < Trig::kTiny);
    const Reduced part = reduce(Trig::without(tiny, a));
    return Trig::finish(a, B::select(tiny, a, wave(part.r, part.quadrant)), P::sign(x));
  }

  static F cos(F x) {
    const F a = B::let(P::magnitude(x));
    const Reduced part = reduce(Trig::without(a < Trig::kTiny, a));
    return Trig::finish(a, wave(part.r, B::let(part.quadrant + 1u)), U(0u));
  }

 private:
  struct Reduced {
    F r;
    U quadrant;  // its low two bits count
  };

  // The first step is exact; what the second one rounds is far below the result, because no f32 up
  // to 2^16 is that close to a multiple of pi/2.
  static Reduced reduce(F a) {
    const typename P::Whole n = P::round_product(a, F(0x1.45f306p-1f));
    const F first = B::fma(-n.number, F(kHalfPi), a);
    const F second = B::fma(-n.number, F(kHalfPiLow), first);
    auto r = B::var(B::fma(-n.number, F(kHalfPiLowest), second));
    auto quadrant = B::var(n.word);
    B::when(a > 0x1p16f, [&] {
      const typename Trig::Reduced large = Trig::template reduce_large<false>(B::let(B::bits32(a)));
      r = large.hi;
      quadrant = large.quadrant;
    });
    return {B::let(B::get(r)), B::let(B::get(quadrant))};
  }

  // sin(r + quadrant pi/2)
  static F wave(F r, U quadrant) {
    const F z = B::let(r * r);
    const F sine = B::fma(r * z, P::polynomial(kSin, z), r);
    const F cosine = B::fma(z * z, P::polynomial(kCos, z), B::fma(z, F(-0.5f), F(1.0f)));
    const Bool odd = (quadrant & 1u) == 1u;
    return P::flip(B::select(odd, cosine, sine), (quadrant & 2u) << 30);
  }
};

}  // namespace vyre::ir::maths
