// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

std::string script_for(const std::string& shell) {
  const Outcome outcome = run_vyre({"completion", shell});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

TEST(Completion, EveryScriptKnowsEveryCommand) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = script_for(shell);
    for (const char* word :
         {"check",  "fmt",     "print",      "plan",    "resident", "explain", "devices",
          "doctor", "version", "completion", "compile", "verify",   "spirv",   "warnings-as-errors",
          "tune",   "budget",  "V070",       "bytes",   "always",   ".vyre"})
      EXPECT_THAT(script, HasSubstr(word)) << shell;
  }
}

TEST(Completion, Json) {
  Json document = run_vyre({"completion", "bash", "--json"}).json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["shell"], "bash");
  EXPECT_EQ(document["script"], script_for("bash"));
}

class BashCompletion : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_installed("bash")) GTEST_SKIP() << "bash is not installed";
    (void)folder_.write("one.vyre", "");
    (void)folder_.write("two words.vyre", "");
    (void)folder_.write("other.txt", "");
    (void)folder_.write("script", script_for("bash"));
  }

  // What bash offers for the words, of which the last is being typed.
  std::vector<std::string> offered(const std::vector<std::string>& words) {
    std::string array = "vyre";
    for (const std::string& word : words) array += " '" + word + "'";
    const std::string command = fmt::format(
        "cd '{}' && source ./script && COMP_WORDS=({}) COMP_CWORD={} && "
        "{{ _vyre; printf '%s\\n' \"${{COMPREPLY[@]}}\"; }}",
        folder_.path(""), array, words.size());
    const Outcome outcome = run_program("bash", {"--norc", "-c", command});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return lines_of(outcome.out);
  }

  Folder folder_;
};

TEST_F(BashCompletion, IsBash) {
  const Outcome outcome = run_program("bash", {"-n", folder_.path("script")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(BashCompletion, CommandsAndOptions) {
  EXPECT_THAT(offered({""}), ElementsAre("cache", "check", "compile", "completion", "devices",
                                         "doctor", "explain", "fmt", "lsp", "plan", "print",
                                         "profile", "run", "tune", "verify", "version"));
  EXPECT_THAT(offered({"run", "--tune", ""}), ElementsAre("off", "on", "read"));
  EXPECT_THAT(offered({"c"}), ElementsAre("cache", "check", "compile", "completion"));
  EXPECT_THAT(offered({"compile", "--emit", ""}),
              ElementsAre("asm", "c", "cubin", "llvm", "ptx", "spirv"));
  EXPECT_THAT(offered({"--color", "never", "pr"}), ElementsAre("print", "profile"));
  EXPECT_THAT(offered({"--v"}), ElementsAre("--version"));
  EXPECT_THAT(offered({"fmt", "--"}),
              ElementsAre("--check", "--color", "--help", "--json", "--write"));
  EXPECT_THAT(offered({"check", "--"}),
              IsSupersetOf({"--sarif", "--warnings-as-errors", "--json"}));
  EXPECT_THAT(offered({"check", "--"}), Not(Contains("--write")));
}

TEST_F(BashCompletion, Values) {
  EXPECT_THAT(offered({"print", "--as", ""}), ElementsAre("bytes", "json", "text"));
  EXPECT_THAT(offered({"print", "--as", "=", "b"}), ElementsAre("bytes"));
  EXPECT_THAT(offered({"print", "--as", "="}), ElementsAre("bytes", "json", "text"));
  EXPECT_THAT(offered({"--color", "a"}), ElementsAre("always", "auto"));
  EXPECT_THAT(offered({"plan", "--dump-after", "de"}),
              ElementsAre("declare-control", "declare-hidden", "declare-votes"));
  EXPECT_THAT(offered({"plan", "--dump-after", "a"}), ElementsAre("all", "assign-storage"));
  EXPECT_THAT(offered({"explain", "V07"}), ElementsAre("V070", "V071", "V072", "V073"));
  EXPECT_THAT(offered({"completion", ""}), ElementsAre("bash", "fish", "zsh"));
  EXPECT_THAT(offered({"cache", ""}), ElementsAre("clear", "gc", "stat", "verify", "why"));
  EXPECT_THAT(offered({"run", "--device", "reference:"}), Contains("reference:2"));
  EXPECT_THAT(offered({"run", "--device", "a"}), ElementsAre("auto"));
  EXPECT_THAT(offered({"devices", "n"}), ElementsAre("null"));
  EXPECT_THAT(offered({"run", "--t"}), ElementsAre("--time", "--timeout", "--trace", "--tune"));
}

TEST_F(BashCompletion, Files) {
  EXPECT_THAT(offered({"check", ""}), ElementsAre("one.vyre", "two words.vyre"));
  EXPECT_THAT(offered({"cache", "why", ""}), ElementsAre("one.vyre", "two words.vyre"));
  EXPECT_THAT(offered({"print", "-o", "ot"}), ElementsAre("other.txt"));
}

TEST(ZshCompletion, LoadsAndOffers) {
  if (!is_installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  const Folder folder;
  const std::string script = folder.write("script", script_for("zsh"));
  const Outcome syntax = run_program("zsh", {"-n", script});
  EXPECT_EQ(syntax.exit_code, 0) << syntax.err;
  const Outcome loaded = run_program(
      "zsh", {"-f", "-c",
              "autoload -Uz compinit && compinit -u -D && source " + script +
                  " && print -r -- $_comps[vyre] && functions _vyre >/dev/null && echo defined"});
  EXPECT_EQ(loaded.exit_code, 0) << loaded.err;
  EXPECT_EQ(loaded.out, "_vyre\ndefined\n");
}

TEST(FishCompletion, LoadsAndOffers) {
  if (!is_installed("fish")) GTEST_SKIP() << "fish is not installed";
  const Folder folder;
  const std::string script = folder.write("script", script_for("fish"));
  const auto offered = [&](const std::string& line) {
    const Outcome outcome = run_program(
        "fish", {"--no-config", "-c", "source " + script + "; complete -C '" + line + "'"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<std::string> words;
    for (const std::string& each : lines_of(outcome.out))
      words.push_back(each.substr(0, each.find('\t')));
    return words;
  };
  EXPECT_THAT(offered("vyre c"), ElementsAre("cache", "check", "compile", "completion"));
  EXPECT_THAT(offered("vyre print --as "), ElementsAre("bytes", "json", "text"));
  EXPECT_THAT(offered("vyre explain V07"), ElementsAre("V070", "V071", "V072", "V073"));
  EXPECT_THAT(offered("vyre fmt --w"), ElementsAre("--write"));
}

}  // namespace
}  // namespace vyre::test
