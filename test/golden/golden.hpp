// SPDX-License-Identifier: Apache-2.0
// What the golden tests share: reading the files beside them, and judging a text exactly as
// `vyre check` does.
#pragma once

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/check/check.hpp"

namespace vyre::golden {

std::filesystem::path source_dir();
std::filesystem::path golden_dir();

std::string read_file(const std::filesystem::path& path);
// File names without folder and extension, sorted.
std::vector<std::string> stems_in(const std::filesystem::path& folder, std::string_view extension);

struct Judged {
  Diagnostics diagnostics;                       // of the parser and the checker, sorted
  std::optional<check::CheckedProgram> checked;  // only without errors
};
Judged judge(std::string text, const std::string& name);

// One line per diagnostic, with its notes, for the messages of failing tests.
std::string describe(const Diagnostics& diagnostics);

// A fenced block of a Markdown page: the word after the fence, the text, the line of its first
// line.
struct Fence {
  std::string language;
  std::string text;
  size_t line = 0;
  std::string section;  // the heading above it, without the `#`s

  friend std::ostream& operator<<(std::ostream& out, const Fence& fence) {
    return out << "line " << fence.line;
  }
};
std::vector<Fence> fences_of(std::string_view markdown);

}  // namespace vyre::golden
