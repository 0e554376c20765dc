// SPDX-License-Identifier: Apache-2.0
// The first pass: constants, buffers and functions are visible in the whole program, so they are
// entered before anything is resolved. It finds their first words wherever they stand, so that
// a brace too many or too few does not make every name unknown, and reports nothing.
#include <algorithm>

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

// `if const`, `<const N : u32>`: the word declares nothing in the program.
bool is_other_const(std::string_view source, std::string_view word) {
  size_t at = static_cast<size_t>(word.data() - source.data());
  while (at > 0 && (source[at - 1] == ' ' || source[at - 1] == '\n' || source[at - 1] == '\t' ||
                    source[at - 1] == '\r'))
    --at;
  if (at == 0) return false;
  if (source[at - 1] == '<' || source[at - 1] == ',') return true;
  return at >= 2 && source.substr(at - 2, 2) == "if";
}

// The words that a declaration begins with.
bool declares(std::string_view word) {
  if (word.size() < 2) return false;
  return word == "const" || word == "fn" || word == "let" || word == "var" || word == "struct" ||
         buffer_kind(word);
}

}  // namespace

void Parser::collect_declarations() {
  Lexer lexer(source_, file_, nullptr);
  int64_t depth = 0;
  // The body of a function lies deeper than this, as long as no token since has been as high.
  int64_t fn_depth = INT64_MAX;
  bool in_fn = false;
  collect_struct_names();
  Token token = next_token(lexer);
  // The second pass reports a text with more declarations than this.
  while (token.kind != TokenKind::End && declared_at_.size() < ir::kMaxStatements) {
    poll_stop();
    const TokenKind kind = token.kind;
    const std::string_view word = token.text;
    if (kind == TokenKind::LBrace) ++depth;
    if (kind == TokenKind::RBrace) --depth;
    int64_t lowest = depth;
    if (kind != TokenKind::Name || !declares(word)) {
      lexer.skip_unwanted(declares, depth, lowest);
      token = next_token(lexer);
    }
    if (depth > fn_depth && !in_fn) {
      in_fn = true;
      lowest = depth;
    }
    if (in_fn && lowest <= fn_depth) {
      in_fn = false;
      fn_depth = INT64_MAX;
    }
    if (kind != TokenKind::Name || !declares(word)) continue;
    const bool other = word == "const" && is_other_const(source_, word);
    if (depth <= fn_depth && !other) {
      in_fn = false;
      fn_depth = INT64_MAX;
    }
    token = next_token(lexer);
    if (token.kind != TokenKind::Name || other) continue;
    const Token name = token;
    if (word == "const") {
      token = next_token(lexer);
      collect_const(name, lexer, token);
    } else if (word == "fn") {
      token = next_token(lexer);
      collect_generic(name, lexer, token);
      fn_depth = depth;
      in_fn = false;
    } else if (word == "struct") {
      token = next_token(lexer);
      if (token.kind == TokenKind::LBrace) collect_struct_fields(name, lexer, token);
    } else if (word == "let" || word == "var") {
      if (depth == 1) scopes_.note_top_local(name.text);
    } else if (const auto buffer = buffer_kind(word)) {
      token = next_token(lexer);
      const bool hoisted = in_fn && word == "shared";
      if (token.kind == TokenKind::Colon && !hoisted) collect_buffer(*buffer, name, lexer, token);
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
  note_const(id, name, 0);
  declared_at_.emplace(name.text.data(), id.value);
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
  declared_at_.emplace(name.text.data(), id.value);
  scopes_.declare_global(name.text, {Symbol::Kind::Buffer, id.value});
}

void Parser::collect_fn(const Token& name) {
  const ir::FnId id = program_.add(ir::Fn{std::string(name.text), {}, {}, {}}, loc(name));
  fn_tokens_.push_back(name);
  declared_at_.emplace(name.text.data(), id.value);
  scopes_.declare_global(name.text, {Symbol::Kind::Fn, id.value});
}

void Parser::note_const(ir::ConstId id, const Token& name, uint32_t unit) {
  const size_t count = id.index() + 1;
  const_read_.resize(count);
  const_tokens_.resize(count);
  const_units_.resize(count);
  const_uses_.resize(count);
  const_static_uses_.resize(count);
  const_reading_.resize(count);
  const_tokens_[id.index()] = name;
  const_units_[id.index()] = unit;
}

// Which names are structs, before the functions that give them are seen.
void Parser::collect_struct_names() {
  static constexpr std::string_view kWord = "struct ";
  for (size_t at = source_.find(kWord); at != std::string_view::npos;
       at = source_.find(kWord, at + 1)) {
    Lexer lexer(source_.substr(at), file_, nullptr);
    lexer.next();
    const Token name = lexer.next();
    if (name.kind == TokenKind::Name && lexer.next().kind == TokenKind::LBrace)
      struct_names_.insert(name.text);
  }
}

// The fields as far as they can be read; parse_struct says what is wrong with them.
void Parser::collect_struct_fields(const Token& name, Lexer& lexer, Token& token) {
  collect_struct(name);
  StructType& type = structs_[struct_at_.at(name.text.data())];
  token = next_token(lexer);
  while (token.kind == TokenKind::Name && type.fields.size() < kMaxFields) {
    const std::string_view field = token.text;
    token = next_token(lexer);
    if (token.kind != TokenKind::Colon) break;
    token = next_token(lexer);
    const auto scalar = ir::type_from_name(token.text);
    if (token.kind != TokenKind::Name || !scalar) break;
    const auto same = [&](const auto& other) { return other.first == field; };
    if (std::any_of(type.fields.begin(), type.fields.end(), same)) break;
    type.fields.emplace_back(field, ir::widened(*scalar));
    token = next_token(lexer);
    if (token.kind == TokenKind::Comma) token = next_token(lexer);
  }
  if (type.fields.empty()) type.fields.emplace_back("x", ir::Type::U32);
  if (token.kind == TokenKind::RBrace) token = next_token(lexer);
}

// The index that the first pass gave to the declaration of this name; ir::ExprId::kNone if it was
// past the last one that it took in.
uint32_t Parser::declared_index(const Token& name) {
  const auto it = declared_at_.find(name.text.data());
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
