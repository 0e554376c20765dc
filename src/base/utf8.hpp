// SPDX-License-Identifier: Apache-2.0
// Reading UTF-8 that may be broken, and how wide its characters are on a terminal.
// Every function accepts any bytes; a byte that is no part of a valid sequence counts as one code
// point of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vyre::base {

inline constexpr char32_t kReplacement = 0xFFFD;

struct CodePoint {
  char32_t value = kReplacement;  // kReplacement for an invalid byte
  size_t bytes = 1;
};

// The code point that starts at `offset`, which must be inside the text.
CodePoint code_point_at(std::string_view text, size_t offset);

// The start of the code point before `offset` (0 < offset <= size).
size_t previous_code_point(std::string_view text, size_t offset);

void append_utf8(std::string& out, char32_t value);

// Terminal columns: 0 for combining marks, 2 for wide East Asian characters and emoji, else 1.
size_t display_width(char32_t value);

// What may be sent to a terminal in place of `value`: the replacement character for control and
// bidirectional formatting characters, which could hide or rewrite what is shown.
char32_t printable(char32_t value);

// The whole text made printable, line feeds and tabs kept; valid UTF-8.
std::string printable_text(std::string_view text);

}  // namespace vyre::base
