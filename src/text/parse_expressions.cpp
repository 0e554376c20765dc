// SPDX-License-Identifier: Apache-2.0
// Operators, literals and names.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "text/habits.hpp"
#include "text/number.hpp"
#include "text/parser.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {

namespace {

constexpr size_t kLargeProgram = size_t{1} << 18;

std::optional<ir::BinaryOp> binary_operator(TokenKind kind) {
  switch (kind) {
    case TokenKind::OrOr: return ir::BinaryOp::LogicalOr;
    case TokenKind::AndAnd: return ir::BinaryOp::LogicalAnd;
    case TokenKind::EqEq: return ir::BinaryOp::Eq;
    case TokenKind::NotEq: return ir::BinaryOp::Ne;
    case TokenKind::Less: return ir::BinaryOp::Lt;
    case TokenKind::LessEq: return ir::BinaryOp::Le;
    case TokenKind::Greater: return ir::BinaryOp::Gt;
    case TokenKind::GreaterEq: return ir::BinaryOp::Ge;
    case TokenKind::Or: return ir::BinaryOp::Or;
    case TokenKind::Xor: return ir::BinaryOp::Xor;
    case TokenKind::And: return ir::BinaryOp::And;
    case TokenKind::Shl: return ir::BinaryOp::Shl;
    case TokenKind::Shr: return ir::BinaryOp::Shr;
    case TokenKind::Plus: return ir::BinaryOp::Add;
    case TokenKind::Minus: return ir::BinaryOp::Sub;
    case TokenKind::Star: return ir::BinaryOp::Mul;
    case TokenKind::Slash: return ir::BinaryOp::Div;
    case TokenKind::Percent: return ir::BinaryOp::Rem;
    default: return std::nullopt;
  }
}

}  // namespace

Parser::Nesting::Nesting(Parser& p) : parser(p), fits(++p.nesting_ <= ir::kMaxExprDepth) {}

// ---- nodes

Parser::Value Parser::make(ir::Expr expr, const Token& where, uint32_t depth) {
  if (panicking_) return poison(where);
  if (depth > ir::kMaxExprDepth) return too_deep(where);
  if (program_.exprs.size() + program_.stmts.size() >= ir::kMaxNodes)
    too_large(where, fmt::format("{} operands, operators and statements", ir::kMaxNodes));
  if (program_.exprs.size() == kLargeProgram) reserve_for_large();
  return {program_.add(std::move(expr), loc(where)), depth};
}

// Doubling a large vector needs three times its size for a moment, more than a text may cost.
void Parser::reserve_for_large() {
  static constexpr size_t kSlack = 4 * size_t{ir::kMaxStatements};
  program_.exprs.reserve(ir::kMaxNodes + kSlack);
  program_.positions.exprs.reserve(ir::kMaxNodes + kSlack);
  program_.positions.locs.reserve(ir::kMaxNodes + kSlack);
}

Parser::Value Parser::poison(const Token& where) {
  return {program_.add(ir::Expr{ir::Poison{}}, loc(where)), 1};
}

Parser::Value Parser::too_deep(const Token& where) {
  if (!depth_reported_) {
    report(Code::ExpressionTooDeep, where,
           fmt::format("the expression is more than {} nodes deep", ir::kMaxExprDepth),
           "give parts of it a name with `let`");
    depth_reported_ = true;
  }
  skip_expression();
  return poison(where);
}

// ---- operators

Parser::Value Parser::parse_expression() {
  if (panicking_) return poison(tok_);
  if (nesting_ == 0) depth_reported_ = false;
  return parse_binary(1);
}

