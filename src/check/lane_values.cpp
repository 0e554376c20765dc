// SPDX-License-Identifier: Apache-2.0
#include "check/lane_values.hpp"

#include <algorithm>
#include <array>

#include "base/match.hpp"
#include "check/constants.hpp"
#include "ir/scalar.hpp"

namespace vyre::check {

using namespace ir;
using namespace cover;

namespace {

Constant constant_of(Type type, const Form& form) {
  const uint64_t bits = static_cast<uint64_t>(form.offset);
  return {type, bits_of(type) == 64 ? bits : bits & 0xFFFF'FFFF};
}
Form form_of(Constant c) {
  return Form::of(integer_value(c.type, c.bits));
}

// What a comparison says the other way round: c < x, !(x < c).
BinaryOp mirrored(BinaryOp op) {
  switch (op) {
    case BinaryOp::Lt: return BinaryOp::Gt;
    case BinaryOp::Le: return BinaryOp::Ge;
    case BinaryOp::Gt: return BinaryOp::Lt;
    case BinaryOp::Ge: return BinaryOp::Le;
    default: return op;
  }
}
BinaryOp negated(BinaryOp op) {
  switch (op) {
    case BinaryOp::Lt: return BinaryOp::Ge;
    case BinaryOp::Le: return BinaryOp::Gt;
    case BinaryOp::Gt: return BinaryOp::Le;
    case BinaryOp::Ge: return BinaryOp::Lt;
    case BinaryOp::Eq: return BinaryOp::Ne;
    case BinaryOp::Ne: return BinaryOp::Eq;
    default: return op;
  }
}

std::optional<Form> folded(const std::optional<Constant>& c) {
  if (!c || !is_integer(c->type)) return std::nullopt;
  return form_of(*c);
}

}  // namespace

Wide lowest_of(Type type) {
  return is_signed(type) ? -(Wide{1} << (bits_of(type) - 1)) : 0;
}
Wide highest_of(Type type) {
  return (Wide{1} << (bits_of(type) - (is_signed(type) ? 1 : 0))) - 1;
}

LaneValues::LaneValues(const CheckedProgram& checked, const Launch& launch,
                       std::span<const std::span<const std::byte>> given)
    : c_(checked),
      p_(checked.program),
      launch_(launch),
      given_(given),
      values_(p_.locals.size()),
      conditions_(p_.locals.size()),
      memories_(p_.locals.size()),
      assigned_(p_.locals.size()) {
  for (const Stmt& s : p_.stmts)
    if (const auto* x = std::get_if<Assign>(&s)) assigned_[x->local.index()] = true;
}

void LaneValues::define(LocalId local, std::optional<Form> form) {
  values_[local.index()] = assigned_[local.index()] ? std::nullopt : std::move(form);
}

void LaneValues::define(const Let& let) {
  define(let.local, value(let.value));
  conditions_[let.local.index()] = assigned_[let.local.index()] ? ExprId{} : let.value;
}

std::optional<Form> LaneValues::value(ExprId id) {
  const auto type = c_.expr_types[id.index()];
  if (!type || !is_integer(*type)) return std::nullopt;
  auto form = value(id, *type);
  // What lanes differ in may cancel out.
  if (form && form->constant()) form = form_of(constant_of(*type, *form));
  return form;
}

std::optional<Form> LaneValues::value(ExprId id, Type type) {
  using F = std::optional<Form>;
  const auto constant = [&]() -> F {
    const auto c = check::evaluate(p_, c_, id);
    return c ? F(form_of(*c)) : F();
  };
  return match(
      p_[id], [&](const IntLiteral&) { return constant(); },
      [&](const ConstRef&) { return constant(); }, [](const FloatLiteral&) { return F(); },
      [](const BoolLiteral&) { return F(); },
      [&](const LocalRef& e) { return values_[e.local.index()]; },
      [&](const BuiltinRef& e) { return builtin(e); },
      [&](const Len& e) -> F {
        const BufferId b = resolve(e.memory);
        if (!b.valid()) return std::nullopt;
        return form_of({type, launch_.counts[b.index()]});
      },
      [&](const Load& e) { return uniform(e, type); },
      [&](const Unary& e) -> F {
        const F x = value(e.operand);
        if (!x) return x;
        if (x->constant()) return folded(fold(e.op, constant_of(type, *x)));
        return e.op == UnaryOp::Neg ? scale(*x, -1) : F();
      },
      [&](const Binary& e) { return binary(e, type); }, [&](const Cast& e) { return cast(e); },
      [](const Bitcast&) { return F(); }, [&](const IntrinsicCall& e) { return function(e); },
      [](const Atomic&) { return F(); }, [](const Subgroup&) { return F(); },
      [](const UniformLoad&) { return F(); }, [](const Call&) { return F(); },
      [](const Poison&) { return F(); }, [&](const AxisIndex& e) { return axis_index(e); },
      [&](const AxisLen& e) -> F {
        const BufferId b = resolve(e.memory);
        return b.valid() ? F(Form::of(Wide{axis_length(b, e.axis)})) : F();
      });
}

// A launch that was not resolved from its source has none.
std::span<const uint64_t> LaneValues::axes_of(BufferId buffer) const {
  return buffer.index() < launch_.axes.size()
             ? std::span<const uint64_t>(launch_.axes[buffer.index()])
             : std::span<const uint64_t>();
}

uint64_t LaneValues::axis_length(BufferId buffer, uint32_t axis) const {
  const auto axes = axes_of(buffer);
  return axes.empty() ? launch_.counts[buffer.index()] : axes[axis];
}

// Lanes with an index outside of its axis count for nothing from here on.
std::optional<Form> LaneValues::axis_index(const AxisIndex& e) {
  const BufferId b = resolve(e.memory);
  if (!b.valid() || axes_of(b).size() != e.indices.count) return std::nullopt;
  std::optional<Form> at = Form{};
  for (uint32_t axis = 0; axis < e.indices.count && at; ++axis) {
    const Wide length{axis_length(b, axis)};
    const auto index = value(p_.values(e.indices)[axis]);
    if (!index) return std::nullopt;
    guards.push_back({*index, 0, length - 1});
    at = scale(*at, length);
    if (at) at = add(*at, *index);
  }
  return at;
}

std::optional<Form> LaneValues::builtin(const BuiltinRef& e) const {
  switch (e.builtin) {
    case Builtin::Gid: return Form::of_unknown(kGid + e.axis);
    case Builtin::Lid: return Form::of_unknown(kLid + e.axis);
    case Builtin::Wid: return Form::of_unknown(kWid + e.axis);
    case Builtin::NumWorkgroups: return Form::of(launch_.grid[e.axis]);
    case Builtin::WorkgroupSize: return Form::of(launch_.workgroup[e.axis]);
    case Builtin::SubgroupLane:
    case Builtin::SubgroupId:
    case Builtin::SubgroupSize:
    case Builtin::FixpointPasses:
    case Builtin::FixpointConverged: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Form> LaneValues::uniform(const Load& e, Type type) {
  const BufferId b = resolve(e.memory);
  if (!b.valid() || p_[b].kind != BufferKind::Uniform) return std::nullopt;
  const auto bytes = given_[b.index()];
  const auto index = value(e.index);
  if (!index || !index->constant() || bytes.empty()) return std::nullopt;
  if (index->offset < 0 || index->offset >= Wide{launch_.counts[b.index()]}) return Form{};
  const auto at = static_cast<size_t>(index->offset) * bytes_of(p_[b].element);
  return form_of({type, load_element(p_[b].element, bytes.data() + at)});
}

std::optional<Form> LaneValues::binary(const Binary& e, Type type) {
  const auto x = value(e.left);
  const auto y = value(e.right);
  if (!x || !y) return std::nullopt;
  const Constant amount = constant_of(type_of(e.right), *y);
  if (x->constant() && y->constant()) return folded(fold(e.op, constant_of(type, *x), amount));
  if (e.op == BinaryOp::Add) return add(*x, *y);
  if (e.op == BinaryOp::Sub) return add(*x, *y, -1);
  if (e.op == BinaryOp::Mul && y->constant()) return scale(*x, y->offset);
  if (e.op == BinaryOp::Mul && x->constant()) return scale(*y, x->offset);
  if (e.op == BinaryOp::Shl && y->constant())
    return scale(*x, Wide{1} << (amount.bits & (bits_of(type) - 1)));
  return std::nullopt;
}

std::optional<Form> LaneValues::cast(const Cast& e) {
  const auto x = value(e.operand);
  if (!x) return x;
  const Type from = type_of(e.operand);
  if (x->constant()) return folded(convert(constant_of(from, *x), e.type));
  // It stays what it is where both types have it. Other lanes count for nothing from here on.
  guards.push_back({*x, std::max(lowest_of(from), lowest_of(e.type)),
                    std::min(highest_of(from), highest_of(e.type))});
  return x;
}

std::optional<Form> LaneValues::function(const IntrinsicCall& e) {
  std::array<Constant, 3> args;
  const auto count = static_cast<size_t>(arity_of(e.op));
  for (size_t i = 0; i < count; ++i) {
    const auto x = value(e.args[i]);
    if (!x || !x->constant()) return std::nullopt;
    args[i] = constant_of(type_of(e.args[i]), *x);
  }
  return folded(fold(e.op, std::span(args).first(count)));
}

// ---- conditions

void LaneValues::assume(ExprId id, bool truth) {
  int budget = 256;  // `let`s may refer to each other again and again
  assume(id, truth, budget);
}

void LaneValues::assume(ExprId id, bool truth, int& budget) {
  const auto no_lane = [&] { guards.push_back(never()); };
  if (--budget < 0) return no_lane();
  const Expr& e = p_[id];
  if (const auto* x = std::get_if<Unary>(&e); x != nullptr && x->op == UnaryOp::Not)
    return assume(x->operand, !truth, budget);
  if (const auto* x = std::get_if<LocalRef>(&e)) {
    const ExprId meant = conditions_[x->local.index()];
    return meant.valid() ? assume(meant, truth, budget) : no_lane();
  }
  if (const auto* x = std::get_if<Binary>(&e)) {
    const BinaryOp both = truth ? BinaryOp::LogicalAnd : BinaryOp::LogicalOr;
    const BinaryOp eager = truth ? BinaryOp::And : BinaryOp::Or;
    if (x->op == both || x->op == eager) {
      assume(x->left, truth, budget);
      assume(x->right, truth, budget);
      return;
    }
    if (is_comparison(x->op)) return compare(*x, truth);
  }
  const auto c = check::evaluate(p_, c_, id);
  if (!c || (c->bits != 0) != truth) no_lane();
}

void LaneValues::compare(const Binary& e, bool truth) {
  const auto no_lane = [&] { guards.push_back(never()); };
  auto x = value(e.left);
  auto y = value(e.right);
  if (!x || !y) return no_lane();
  BinaryOp op = truth ? e.op : negated(e.op);
  if (!y->constant()) {
    std::swap(x, y);
    op = mirrored(op);
  }
  if (!y->constant()) return no_lane();
  const Type type = type_of(e.left);
  Guard guard{std::move(*x), lowest_of(type), highest_of(type)};
  const Wide with = y->offset;
  if (op == BinaryOp::Ne && with != guard.low && with != guard.high) return no_lane();
  if (op == BinaryOp::Gt || (op == BinaryOp::Ne && with == guard.low)) guard.low = with + 1;
  if (op == BinaryOp::Lt || (op == BinaryOp::Ne && with == guard.high)) guard.high = with - 1;
  if (op == BinaryOp::Ge || op == BinaryOp::Eq) guard.low = with;
  if (op == BinaryOp::Le || op == BinaryOp::Eq) guard.high = with;
  guards.push_back(std::move(guard));
}

}  // namespace vyre::check
