// SPDX-License-Identifier: Apache-2.0
// Values of the C++ builder: handles of expressions, made from literals, built-in values and
// operators.
//
// A Value is evaluated where it is used, each time it is used; using one twice repeats the
// expression. Name it with let() to evaluate it once. A Value with an effect (atomic, call,
// subgroup operation, grid_load) may be used once. Handles are plain data: copying is cheap, and
// one that outlives its builder is an error message, not a crash.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>

#include "vyre/ir/program.hpp"

namespace vyre::build {

using Where = std::source_location;

// Names of types for template arguments; the C++ types of the same meaning work too.
// clang-format off
struct boolean {}; struct u32 {}; struct i32 {}; struct u64 {}; struct i64 {}; struct f32 {}; struct f64 {};
struct u8 {}; struct i8 {}; struct u16 {}; struct i16 {}; struct f16 {}; struct bf16 {};

namespace detail {
template <class T> struct TypeOf {};
template <> struct TypeOf<boolean> { static constexpr auto kType = ir::Type::Bool; };
template <> struct TypeOf<u32> { static constexpr auto kType = ir::Type::U32; };
template <> struct TypeOf<i32> { static constexpr auto kType = ir::Type::I32; };
template <> struct TypeOf<u64> { static constexpr auto kType = ir::Type::U64; };
template <> struct TypeOf<i64> { static constexpr auto kType = ir::Type::I64; };
template <> struct TypeOf<f32> { static constexpr auto kType = ir::Type::F32; };
template <> struct TypeOf<f64> { static constexpr auto kType = ir::Type::F64; };
template <> struct TypeOf<u8> { static constexpr auto kType = ir::Type::U8; };
template <> struct TypeOf<i8> { static constexpr auto kType = ir::Type::I8; };
template <> struct TypeOf<u16> { static constexpr auto kType = ir::Type::U16; };
template <> struct TypeOf<i16> { static constexpr auto kType = ir::Type::I16; };
template <> struct TypeOf<f16> { static constexpr auto kType = ir::Type::F16; };
template <> struct TypeOf<bf16> { static constexpr auto kType = ir::Type::BF16; };
template <> struct TypeOf<bool> : TypeOf<boolean> {};
template <> struct TypeOf<uint32_t> : TypeOf<u32> {};
template <> struct TypeOf<int32_t> : TypeOf<i32> {};
template <> struct TypeOf<uint64_t> : TypeOf<u64> {};
template <> struct TypeOf<int64_t> : TypeOf<i64> {};
template <> struct TypeOf<float> : TypeOf<f32> {};
template <> struct TypeOf<double> : TypeOf<f64> {};
template <> struct TypeOf<uint8_t> : TypeOf<u8> {};
template <> struct TypeOf<int8_t> : TypeOf<i8> {};
template <> struct TypeOf<uint16_t> : TypeOf<u16> {};
template <> struct TypeOf<int16_t> : TypeOf<i16> {};
// clang-format on

// What a Value refers to. Literals and built-in values stand for themselves and need no builder.
struct Handle {
  enum class Kind : uint8_t {
    Empty,
    Poison,
    Node,
    Local,
    Const,
    Builtin,
    Int,
    Float,
    Double,
    Bool,
    Scalar  // the one element of a uniform
  };
  Kind kind = Kind::Empty;
  bool negative = false;
  uint8_t axis = 0;
  std::optional<ir::Type> suffix = {};
  uint64_t owner = 0;    // number of the builder, for Node, Local and Const
  uint64_t payload = 0;  // id, magnitude, bits or truth

