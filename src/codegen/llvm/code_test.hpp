// SPDX-License-Identifier: Apache-2.0
// For tests of the code generator: programs as text, code as text.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/llvm/cpu/kernel.hpp"
#include "codegen/llvm/cpu/target.hpp"
#include "codegen/llvm/machine_code.hpp"
#include "vyre/text/text.hpp"

namespace vyre::codegen {

// A valid program, or a failed test.
inline check::CheckedProgram checked_program(std::string_view source) {
  text::Parsed parsed = text::parse(source, "test.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors())
      << render_text(parsed.diagnostics, {{"test.vyre", source}});
  auto checked = check::check_valid(std::move(parsed.program));
  EXPECT_TRUE(checked.has_value()) << (checked ? "" : to_string(checked.error()));
  return checked ? std::move(*checked) : check::CheckedProgram{};
}

// As the CPU device plans it.
inline plan::Plan plan_of(std::string_view source, bool checked = false) {
  auto plan = plan::make_plan(checked_program(source),
                              {.variant = {.route = plan::Route::Resident}, .checked = checked});
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : to_string(plan.error()));
  return plan ? std::move(*plan) : plan::Plan{};
}

inline std::string text_of_code(const Result<std::vector<std::byte>>& code) {
  EXPECT_TRUE(code.has_value()) << (code ? "" : to_string(code.error()));
  if (!code) return {};
  return {reinterpret_cast<const char*>(code->data()), code->size()};
}

inline std::string ir_of(std::string_view source, bool checked = false) {
  return text_of_code(host_code(plan_of(source, checked), checked, HostListing::Llvm));
}

// For a processor that every test machine agrees on: the level "x86-64-v3" has 256-bit vectors and
// fused multiplications, "x86-64-v4" vectors of 512 bits.
inline std::string assembly_of(std::string_view source, const char* level = "x86-64-v3",
                               const HostTarget& target = {}) {
  const plan::Plan plan = plan_of(source);
  Machine machine;
  machine.triple = "x86_64-unknown-linux-gnu";
  machine.cpu = level;
  machine.half_conversions = true;
  machine.wide_vectors = std::string_view(level) == "x86-64-v4";
  return text_of_code(make_code(machine, Output::Assembly, [&](llvm::Module& module) {
    for (uint32_t i = 0; i < plan.segments.size(); ++i) {
      const auto phases = Phases::make(plan.segments[i].program, false);
      if (!phases) return Result<void>(std::unexpected(phases.error()));
      emit_kernel(module, {plan.segments[i], *phases, {}, i}, target);
    }
    return Result<void>();
  }));
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

inline std::string example(std::string_view name) {
  return read_text(std::filesystem::path(VYRE_SOURCE_DIR) / "examples" /
                   (std::string(name) + ".vyre"));
}

inline std::vector<std::filesystem::path> programs_in(std::string_view folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(VYRE_SOURCE_DIR) / folder))
    if (entry.path().extension() == ".vyre") paths.push_back(entry.path());
  EXPECT_FALSE(paths.empty()) << folder;
  return paths;
}

}  // namespace vyre::codegen
