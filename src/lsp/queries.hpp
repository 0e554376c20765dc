// SPDX-License-Identifier: Apache-2.0
// What an editor asks about a text. Places are byte offsets; nothing here knows of the protocol.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "lsp/document.hpp"

namespace vyre::lsp {

// ---- hover.cpp
struct Hover {
  std::string markdown;
  Span span;
};
std::optional<Hover> hover(const Analysis& a, size_t offset);
// "let i : u32", "in a : f32[]", "fn f(x : u32) -> u32": a declaration in one line.
std::string signature_of(const Analysis& a, uint32_t declaration);

// ---- navigate.cpp
std::optional<Span> definition(const Analysis& a, size_t offset);
// Every place of the name at the offset; the declaration too, if it is wanted.
std::vector<Span> references(const Analysis& a, size_t offset, bool with_declaration);
// What can be renamed here: the name.
std::optional<Span> renamable(const Analysis& a, size_t offset);
// The edits, or why there are none. They keep the program what it is: the new text has the same
// program, but for the name.
std::expected<std::vector<Edit>, std::string> rename(const Analysis& a, size_t offset,
                                                     const std::string& name);

struct Symbol {
  Declaration::Kind kind = Declaration::Kind::Fn;
  std::string name;
  std::string detail;
  Span name_span;
};
// Outline: what the program declares, its regions and functions.
std::vector<Symbol> symbols(const Analysis& a);

// ---- complete.cpp
struct Completion {
  enum class Kind : uint8_t { Local, Constant, Buffer, Function, Type, Keyword, Builtin, Field };
  Kind kind = Kind::Local;
  std::string label;
  std::string detail;
  std::string markdown;
};
std::vector<Completion> complete(const Analysis& a, size_t offset);

// ---- actions.cpp
struct Action {
  std::string title;
  std::vector<Edit> edits;
  size_t diagnostic = 0;  // which of the list it mends
};
// Edits that do what a "Fix:" says. Each was tried: its diagnostic goes, and none comes.
std::vector<Action> actions(const Analysis& a, Span range);

// ---- hints.cpp
struct Hint {
  size_t offset = 0;
  std::string label;
  std::string tooltip;
};
// The level of uniformity of every local, behind its name.
std::vector<Hint> hints(const Analysis& a, Span range);
// "the same in the whole grid"
std::string_view meaning_of(check::Level level);

}  // namespace vyre::lsp
