// SPDX-License-Identifier: Apache-2.0
#include "check/constants.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "base/match.hpp"

namespace vyre::check {

using namespace ir;

namespace {

using Wide = __int128;

uint64_t mask_of(Type type) {
  return bits_of(type) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits_of(type)) - 1;
}

Constant integer(Type type, Wide value) {
  return {type, static_cast<uint64_t>(value) & mask_of(type)};
}
Constant truth(bool value) {
  return {Type::Bool, value ? 1U : 0U};
}

// The mathematical value of an integer or bool constant.
Wide value_of(Constant c) {
  return is_signed(c.type) ? Wide{as_signed(c)} : Wide{c.bits};
}

Wide lowest(Type type) {
  return is_signed(type) ? -(Wide{1} << (bits_of(type) - 1)) : 0;
}
Wide highest(Type type) {
  return (Wide{1} << (bits_of(type) - (is_signed(type) ? 1 : 0))) - 1;
}
Constant saturated(Type type, Wide value) {
  return integer(type, std::clamp(value, lowest(type), highest(type)));
}

std::optional<Constant> float_binary(BinaryOp op, Constant a, Constant b) {
  const double x = as_double(a);
  const double y = as_double(b);
  const bool narrow = a.type == Type::F32;
  // f32 operations are done in float: rounding a double result again would round twice.
  const auto arithmetic = [&](auto in_float, auto in_double) {
    return narrow ? make_float(Type::F32, in_float(static_cast<float>(x), static_cast<float>(y)))
                  : make_float(Type::F64, in_double(x, y));
  };
  switch (op) {
    case BinaryOp::Add: return arithmetic(std::plus<float>(), std::plus<double>());
    case BinaryOp::Sub: return arithmetic(std::minus<float>(), std::minus<double>());
    case BinaryOp::Mul: return arithmetic(std::multiplies<float>(), std::multiplies<double>());
    case BinaryOp::Div: {
      // By zero included: IEEE-754 says what comes out, so do not let a sanitizer object.
      if (y == 0) {
        const bool negative = std::signbit(x) != std::signbit(y);
        if (x == 0 || std::isnan(x))
          return make_float(a.type, std::numeric_limits<double>::quiet_NaN());
        return make_float(a.type, negative ? -std::numeric_limits<double>::infinity()
                                           : std::numeric_limits<double>::infinity());
      }
      return arithmetic(std::divides<float>(), std::divides<double>());
    }
    case BinaryOp::Eq: return truth(x == y);
    case BinaryOp::Ne: return truth(x != y);
    case BinaryOp::Lt: return truth(x < y);
    case BinaryOp::Le: return truth(x <= y);
    case BinaryOp::Gt: return truth(x > y);
    case BinaryOp::Ge: return truth(x >= y);
    case BinaryOp::LogicalOr:
    case BinaryOp::LogicalAnd:
    case BinaryOp::Or:
    case BinaryOp::Xor:
    case BinaryOp::And:
    case BinaryOp::Shl:
    case BinaryOp::Shr:
    case BinaryOp::Rem: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Constant> integer_binary(BinaryOp op, Constant a, Constant b) {
  const Type t = a.type;
  const Wide x = value_of(a);
  const Wide y = value_of(b);
  const uint32_t shift = static_cast<uint32_t>(b.bits & (bits_of(t) - 1));
  switch (op) {
    case BinaryOp::Add: return integer(t, x + y);
    case BinaryOp::Sub: return integer(t, x - y);
    case BinaryOp::Mul: return Constant{t, (a.bits * b.bits) & mask_of(t)};
    case BinaryOp::Div: return y == 0 ? a : integer(t, x / y);
    case BinaryOp::Rem: return y == 0 ? integer(t, 0) : integer(t, x % y);
    case BinaryOp::And: return Constant{t, a.bits & b.bits};
    case BinaryOp::Or: return Constant{t, a.bits | b.bits};
    case BinaryOp::Xor: return Constant{t, a.bits ^ b.bits};
    case BinaryOp::Shl: return Constant{t, (a.bits << shift) & mask_of(t)};
    case BinaryOp::Shr: return integer(t, x >> shift);
    case BinaryOp::Eq: return truth(x == y);
    case BinaryOp::Ne: return truth(x != y);
    case BinaryOp::Lt: return truth(x < y);
    case BinaryOp::Le: return truth(x <= y);
    case BinaryOp::Gt: return truth(x > y);
    case BinaryOp::Ge: return truth(x >= y);
    case BinaryOp::LogicalOr: return truth(x != 0 || y != 0);
    case BinaryOp::LogicalAnd: return truth(x != 0 && y != 0);
  }
  return std::nullopt;
}

// min and max ignore one NaN and order -0 below +0.
double float_min(double x, double y) {
  if (std::isnan(x)) return y;
  if (std::isnan(y)) return x;
  if (x == y) return std::signbit(x) ? x : y;
  return std::min(x, y);
}
double float_max(double x, double y) {
  if (std::isnan(x)) return y;
  if (std::isnan(y)) return x;
  if (x == y) return std::signbit(x) ? y : x;
  return std::max(x, y);
}

std::optional<Constant> float_function(Intrinsic op, std::span<const Constant> args) {
  const Type t = args[0].type;
  const double x = as_double(args[0]);
  const double y = args.size() > 1 ? as_double(args[1]) : 0;
  const double z = args.size() > 2 ? as_double(args[2]) : 0;
  switch (op) {
    case Intrinsic::Min: return make_float(t, float_min(x, y));
    case Intrinsic::Max: return make_float(t, float_max(x, y));
    case Intrinsic::Clamp: return make_float(t, float_min(float_max(x, y), z));
    case Intrinsic::Abs: return Constant{t, args[0].bits & (mask_of(t) >> 1)};
    case Intrinsic::Sign:
      return std::isnan(x) || x == 0 ? args[0] : make_float(t, x < 0 ? -1.0 : 1.0);
    case Intrinsic::Fma:
      return t == Type::F32 ? make_float(t, std::fma(static_cast<float>(x), static_cast<float>(y),
                                                     static_cast<float>(z)))
                            : make_float(t, std::fma(x, y, z));
    case Intrinsic::Sqrt:
      return t == Type::F32 ? make_float(t, std::sqrt(static_cast<float>(x)))
                            : make_float(t, std::sqrt(x));
    case Intrinsic::Floor: return make_float(t, std::floor(x));
    case Intrinsic::Ceil: return make_float(t, std::ceil(x));
    case Intrinsic::Trunc: return make_float(t, std::trunc(x));
    case Intrinsic::Round: return make_float(t, std::nearbyint(x));
    case Intrinsic::IsNan: return truth(std::isnan(x));
    case Intrinsic::IsInf: return truth(std::isinf(x));
    case Intrinsic::IsFinite: return truth(std::isfinite(x));
    default:
      return std::nullopt;  // integer functions, and the transcendental ones: not exactly defined
                            // here
  }
}

Constant count_function(Intrinsic op, Constant a) {
  const uint32_t width = bits_of(a.type);
  uint64_t reversed = 0;
  switch (op) {
    case Intrinsic::Popcount: return {a.type, static_cast<uint64_t>(std::popcount(a.bits))};
    case Intrinsic::Clz:
      return {a.type, static_cast<uint64_t>(std::countl_zero(a.bits)) - (64 - width)};
    case Intrinsic::Ctz:
      return {a.type, a.bits == 0 ? width : static_cast<uint64_t>(std::countr_zero(a.bits))};
    default:
      for (uint32_t i = 0; i < width; ++i) reversed |= ((a.bits >> i) & 1) << (width - 1 - i);
      return {a.type, reversed};
  }
}

std::optional<Constant> integer_function(Intrinsic op, std::span<const Constant> args) {
  const Constant a = args[0];
  const Type t = a.type;
  const Wide x = value_of(a);
  const Wide y = args.size() > 1 ? value_of(args[1]) : 0;
  const Wide z = args.size() > 2 ? value_of(args[2]) : 0;
  switch (op) {
    case Intrinsic::Min: return integer(t, std::min(x, y));
    case Intrinsic::Max: return integer(t, std::max(x, y));
    case Intrinsic::Clamp: return integer(t, std::min(std::max(x, y), z));
    case Intrinsic::Abs: return integer(t, x < 0 ? -x : x);
    case Intrinsic::AbsDiff: return integer(t, x < y ? y - x : x - y);
    case Intrinsic::Sign: return integer(t, x < 0 ? -1 : (x > 0 ? 1 : 0));
    case Intrinsic::SatAdd: return saturated(t, x + y);
    case Intrinsic::SatSub: return saturated(t, x - y);
    case Intrinsic::SatMul:
      // An unsigned 64-bit product can pass the signed 128-bit range; compare in unsigned there.
      if (t == Type::U64) {
        const unsigned __int128 product = static_cast<unsigned __int128>(a.bits) * args[1].bits;
        return Constant{t, product > mask_of(t) ? mask_of(t) : static_cast<uint64_t>(product)};
      }
      return saturated(t, x * y);
    case Intrinsic::MulHi:
      if (t == Type::U64)
        return Constant{t, static_cast<uint64_t>(
                               (static_cast<unsigned __int128>(a.bits) * args[1].bits) >> 64)};
      return integer(t, (x * y) >> bits_of(t));
    case Intrinsic::Rotl:
    case Intrinsic::Rotr: {
      const uint32_t width = bits_of(t);
      uint32_t by = static_cast<uint32_t>(args[1].bits & (width - 1));
      if (op == Intrinsic::Rotr) by = (width - by) & (width - 1);
      return Constant{t,
                      by == 0 ? a.bits : ((a.bits << by) | (a.bits >> (width - by))) & mask_of(t)};
    }
    case Intrinsic::Popcount:
    case Intrinsic::Clz:
    case Intrinsic::Ctz:
    case Intrinsic::ReverseBits: return count_function(op, a);
    default: return std::nullopt;  // float functions
  }
}

}  // namespace

int64_t as_signed(Constant c) {
  return bits_of(c.type) == 64
             ? static_cast<int64_t>(c.bits)
             : static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(c.bits)));
}

