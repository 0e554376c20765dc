// SPDX-License-Identifier: Apache-2.0
// The explain pages: every code has one, its title is that of the table, its wrong program gives
// the code and nothing else, its right program gives nothing at all.
#include <algorithm>

#include <gtest/gtest.h>

#include "golden/golden.hpp"
#include "golden/planted.hpp"

namespace vyre::golden {
namespace {

std::string page_of(Code code) {
  return read_file(source_dir() / "docs" / "explain" / (std::string(text_of(code)) + ".md"));
}

const Fence* fence_in(const std::vector<Fence>& fences, std::string_view section) {
  const auto it = std::find_if(fences.begin(), fences.end(),
                               [&](const Fence& f) { return f.section == section; });
  return it == fences.end() ? nullptr : &*it;
}

// Layout does not count.
std::string words(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space)
      result += c;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

// The lines of planted.cpp between `// page V088 wrong` and `// end`.
std::string compiled_snippet(Code code, bool right) {
  static const std::string source = read_file(golden_dir() / "planted.cpp");
  const std::string mark =
      "// page " + std::string(text_of(code)) + (right ? " right\n" : " wrong\n");
  const size_t first = source.find(mark);
  if (first == std::string::npos) return "";
  const size_t start = first + mark.size();
  return source.substr(start, source.find("// end\n", start) - start);
}

class Page : public testing::TestWithParam<CodeInfo> {
 protected:
  void expect_code(const Diagnostics& found) const {
    SCOPED_TRACE(describe(found));
    EXPECT_FALSE(found.list().empty());
    for (const Diagnostic& d : found.list()) EXPECT_EQ(text_of(d.code), text_of(GetParam().code));
  }

  void check_block(const Fence& fence, bool right) const {
    if (fence.language == "vyre") {
      const Judged judged = judge(fence.text, "page");
      if (right)
        EXPECT_TRUE(judged.diagnostics.list().empty()) << describe(judged.diagnostics);
      else
        expect_code(judged.diagnostics);
    } else if (fence.language == "cpp") {
      EXPECT_EQ(words(fence.text), words(compiled_snippet(GetParam().code, right)));
      const auto snippets = page_snippets();
      const auto it = std::find_if(snippets.begin(), snippets.end(), [&](const PageSnippet& s) {
        return s.code == GetParam().code && s.right == right;
      });
      ASSERT_NE(it, snippets.end());
      const Diagnostics found = it->run();
      if (right)
        EXPECT_TRUE(found.list().empty()) << describe(found);
      else
        expect_code(found);
    } else {
      EXPECT_EQ(fence.language, "text");
      EXPECT_FALSE(right) << "the right program must be one";
    }
  }
};

TEST_P(Page, StartsWithTheTitleOfTheTable) {
  const CodeInfo& info = GetParam();
  const std::string title = "# " + std::string(text_of(info.code)) + " " + std::string(info.name) +
                            ": " + std::string(info.title) + "\n";
  EXPECT_TRUE(page_of(info.code).starts_with(title)) << title;
}

TEST_P(Page, ShowsAWrongAndARightProgram) {
  const std::vector<Fence> fences = fences_of(page_of(GetParam().code));
  const Fence* wrong = fence_in(fences, "Wrong");
  const Fence* right = fence_in(fences, "Right");
  if (is_retired(GetParam().code)) {
    EXPECT_NE(page_of(GetParam().code).find("Retired"), std::string::npos);
    EXPECT_EQ(fences.size(), 1U);
    ASSERT_NE(right, nullptr);
    check_block(*right, true);
    return;
  }
  ASSERT_NE(wrong, nullptr);
  ASSERT_NE(right, nullptr);
  EXPECT_EQ(fences.size(), 2U);
  check_block(*wrong, false);
  check_block(*right, true);
}

TEST_P(Page, ExplainsInProse) {
  const std::string page = page_of(GetParam().code);
  const size_t prose = page.find('\n') + 1;
  EXPECT_GT(page.find(is_retired(GetParam().code) ? "## Right" : "## Wrong"), prose + 150)
      << "what it means and why the rule exists";
}

INSTANTIATE_TEST_SUITE_P(Codes, Page, testing::ValuesIn(all_codes().begin(), all_codes().end()),
                         [](const auto& info) { return std::string(text_of(info.param.code)); });

TEST(Pages, BelongToACode) {
  for (const std::string& stem : stems_in(source_dir() / "docs" / "explain", ".md"))
    EXPECT_TRUE(code_from_text(stem)) << stem;
}

TEST(Pages, LinkOnlyToPages) {
  for (const CodeInfo& info : all_codes()) {
    const std::string page = page_of(info.code);
    for (size_t at = page.find("]("); at != std::string::npos; at = page.find("](", at + 1)) {
      const std::string target = page.substr(at + 2, page.find(')', at) - at - 2);
      EXPECT_TRUE(std::filesystem::exists(source_dir() / "docs" / "explain" / target))
          << text_of(info.code) << " links to " << target;
    }
  }
}

}  // namespace
}  // namespace vyre::golden