  template <std::integral T>
  static constexpr Handle of(T value) {
    if constexpr (std::same_as<T, bool>)
      return {.kind = Kind::Bool, .payload = value ? uint64_t{1} : 0};
    const bool minus = value < T{0};
    const auto bits = static_cast<uint64_t>(value);
    return {.kind = Kind::Int, .negative = minus, .payload = minus ? uint64_t{0} - bits : bits};
  }
  static constexpr Handle of(float value) {
    return {.kind = Kind::Float, .payload = std::bit_cast<uint32_t>(value)};
  }
  static constexpr Handle of(double value) {
    return {.kind = Kind::Double, .payload = std::bit_cast<uint64_t>(value)};
  }
};
}  // namespace detail

template <class T>
inline constexpr ir::Type type_of = detail::TypeOf<T>::kType;

template <class T>
concept Number = std::integral<T> || std::same_as<T, float> || std::same_as<T, double>;

class Value {
 public:
  constexpr Value() = default;
  // C++ numbers are literals without a suffix: their place in the program gives them a type, as in
  // the text.
  template <Number T>
  constexpr Value(T number) : handle_(detail::Handle::of(number)) {}
  constexpr explicit Value(detail::Handle handle) : handle_(handle) {}
  [[nodiscard]] constexpr const detail::Handle& handle() const { return handle_; }

 private:
  detail::Handle handle_;
};

class Var;
class Element;

// A Value and the place of its use. Functions and operators take it so that each node
// knows its line.
class Operand {
 public:
  // Stands for "not given" where an argument is optional.
  Operand() = default;
  Operand(const Value& value, Where where = Where::current()) : value_(value), where_(where) {}
  template <Number T>
  Operand(T number, Where where = Where::current()) : value_(number), where_(where) {}
  Operand(const Var& variable, Where where = Where::current());
  Operand(const Element& element, Where where = Where::current());

  [[nodiscard]] const Value& value() const { return value_; }
  [[nodiscard]] const Where& where() const { return where_; }
  [[nodiscard]] bool given() const { return value_.handle().kind != detail::Handle::Kind::Empty; }

