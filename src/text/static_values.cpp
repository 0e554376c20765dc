// SPDX-License-Identifier: Apache-2.0
// Values and types that are known while a text is expanded: constants by the rules of
// semantics.hpp, types as declared. What the checker finds out later about the expanded program may
// be more.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "text/number.hpp"
#include "text/parser.hpp"

namespace vyre::text {

namespace {

ir::Bits mask_of(ir::Type type) {
  return ir::bits_of(type) >= 64 ? ~ir::Bits{0} : (ir::Bits{1} << ir::bits_of(type)) - 1;
}

std::optional<ir::Bits> whole_number(const ir::IntLiteral& e, ir::Type type) {
  if (ir::is_float(type)) {
    const double value =
        e.negative ? -static_cast<double>(e.magnitude) : static_cast<double>(e.magnitude);
    if (type == ir::Type::F64) return std::bit_cast<uint64_t>(value);
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
  if (!ir::is_integer(type)) return std::nullopt;
  const uint32_t width = ir::bits_of(type);
  const uint64_t top = uint64_t{1} << (width - 1);
  const uint64_t most =
      ir::is_signed(type) ? (e.negative ? top : top - 1) : (e.negative ? 0 : mask_of(type));
  if (e.magnitude > most) return std::nullopt;
  return (e.negative ? ~e.magnitude + 1 : e.magnitude) & mask_of(type);
}

ir::Bits decimal(const ir::FloatLiteral& e, ir::Type type) {
  const std::string text = fmt::format("{}0.{}e{}", e.negative ? "-" : "",
                                       e.digits.empty() ? "0" : e.digits, e.exponent);
  if (type == ir::Type::F64) return std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr));
  return std::bit_cast<uint32_t>(std::strtof(text.c_str(), nullptr));
}

std::optional<ir::Expr> finite_literal(double value, float narrow, bool is_narrow) {
  std::array<char, 64> text{};
  const auto end = is_narrow ? std::to_chars(text.data(), text.data() + text.size(), narrow,
                                             std::chars_format::scientific)
                             : std::to_chars(text.data(), text.data() + text.size(), value,
                                             std::chars_format::scientific);
  std::string digits(text.data(), end.ptr);
  const bool negative = digits.front() == '-';
  if (negative) digits.erase(0, 1);
  if (digits.find('.') == std::string::npos) digits.insert(digits.find('e'), ".0");
  auto number = read_number(digits);
  if (!number) return std::nullopt;
  return ir::FloatLiteral{std::move(number->digits), number->exponent, negative,
                          is_narrow ? ir::Type::F32 : ir::Type::F64};
}

}  // namespace

// ---- values

std::optional<StaticValue> Parser::evaluate(ir::ExprId id, std::optional<ir::Type> expected) {
  if (!id.valid()) return std::nullopt;
  const ir::Expr& e = program_[id];
  if (const auto* whole = std::get_if<ir::IntLiteral>(&e)) {
    const ir::Type type =
        whole->suffix.value_or(expected.value_or(whole->negative ? ir::Type::I32 : ir::Type::U32));
    const auto bits = whole_number(*whole, type);
    if (!bits) return std::nullopt;
    return StaticValue{type, *bits};
  }
  if (const auto* real = std::get_if<ir::FloatLiteral>(&e)) {
    const ir::Type type =
        real->suffix.value_or(expected && ir::is_float(*expected) ? *expected : ir::Type::F32);
    return StaticValue{type, decimal(*real, type)};
  }
  if (const auto* truth = std::get_if<ir::BoolLiteral>(&e))
    return StaticValue{ir::Type::Bool, truth->value ? 1u : 0u};
  if (const auto* ref = std::get_if<ir::ConstRef>(&e)) return value_of(ref->constant);
  if (const auto* unary = std::get_if<ir::Unary>(&e)) {
    const auto operand = evaluate(unary->operand, expected);
    if (!operand) return std::nullopt;
    const ir::ScalarFn fn = ir::scalar_fn(unary->op, operand->type);
    if (fn == nullptr) return std::nullopt;
    return StaticValue{operand->type, fn(operand->bits, 0, 0)};
  }
  if (const auto* binary = std::get_if<ir::Binary>(&e)) return evaluate_binary(*binary, expected);
  if (const auto* cast = std::get_if<ir::Cast>(&e)) {
    const auto operand = evaluate(cast->operand, std::nullopt);
    if (!operand) return std::nullopt;
    if (operand->type == cast->type) return operand;
    const ir::ScalarFn fn = ir::conversion(operand->type, cast->type);
    if (fn == nullptr) return std::nullopt;
    return StaticValue{cast->type, fn(operand->bits, 0, 0)};
  }
  if (const auto* bits = std::get_if<ir::Bitcast>(&e)) {
    const auto operand = evaluate(bits->operand, std::nullopt);
    if (!operand || ir::bits_of(operand->type) != ir::bits_of(bits->type)) return std::nullopt;
    return StaticValue{bits->type, operand->bits};
  }
  if (const auto* call = std::get_if<ir::IntrinsicCall>(&e)) return evaluate_call(*call, expected);
  return std::nullopt;
}

