// SPDX-License-Identifier: Apache-2.0
// How far a result is from the exact value, in units of the last place of its format.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace vyre::test {

// For results of the wrong kind: NaN or not, infinite or not, the wrong sign
// of a zero.
inline constexpr double kWrong = std::numeric_limits<double>::infinity();

// The error of `result` against `exact`, which must be known far better than T can say. An ULP is
// the distance of neighbours in the binade of `exact`, also for subnormal numbers and for one
// binade above the largest number, where an infinite result stands for its lower end. An exact
// value that is infinite, NaN or zero, and the sign of every zero, must be met exactly.
template <class T, class Wide>
double ulp_error(T result, Wide exact) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(exact) || std::isnan(result))
    return std::isnan(exact) && std::isnan(result) ? 0 : kWrong;
  if (std::isinf(exact)) return static_cast<Wide>(result) == exact ? 0 : kWrong;
  if (std::signbit(result) != std::signbit(exact)) return kWrong;
  if (exact == 0) return result == 0 ? 0 : kWrong;
  const Wide size = std::fabs(exact);
  const Wide end = std::ldexp(Wide(1), Limits::max_exponent);
  if (std::isinf(result) && size >= end) return 0;
  const Wide value = std::isinf(result) ? end : static_cast<Wide>(std::fabs(result));
  const int exponent = std::max(std::ilogb(size) + 1, Limits::min_exponent);
  return static_cast<double>(std::ldexp(std::fabs(value - size), Limits::digits - exponent));
}

// How many numbers of the format lie between two results, both zeros being one; 0 for two NaNs, the
// most there is if only one of them is NaN.
inline uint32_t steps_between(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<uint32_t>::max();
  const auto place = [](float x) {
    const auto bits = static_cast<int64_t>(std::bit_cast<uint32_t>(x) & 0x7fff'ffff);
    return std::signbit(x) ? -bits : bits;
  };
  return static_cast<uint32_t>(std::abs(place(a) - place(b)));
}

// 1 / x; the sanitizers object to a division by zero, IEEE-754 does not.
template <class T>
T recip_of(T x) {
  return x == 0 ? std::copysign(std::numeric_limits<T>::infinity(), x) : 1 / x;
}

}  // namespace vyre::test
