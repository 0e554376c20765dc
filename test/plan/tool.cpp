// SPDX-License-Identifier: Apache-2.0
// vyre_plan_check: plans of random or directed programs against the oracle, on the command line.
// Prints what differs, with the command that shows it again and the one that makes it small.
#include <array>
#include <cstdio>
#include <cstdlib>
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
  std::vector<std::string> without;
  bool print = false;
  bool reduce = false;
  bool one_schedule = false;
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
          line(fmt::format("fixpoint {} most word {}", x.fixpoint, x.word));
          print_steps(x.body, depth + 1);
        },
        [&](const plan::ResumeStep& x) { line(fmt::format("resume {}", x.resume)); },
        [&](const plan::CollectiveStep&) { line("collective"); },
        [&](const plan::CopyStep&) { line("copy"); });
}

void print_plan(const check::CheckedProgram& checked, const Way& way) {
  const auto plan = plan::make_plan(checked, {.route = way.route, .checked = way.checked});
  if (!plan) return;
  fmt::print("// ---- {}\n", to_string(way));
  print_steps(plan->steps, 0);
  for (const plan::Segment& segment : plan->segments) {
    fmt::print("{}\n", text::print(segment.program.program));
    if (!way.workgroup_phases) continue;
    const plan::Plan phases = plan::cut_workgroup(segment.program);
    print_steps(phases.steps, 2);
    for (const plan::Segment& inner : phases.segments)
      fmt::print("{}\n", text::print(inner.program.program));
  }
}

// In a process of its own: a plan that is wrong enough makes the interpreter give up.
std::string compare_apart(const check::CheckedProgram& checked, const Generated& g,
                          const Way& way) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return "no pipe";
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const std::string what = compare(checked, g.inputs, g.grid, way);
    if (write(ends[1], what.data(), what.size()) < 0) std::_Exit(2);
    std::_Exit(0);
  }
  close(ends[1]);
  std::string what;
  std::array<char, 4096> part = {};
  for (ssize_t n = 0; (n = read(ends[0], part.data(), part.size())) > 0;)
    what.append(part.data(), static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? fmt::format("the interpreter ended with signal {}", WTERMSIG(status))
                             : what;
}

struct Fault {
  Way way;
  std::string what;
};
std::optional<Fault> find_fault(const Generated& g, const Arguments& a, bool rule_out_races) {
  auto checked = check::check_valid(g.program);
  if (!checked) return std::nullopt;
  if (rule_out_races && check_schedules(g, {.random = 1}).fault != generator::Fault::None)
    return std::nullopt;
  for (const Way& way : all_ways()) {
    if (!a.route.empty() && plan::name_of(way.route) != a.route) continue;
    if (a.one_schedule && way.schedule != oracle::Schedule::Forward) continue;
    if (std::string what = compare_apart(*checked, g, way); !what.empty())
      return Fault{way, std::move(what)};
  }
  return std::nullopt;
}

std::string arguments_text(const Arguments& a) {
  std::string text;
  if (a.size != generator::GeneratorOptions().size) text += fmt::format(" --size {}", a.size);
  for (const std::string& name : a.without) text += " --without " + name;
  if (!a.route.empty()) text += " --route " + a.route;
  return text;
}

int run(const Arguments& a) {
  uint64_t faults = 0;
  for (uint64_t seed = a.seed; seed < a.seed + a.count; ++seed) {
    Generated g;
    if (a.program.empty()) {
      generator::GeneratorOptions options;
      options.size = a.size;
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
    const std::optional<Fault> fault = find_fault(g, a, false);
    if (!fault && !a.print) continue;
    if (a.print) {
      fmt::print("{}\n", text::print(g.program));
      Way way = fault ? fault->way : Way{};
      if (!fault && !a.route.empty()) way.route = *plan::route_from_name(a.route);
      print_plan(*check::check_valid(g.program), way);
    }
    if (!fault) continue;
    ++faults;
    const std::string which =
        a.program.empty() ? fmt::format("--seed {}", seed) : fmt::format("--program {}", a.program);
    fmt::print("{}: {}: {}\n", which, to_string(fault->way), fault->what);
    fmt::print("  reproduce: vyre_plan_check {}{}\n", which, arguments_text(a));
    fmt::print("  reduce:    vyre_plan_check {} --reduce{}\n", which, arguments_text(a));
    std::fflush(stdout);
    if (!a.reduce) continue;
    Arguments same = a;
    same.route = plan::name_of(fault->way.route);
    const Generated small = generator::reduce(g, [&](const Generated& candidate) {
      return find_fault(candidate, same, true).has_value();
    });
    const std::optional<Fault> left = find_fault(small, same, false);
    fmt::print("reduced to {} statements: {}\n{}\n// grid {}\n",
               generator::statement_count(small.program), left ? left->what : "nothing",
               text::print(small.program), fmt::join(small.grid, ","));
    if (left) print_plan(*check::check_valid(small.program), left->way);
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
  app.add_option("--route", a.route, "only this one: native, virtual, resident, host");
  app.add_option("--without", a.without, "switch something off");
  app.add_flag("--print", a.print, "the program and its segments");
  app.add_flag("--reduce", a.reduce, "make what fails small");
  app.add_flag("--forward", a.one_schedule, "the forward schedule only");
  CLI11_PARSE(app, argc, argv);
  return run(a);
}
