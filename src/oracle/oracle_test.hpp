// SPDX-License-Identifier: Apache-2.0
// Running a program given as text, for tests.
#pragma once

#include <cstring>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "vyre/oracle/oracle.hpp"
#include "vyre/text/text.hpp"

namespace vyre::oracle {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes data(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
Bytes data(std::initializer_list<T> values) {
  return data(std::vector<T>(values));
}
inline Bytes words(std::initializer_list<uint32_t> values) {
  return data(std::vector<uint32_t>(values));
}

using Inputs = std::vector<std::pair<std::string, Bytes>>;  // by name

inline check::CheckedProgram checked_program(std::string_view text) {
  text::Parsed parsed = text::parse(text, "test.vyre");
  check::Checked checked = check::check(std::move(parsed.program), parsed.diagnostics.has_errors());
  parsed.diagnostics.append(std::move(checked.diagnostics));
  EXPECT_FALSE(parsed.diagnostics.has_errors())
      << render_text(parsed.diagnostics, {{"test.vyre", text}}, {});
  return std::move(checked.program).value();
}

inline void PrintTo(const Options& options, std::ostream* os) {
  *os << name_of(options.schedule) << " " << options.seed << ", subgroups of "
      << options.subgroup_size;
}

// A program, what goes in, and what came out.
class Ran {
 public:
  Ran(std::string_view text, const Inputs& inputs, const Options& options = {})
      : checked(checked_program(text)) {
    std::vector<Bytes> slots;
    for (size_t i = 0; i < checked.program.buffers.size(); ++i) {
      const auto slot = checked.buffers[i].input_slot;
      if (!slot) continue;
      if (slots.size() <= *slot) slots.resize(*slot + 1);
      for (const auto& [name, bytes] : inputs)
        if (name == checked.program.buffers[i].name) slots[*slot] = bytes;
    }
    const std::vector<std::span<const std::byte>> views(slots.begin(), slots.end());
    result = run(checked, views, options);
  }

  [[nodiscard]] bool ok() const { return result.has_value(); }
  [[nodiscard]] std::string error() const { return result ? "" : to_string(result.error()); }
  [[nodiscard]] const Outcome& outcome() const { return *result; }

  template <class T = uint32_t>
  [[nodiscard]] std::vector<T> get(std::string_view name) const {
    EXPECT_TRUE(result.has_value()) << error();
    if (!result) return {};
    for (size_t i = 0; i < checked.program.buffers.size(); ++i) {
      if (checked.program.buffers[i].name != name) continue;
      const Bytes& bytes = result->buffers[i];
      std::vector<T> values(bytes.size() / sizeof(T));
      if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
      return values;
    }
    ADD_FAILURE() << "no buffer " << name;
    return {};
  }

  check::CheckedProgram checked;
  Result<Outcome> result = std::unexpected(Error{});
};

// `statements` for every lane of a grid of `lanes` lanes in workgroups of `group`.
inline std::string grid_program(std::string_view buffers, std::string_view statements,
                                uint32_t lanes, uint32_t group) {
  return "program test {\n  workgroup " + std::to_string(group) + ";\n  over " +
         std::to_string(lanes) + ";\n" + std::string(buffers) + "\n" + std::string(statements) +
         "\n}\n";
}

inline std::vector<Options> all_schedules() {
  std::vector<Options> all;
  for (const uint32_t size : {1U, 4U, 32U}) {
    all.push_back({.schedule = Schedule::Forward, .subgroup_size = size});
    all.push_back({.schedule = Schedule::Reversed, .subgroup_size = size});
    for (uint64_t seed = 1; seed <= 3; ++seed)
      all.push_back({.schedule = Schedule::Random, .seed = seed, .subgroup_size = size});
  }
  return all;
}

}  // namespace vyre::oracle
