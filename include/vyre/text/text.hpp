// SPDX-License-Identifier: Apache-2.0
// The text form: reading, writing and laying out `.vyre` files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/diagnostic.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::text {

inline constexpr size_t kMaxTextBytes = size_t{16} << 20;

// What `use "path";` names. `path` is relative to the folder of the main file, with `/` between its
// parts, and has no `.` or `..` in it.
struct ModuleText {
  // Outside: the path leads out of the folder of the main file, as a link does.
  enum class Status : uint8_t { Found, Missing, Outside };
  Status status = Status::Missing;
  std::string text;
};
using ModuleReader = std::function<ModuleText(std::string_view path)>;
// Reads files below `folder` ("" is the current one). Nothing is read until a text uses a file.
ModuleReader modules_in(std::string_view folder);
// The reader for a text that comes from this file; none for "<stdin>" and the like.
ModuleReader modules_beside(std::string_view file);

// A value for a static parameter or a constant of the program, or for a `tune const` of a module it
// uses: {"K", "f32"}, {"Size", "512"}, {"tile.Items", "8"}.
struct Setting {
  std::string name;
  std::string value;
};

struct ParseOptions {
  ModuleReader read_module;  // without one, only built-in modules can be used
  std::vector<Setting> settings;
};

// A file that a text uses, for the lines that diagnostics show.
struct ModuleSource {
  std::string file;
  std::string text;
};

// What could be read of a text. With errors the program is partial: Poison stands for expressions
// that were not read or not understood, statements may be missing, and a `fixpoint` may watch
// nothing. All ids in it are valid or absent where they may be. It is fit for the checker, which
// then reports more, and for nothing else; what looks unused or unpaired in it may have had its
// partner in the missing part.
struct Parsed {
  ir::Program program;
  Diagnostics diagnostics;
  std::vector<ModuleSource> modules;
};
// Reports V001 to V014, the names (V020, V022 to V024, V026), V034, and where the IR cannot hold
// the mistake V045, V052, V061 and V063. Diagnostics are sorted by position.
// Modules, generic functions, structs and lambdas are expanded on the way, with V100 to V119; the
// program has none of them, and its positions say what they were expanded for.
Parsed parse(std::string_view source, std::string_view file);
Parsed parse(std::string_view source, std::string_view file, const ParseOptions& options);

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
