// SPDX-License-Identifier: Apache-2.0
#include "vyre/base/diagnostic.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace vyre {
namespace {

using testing::HasSubstr;

TEST(Diagnostics, SeverityAndCountsComeFromTheCode) {
  Diagnostics d;
  EXPECT_FALSE(d.has_errors());
  EXPECT_EQ(d.add(Code::Unused, {}, "x is not used", "remove it").severity, Severity::Warning);
  EXPECT_FALSE(d.has_errors());
  EXPECT_EQ(d.add(Code::UnknownName, {}, "y is not declared", "declare it").severity,
            Severity::Error);
  EXPECT_TRUE(d.has_errors());
  EXPECT_EQ(d.errors(), 1U);
  EXPECT_EQ(d.warnings(), 1U);
  EXPECT_EQ(d.dropped(), 0U);
}

TEST(Diagnostics, StopsGrowingAtTheCapButCounts) {
  Diagnostics d;
  for (size_t i = 0; i < Diagnostics::kMaxDiagnostics; ++i) {
    EXPECT_FALSE(d.full());
    d.add(Code::UnknownName, {}, std::to_string(i), "");
  }
  EXPECT_TRUE(d.full());
  Diagnostic& extra = d.add(Code::UnknownName, {}, "one more", "");
  extra.notes.push_back({{}, "a note nobody sees"});
  EXPECT_TRUE(d.add(Code::TypeMismatch, {}, "two more", "").notes.empty())
      << "the scratch is reused";
  EXPECT_EQ(d.list().size(), Diagnostics::kMaxDiagnostics);
  EXPECT_EQ(d.list().back().message, "99");
  EXPECT_EQ(d.dropped(), 2U);
  EXPECT_EQ(d.errors(), Diagnostics::kMaxDiagnostics + 2);
}

TEST(Diagnostics, AnErrorTakesThePlaceOfAWarningInAFullList) {
  Diagnostics d;
  for (size_t i = 0; i < Diagnostics::kMaxDiagnostics; ++i) d.add(Code::Unused, {}, "w", "");
  d.add(Code::UnknownName, {}, "the error", "");
  d.add(Code::Unused, {}, "another warning", "");
  EXPECT_EQ(d.list().back().message, "the error");
  EXPECT_EQ(d.list().front().message, "w");
  EXPECT_EQ(d.dropped(), 2U);
  EXPECT_TRUE(d.has_errors());
}

TEST(Diagnostics, AppendKeepsNotesAndWhatWasDropped) {
  Diagnostics a;
  a.add(Code::Unused, {}, "first", "");
  Diagnostics b;
  for (size_t i = 0; i < Diagnostics::kMaxDiagnostics + 5; ++i)
    b.add(Code::UnknownName, {}, "n", "").notes.push_back({{}, "note"});
  a.append(std::move(b));
  EXPECT_EQ(a.list().size(), Diagnostics::kMaxDiagnostics);
  EXPECT_EQ(a.errors(), Diagnostics::kMaxDiagnostics + 5);
  EXPECT_EQ(a.warnings(), 1U);
  EXPECT_EQ(a.errors() + a.warnings(), a.list().size() + a.dropped());
  EXPECT_EQ(a.list().back().notes.size(), 1U);
}

TEST(Diagnostics, SetFileNamesOnlyWhatHasNoFile) {
  Diagnostics d;
  d.add(Code::MalformedBytes, {}, "cut off", "");
  d.add(Code::UnknownName, {"other", 1, 2, 3}, "m", "");
  d.set_file("p.bytes");
  EXPECT_EQ(d.list()[0].at, (Position{"p.bytes", 0, 0, 1}));
  EXPECT_EQ(d.list()[1].at.file, "other");
}

TEST(Diagnostics, SortIsByPlaceThenCodeAndStable) {
  Diagnostics d;
  d.add(Code::TypeMismatch, {"b", 1, 1, 1}, "b", "");
  d.add(Code::TypeMismatch, {"a", 10, 1, 1}, "a10", "");
  d.add(Code::TypeMismatch, {"a", 9, 2, 1}, "a9.2 first", "");
  d.add(Code::TypeMismatch, {"a", 9, 2, 7}, "a9.2 second", "");
  d.add(Code::UnexpectedToken, {"a", 9, 2, 1}, "a9.2 lower code", "");
  d.add(Code::TypeMismatch, {"a", 0, 0, 1}, "a unknown", "");
  d.sort();
  std::vector<std::string> order;
  for (const Diagnostic& each : d.list()) order.push_back(each.message);
  const std::vector<std::string> expected{
      "a unknown", "a9.2 lower code", "a9.2 first", "a9.2 second", "a10", "b"};
  EXPECT_EQ(order, expected);
}

// D-OBS.3: whatever the code, each rendering has the severity, the code, the place and the fix.
TEST(Diagnostics, EveryCodeIsWholeInAllThreeRenderings) {
  using Json = nlohmann::json;
  const std::string source = "one\n  two three\n";
  for (const CodeInfo& info : all_codes()) {
    const std::string severity = info.severity == Severity::Error ? "error" : "warning";
    const std::string code(text_of(info.code));
    Diagnostics d;
    d.add(info.code, {"f.vyre", 2, 7, 5}, "it is wrong", "do it like this");

    EXPECT_THAT(render_text(d, {{"f.vyre", source}}),
                HasSubstr(fmt::format("f.vyre:2:7: {}[{}]: it is wrong\n"
                                      "    2 |   two three\n"
                                      "      |       ^^^^^\n"
                                      "  Fix: do it like this\n",
                                      severity, code)));

    const Json json = Json::parse(render_json(d)).at(0);
    EXPECT_EQ(json["severity"], severity);
    EXPECT_EQ(json["code"], code);
    EXPECT_EQ(json["file"], "f.vyre");
    EXPECT_EQ(json["line"], 2);
    EXPECT_EQ(json["column"], 7);
    EXPECT_EQ(json["length"], 5);
    EXPECT_EQ(json["fix"], "do it like this");

    const Json run = Json::parse(render_sarif(d, "1")).at("runs").at(0);
    const Json& result = run["results"].at(0);
    EXPECT_EQ(result["level"], severity);
    EXPECT_EQ(result["ruleId"], code);
    EXPECT_EQ(run["tool"]["driver"]["rules"].at(0)["id"], code);
    const Json& place = result["locations"].at(0)["physicalLocation"];
    EXPECT_EQ(place["artifactLocation"]["uri"], "f.vyre");
    EXPECT_EQ(place["region"], (Json{{"startLine", 2}, {"startColumn", 7}, {"endColumn", 12}}));
    EXPECT_THAT(result["message"]["text"].get<std::string>(), HasSubstr("Fix: do it like this"));
  }
}

}  // namespace
}  // namespace vyre