Parser::Value Parser::parse_binary(int min_precedence) {
  Value left = parse_cast();
  bool compared = false;
  bool chained = false;
  while (!panicking_) {
    const std::optional<ir::BinaryOp> op = binary_operator(tok_.kind);
    if (!op || ir::precedence_of(*op) < min_precedence) break;
    const Token sign = tok_;
    advance();
    if (ir::is_comparison(*op) && compared && !chained) {
      report(Code::ChainedComparison, sign,
             fmt::format("comparisons do not chain, but `{}` follows a comparison", sign.text),
             "join two comparisons with `&&`, or use parentheses");
      chained = true;
    }
    const Value right = parse_binary(ir::precedence_of(*op) + 1);
    compared = ir::is_comparison(*op);
    if ((left.record != kNoIndex || right.record != kNoIndex) &&
        (*op == ir::BinaryOp::Eq || *op == ir::BinaryOp::Ne)) {
      left = compare_records(sign, *op, left, right);
      continue;
    }
    left = chained && compared ? poison(sign)
                               : make(ir::Binary{*op, left.id, right.id}, sign,
                                      std::max(left.depth, right.depth) + 1);
  }
  return left;
}

Parser::Value Parser::parse_cast() {
  Value value = parse_unary();
  while (!panicking_ && at_word("as")) {
    const Token word = tok_;
    advance();
    if (const auto type = parse_type(false))
      value = make(ir::Cast{*type, value.id}, word, value.depth + 1);
  }
  return value;
}

Parser::Value Parser::parse_unary() {
  ir::UnaryOp op = ir::UnaryOp::Neg;
  switch (tok_.kind) {
    case TokenKind::Minus: op = ir::UnaryOp::Neg; break;
    case TokenKind::Not: op = ir::UnaryOp::Not; break;
    case TokenKind::Tilde: op = ir::UnaryOp::BitNot; break;
    default: return parse_primary();
  }
  const Token sign = tok_;
  advance();
  if (op == ir::UnaryOp::Neg && (at(TokenKind::Int) || at(TokenKind::Float)))
    return parse_literal(&sign);
  const Nesting nesting(*this);
  if (!nesting.fits) return too_deep(sign);
  const Value operand = parse_unary();
  return make(ir::Unary{op, operand.id}, sign, operand.depth + 1);
}

Parser::Value Parser::parse_primary() {
  switch (tok_.kind) {
    case TokenKind::Int:
    case TokenKind::Float: return parse_literal(nullptr);
    case TokenKind::LParen: return parse_parenthesized();
    case TokenKind::Name: {
      const Value value = parse_name();
      skip_fields();
      return value;
    }
    default: break;
  }
  unexpected_in_code("an expression", "write a value here");
  return poison(tok_);
}

Parser::Value Parser::parse_parenthesized() {
  const Token paren = tok_;
  advance();
  const Nesting nesting(*this);
  if (nesting.fits && at(TokenKind::Name) && next_.kind == TokenKind::RParen &&
      scopes_.find(tok_.text).where == Found::Where::Nowhere) {
    const std::string_view type =
        ir::type_from_name(tok_.text) ? tok_.text : type_of_habit(tok_.text);
    if (!type.empty()) return parse_cast_in_front(type);
  }
  const bool bare = std::exchange(bare_condition_, false);
  const Value value = nesting.fits ? parse_expression() : too_deep(paren);
  bare_condition_ = bare;
  expect_close(TokenKind::RParen, paren);
  return value;
}

// `(float)x`, at the type.
Parser::Value Parser::parse_cast_in_front(std::string_view type) {
  const Token name = tok_;
  report(Code::UnexpectedToken, name,
         fmt::format("a conversion stands behind its value, but {} stands before it",
                     quoted(name.text)),
         fmt::format("write `x as {}`", type));
  advance();
  advance();
  parse_unary();
  return poison(name);
}

