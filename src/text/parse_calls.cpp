// SPDX-License-Identifier: Apache-2.0
// Calls: functions of the program and the built-in ones.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "text/number.hpp"
#include "text/parser.hpp"

namespace vyre::text {

Parser::Value Parser::parse_builtin_function(const Token& name) {
  const auto intrinsic = ir::intrinsic_from_name(name.text);
  const auto atomic = ir::atomic_from_name(name.text);
  const auto subgroup = ir::subgroup_from_name(name.text);
  const bool other =
      name.text == "len" || name.text == "grid_load" || name.text == "workgroup_load";
  if (!intrinsic && !atomic && !subgroup && !other) {
    const auto type = ir::type_from_name(name.text);
    unexpected_in_code("an expression",
                       type ? fmt::format("convert a value with `x as {}`", name.text)
                            : std::string("write a value here"));
    return poison(name);
  }
  advance();
  if (!at(TokenKind::LParen)) {
    report(Code::WrongKindOfName, name,
           fmt::format("`{}` is a built-in function and cannot be used as a value", name.text),
           fmt::format("call it, `{}(...)`", name.text));
    discard_postfix();
    return poison(name);
  }
  const Nesting nesting(*this);
  if (!nesting.fits) return too_deep(name);
  if (intrinsic) return parse_intrinsic(name, *intrinsic);
  if (atomic) return parse_atomic(name, *atomic);
  if (subgroup) return parse_subgroup(name, *subgroup);
  if (name.text == "len") return parse_len(name);
  return parse_uniform_load(name,
                            name.text == "grid_load" ? ir::Scope::Grid : ir::Scope::Workgroup);
}

// ---- arguments

bool Parser::right_count(const Token& name, size_t wanted, size_t given) {
  if (panicking_) return false;
  if (wanted == given) return true;
  report(Code::WrongArgumentCount, name,
         fmt::format("`{}` takes {} argument{}, {} given", name.text, wanted,
                     wanted == 1 ? "" : "s", given),
         given < wanted ? "add what is missing" : "remove what is too much");
  return false;
}

bool Parser::parse_values(std::vector<Value>& values) {
  const Token paren = tok_;
  advance();
  if (accept(TokenKind::RParen)) return true;
  do {
    values.push_back(parse_expression());
  } while (!panicking_ && accept(TokenKind::Comma));
  return expect_close(TokenKind::RParen, paren);
}

// The arguments of a function of the program: a buffer by its name, anything else as a value. Gives
// the depth of the deepest one.
uint32_t Parser::parse_args(std::vector<ir::Arg>& args) {
  uint32_t depth = 0;
  const Token paren = tok_;
  advance();
  if (accept(TokenKind::RParen)) return depth;
  do {
    // Also where a `)` seems to be missing: that is then the one thing to report.
    const bool alone =
        at(TokenKind::Name) &&
        (next_.kind == TokenKind::Comma || next_.kind == TokenKind::RParen ||
         next_.kind == TokenKind::Semicolon || (next_.own_line && next_.kind == TokenKind::Name));
    const Found found = alone ? scopes_.find(tok_.text) : Found{};
    const bool buffer =
        found.symbol.kind == Symbol::Kind::Buffer || found.symbol.kind == Symbol::Kind::BufferParam;
    if (found.where == Found::Where::Visible && buffer && !is_scalar(found.symbol)) {
      args.emplace_back(*memory_of(found.symbol));
      advance();
    } else {
      const Value value = parse_expression();
      depth = std::max(depth, value.depth);
      args.emplace_back(value.id);
    }
  } while (!panicking_ && accept(TokenKind::Comma));
  expect_close(TokenKind::RParen, paren);
  return depth;
}

// Reads an index, arguments or an axis after something that takes none, for the mistakes inside.
void Parser::discard_postfix() {
  if (!panicking_ && at(TokenKind::Dot) && next_.kind == TokenKind::Name) {
    advance();
    advance();
  }
  if (panicking_ || (!at(TokenKind::LParen) && !at(TokenKind::LBracket))) return;
  const Nesting nesting(*this);
  if (!nesting.fits) {
    too_deep(tok_);
    return;
  }
  if (at(TokenKind::LParen)) {
    std::vector<ir::Arg> args;
    parse_args(args);
    return;
  }
  const Token bracket = tok_;
  advance();
  parse_expression();
  expect_close(TokenKind::RBracket, bracket);
}

// ---- built-in functions

Parser::Value Parser::parse_intrinsic(const Token& name, ir::Intrinsic op) {
  std::vector<Value> values;
  if (!parse_values(values) ||
      !right_count(name, static_cast<size_t>(ir::arity_of(op)), values.size()))
    return poison(name);
  ir::IntrinsicCall call{op, {}};
  uint32_t depth = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    call.args[i] = values[i].id;
    depth = std::max(depth, values[i].depth);
  }
  return make(call, name, depth + 1);
}

