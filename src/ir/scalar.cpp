// SPDX-License-Identifier: Apache-2.0
#include "ir/scalar.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "ir/maths.hpp"

namespace vyre::ir {

namespace {

template <class T>
T unpack(Bits bits) {
  if constexpr (std::is_same_v<T, bool>)
    return bits != 0;
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<uint32_t>(bits));
  else
    return std::bit_cast<T>(bits);
}

template <class T>
Bits pack(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? 1 : 0;
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<uint32_t>(value);
  else
    return std::bit_cast<uint64_t>(value);
}

template <class T>
constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
constexpr int kWidth = static_cast<int>(sizeof(T) * 8);
template <class T>
using Unsigned = std::make_unsigned_t<T>;
// Twice as wide, for exact products.
template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;

template <class T>
int amount(Bits b) {
  return static_cast<int>(b & (kWidth<T> - 1));
}

template <class T>
T saturated(__int128 value) {
  return static_cast<T>(
      std::clamp<__int128>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// ---- operators

template <class T>
T divide(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return x / y;
  } else {
    if (y == 0) return x;
    if constexpr (std::is_signed_v<T>)
      if (y == -1) return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x));
    return x / y;
  }
}

template <class T>
T remainder(T x, T y) {
  if (y == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return 0;
  return x % y;
}

template <BinaryOp Op, class T>
Bits binary(Bits a, Bits b, Bits /*c*/) {
  const T x = unpack<T>(a);
  if constexpr (is_shift(Op)) {
    if constexpr (Op == BinaryOp::Shl)
      return pack(static_cast<T>(static_cast<Unsigned<T>>(x) << amount<T>(b)));
    else
      return pack(static_cast<T>(x >> amount<T>(b)));
  } else {
    const T y = unpack<T>(b);
    // Integers wrap, so they are added in the unsigned type.
    using A = typename std::conditional_t<kIsInteger<T>, std::make_unsigned<T>,
                                          std::type_identity<T>>::type;
    // clang-format off
    if constexpr (Op == BinaryOp::Eq) return pack(x == y);
    else if constexpr (Op == BinaryOp::Ne) return pack(x != y);
    else if constexpr (Op == BinaryOp::Lt) return pack(x < y);
    else if constexpr (Op == BinaryOp::Le) return pack(x <= y);
    else if constexpr (Op == BinaryOp::Gt) return pack(x > y);
    else if constexpr (Op == BinaryOp::Ge) return pack(x >= y);
    else if constexpr (Op == BinaryOp::Add) return pack(static_cast<T>(static_cast<A>(x) + static_cast<A>(y)));
    else if constexpr (Op == BinaryOp::Sub) return pack(static_cast<T>(static_cast<A>(x) - static_cast<A>(y)));
    else if constexpr (Op == BinaryOp::Mul) return pack(static_cast<T>(static_cast<A>(x) * static_cast<A>(y)));
    else if constexpr (Op == BinaryOp::Div) return pack(divide(x, y));
    else if constexpr (Op == BinaryOp::Rem) return pack(remainder(x, y));
    else if constexpr (Op == BinaryOp::And || Op == BinaryOp::LogicalAnd) return a & b;
    else if constexpr (Op == BinaryOp::Or || Op == BinaryOp::LogicalOr) return a | b;
    else return a ^ b;
    // clang-format on
  }
}

constexpr bool defined_for(BinaryOp op, Type t) {
  switch (op) {
    case BinaryOp::LogicalOr:
    case BinaryOp::LogicalAnd: return t == Type::Bool;
    case BinaryOp::Eq:
    case BinaryOp::Ne: return !is_storage(t);
    case BinaryOp::Or:
    case BinaryOp::Xor:
    case BinaryOp::And: return t == Type::Bool || is_integer(t);
    case BinaryOp::Shl:
    case BinaryOp::Shr:
    case BinaryOp::Rem: return is_integer(t);
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge:
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul:
    case BinaryOp::Div: return is_number(t);
  }
  return false;
}

template <UnaryOp Op, class T>
Bits unary(Bits a, Bits /*b*/, Bits /*c*/) {
  if constexpr (Op == UnaryOp::Not)
    return a ^ 1;
  else if constexpr (Op == UnaryOp::BitNot)
    return pack(static_cast<T>(~unpack<T>(a)));
  else if constexpr (std::is_floating_point_v<T>)
    return a ^ (Bits{1} << (kWidth<T> - 1));  // also for NaN: only the sign changes
  else
    return pack(static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(unpack<T>(a))));
}

constexpr bool defined_for(UnaryOp op, Type t) {
  switch (op) {
    case UnaryOp::Neg: return is_number(t);
    case UnaryOp::Not: return t == Type::Bool;
    case UnaryOp::BitNot: return is_integer(t);
  }
  return false;
}

// ---- functions

// min and max ignore one NaN and order -0 below +0.
template <class T>
T least(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x)) return y;
    if (std::isnan(y)) return x;
    if (x == y) return std::signbit(x) ? x : y;
  }
  return y < x ? y : x;
}
template <class T>
T greatest(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x)) return y;
    if (std::isnan(y)) return x;
    if (x == y) return std::signbit(x) ? y : x;
  }
  return x < y ? y : x;
}

