// SPDX-License-Identifier: Apache-2.0
// Which name stands for what, from the tokens alone: so it is there while a text is being written
// and does not parse. No name may hide one that is visible, which makes the rules few: a local is
// seen from the end of its declaration to the end of its block, what the program declares is seen
// everywhere, and a function sees constants, functions and its own names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lsp/lines.hpp"
#include "text/lexer.hpp"

namespace vyre::lsp {

struct Declaration {
  enum class Kind : uint8_t {
    Program,
    Const,
    Buffer,
    Fn,
    Let,
    Var,
    For,
    Param,
    Region,
    Struct,
    Static,  // a static parameter of a function, or of a program
    Module,  // a module, or what `use` brings in
  };
  Kind kind = Kind::Let;
  uint32_t token = 0;  // of its name
  std::string_view name;
  Span visible;         // where it may be used
  uint32_t fn = kNone;  // the function that it belongs to, a Declaration; kNone: the program
  uint32_t depth = 0;   // of blocks around it
  static constexpr uint32_t kNone = UINT32_MAX;
};

struct Use {
  uint32_t token = 0;
  uint32_t declaration = 0;
};

// Where the names of a function are visible: its parameters and its body.
struct Body {
  uint32_t fn = Declaration::kNone;
  Span span;
};

class Names {
 public:
  Names() = default;
  // The tokens without comments, with the last one (End).
  explicit Names(const std::vector<text::Token>& tokens, std::string_view source);

  std::vector<Declaration> declarations;  // in the order of the text, but locals after their value
  std::vector<Use> uses;                  // by token; a declaration is a use of itself
  std::vector<Body> functions;

  // What the token stands for.
  [[nodiscard]] std::optional<uint32_t> declared_by(uint32_t token) const;
  // All that may be written at the place: nothing hides anything, so each name stands once.
  [[nodiscard]] std::vector<uint32_t> visible_at(size_t offset) const;
  // The function around the place.
  [[nodiscard]] uint32_t function_at(size_t offset) const;
};

// True for kinds of declarations that a function sees wherever they are.
bool is_seen_by_functions(Declaration::Kind kind);

}  // namespace vyre::lsp
