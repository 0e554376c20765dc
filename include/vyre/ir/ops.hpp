// SPDX-License-Identifier: Apache-2.0
// Operators, built-in functions and built-in values, as enums with one table row each: spelling,
// number of arguments. The parser, the printer, the builder and the checker all read these tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vyre::ir {

enum class UnaryOp : uint8_t { Neg, Not, BitNot };

// In the order of precedence groups, loosest first.
enum class BinaryOp : uint8_t {
  LogicalOr,
  LogicalAnd,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Or,
  Xor,
  And,
  Shl,
  Shr,
  Add,
  Sub,
  Mul,
  Div,
  Rem,
};

constexpr bool is_comparison(BinaryOp op) {
  return op >= BinaryOp::Eq && op <= BinaryOp::Ge;
}
constexpr bool is_lazy(BinaryOp op) {
  return op <= BinaryOp::LogicalAnd;
}
constexpr bool is_shift(BinaryOp op) {
  return op == BinaryOp::Shl || op == BinaryOp::Shr;
}
// Higher binds tighter; `as` is kCastPrecedence, unary operators kUnaryPrecedence.
int precedence_of(BinaryOp op);
inline constexpr int kCastPrecedence = 10;
inline constexpr int kUnaryPrecedence = 11;
inline constexpr int kPostfixPrecedence = 12;
std::string_view spelling_of(UnaryOp op);
std::string_view spelling_of(BinaryOp op);

// Pure built-in functions: name, number of arguments.
// clang-format off
#define VYRE_INTRINSICS(X)                                                                        \
  X(Select, "select", 3) X(Min, "min", 2) X(Max, "max", 2) X(Clamp, "clamp", 3) X(Abs, "abs", 1)  \
  X(AbsDiff, "abs_diff", 2) X(Sign, "sign", 1) X(SatAdd, "sat_add", 2) X(SatSub, "sat_sub", 2)    \
  X(SatMul, "sat_mul", 2) X(MulHi, "mul_hi", 2) X(Rotl, "rotl", 2) X(Rotr, "rotr", 2)             \
  X(Popcount, "popcount", 1) X(Clz, "clz", 1) X(Ctz, "ctz", 1) X(ReverseBits, "reverse_bits", 1)  \
  X(Fma, "fma", 3) X(Sqrt, "sqrt", 1) X(Floor, "floor", 1) X(Ceil, "ceil", 1)                     \
  X(Trunc, "trunc", 1) X(Round, "round", 1) X(IsNan, "is_nan", 1) X(IsInf, "is_inf", 1)           \
  X(IsFinite, "is_finite", 1) X(Exp, "exp", 1) X(Exp2, "exp2", 1) X(Log, "log", 1)                \
  X(Log2, "log2", 1) X(Sin, "sin", 1) X(Cos, "cos", 1) X(Tan, "tan", 1) X(Asin, "asin", 1)        \
  X(Acos, "acos", 1) X(Atan, "atan", 1) X(Sinh, "sinh", 1) X(Cosh, "cosh", 1) X(Tanh, "tanh", 1)  \
  X(Pow, "pow", 2) X(Rsqrt, "rsqrt", 1) X(Recip, "recip", 1) X(Atan2, "atan2", 2)                 \
  X(Hypot, "hypot", 2) X(Log10, "log10", 1) X(Log1p, "log1p", 1) X(Expm1, "expm1", 1)             \
  X(Cbrt, "cbrt", 1) X(Erf, "erf", 1) X(Exp10, "exp10", 1) X(RoundAway, "round_away", 1)
// clang-format on

enum class Intrinsic : uint8_t {
#define VYRE_ROW(id, name, arity) id,
  VYRE_INTRINSICS(VYRE_ROW)
#undef VYRE_ROW
};
inline constexpr int kIntrinsicCount = static_cast<int>(Intrinsic::RoundAway) + 1;
std::string_view name_of(Intrinsic op);
int arity_of(Intrinsic op);
// Of the second edition: their names are not reserved, and a function of the program that has one
// is what a call of it means. The binary form has them from version 2 on.
constexpr bool is_second_edition(Intrinsic op) {
  return op > Intrinsic::Recip;
}
std::optional<Intrinsic> intrinsic_from_name(std::string_view name);

