// SPDX-License-Identifier: Apache-2.0
// What holds for every file in examples/.
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/input.hpp"
#include "examples/example.hpp"
#include "vyre/text/text.hpp"

namespace vyre::test {
namespace {

// "radix_sort" becomes "RadixSort".
std::string test_name(const std::string& example) {
  std::string name;
  bool upper = true;
  for (const char c : example) {
    if (c == '_') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return name;
}

TEST(Examples, AreMany) {
  EXPECT_GE(example_names().size(), 15U);
}

TEST(Examples, PassTheCheckerWithoutAWord) {
  for (const std::string& name : example_names()) {
    const auto file = cli::check_program_file((examples_dir() / (name + ".vyre")).string());
    ASSERT_TRUE(file.has_value()) << file.error().message;
    EXPECT_TRUE(file->program.has_value()) << name;
    EXPECT_TRUE(file->diagnostics.list().empty())
        << render_text(file->diagnostics, {{file->name, file->text}}, {});
    if (file->program) {
      EXPECT_EQ(file->program->program.name, name);
    }
  }
}

TEST(Examples, AreInCanonicalLayout) {
  for (const std::string& name : example_names()) {
    const std::string text = example_text(name);
    const text::Formatted formatted = text::format(text, name);
    ASSERT_TRUE(formatted.text.has_value()) << name;
    EXPECT_EQ(*formatted.text, text) << name << "\nFix: vyre fmt --write examples/*.vyre";
  }
}

TEST(Examples, SayHowToRunThem) {
  for (const std::string& name : example_names()) {
    SCOPED_TRACE(name);
    const Example example(name);
    const std::vector<std::string> words = example.run_words();
    ASSERT_EQ(words.size() % 2, 0U) << "options with one argument each";
    for (size_t i = 0; i < words.size(); i += 2) {
      EXPECT_THAT(words[i], testing::AnyOf("--in", "--out", "--shape"));
      EXPECT_THAT(words[i + 1], testing::HasSubstr("="));
      EXPECT_EQ(words[i + 1].find_first_of("'\"`$\\;&|<>"), std::string::npos) << words[i + 1];
      if (words[i] == "--out") {
        EXPECT_THAT(words[i + 1], testing::HasSubstr("=build/"));
      }
    }
    const Values in = example.run_inputs();
    for (size_t b = 0; b < example.checked.buffers.size(); ++b) {
      if (!example.checked.buffers[b].input_slot) continue;
      const std::string& buffer = example.checked.program.buffers[b].name;
      EXPECT_NE(in.find(buffer), nullptr) << "the run line gives no input for " << buffer;
    }
  }
}

TEST(Examples, AreListedInTheReadme) {
  std::ifstream file(std::filesystem::path(VYRE_SOURCE_DIR) / "README.md");
  std::ostringstream readme;
  readme << file.rdbuf();
  for (const std::string& name : example_names())
    EXPECT_THAT(readme.str(), testing::HasSubstr("| [" + name + "](examples/" + name + ".vyre) |"));
}

// A new example needs a test of its results: TEST(Example, RadixSort) for radix_sort.vyre.
TEST(Examples, EachHasATestOfItsResults) {
  std::set<std::string> tests;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    if (std::string_view(suite.name()) != "Example") continue;
    for (int t = 0; t < suite.total_test_count(); ++t) tests.insert(suite.GetTestInfo(t)->name());
  }
  for (const std::string& name : example_names())
    EXPECT_TRUE(tests.contains(test_name(name))) << name;
}

}  // namespace
}  // namespace vyre::test
