// SPDX-License-Identifier: Apache-2.0
// A text that is open in an editor, with all that is known of it: tokens, names, diagnostics and
// what the checker learnt. A plain value made anew from each version of the text; the questions of
// an editor (queries.hpp) are functions of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsp/lines.hpp"
#include "lsp/names.hpp"
#include "text/lexer.hpp"
#include "vyre/base/diagnostic.hpp"
#include "vyre/check/check.hpp"

namespace vyre::lsp {

// Texts over this size have diagnostics and layout, but no names: tokens of a hostile text take
// many times its size.
inline constexpr size_t kMaxIndexedBytes = size_t{4} << 20;

// Views into `text`, so it stays where it is made.
struct Analysis {
  std::string file;  // its path, as diagnostics name it; "<name>" if it has none
  std::string text;
  Lines lines;
  std::vector<text::Token> tokens;  // without comments; the last one is the end
  std::vector<Span> comments;
  Names names;
  Diagnostics diagnostics;
  check::CheckedProgram facts;
  bool text_is_whole = false;  // parsed without an error
  bool complete = false;       // no errors: all facts hold
  bool stopped = false;        // it took too long, and diagnostics are missing

  Analysis() = default;
  Analysis(const Analysis&) = delete;
  Analysis& operator=(const Analysis&) = delete;

  [[nodiscard]] Span span_of(uint32_t token) const;
  // The token that the place is in or at the end of; names first.
  [[nodiscard]] std::optional<uint32_t> token_at(size_t offset) const;
  // The first token that does not end before the place.
  [[nodiscard]] uint32_t token_from(size_t offset) const;
  // The token at a line and column of a diagnostic.
  [[nodiscard]] std::optional<uint32_t> token_of(const Position& position) const;
  [[nodiscard]] bool in_comment_or_string(size_t offset) const;

  // What of the program stands at the token.
  [[nodiscard]] std::vector<ir::ExprId> exprs_at(uint32_t token) const;
  [[nodiscard]] std::vector<ir::StmtId> stmts_at(uint32_t token) const;
  [[nodiscard]] std::vector<ir::LocalId> locals_at(uint32_t token) const;

  // By token, sorted; filled by analyse().
  std::vector<std::pair<uint32_t, ir::ExprId>> expr_tokens;
  std::vector<std::pair<uint32_t, ir::StmtId>> stmt_tokens;
  std::vector<std::pair<uint32_t, ir::LocalId>> local_tokens;
};

// Never fails: a text that is wrong has diagnostics. `file`: its path, beside which the files lie
// that it uses; "<name>" for a text that is no file.
std::unique_ptr<Analysis> analyse(std::string text, std::string file);

}  // namespace vyre::lsp
