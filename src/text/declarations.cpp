// SPDX-License-Identifier: Apache-2.0
// The first pass: constants, buffers and functions are visible in the whole program, so they are
// entered before anything is resolved. It finds their first words wherever they stand, so that
// a brace too many or too few does not make every name unknown, and reports nothing.
#include "base/stop.hpp"
#include "text/parser.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {

namespace {

std::optional<ir::BufferKind> buffer_kind(std::string_view word) {
  for (int k = 0; k < ir::kBufferKindCount; ++k)
    if (ir::name_of(static_cast<ir::BufferKind>(k)) == word) return static_cast<ir::BufferKind>(k);
  return std::nullopt;
}

Token next_token(Lexer& lexer) {
  Token token = lexer.next();
  while (token.kind == TokenKind::Comment) token = lexer.next();
  return token;
}

// The words that a declaration begins with.
bool declares(std::string_view word) {
  if (word.size() < 2) return false;
  return word == "const" || word == "fn" || word == "let" || word == "var" || buffer_kind(word);
}

}  // namespace

void Parser::collect_declarations() {
  Lexer lexer(source_, file_, nullptr);
  int64_t depth = 0;
  Token token = next_token(lexer);
  // The second pass reports a text with more declarations than this.
  while (token.kind != TokenKind::End && declared_at_.size() < ir::kMaxStatements) {
    poll_stop();
    const TokenKind kind = token.kind;
    const std::string_view word = token.text;
    if (kind == TokenKind::LBrace) ++depth;
    if (kind == TokenKind::RBrace) --depth;
    if (kind != TokenKind::Name || !declares(word)) {
      lexer.skip_unwanted(declares, depth);
      token = next_token(lexer);
      continue;
    }
    token = next_token(lexer);
    if (token.kind != TokenKind::Name) continue;
    const Token name = token;
    if (word == "const") {
      token = next_token(lexer);
      collect_const(name, lexer, token);
    } else if (word == "fn") {
      token = next_token(lexer);
      collect_fn(name);
    } else if (word == "let" || word == "var") {
      if (depth == 1) scopes_.note_top_local(name.text);
    } else if (const auto buffer = buffer_kind(word)) {
      token = next_token(lexer);
      if (token.kind == TokenKind::Colon) collect_buffer(*buffer, name, lexer, token);
    }
  }
}

// Reads as far as it takes to distinguish a table from a value.
void Parser::collect_const(const Token& name, Lexer& lexer, Token& token) {
  ir::Const constant{std::string(name.text), ir::Type::U32, false, {}};
  if (token.kind == TokenKind::Colon) {
    token = next_token(lexer);
    if (const auto type = ir::type_from_name(token.text); type && token.kind == TokenKind::Name) {
      constant.type = ir::widened(*type);
      token = next_token(lexer);
    }
    constant.table = token.kind == TokenKind::LBracket;
    if (token.kind == TokenKind::Assign) {
      token = next_token(lexer);
      constant.table = token.kind == TokenKind::LBrace;
    }
  }
  const auto kind = constant.table ? Symbol::Kind::Table : Symbol::Kind::Const;
  const ir::ConstId id = program_.add(std::move(constant), loc(name));
  const_read_.push_back(false);
  declared_at_.emplace(name.text.data() - source_.data(), id.value);
  scopes_.declare_global(name.text, {kind, id.value});
}

void Parser::collect_buffer(ir::BufferKind kind, const Token& name, Lexer& lexer, Token& token) {
  ir::Buffer buffer;
  buffer.name = name.text;
  buffer.kind = kind;
  token = next_token(lexer);
  if (const auto type = ir::type_from_name(token.text); type && token.kind == TokenKind::Name)
    buffer.element = *type;
  if (kind == ir::BufferKind::Uniform && token.kind == TokenKind::Name) {
    token = next_token(lexer);
    buffer.scalar = token.kind == TokenKind::Semicolon || token.kind == TokenKind::At;
  }
  const ir::BufferId id = program_.add(std::move(buffer), loc(name));
  declared_at_.emplace(name.text.data() - source_.data(), id.value);
  scopes_.declare_global(name.text, {Symbol::Kind::Buffer, id.value});
}

void Parser::collect_fn(const Token& name) {
  const ir::FnId id = program_.add(ir::Fn{std::string(name.text), {}, {}, {}}, loc(name));
  declared_at_.emplace(name.text.data() - source_.data(), id.value);
  scopes_.declare_global(name.text, {Symbol::Kind::Fn, id.value});
}

// The index that the first pass gave to the declaration of this name; ir::ExprId::kNone if it was
// past the last one that it took in.
uint32_t Parser::declared_index(const Token& name) {
  const auto it = declared_at_.find(static_cast<size_t>(name.text.data() - source_.data()));
  return it == declared_at_.end() ? ir::ExprId::kNone : it->second;
}

// A declaration that recovery jumped over still has to be one that the checker can read.
void Parser::finish_declarations() {
  for (size_t i = 0; i < program_.consts.size(); ++i) {
    ir::Const& constant = program_.consts[i];
    if (const_read_[i] && (constant.table || constant.values.count == 1)) continue;
    const std::array values = {
        program_.add(ir::Expr{ir::Poison{}}, program_.loc(ir::ConstId{static_cast<uint32_t>(i)}))};
    constant.values = program_.add_values(values);
  }
}

}  // namespace vyre::text