// Atomics: name, number of value arguments after b[i] (cas: expected, new).
// clang-format off
#define VYRE_ATOMICS(X)                                                                           \
  X(Add, "atomic_add", 1) X(Sub, "atomic_sub", 1) X(Min, "atomic_min", 1)                         \
  X(Max, "atomic_max", 1) X(And, "atomic_and", 1) X(Or, "atomic_or", 1) X(Xor, "atomic_xor", 1)   \
  X(Nand, "atomic_nand", 1) X(Exchange, "atomic_exchange", 1) X(Cas, "atomic_cas", 2)             \
  X(Load, "atomic_load", 0) X(Store, "atomic_store", 1)
// clang-format on

enum class AtomicOp : uint8_t {
#define VYRE_ROW(id, name, arity) id,
  VYRE_ATOMICS(VYRE_ROW)
#undef VYRE_ROW
};
inline constexpr int kAtomicCount = static_cast<int>(AtomicOp::Store) + 1;
std::string_view name_of(AtomicOp op);
int arity_of(AtomicOp op);
std::optional<AtomicOp> atomic_from_name(std::string_view name);

enum class MemoryOrder : uint8_t { Relaxed, Acquire, Release, AcqRel };
std::string_view name_of(MemoryOrder order);
std::optional<MemoryOrder> order_from_name(std::string_view name);

// Subgroup operations: name, number of arguments (the second is a lane or a distance).
// clang-format off
#define VYRE_SUBGROUP_OPS(X)                                                                      \
  X(Ballot, "subgroup_ballot", 1) X(Shuffle, "subgroup_shuffle", 2)                               \
  X(ShuffleXor, "subgroup_shuffle_xor", 2) X(ShuffleUp, "subgroup_shuffle_up", 2)                 \
  X(ShuffleDown, "subgroup_shuffle_down", 2) X(Broadcast, "subgroup_broadcast", 2)                \
  X(Add, "subgroup_add", 1) X(Mul, "subgroup_mul", 1) X(Min, "subgroup_min", 1)                   \
  X(Max, "subgroup_max", 1) X(And, "subgroup_and", 1) X(Or, "subgroup_or", 1)                     \
  X(Xor, "subgroup_xor", 1) X(ExclusiveAdd, "subgroup_exclusive_add", 1)                          \
  X(InclusiveAdd, "subgroup_inclusive_add", 1) X(Any, "subgroup_any", 1)                          \
  X(All, "subgroup_all", 1)
// clang-format on

enum class SubgroupOp : uint8_t {
#define VYRE_ROW(id, name, arity) id,
  VYRE_SUBGROUP_OPS(VYRE_ROW)
#undef VYRE_ROW
};
inline constexpr int kSubgroupOpCount = static_cast<int>(SubgroupOp::All) + 1;
std::string_view name_of(SubgroupOp op);
int arity_of(SubgroupOp op);
std::optional<SubgroupOp> subgroup_from_name(std::string_view name);

// Values that exist without being declared. The first five have an axis (x, y, z); the last two are
// written with empty parentheses.
enum class Builtin : uint8_t {
  Gid,
  Lid,
  Wid,
  NumWorkgroups,
  WorkgroupSize,
  SubgroupLane,
  SubgroupId,
  SubgroupSize,
  FixpointPasses,
  FixpointConverged,
};
inline constexpr int kBuiltinCount = static_cast<int>(Builtin::FixpointConverged) + 1;
constexpr bool has_axis(Builtin b) {
  return b <= Builtin::WorkgroupSize;
}
constexpr bool is_call(Builtin b) {
  return b >= Builtin::FixpointPasses;
}
std::string_view name_of(Builtin builtin);
std::optional<Builtin> builtin_from_name(std::string_view name);

enum class Scope : uint8_t { Subgroup, Workgroup, Grid };
std::string_view name_of(Scope scope);

enum class CollectiveOp : uint8_t { AllReduce, Broadcast, AllGather, ReduceScatter };
std::string_view name_of(CollectiveOp op);
std::optional<CollectiveOp> collective_from_name(std::string_view name);

enum class ReduceOp : uint8_t { Add, Min, Max, And, Or, Xor };
std::string_view name_of(ReduceOp op);
std::optional<ReduceOp> reduce_from_name(std::string_view name);

// True for every keyword of the grammar, type name and built-in name: none of them can be declared.
bool is_reserved(std::string_view name);
// [A-Za-z_][A-Za-z0-9_]*, at least one byte; says nothing about reserved words or length.
bool is_identifier(std::string_view name);

}  // namespace vyre::ir
