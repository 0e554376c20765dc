// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of the text stage: diagnostics as short lines, programs around snippets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "vyre/text/text.hpp"

namespace vyre::text {

// "V001 3:7 expected ..." for each diagnostic, in order.
inline std::vector<std::string> lines_of(const Diagnostics& diagnostics) {
  std::vector<std::string> lines;
  for (const Diagnostic& d : diagnostics.list())
    lines.push_back(fmt::format("{} {}:{} {}", text_of(d.code), d.at.line, d.at.column, d.message));
  return lines;
}

inline std::vector<std::string> errors_of(std::string_view source) {
  return lines_of(parse(source, "test.vyre").diagnostics);
}

// Only code and position.
inline std::vector<std::string> places_of(std::string_view source) {
  std::vector<std::string> places;
  const Parsed parsed = parse(source, "test.vyre");
  for (const Diagnostic& d : parsed.diagnostics.list())
    places.push_back(fmt::format("{} {}:{}", text_of(d.code), d.at.line, d.at.column));
  return places;
}

// A program with some declarations and the given statements from line 2 on; the prologue stays on
// line 1.
inline std::string around(std::string_view statements) {
  return fmt::format(
      "program p {{ workgroup 64; in a : u32[]; inout b : f32[]; shared s : u32[8]; "
      "const N : u32 = 4; const T : u32[] = {{ 1, 2 }}; "
      "fn f(x : u32, m : buffer u32[]) -> u32 {{ return x; }} fn g() {{ }}\n{}\n}}\n",
      statements);
}

}  // namespace vyre::text
