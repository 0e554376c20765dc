// SPDX-License-Identifier: Apache-2.0
// References and expressions.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/binary_decoder.hpp"

namespace vyre::ir::binary {

namespace {

// Sign and suffix of a literal; the suffix is an arithmetic type other than bool.
std::pair<bool, std::optional<Type>> literal_flags(Reader& in, bool integer) {
  const size_t start = in.offset();
  const uint8_t flags = in.u8("the flags of a literal");
  const bool negative = (flags & 1) != 0;
  if (flags <= 1) return {negative, std::nullopt};
  const int number = (flags >> 1) - 1;
  const bool fits = number < kTypeCount && (integer ? is_number(static_cast<Type>(number))
                                                    : is_float(static_cast<Type>(number)));
  if (!fits) in.unknown_tag(start, flags, "the flags of a literal");
  return {negative, fits ? std::optional(static_cast<Type>(number)) : std::nullopt};
}

}  // namespace

LocalId Decoder::declare(Local local) {
  take_node();
  const LocalId id = p_.add(std::move(local));
  locals_.push_back({id, true});
  return id;
}

LocalId Decoder::local() {
  const size_t start = in_.offset();
  const uint64_t number = in_.varint(UINT32_MAX, "the number of a local");
  if (!in_.ok()) return {};
  if (number >= locals_.size() || !locals_[number].visible) {
    in_.malformed(start, fmt::format("local {} is not declared here", number));
    return {};
  }
  return locals_[number].id;
}

uint32_t Decoder::index(size_t size, std::string_view what) {
  const size_t start = in_.offset();
  const uint64_t number = in_.varint(UINT32_MAX, what);
  if (in_.ok() && number >= size)
    in_.malformed(start, fmt::format("expected {} below {}, found {}", what, size, number));
  return static_cast<uint32_t>(number);
}

Memory Decoder::memory() {
  const size_t start = in_.offset();
  const auto kind = in_.tag<Memory::Kind>(3, "a kind of memory");
  if (!in_.ok()) return {};
  switch (kind) {
    case Memory::Kind::Buffer:
      return Memory::of(BufferId{index(p_.buffers.size(), "the number of a buffer")});
    case Memory::Kind::Table: {
      const ConstId id{index(p_.consts.size(), "the number of a table")};
      if (in_.ok() && !p_[id].table)
        in_.malformed(start, fmt::format("constant {} is no table", id.value));
      return Memory::of(id);
    }
    case Memory::Kind::Local: {
      const LocalId id = local();
      if (in_.ok() && !is_memory(p_[id].kind))
        in_.malformed(start, "the local is no array or buffer parameter");
      return Memory::of(id);
    }
  }
  return {};
}

Memory Decoder::whole_buffer() {
  const size_t start = in_.offset();
  const Memory m = memory();
  const bool array = in_.ok() && m.local().valid() && p_[m.local()].kind == Local::Kind::Array;
  if (m.kind == Memory::Kind::Table || array)
    in_.malformed(start, "expected a buffer, found a table or an array");
  return m;
}

ExprId Decoder::expr() {
  if (!in_.ok()) return {};
  if (expr_depth_ == kMaxExprDepth) {
    in_.fail(Code::ExpressionTooDeep, in_.offset(),
             fmt::format("the expression is more than {} nodes deep", kMaxExprDepth),
             "name parts of it with `let`");
    return {};
  }
  ++expr_depth_;
  take_node();
  Expr node = expr_node();
  --expr_depth_;
  return p_.add(std::move(node));
}

Expr Decoder::expr_node() {
  const size_t start = in_.offset();
  const uint8_t code = in_.u8("an expression");
  // No default: a code that is missing here is a compiler error, one that is not a code falls
  // through.
  switch (static_cast<ExprCode>(code)) {
    case ExprCode::IntLiteral: return int_literal_in(in_);
    case ExprCode::FloatLiteral: return float_literal_in(in_);
    case ExprCode::BoolLiteral: return BoolLiteral{in_.flag("true or false")};
    case ExprCode::LocalRef: return local_ref(start);
    case ExprCode::ConstRef: return const_ref(start);
    case ExprCode::BuiltinRef: {
      const auto builtin = in_.tag<Builtin>(kBuiltinCount, "a built-in value");
      return BuiltinRef{builtin, has_axis(builtin) ? in_.tag<uint8_t>(3, "an axis") : uint8_t{0}};
    }
    case ExprCode::Len: return Len{whole_buffer()};
    case ExprCode::Load: {
      const Memory m = memory();
      return Load{m, expr()};
    }
    case ExprCode::Unary: {
      const auto op = in_.tag<UnaryOp>(3, "a unary operator");
      return Unary{op, expr()};
    }
    case ExprCode::Binary: {
      const auto op = in_.tag<BinaryOp>(18, "a binary operator");
      const ExprId left = expr();
      return Binary{op, left, expr()};
    }
    case ExprCode::Cast: {
      const Type to = type_in(in_);
      return Cast{to, expr()};
    }
    case ExprCode::Bitcast: {
      const Type to = type_in(in_);
      return Bitcast{to, expr()};
    }
    case ExprCode::IntrinsicCall: {
      IntrinsicCall call{in_.tag<Intrinsic>(kIntrinsicCount, "a built-in function"), {}};
      if (is_second_edition(call.op)) needs(2);
      for (size_t i = 0; i < static_cast<size_t>(arity_of(call.op)); ++i) call.args[i] = expr();
      return call;
    }
    case ExprCode::Atomic: return atomic();
    case ExprCode::Subgroup: {
      Subgroup e{in_.tag<SubgroupOp>(kSubgroupOpCount, "a subgroup operation"), expr(), {}};
      if (arity_of(e.op) == 2) e.lane = expr();
      return e;
    }
    case ExprCode::UniformLoad: return uniform_load();
    case ExprCode::Call: return call();
    case ExprCode::AxisIndex: return axis_index();
    case ExprCode::AxisLen: {
      needs(2);
      const Memory m = memory();
      return AxisLen{m, in_.tag<uint8_t>(kMaxAxes, "an axis")};
    }
  }
  in_.unknown_tag(start, code, "an expression");
  return Poison{};
}

Expr int_literal_in(Reader& in) {
  const auto [negative, suffix] = literal_flags(in, true);
  return IntLiteral{in.varint(UINT64_MAX, "a whole number"), negative, suffix};
}

Expr float_literal_in(Reader& in) {
  const auto [negative, suffix] = literal_flags(in, false);
  const size_t start = in.offset();
  const int32_t exponent = in.zigzag32("an exponent");
  std::string digits = in.string(SIZE_MAX, Code::MalformedBytes, "digits");
  const bool only_digits =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool canonical =
      digits.empty() ? exponent == 0 : digits.front() != '0' && digits.back() != '0';
  if (!only_digits || !canonical)
    in.malformed(start, "expected a decimal number in its shortest form");
  return FloatLiteral{std::move(digits), exponent, negative, suffix};
}

Expr Decoder::local_ref(size_t start) {
  const LocalId id = local();
  if (in_.ok() && is_memory(p_[id].kind))
    in_.malformed(start, "an array or buffer parameter is no value");
  return LocalRef{id};
}

Expr Decoder::const_ref(size_t start) {
  const ConstId id{index(p_.consts.size(), "the number of a constant")};
  if (in_.ok() && p_[id].table)
    in_.malformed(start, fmt::format("constant {} is a table", id.value));
  return ConstRef{id};
}

Expr Decoder::atomic() {
  Atomic e;
  e.op = in_.tag<AtomicOp>(kAtomicCount, "an atomic operation");
  e.order = in_.tag<MemoryOrder>(4, "a memory order");
  e.memory = memory();
  e.index = expr();
  for (size_t i = 0; i < static_cast<size_t>(arity_of(e.op)); ++i) e.args[i] = expr();
  return e;
}

Expr Decoder::uniform_load() {
  const size_t start = in_.offset();
  const auto scope = in_.tag<Scope>(3, "a scope");
  if (scope == Scope::Subgroup) in_.malformed(start, "expected the scope workgroup or grid");
  const Memory m = memory();
  return UniformLoad{scope, m, expr()};
}

Expr Decoder::call() {
  const FnId fn{index(p_.fns.size(), "the number of a function")};
  const uint32_t count = in_.count("the number of arguments");
  std::vector<Arg> args;
  for (uint32_t i = 0; i < count && in_.ok(); ++i) {
    const size_t start = in_.offset();
    const uint8_t code = in_.u8("a kind of argument");
    if (code == static_cast<uint8_t>(ArgCode::Value)) {
      args.emplace_back(ExprId{});
    } else if (code == static_cast<uint8_t>(ArgCode::Memory)) {
      take_node();
      args.emplace_back(whole_buffer());
    } else {
      in_.unknown_tag(start, code, "a kind of argument");
    }
  }
  for (Arg& arg : args)
    if (ExprId* value = std::get_if<ExprId>(&arg)) *value = expr();
  return Call{fn, p_.add_args(args)};
}

Expr Decoder::axis_index() {
  needs(2);
  const Memory m = memory();
  const size_t start = in_.offset();
  const uint8_t count = in_.u8("the number of indices");
  if (in_.ok() && (count < 2 || count > kMaxAxes))
    in_.malformed(start, fmt::format("expected 2 to {} indices, found {}", kMaxAxes, count));
  if (!in_.ok()) return Poison{};
  return AxisIndex{m, p_.add_values(exprs(count))};
}

}  // namespace vyre::ir::binary
