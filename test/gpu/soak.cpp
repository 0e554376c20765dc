// SPDX-License-Identifier: Apache-2.0
// vyre_gpu_soak [--device cuda] [--only a,b] [--smoke] [--seed N]: one line for each check; exit
// code 1 if one did not hold.
#include "gpu/soak.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <CLI/CLI.hpp>

namespace vyre::soak {
namespace {

struct Check {
  const char* name;
  void (*run)(Soak&);
};
constexpr std::array kChecks = {
    Check{"barriers", check_barriers},
    Check{"slow_blocks", check_slow_blocks},
    Check{"cancel", check_cancel},
    Check{"cancel_near_the_end", check_cancel_near_the_end},
    Check{"deadlines", check_deadlines},
    Check{"traps", check_traps},
    Check{"repeats", check_repeats},
    Check{"resident_repeats", check_resident_repeats},
    Check{"other_buffers", check_other_buffers},
    Check{"two_pipelines", check_two_pipelines},
    Check{"one_pipeline_twice", check_one_pipeline_twice},
    Check{"bounds", check_bounds},
    Check{"approximations", check_approximations},
    Check{"memory", check_memory},
    Check{"leaks", check_leaks},
    Check{"hang", check_hang},
    Check{"loss", check_loss},
};

bool holds(const Check& check, Soak& soak) {
  soak.note.clear();
  const Clock::time_point start = Clock::now();
  std::string wrong;
  try {
    check.run(soak);
    // Nothing that went before may have cost the device.
    const Rounds fine(soak.device, Form::Loop, Rounds::Extra::None);
    must(fine.run({.grid = 2, .rounds = 3}), "a dispatch afterwards");
  } catch (const std::exception& e) {
    wrong = e.what();
  }
  fmt::print("{}: {} ({}{:.1f} s){}{}\n", wrong.empty() ? "ok" : "FAILED", check.name,
             soak.note.empty() ? "" : soak.note + ", ", ms_since(start) / 1000,
             wrong.empty() ? "" : ": ", wrong);
  std::fflush(stdout);
  return wrong.empty();
}

}  // namespace
}  // namespace vyre::soak

int main(int argc, char** argv) {
  using namespace vyre::soak;
  CLI::App app("Drives a device hard and for long, and looks at every result");
  std::string device = "cuda";
  std::vector<std::string> only;
  Soak soak;
  uint32_t seed = 1;
  app.add_option("--device", device, "Which device (default cuda)");
  app.add_option("--only", only, "These checks")->delimiter(',');
  app.add_option("--seed", seed, "Of what is random (default 1)");
  app.add_flag("--smoke", soak.smoke, "A few of everything");
  std::string child;
  app.add_option("--child", child, "A process of a check")->group("");
  CLI11_PARSE(app, argc, argv);
  if (!child.empty()) return run_child_of_check(device, child);
  soak.random.seed(seed);

  for (const std::string& name : only)
    if (std::ranges::none_of(kChecks, [&](const Check& check) { return name == check.name; })) {
      fmt::print(stderr, "there is no check {}\n", name);
      return 2;
    }
  auto opened = vyre::Device::open(device, {.cache_directory = {}});
  if (!opened) {
    fmt::print(stderr, "{}\n", to_string(opened.error()));
    return 1;
  }
  soak.device = *opened;
  bool all = true;
  for (const Check& check : kChecks)
    if (only.empty() || std::ranges::find(only, check.name) != only.end())
      all = holds(check, soak) && all;
  return all ? 0 : 1;
}