std::optional<StaticValue> Parser::evaluate_binary(const ir::Binary& e,
                                                   std::optional<ir::Type> expected) {
  using Op = ir::BinaryOp;
  const bool shift = e.op == Op::Shl || e.op == Op::Shr;
  const bool logic = ir::is_lazy(e.op);
  std::optional<ir::Type> type = ir::is_comparison(e.op) ? std::nullopt : expected;
  if (logic) type = ir::Type::Bool;
  if (const auto left = infer(e.left)) {
    type = left;
  } else if (const auto right = shift ? std::nullopt : infer(e.right)) {
    type = right;
  }
  const auto left = evaluate(e.left, type);
  if (!left) return std::nullopt;
  if (logic && left->bits == (e.op == Op::LogicalOr ? 1u : 0u)) return left;
  const auto right = evaluate(e.right, shift ? std::nullopt : std::optional<ir::Type>(left->type));
  if (!right || (!shift && right->type != left->type)) return std::nullopt;
  if (logic) return right;
  const ir::ScalarFn fn = ir::scalar_fn(e.op, left->type);
  if (fn == nullptr) return std::nullopt;
  return StaticValue{ir::is_comparison(e.op) ? ir::Type::Bool : left->type,
                     fn(left->bits, right->bits, 0)};
}

std::optional<StaticValue> Parser::evaluate_call(const ir::IntrinsicCall& e,
                                                 std::optional<ir::Type> expected) {
  const auto arity = static_cast<size_t>(ir::arity_of(e.op));
  const bool select = e.op == ir::Intrinsic::Select;
  const bool exact = select || e.op == ir::Intrinsic::Min || e.op == ir::Intrinsic::Max ||
                     e.op == ir::Intrinsic::Clamp || e.op == ir::Intrinsic::Abs ||
                     e.op == ir::Intrinsic::Popcount || e.op == ir::Intrinsic::Clz ||
                     e.op == ir::Intrinsic::Ctz;
  if (!exact) return std::nullopt;
  std::optional<ir::Type> type = expected;
  for (size_t i = select ? 1 : 0; i < arity; ++i)
    if (const auto known = infer(e.args[i])) type = known;
  std::array<ir::Bits, 3> bits{};
  std::optional<ir::Type> found;
  for (size_t i = 0; i < arity; ++i) {
    const bool choice = select && i == 0;
    const auto value = evaluate(e.args[i], choice ? ir::Type::Bool : found ? found : type);
    if (!value || (choice && value->type != ir::Type::Bool)) return std::nullopt;
    if (!choice && found && *found != value->type) return std::nullopt;
    if (!choice) found = value->type;
    bits[i] = value->bits;
  }
  const ir::ScalarFn fn = ir::scalar_fn(e.op, *found);
  if (fn == nullptr) return std::nullopt;
  return StaticValue{*found, fn(bits[0], bits[1], bits[2])};
}

// A constant, read now if it stands further down.
std::optional<StaticValue> Parser::value_of(ir::ConstId id) {
  const size_t i = id.index();
  if (program_.consts[i].table || const_reading_[i]) return std::nullopt;
  if (!const_read_[i]) {
    const Cursor back = here();
    const bool muted = muted_;
    const Frame outer = std::exchange(frame_, Frame{});
    muted_ = false;
    go_to(const_units_[i], const_tokens_[i]);
    scopes_.enter_function();
    const bool outer_static = std::exchange(in_static_, false);
    parse_const_named(parse_new_name("constant"));
    in_static_ = outer_static;
    scopes_.leave_function();
    frame_ = outer;
    muted_ = muted;
    go_back(back);
  }
  const ir::Const& constant = program_.consts[i];
  if (constant.values.count != 1) return std::nullopt;
  const_reading_[i] = true;
  const auto value = evaluate(program_.values(constant.values)[0], constant.type);
  const_reading_[i] = false;
  if (!value || value->type != constant.type) return std::nullopt;
  return value;
}

// ---- types

void Parser::note_let(ir::LocalId local, ir::ExprId value, ir::ExprId other) {
  if (!expands_) return;
  if (let_types_.size() <= local.index()) let_types_.resize(local.index() + 1);
  std::optional<ir::Type> type = infer(value);
  if (!type && other.valid()) type = infer(other);
  if (!type)
    if (const auto known = evaluate(value, std::nullopt)) type = known->type;
  let_types_[local.index()] = type;
}

