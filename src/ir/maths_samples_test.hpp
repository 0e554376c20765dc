// SPDX-License-Identifier: Apache-2.0
// Inputs for tests of the maths functions: special values, and reproducible random ones.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace vyre::test {

// splitmix64. The seed is mixed too: the state grows by a constant, so seeds that are multiples of
// it would give one stream from different places.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(mixed(seed + 1)) {}
  uint64_t next() { return mixed(state_ += 0x9e37'79b9'7f4a'7c15); }
  float any_float() { return std::bit_cast<float>(static_cast<uint32_t>(next())); }
  // In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
    return x ^ (x >> 31);
  }
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
        88.72283905206835, 89.41598629223294, 103.27892990343185, 104.0, 8388607.5, 16777215.0,
        // the f32 nearest to a multiple of pi/2
        0x1.f37c8ap95})
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

namespace detail {
// The special values, then numbers of every exponent and sign in turn.
template <class T, class Word>
std::vector<T> stratified(size_t count, int fraction_bits) {
  std::vector<T> out = special<T>();
  Random random(count);
  const Word exponents = Word(1) << (sizeof(T) * 8 - static_cast<size_t>(fraction_bits));
  const Word fraction = (Word(1) << fraction_bits) - 1;
  for (size_t i = 0; out.size() < count; ++i)
    out.push_back(std::bit_cast<T>(static_cast<Word>(
        ((static_cast<Word>(i) % exponents) << fraction_bits) | (random.next() & fraction))));
  return out;
}
}  // namespace detail

inline std::vector<float> stratified_f32(size_t count) {
  return detail::stratified<float, uint32_t>(count, 23);
}
inline std::vector<double> stratified_f64(size_t count) {
  return detail::stratified<double, uint64_t>(count, 52);
}

// Arguments of pow. Of eight kinds (0 to 7): any bits; a result spread over the whole range of
// exponents, for any base, for bases near 1 (3) and for subnormal ones (4); whole exponents (5) and
// quarters (6) with bases of either sign. Each random number has a statement of its own, so that
// every compiler makes the same arguments.
inline void pow_arguments(Random& random, size_t kind, float& x, float& y) {
  x = random.any_float();
  y = random.any_float();
  if (kind == 0) return;
  const double place = random.unit();
  const uint64_t choice = random.next();
  if (kind == 5 || kind == 6) {
    const uint64_t most = uint64_t{1} << (choice % 12);
    y = static_cast<float>(static_cast<int64_t>((choice >> 8) % (2 * most + 1)) -
                           static_cast<int64_t>(most));
    if (kind == 6) y *= 0.25f;
    const double divisor = std::fmax(1.0, std::fabs(static_cast<double>(y)));
    x = static_cast<float>(std::exp2((place * 300 - 150) / divisor));
    if (choice >> 63 != 0) x = -x;
    return;
  }
  x = std::fabs(x);
  if (kind == 3) {
    const double away = std::ldexp(random.unit() - 0.5, -static_cast<int>(choice % 24));
    x = static_cast<float>(1.0 + away);
  }
  if (kind == 4) x = std::bit_cast<float>(static_cast<uint32_t>(choice >> 41));
  y = static_cast<float>((place * 282 - 152) / std::log2(static_cast<double>(x)));
}

}  // namespace vyre::test