Parser::Value Parser::parse_literal(const Token* minus) {
  const Token token = tok_;
  advance();
  Token where = minus != nullptr ? *minus : token;
  if (minus != nullptr && minus->line == token.line)
    where.length = token.column + token.length - minus->column;
  if (token.bad) return poison(where);
  auto number = read_number(token.text);
  if (!number) return poison(where);
  if (number->decimal)
    return make(ir::FloatLiteral{std::move(number->digits), number->exponent, minus != nullptr,
                                 number->suffix},
                where, 1);
  return make(ir::IntLiteral{number->magnitude, minus != nullptr, number->suffix}, where, 1);
}

// ---- names

Parser::Value Parser::parse_name() {
  const Token name = tok_;
  if (name.text == "true" || name.text == "false") {
    advance();
    return make(ir::BoolLiteral{name.text == "true"}, name, 1);
  }
  if (is_static_function(name)) return parse_static_function();
  if (next_.kind == TokenKind::Dot &&
      (used_module(name) != kNoIndex ||
       (wanted_ == Report::Syntax && !ir::builtin_from_name(name.text) &&
        scopes_.find(name.text).where == Found::Where::Nowhere)))
    return parse_member();
  if (is_second_edition_call(name)) return parse_builtin_function(name);
  const bool reserved = ir::is_reserved(name.text);
  if (!reserved || scopes_.find(name.text).where != Found::Where::Nowhere) {
    const Symbol symbol = resolve(name, next_.kind == TokenKind::LParen);
    advance();
    return parse_symbol(name, name, symbol);
  }
  if (const auto builtin = ir::builtin_from_name(name.text)) {
    advance();
    return parse_builtin(name, *builtin);
  }
  if (name.text == "bitcast") return parse_bitcast();
  return parse_builtin_function(name);
}

// Their names are not reserved: a function of the program wins, and so does any declaration where
// nothing is called.
bool Parser::is_second_edition_call(const Token& name) const {
  const auto intrinsic = ir::intrinsic_from_name(name.text);
  if (!intrinsic || !ir::is_second_edition(*intrinsic)) return false;
  const Found found = scopes_.find(name.text);
  if (found.where == Found::Where::Nowhere) return true;
  if (next_.kind != TokenKind::LParen) return false;
  const Symbol::Kind kind = found.symbol.kind;
  const bool callable =
      kind == Symbol::Kind::Fn || kind == Symbol::Kind::Generic || kind == Symbol::Kind::Target;
  return found.where != Found::Where::Visible || !callable;
}

std::string Parser::fix_of_unknown(const Token& name, bool callable) const {
  // A name of another language is known for certain, one that looks alike is a guess.
  if (const std::string_view advice = habit_of_name(name.text); !advice.empty())
    return std::string(advice);
  std::string_view meant = scopes_.nearest(name.text, callable);
  if (meant.empty()) meant = nearest_builtin(name.text, callable);
  if (!meant.empty()) return fmt::format("did you mean `{}`?", meant);
  return callable ? "declare it with `fn`" : "declare it before its use";
}

// Reports each unknown name once per scope: it is then declared there as unknown.
Symbol Parser::resolve(const Token& name, bool callable) {
  const Found found = scopes_.find(name.text);
  if (found.where == Found::Where::Visible) return found.symbol;
  if (found.where == Found::Where::Around) return capture(name, found.symbol);
  if (panicking_) return {};
  if (found.where == Found::Where::Hidden) {
    const bool buffer = found.symbol.kind == Symbol::Kind::Buffer;
    Diagnostic* const error =
        report(Code::BufferNotPassed, name,
               fmt::format("a function does not see the {} {} of the program",
                           buffer ? "buffer" : "local", quoted(name.text)),
               is_scalar(found.symbol) ? "pass its value as a parameter"
               : buffer                ? fmt::format("pass it as a parameter, `{} : buffer {}[]`",
                                                     name.text.substr(0, 60),
                                                     ir::name_of(program_.buffers[found.symbol.index].element))
                                       : "pass its value as a parameter");
    note_declaration(error, found.symbol);
  } else if (ir::is_reserved(name.text)) {
    report(Code::WrongKindOfName, name,
           fmt::format("{} is a word of the language, not a name", quoted(name.text)),
           "use a name that the program declares");
    return {};
  } else {
    report(
        Code::UnknownName, name,
        fmt::format("the {} {} is not declared", callable ? "function" : "name", quoted(name.text)),
        fix_of_unknown(name, callable));
    for (const std::string_view other : idiom_of_habit(name.text))
      if (scopes_.find(other).where == Found::Where::Nowhere) scopes_.declare(other, {});
  }
  scopes_.declare(name.text, {});
  return {};
}

