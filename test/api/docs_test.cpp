// SPDX-License-Identifier: Apache-2.0
// Every block of C++ in the guide and the README stands, line for line, in a file that is compiled:
// a program of examples/cpp or snippets_test.cpp; every block of the guide to the C interface in
// one of examples/c, examples/ctypes or examples/rust. Indentation does not count.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "vyre/vyre.hpp"

namespace vyre::test {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

std::string trimmed(const std::string& line) {
  const size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : line.substr(first, line.find_last_not_of(' ') + 1 - first);
}

Lines lines_of(const fs::path& path) {
  Lines lines;
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  for (std::string line; std::getline(file, line);) lines.push_back(trimmed(line));
  return lines;
}

struct Block {
  size_t line = 0;
  Lines lines;
};
const std::vector<std::string> kFences = {"```cpp", "```c", "```python", "```rust"};

std::vector<Block> code_blocks(const fs::path& page) {
  std::vector<Block> blocks;
  bool inside = false;
  const Lines lines = lines_of(page);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (inside && lines[i] == "```") {
      inside = false;
    } else if (inside) {
      // The includes of a page need not be those of the file.
      if (!lines[i].starts_with("#include") && lines[i] != "using namespace vyre;")
        blocks.back().lines.push_back(lines[i]);
    } else if (std::ranges::find(kFences, lines[i]) != kFences.end()) {
      inside = true;
      blocks.push_back({i + 1, {}});
    }
  }
  for (Block& block : blocks)
    while (!block.lines.empty() && block.lines.front().empty())
      block.lines.erase(block.lines.begin());
  return blocks;
}

std::vector<Lines> compiled_files() {
  const fs::path root = VYRE_SOURCE_DIR;
  std::vector<Lines> files = {lines_of(root / "test/api/snippets_test.cpp")};
  for (const char* folder : {"cpp", "c", "ctypes", "rust"})
    for (const auto& entry : fs::directory_iterator(root / "examples" / folder))
      if (entry.path().extension() != ".txt") files.push_back(lines_of(entry.path()));
  return files;
}

class Page : public testing::TestWithParam<const char*> {};

TEST_P(Page, HasOnlyCodeThatIsCompiled) {
  const std::vector<Lines> files = compiled_files();
  const std::vector<Block> blocks = code_blocks(fs::path(VYRE_SOURCE_DIR) / GetParam());
  EXPECT_FALSE(blocks.empty());
  for (const Block& block : blocks) {
    EXPECT_FALSE(block.lines.empty());
    const bool found = std::ranges::any_of(
        files, [&](const Lines& file) { return !std::ranges::search(file, block.lines).empty(); });
    EXPECT_TRUE(found) << GetParam() << ":" << block.line
                       << ": these lines are in no file that is compiled. Fix: take them from "
                          "examples or put them into test/api/snippets_test.cpp";
  }
}

INSTANTIATE_TEST_SUITE_P(Docs, Page, testing::Values("README.md", "docs/driver.md", "docs/c.md"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '/' || c == '.'; }, '_');
                           return name;
                         });

// The guide to the C interface names every function of the header.
TEST(Docs, EveryFunctionOfTheHeader) {
  const auto text_of = [](const Lines& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  };
  const fs::path root = VYRE_SOURCE_DIR;
  const std::string page = text_of(lines_of(root / "docs/c.md"));
  size_t functions = 0;
  for (const std::string& line : lines_of(root / "include/vyre/vyre.h")) {
    if (!line.starts_with("VYRE_API ")) continue;
    const size_t end = line.find('(');
    const size_t begin = line.find_last_of(" *", end) + 1;
    const std::string name = line.substr(begin, end - begin);
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
    ++functions;
  }
  EXPECT_GE(functions, 62U);
#define VYRE_ROW(type, name) EXPECT_NE(page.find("`" #name "`"), std::string::npos) << #name;
  VYRE_CONFIG_FIELDS(VYRE_ROW)
#undef VYRE_ROW
}

// The guide names every field of the config and every error code.
TEST(Docs, ConfigAndErrorsAreComplete) {
  const Lines lines = lines_of(fs::path(VYRE_SOURCE_DIR) / "docs/driver.md");
  const auto has_row = [&](const std::string& start) {
    return std::ranges::any_of(lines, [&](const std::string& l) { return l.starts_with(start); });
  };
#define VYRE_ROW(type, name) EXPECT_TRUE(has_row("| `" #name "` |")) << #name;
  VYRE_CONFIG_FIELDS(VYRE_ROW)
#undef VYRE_ROW
  for (int code = 1001; code <= 1017; ++code) {
    const std::string row = "| " + std::to_string(code) + " `" +
                            std::string(name_of(static_cast<ErrorCode>(code))) + "` |";
    EXPECT_TRUE(has_row(row)) << row;
  }
}

}  // namespace
}  // namespace vyre::test
