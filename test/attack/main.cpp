// SPDX-License-Identifier: Apache-2.0
// vyre_attack KIND --seed N --count N: random attacks of one kind, each in a process of its own,
// since what they find may be a crash or an endless loop. The last line is "N programs, N faults".
#include <array>
#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "attack/attack.hpp"
#include "plan/compare.hpp"

namespace vyre::attack {
namespace {

using Attack = Finding (*)(uint64_t, const Settings&);
struct Kind {
  const char* name;
  const char* what;
  Attack attack;
};
constexpr std::array<Kind, 6> kKinds = {
    Kind{"ulp", "ulp_budget above 0 against strict results", ulp},
    Kind{"rewrites", "rewrites of a program that keep its meaning", rewrites},
    Kind{"blocks", "grid barriers with several numbers of blocks", blocks},
    Kind{"accepted", "changed programs that are accepted have to compile", accepted},
    Kind{"bounds", "accesses out of bounds", bounds},
    Kind{"hostile", "programs that cost much to check", hostile},
};

constexpr std::chrono::seconds kLimit{120};

// The finding across a pipe: the number of cases, and the fault in the lines after it.
std::string report_of(const Finding& finding) {
  return fmt::format("{}\n{}", finding.cases, finding.fault);
}

Finding apart(Attack attack, uint64_t seed, const Settings& settings) {
  const std::string text =
      plan_test::apart([&] { return report_of(attack(seed, settings)); }, kLimit);
  const size_t line = text.find('\n');
  // Whatever else comes back says how the process ended.
  if (line == std::string::npos || text.empty() || text[0] < '0' || text[0] > '9')
    return {.fault = text.empty() ? "it ended without an answer" : text, .cases = 0};
  return {.fault = text.substr(line + 1), .cases = std::stoull(text)};
}

int run(const Kind& kind, uint64_t first, uint64_t count, const Settings& settings) {
  uint64_t faults = 0;
  uint64_t cases = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Finding finding = apart(kind.attack, seed, settings);
    cases += finding.cases;
    if (finding.fault.empty()) continue;
    ++faults;
    fmt::print("seed {}: {}\n  reproduce: vyre_attack {} --seed {} --device {}{}\n", seed,
               finding.fault, kind.name, seed, settings.device,
               settings.size != 0 ? fmt::format(" --size {}", settings.size) : "");
    std::fflush(stdout);
  }
  fmt::print("{} cases\n{} programs, {} faults\n", cases, count, faults);
  return faults == 0 && cases > 0 ? 0 : 1;
}

}  // namespace
}  // namespace vyre::attack

int main(int argc, char** argv) {
  using namespace vyre::attack;
  CLI::App app("Random attacks; every fault comes with the command that shows it again");
  Settings settings;
  uint64_t seed = 1;
  uint64_t count = 1;
  app.require_subcommand(1);
  for (const Kind& kind : kKinds) app.add_subcommand(kind.name, kind.what)->fallthrough();
  app.add_option("--seed", seed, "the first seed");
  app.add_option("--count", count, "how many seeds from there");
  app.add_option("--device", settings.device, "of the registry");
  app.add_option("--size", settings.size, "about how many statements");
  app.add_option("--rewrites", settings.rewrites, "of each program");
  app.add_option("--vyre", settings.vyre, "path of the vyre program, for `hostile`");
  CLI11_PARSE(app, argc, argv);
  for (const Kind& kind : kKinds) {
    if (!app.got_subcommand(kind.name)) continue;
    try {
      return run(kind, seed, count, settings);
    } catch (const std::exception& e) {
      fmt::print(stderr, "vyre_attack: {}\n", e.what());
      return 2;
    }
  }
  return 2;
}
