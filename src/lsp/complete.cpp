// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lsp/queries.hpp"
#include "lsp/words.hpp"
#include "vyre/ir/ops.hpp"

namespace vyre::lsp {

namespace {

using text::TokenKind;
using Kind = Completion::Kind;

Kind kind_of(Declaration::Kind kind) {
  switch (kind) {
    case Declaration::Kind::Const:
    case Declaration::Kind::Static: return Kind::Constant;
    case Declaration::Kind::Buffer: return Kind::Buffer;
    case Declaration::Kind::Fn: return Kind::Function;
    case Declaration::Kind::Struct: return Kind::Type;
    case Declaration::Kind::Program:
    case Declaration::Kind::Region:
    case Declaration::Kind::Module: return Kind::Keyword;
    case Declaration::Kind::Let:
    case Declaration::Kind::Var:
    case Declaration::Kind::For:
    case Declaration::Kind::Param: return Kind::Local;
  }
  return Kind::Local;
}

Kind kind_of(Word::Kind kind) {
  switch (kind) {
    case Word::Kind::Keyword: return Kind::Keyword;
    case Word::Kind::Type: return Kind::Type;
    case Word::Kind::Function: return Kind::Function;
    case Word::Kind::Value: return Kind::Builtin;
    case Word::Kind::Attribute: return Kind::Keyword;
  }
  return Kind::Keyword;
}

void add_words(std::vector<Completion>& list, auto&& wanted) {
  for (const Word& row : all_words())
    if (wanted(row))
      list.push_back(
          {kind_of(row.kind), std::string(row.name), std::string(row.form), std::string(row.text)});
}

// Words of statements and declarations; `@unroll` and the like stand behind their `@`.
bool is_statement_word(const Word& row) {
  return row.kind != Word::Kind::Attribute;
}

}  // namespace

std::vector<Completion> complete(const Analysis& a, size_t offset) {
  std::vector<Completion> list;
  if (a.tokens.empty() || a.in_comment_or_string(offset)) return list;
  // What is being written, and what stands before it.
  uint32_t token = a.token_from(offset);
  if (token + 1 < a.tokens.size() && a.span_of(token).last == offset &&
      a.tokens[token].kind != TokenKind::Name)
    ++token;
  const TokenKind before = token > 0 ? a.tokens[token - 1].kind : TokenKind::Semicolon;
  if (before == TokenKind::At) {
    add_words(list, [](const Word& row) { return row.kind == Word::Kind::Attribute; });
    return list;
  }
  if (before == TokenKind::Dot) {
    const auto builtin = token > 1 ? ir::builtin_from_name(a.tokens[token - 2].text) : std::nullopt;
    if (builtin && ir::has_axis(*builtin))
      for (const char* axis : {"x", "y", "z"})
        list.push_back(
            {Kind::Field, axis, fmt::format("axis of {}", a.tokens[token - 2].text), ""});
    return list;
  }
  const bool type_only = before == TokenKind::Colon || before == TokenKind::Arrow ||
                         (token > 0 && a.tokens[token - 1].text == "as");
  if (!type_only)
    for (const uint32_t index : a.names.visible_at(offset)) {
      const Declaration& d = a.names.declarations[index];
      list.push_back({kind_of(d.kind), std::string(d.name), signature_of(a, index), ""});
    }
  add_words(list, [&](const Word& row) {
    if (type_only) return row.kind == Word::Kind::Type || row.name == "buffer";
    return is_statement_word(row) &&
           // A name of the program comes before a built-in one that is new.
           std::ranges::none_of(list, [&](const Completion& c) { return c.label == row.name; });
  });
  return list;
}

}  // namespace vyre::lsp