template <class T>
Bits sign_of(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x) || x == 0) return pack(x);
    return pack(std::copysign(T{1}, x));
  } else {
    return pack(static_cast<T>((x > 0) - (x < 0)));
  }
}

template <class T>
Unsigned<T> reversed(Unsigned<T> x) {
  Unsigned<T> result = 0;
  for (int i = 0; i < kWidth<T>; ++i) result |= ((x >> i) & 1) << (kWidth<T> - 1 - i);
  return result;
}

template <Intrinsic Op, class T>
Bits integer_function(Bits a, Bits b, Bits c) {
  using U = Unsigned<T>;
  const T x = unpack<T>(a);
  const T y = unpack<T>(b);
  const U u = static_cast<U>(x);
  // clang-format off
  if constexpr (Op == Intrinsic::Min) return pack(least(x, y));
  else if constexpr (Op == Intrinsic::Max) return pack(greatest(x, y));
  else if constexpr (Op == Intrinsic::Clamp) return pack(least(greatest(x, y), unpack<T>(c)));
  else if constexpr (Op == Intrinsic::Abs) return pack(static_cast<T>(x < 0 ? U{0} - u : u));
  else if constexpr (Op == Intrinsic::AbsDiff)
    return pack(static_cast<T>(x < y ? static_cast<U>(y) - u : u - static_cast<U>(y)));
  else if constexpr (Op == Intrinsic::Sign) return sign_of(x);
  else if constexpr (Op == Intrinsic::SatAdd) return pack(saturated<T>(__int128{x} + y));
  else if constexpr (Op == Intrinsic::SatSub) return pack(saturated<T>(__int128{x} - y));
  else if constexpr (Op == Intrinsic::SatMul) {
    const Wide<T> product = Wide<T>{x} * y;
    if constexpr (std::is_signed_v<T>) return pack(saturated<T>(product));
    else return pack(product > std::numeric_limits<T>::max() ? std::numeric_limits<T>::max() : static_cast<T>(product));
  }
  else if constexpr (Op == Intrinsic::MulHi) return pack(static_cast<T>((Wide<T>{x} * y) >> kWidth<T>));
  else if constexpr (Op == Intrinsic::Rotl) return pack(static_cast<T>(std::rotl(u, amount<T>(b))));
  else if constexpr (Op == Intrinsic::Rotr) return pack(static_cast<T>(std::rotr(u, amount<T>(b))));
  else if constexpr (Op == Intrinsic::Popcount) return pack(static_cast<T>(std::popcount(u)));
  else if constexpr (Op == Intrinsic::Clz) return pack(static_cast<T>(std::countl_zero(u)));
  else if constexpr (Op == Intrinsic::Ctz) return pack(static_cast<T>(std::countr_zero(u)));
  else return pack(static_cast<T>(reversed<T>(u)));
  // clang-format on
}

template <Intrinsic Op, class T>
Bits float_function(Bits a, Bits b, Bits c) {
  const T x = unpack<T>(a);
  const T y = unpack<T>(b);
  // clang-format off
  if constexpr (Op == Intrinsic::Min) return pack(least(x, y));
  else if constexpr (Op == Intrinsic::Max) return pack(greatest(x, y));
  else if constexpr (Op == Intrinsic::Clamp) return pack(least(greatest(x, y), unpack<T>(c)));
  else if constexpr (Op == Intrinsic::Abs) return a & ~(Bits{1} << (kWidth<T> - 1));
  else if constexpr (Op == Intrinsic::Sign) return sign_of(x);
  else if constexpr (Op == Intrinsic::Fma) return pack(std::fma(x, y, unpack<T>(c)));
  else if constexpr (Op == Intrinsic::Sqrt) return pack(std::sqrt(x));
  else if constexpr (Op == Intrinsic::Floor) return pack(std::floor(x));
  else if constexpr (Op == Intrinsic::Ceil) return pack(std::ceil(x));
  else if constexpr (Op == Intrinsic::Trunc) return pack(std::trunc(x));
  else if constexpr (Op == Intrinsic::Round) return pack(std::nearbyint(x));  // half to even: the mode is never changed
  else if constexpr (Op == Intrinsic::RoundAway) return pack(std::round(x));
  else if constexpr (Op == Intrinsic::IsNan) return pack(std::isnan(x));
  else if constexpr (Op == Intrinsic::IsInf) return pack(std::isinf(x));
  else return pack(std::isfinite(x));
  // clang-format on
}

Bits select_bits(Bits condition, Bits a, Bits b) {
  return condition != 0 ? a : b;
}

// The functions of the maths library.
template <Intrinsic Op, class T>
Bits maths_function(Bits a, Bits b, Bits /*c*/) {
  if constexpr (std::is_same_v<T, float>) {
    static const MathsF32 kFn = native_maths_f32(Op);
    return pack(kFn(unpack<float>(a), unpack<float>(b)));
  } else {
    static const MathsF64 kFn = native_maths_f64(Op);
    return pack(kFn(unpack<double>(a), unpack<double>(b)));
  }
}

