// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Check, AValidProgramGetsOneLine) {
  const Folder folder;
  const std::string path = folder.write("good.vyre", kGood);
  const Outcome outcome = run_vyre({"check", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(outcome.out.starts_with(path + ": ok (2 buffers")) << outcome.out;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("digest [0-9a-f]{16}\\)\n$"));
}

TEST(Check, ErrorsOfTextAndCheckerAreOneOrderedList) {
  const Folder folder;
  const std::string path = folder.write("bad.vyre", kBad);
  const Outcome outcome = run_vyre({"check", path});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
  const size_t name = outcome.err.find(path + ":6:12: error[V020]: ");
  const size_t condition = outcome.err.find(path + ":7:8: error[V033]: ");
  ASSERT_NE(name, std::string::npos) << outcome.err;
  ASSERT_NE(condition, std::string::npos) << outcome.err;
  EXPECT_LT(name, condition);
  EXPECT_THAT(outcome.err, HasSubstr("    6 |     b[0] = missing;\n      |            ^^^^^^^\n"));
  EXPECT_THAT(outcome.err, HasSubstr("Fix: "));
  EXPECT_THAT(outcome.err, HasSubstr("\n2 errors\n"));
}

TEST(Check, ReadsStdin) {
  const Outcome good = run_vyre({"check", "-"}, {.input = std::string(kGood)});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_TRUE(good.out.starts_with("<stdin>: ok")) << good.out;
  const Outcome bad = run_vyre({"check", "-"}, {.input = std::string(kBad)});
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_THAT(bad.err, HasSubstr("<stdin>:6:12: error[V020]"));
  EXPECT_EQ(run_vyre({"check", "-"}).exit_code, 3) << "an empty text is no program";
}

TEST(Check, WarningsDoNotFailByDefault) {
  const Folder folder;
  const std::string path = folder.write("warned.vyre", kWarned);
  const Outcome lenient = run_vyre({"check", path});
  EXPECT_EQ(lenient.exit_code, 0);
  EXPECT_THAT(lenient.err, HasSubstr(":6:9: warning[V090]: "));
  EXPECT_THAT(lenient.err, HasSubstr("1 warning\n"));
  EXPECT_THAT(lenient.out, HasSubstr(": ok ("));

  const Outcome strict = run_vyre({"check", "--warnings-as-errors", path});
  EXPECT_EQ(strict.exit_code, 3);
  EXPECT_EQ(strict.out, "");
  EXPECT_THAT(strict.err, HasSubstr("warnings count as errors"));
  const std::string good = folder.write("good.vyre", kGood);
  EXPECT_EQ(run_vyre({"check", "--warnings-as-errors", good}).exit_code, 0);
}

TEST(Check, SeveralFilesGiveTheWorstExitCode) {
  const Folder folder;
  const std::string good = folder.write("good.vyre", kGood);
  const std::string bad = folder.write("bad.vyre", kBad);
  EXPECT_EQ(run_vyre({"check", good, good}).exit_code, 0);
  const Outcome mixed = run_vyre({"check", bad, good});
  EXPECT_EQ(mixed.exit_code, 3);
  EXPECT_THAT(mixed.out, HasSubstr(good + ": ok"));
  const Outcome missing = run_vyre({"check", folder.path("none.vyre"), bad, good});
  EXPECT_EQ(missing.exit_code, 11);
  EXPECT_THAT(missing.err, HasSubstr("error[V020]"));
  EXPECT_THAT(missing.out, HasSubstr(good + ": ok"));
}

TEST(Check, UnreadableInputIsAnInvalidArgument) {
  const Folder folder;
  const Outcome missing = run_vyre({"check", folder.path("none.vyre")});
  EXPECT_EQ(missing.exit_code, 11);
  EXPECT_THAT(missing.err, HasSubstr("cannot read " + folder.path("none.vyre")));
  EXPECT_THAT(missing.err, HasSubstr("No such file"));
  const Outcome directory = run_vyre({"check", folder.path("")});
  EXPECT_EQ(directory.exit_code, 11);
  EXPECT_THAT(directory.err, HasSubstr("Is a directory"));

  const std::string path = folder.write("good.vyre", kGood);
  const Outcome suffix = run_vyre({"check", folder.path("good")});
  EXPECT_EQ(suffix.exit_code, 11);
  EXPECT_THAT(suffix.err, HasSubstr("Fix: write " + path));
}