// The type that declarations give an expression; nothing for one of literals only.
std::optional<ir::Type> Parser::infer(ir::ExprId id) {
  if (!id.valid()) return std::nullopt;
  const ir::Expr& e = program_[id];
  if (const auto* whole = std::get_if<ir::IntLiteral>(&e)) return whole->suffix;
  if (const auto* real = std::get_if<ir::FloatLiteral>(&e)) return real->suffix;
  if (std::holds_alternative<ir::BoolLiteral>(e)) return ir::Type::Bool;
  if (const auto* ref = std::get_if<ir::ConstRef>(&e)) return program_[ref->constant].type;
  if (std::holds_alternative<ir::Len>(e)) return ir::Type::U32;
  if (const auto* cast = std::get_if<ir::Cast>(&e)) return cast->type;
  if (const auto* bits = std::get_if<ir::Bitcast>(&e)) return bits->type;
  if (const auto* call = std::get_if<ir::Call>(&e)) return infer(*call);
  if (const auto* unary = std::get_if<ir::Unary>(&e)) return infer(unary->operand);
  if (const auto* builtin = std::get_if<ir::BuiltinRef>(&e))
    return builtin->builtin == ir::Builtin::FixpointConverged ? ir::Type::Bool : ir::Type::U32;
  if (const auto* ref = std::get_if<ir::LocalRef>(&e)) {
    if (program_[ref->local].type) return program_[ref->local].type;
    return ref->local.index() < let_types_.size() ? let_types_[ref->local.index()] : std::nullopt;
  }
  if (const auto* binary = std::get_if<ir::Binary>(&e)) {
    if (ir::is_comparison(binary->op) || ir::is_lazy(binary->op)) return ir::Type::Bool;
    const auto left = infer(binary->left);
    const bool shift = binary->op == ir::BinaryOp::Shl || binary->op == ir::BinaryOp::Shr;
    return left || shift ? left : infer(binary->right);
  }
  if (const auto* call = std::get_if<ir::IntrinsicCall>(&e)) {
    if (call->op == ir::Intrinsic::IsNan || call->op == ir::Intrinsic::IsInf ||
        call->op == ir::Intrinsic::IsFinite)
      return ir::Type::Bool;
    const auto arity = static_cast<size_t>(ir::arity_of(call->op));
    for (size_t i = call->op == ir::Intrinsic::Select ? 1 : 0; i < arity; ++i)
      if (const auto type = infer(call->args[i])) return type;
    return std::nullopt;
  }
  if (const auto* op = std::get_if<ir::Subgroup>(&e)) {
    if (op->op == ir::SubgroupOp::Ballot) return ir::Type::U32;
    if (op->op == ir::SubgroupOp::Any || op->op == ir::SubgroupOp::All) return ir::Type::Bool;
    return infer(op->value);
  }
  std::optional<ir::Memory> memory;
  if (const auto* load = std::get_if<ir::Load>(&e)) memory = load->memory;
  if (const auto* load = std::get_if<ir::UniformLoad>(&e)) memory = load->memory;
  if (const auto* atomic = std::get_if<ir::Atomic>(&e)) memory = atomic->memory;
  if (!memory) return std::nullopt;
  if (memory->buffer().valid()) return ir::widened(program_[memory->buffer()].element);
  if (memory->table().valid()) return program_[memory->table()].type;
  const auto element = program_[memory->local()].type;
  return element ? std::optional<ir::Type>(ir::widened(*element)) : std::nullopt;
}

std::optional<ir::Type> Parser::infer(const ir::Call& e) {
  if (program_.fns[e.fn.index()].result) return program_.fns[e.fn.index()].result;
  const uint32_t decl = plain_decl(e.fn);
  if (decl == kNoIndex || !head_of(decl).result) return std::nullopt;
  const auto type = type_in(fn_decls_[decl].unit, *fn_decls_[decl].result);
  return type && !type->is_struct() ? std::optional<ir::Type>(type->scalar) : std::nullopt;
}

// ---- values as literals

ir::Expr Parser::literal(StaticValue value) {
  if (value.type == ir::Type::Bool) return ir::BoolLiteral{value.bits != 0};
  if (ir::is_integer(value.type)) {
    const __int128 number = ir::integer_value(value.type, value.bits);
    return ir::IntLiteral{static_cast<uint64_t>(number < 0 ? -number : number), number < 0,
                          value.type};
  }
  if (value.type == ir::Type::F32) {
    const float number = std::bit_cast<float>(static_cast<uint32_t>(value.bits));
    if (std::isfinite(number))
      if (auto e = finite_literal(0, number, true)) return *e;
  } else {
    const double number = std::bit_cast<double>(value.bits);
    if (std::isfinite(number))
      if (auto e = finite_literal(number, 0, false)) return *e;
  }
  const bool narrow = value.type == ir::Type::F32;
  const ir::ExprId bits = program_.add(
      ir::Expr{ir::IntLiteral{value.bits, false, narrow ? ir::Type::U32 : ir::Type::U64}},
      loc(prev_));
  return ir::Bitcast{value.type, bits};
}

Parser::Value Parser::static_literal(StaticValue value, const Token& where) {
  return make(literal(value), where, 2);
}

}  // namespace vyre::text
