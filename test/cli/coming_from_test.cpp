// SPDX-License-Identifier: Apache-2.0
// docs/coming-from.md: every Vyre program prints what the page says, every NumPy program beside one
// gives the same numbers, and the CUDA and OpenCL sources compile where there is a compiler.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"
#include "golden/golden.hpp"

namespace vyre::test {
namespace {

using golden::Fence;

std::vector<Fence> page() {
  return golden::fences_of(golden::read_file(golden::source_dir() / "docs" / "coming-from.md"));
}

std::vector<Fence> fences_in(std::string_view language) {
  std::vector<Fence> found = page();
  std::erase_if(found, [&](const Fence& f) { return f.language != language; });
  return found;
}

// The fence of that language in the same section.
std::string beside(const Fence& fence, std::string_view language) {
  for (const Fence& other : page())
    if (other.section == fence.section && other.language == language) return other.text;
  return "";
}

// The numbers between the first `[` and the `]` after it.
std::vector<double> first_list(const std::string& text) {
  const size_t open = text.find('[', text.find("\n  ["));
  const size_t first = open == std::string::npos ? text.find('[') : open;
  if (first == std::string::npos) return {};
  std::string list = text.substr(first + 1, text.find(']', first) - first - 1);
  std::replace(list.begin(), list.end(), ',', ' ');
  std::istringstream words(list);
  std::vector<double> numbers;
  for (double number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

std::string name_of_section(const testing::TestParamInfo<Fence>& info) {
  std::string name;
  for (const char c : info.param.section)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return name;
}

// A ```console fence: `$ vyre run FILE ...`, then what goes to stdout.
class ComingFrom : public testing::TestWithParam<Fence> {};

TEST_P(ComingFrom, PrintsWhatThePageSays) {
  const std::string program = beside(GetParam(), "vyre");
  ASSERT_FALSE(program.empty());
  const std::string& text = GetParam().text;
  const size_t end = text.find('\n');
  std::istringstream line(text.substr(0, end));
  std::vector<std::string> arguments;
  for (std::string word; line >> word;) arguments.push_back(word);
  ASSERT_GE(arguments.size(), 4U);
  ASSERT_EQ(arguments[0] + arguments[1] + arguments[2], "$vyrerun");
  arguments.erase(arguments.begin(), arguments.begin() + 2);
  const Folder folder;
  arguments[1] = folder.write(arguments[1], program);
  const Outcome outcome = run_vyre(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, text.substr(end + 1));
}

TEST_P(ComingFrom, NumpyGivesTheSameNumbers) {
  const std::string program = beside(GetParam(), "python");
  ASSERT_FALSE(program.empty()) << "a section with a Vyre program has a NumPy program";
  if (run_program("python3", {"-c", "import numpy"}).exit_code != 0)
    GTEST_SKIP() << "unavailable: python3 finds no numpy on this machine";
  const Outcome outcome = run_program("python3", {"-c", program});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<double> expected = first_list(outcome.out);
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(first_list(GetParam().text), expected);
}

INSTANTIATE_TEST_SUITE_P(Page, ComingFrom, testing::ValuesIn(fences_in("console")),
                         name_of_section);

// Each source in a namespace of its own, so that one run of the compiler takes all.
TEST(ComingFromSources, CudaCompiles) {
  if (!is_installed("nvcc")) GTEST_SKIP() << "unavailable: no nvcc on this machine";
  std::string all;
  int number = 0;
  for (const Fence& fence : fences_in("cuda"))
    all += "namespace part" + std::to_string(number++) + " {\n" + fence.text + "}\n";
  ASSERT_GT(number, 0);
  const Folder folder;
  const std::string source = folder.write("all.cu", all);
  const Outcome outcome = run_program("nvcc", {"-ptx", "-o", folder.path("all.ptx"), source});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST(ComingFromSources, OpenClCompiles) {
  if (!is_installed("clang-19")) GTEST_SKIP() << "unavailable: no clang-19 on this machine";
  int number = 0;
  for (const Fence& fence : fences_in("opencl")) {
    const Folder folder;
    const Outcome outcome =
        run_program("clang-19", {"-x", "cl", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header",
                                 "-fsyntax-only", folder.write("kernel.cl", fence.text)});
    EXPECT_EQ(outcome.exit_code, 0) << fence.section << '\n' << outcome.err;
    ++number;
  }
  EXPECT_GT(number, 0);
}

TEST(ComingFromPage, HasOnlyFencesThatAreTested) {
  static constexpr std::string_view kKnown[] = {"vyre", "console", "python",
                                                "cuda", "opencl",  "wgsl"};
  for (const Fence& fence : page()) {
    EXPECT_NE(std::find(std::begin(kKnown), std::end(kKnown), fence.language), std::end(kKnown))
        << "line " << fence.line;
    EXPECT_TRUE(fence.language != "vyre" || !beside(fence, "console").empty()) << fence.section;
  }
}

}  // namespace
}  // namespace vyre::test
