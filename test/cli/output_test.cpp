// SPDX-License-Identifier: Apache-2.0
// What happens around a command: colour, output that cannot be written, signals.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sanitizers.hpp"
#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kEscape = "\x1b[";

Outcome check_bad(std::vector<std::string> arguments, Surroundings around = {}) {
  around.input = kBad;
  arguments.insert(arguments.begin(), {"check", "-"});
  return run_vyre(std::move(arguments), around);
}

TEST(Color, OnlyOnATerminalByDefault) {
  EXPECT_THAT(check_bad({}).err, Not(HasSubstr(kEscape)));
  EXPECT_THAT(check_bad({}, {.terminal = true}).out, HasSubstr(kEscape));
  EXPECT_THAT(check_bad({"--color", "always"}).err, HasSubstr(kEscape));
  EXPECT_THAT(check_bad({"--color", "never"}, {.terminal = true}).out, Not(HasSubstr(kEscape)));
}

TEST(Color, NoColorAndDumbTerminals) {
  const auto colored = [](std::vector<std::string> environment,
                          std::vector<std::string> arguments) {
    Surroundings around;
    around.environment = std::move(environment);
    around.terminal = true;
    return check_bad(std::move(arguments), around).out.find(kEscape) != std::string::npos;
  };
  EXPECT_FALSE(colored({"NO_COLOR=1"}, {}));
  EXPECT_TRUE(colored({"NO_COLOR="}, {})) << "empty means not set";
  EXPECT_TRUE(colored({"NO_COLOR=1"}, {"--color", "always"})) << "the option is more specific";
}

TEST(Color, JsonIsNeverColored) {
  EXPECT_THAT(check_bad({"--json", "--color", "always"}).out, Not(HasSubstr(kEscape)));
}

TEST(Output, AFullDiskIsReported) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"version"},
                                                    {"explain"},
                                                    {"completion", "bash"},
                                                    {"--help"},
                                                    {"version", "--json"}}) {
    const Outcome outcome = run_vyre(arguments, {.stdout_path = "/dev/full"});
    EXPECT_EQ(outcome.exit_code, 11) << arguments.front();
    EXPECT_THAT(outcome.err, HasSubstr("cannot write to stdout: No space left on device"));
  }
}

TEST(Output, AClosedStdoutIsReported) {
  const Outcome outcome = run_vyre({"version"}, {.close_stdout = true});
  EXPECT_EQ(outcome.exit_code, 11);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write to stdout"));
}

TEST(Output, AClosedStdoutDoesNotSpillIntoFiles) {
  const Folder folder;
  const std::string path = folder.write("good.vyre", kGood);
  const Outcome outcome =
      run_vyre({"check", path, "--sarif", folder.path("log")}, {.close_stdout = true});
  EXPECT_EQ(outcome.exit_code, 11);
  EXPECT_TRUE(Json::accept(folder.read("log")));
}

TEST(Output, ABrokenPipeEndsQuietly) {
  const Outcome outcome = run_into_broken_pipe({"explain"});
  EXPECT_EQ(outcome.signal, SIGPIPE);
  EXPECT_EQ(outcome.err, "");
}

TEST(Signals, InterruptEndsTheProcess) {
  const Outcome outcome = run_waiting({"check", "-"}, [](int pid) { ::kill(pid, SIGINT); });
  EXPECT_EQ(outcome.signal, SIGINT) << "which shells report as 130";
}

TEST(Signals, AnInternalBugExits9) {
  const Outcome outcome = run_waiting({"check", "-"}, [](int pid) { ::kill(pid, SIGABRT); });
  EXPECT_EQ(outcome.exit_code, 9);
  EXPECT_THAT(outcome.err, HasSubstr("this is a bug in vyre"));
}

TEST(Output, OutOfMemoryExits7) {
  // Sanitizers reserve terabytes of addresses, and so cannot run under a limit.
  if (base::kSanitized) GTEST_SKIP() << "needs an address-space limit";
  // The limit is a little more than the program with its libraries needs to start. What it reads
  // begins like an encoded program, of which up to 64 MiB are read.
  const Outcome outcome = run_program(
      "sh",
      {"-c",
       "kib=32000; until (ulimit -v $kib; exec \"$0\" version >/dev/null 2>&1); do "
       "kib=$((kib + 8000)); [ $kib -lt 2000000 ] || exit 99; done; ulimit -v $((kib + 8000)); "
       "{ printf '\\211VYRE\\r\\n\\032'; head -c 60000000 /dev/zero; } | \"$0\" check -",
       VYRE_BINARY});
  EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("out of memory"));
}

}  // namespace
}  // namespace vyre::test
