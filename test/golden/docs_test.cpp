// SPDX-License-Identifier: Apache-2.0
// The user guide: every ```vyre block is a program without any diagnostic, every ```vyre-body block
// a program without errors when it stands in the guide's ```vyre-frame, and every word of the
// language that users can write is mentioned.
#include <algorithm>
#include <cctype>
#include <iterator>

#include <gtest/gtest.h>

#include "golden/golden.hpp"
#include "golden/words.hpp"

namespace vyre::golden {
namespace {

constexpr std::string_view kSnippetLine = "  // the snippet stands here\n";

std::string guide() {
  return read_file(source_dir() / "docs" / "language.md");
}

std::vector<Fence> blocks_in(std::string_view language) {
  std::vector<Fence> blocks = fences_of(guide());
  std::erase_if(blocks, [&](const Fence& f) { return f.language != language; });
  return blocks;
}

class GuideSnippet : public testing::TestWithParam<Fence> {};

TEST_P(GuideSnippet, IsValid) {
  if (GetParam().language == "vyre") {
    const Judged judged = judge(GetParam().text, "language.md");
    EXPECT_TRUE(judged.diagnostics.list().empty()) << describe(judged.diagnostics);
    return;
  }
  ASSERT_EQ(GetParam().language, "vyre-body");
  std::string program = blocks_in("vyre-frame").at(0).text;
  const size_t at = program.find(kSnippetLine);
  ASSERT_NE(at, std::string::npos);
  program.replace(at, kSnippetLine.size(), GetParam().text);
  const Judged judged = judge(program, "language.md");
  EXPECT_FALSE(judged.diagnostics.has_errors()) << describe(judged.diagnostics);
}

std::vector<Fence> snippets() {
  std::vector<Fence> all = blocks_in("vyre");
  std::vector<Fence> bodies = blocks_in("vyre-body");
  std::move(bodies.begin(), bodies.end(), std::back_inserter(all));
  return all;
}

INSTANTIATE_TEST_SUITE_P(Lines, GuideSnippet, testing::ValuesIn(snippets()), [](const auto& fence) {
  return "line_" + std::to_string(fence.param.line);
});

TEST(Guide, HasOneFrameAndNoOtherKindOfBlock) {
  EXPECT_EQ(blocks_in("vyre-frame").size(), 1U);
  for (const Fence& fence : fences_of(guide()))
    EXPECT_TRUE(fence.language == "vyre" || fence.language == "vyre-body" ||
                fence.language == "vyre-frame")
        << "line " << fence.line << ": " << fence.language;
}

TEST(Guide, MentionsEveryWordOfTheLanguage) {
  const std::string text = guide();
  const auto letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (const std::string& word : words_of_the_language()) {
    bool found = false;
    for (size_t at = text.find(word); at != std::string::npos && !found;
         at = text.find(word, at + 1))
      found = (at == 0 || !letter(text[at - 1])) && !letter(text[at + word.size()]);
    EXPECT_TRUE(found) << word;
  }
}

TEST(Guide, LinksOnlyToFilesThatExist) {
  const std::string text = guide();
  for (size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
    const std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
    EXPECT_TRUE(std::filesystem::exists(source_dir() / "docs" / target)) << target;
  }
}

}  // namespace
}  // namespace vyre::golden
