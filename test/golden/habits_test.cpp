// SPDX-License-Identifier: Apache-2.0
// What people write who come from other languages. A file habits/<language>_<what>.vyre starts with
// the one error that it gives: `// expect V020 7:9`, then `// fix: ...`, word for word. Further
// warnings are allowed. VYRE_REGEN=1 in the environment writes both lines anew: read them.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "golden/golden.hpp"

namespace vyre::golden {
namespace {

constexpr std::string_view kExpect = "// expect ";

std::filesystem::path path_of(const std::string& stem) {
  return golden_dir() / "habits" / (stem + ".vyre");
}

// The text without the two lines, as many lines long: places stay where they are.
std::string blanked(std::string text) {
  if (!text.starts_with(kExpect)) return "\n\n" + text;
  const size_t second = text.find('\n') + 1;
  return "\n\n" + text.substr(text.find('\n', second) + 1);
}

std::string header_of(const Diagnostic& error) {
  return fmt::format("{}{} {}:{}\n// fix: {}\n", kExpect, text_of(error.code), error.at.line,
                     error.at.column, error.fix);
}

class Habit : public testing::TestWithParam<std::string> {};

TEST_P(Habit, GivesOneErrorThatNamesTheWay) {
  const std::string text = read_file(path_of(GetParam()));
  const std::string source = blanked(text);
  const Judged judged = judge(source, GetParam());
  SCOPED_TRACE(describe(judged.diagnostics));
  std::vector<Diagnostic> errors;
  for (const Diagnostic& d : judged.diagnostics.list())
    if (info_of(d.code).severity == Severity::Error) errors.push_back(d);
  ASSERT_EQ(errors.size(), 1U);
  const std::string wanted = header_of(errors.front()) + source.substr(2);
  if (std::getenv("VYRE_REGEN") != nullptr) {
    std::ofstream(path_of(GetParam()), std::ios::binary) << wanted;
    return;
  }
  EXPECT_EQ(text, wanted);
}

INSTANTIATE_TEST_SUITE_P(Files, Habit,
                         testing::ValuesIn(stems_in(golden_dir() / "habits", ".vyre")),
                         [](const auto& file) { return file.param; });

TEST(Habits, AreManyAndFromSeveralLanguages) {
  const std::vector<std::string> stems = stems_in(golden_dir() / "habits", ".vyre");
  EXPECT_GE(stems.size(), 60U);
  for (const std::string_view language : {"c", "cuda", "opencl", "glsl", "hlsl", "wgsl", "python"})
    EXPECT_TRUE(std::ranges::any_of(stems, [&](const std::string& stem) {
      return stem.starts_with(fmt::format("{}_", language));
    })) << language;
}

}  // namespace
}  // namespace vyre::golden