 private:
  Value value_;
  Where where_;
};

// ---- operators

namespace detail {
Value unary(ir::UnaryOp op, const Operand& operand);
Value binary(ir::BinaryOp op, const Operand& left, const Operand& right);
Value cast(ir::Type type, const Operand& operand);
Value bitcast(ir::Type type, const Operand& operand);
Value intrinsic(ir::Intrinsic op, const Operand& a, const Operand& b, const Operand& c);
Value subgroup(ir::SubgroupOp op, const Operand& value, const Operand& lane);
Value with_suffix(ir::Type type, Value literal);
}  // namespace detail

// `&&` and `||` are evaluated lazily by the program; building them is not lazy.
#define VYRE_OPERATOR(symbol, name)                                  \
  inline Value operator symbol(const Operand& a, const Operand& b) { \
    return detail::binary(ir::BinaryOp::name, a, b);                 \
  }
VYRE_OPERATOR(||, LogicalOr)
VYRE_OPERATOR(&&, LogicalAnd)
VYRE_OPERATOR(==, Eq)
VYRE_OPERATOR(!=, Ne)
VYRE_OPERATOR(<, Lt)
VYRE_OPERATOR(<=, Le)
VYRE_OPERATOR(>, Gt)
VYRE_OPERATOR(>=, Ge)
VYRE_OPERATOR(|, Or)
VYRE_OPERATOR(^, Xor)
VYRE_OPERATOR(&, And)
VYRE_OPERATOR(<<, Shl)
VYRE_OPERATOR(>>, Shr)
VYRE_OPERATOR(+, Add)
VYRE_OPERATOR(-, Sub)
VYRE_OPERATOR(*, Mul)
VYRE_OPERATOR(/, Div)
VYRE_OPERATOR(%, Rem)
#undef VYRE_OPERATOR

inline Value operator-(const Operand& a) {
  return detail::unary(ir::UnaryOp::Neg, a);
}
inline Value operator!(const Operand& a) {
  return detail::unary(ir::UnaryOp::Not, a);
}
inline Value operator~(const Operand& a) {
  return detail::unary(ir::UnaryOp::BitNot, a);
}

// `x as T` and bitcast<T>(x).
template <class T>
Value as(const Operand& x) {
  return detail::cast(type_of<T>, x);
}
inline Value as(ir::Type type, const Operand& x) {
  return detail::cast(type, x);
}
template <class T>
Value bitcast(const Operand& x) {
  return detail::bitcast(type_of<T>, x);
}
inline Value bitcast(ir::Type type, const Operand& x) {
  return detail::bitcast(type, x);
}

// A literal with a suffix: lit<u64>(5) is 5u64.
template <class T, Number N>
Value lit(N number) {
  return detail::with_suffix(type_of<T>, Value(number));
}
template <Number N>
Value lit(ir::Type type, N number) {
  return detail::with_suffix(type, Value(number));
}
// Literals that no C++ number can say: a minus before zero, more digits than a double has ("0.1",
// "2.5e-7").
Value whole(uint64_t magnitude, bool negative, std::optional<ir::Type> suffix = {});
Value decimal(std::string_view text, std::optional<ir::Type> suffix = {},
              Where where = Where::current());

// ---- built-in functions

#define VYRE_FUNCTION_1(name, op)                           \
  inline Value name(const Operand& x) {                     \
    return detail::intrinsic(ir::Intrinsic::op, x, {}, {}); \
  }
#define VYRE_FUNCTION_2(name, op)                          \
  inline Value name(const Operand& x, const Operand& y) {  \
    return detail::intrinsic(ir::Intrinsic::op, x, y, {}); \
  }
#define VYRE_FUNCTION_3(name, op)                                           \
  inline Value name(const Operand& x, const Operand& y, const Operand& z) { \
    return detail::intrinsic(ir::Intrinsic::op, x, y, z);                   \
  }
VYRE_FUNCTION_3(select, Select)
VYRE_FUNCTION_2(min, Min)
VYRE_FUNCTION_2(max, Max)
VYRE_FUNCTION_3(clamp, Clamp)
VYRE_FUNCTION_1(abs, Abs)
VYRE_FUNCTION_2(abs_diff, AbsDiff)
VYRE_FUNCTION_1(sign, Sign)
VYRE_FUNCTION_2(sat_add, SatAdd)
VYRE_FUNCTION_2(sat_sub, SatSub)
VYRE_FUNCTION_2(sat_mul, SatMul)
VYRE_FUNCTION_2(mul_hi, MulHi)
VYRE_FUNCTION_2(rotl, Rotl)
VYRE_FUNCTION_2(rotr, Rotr)
VYRE_FUNCTION_1(popcount, Popcount)
VYRE_FUNCTION_1(clz, Clz)
VYRE_FUNCTION_1(ctz, Ctz)
VYRE_FUNCTION_1(reverse_bits, ReverseBits)
VYRE_FUNCTION_3(fma, Fma)
VYRE_FUNCTION_1(sqrt, Sqrt)
VYRE_FUNCTION_1(floor, Floor)
VYRE_FUNCTION_1(ceil, Ceil)
VYRE_FUNCTION_1(trunc, Trunc)
VYRE_FUNCTION_1(round, Round)
VYRE_FUNCTION_1(is_nan, IsNan)
VYRE_FUNCTION_1(is_inf, IsInf)
VYRE_FUNCTION_1(is_finite, IsFinite)
VYRE_FUNCTION_1(exp, Exp)
VYRE_FUNCTION_1(exp2, Exp2)
VYRE_FUNCTION_1(log, Log)
VYRE_FUNCTION_1(log2, Log2)
VYRE_FUNCTION_1(sin, Sin)
VYRE_FUNCTION_1(cos, Cos)
VYRE_FUNCTION_1(tan, Tan)
VYRE_FUNCTION_1(asin, Asin)
VYRE_FUNCTION_1(acos, Acos)
VYRE_FUNCTION_1(atan, Atan)
VYRE_FUNCTION_1(sinh, Sinh)
VYRE_FUNCTION_1(cosh, Cosh)
VYRE_FUNCTION_1(tanh, Tanh)
VYRE_FUNCTION_2(pow, Pow)
VYRE_FUNCTION_1(rsqrt, Rsqrt)
VYRE_FUNCTION_1(recip, Recip)
VYRE_FUNCTION_2(atan2, Atan2)
VYRE_FUNCTION_2(hypot, Hypot)
VYRE_FUNCTION_1(log10, Log10)
VYRE_FUNCTION_1(log1p, Log1p)
VYRE_FUNCTION_1(expm1, Expm1)
VYRE_FUNCTION_1(cbrt, Cbrt)
VYRE_FUNCTION_1(erf, Erf)
VYRE_FUNCTION_1(exp10, Exp10)
VYRE_FUNCTION_1(round_away, RoundAway)
#undef VYRE_FUNCTION_1
#undef VYRE_FUNCTION_2
#undef VYRE_FUNCTION_3

#define VYRE_SUBGROUP_1(name, op)                       \
  inline Value subgroup_##name(const Operand& x) {      \
    return detail::subgroup(ir::SubgroupOp::op, x, {}); \
  }
