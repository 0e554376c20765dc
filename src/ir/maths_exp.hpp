// SPDX-License-Identifier: Apache-2.0
// exp, exp2 and the hyperbolic functions. The argument is split into n ln 2 + r (n + r for exp2)
// with |r| <= ln 2 / 2, a polynomial gives e^r, and two multiplications by powers of two give the
// result, so that subnormal results are rounded once.
#pragma once

#include "ir/maths_pieces.hpp"

namespace vyre::ir::maths {

// e^r = 1 + r + r^2 q(r)
inline constexpr std::array kExp = {0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.5558bcp-5f, 0x1.123b5cp-7f,
                                    0x1.6a445ep-10f};
// 2^r = 1 + r q(r)
inline constexpr std::array kExp2 = {0x1.62e43p-1f, 0x1.ebfbdcp-3f,  0x1.c6af7cp-5f,
                                     0x1.3b2dep-7f, 0x1.5f082ep-10f, 0x1.416b5ep-13f};
// sinh(x) = x + x^3 q(x^2) for |x| < 1
inline constexpr std::array kSinh = {0x1.555556p-3f, 0x1.1110ep-7f, 0x1.a022bcp-13f,
                                     0x1.756c1ep-19f};
// The same, and cosh(r) = 1 + r^2 q(r^2), for |r| <= ln 2 / 2
inline constexpr std::array kSinhReduced = {0x1.555484p-3f, 0x1.12425ep-7f};
inline constexpr std::array kCoshReduced = {0x1p-1f, 0x1.5554e2p-5f, 0x1.6d542ep-10f};
// tanh(x) = x + x^3 q(x^2) for |x| < 0.55
inline constexpr std::array kTanh = {-0x1.55554ap-2f, 0x1.110ceep-3f, -0x1.b91e7ep-5f,
                                     0x1.58e518p-6f, -0x1.9921a2p-8f};

template <class B>
struct ExpFunctions {
  using P = Pieces<B>;
  using F = typename B::F32;
  using U = typename B::U32;
  using Bool = typename B::Bool;

  // Beyond the upper limit the result overflows by itself. Below the lower one it is selected: on a
  // CPU results that underflow take a hundred times as long as others, and attention masks are full
  // of exp(-inf). NaN passes.
  static F exp(F x) {
    const Bool zero = B::let(x < -104.0f);
    const F c = B::let(B::select(x > 89.0f, F(89.0f), B::select(zero, F(0.0f), x)));
    const Reduced part = reduce(c);
    return B::select(zero, F(0.0f), P::scale(exp_reduced(part.r), part.n));
  }

  static F exp2(F x) {
    const Bool zero = B::let(x < -150.0f);
    const F c = B::let(B::select(x > 129.0f, F(129.0f), B::select(zero, F(0.0f), x)));
    const typename P::Whole n = P::round(c);
    const F r = B::let(c - n.number);
    return B::select(zero, F(0.0f), P::scale(exp2_reduced(r), n.word));
  }

  // 2^r for |r| <= 1/2 and a little more; r must be named.
  static F exp2_reduced(F r) { return B::fma(r, P::polynomial(kExp2, r), F(1.0f)); }

  // cosh(a) = 2^(n-1) ((1 + q) cosh(r) + (1 - q) sinh(r)) with q = 2^-2n: no division and no
  // second exponential.
  static F cosh(F x) {
    const Halves h = halves(B::let(P::magnitude(x)));
    return combine(h, h.q);
  }

  static F sinh(F x) {
    const F a = B::let(P::magnitude(x));
    const Halves h = halves(a);
    const F large = combine(h, B::let(-h.q));
    const F z = B::let(a * a);
    const F small = B::fma(a * z, P::polynomial(kSinh, z), a);
    return P::flip(B::select(a < 1.0f, small, large), P::sign(x));
  }

  // 1 - 2 / (e^2a + 1), and a polynomial where that would lose digits.
  static F tanh(F x) {
    const F a = B::let(P::magnitude(x));
    const F c = B::let(B::select(a > 10.0f, F(20.0f), a + a));
    const Reduced part = reduce(c);
    const F power = B::let(exp_reduced(part.r) * B::real32((part.n + 127u) << 23));
    const typename P::Pair d = P::fast_sum(power, F(1.0f));
    const F y = P::near_recip(d.hi);
    const F e = B::fma(-d.lo, y, B::fma(-d.hi, y, F(1.0f)));
    const F large = B::fma(F(-2.0f), B::fma(e, y, y), F(1.0f));
    const F z = B::let(a * a);
    const F small = B::fma(a * z, P::polynomial(kTanh, z), a);
    return P::flip(B::select(a < 0.55f, small, large), P::sign(x));
  }

 private:
  struct Reduced {
    F r;
    U n;
  };
  // c = n ln 2 + r. The first step is exact: n has 8 bits and both terms are multiples of 2^-24.
  static Reduced reduce(F c) {
    const typename P::Whole n = P::round_product(c, F(kLog2E));
    const F near = B::fma(-n.number, F(kLn2), c);
    return {B::let(B::fma(-n.number, F(kLn2Low), near)), n.word};
  }
  static F exp_reduced(F r) {
    const typename P::Pair sum = P::fast_sum(F(1.0f), r);
    return sum.hi + B::fma(r * r, P::polynomial(kExp, r), sum.lo);
  }

  struct Halves {
    F r;
    F sinh_minus_r, cosh_minus_1;  // of r
    F q;                           // 2^-2n, or a number too small to count
    U n;
  };
  static Halves halves(F a) {
    const Reduced part = reduce(B::let(B::select(a > 90.0f, F(90.0f), a)));
    const F r = part.r;
    const F z = B::let(r * r);
    const F sinh_minus_r = B::let(r * z * P::polynomial(kSinhReduced, z));
    const F cosh_minus_1 = B::let(z * P::polynomial(kCoshReduced, z));
    const U limited = B::select(part.n < 60u, part.n, U(60u));
    const F q = B::let(B::real32((127u - (limited << 1)) << 23));
    return {r, sinh_minus_r, cosh_minus_1, q, part.n};
  }
  // 2^(n-1) ((1 + q) cosh(r) + (1 - q) sinh(r)): the large terms 1 + q and (1 - q) r with their
  // rounding errors, then the small ones. q is that of `h` or its negative.
  static F combine(const Halves& h, F q) {
    const typename P::Pair a = P::fast_sum(F(1.0f), q);
    const F b = B::let(1.0f - q);
    const F sum = B::let(B::fma(b, h.r, a.hi));
    const F error = B::fma(b, h.r, a.hi - sum) + a.lo;
    const F tail = B::fma(a.hi, h.cosh_minus_1, b * h.sinh_minus_r);
    return P::scale(sum + (error + tail), h.n - 1u);
  }
};

}  // namespace vyre::ir::maths
