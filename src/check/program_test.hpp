// SPDX-License-Identifier: Apache-2.0
// For tests of the checker: programs as text, diagnostics as short strings.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "vyre/check/check.hpp"
#include "vyre/text/text.hpp"

namespace vyre::check {

// "V070@5:3 V030@7:12": all diagnostics of parser and checker, in order.
inline std::string diagnose(std::string_view source) {
  text::Parsed parsed = text::parse(source, "test.vyre");
  const bool broken = parsed.diagnostics.has_errors();
  Diagnostics all = std::move(parsed.diagnostics);
  all.append(check(std::move(parsed.program), broken).diagnostics);
  all.sort();
  std::string out;
  for (const Diagnostic& d : all.list()) {
    if (!out.empty()) out += ' ';
    out += std::string(text_of(d.code)) + '@' + std::to_string(d.at.line) + ':' +
           std::to_string(d.at.column);
  }
  return out;
}

// The codes alone: "V070 V030".
inline std::string codes(std::string_view source) {
  std::string out;
  const std::string all = diagnose(source);
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t end = all.find('@', i);
    out += (out.empty() ? "" : " ") + all.substr(i, end - i);
    i = all.find(' ', end);
    if (i == std::string::npos) break;
  }
  return out;
}

// A valid program, or a failed test.
inline CheckedProgram checked(std::string_view source) {
  text::Parsed parsed = text::parse(source, "test.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors())
      << render_text(parsed.diagnostics, {{"test.vyre", source}});
  Checked result = check(std::move(parsed.program));
  EXPECT_TRUE(result.program.has_value())
      << render_text(result.diagnostics, {{"test.vyre", source}});
  return result.program ? std::move(*result.program) : CheckedProgram{};
}

// Statements in a program with one buffer of each useful kind.
inline std::string in_program(std::string_view statements, std::string_view items = "") {
  return std::string(
             "program t {\n  workgroup 64;\n  over len(data);\n  in data : u32[];\n  in reals : "
             "f32[];\n  uniform u : u32[4];\n"
             "  inout work : u32[];\n  inout fwork : f32[];\n  inout wide : u64[];\n  inout iwork "
             ": i32[];\n  out result : u32[] @count(len(data));\n"
             "  writeonly sink : u32[64];\n  shared tile : u32[64];\n  persistent kept : "
             "u32[];\n") +
         std::string(items) + "\n" + std::string(statements) + "\n}\n";
}

// Codes of errors only: what in_program() leaves unused does not matter.
inline std::string errors(std::string_view source) {
  std::string out;
  const std::string all = codes(source);
  for (size_t i = 0; i < all.size(); i += 5)
    if (all.substr(i, 4) < "V090") out += (out.empty() ? "" : " ") + all.substr(i, 4);
  return out;
}

inline ir::LocalId local_named(const ir::Program& p, std::string_view name) {
  for (uint32_t i = 0; i < p.locals.size(); ++i)
    if (p.locals[i].name == name) return ir::LocalId{i};
  ADD_FAILURE() << "no local " << name;
  return {};
}

}  // namespace vyre::check
