// SPDX-License-Identifier: Apache-2.0
// The words of the language with what they do, in a line or two: for hover and completion.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vyre::lsp {

struct Word {
  enum class Kind : uint8_t { Keyword, Type, Function, Value, Attribute };
  std::string_view name;
  Kind kind = Kind::Keyword;
  std::string_view form;  // how it is written
  std::string_view text;
};

std::span<const Word> all_words();
// Nothing for a word that the table does not have.
const Word* word(std::string_view name, bool attribute = false);

}  // namespace vyre::lsp