double as_double(Constant c) {
  return c.type == Type::F32
             ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(c.bits)))
             : std::bit_cast<double>(c.bits);
}

Constant make_float(Type type, double value) {
  if (type == Type::F32) return {type, std::bit_cast<uint32_t>(static_cast<float>(value))};
  return {type, std::bit_cast<uint64_t>(value)};
}

std::optional<Constant> fold(UnaryOp op, Constant a) {
  switch (op) {
    case UnaryOp::Neg:
      if (is_float(a.type))
        return Constant{a.type, a.bits ^ (uint64_t{1} << (bits_of(a.type) - 1))};
      return integer(a.type, -value_of(a));
    case UnaryOp::Not: return truth(a.bits == 0);
    case UnaryOp::BitNot: return Constant{a.type, ~a.bits & mask_of(a.type)};
  }
  return std::nullopt;
}

std::optional<Constant> fold(BinaryOp op, Constant a, Constant b) {
  return is_float(a.type) ? float_binary(op, a, b) : integer_binary(op, a, b);
}

Constant convert(Constant a, Type to) {
  if (to == Type::Bool) return truth(is_float(a.type) ? as_double(a) != 0 : a.bits != 0);
  if (is_float(a.type)) {
    const double x = as_double(a);
    if (is_float(to)) return make_float(to, x);
    if (std::isnan(x)) return integer(to, 0);
    const double low = static_cast<double>(lowest(to));
    const double beyond = static_cast<double>(highest(to) + 1);  // a power of two: exact
    if (x <= low) return integer(to, lowest(to));
    if (x >= beyond) return integer(to, highest(to));
    return integer(to, static_cast<Wide>(x));
  }
  if (is_float(to)) {
    // From 64 bits straight to float: going through double would round twice.
    if (to == Type::F32)
      return {to, std::bit_cast<uint32_t>(is_signed(a.type) ? static_cast<float>(as_signed(a))
                                                            : static_cast<float>(a.bits))};
    return make_float(
        to, is_signed(a.type) ? static_cast<double>(as_signed(a)) : static_cast<double>(a.bits));
  }
  return integer(to, value_of(a));
}

