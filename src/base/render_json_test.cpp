// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "vyre/base/diagnostic.hpp"

namespace vyre {
namespace {

using Json = nlohmann::ordered_json;

Diagnostics sample() {
  Diagnostics d;
  d.add(Code::BarrierNotUniform, {"my file.vyre", 3, 5, 12}, "not uniform", "move it")
      .notes.push_back({{"my file.vyre", 2, 6, 5}, "because of this"});
  d.add(Code::Unused, {}, "x is not used", "");
  return d;
}

TEST(RenderJson, HasEveryFieldInAFixedOrder) {
  const Json array = Json::parse(render_json(sample()));
  ASSERT_EQ(array.size(), 2U);
  const Json expected = Json::parse(R"({
    "code": "V070", "name": "BarrierNotUniform", "severity": "error", "message": "not uniform",
    "fix": "move it", "file": "my file.vyre", "line": 3, "column": 5, "length": 12,
    "notes": [{"message": "because of this", "file": "my file.vyre", "line": 2, "column": 6,
               "length": 5}]})");
  EXPECT_EQ(array[0].dump(), expected.dump());
  EXPECT_EQ(array[1]["severity"], "warning");
  EXPECT_TRUE(array[1]["file"].is_null());
  EXPECT_TRUE(array[1]["line"].is_null());
  EXPECT_TRUE(array[1]["column"].is_null());
  EXPECT_EQ(array[1]["notes"], Json::array());
}

TEST(RenderJson, EmptyListIsAnEmptyArray) {
  EXPECT_EQ(Json::parse(render_json({})), Json::array());
}

TEST(RenderJson, InvalidUtf8IsReplaced) {
  Diagnostics d;
  d.add(Code::BadCharacter, {"\xFF.vyre", 1, 1, 1}, "byte \xFE\"", "");
  const Json array = Json::parse(render_json(d));
  EXPECT_EQ(array[0]["file"], "\uFFFD.vyre");
  EXPECT_EQ(array[0]["message"], "byte \uFFFD\"");
}

TEST(RenderSarif, IsASarifLog) {
  const Json log = Json::parse(render_sarif(sample(), "1.2.3"));
  EXPECT_EQ(log["version"], "2.1.0");
  ASSERT_EQ(log["runs"].size(), 1U);
  const Json& run = log["runs"][0];
  EXPECT_EQ(run["columnKind"], "unicodeCodePoints");
  const Json& driver = run["tool"]["driver"];
  EXPECT_EQ(driver["name"], "vyre");
  EXPECT_EQ(driver["version"], "1.2.3");
  ASSERT_EQ(driver["rules"].size(), 2U);
  EXPECT_EQ(driver["rules"][0]["help"]["text"], "vyre explain V070");

  ASSERT_EQ(run["results"].size(), 2U);
  const Json& result = run["results"][0];
  EXPECT_EQ(result["level"], "error");
  EXPECT_EQ(result["message"]["text"], "not uniform\nFix: move it");
  const Json& physical = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(physical["artifactLocation"]["uri"], "my%20file.vyre");
  EXPECT_EQ(physical["region"], Json::parse(R"({"startLine":3,"startColumn":5,"endColumn":17})"));
  const Json& related = result["relatedLocations"][0];
  EXPECT_EQ(related["message"]["text"], "because of this");
  EXPECT_EQ(related["physicalLocation"]["region"]["startLine"], 2);
  EXPECT_EQ(run["results"][1]["locations"], Json::array());
  for (const Json& each : run["results"])
    EXPECT_EQ(driver["rules"][each["ruleIndex"].get<size_t>()]["id"], each["ruleId"]);
}

TEST(RenderSarif, SeveralListsAreOneRunAndLossIsReported) {
  std::vector<Diagnostics> lists(2);
  for (int i = 0; i < 103; ++i) lists[0].add(Code::Unused, {"/a b", 1, 1, 1}, "m", "");
  lists[1].add(Code::UnexpectedToken, {"c", 1, 1, 1}, "m", "");
  const Json log = Json::parse(render_sarif(lists, "1"));
  const Json& run = log["runs"][0];
  EXPECT_EQ(run["results"].size(), 101U);
  EXPECT_EQ(run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "file:///a%20b");
  EXPECT_EQ(run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"],
            "3 more diagnostics are not listed");
  EXPECT_EQ(run["tool"]["driver"]["rules"].size(), 2U);
}

TEST(RenderSarif, NothingFoundIsStillALog) {
  const Json log = Json::parse(render_sarif(Diagnostics{}, "1"));
  EXPECT_EQ(log["runs"][0]["results"], Json::array());
  EXPECT_FALSE(log["runs"][0]["invocations"][0].contains("toolExecutionNotifications"));
}

}  // namespace
}  // namespace vyre
