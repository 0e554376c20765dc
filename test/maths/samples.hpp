// SPDX-License-Identifier: Apache-2.0
// Inputs for tests of the maths functions: special values, and reproducible random ones.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace vyre::test {

// splitmix64: small, and every seed gives an independent stream.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e37'79b9'7f4a'7c15 + 1) {}
  uint64_t next() {
    uint64_t x = state_ += 0x9e37'79b9'7f4a'7c15;
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
    return x ^ (x >> 31);
  }
  float any_float() { return std::bit_cast<float>(static_cast<uint32_t>(next())); }
  // In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

namespace detail {
template <class T>
std::vector<T> special() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> out;
  const auto add = [&](T x) {
    out.push_back(x);
    out.push_back(-x);
  };
  const auto around = [&](T x) {
    add(x);
    add(std::nextafter(x, T(0)));
    add(std::nextafter(x, Limits::infinity()));
  };
  add(T(0));
  add(Limits::infinity());
  add(Limits::quiet_NaN());
  add(Limits::denorm_min());
  add(Limits::denorm_min() * 2);
  around(Limits::min());
  add(Limits::max());
  add(std::nextafter(Limits::max(), T(0)));
  for (const int n : {1, 2, 3, 4, 5, 7, 10, 15, 16, 100, 127, 128, 255}) around(static_cast<T>(n));
  for (int e = Limits::min_exponent - Limits::digits; e < Limits::max_exponent; e += 7)
    around(std::ldexp(T(1), e));
  for (const int e : {-126, -24, -12, -1, 15, 16, 17, 22, 23, 24, 25, 126, 127})
    around(std::ldexp(T(1), e));
  for (const double x :
       {0.1, 0.55, 0.75, 1.5, 2.5, 3.5, 2.718281828459045, 3.141592653589793, 1.5707963267948966,
        0.7853981633974483, 0.7071067811865476, 1.4142135623730951, 0.34657359027997264,
        88.72283905206835, 89.41598629223294, 103.27892990343185, 104.0, 8388607.5, 16777215.0})
    around(static_cast<T>(x));
  return out;
}
}  // namespace detail

inline std::vector<float> special_f32() {
  return detail::special<float>();
}
inline std::vector<double> special_f64() {
  return detail::special<double>();
}

// Arguments of pow. Of eight kinds (0 to 7): any bits; a result spread over the whole range of
// exponents, for any base, for bases near 1 and for subnormal ones; small whole exponents with
// bases of either sign; halves and quarters.
inline void pow_arguments(Random& random, size_t kind, float& x, float& y) {
  x = random.any_float();
  y = random.any_float();
  if (kind == 0) return;
  if (kind == 5 || kind == 6) {
    const auto bits = static_cast<int>(random.next() % 12);
    y = static_cast<float>(static_cast<int64_t>(random.next() % (uint64_t{2} << bits)) -
                           (1 << bits));
    // A base whose power is near the range.
    x = static_cast<float>(
        std::exp2((random.unit() * 300 - 150) / std::fmax(1, std::fabs(static_cast<double>(y)))));
    if (random.next() % 2 == 0) x = -x;
    if (kind == 6) y *= 0.25f;
    return;
  }
  x = std::fabs(x);
  if (kind == 3)
    x = static_cast<float>(1.0 +
                           std::ldexp(random.unit() - 0.5, -static_cast<int>(random.next() % 24)));
  if (kind == 4) x = std::bit_cast<float>(static_cast<uint32_t>(random.next() >> 41));
  const double exponent = random.unit() * 282 - 152;
  y = static_cast<float>(exponent / std::log2(static_cast<double>(x)));
}

}  // namespace vyre::test
