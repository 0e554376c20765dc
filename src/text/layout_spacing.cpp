// SPDX-License-Identifier: Apache-2.0
#include "text/layout_spacing.hpp"

#include <algorithm>
#include <array>

namespace vyre::text {

namespace {

// Words after which an expression starts.
bool is_prefix_word(const Token& token, const Token& before) {
  static constexpr std::array kWords = std::to_array<std::string_view>(
      {"if", "while", "in", "step", "return", "over", "require", "workgroup"});
  if (token.kind != TokenKind::Name) return false;
  if (token.text == "max") return before.kind == TokenKind::Name && before.text == "fixpoint";
  if (token.text == "rev") return before.kind == TokenKind::Name && before.text == "in";
  return std::find(kWords.begin(), kWords.end(), token.text) != kWords.end();
}

// As in the expression grammar; 0 for what is not a binary operator.
uint32_t binary_rank(TokenKind kind) {
  switch (kind) {
    case TokenKind::OrOr: return 1;
    case TokenKind::AndAnd: return 2;
    case TokenKind::EqEq:
    case TokenKind::NotEq:
    case TokenKind::Less:
    case TokenKind::LessEq:
    case TokenKind::Greater:
    case TokenKind::GreaterEq: return 3;
    case TokenKind::Or: return 4;
    case TokenKind::Xor: return 5;
    case TokenKind::And: return 6;
    case TokenKind::Shl:
    case TokenKind::Shr: return 7;
    case TokenKind::Plus:
    case TokenKind::Minus: return 8;
    case TokenKind::Star:
    case TokenKind::Slash:
    case TokenKind::Percent: return 9;
    default: return 0;
  }
}

constexpr uint32_t kRanksPerDepth = 16;

}  // namespace

bool closes_static_list(Lexer& lexer, Token token) {
  size_t brackets = 0;
  while (true) {
    switch (token.kind) {
      case TokenKind::Name:
      case TokenKind::Int:
      case TokenKind::Float:
      case TokenKind::Comma:
      case TokenKind::Dot:
      case TokenKind::Plus:
      case TokenKind::Minus:
      case TokenKind::Star:
      case TokenKind::Slash:
      case TokenKind::Comment: break;
      case TokenKind::LParen: ++brackets; break;
      case TokenKind::RParen:
        if (brackets == 0) return false;
        --brackets;
        break;
      default:
        return token.kind == TokenKind::Greater && brackets == 0 &&
               lexer.next().kind == TokenKind::LParen;
    }
    token = lexer.next();
  }
}

StaticNames static_names_of(std::string_view source) {
  StaticNames names;
  Lexer lexer(source, {}, nullptr);
  std::array<Token, 3> before;  // the last three, the latest first
  bool uses = false;
  for (Token token = lexer.next(); token.kind != TokenKind::End; token = lexer.next()) {
    if (token.kind == TokenKind::Comment) continue;
    const bool word = token.kind == TokenKind::Name;
    uses = uses || (word && token.text == "use");
    if (word && before[0].kind == TokenKind::Name && before[0].text == "fn")
      names.functions.insert(token.text);
    const bool member = token.kind == TokenKind::Less && before[0].kind == TokenKind::Name &&
                        before[1].kind == TokenKind::Dot && before[2].kind == TokenKind::Name;
    if (uses && member) {
      Lexer ahead = lexer;
      const Token next = ahead.next();
      if (closes_static_list(ahead, next)) names.members.insert(token.text.data());
    }
    before = {token, before[0], before[1]};
  }
  return names;
}

bool Spacing::after_value() const {
  switch (previous_.kind) {
    case TokenKind::Int:
    case TokenKind::Float:
    case TokenKind::String:
    case TokenKind::RParen:
    case TokenKind::RBracket: return !first_;
    case TokenKind::Name: return !first_ && !is_prefix_word(previous_, before_previous_);
    default: return false;
  }
}

Spacing::Role Spacing::role_of(const Token& token) const {
  if (token.kind == TokenKind::Not || token.kind == TokenKind::Tilde) return Role::Unary;
  if (token.kind == TokenKind::Minus && !after_value()) return Role::Unary;
  if (token.kind == TokenKind::Less && previous_.kind == TokenKind::Name &&
      previous_.text == "bitcast")
    return Role::TypeBracket;
  if (token.kind == TokenKind::Less && opens_static_list(token)) return Role::TypeBracket;
  if (token.kind == TokenKind::Greater && !lists_.empty() && lists_.back() + 1 == brackets_)
    return Role::TypeBracket;
  if (token.kind == TokenKind::Or && in_lambda_) return Role::LambdaClose;
  if (token.kind == TokenKind::Or && brackets_ > 0 &&
      (previous_.kind == TokenKind::LParen || previous_.kind == TokenKind::Comma))
    return Role::LambdaOpen;
  return binary_rank(token.kind) != 0 ? Role::Binary : Role::None;
}

// Behind the name of a function, where it is declared or called.
bool Spacing::opens_static_list(const Token& token) const {
  if (first_ || previous_.kind != TokenKind::Name) return false;
  if (before_previous_.kind == TokenKind::Name &&
      (before_previous_.text == "fn" || before_previous_.text == "program"))
    return true;
  if (names_ == nullptr) return false;
  if (before_previous_.kind == TokenKind::Dot) return names_->members.contains(token.text.data());
  return names_->functions.contains(previous_.text);
}

// A `{` behind the name of a struct, where a block cannot begin.
Spacing::Brace Spacing::brace_of() const {
  if (first_ || previous_.kind == TokenKind::Assign) return Brace::Table;
  if (head_ == "struct") return Brace::Struct;
  static constexpr std::array kHeads = std::to_array<std::string_view>(
      {"program", "module", "fn", "region", "if", "else", "while", "for", "fixpoint", "async"});
  const bool header = std::find(kHeads.begin(), kHeads.end(), head_) != kHeads.end();
  const bool literal = previous_.kind == TokenKind::Name && (brackets_ > 0 || !header) &&
                       !head_.empty() && head_.data() != previous_.text.data();
  return literal ? Brace::Literal : Brace::Block;
}

bool Spacing::space_before(const Token& token, Role role) const {
  if (previous_role_ == Role::LambdaOpen || role == Role::LambdaClose) return false;
  if (previous_role_ == Role::TypeBracket && previous_.kind == TokenKind::Greater &&
      token.kind == TokenKind::LBrace)
    return true;
  if (first_ || previous_role_ == Role::Unary || previous_role_ == Role::TypeBracket ||
      role == Role::TypeBracket)
    return false;
  switch (previous_.kind) {
    case TokenKind::LParen:
    case TokenKind::LBracket:
    case TokenKind::Dot:
    case TokenKind::At: return false;
    default: break;
  }
  switch (token.kind) {
    case TokenKind::Comma:
    case TokenKind::Semicolon:
    case TokenKind::RParen:
    case TokenKind::RBracket:
    case TokenKind::LBracket:
    case TokenKind::Dot: return false;
    case TokenKind::Colon: return braces_.empty() || braces_.back() != Brace::Literal;
    case TokenKind::LParen: return !after_value();
    default: return true;
  }
}

Spacing::Joint Spacing::next(const Token& token) {
  const Role role = role_of(token);
  Joint joint;
  joint.space = space_before(token, role);
  const Brace brace = token.kind == TokenKind::LBrace ? brace_of() : Brace::Block;
  const bool opens_table = token.kind == TokenKind::LBrace && !first_ && brace != Brace::Block;
  const bool closes_table = token.kind == TokenKind::RBrace && !braces_.empty();
  joint.in_table = opens_table || closes_table;
  joint.ends_line = closes_table && braces_.back() == Brace::Struct;
  if (opens_table) braces_.push_back(brace);
  if (closes_table) braces_.pop_back();
  const bool begins = first_ || previous_.kind == TokenKind::Semicolon || statement_ended_;
  if (begins) head_ = token.kind == TokenKind::Name ? token.text : std::string_view();
  statement_ended_ =
      joint.ends_line ||
      (!joint.in_table && (token.kind == TokenKind::LBrace || token.kind == TokenKind::RBrace));
  in_lambda_ = role == Role::LambdaOpen || (in_lambda_ && role != Role::LambdaClose);
  if (role == Role::TypeBracket && token.kind == TokenKind::Less) lists_.push_back(brackets_++);
  if (role == Role::TypeBracket && token.kind == TokenKind::Greater) {
    lists_.pop_back();
    --brackets_;
  }
  if (opens_table || token.kind == TokenKind::LParen || token.kind == TokenKind::LBracket)
    ++brackets_;
  if ((closes_table || token.kind == TokenKind::RParen || token.kind == TokenKind::RBracket) &&
      brackets_ > 0)
    --brackets_;
  if (token.kind == TokenKind::Comma) joint.break_rank = 1 + brackets_ * kRanksPerDepth;
  if (token.kind == TokenKind::DotDot) joint.break_rank = 2 + brackets_ * kRanksPerDepth;
  if (role == Role::Binary)
    joint.break_rank = 2 + binary_rank(token.kind) + brackets_ * kRanksPerDepth;
  // After the bracket that closes a type the parenthesis is glued on, as after a name.
  before_previous_ = previous_;
  previous_ = token;
  previous_role_ = role;
  first_ = false;
  return joint;
}

}  // namespace vyre::text
