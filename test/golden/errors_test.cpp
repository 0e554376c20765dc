// SPDX-License-Identifier: Apache-2.0
// Planted errors. A file errors/<code>_<what>.vyre starts with the diagnostics it must give, all of
// them and in order: `// expect V070 12:5`, each followed by `// note 10:8` for notes that must be
// among its notes. Codes that no text can provoke are planted here, in C++.
#include <algorithm>
#include <cstdio>
#include <ostream>
#include <set>

#include <gtest/gtest.h>

#include "golden/golden.hpp"
#include "golden/planted.hpp"

namespace vyre::golden {
namespace {

struct Place {
  uint32_t line = 0;
  uint32_t column = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};
std::ostream& operator<<(std::ostream& out, Place place) {
  return out << place.line << ':' << place.column;
}
Place place_of(const Position& at) {
  return {at.line, at.column};
}

struct Expected {
  Code code = Code::UnexpectedToken;
  Place at;
  std::vector<Place> notes;
};

// The header of a planted file; empty if it is not written as it should be.
std::vector<Expected> expectations(const std::string& text) {
  std::vector<Expected> expected;
  for (size_t start = 0; start < text.size(); start = text.find('\n', start) + 1) {
    const std::string line = text.substr(start, text.find('\n', start) - start);
    unsigned number = 0;
    Place at;
    if (std::sscanf(line.c_str(), "// expect V%3u %u:%u", &number, &at.line, &at.column) == 3) {
      const auto code = code_from_text(std::to_string(number));
      if (!code) return {};
      expected.push_back({*code, at, {}});
    } else if (std::sscanf(line.c_str(), "// note %u:%u", &at.line, &at.column) == 2) {
      if (expected.empty()) return {};
      expected.back().notes.push_back(at);
    } else {
      break;
    }
  }
  return expected;
}

class PlantedError : public testing::TestWithParam<std::string> {};

TEST_P(PlantedError, GivesExactlyTheExpectedDiagnostics) {
  const std::string text = read_file(golden_dir() / "errors" / (GetParam() + ".vyre"));
  const std::vector<Expected> expected = expectations(text);
  ASSERT_FALSE(expected.empty()) << "no `// expect` lines";
  // Under its path, so that it can use the modules beside it.
  const Judged judged = judge(text, (golden_dir() / "errors" / (GetParam() + ".vyre")).string());
  const auto& found = judged.diagnostics.list();
  SCOPED_TRACE(describe(judged.diagnostics));
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(text_of(found[i].code), text_of(expected[i].code));
    EXPECT_EQ(place_of(found[i].at), expected[i].at);
    EXPECT_FALSE(found[i].message.empty());
    EXPECT_FALSE(found[i].fix.empty());
    std::set<Place> notes;
    for (const Note& note : found[i].notes) notes.insert(place_of(note.at));
    for (const Place note : expected[i].notes)
      EXPECT_TRUE(notes.contains(note)) << "no note at " << note;
  }
  EXPECT_EQ(judged.checked.has_value(), !judged.diagnostics.has_errors());
}

TEST_P(PlantedError, IsNamedAfterACodeThatItGives) {
  const auto code = code_from_text(GetParam().substr(0, GetParam().find('_')));
  ASSERT_TRUE(code);
  const std::vector<Expected> expected =
      expectations(read_file(golden_dir() / "errors" / (GetParam() + ".vyre")));
  EXPECT_TRUE(std::any_of(expected.begin(), expected.end(),
                          [&](const Expected& e) { return e.code == *code; }));
}

INSTANTIATE_TEST_SUITE_P(Files, PlantedError,
                         testing::ValuesIn(stems_in(golden_dir() / "errors", ".vyre")),
                         [](const auto& file) { return file.param; });

class PlantedInCode : public testing::TestWithParam<Planted> {};

TEST_P(PlantedInCode, GivesTheCode) {
  const Diagnostics diagnostics = GetParam().provoke();
  SCOPED_TRACE(describe(diagnostics));
  ASSERT_EQ(diagnostics.list().size(), 1U);
  const Diagnostic& found = diagnostics.list().front();
  EXPECT_EQ(text_of(found.code), text_of(GetParam().code));
  EXPECT_FALSE(found.message.empty());
  EXPECT_FALSE(found.fix.empty());
}

INSTANTIATE_TEST_SUITE_P(Cases, PlantedInCode, testing::ValuesIn(planted_in_code()),
                         [](const auto& planted) {
                           return std::string(text_of(planted.param.code)) + "_" +
                                  planted.param.what;
                         });

TEST(PlantedErrors, CoverEveryCode) {
  std::set<Code> planted;
  for (const std::string& stem : stems_in(golden_dir() / "errors", ".vyre"))
    for (const Expected& e : expectations(read_file(golden_dir() / "errors" / (stem + ".vyre"))))
      planted.insert(e.code);
  for (const Planted& p : planted_in_code()) planted.insert(p.code);
  for (const CodeInfo& info : all_codes())
    EXPECT_NE(planted.contains(info.code), is_retired(info.code))
        << text_of(info.code) << " " << info.name << " has no planted error, or is retired";
}

}  // namespace
}  // namespace vyre::golden
