// SPDX-License-Identifier: Apache-2.0
#include "check/constants.hpp"

#include <array>
#include <bit>

#include "base/match.hpp"
#include "ir/maths.hpp"
#include "ir/scalar.hpp"

namespace vyre::check {

using namespace ir;

namespace {

// The mathematical value of an integer or bool constant.
__int128 value_of(Constant c) {
  return integer_value(c.type, c.bits);
}

}  // namespace

int64_t as_signed(Constant c) {
  return static_cast<int64_t>(value_of(c));
}

Constant make_float(Type type, double value) {
  if (type == Type::F32) return {type, std::bit_cast<uint32_t>(static_cast<float>(value))};
  return {type, std::bit_cast<uint64_t>(value)};
}

std::optional<Constant> fold(UnaryOp op, Constant a) {
  const ScalarFn fn = scalar_fn(op, a.type);
  if (fn == nullptr) return std::nullopt;
  return Constant{a.type, fn(a.bits, 0, 0)};
}

std::optional<Constant> fold(BinaryOp op, Constant a, Constant b) {
  const ScalarFn fn = scalar_fn(op, a.type);
  if (fn == nullptr) return std::nullopt;
  return Constant{is_comparison(op) ? Type::Bool : a.type, fn(a.bits, b.bits, 0)};
}

Constant convert(Constant a, Type to) {
  return {to, conversion(a.type, to)(a.bits, 0, 0)};
}

std::optional<Constant> fold(Intrinsic op, std::span<const Constant> args) {
  if (is_maths(op)) return std::nullopt;  // one implementation, but not a constant
  const Type type = op == Intrinsic::Select ? args[1].type : args[0].type;
  const ScalarFn fn = scalar_fn(op, type);
  if (fn == nullptr) return std::nullopt;
  const auto bits = [&](size_t i) { return i < args.size() ? args[i].bits : 0; };
  const bool test = op == Intrinsic::IsNan || op == Intrinsic::IsInf || op == Intrinsic::IsFinite;
  return Constant{test ? Type::Bool : type, fn(bits(0), bits(1), bits(2))};
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
        const __int128 at = value_of(*index);
        if (at < 0 || at >= static_cast<__int128>(values.size())) return Constant{*type, 0};
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
      [](const LocalRef&) { return Maybe(); }, [](const BuiltinRef&) { return Maybe(); },
      [](const Len&) { return Maybe(); }, [](const Atomic&) { return Maybe(); },
      [](const Subgroup&) { return Maybe(); }, [](const UniformLoad&) { return Maybe(); },
      [](const Call&) { return Maybe(); }, [](const Poison&) { return Maybe(); },
      [](const AxisIndex&) { return Maybe(); }, [](const AxisLen&) { return Maybe(); });
}

std::optional<Constant> evaluate_constant(const CheckedProgram& checked, ExprId expr) {
  return evaluate(checked.program, checked, expr);
}

}  // namespace vyre::check
