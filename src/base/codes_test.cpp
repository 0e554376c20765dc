// SPDX-License-Identifier: Apache-2.0
#include "vyre/base/codes.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/check.hpp"

namespace vyre {
namespace {

TEST(Codes, EveryRowIsFoundByItsTextAndItsName) {
  ASSERT_FALSE(all_codes().empty());
  std::set<std::string_view> texts;
  std::set<std::string_view> names;
  for (const CodeInfo& info : all_codes()) {
    EXPECT_EQ(code_from_text(text_of(info.code)), info.code);
    EXPECT_EQ(code_from_text(info.name), info.code);
    EXPECT_EQ(info_of(info.code).name, info.name);
    EXPECT_FALSE(info.title.empty());
    EXPECT_TRUE(texts.insert(text_of(info.code)).second) << text_of(info.code);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  }
}

TEST(Codes, TextHasThreeDigits) {
  EXPECT_EQ(text_of(Code::UnexpectedToken), "V001");
  EXPECT_EQ(text_of(Code::BarrierNotUniform), "V070");
}

TEST(Codes, SeverityComesFromTheTable) {
  EXPECT_EQ(info_of(Code::BarrierNotUniform).severity, Severity::Error);
  EXPECT_EQ(info_of(Code::Unused).severity, Severity::Warning);
}

TEST(Codes, AcceptsTheSpellingsPeopleUse) {
  for (const char* text : {"V070", "v070", "V70", "v70", "70", "070", "BarrierNotUniform",
                           "barriernotuniform", "BARRIERNOTUNIFORM"})
    EXPECT_EQ(code_from_text(text), Code::BarrierNotUniform) << text;
}

TEST(Codes, RefusesWhatIsNoCode) {
  for (const char* text : {"", "V", "v", "V000", "V999", "V0070", "0070", "VV70", "V70 ", " V70",
                           "-70", "V7x", "Barrier", "99999999999999999999", "X070"})
    EXPECT_EQ(code_from_text(text), std::nullopt) << text;
}

TEST(CheckDeathTest, NamesThePlaceAndTheCondition) {
  VYRE_CHECK(1 + 1 == 2);
  EXPECT_DEATH(VYRE_CHECK(1 + 1 == 3), "internal bug at .*codes_test.cpp:[0-9]+: 1 \\+ 1 == 3");
}

TEST(CheckDeathTest, ACodeOutsideTheTableIsABug) {
  EXPECT_DEATH((void)info_of(static_cast<Code>(999)), "internal bug");
}

}  // namespace
}  // namespace vyre
