// SPDX-License-Identifier: Apache-2.0
#include "check/bounds_numbers.hpp"

#include <algorithm>
#include <utility>

#include "check/constants.hpp"

namespace vyre::check {

using namespace ir;

namespace {

bool inside(Interval inner, Interval outer) {
  return inner.lo >= outer.lo && inner.hi <= outer.hi;
}

BinaryOp negated(BinaryOp op) {
  switch (op) {
    case BinaryOp::Eq: return BinaryOp::Ne;
    case BinaryOp::Ne: return BinaryOp::Eq;
    case BinaryOp::Lt: return BinaryOp::Ge;
    case BinaryOp::Le: return BinaryOp::Gt;
    case BinaryOp::Gt: return BinaryOp::Le;
    case BinaryOp::Ge: return BinaryOp::Lt;
    default: return op;
  }
}

// The smallest 2^n - 1 that is not below the value.
Wide all_ones(Wide value) {
  Wide ones = 0;
  while (ones < value) ones = ones * 2 + 1;
  return ones;
}

}  // namespace

Interval type_interval(Type type) {
  const uint32_t bits = bits_of(type);
  if (type == Type::Bool) return {0, 1};
  const bool with_sign = is_signed(type) || type == Type::I8 || type == Type::I16;
  return with_sign ? Interval{-(Wide{1} << (bits - 1)), (Wide{1} << (bits - 1)) - 1}
                   : Interval{0, (Wide{1} << bits) - 1};
}

Numbers::Numbers(const State& s)
    : s_(s),
      p_(s.p),
      versions_(p_.locals.size()),
      linear_of_(p_.locals.size()),
      condition_of_(p_.locals.size()) {}

std::optional<Wide> Numbers::constant(ExprId id) const {
  // Only what is cheap to see: literals and constants by themselves.
  const Expr& e = p_[id];
  if (!std::holds_alternative<IntLiteral>(e) && !std::holds_alternative<ConstRef>(e))
    return std::nullopt;
  const auto value = evaluate(p_, s_.facts, id);
  if (!value || !is_integer(value->type)) return std::nullopt;
  return is_signed(value->type) ? Wide{as_signed(*value)} : Wide{value->bits};
}

Symbol Numbers::symbol_of(LocalId local) const {
  return make_symbol(SymbolKind::Local, local.value, versions_[local.index()]);
}

Interval Numbers::builtin_interval(const BuiltinRef& b) const {
  const Wide most_groups = (Wide{1} << 31) - 1;
  switch (b.builtin) {
    // At most 2^32-1 lanes run in all, so the next lane's id is always a u32 too.
    case Builtin::Gid: return {0, Wide{UINT32_MAX} - 1};
    case Builtin::Lid: return {0, Wide{s_.facts.workgroup[b.axis]} - 1};
    case Builtin::Wid: return {0, most_groups - 1};
    case Builtin::NumWorkgroups: return {1, most_groups};
    // config.workgroup may change it where the program does not read lid or wid.
    case Builtin::WorkgroupSize: return {1, UINT32_MAX};
    case Builtin::SubgroupLane: return {0, 31};
    case Builtin::SubgroupSize: return {1, 32};
    case Builtin::SubgroupId:
    case Builtin::FixpointPasses: return type_interval(Type::U32);
    case Builtin::FixpointConverged: return {0, 1};
  }
  return type_interval(Type::U32);
}

Interval Numbers::memory_interval(Memory memory, Interval all) const {
  const Interval element = type_interval(element_type(p_, memory));
  return inside(element, all) ? element : all;
}

Interval Numbers::binary_interval(const Binary& e, Interval all) const {
  const Interval a = interval(e.left);
  const Interval b = interval(e.right);
  const auto fitting = [&](Interval r) { return exact_ || inside(r, all) ? r : all; };
  switch (e.op) {
    case BinaryOp::Add: return fitting({a.lo + b.lo, a.hi + b.hi});
    case BinaryOp::Sub: return fitting({a.lo - b.hi, a.hi - b.lo});
    case BinaryOp::Mul: {
      // Up to 64 bits each: only multiply where the product stays in range of Wide.
      const Wide limit = Wide{1} << 62;
      if (std::max({a.hi, -a.lo, b.hi, -b.lo}) > limit) return all;
      const Wide c[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
      return fitting({*std::min_element(c, c + 4), *std::max_element(c, c + 4)});
    }
    case BinaryOp::Div:
      if (a.lo >= 0 && b.lo >= 1) return {a.lo / b.hi, a.hi / b.lo};
      return a.lo >= 0 && b.lo >= 0 ? Interval{0, a.hi} : all;
    case BinaryOp::Rem:
      if (a.lo >= 0 && b.lo >= 0) return {0, b.hi == 0 ? 0 : std::min(a.hi, b.hi - 1)};
      return all;
    case BinaryOp::And: {
      if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
      if (a.lo >= 0) return {0, a.hi};
      return b.lo >= 0 ? Interval{0, b.hi} : all;
    }
    case BinaryOp::Or:
    case BinaryOp::Xor:
      return a.lo >= 0 && b.lo >= 0 ? Interval{0, all_ones(std::max(a.hi, b.hi))} : all;
    case BinaryOp::Shr: {
      if (a.lo < 0) return all;
      const auto by = constant(e.right);
      const auto width = type_of(e.left);
      if (!by || !width || *by < 0) return {0, a.hi};
      return {a.lo >> (static_cast<uint32_t>(*by) & (bits_of(*width) - 1)),
              a.hi >> (static_cast<uint32_t>(*by) & (bits_of(*width) - 1))};
    }
    case BinaryOp::Shl: {
      const auto by = constant(e.right);
      const auto width = type_of(e.left);
      if (a.lo < 0 || !by || !width || *by < 0) return all;
      const uint32_t shift = static_cast<uint32_t>(*by) & (bits_of(*width) - 1);
      return a.hi >> 62 == 0 && shift < 63 ? fitting({a.lo << shift, a.hi << shift}) : all;
    }
    case BinaryOp::LogicalOr:
    case BinaryOp::LogicalAnd:
    case BinaryOp::Eq:
    case BinaryOp::Ne:
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge: return {0, 1};
  }
  return all;
}

Interval Numbers::intrinsic_interval(const IntrinsicCall& e, Interval all) const {
  const auto width = type_of(e.args[0]);
  switch (e.op) {
    case Intrinsic::Min: {
      const Interval a = interval(e.args[0]);
      const Interval b = interval(e.args[1]);
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    }
    case Intrinsic::Max: {
      const Interval a = interval(e.args[0]);
      const Interval b = interval(e.args[1]);
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    case Intrinsic::Clamp: {
      const Interval x = interval(e.args[0]);
      const Interval lo = interval(e.args[1]);
      const Interval hi = interval(e.args[2]);
      return {std::min(std::max(x.lo, lo.lo), hi.lo), std::min(std::max(x.hi, lo.hi), hi.hi)};
    }
    case Intrinsic::Select: {
      const Interval a = interval(e.args[1]);
      const Interval b = interval(e.args[2]);
      return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    case Intrinsic::Popcount:
    case Intrinsic::Clz:
    case Intrinsic::Ctz: return {0, width ? Wide{bits_of(*width)} : all.hi};
    default: return all;
  }
}

namespace {

// Where no lane comes facts contradict each other. What follows from them must not matter there,
// and arithmetic with the bounds of nothing would be wrong (or divide by zero).
Interval or_all(Interval narrowed, Interval all) {
  return narrowed.lo <= narrowed.hi ? narrowed : all;
}

}  // namespace

Interval Numbers::interval(ExprId id) const {
  const auto type = type_of(id);
  if (!type || !(is_integer(*type) || *type == Type::Bool))
    return {-(Wide{1} << 64), Wide{1} << 64};
  const Interval all = type_interval(*type);
  if (const auto value = constant(id)) return {*value, *value};
  const Expr& e = p_[id];
  if (const auto* ref = std::get_if<LocalRef>(&e)) {
    Interval known = facts.narrowed(symbol_of(ref->local), all);
    if (const auto& form = linear_of_[ref->local.index()]; form && form->symbol != kNoSymbol) {
      const Interval base = facts.narrowed(form->symbol, {-(Wide{1} << 64), Wide{1} << 64});
      known = {std::max(known.lo, base.lo + form->offset),
               std::min(known.hi, base.hi + form->offset)};
    }
    return or_all(known, all);
  }
  if (const auto* builtin = std::get_if<BuiltinRef>(&e))
    return or_all(
        facts.narrowed(make_symbol(SymbolKind::Builtin,
                                   static_cast<uint32_t>(builtin->builtin) * 4 + builtin->axis),
                       builtin_interval(*builtin)),
        all);
  if (const auto* len = std::get_if<Len>(&e)) {
    const BufferId buffer = len->memory.buffer();
    if (buffer.valid() && s_.facts.buffers[buffer.index()].constant_count) {
      const Wide count = *s_.facts.buffers[buffer.index()].constant_count;
      return {count, count};
    }
    return or_all(facts.narrowed(length_symbol(len->memory), all), all);
  }
  if (const auto* axis = std::get_if<AxisLen>(&e))
    return or_all(axis_interval(axis->memory, axis->axis), all);
  if (const auto* load = std::get_if<Load>(&e)) {
    const Interval element = memory_interval(load->memory, all);
    const Symbol symbol = uniform_symbol(*load);
    return symbol == kNoSymbol ? element : or_all(facts.narrowed(symbol, element), all);
  }
  if (const auto* binary = std::get_if<Binary>(&e)) return binary_interval(*binary, all);
  if (const auto* call = std::get_if<IntrinsicCall>(&e)) return intrinsic_interval(*call, all);
  if (const auto* cast = std::get_if<Cast>(&e)) {
    const auto from = type_of(cast->operand);
    if (!from || !(is_integer(*from) || *from == Type::Bool)) return all;
    const Interval value = interval(cast->operand);
    return inside(value, all) ? value : all;
  }
  return all;
}

std::optional<Linear> Numbers::linear(ExprId id) const {
  const auto type = type_of(id);
  if (!type || !is_integer(*type)) return std::nullopt;
  if (const auto value = constant(id)) return Linear{kNoSymbol, *value};
  const Expr& e = p_[id];
  if (const auto* ref = std::get_if<LocalRef>(&e)) {
    const auto& form = linear_of_[ref->local.index()];
    return form ? *form : Linear{symbol_of(ref->local), 0};
  }
  if (const auto* builtin = std::get_if<BuiltinRef>(&e))
    return Linear{make_symbol(SymbolKind::Builtin,
                              static_cast<uint32_t>(builtin->builtin) * 4 + builtin->axis),
                  0};
  if (const auto* len = std::get_if<Len>(&e)) {
    const Interval known = interval(id);
    if (known.lo == known.hi) return Linear{kNoSymbol, known.lo};
    return Linear{length_symbol(len->memory), 0};
  }
  if (const auto* axis = std::get_if<AxisLen>(&e)) return axis_length(axis->memory, axis->axis);
  if (const auto* load = std::get_if<Load>(&e)) {
    const Symbol symbol = uniform_symbol(*load);
    return symbol == kNoSymbol ? std::nullopt : std::optional(Linear{symbol, 0});
  }
  if (const auto* cast = std::get_if<Cast>(&e)) {
    const auto from = type_of(cast->operand);
    if (!from || !is_integer(*from) || !inside(interval(cast->operand), type_interval(*type)))
      return std::nullopt;
    return linear(cast->operand);
  }
  const auto* binary = std::get_if<Binary>(&e);
  if (binary == nullptr || (binary->op != BinaryOp::Add && binary->op != BinaryOp::Sub))
    return std::nullopt;
  const auto a = linear(binary->left);
  const auto b = linear(binary->right);
  if (!a || !b) return std::nullopt;
  const bool minus = binary->op == BinaryOp::Sub;
  if (b->symbol != kNoSymbol && (minus || a->symbol != kNoSymbol)) return std::nullopt;
  if (!exact_) {
    const Interval left = interval(binary->left);
    const Interval right = interval(binary->right);
    const Interval sum = minus ? Interval{left.lo - right.hi, left.hi - right.lo}
                               : Interval{left.lo + right.lo, left.hi + right.hi};
    if (!inside(sum, type_interval(*type))) return std::nullopt;
  }
  return Linear{a->symbol != kNoSymbol ? a->symbol : b->symbol,
                minus ? a->offset - b->offset : a->offset + b->offset};
}

Symbol Numbers::uniform_symbol(const Load& load) const {
  const BufferId buffer = load.memory.buffer();
  if (!buffer.valid() || p_[buffer].kind != BufferKind::Uniform) return kNoSymbol;
  const auto index = constant(load.index);
  if (!index || *index < 0 || *index >= (Wide{1} << 28)) return kNoSymbol;
  return make_symbol(SymbolKind::Uniform, buffer.value, static_cast<uint32_t>(*index));
}

ExprId Numbers::written_length(Memory memory, uint32_t axis) const {
  const BufferId buffer = memory.buffer();
  const LocalId local = memory.local();
  if (!buffer.valid() && (!local.valid() || p_[local].kind != Local::Kind::Array)) return {};
  const Range axes = buffer.valid() ? p_[buffer].axes : p_[local].axes;
  if (!axes.empty()) return p_.values(axes)[axis];
  return buffer.valid() ? p_[buffer].count : p_[local].count;
}

Linear Numbers::axis_length(Memory memory, uint32_t axis) const {
  const bool one = rank_of(p_, memory) == 1;
  const Symbol other = one ? length_symbol(memory) : axis_symbol(memory, axis);
  const ExprId written = written_length(memory, axis);
  if (!written.valid()) return {other, 0};
  if (const auto value = evaluate(p_, s_.facts, written))
    return {kNoSymbol, is_signed(value->type) ? Wide{as_signed(*value)} : Wide{value->bits}};
  // The host evaluates it, and refuses to launch where it wraps.
  const bool exact = std::exchange(exact_, true);
  const auto form = linear(written);
  exact_ = exact;
  return form ? *form : Linear{other, 0};
}

Interval Numbers::axis_interval(Memory memory, uint32_t axis) const {
  const Interval all = {0, UINT32_MAX};
  const Linear length = axis_length(memory, axis);
  if (length.symbol == kNoSymbol) return {length.offset, length.offset};
  // Above the type of what it is computed from, and below the offset, no host launches.
  const Interval base = facts.narrowed(length.symbol, {-(Wide{1} << 64), Wide{1} << 64});
  return or_all(
      {std::max(all.lo, base.lo + length.offset), std::min(all.hi, base.hi + length.offset)}, all);
}

std::vector<Upper> Numbers::uppers(ExprId id) const {
  std::vector<Upper> out;
  add_uppers(id, 0, out);
  return out;
}

void Numbers::add_uppers(ExprId id, Wide shift, std::vector<Upper>& out) const {
  if (out.size() >= NumberFacts::kMaxUppers) return;
  if (const auto form = linear(id)) {
    if (form->symbol != kNoSymbol) out.push_back({form->symbol, form->offset + shift, {}});
    return;
  }
  const Expr& e = p_[id];
  if (const auto* call = std::get_if<IntrinsicCall>(&e)) {
    if (call->op == Intrinsic::Min) {
      add_uppers(call->args[0], shift, out);
      add_uppers(call->args[1], shift, out);
    } else if (call->op == Intrinsic::Clamp) {
      add_uppers(call->args[2], shift, out);
    }
    return;
  }
  if (const auto* cast = std::get_if<Cast>(&e)) {
    const auto from = type_of(cast->operand);
    const auto to = type_of(id);
    if (from && to && is_integer(*from) && is_integer(*to) &&
        inside(interval(cast->operand), type_interval(*to)))
      add_uppers(cast->operand, shift, out);
    return;
  }
  const auto* binary = std::get_if<Binary>(&e);
  const auto type = type_of(id);
  if (binary == nullptr || !type || !is_integer(*type)) return;
  const Interval a = interval(binary->left);
  const Interval b = interval(binary->right);
  if (a.lo < 0 || b.lo < 0) return;
  switch (binary->op) {
    case BinaryOp::Rem:
      add_uppers(binary->left, shift, out);
      if (b.lo >= 1) add_uppers(binary->right, shift - 1, out);
      return;
    case BinaryOp::And:
      add_uppers(binary->left, shift, out);
      add_uppers(binary->right, shift, out);
      return;
    case BinaryOp::Div:
    case BinaryOp::Shr: add_uppers(binary->left, shift, out); return;
    case BinaryOp::Sub:
      if (a.lo >= b.hi) add_uppers(binary->left, shift, out);
      return;
    default: return;
  }
}

void Numbers::assume_on_host(ExprId condition) {
  exact_ = true;
  assume(condition, true);
  exact_ = false;
}

void Numbers::assume(ExprId condition, bool truth) {
  int budget = 256;  // `let`s may refer to each other again and again
  assume(condition, truth, budget);
}

void Numbers::assume(ExprId condition, bool truth, int& budget) {
  if (--budget < 0) return;
  const Expr& e = p_[condition];
  if (const auto* unary = std::get_if<Unary>(&e); unary != nullptr && unary->op == UnaryOp::Not)
    return assume(unary->operand, !truth, budget);
  if (const auto* ref = std::get_if<LocalRef>(&e)) {
    if (const ExprId meaning = condition_of_[ref->local.index()]; meaning.valid())
      assume(meaning, truth, budget);
    return;
  }
  const auto* binary = std::get_if<Binary>(&e);
  if (binary == nullptr) return;
  if (is_comparison(binary->op)) {
    compare(truth ? binary->op : negated(binary->op), binary->left, binary->right,
            p_.loc(condition));
    return;
  }
  const auto type = type_of(condition);
  const bool both_hold =
      binary->op == BinaryOp::LogicalAnd || (binary->op == BinaryOp::And && type == Type::Bool);
  const bool both_fail =
      binary->op == BinaryOp::LogicalOr || (binary->op == BinaryOp::Or && type == Type::Bool);
  if ((both_hold && truth) || (both_fail && !truth)) {
    assume(binary->left, truth, budget);
    assume(binary->right, truth, budget);
  }
}

void Numbers::compare(BinaryOp op, ExprId a, ExprId b, LocId at) {
  const auto type = type_of(a);
  if (!type || !is_integer(*type)) return;
  switch (op) {
    case BinaryOp::Lt: return less_or_equal(a, b, -1, at);
    case BinaryOp::Le: return less_or_equal(a, b, 0, at);
    case BinaryOp::Gt: return less_or_equal(b, a, -1, at);
    case BinaryOp::Ge: return less_or_equal(b, a, 0, at);
    case BinaryOp::Eq:
      less_or_equal(a, b, 0, at);
      less_or_equal(b, a, 0, at);
      return;
    case BinaryOp::Ne: {
      // Useful at an end of the interval: x != 0 for an unsigned x.
      const auto form = linear(a);
      const Interval x = interval(a);
      const Interval y = interval(b);
      if (!form || form->symbol == kNoSymbol || y.lo != y.hi) return;
      if (y.lo == x.lo) facts.at_least(form->symbol, x.lo + 1 - form->offset);
      if (y.lo == x.hi) facts.at_most(form->symbol, x.hi - 1 - form->offset);
      return;
    }
    default: return;
  }
}

// a <= b + offset
void Numbers::less_or_equal(ExprId a, ExprId b, Wide offset, LocId at) {
  const auto left = linear(a);
  const auto right = linear(b);
  const Interval x = interval(a);
  const Interval y = interval(b);
  if (left && left->symbol != kNoSymbol) {
    facts.at_most(left->symbol, y.hi + offset - left->offset);
    for (const Upper& upper : uppers(b))
      facts.at_most(left->symbol, Upper{upper.symbol, upper.offset + offset - left->offset, at});
  }
  if (right && right->symbol != kNoSymbol)
    facts.at_least(right->symbol, x.lo - offset - right->offset);
}

bool Numbers::unchanging(ExprId id) const {
  const Expr& e = p_[id];
  if (const auto* ref = std::get_if<LocalRef>(&e)) return p_[ref->local].kind != Local::Kind::Var;
  if (const auto* load = std::get_if<Load>(&e)) return uniform_symbol(*load) != kNoSymbol;
  if (!std::holds_alternative<IntLiteral>(e) && !std::holds_alternative<BoolLiteral>(e) &&
      !std::holds_alternative<ConstRef>(e) && !std::holds_alternative<BuiltinRef>(e) &&
      !std::holds_alternative<Len>(e) && !std::holds_alternative<AxisLen>(e) &&
      !std::holds_alternative<Unary>(e) && !std::holds_alternative<Binary>(e) &&
      !std::holds_alternative<Cast>(e) && !std::holds_alternative<IntrinsicCall>(e))
    return false;
  bool all = true;
  for_each_operand(p_, e, [&](ExprId child) { all = all && unchanging(child); });
  return all;
}

void Numbers::define(LocalId local, ExprId value) {
  const auto type = type_of(value);
  const bool variable = p_[local].kind == Local::Kind::Var;
  if (!variable && type == Type::Bool && unchanging(value)) condition_of_[local.index()] = value;
  if (!type || !is_integer(*type)) {
    if (variable) forget(local);
    return;
  }
  const Interval known = interval(value);
  const std::vector<Upper> above = uppers(value);
  const auto form = linear(value);
  if (variable)
    forget(local);
  else if (form && form->symbol != kNoSymbol)
    linear_of_[local.index()] = form;
  const Symbol symbol = symbol_of(local);
  facts.at_least(symbol, known.lo);
  facts.at_most(symbol, known.hi);
  for (const Upper& upper : above) facts.at_most(symbol, upper);
}

void Numbers::forget(LocalId variable) {
  ++versions_[variable.index()];
}

void Numbers::define_loop_variable(const For& loop) {
  const Symbol symbol = symbol_of(loop.variable);
  const LocId at = p_.loc(loop.last);
  facts.at_least(symbol, interval(loop.first).lo);
  facts.at_most(symbol, interval(loop.last).hi - 1);
  for (const Upper& upper : uppers(loop.last))
    facts.at_most(symbol, Upper{upper.symbol, upper.offset - 1, at});
}

}  // namespace vyre::check
