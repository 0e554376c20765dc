// SPDX-License-Identifier: Apache-2.0
// vyre_plan_check: plans of random or directed programs against the oracle, on the command line.
// Prints what differs, with the command that shows it again and the one that makes it small.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/match.hpp"
#include "generator/generator.hpp"
#include "generator/reduce.hpp"
#include "generator/schedules.hpp"
#include "plan/compare.hpp"
#include "plan/programs.hpp"
#include "plan/stores.hpp"
#include "vyre/device/registry.hpp"
#include "vyre/text/text.hpp"

namespace vyre::plan_test {
namespace {

using generator::Generated;

struct Arguments {
  uint64_t seed = 1;
  uint64_t count = 1;
  uint32_t size = generator::GeneratorOptions().size;
  std::string program;
  std::string route;
  std::string device;
  std::vector<std::string> without;
  bool print = false;
  bool reduce = false;
  bool one_schedule = false;
  bool driver = false;
  bool stores = false;
  bool poison = false;
};

void print_steps(const plan::Steps& steps, int depth) {
  const auto line = [&](const std::string& text) { fmt::print("{:{}}{}\n", "", depth * 2, text); };
  for (const plan::Step& step : steps)
    match(
        step.node, [&](const plan::LaunchStep& x) { line(fmt::format("launch {}", x.segment)); },
        [&](const plan::PhaseStep&) { line("phase"); },
        [&](const plan::BranchStep& x) {
          line(fmt::format("branch on word {}", x.word));
          print_steps(x.then_steps, depth + 1);
          line("else");
          print_steps(x.else_steps, depth + 1);
        },
        [&](const plan::LoopStep& x) {
          line("loop");
          print_steps(x.condition, depth + 1);
          line(fmt::format("while word {}", x.word));
          print_steps(x.body, depth + 1);
        },
        [&](const plan::FixpointStep& x) {
          line(x.most ? fmt::format("fixpoint {} at most {} times", x.fixpoint, *x.most)
                      : fmt::format("fixpoint {} at most word {}", x.fixpoint, x.word));
          print_steps(x.body, depth + 1);
        },
        [&](const plan::ResumeStep& x) { line(fmt::format("resume {}", x.resume)); },
        [&](const plan::CollectiveStep&) { line("collective"); },
        [&](const plan::CopyStep&) { line("copy"); },
        [&](const plan::SwapStep& x) { line(fmt::format("swap {} {}", x.a.value, x.b.value)); });
}

void print_plan(const check::CheckedProgram& checked, const Way& way) {
  const auto plan =
      plan::make_plan(checked, {.variant = {.route = way.route}, .checked = way.checked});
  if (!plan) return;
  fmt::print("// ---- {}\n", to_string(way));
  print_steps(plan->steps, 0);
  for (const plan::Segment& segment : plan->segments) {
    fmt::print("{}\n", text::print(segment.program.program));
    if (!way.workgroup_phases) continue;
    const plan::Plan phases = *plan::cut_workgroup(segment.program);
    print_steps(phases.steps, 2);
    for (const plan::Segment& inner : phases.segments)
      fmt::print("{}\n", text::print(inner.program.program));
  }
}

// Another one for each first seed.
std::byte pattern_of(const Arguments& a) {
  return std::byte(1 + (a.seed * 0x9E37'79B9'7F4A'7C15U >> 56) % 254);
}

std::vector<Way> ways_of(const Arguments& a) {
  std::vector<Way> ways = !a.device.empty() ? device_ways(a.device)
                          : a.driver        ? driver_ways()
                                            : all_ways();
  std::erase_if(ways, [&](const Way& way) {
    return (!a.route.empty() && plan::name_of(way.route) != a.route) ||
           (a.one_schedule && way.schedule != oracle::Schedule::Forward);
  });
  return a.poison ? poisoned(ways, pattern_of(a)) : ways;
}

// A driver of GPUs that has been started does not survive a fork.
bool survives_fork(const std::vector<Way>& ways) {
  return std::ranges::none_of(ways, [](const Way& way) {
    for (const device::BackendDescriptor& row : device::registry().registered_backends())
      if (row.kind == device::Kind::Gpu && way.device_id.starts_with(row.id)) return true;
    return false;
  });
}

std::string fault_apart(const Generated& g, const std::vector<Way>& ways) {
  auto checked = check::check_valid(g.program);
  if (!checked) return "";
  const auto find = [&] {
    const std::optional<Fault> fault = find_fault(*checked, g.inputs, g.grid, ways);
    return fault ? fmt::format("{}: {}", to_string(fault->way), fault->what) : std::string();
  };
  return survives_fork(ways) ? apart(find, std::chrono::seconds(60)) : find();
}

// The ways that fail, one by one.
std::vector<Way> faulty_ways(const Generated& g, const std::vector<Way>& ways) {
  std::vector<Way> faulty;
  for (const Way& way : ways)
    if (!fault_apart(g, {way}).empty()) faulty.push_back(way);
  return faulty;
}

std::string arguments_text(const Arguments& a) {
  std::string text;
  if (a.size != generator::GeneratorOptions().size) text += fmt::format(" --size {}", a.size);
  for (const std::string& name : a.without) text += " --without " + name;
  if (!a.route.empty()) text += " --route " + a.route;
  if (a.driver) text += " --driver";
  if (a.stores) text += " --stores";
  if (a.poison) text += " --poison";
  if (!a.device.empty()) text += " --device " + a.device;
  return text;
}

int run(const Arguments& a) {
  uint64_t faults = 0;
  for (uint64_t seed = a.seed; seed < a.seed + a.count; ++seed) {
    Generated g;
    if (a.stores) {
      g = random_stores(seed);
    } else if (a.program.empty()) {
      generator::GeneratorOptions options;
      options.size = a.size;
      if (!a.device.empty()) limit_to(capabilities_of(a.device), options);
      for (const std::string& name : a.without) *generator::find_switch(options, name) = false;
      g = generator::generate(seed, options);
    } else {
      const Directed directed = load_directed(a.program);
      g.program = directed.program;
      g.inputs = directed.inputs;
      const auto checked = check::check_valid(g.program);
      const std::vector<std::span<const std::byte>> inputs(g.inputs.begin(), g.inputs.end());
      g.grid = check::resolve_launch(*checked, {.inputs = inputs, .grid = directed.grid})->grid;
    }
    const std::vector<Way> ways = ways_of(a);
    const std::string fault = fault_apart(g, ways);
    if (a.print) {
      fmt::print("{}\n", text::print(g.program));
      print_plan(*check::check_valid(g.program), ways.front());
    }
    if (fault.empty()) continue;
    ++faults;
    const std::string which =
        a.program.empty() ? fmt::format("--seed {}", seed) : fmt::format("--program {}", a.program);
    fmt::print("{}: {}\n", which, fault);
    fmt::print("  reproduce: vyre_plan_check {}{}\n", which, arguments_text(a));
    fmt::print("  reduce:    vyre_plan_check {} --reduce{}\n", which, arguments_text(a));
    std::fflush(stdout);
    if (!a.reduce) continue;
    const std::vector<Way> faulty = {faulty_ways(g, ways).front()};
    const Generated small = generator::reduce(g, [&](const Generated& candidate) {
      return !fault_apart(candidate, faulty).empty() &&
             check_schedules(candidate, {.random = 1}).fault == generator::Fault::None;
    });
    fmt::print("reduced to {} statements: {}\n{}\n// grid {}\n",
               generator::statement_count(small.program), fault_apart(small, faulty),
               text::print(small.program), fmt::join(small.grid, ","));
    print_plan(*check::check_valid(small.program), faulty.front());
  }
  fmt::print("{} programs, {} faults\n", a.count, faults);
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vyre::plan_test

int main(int argc, char** argv) {
  using namespace vyre::plan_test;
  Arguments a;
  CLI::App app("Plans against the oracle");
  app.add_option("--seed", a.seed, "the first seed");
  app.add_option("--count", a.count, "how many seeds from there");
  app.add_option("--size", a.size, "about how many statements");
  app.add_option("--program", a.program, "a program of test/plan/programs instead");
  app.add_option("--route", a.route, "only this one: native, persistent, resident, host");
  app.add_option("--without", a.without, "switch something off");
  app.add_flag("--print", a.print, "the program and its segments");
  app.add_flag("--reduce", a.reduce, "make what fails small");
  app.add_flag("--forward", a.one_schedule, "the forward schedule only");
  app.add_flag("--stores", a.stores, "programs that are about stores to an output");
  app.add_flag("--poison", a.poison,
               "on devices: twice, with two patterns in memory that is not cleared");
  app.add_flag("--driver", a.driver, "through the driver instead of the plan interpreter");
  app.add_option("--device", a.device, "on this device of the registry: cpu, cuda:1");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(a);
  } catch (const std::exception& e) {
    fmt::print(stderr, "vyre_plan_check: {}\n", e.what());
    return 2;
  }
}
