// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/properties.hpp"
#include "lsp/queries.hpp"
#include "lsp/words.hpp"

namespace vyre::lsp {

namespace {

using namespace ir;
using text::Token;
using text::TokenKind;
using Kind = Declaration::Kind;

constexpr size_t kLongestSignature = 200;

// The tokens from one to before another as one line.
std::string line_of(const Analysis& a, uint32_t first, uint32_t last) {
  std::string line;
  for (uint32_t i = first; i < last && line.size() < kLongestSignature; ++i) {
    const Span span = a.span_of(i);
    if (i > first && a.span_of(i - 1).last < span.first) line += ' ';
    line += a.text.substr(span.first, span.last - span.first);
  }
  return line.size() < kLongestSignature ? line : line.substr(0, kLongestSignature) + " ...";
}

// The first token from here on that ends a declaration.
uint32_t end_of(const Analysis& a, uint32_t token, TokenKind kind) {
  while (token + 1 < a.tokens.size() && a.tokens[token].kind != kind &&
         a.tokens[token].kind != TokenKind::Semicolon)
    ++token;
  return token;
}

std::string_view keyword_of(Kind kind) {
  switch (kind) {
    case Kind::Program: return "program";
    case Kind::Const: return "const";
    case Kind::Buffer: return "buffer";
    case Kind::Fn: return "fn";
    case Kind::Let: return "let";
    case Kind::Var: return "var";
    case Kind::For: return "for";
    case Kind::Param: return "parameter";
    case Kind::Region: return "region";
    case Kind::Struct: return "struct";
    case Kind::Static: return "static";
    case Kind::Module: return "use";
  }
  return "";
}

// What the checker knows of the local; several of them may stand at one place.
std::optional<LocalId> local_of(const Analysis& a, const Declaration& d) {
  const std::vector<LocalId> ids = a.locals_at(d.token);
  return ids.empty() ? std::nullopt : std::optional(ids.front());
}

std::string type_of_local(const Analysis& a, LocalId id) {
  const Local& local = a.facts.program[id];
  std::optional<Type> type = local.type;
  if (!type && id.index() < a.facts.local_types.size()) type = a.facts.local_types[id.index()];
  if (!type) return "";
  if (local.kind == Local::Kind::BufferParam) return fmt::format("buffer {}[]", name_of(*type));
  if (local.kind != Local::Kind::Array) return std::string(name_of(*type));
  const uint32_t count =
      id.index() < a.facts.array_counts.size() ? a.facts.array_counts[id.index()] : 0;
  return count == 0 ? fmt::format("{}[]", name_of(*type))
                    : fmt::format("{}[{}]", name_of(*type), count);
}

template <class AnyId, class List>
std::optional<AnyId> by_name(const List& list, std::string_view name) {
  for (uint32_t i = 0; i < list.size(); ++i)
    if (list[i].name == name) return AnyId{i};
  return std::nullopt;
}

// ---- what is said below the signature

std::string level_text(const Analysis& a, LocalId id) {
  if (!a.complete || id.index() >= a.facts.local_levels.size()) return "";
  const check::Level level = a.facts.local_levels[id.index()];
  return fmt::format("Level **{}**: {}.", check::name_of(level), meaning_of(level));
}

std::string slots_text(const check::BufferFacts& facts) {
  std::vector<std::string> parts;
  if (facts.binding) parts.push_back(fmt::format("binding {}", *facts.binding));
  if (facts.input_slot) parts.push_back(fmt::format("input slot {}", *facts.input_slot));
  if (facts.output_slot) parts.push_back(fmt::format("output slot {}", *facts.output_slot));
  if (facts.constant_count) parts.push_back(fmt::format("{} elements", *facts.constant_count));
  if (parts.empty()) return "";
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  text[0] = text[0] == 'b' ? 'B' : text[0] == 'i' ? 'I' : text[0] == 'o' ? 'O' : text[0];
  return text + ".";
}

std::string value_text(const Analysis& a, std::string_view name) {
  const auto id = by_name<ConstId>(a.facts.program.consts, name);
  if (!a.complete || !id || a.facts.program[*id].table) return "";
  const check::Constant& value = a.facts.constants[id->index()].front();
  switch (value.type) {
    case Type::U32:
    case Type::U64: return fmt::format("Value {}.", value.bits);
    case Type::I32:
      return fmt::format("Value {}.", static_cast<int32_t>(static_cast<uint32_t>(value.bits)));
    case Type::I64: return fmt::format("Value {}.", static_cast<int64_t>(value.bits));
    default: return "";
  }
}

// Whether the access that begins at the token stays inside its memory.
std::string bounds_text(const Analysis& a, uint32_t token) {
  if (!a.complete || a.facts.expr_proofs.empty()) return "";
  const Program& p = a.facts.program;
  bool accesses = false;
  const check::BoundsProof* proof = nullptr;
  for (const ExprId id : a.exprs_at(token))
    for_each_memory(p, p[id], [&](const MemoryUse& use) {
      if (!use.index.valid()) return;
      accesses = true;
      proof = a.facts.proof(id);
    });
  for (const StmtId id : a.stmts_at(token)) {
    if (!std::holds_alternative<Store>(p[id])) continue;
    accesses = true;
    proof = a.facts.proof(id);
  }
  if (!accesses) return "";
  if (proof != nullptr) return fmt::format("In bounds: {}.", proof->reason);
  return "Not proved in bounds: the access costs a test; outside, a load gives 0 and a store is "
         "dropped.";
}

// The access that a name is the memory of: `atomic_add(b[i], 1)` has its proof at the function.
uint32_t access_token(const Analysis& a, uint32_t token) {
  const bool in_call = token >= 2 && a.tokens[token - 1].kind == TokenKind::LParen &&
                       a.tokens[token - 2].kind == TokenKind::Name && a.exprs_at(token).empty();
  return in_call ? token - 2 : token;
}

std::string about(const Analysis& a, const Declaration& d, uint32_t token) {
  std::vector<std::string> lines;
  const auto add = [&](std::string line) {
    if (!line.empty()) lines.push_back(std::move(line));
  };
  const bool indexed = token + 1 < a.tokens.size() &&
                       a.tokens[token + 1].kind == TokenKind::LBracket && token != d.token;
  switch (d.kind) {
    case Kind::Let:
    case Kind::Var:
    case Kind::For:
    case Kind::Param:
      if (const auto id = local_of(a, d)) add(level_text(a, *id));
      break;
    case Kind::Buffer:
      if (const auto id = by_name<BufferId>(a.facts.program.buffers, d.name); id && a.complete)
        add(slots_text(a.facts.buffers[id->index()]));
      break;
    case Kind::Const: add(value_text(a, d.name)); break;
    case Kind::Program:
    case Kind::Fn:
    case Kind::Region:
    case Kind::Struct:
    case Kind::Static:
    case Kind::Module: break;
  }
  if (indexed) add(bounds_text(a, access_token(a, token)));
  return fmt::format("{}", fmt::join(lines, "\n\n"));
}

std::string code(std::string_view text) {
  return fmt::format("```vyre\n{}\n```", text);
}

std::optional<Hover> hover_of_name(const Analysis& a, uint32_t token) {
  const auto declaration = a.names.declared_by(token);
  if (!declaration) return std::nullopt;
  Hover hover{code(signature_of(a, *declaration)), a.span_of(token)};
  const std::string more = about(a, a.names.declarations[*declaration], token);
  if (!more.empty()) hover.markdown += "\n\n" + more;
  return hover;
}

std::optional<Hover> hover_of_word(const Analysis& a, uint32_t token) {
  const bool attribute = token > 0 && a.tokens[token - 1].kind == TokenKind::At;
  const Word* known = word(a.tokens[token].text, attribute);
  if (known == nullptr) return std::nullopt;
  Hover hover{code(known->form) + "\n\n" + std::string(known->text), a.span_of(token)};
  if (const std::string bounds = bounds_text(a, token); !bounds.empty())
    hover.markdown += "\n\n" + bounds;
  return hover;
}

// An operator or a literal: what its value is.
std::optional<Hover> hover_of_value(const Analysis& a, uint32_t token) {
  for (const ExprId id : a.exprs_at(token)) {
    if (id.index() >= a.facts.expr_types.size() || !a.facts.expr_types[id.index()]) continue;
    return Hover{code(fmt::format("{} : {}", a.tokens[token].text,
                                  name_of(*a.facts.expr_types[id.index()]))),
                 a.span_of(token)};
  }
  return std::nullopt;
}

}  // namespace

std::string signature_of(const Analysis& a, uint32_t declaration) {
  const Declaration& d = a.names.declarations[declaration];
  const uint32_t before = d.token > 0 ? d.token - 1 : 0;
  switch (d.kind) {
    case Kind::Const:
    case Kind::Buffer: return line_of(a, before, end_of(a, d.token, TokenKind::Semicolon));
    case Kind::Fn: return line_of(a, before, end_of(a, d.token, TokenKind::LBrace));
    case Kind::Struct: return line_of(a, before, end_of(a, d.token, TokenKind::RBrace) + 1);
    case Kind::Static: return line_of(a, before, d.token + 3);
    case Kind::Let:
    case Kind::Var:
    case Kind::For:
    case Kind::Param: {
      const auto id = local_of(a, d);
      const std::string type = id ? type_of_local(a, *id) : "";
      return fmt::format("{} {}{}{}", keyword_of(d.kind), d.name, type.empty() ? "" : " : ", type);
    }
    case Kind::Program:
    case Kind::Region:
    case Kind::Module: return fmt::format("{} {}", keyword_of(d.kind), d.name);
  }
  return "";
}

std::optional<Hover> hover(const Analysis& a, size_t offset) {
  const auto token = a.token_at(offset);
  if (!token || a.in_comment_or_string(offset)) return std::nullopt;
  if (a.tokens[*token].kind == TokenKind::Name) {
    if (auto found = hover_of_name(a, *token)) return found;
    if (auto found = hover_of_word(a, *token)) return found;
  }
  return hover_of_value(a, *token);
}

}  // namespace vyre::lsp