constexpr bool has_function(Intrinsic op, Type type) {
  return op >= Intrinsic::Exp && op <= Intrinsic::Exp10 && (type == Type::F32 || type == Type::F64);
}
constexpr bool is_integer_function(Intrinsic op) {
  return op >= Intrinsic::Min && op <= Intrinsic::ReverseBits;
}
constexpr bool is_float_function(Intrinsic op) {
  return (op >= Intrinsic::Fma && op <= Intrinsic::IsFinite) || op == Intrinsic::Min ||
         op == Intrinsic::Max || op == Intrinsic::Clamp || op == Intrinsic::Abs ||
         op == Intrinsic::Sign || op == Intrinsic::RoundAway;
}

// ---- conversions

template <class From, class To>
Bits convert(Bits a, Bits /*b*/, Bits /*c*/) {
  const From x = unpack<From>(a);
  if constexpr (std::is_same_v<To, bool>) {
    return pack(x != 0);
  } else if constexpr (std::is_floating_point_v<From> && kIsInteger<To>) {
    // Truncates, saturates, NaN gives 0. Both limits are exact as floats: the upper one is the
    // power of two that is the first value too large.
    if (std::isnan(x)) return 0;
    const From low = static_cast<From>(std::numeric_limits<To>::min());
    const From beyond = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    if (x <= low) return pack(std::numeric_limits<To>::min());
    if (x >= beyond) return pack(std::numeric_limits<To>::max());
    return pack(static_cast<To>(x));
  } else {
    return pack(static_cast<To>(x));
  }
}

// ---- tables: one row per operator, one column per arithmetic type

using Row = std::array<ScalarFn, 7>;

template <class Make>
constexpr Row row(Make make) {
  return {
    make.template operator()<bool, Type::Bool>(),
    make.template operator()<uint32_t, Type::U32>(),
    make.template operator()<int32_t, Type::I32>(),
    make.template operator()<uint64_t, Type::U64>(),
    make.template operator()<int64_t, Type::I64>(),
    make.template operator()<float, Type::F32>(),
    make.template operator()<double, Type::F64>()
  };
}

template <class T>
constexpr size_t at(T e) {
  return static_cast<size_t>(e);
}

template <BinaryOp Op>
constexpr Row binary_row() {
  return row([]<class T, Type kType>() -> ScalarFn {
    if constexpr (defined_for(Op, kType))
      return binary<Op, T>;
    else
      return nullptr;
  });
}

template <UnaryOp Op>
constexpr Row unary_row() {
  return row([]<class T, Type kType>() -> ScalarFn {
    if constexpr (defined_for(Op, kType))
      return unary<Op, T>;
    else
      return nullptr;
  });
}

template <Intrinsic Op>
constexpr Row function_row() {
  return row([]<class T, Type kType>() -> ScalarFn {
    if constexpr (Op == Intrinsic::Select)
      return select_bits;
    else if constexpr (is_integer(kType) && is_integer_function(Op))
      return integer_function<Op, T>;
    else if constexpr (is_float(kType) && is_float_function(Op))
      return float_function<Op, T>;
    else if constexpr (has_function(Op, kType))
      return maths_function<Op, T>;
    else
      return nullptr;
  });
}

template <class From>
constexpr Row conversion_row() {
  return row([]<class T, Type>() -> ScalarFn { return convert<From, T>; });
}

template <size_t... I>
constexpr auto binary_table(std::index_sequence<I...>) {
  return std::array<Row, sizeof...(I)>{binary_row<static_cast<BinaryOp>(I)>()...};
}
template <size_t... I>
constexpr auto function_table(std::index_sequence<I...>) {
  return std::array<Row, sizeof...(I)>{function_row<static_cast<Intrinsic>(I)>()...};
}

constexpr auto kBinaryFns = binary_table(std::make_index_sequence<at(BinaryOp::Rem) + 1>());
constexpr std::array<Row, 3> kUnaryFns = {unary_row<UnaryOp::Neg>(), unary_row<UnaryOp::Not>(),
                                          unary_row<UnaryOp::BitNot>()};
constexpr auto kFunctionFns = function_table(std::make_index_sequence<kIntrinsicCount>());
constexpr std::array<Row, 7> kConversions = {conversion_row<bool>(),    conversion_row<uint32_t>(),
                                             conversion_row<int32_t>(), conversion_row<uint64_t>(),
                                             conversion_row<int64_t>(), conversion_row<float>(),
                                             conversion_row<double>()};

}  // namespace

ScalarFn scalar_fn(UnaryOp op, Type type) {
  return is_storage(type) ? nullptr : kUnaryFns[at(op)][at(type)];
}
ScalarFn scalar_fn(BinaryOp op, Type type) {
  return is_storage(type) ? nullptr : kBinaryFns[at(op)][at(type)];
}
ScalarFn scalar_fn(Intrinsic op, Type type) {
  return is_storage(type) ? nullptr : kFunctionFns[at(op)][at(type)];
}
ScalarFn conversion(Type from, Type to) {
  return is_storage(from) || is_storage(to) ? nullptr : kConversions[at(from)][at(to)];
}

}  // namespace vyre::ir
