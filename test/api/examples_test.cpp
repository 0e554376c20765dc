// SPDX-License-Identifier: Apache-2.0
// Runs every program of examples/cpp and examples/c and holds what it prints against the lines
// after `// Prints:` in its source. There `...` stands for any text, and alone on a line for any
// lines.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace vyre::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> source_lines(const fs::path& path) {
  std::ifstream file(path);
  return lines_of(file);
}

bool is_cpp(const fs::path& source) {
  return source.extension() == ".cpp";
}
// "hello" of examples/cpp/hello.cpp, "c_hello" of examples/c/hello.c
std::string name_of(const fs::path& source) {
  return (is_cpp(source) ? "" : "c_") + source.stem().string();
}

std::vector<fs::path> examples() {
  std::vector<fs::path> paths;
  for (const char* folder : {"cpp", "c"})
    for (const auto& entry :
         fs::directory_iterator(fs::path(VYRE_SOURCE_DIR) / "examples" / folder))
      if (is_cpp(entry.path()) || entry.path().extension() == ".c") paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

std::vector<std::string> expected_lines(const std::vector<std::string>& source) {
  constexpr std::string_view kIndent = "//   ";
  std::vector<std::string> lines;
  auto at = std::ranges::find(source, "// Prints:");
  for (at = at == source.end() ? at : at + 1; at != source.end() && at->starts_with(kIndent); ++at)
    lines.push_back(at->substr(kIndent.size()));
  return lines;
}

// `pattern` with `...` for any text.
bool matches(std::string_view text, std::string_view pattern) {
  const size_t gap = pattern.find("...");
  if (gap == std::string_view::npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, gap))) return false;
  const std::string_view rest = pattern.substr(gap + 3);
  for (size_t i = gap; i <= text.size(); ++i)
    if (matches(text.substr(i), rest)) return true;
  return false;
}

bool matches(std::span<const std::string> lines, std::span<const std::string> patterns) {
  if (patterns.empty()) return lines.empty();
  if (patterns[0] == "...") {
    for (size_t i = 0; i <= lines.size(); ++i)
      if (matches(lines.subspan(i), patterns.subspan(1))) return true;
    return false;
  }
  return !lines.empty() && matches(lines[0], patterns[0]) &&
         matches(lines.subspan(1), patterns.subspan(1));
}

struct Ran {
  int status = -1;
  std::string text;
};
Ran run(const std::string& command) {
  Ran ran;
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> chunk{};
  while (const size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe))
    ran.text.append(chunk.data(), got);
  ran.status = ::pclose(pipe);
  return ran;
}

TEST(Examples, LinesWithGaps) {
  const std::vector<std::string> text = {"a", "b 1 c", "d"};
  EXPECT_TRUE(matches(text, std::vector<std::string>{"a", "b ... c", "d"}));
  EXPECT_TRUE(matches(text, std::vector<std::string>{"...", "d"}));
  EXPECT_TRUE(matches(text, std::vector<std::string>{"a", "...", "b...", "...", "d"}));
  EXPECT_FALSE(matches(text, std::vector<std::string>{"a", "b ... d", "d"}));
  EXPECT_FALSE(matches(text, std::vector<std::string>{"a", "...", "c"}));
  EXPECT_FALSE(matches(text, std::vector<std::string>{"a"}));
}

TEST(Examples, ThereAreSome) {
  EXPECT_GE(examples().size(), 13U);
}

TEST(Examples, AreShort) {
  for (const fs::path& path : examples())
    EXPECT_LT(source_lines(path).size(), 120U) << path.filename();
}

class Example : public testing::TestWithParam<fs::path> {};

TEST_P(Example, PrintsWhatItSays) {
  const std::vector<std::string> expected = expected_lines(source_lines(GetParam()));
  ASSERT_FALSE(expected.empty()) << "say after `// Prints:` what it prints";
  const fs::path folder = is_cpp(GetParam()) ? VYRE_EXAMPLES_DIR : VYRE_C_EXAMPLES_DIR;
  const Ran ran = run(folder / ("example_" + name_of(GetParam())));
  EXPECT_EQ(ran.status, 0) << ran.text;
  std::istringstream text(ran.text);
  EXPECT_TRUE(matches(lines_of(text), expected)) << "it prints:\n" << ran.text;
}

INSTANTIATE_TEST_SUITE_P(Cpp, Example, testing::ValuesIn(examples()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace vyre::test