std::optional<Constant> fold(Intrinsic op, std::span<const Constant> args) {
  if (op == Intrinsic::Select) return args[0].bits != 0 ? args[1] : args[2];
  return is_float(args[0].type) ? float_function(op, args) : integer_function(op, args);
}

std::optional<Constant> evaluate(const Program& p, const CheckedProgram& facts, ExprId expr) {
  if (!expr.valid()) return std::nullopt;
  const auto type = facts.expr_types[expr.index()];
  if (!type) return std::nullopt;
  const auto recurse = [&](ExprId id) { return evaluate(p, facts, id); };
  using Maybe = std::optional<Constant>;
  const auto literal = [&](const auto& node) -> Maybe {
    return literal_in_type(Expr(node), *type);
  };
  const auto none = [](const auto&) -> Maybe { return std::nullopt; };
  return match(
      p[expr], [&](const IntLiteral& e) { return literal(e); },
      [&](const FloatLiteral& e) { return literal(e); },
      [&](const BoolLiteral& e) { return literal(e); },
      [&](const ConstRef& e) -> Maybe {
        const auto& values = facts.constants[e.constant.index()];
        return values.empty() ? Maybe() : values.front();
      },
      [&](const Load& e) -> Maybe {
        if (e.memory.kind != Memory::Kind::Table) return std::nullopt;
        const Maybe index = recurse(e.index);
        if (!index) return std::nullopt;
        const auto& values = facts.constants[e.memory.index];
        const Wide at = value_of(*index);
        if (at < 0 || at >= static_cast<Wide>(values.size())) return Constant{*type, 0};
        return values[static_cast<size_t>(at)];
      },
      [&](const Unary& e) -> Maybe {
        const Maybe a = recurse(e.operand);
        return a ? fold(e.op, *a) : std::nullopt;
      },
      [&](const Binary& e) -> Maybe {
        const Maybe a = recurse(e.left);
        const Maybe b = recurse(e.right);
        return a && b ? fold(e.op, *a, *b) : std::nullopt;
      },
      [&](const Cast& e) -> Maybe {
        const Maybe a = recurse(e.operand);
        return a ? Maybe(convert(*a, e.type)) : std::nullopt;
      },
      [&](const Bitcast& e) -> Maybe {
        const Maybe a = recurse(e.operand);
        return a ? Maybe(Constant{e.type, a->bits}) : std::nullopt;
      },
      [&](const IntrinsicCall& e) -> Maybe {
        std::array<Constant, 3> args;
        const size_t count = static_cast<size_t>(arity_of(e.op));
        for (size_t i = 0; i < count; ++i) {
          const Maybe a = recurse(e.args[i]);
          if (!a) return std::nullopt;
          args[i] = *a;
        }
        return fold(e.op, std::span(args).first(count));
      },
      [&](const LocalRef& e) { return none(e); }, [&](const BuiltinRef& e) { return none(e); },
      [&](const Len& e) { return none(e); }, [&](const Atomic& e) { return none(e); },
      [&](const Subgroup& e) { return none(e); }, [&](const UniformLoad& e) { return none(e); },
      [&](const Call& e) { return none(e); }, [&](const Poison& e) { return none(e); });
}

std::optional<Constant> evaluate_constant(const CheckedProgram& checked, ExprId expr) {
  return evaluate(checked.program, checked, expr);
}

}  // namespace vyre::check