#define VYRE_SUBGROUP_2(name, op)                                       \
  inline Value subgroup_##name(const Operand& x, const Operand& lane) { \
    return detail::subgroup(ir::SubgroupOp::op, x, lane);               \
  }
VYRE_SUBGROUP_1(ballot, Ballot)
VYRE_SUBGROUP_2(shuffle, Shuffle)
VYRE_SUBGROUP_2(shuffle_xor, ShuffleXor)
VYRE_SUBGROUP_2(shuffle_up, ShuffleUp)
VYRE_SUBGROUP_2(shuffle_down, ShuffleDown)
VYRE_SUBGROUP_2(broadcast, Broadcast)
VYRE_SUBGROUP_1(add, Add)
VYRE_SUBGROUP_1(mul, Mul)
VYRE_SUBGROUP_1(min, Min)
VYRE_SUBGROUP_1(max, Max)
VYRE_SUBGROUP_1(and, And)
VYRE_SUBGROUP_1(or, Or)
VYRE_SUBGROUP_1(xor, Xor)
VYRE_SUBGROUP_1(exclusive_add, ExclusiveAdd)
VYRE_SUBGROUP_1(inclusive_add, InclusiveAdd)
VYRE_SUBGROUP_1(any, Any)
VYRE_SUBGROUP_1(all, All)
#undef VYRE_SUBGROUP_1
#undef VYRE_SUBGROUP_2

// ---- built-in values

namespace detail {
constexpr Value builtin(ir::Builtin which, uint8_t axis = 0) {
  return Value(
      Handle{.kind = Handle::Kind::Builtin, .axis = axis, .payload = static_cast<uint64_t>(which)});
}
struct Axes {
  Value x, y, z;
};
constexpr Axes axes(ir::Builtin which) {
  return {builtin(which, 0), builtin(which, 1), builtin(which, 2)};
}
}  // namespace detail

inline constexpr detail::Axes gid = detail::axes(ir::Builtin::Gid);
inline constexpr detail::Axes lid = detail::axes(ir::Builtin::Lid);
inline constexpr detail::Axes wid = detail::axes(ir::Builtin::Wid);
inline constexpr detail::Axes num_workgroups = detail::axes(ir::Builtin::NumWorkgroups);
inline constexpr detail::Axes workgroup_size = detail::axes(ir::Builtin::WorkgroupSize);
inline constexpr Value subgroup_lane = detail::builtin(ir::Builtin::SubgroupLane);
inline constexpr Value subgroup_id = detail::builtin(ir::Builtin::SubgroupId);
inline constexpr Value subgroup_size = detail::builtin(ir::Builtin::SubgroupSize);
constexpr Value fixpoint_passes() {
  return detail::builtin(ir::Builtin::FixpointPasses);
}
constexpr Value fixpoint_converged() {
  return detail::builtin(ir::Builtin::FixpointConverged);
}

}  // namespace vyre::build