Parser::Value Parser::parse_subgroup(const Token& name, ir::SubgroupOp op) {
  std::vector<Value> values;
  if (!parse_values(values) ||
      !right_count(name, static_cast<size_t>(ir::arity_of(op)), values.size()))
    return poison(name);
  const bool has_lane = values.size() > 1;
  const uint32_t depth = std::max(values[0].depth, has_lane ? values[1].depth : 0);
  return make(ir::Subgroup{op, values[0].id, has_lane ? values[1].id : ir::ExprId{}}, name,
              depth + 1);
}

Parser::Value Parser::parse_bitcast() {
  const Token name = tok_;
  advance();
  expect(TokenKind::Less, "and a type after `bitcast`");
  const std::optional<ir::Type> type = parse_type(false);
  expect(TokenKind::Greater, "after the type");
  if (panicking_ || !at(TokenKind::LParen)) {
    if (!panicking_) unexpected("`(`", "write `bitcast<T>(x)`");
    return poison(name);
  }
  const Nesting nesting(*this);
  if (!nesting.fits) return too_deep(name);
  std::vector<Value> values;
  if (!parse_values(values) || !right_count(name, 1, values.size()) || !type) return poison(name);
  return make(ir::Bitcast{*type, values[0].id}, name, values[0].depth + 1);
}

Parser::Value Parser::parse_len(const Token& name) {
  const Token paren = tok_;
  advance();
  if (at(TokenKind::RParen)) {
    right_count(name, 1, 0);
    advance();
    return poison(name);
  }
  if (!at(TokenKind::Name)) {
    unexpected("the name of a buffer", "`len` takes a buffer by its name");
    return poison(name);
  }
  const Token argument = tok_;
  const Symbol symbol = resolve(argument, false);
  advance();
  std::optional<uint8_t> axis;
  if (accept(TokenKind::Comma)) {
    axis = parse_axis();
    if (!axis) {
      while (!panicking_ && accept(TokenKind::Comma)) skip_expression();
      expect_close(TokenKind::RParen, paren);
      return poison(name);
    }
  }
  expect_close(TokenKind::RParen, paren);
  const bool array = symbol.kind == Symbol::Kind::Array;
  if (symbol.kind == Symbol::Kind::Buffer || symbol.kind == Symbol::Kind::BufferParam ||
      (axis && array))
    return axis ? make(ir::AxisLen{*memory_of(symbol), *axis}, name, 1)
                : make(ir::Len{*memory_of(symbol)}, name, 1);
  // A private array that was passed as a buffer has its constant length.
  if (symbol.kind == Symbol::Kind::Array && frame_.in_place != nullptr)
    return length_of_array(ir::LocalId{symbol.index}, name);
  if (symbol.kind != Symbol::Kind::Unknown) {
    Diagnostic* const error = report(
        Code::WrongKindOfName, argument,
        fmt::format("{} is {}, but `len` takes a buffer", quoted(argument.text), kind_of(symbol)),
        memory_of(symbol) ? "write its number of elements, or give it a name with `const`"
                          : "name a buffer");
    note_declaration(error, symbol);
  }
  return poison(name);
}

Parser::Value Parser::length_of_array(ir::LocalId id, const Token& name) {
  const ir::Range axes = program_[id].axes;
  std::vector<ir::ExprId> lengths(program_.values(axes).begin(), program_.values(axes).end());
  if (lengths.empty()) lengths.push_back(program_[id].count);
  std::optional<Value> product;
  for (const ir::ExprId length : lengths) {
    const auto copy = length.valid() ? clone(length) : std::nullopt;
    if (!copy) return poison(name);
    const Value factor = make(ir::Cast{ir::Type::U32, *copy}, name, 2);
    product = product ? make(ir::Binary{ir::BinaryOp::Mul, product->id, factor.id}, name,
                             std::max(product->depth, factor.depth) + 1)
                      : factor;
  }
  return *product;
}

// The number of an axis, as a literal.
std::optional<uint8_t> Parser::parse_axis() {
  const Token token = tok_;
  const auto number = read_number(token.kind == TokenKind::Int ? token.text : "9");
  if (number && !number->decimal && !number->suffix && number->magnitude < ir::kMaxAxes) {
    advance();
    return static_cast<uint8_t>(number->magnitude);
  }
  report(Code::BadShape, token, fmt::format("an axis is a number, not {}", describe(token)),
         fmt::format("write a number from 0 to {}", ir::kMaxAxes - 1));
  skip_expression();
  return std::nullopt;
}

