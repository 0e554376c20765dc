// SPDX-License-Identifier: Apache-2.0
// Every word that means something in a program, taken from the tables of the language, so that what
// lists words elsewhere (the guide, the editor grammar) can be compared with them.
#pragma once

#include <string>
#include <vector>

namespace vyre::golden {

// Keywords, types, built-in values and functions, atomics, subgroup operations, collectives.
std::vector<std::string> reserved_words();
// Words with a meaning in one place only: attributes and their arguments, memory orders,
// reductions.
std::vector<std::string> words_in_place();
// Both.
std::vector<std::string> words_of_the_language();

}  // namespace vyre::golden
