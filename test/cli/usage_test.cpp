// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Usage, NothingGivenShowsHelpAsAnError) {
  const Outcome outcome = run_vyre({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("Usage: vyre"));
}

TEST(Usage, HelpIsAResult) {
  const Outcome root = run_vyre({"--help"});
  EXPECT_EQ(root.exit_code, 0);
  EXPECT_EQ(root.err, "");
  for (const char* command : {"check", "fmt", "print", "compile", "verify", "explain", "devices",
                              "version", "completion"}) {
    EXPECT_THAT(root.out, HasSubstr(command));
    const Outcome outcome = run_vyre({command, "--help"});
    EXPECT_EQ(outcome.exit_code, 0) << command;
    EXPECT_THAT(outcome.out, HasSubstr("Usage: vyre " + std::string(command)));
    EXPECT_THAT(outcome.out, HasSubstr("--json")) << command;
    EXPECT_THAT(outcome.out, HasSubstr("--color auto|always|never")) << command;
  }
}

TEST(Usage, UnknownCommandNamesTheNearest) {
  const Outcome outcome = run_vyre({"chekc", "file.vyre"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("there is no command 'chekc'"));
  EXPECT_THAT(outcome.err, HasSubstr("Fix: did you mean `vyre check`?"));
  EXPECT_THAT(run_vyre({"zzzzzz"}).err, Not(HasSubstr("did you mean")));
}

TEST(Usage, CommandsOfLaterStagesDoNotExist) {
  for (const char* command : {"bench"}) EXPECT_EQ(run_vyre({command}).exit_code, 2) << command;
}

TEST(Usage, UnknownOptionNamesTheNearest) {
  const Outcome outcome = run_vyre({"check", "--jsno", "x.vyre"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("unknown option '--jsno'"));
  EXPECT_THAT(outcome.err, HasSubstr("did you mean --json?"));
}

TEST(Usage, BadArgumentsExit2) {
  const std::vector<std::vector<std::string>> all = {
      {"check"},
      {"fmt"},
      {"print"},
      {"completion"},
      {"completion", "tcsh"},
      {"print", "x", "--as", "xml"},
      {"compile"},
      {"compile", "x", "--emit", "ptx"},
      {"compile", "x", "--device", "reference"},
      {"compile", "x", "--device", "reference", "--emit", "wasm"},
      {"compile", "x", "--device", "reference", "--emit", "cubin", "--json"},
      {"verify"},
      {"verify", "x", "--device", "reference,,null"},
      {"verify", "x", "--device", "reference", "--fixpoint", "0"},
      {"print", "x", "y"},
      {"version", "extra"},
      {"check", "x", "--color", "sometimes"},
      {"fmt", "--write", "--check", "x"},
      {"check", "x", "--sarif"},
      {"explain", "V070", "V071"},
      {"devices", "null", "reference"},
      {"check", "-", "-"},
      {"fmt", "-", "-"},
      {"--json"},
  };
  for (const std::vector<std::string>& arguments : all) {
    const Outcome outcome = run_vyre(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << testing::PrintToString(arguments);
    EXPECT_THAT(outcome.err, HasSubstr("Fix: ")) << testing::PrintToString(arguments);
  }
}

TEST(Usage, ABadChoiceListsTheGoodOnes) {
  EXPECT_THAT(run_vyre({"print", "x", "--as", "xml"}).err,
              HasSubstr("--as: 'xml' is none of text, bytes, json"));
}

TEST(Usage, ErrorsAreADocumentToo) {
  const Outcome outcome = run_vyre({"--json", "chekc"});
  EXPECT_EQ(outcome.exit_code, 2);
  Json document = outcome.json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["ok"], false);
  EXPECT_EQ(document["error"]["exit_code"], 2);
  EXPECT_EQ(document["error"]["message"], "there is no command 'chekc'");
  EXPECT_EQ(run_vyre({"check", "--json"}).json()["command"], "check");
}

TEST(Version, TextAndJson) {
  const Outcome text = run_vyre({"version"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out,
              testing::MatchesRegex("vyre [0-9]+\\.[0-9]+\\.[0-9]+ \\(.* build, .*\\)\n"));
  EXPECT_EQ(run_vyre({"--version"}).out, text.out);

  Json document = run_vyre({"version", "--json"}).json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["command"], "version");
  EXPECT_THAT(text.out, HasSubstr(document["version"].get<std::string>()));
  EXPECT_THAT(text.out, HasSubstr(document["compiler"].get<std::string>()));
  EXPECT_TRUE(document["commit"].is_null() || document["commit"].is_string());
  EXPECT_TRUE(document["build_type"].is_string());
  EXPECT_EQ(run_vyre({"--json", "--version"}).json(), document);
}

}  // namespace
}  // namespace vyre::test
