// SPDX-License-Identifier: Apache-2.0
// vyre_litmus [--device ID] [--rounds N] [--only a,b] [--mutants] [--least-score P] [--list]: a
// line for each test; the last line is "N passed, N failed". Exit code 1 if a forbidden outcome was
// seen.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "litmus/litmus.hpp"

namespace vyre::litmus {
namespace {

struct Arguments {
  std::string device = "cpu";
  uint64_t rounds = 1'000'000;
  std::vector<std::string> only;
  bool mutants = false;
  uint32_t least_score = 0;
  bool list = false;
};

struct Score {
  uint32_t mutants = 0;
  uint32_t killed = 0;
};

std::string to_text(const Outcome& o) {
  return fmt::format("r = {} {} {} {}, x = {}, y = {}, z = {}", o.r[0], o.r[1], o.r[2], o.r[3], o.x,
                     o.y, o.z);
}

bool passes(const Device& device, const Test& test, uint64_t rounds) {
  const auto start = std::chrono::steady_clock::now();
  const auto done = run(device, test, test.code, rounds, false);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!done) {
    fmt::print("FAILED: {}: {}\n", test.name, to_string(done.error()));
    return false;
  }
  fmt::print("{}: {} ({} instances, {} forbidden, {:.2f} s)\n",
             done->forbidden == 0 ? "ok" : "FAILED", test.name, done->instances, done->forbidden,
             seconds);
  if (done->forbidden != 0)
    fmt::print("  broken: {}\n  first: {}\n{}\n", test.rule, to_text(done->example),
               program_text(test, test.code));
  return done->forbidden == 0;
}

bool run_mutants(const Device& device, const Test& test, uint64_t rounds, Score& score) {
  for (const Mutant& mutant : test.mutants) {
    const auto done = run(device, test, mutant.code, rounds, true);
    if (!done) {
      fmt::print("FAILED: {}, {}: {}\n", test.name, mutant.name, to_string(done.error()));
      return false;
    }
    ++score.mutants;
    if (done->forbidden != 0) ++score.killed;
    fmt::print("  mutant {}: {}: {} after {} instances\n", test.name, mutant.name,
               done->forbidden != 0 ? "killed" : "NOT killed", done->instances);
  }
  return true;
}

int run_all(const Arguments& a) {
  auto device = Device::open(a.device, {.cache_directory = {}});
  if (!device) {
    fmt::print(stderr, "{}\n", to_string(device.error()));
    return 1;
  }
  uint32_t passed = 0;
  uint32_t failed = 0;
  Score score;
  for (const Test& test : tests()) {
    if (!a.only.empty() && std::ranges::find(a.only, test.name) == a.only.end()) continue;
    bool good = passes(*device, test, a.rounds);
    if (a.mutants) good = run_mutants(*device, test, a.rounds, score) && good;
    ++(good ? passed : failed);
    std::fflush(stdout);
  }
  if (a.mutants) {
    const uint32_t percent = score.mutants == 0 ? 0 : 100 * score.killed / score.mutants;
    fmt::print("mutation score: {} of {} mutants killed ({} %) on {} ({} compute units)\n",
               score.killed, score.mutants, percent, a.device,
               device->info().profile.compute_units);
    if (percent < a.least_score) {
      fmt::print(
          "FAILED: the score is below {} %: threads of this machine do not interleave "
          "enough to trust the tests\n",
          a.least_score);
      ++failed;
    }
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vyre::litmus

int main(int argc, char** argv) {
  using namespace vyre::litmus;
  CLI::App app("Litmus tests of the memory model");
  Arguments a;
  app.add_option("--device", a.device, "Which device (default cpu)");
  app.add_option("--rounds", a.rounds, "Instances of each test (default 1000000)");
  app.add_option("--only", a.only, "These tests")->delimiter(',');
  app.add_flag("--mutants", a.mutants, "Also mutants: how many show the forbidden outcome");
  app.add_option("--least-score", a.least_score, "Fail below this percentage of killed mutants");
  app.add_flag("--list", a.list, "Only list the tests and what they forbid");
  CLI11_PARSE(app, argc, argv);
  for (const std::string& name : a.only)
    if (std::ranges::none_of(tests(), [&](const Test& test) { return test.name == name; })) {
      fmt::print(stderr, "there is no test `{}`. Fix: see --list for those there are\n", name);
      return 2;
    }
  if (!a.list) return run_all(a);
  for (const Test& test : tests())
    fmt::print("{}: {} ({} threads, {} mutants)\n", test.name, test.rule, test.threads,
               test.mutants.size());
  return 0;
}