// One index, or one for each axis; the bracket is still to be closed.
Parser::Value Parser::parse_indices(const Token& name, ir::Memory memory) {
  const Value first = parse_expression();
  if (panicking_ || !at(TokenKind::Comma)) return first;
  std::vector<ir::ExprId> indices = {first.id};
  uint32_t depth = first.depth;
  while (!panicking_ && accept(TokenKind::Comma)) {
    const Value next = parse_expression();
    indices.push_back(next.id);
    depth = std::max(depth, next.depth);
  }
  if (indices.size() > ir::kMaxAxes) {
    report(Code::BadShape, name,
           fmt::format("{} indices are given, but at most {} axes exist", indices.size(),
                       ir::kMaxAxes),
           "give one index for each axis");
    return poison(name);
  }
  return make(ir::AxisIndex{memory, program_.add_values(indices)}, name, depth + 1);
}

// b[i], where nothing but an element of a memory will do.
Parser::Element Parser::parse_element(std::string_view user) {
  Element element;
  if (panicking_) return element;
  if (!at(TokenKind::Name)) {
    unexpected_in_code("an element such as `b[i]`",
                       fmt::format("{} needs an element of a buffer", user));
    return element;
  }
  const Token name = tok_;
  const Symbol symbol = resolve(name, false);
  const std::optional<ir::Memory> memory = memory_of(symbol);
  advance();
  if (!memory || !at(TokenKind::LBracket)) {
    if (symbol.kind != Symbol::Kind::Unknown) {
      Diagnostic* const error =
          report(Code::WrongKindOfName, name,
                 fmt::format("{} is {}, but {} needs an element of a buffer", quoted(name.text),
                             kind_of(symbol), user),
                 memory ? fmt::format("use an element, `{}[i]`", name.text.substr(0, 60))
                        : std::string("name a buffer and an index, `b[i]`"));
      note_declaration(error, symbol);
    }
    discard_postfix();
    return element;
  }
  const Token bracket = tok_;
  advance();
  // The call around it counts as nesting already.
  const Value index = parse_indices(name, *memory);
  expect_close(TokenKind::RBracket, bracket);
  return {*memory, index.id, index.depth};
}

Parser::Value Parser::parse_uniform_load(const Token& name, ir::Scope scope) {
  const Token paren = tok_;
  advance();
  const Element element = parse_element(fmt::format("`{}`", name.text));
  size_t given = 1;
  while (!panicking_ && accept(TokenKind::Comma)) {
    parse_expression();
    ++given;
  }
  expect_close(TokenKind::RParen, paren);
  if (!right_count(name, 1, given) || !element.memory.valid()) return poison(name);
  return make(ir::UniformLoad{scope, element.memory, element.index}, name, element.depth + 1);
}

Parser::Value Parser::parse_atomic(const Token& name, ir::AtomicOp op) {
  const auto arity = static_cast<size_t>(ir::arity_of(op));
  const Token paren = tok_;
  advance();
  if (at(TokenKind::RParen)) {
    right_count(name, arity + 1, 0);
    advance();
    return poison(name);
  }
  const Element element = parse_element(fmt::format("`{}`", name.text));
  ir::Atomic atomic{op, element.memory, element.index, {}, ir::MemoryOrder::Relaxed};
  uint32_t depth = element.depth;
  size_t given = 0;
  bool complete = element.memory.valid();
  while (!panicking_ && accept(TokenKind::Comma)) {
    const bool last_word = at(TokenKind::Name) && next_.kind == TokenKind::RParen;
    const bool order_word = last_word && ir::order_from_name(tok_.text) &&
                            scopes_.find(tok_.text).where == Found::Where::Nowhere;
    if (last_word && (given == arity || order_word)) {
      complete = parse_order(name, atomic.order) && complete;
      continue;
    }
    const Value value = parse_expression();
    depth = std::max(depth, value.depth);
    if (given < arity) atomic.args[given] = value.id;
    ++given;
  }
  expect_close(TokenKind::RParen, paren);
  if (!right_count(name, arity + 1, given + 1) || !complete) return poison(name);
  return make(atomic, name, depth + 1);
}

bool Parser::parse_order(const Token& name, ir::MemoryOrder& order) {
  const auto named = ir::order_from_name(tok_.text);
  if (named) {
    order = *named;
  } else {
    report(Code::BadMemoryOrder, tok_,
           fmt::format("`{}` does not know the memory order {}", name.text, quoted(tok_.text)),
           "use relaxed, acquire, release or acq_rel");
  }
  advance();
  return named.has_value();
}

}  // namespace vyre::text
