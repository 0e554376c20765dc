// SPDX-License-Identifier: Apache-2.0
#include "lsp/document.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/stop.hpp"
#include "check/learn.hpp"
#include "vyre/text/text.hpp"

namespace vyre::lsp {

namespace {

using text::Token;
using text::TokenKind;

// A person's program takes milliseconds. A text that takes longer than this is one that no editor
// should wait for.
constexpr std::chrono::seconds kLimit{5};

void read_tokens(Analysis& a) {
  text::Lexer lexer(a.text, a.file, nullptr);
  while (true) {
    poll_stop();
    const Token token = lexer.next();
    if (token.kind == TokenKind::Comment) {
      const auto first = static_cast<size_t>(token.text.data() - a.text.data());
      a.comments.push_back({first, first + token.text.size()});
      continue;
    }
    a.tokens.push_back(token);
    if (token.kind == TokenKind::End) return;
  }
}

// The nodes of a list of positions, by the token that they stand at.
template <class AnyId>
void by_token(const Analysis& a, const std::vector<ir::LocId>& places,
              std::vector<std::pair<uint32_t, AnyId>>& list) {
  const auto& locs = a.facts.program.positions.locs;
  for (uint32_t i = 0; i < places.size(); ++i) {
    if (!places[i].valid()) continue;
    const ir::Loc& loc = locs[places[i].index()];
    if (loc.line == 0 || loc.file != 0) continue;
    if (const auto token = a.token_of({"", loc.line, loc.column, loc.length}))
      list.emplace_back(*token, AnyId{i});
  }
  std::ranges::sort(list, {},
                    [](const auto& row) { return std::pair(row.first, row.second.value); });
}

template <class AnyId>
std::vector<AnyId> found_in(const std::vector<std::pair<uint32_t, AnyId>>& list, uint32_t token) {
  std::vector<AnyId> ids;
  const auto first =
      std::ranges::lower_bound(list, token, {}, [](const auto& row) { return row.first; });
  for (auto it = first; it != list.end() && it->first == token; ++it) ids.push_back(it->second);
  return ids;
}

void learn(Analysis& a) {
  text::Parsed parsed =
      text::parse(a.text, a.file, {.read_module = text::modules_beside(a.file), .settings = {}});
  a.text_is_whole = !parsed.diagnostics.has_errors();
  a.diagnostics = std::move(parsed.diagnostics);
  a.diagnostics.append(
      check::check_and_learn(std::move(parsed.program), !a.text_is_whole, a.facts));
  a.diagnostics.sort();
  a.complete = !a.diagnostics.has_errors();
}

}  // namespace

std::unique_ptr<Analysis> analyse(std::string text, std::string file) {
  auto analysis = std::make_unique<Analysis>();
  Analysis& a = *analysis;
  a.text = std::move(text);
  a.file = std::move(file);
  a.lines = Lines(a.text);
  const StopScope limit(StopCondition::after(kLimit));
  try {
    if (a.text.size() <= kMaxIndexedBytes) {
      read_tokens(a);
      a.names = Names(a.tokens, a.text);
    }
    learn(a);
    if (a.tokens.empty()) return analysis;
    by_token(a, a.facts.program.positions.exprs, a.expr_tokens);
    by_token(a, a.facts.program.positions.stmts, a.stmt_tokens);
    by_token(a, a.facts.program.positions.locals, a.local_tokens);
  } catch (const Stopped&) {
    a.stopped = true;
    a.complete = false;
    a.tokens.clear();
    a.names = {};
    a.expr_tokens.clear();
    a.stmt_tokens.clear();
    a.local_tokens.clear();
  }
  return analysis;
}

Span Analysis::span_of(uint32_t token) const {
  const auto first = static_cast<size_t>(tokens[token].text.data() - text.data());
  return {first, first + tokens[token].text.size()};
}

uint32_t Analysis::token_from(size_t offset) const {
  const auto it = std::ranges::lower_bound(tokens, offset, {}, [&](const Token& token) {
    return static_cast<size_t>(token.text.data() - text.data()) + token.text.size();
  });
  return static_cast<uint32_t>(it - tokens.begin());
}

std::optional<uint32_t> Analysis::token_at(size_t offset) const {
  const uint32_t first = token_from(offset);
  std::optional<uint32_t> found;
  for (uint32_t i = first; i + 1 < tokens.size() && i < first + 2; ++i) {
    if (!span_of(i).holds(offset)) continue;
    if (!found || tokens[i].kind == TokenKind::Name || span_of(*found).last == offset) {
      if (found && tokens[*found].kind == TokenKind::Name) continue;
      found = i;
    }
  }
  return found;
}

std::optional<uint32_t> Analysis::token_of(const Position& position) const {
  const auto key = std::pair(position.line, position.column);
  const auto it = std::ranges::lower_bound(
      tokens, key, {}, [](const Token& token) { return std::pair(token.line, token.column); });
  if (it == tokens.end() || std::pair(it->line, it->column) != key) return std::nullopt;
  return static_cast<uint32_t>(it - tokens.begin());
}

bool Analysis::in_comment_or_string(size_t offset) const {
  const auto it = std::ranges::lower_bound(comments, offset, {}, &Span::last);
  if (it != comments.end() && it->first < offset) return true;
  if (tokens.empty()) return false;
  const uint32_t token = token_from(offset);
  return token + 1 < tokens.size() && tokens[token].kind == TokenKind::String &&
         span_of(token).first < offset && offset < span_of(token).last;
}

std::vector<ir::ExprId> Analysis::exprs_at(uint32_t token) const {
  return found_in(expr_tokens, token);
}
std::vector<ir::StmtId> Analysis::stmts_at(uint32_t token) const {
  return found_in(stmt_tokens, token);
}
std::vector<ir::LocalId> Analysis::locals_at(uint32_t token) const {
  return found_in(local_tokens, token);
}

}  // namespace vyre::lsp
