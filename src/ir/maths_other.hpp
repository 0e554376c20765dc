// SPDX-License-Identifier: Apache-2.0
// cbrt, hypot and erf for any format.
#pragma once

#include "ir/maths_format.hpp"

namespace vyre::ir::maths {

template <class B, template <class> class Format>
struct OtherFunctions {
  using P = Parts<B, Format>;
  using T = typename P::T;
  using F = typename P::F;
  using U = typename P::U;
  using Bool = typename P::Bool;
  using Real = typename P::Real;
  using Word = typename P::Word;
  using Pair = typename P::Pair;

  // y = 1 / cbrt(v) by steps that cube the error, from a start within 4 %; v y^2 is the root, and a
  // last step has its exact residual.
  static F cbrt(F x) {
    const F a = B::let(P::magnitude(x));
    const Scaling by = scaling(a, T::kCbrtLimits);
    const F v = B::let(a * by.factor);
    F y = B::let(T::real(U(T::kRcbrtStart) - T::third(T::bits(v))));
    for (int step = 0; step < T::kSteps; ++step) {
      const F e = B::let(B::fma(-(v * y), y * y, F(Real(1))));
      y = B::let(B::fma(y * e, B::fma(e, F(Real(2.0 / 9)), F(T::kThird)), y));
    }
    const F root = B::let(v * y * y);
    const Pair square = P::product(root, root);
    const Pair cube = P::product(square.hi, root);
    const F rest = ((v - cube.hi) - cube.lo) - square.lo * root;
    const F size = B::fma(rest * (y * y), F(T::kThird), root) * by.back;
    const Bool usual = T::bits(a) - Word(1) < P::kInfinity - 1;
    return B::select(usual, P::flip(size, P::sign(x)), x);
  }

  // sqrt(a^2 + b^2) with the sum of the squares as a pair
  static F hypot(F x, F y) {
    const F ax = B::let(P::magnitude(x));
    const F ay = B::let(P::magnitude(y));
    const Bool swapped = B::let(ay > ax);
    const F high = B::let(B::select(swapped, ay, ax));
    const F low = B::select(swapped, ax, ay);
    const Scaling by = scaling(high, T::kHypotLimits);
    const F a = B::let(high * by.factor);
    const F b = B::let(low * by.factor);
    const Pair p = P::product(a, a);
    const Pair q = P::product(b, b);
    const Pair sum = P::fast_sum(p.hi, q.hi);
    const F near = P::near_rsqrt(sum.hi);
    const F root = B::let(sum.hi * near);
    const F rest = B::fma(-root, root, sum.hi) + (sum.lo + (p.lo + q.lo));
    const F size = B::fma(rest, near * Real(0.5), root) * by.back;
    const Bool endless = B::either(ax == P::infinity(), ay == P::infinity());
    return B::select(endless, P::infinity(), B::select(B::either(x != x, y != y), P::nan(), size));
  }

  // A polynomial for each piece of the line, its coefficients chosen by selects.
  static F erf(F x) {
    constexpr size_t kPieces = T::kErf.size();
    const F a = B::let(P::magnitude(x));
    const F c = B::let(B::select(a > T::kErfMost, F(T::kErfMost), a));
    std::array<Bool, kPieces - 1> from;
    for (size_t i = 0; i < from.size(); ++i) from[i] = B::let(c >= T::kErfFrom[i]);
    const auto choose = [&](Real first, const auto& value_of) {
      F chosen = F(first);
      for (size_t i = 0; i < from.size(); ++i) chosen = B::select(from[i], F(value_of(i)), chosen);
      return chosen;
    };
    const F middle = choose(Real(0), [](size_t i) { return T::kErfMiddle[i]; });
    const F t = B::let(B::select(from[0], c - middle, c * c));
    constexpr size_t kCount = T::kErf[0].size();
    const auto coefficient = [&](size_t k) {
      return choose(T::kErf[0][k], [k](size_t i) { return T::kErf[i + 1][k]; });
    };
    F sum = B::fma(coefficient(kCount - 1), t, coefficient(kCount - 2));
    for (size_t k = kCount - 2; k-- > 0;) sum = B::fma(sum, t, coefficient(k));
    const F q = B::let(sum);
    const F at = choose(Real(0), [](size_t i) { return T::kErfAt[i]; });
    return P::flip(B::select(from[0], at + q, B::fma(c, q, c)), P::sign(x));
  }

 private:
  struct Scaling {
    F factor, back;
  };
  // Powers of two for numbers whose squares or cubes leave the range or lose digits.
  static Scaling scaling(F a, const Scales<Real>& limits) {
    const Bool small = B::let(a < limits.small);
    const Bool large = B::let(a > limits.large);
    const F one = F(Real(1));
    return {B::let(B::select(small, F(limits.up), B::select(large, F(limits.down), one))),
            B::select(small, F(limits.back_up), B::select(large, F(limits.back_down), one))};
  }
};

}  // namespace vyre::ir::maths
