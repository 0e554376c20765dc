// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"
#include "vyre/base/codes.hpp"

namespace vyre::test {
namespace {

using testing::HasSubstr;

TEST(Explain, PrintsThePageForEverySpelling) {
  const Outcome outcome = run_vyre({"explain", "V070"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("V070"));
  EXPECT_THAT(outcome.out, testing::EndsWith("\n"));
  for (const char* spelling : {"v070", "70", "BarrierNotUniform", "barriernotuniform"})
    EXPECT_EQ(run_vyre({"explain", spelling}).out, outcome.out) << spelling;
}

TEST(Explain, EveryCodeHasAPage) {
  for (const CodeInfo& info : all_codes()) {
    const std::string code(text_of(info.code));
    Json document = run_vyre({"explain", code, "--json"}).json();
    ASSERT_TRUE(document["page"].is_string()) << code << " has no page under docs/explain";
    EXPECT_THAT(document["page"].get<std::string>(), HasSubstr(code));
  }
}

TEST(Explain, ListsAllCodes) {
  const Outcome outcome = run_vyre({"explain"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const CodeInfo& info : all_codes()) {
    EXPECT_THAT(outcome.out, HasSubstr(std::string(text_of(info.code)) + "  "));
    EXPECT_THAT(outcome.out, HasSubstr(std::string(info.title)));
  }
  EXPECT_EQ(static_cast<size_t>(std::count(outcome.out.begin(), outcome.out.end(), '\n')),
            all_codes().size());
}

TEST(Explain, Json) {
  Json one = run_vyre({"explain", "V090", "--json"}).json();
  EXPECT_EQ(one["schema"], 1);
  EXPECT_EQ(one["command"], "explain");
  EXPECT_EQ(one["ok"], true);
  EXPECT_EQ(one["code"], "V090");
  EXPECT_EQ(one["name"], "Unused");
  EXPECT_EQ(one["severity"], "warning");
  EXPECT_TRUE(one["title"].is_string());
  Json all = run_vyre({"explain", "--json"}).json();
  EXPECT_EQ(all["codes"].size(), all_codes().size());
  EXPECT_EQ(all["codes"][0]["code"], "V001");
}

TEST(Explain, UnknownCodeNamesTheNearestAndTheList) {
  const Outcome number = run_vyre({"explain", "V079"});
  EXPECT_EQ(number.exit_code, 2);
  EXPECT_EQ(number.out, "");
  EXPECT_THAT(number.err, HasSubstr("'V079' is not the code of a diagnostic"));
  EXPECT_THAT(number.err, HasSubstr("did you mean `vyre explain V080`?"));
  EXPECT_THAT(number.err, HasSubstr("`vyre explain` lists all codes"));
  EXPECT_THAT(run_vyre({"explain", "BarierNotUniform"}).err,
              HasSubstr("explain BarrierNotUniform`?"));
  const Outcome far = run_vyre({"explain", "qqqqqqqqqqqq", "--json"});
  EXPECT_EQ(far.exit_code, 2);
  EXPECT_EQ(far.json()["error"]["fix"], "`vyre explain` lists all codes");
}

}  // namespace
}  // namespace vyre::test