bool Parser::is_scalar(Symbol symbol) const {
  return symbol.kind == Symbol::Kind::Buffer && program_.buffers[symbol.index].scalar;
}

// Its one element.
Parser::Value Parser::make_scalar(const Token& name, ir::Memory memory) {
  const Value index = make(ir::IntLiteral{}, name, 1);
  return make(ir::Load{memory, index.id}, name, 2);
}

std::optional<ir::Memory> Parser::memory_of(Symbol symbol) const {
  switch (symbol.kind) {
    case Symbol::Kind::Array:
    case Symbol::Kind::BufferParam: return ir::Memory::of(ir::LocalId{symbol.index});
    case Symbol::Kind::Table: return ir::Memory::of(ir::ConstId{symbol.index});
    case Symbol::Kind::Buffer: return ir::Memory::of(ir::BufferId{symbol.index});
    case Symbol::Kind::Scalar:
    case Symbol::Kind::Const:
    case Symbol::Kind::Fn:
    case Symbol::Kind::Generic:
    case Symbol::Kind::ModuleConst:
    case Symbol::Kind::StructType:
    case Symbol::Kind::Struct:
    case Symbol::Kind::StructArray:
    case Symbol::Kind::Type:
    case Symbol::Kind::Static:
    case Symbol::Kind::Target:
    case Symbol::Kind::Unknown: return std::nullopt;
  }
  return std::nullopt;
}

std::string Parser::kind_of(Symbol symbol) const {
  switch (symbol.kind) {
    case Symbol::Kind::Scalar: return "a local value";
    case Symbol::Kind::Array: return "a private array";
    case Symbol::Kind::BufferParam: return "a buffer parameter";
    case Symbol::Kind::Const: return "a constant";
    case Symbol::Kind::Table: return "a constant table";
    case Symbol::Kind::Buffer: return is_scalar(symbol) ? "a scalar" : "a buffer";
    case Symbol::Kind::Fn:
    case Symbol::Kind::Generic:
    case Symbol::Kind::Target: return "a function";
    case Symbol::Kind::ModuleConst: return "a constant of a module";
    case Symbol::Kind::StructType: return "a struct";
    case Symbol::Kind::Struct: return "a local of a struct";
    case Symbol::Kind::StructArray: return "a private array of structs";
    case Symbol::Kind::Type:
    case Symbol::Kind::Static: return "a static parameter";
    case Symbol::Kind::Unknown: return "not declared";
  }
  return {};
}

