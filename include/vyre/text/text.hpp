// SPDX-License-Identifier: Apache-2.0
// The text form: reading, writing and laying out `.vyre` files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "vyre/base/diagnostic.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::text {

inline constexpr size_t kMaxTextBytes = size_t{16} << 20;

// What could be read of a text. With errors the program is partial: Poison stands for expressions
// that were not read or not understood, statements may be missing, and a `fixpoint` may watch
// nothing. All ids in it are valid or absent where they may be. It is fit for the checker, which
// then reports more, and for nothing else; what looks unused or unpaired in it may have had its
// partner in the missing part.
struct Parsed {
  ir::Program program;
  Diagnostics diagnostics;
};
// Reports V001 to V014, the names (V020, V022 to V024, V026), V034, and where the IR cannot hold
// the mistake V045, V052, V061 and V063. Diagnostics are sorted by position.
Parsed parse(std::string_view source, std::string_view file);

// The canonical text of a program; parse(print(p)) == p. The program must be free of Poison.
std::string print(const ir::Program& program);

// One expression or statement, as print() would write it; for diagnostics and plans.
std::string print_expr(const ir::Program& program, ir::ExprId expr);

// The same text in canonical layout: comments, spelling of numbers, parentheses and single blank
// lines stay. Needs a text without syntax errors (V001 to V011, V061); otherwise there is no text
// and only those are in the diagnostics. Names and types do not matter.
struct Formatted {
  std::optional<std::string> text;
  Diagnostics diagnostics;
};
Formatted format(std::string_view source, std::string_view file);

// The program as a JSON document (every field, readable names), for other tools.
std::string to_json(const ir::Program& program);

}  // namespace vyre::text