TEST(Check, ATextOverTheLimitIsV006) {
  const Folder folder;
  const std::string path = folder.write("long.vyre", std::string((size_t{16} << 20) + 1, '\n'));
  const Outcome outcome = run_vyre({"check", path});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr(path + ": error[V006]: "));
  const Outcome endless = run_vyre({"check", "/dev/zero"});
  EXPECT_EQ(endless.exit_code, 3);
  EXPECT_THAT(endless.err, HasSubstr("error[V006]"));
}

constexpr std::string_view kBounds = R"(program bounds {
  workgroup 64;
  in    order : u32[];
  in    x     : f32[];
  inout y     : f32[];
  if gid.x < len(y) {
    y[gid.x] = x[gid.x] + x[0];
    y[order[0]] = 1.0;
  }
}
)";

TEST(Check, BoundsNameTheProofAndWhatWouldProve) {
  const Folder folder;
  const std::string path = folder.write("bounds.vyre", kBounds);
  const Outcome outcome = run_vyre({"check", "--bounds", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 of 5 accesses proved"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("7:5 +y\\[gid.x\\] +proved: .*line 6"));
  EXPECT_THAT(outcome.out, HasSubstr("would be proved by: require len(x) >= len(y), "));
  EXPECT_THAT(outcome.out, HasSubstr("would be proved by: require len(x) >= 1, "));
  EXPECT_THAT(outcome.out, HasSubstr("would be proved by: require len(order) >= 1, "));
  EXPECT_THAT(outcome.out, HasSubstr("tested: the index comes from `order`"));
  // What it proposes proves what it says.
  std::string required(kBounds);
  required.insert(required.find("  if"),
                  "  require len(x) >= len(y), \"\";\n"
                  "  require len(x) >= 1, \"\";\n"
                  "  require len(order) >= 1, \"\";\n");
  const Outcome after = run_vyre({"check", "--bounds", folder.write("after.vyre", required)});
  EXPECT_THAT(after.out, HasSubstr("4 of 5 accesses proved"));
  EXPECT_THAT(after.out, Not(HasSubstr("would be proved by")));
}

TEST(Check, BoundsAsJson) {
  const Folder folder;
  const std::string path = folder.write("bounds.vyre", kBounds);
  const Outcome outcome = run_vyre({"check", "--bounds", "--json", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json bounds = outcome.json()["files"][0]["bounds"];
  ASSERT_EQ(bounds.size(), 5U);
  size_t proved = 0;
  for (const auto& access : bounds) {
    EXPECT_GE(access["line"], 7);
    EXPECT_NE(access["reason"], "");
    proved += access["proved"] == true ? 1 : 0;
  }
  EXPECT_EQ(proved, 1U);
  EXPECT_FALSE(run_vyre({"check", "--json", path}).json()["files"][0].contains("bounds"));
}

TEST(Check, BoundsAndRacesAreTwoQuestions) {
  const Folder folder;
  const std::string path = folder.write("bounds.vyre", kBounds);
  const Outcome outcome = run_vyre({"check", "--bounds", "--races", path});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("Fix: "));
}

TEST(Check, Json) {
  const Folder folder;
  const std::string good = folder.write("good.vyre", kGood);
  const std::string bad = folder.write("bad.vyre", kBad);
  const Outcome outcome = run_vyre({"check", "--json", good, bad});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err, "");
  Json document = outcome.json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["command"], "check");
  EXPECT_EQ(document["ok"], false);
  ASSERT_EQ(document["files"].size(), 2U);
  Json first = document["files"][0];
  EXPECT_EQ(first["file"], good);
  EXPECT_EQ(first["ok"], true);
  EXPECT_EQ(first["digest"].get<std::string>().size(), 64U);
  EXPECT_EQ(first["diagnostics"], Json::array());
  EXPECT_EQ(first["program"]["name"], "double_all");
  EXPECT_EQ(first["program"]["workgroup"], Json::array({64}));
  Json second = document["files"][1];
  EXPECT_EQ(second["ok"], false);
  EXPECT_TRUE(second["digest"].is_null());
  ASSERT_EQ(second["diagnostics"].size(), 2U);
  EXPECT_EQ(second["diagnostics"][0]["code"], "V020");
  EXPECT_EQ(second["diagnostics"][0]["line"], 6);
  EXPECT_EQ(second["diagnostics"][0]["column"], 12);
  EXPECT_EQ(second["diagnostics"][0]["length"], 7);

  Json missing = run_vyre({"check", "--json", folder.path("none")}).json();
  EXPECT_EQ(missing["files"][0]["error"]["exit_code"], 11);
  EXPECT_EQ(run_vyre({"check", "--json", good}).json()["ok"], true);
}

TEST(Check, SarifToAFileAndToStdout) {
  const Folder folder;
  const std::string bad = folder.write("bad.vyre", kBad);
  const Outcome to_file = run_vyre({"check", bad, "--sarif", folder.path("log.sarif")});
  EXPECT_EQ(to_file.exit_code, 3);
  EXPECT_THAT(to_file.err, HasSubstr("error[V020]")) << "the text output stays";
  Json log = Json::parse(folder.read("log.sarif"));
  EXPECT_EQ(log["version"], "2.1.0");
  ASSERT_EQ(log["runs"][0]["results"].size(), 2U);
  EXPECT_EQ(log["runs"][0]["results"][0]["ruleId"], "V020");

  const Outcome to_stdout = run_vyre({"check", bad, "--sarif", "-"});
  EXPECT_EQ(to_stdout.exit_code, 3);
  EXPECT_EQ(to_stdout.err, "");
  EXPECT_EQ(to_stdout.json(), log);
}

TEST(Check, SarifMisuse) {
  const Folder folder;
  const std::string good = folder.write("good.vyre", kGood);
  EXPECT_EQ(run_vyre({"check", good, "--sarif", good}).exit_code, 2);
  EXPECT_EQ(folder.read("good.vyre"), kGood);
  EXPECT_EQ(run_vyre({"check", good, "--json", "--sarif", "-"}).exit_code, 2);
  const Outcome nowhere = run_vyre({"check", good, "--sarif", folder.path("none/log.sarif")});
  EXPECT_EQ(nowhere.exit_code, 11);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot write"));
}

TEST(Check, EncodedProgramsToo) {
  const Folder folder;
  const std::string good = folder.write("good.vyre", kGood);
  const std::string bytes = folder.path("good.bytes");
  ASSERT_EQ(run_vyre({"print", good, "--as", "bytes", "-o", bytes}).exit_code, 0);
  Json from_text = run_vyre({"check", "--json", good}).json();
  const Outcome outcome = run_vyre({"check", "--json", bytes});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.json()["files"][0]["digest"], from_text["files"][0]["digest"]);

  const std::string whole = folder.read("good.bytes");
  const std::string cut = folder.write("cut.bytes", whole.substr(0, whole.size() / 2));
  const Outcome broken = run_vyre({"check", cut});
  EXPECT_EQ(broken.exit_code, 3);
  EXPECT_THAT(broken.err, HasSubstr(cut + ": error[V087]"));
}

TEST(Check, DiagnosticsOfAnEncodedProgramPointIntoItsCanonicalText) {
  const Folder folder;
  const std::string warned = folder.write("warned.vyre", kWarned);
  const std::string bytes = folder.path("warned.bytes");
  ASSERT_EQ(run_vyre({"print", warned, "--as", "bytes", "-o", bytes}).exit_code, 0);
  const Outcome outcome = run_vyre({"check", bytes});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, testing::ContainsRegex("warned.bytes:[0-9]+:[0-9]+: warning\\[V090\\]"));
  EXPECT_THAT(outcome.err, HasSubstr("let unused = gid.x;"));
}

TEST(Check, NamesWithControlCharactersDoNotReachTheTerminal) {
  const Folder folder;
  const std::string path = folder.write("a\x1b[2J.vyre", kGood);
  const Outcome outcome = run_vyre({"check", path});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run_vyre({"check", folder.path("\x1b[2J")}).err, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace vyre::test