// What is expanded, its name read.
Parser::Value Parser::parse_expanded(const Token& name, const Token& start, Symbol symbol) {
  switch (symbol.kind) {
    case Symbol::Kind::Generic:
      if (at(TokenKind::LParen) || at(TokenKind::Less)) return parse_fn_call(name, start, symbol);
      break;
    case Symbol::Kind::Target:
      if (at(TokenKind::LParen)) {
        const FnTarget target = targets_[symbol.index];
        return parse_target_call(name, target);
      }
      break;
    case Symbol::Kind::ModuleConst: {
      if (wanted_ == Report::Syntax) {
        discard_postfix();
        return poison(name);
      }
      const auto id = module_const(symbol.index, name);
      if (!id) return poison(name);
      const auto kind = program_[*id].table ? Symbol::Kind::Table : Symbol::Kind::Const;
      return parse_symbol(name, start, {kind, id->value});
    }
    case Symbol::Kind::StructType:
    case Symbol::Kind::Struct:
    case Symbol::Kind::StructArray: return parse_struct_symbol(name, symbol);
    case Symbol::Kind::Static:
      if (!at(TokenKind::LParen) && !at(TokenKind::LBracket))
        return static_literal(static_values_[symbol.index], name);
      break;
    case Symbol::Kind::Type:
    case Symbol::Kind::Scalar:
    case Symbol::Kind::Array:
    case Symbol::Kind::BufferParam:
    case Symbol::Kind::Const:
    case Symbol::Kind::Table:
    case Symbol::Kind::Buffer:
    case Symbol::Kind::Fn:
    case Symbol::Kind::Unknown: break;
  }
  report(Code::WrongKindOfName, name,
         fmt::format("{} is {} and cannot be used so", quoted(name.text), kind_of(symbol)),
         symbol.kind == Symbol::Kind::Type     ? "write `x as T` to convert"
         : symbol.kind == Symbol::Kind::Static ? "use its value"
                                               : "call it");
  discard_postfix();
  return poison(name);
}

// A name of the program, already read; what follows it must fit what it is. `start`: the name of
// its module, if it has one.
Parser::Value Parser::parse_symbol(const Token& name, const Token& start, Symbol symbol) {
  if (symbol.kind > Symbol::Kind::Unknown) return parse_expanded(name, start, symbol);
  const bool constant = symbol.kind == Symbol::Kind::Const || symbol.kind == Symbol::Kind::Table;
  if (constant && wanted_ != Report::Syntax) {
    if (in_static_)
      const_static_uses_[symbol.index] = true;
    else
      ++const_uses_[symbol.index];
  }
  const bool indexed = at(TokenKind::LBracket);
  const bool called = at(TokenKind::LParen);
  const std::optional<ir::Memory> memory = memory_of(symbol);
  if (symbol.kind == Symbol::Kind::Scalar && !indexed && !called)
    return make(ir::LocalRef{ir::LocalId{symbol.index}}, name, 1);
  if (symbol.kind == Symbol::Kind::Const && !indexed && !called)
    return make(ir::ConstRef{ir::ConstId{symbol.index}}, name, 1);
  if (is_scalar(symbol) && !indexed && !called) return make_scalar(name, *memory);
  if (symbol.kind == Symbol::Kind::Fn && called) return parse_fn_call(name, start, symbol);
  if (memory && indexed && !is_scalar(symbol)) return parse_indexed(name, *memory);
  if (symbol.kind != Symbol::Kind::Unknown) {
    const std::string shown(name.text.substr(0, 60));
    std::string message =
        fmt::format("{} is {} and cannot be {}", quoted(name.text), kind_of(symbol),
                    called    ? "called"
                    : indexed ? "indexed"
                              : "used as a value");
    std::string fix = memory && at(TokenKind::Dot)
                          ? fmt::format("its number of elements is `len({})`", shown)
                      : is_scalar(symbol) ? fmt::format("write `{}`", shown)
                      : memory            ? fmt::format("use an element, `{}[i]`", shown)
                      : symbol.kind == Symbol::Kind::Fn ? fmt::format("call it, `{}(...)`", shown)
                      : called                          ? "call a function, or write an operator"
                                                        : "remove the index, or name a buffer";
    note_declaration(report(is_scalar(symbol) ? Code::BadScalar : Code::WrongKindOfName, name,
                            std::move(message), std::move(fix)),
                     symbol);
    if (at(TokenKind::Arrow)) panicking_ = true;  // `p->x`
    discard_postfix();
  } else {
    skip_foreign_name(name);
  }
  return poison(name);
}

