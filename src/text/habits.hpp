// SPDX-License-Identifier: Apache-2.0
// What people write who come from C, C++, CUDA, OpenCL, GLSL, HLSL, WGSL, Metal, Rust or Python,
// and how Vyre says it. Only advice: a text that Vyre accepts means the same with and without these
// tables, and a name that a program declares is never taken for one of another language.
#pragma once

#include <span>
#include <string_view>

#include "text/lexer.hpp"

namespace vyre::text {

// What to write instead of a name that no program declares; empty for a name that is in no table.
std::string_view habit_of_name(std::string_view name);

// Names that stand beside the name in one idiom (`blockIdx.x * blockDim.x + threadIdx.x`), which is
// one mistake.
std::span<const std::string_view> idiom_of_habit(std::string_view name);

// The type of Vyre that a type of another language is ("f32" for `float`); empty for none.
std::string_view type_of_habit(std::string_view name);
// Whether a declaration may begin with the word in another language: a type, or one like `auto`.
bool declares_in_habit(std::string_view word);

// What to write instead of a statement or an item that begins with the word; empty: none is known.
std::string_view statement_of_habit(std::string_view word);

// What to write instead of an operator that is a word (`and`); empty for other words.
std::string_view operator_of_habit(std::string_view word);

// The tokens around the one that does not fit. What to write instead of what they are in another
// language; empty: they are nothing known.
std::string_view syntax_of_habit(const Token& before, const Token& token, const Token& after);

// What to write instead of a character that no token begins with; empty: none is known.
std::string_view character_of_habit(char character);

// "u32" for the `u` in `1u`, by the letters after a number; empty: none is known.
std::string_view suffix_of_habit(std::string_view suffix, bool decimal);

}  // namespace vyre::text
