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
  if (token.kind == TokenKind::Greater && in_bitcast_) return Role::TypeBracket;
  return binary_rank(token.kind) != 0 ? Role::Binary : Role::None;
}

bool Spacing::space_before(const Token& token, Role role) const {
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
    case TokenKind::LParen: return !after_value();
    default: return true;
  }
}

Spacing::Joint Spacing::next(const Token& token) {
  const Role role = role_of(token);
  Joint joint;
  joint.space = space_before(token, role);
  const bool opens_table =
      token.kind == TokenKind::LBrace && !first_ && previous_.kind == TokenKind::Assign;
  const bool closes_table = token.kind == TokenKind::RBrace && tables_ > 0;
  joint.in_table = opens_table || closes_table;
  if (opens_table) ++tables_;
  if (closes_table) --tables_;
  if (opens_table || token.kind == TokenKind::LParen || token.kind == TokenKind::LBracket)
    ++brackets_;
  if ((closes_table || token.kind == TokenKind::RParen || token.kind == TokenKind::RBracket) &&
      brackets_ > 0)
    --brackets_;
  if (token.kind == TokenKind::Comma) joint.break_rank = 1 + brackets_ * kRanksPerDepth;
  if (token.kind == TokenKind::DotDot) joint.break_rank = 2 + brackets_ * kRanksPerDepth;
  if (role == Role::Binary)
    joint.break_rank = 2 + binary_rank(token.kind) + brackets_ * kRanksPerDepth;
  in_bitcast_ = (role == Role::TypeBracket && token.kind == TokenKind::Less) ||
                (in_bitcast_ && role != Role::TypeBracket);
  // After the bracket that closes a type the parenthesis is glued on, as after a name.
  before_previous_ = previous_;
  previous_ = token;
  previous_role_ = role;
  first_ = false;
  return joint;
}

}  // namespace vyre::text