// What follows a name that is not declared. After one of another language the rest is that
// language, too, and part of the mistake that is reported.
void Parser::skip_foreign_name(const Token& name) {
  if (habit_of_name(name.text).empty()) {
    discard_postfix();
    return;
  }
  if (at(TokenKind::Less) || at(TokenKind::Colon) || at(TokenKind::Name)) panicking_ = true;
  while (!panicking_ && at(TokenKind::Dot) && next_.kind == TokenKind::Name) {
    advance();
    advance();
  }
  while (!panicking_ && (at(TokenKind::LParen) || at(TokenKind::LBracket))) {
    const Token opener = tok_;
    advance();
    while (!at(TokenKind::RParen) && !at(TokenKind::RBracket) && !at(TokenKind::End)) {
      const Token start = tok_;
      skip_expression();
      if (tok_.text.data() != start.text.data()) continue;
      // Nothing that an expression has: the statement ends without the bracket.
      if (at(TokenKind::Semicolon) || at(TokenKind::LBrace) || at(TokenKind::RBrace)) break;
      advance();
    }
    expect_close(opener.kind == TokenKind::LParen ? TokenKind::RParen : TokenKind::RBracket,
                 opener);
  }
  // `for i in range(n) {`: what the statement lacks follows from what is reported.
  if (at(TokenKind::Colon) || at(TokenKind::LBrace)) panicking_ = true;
}

Parser::Value Parser::parse_indexed(const Token& name, ir::Memory memory) {
  const Token bracket = tok_;
  advance();
  const Nesting nesting(*this);
  const bool bare = std::exchange(bare_condition_, false);
  const Value index = nesting.fits ? parse_indices(name, memory) : too_deep(name);
  bare_condition_ = bare;
  expect_close(TokenKind::RBracket, bracket);
  return make(ir::Load{memory, index.id}, name, index.depth + 1);
}

Parser::Value Parser::parse_builtin(const Token& name, ir::Builtin builtin) {
  if (ir::is_call(builtin)) {
    if (!at(TokenKind::LParen)) {
      report(Code::UnexpectedToken, name, fmt::format("`{}` lacks its parentheses", name.text),
             fmt::format("write `{}()`", name.text));
      return poison(name);
    }
    std::vector<Value> values;
    if (!parse_values(values) || !right_count(name, 0, values.size())) return poison(name);
    return make(ir::BuiltinRef{builtin, 0}, name, 1);
  }
  if (!ir::has_axis(builtin)) {
    if (!at(TokenKind::LParen) && !at(TokenKind::LBracket))
      return make(ir::BuiltinRef{builtin, 0}, name, 1);
    report(Code::WrongKindOfName, name,
           fmt::format("`{}` is a value and cannot be called or indexed", name.text),
           fmt::format("write `{}`", name.text));
    discard_postfix();
    return poison(name);
  }
  if (!at(TokenKind::Dot)) {
    report(Code::UnexpectedToken, name, fmt::format("`{}` lacks its axis", name.text),
           fmt::format("write `{0}.x`, `{0}.y` or `{0}.z`", name.text));
    discard_postfix();
    return poison(name);
  }
  advance();
  const size_t axis = at(TokenKind::Name) && tok_.text.size() == 1
                          ? std::string_view("xyz").find(tok_.text)
                          : std::string_view::npos;
  if (axis == std::string_view::npos) {
    if (!at(TokenKind::Name)) {
      unexpected("an axis", fmt::format("write `{0}.x`, `{0}.y` or `{0}.z`", name.text));
    } else {
      report(Code::WrongKindOfName, tok_,
             fmt::format("`{}` has no axis {}", name.text, quoted(tok_.text)),
             fmt::format("write `{0}.x`, `{0}.y` or `{0}.z`", name.text));
      advance();
    }
    return poison(name);
  }
  advance();
  Token whole = name;
  if (prev_.line == name.line) whole.length = prev_.column + prev_.length - name.column;
  return make(ir::BuiltinRef{builtin, static_cast<uint8_t>(axis)}, whole, 1);
}

}  // namespace vyre::text
