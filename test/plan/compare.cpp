// SPDX-License-Identifier: Apache-2.0
#include "plan/compare.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vyre::plan_test {

using plan::Route;

std::string to_string(const Way& way) {
  return fmt::format("{}{}{}, {} {}", plan::name_of(way.route),
                     way.workgroup_phases ? " with workgroup phases" : "",
                     way.checked ? ", checked" : "", oracle::name_of(way.schedule), way.seed);
}

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const oracle::Schedule schedule :
       {oracle::Schedule::Forward, oracle::Schedule::Reversed, oracle::Schedule::Random}) {
    for (const Route route : {Route::Native, Route::Virtual, Route::Resident, Route::Host})
      ways.push_back({.route = route, .schedule = schedule});
    ways.push_back({.route = Route::Resident, .workgroup_phases = true, .schedule = schedule});
  }
  ways.push_back({.route = Route::Virtual, .checked = true});
  return ways;
}

std::optional<Fault> find_fault(const check::CheckedProgram& checked,
                                const std::vector<std::vector<std::byte>>& inputs,
                                const std::optional<check::Axes>& grid,
                                const std::vector<Way>& ways) {
  std::map<std::tuple<oracle::Schedule, uint64_t, bool>, Ran> sources;
  std::map<std::pair<Route, bool>, Result<plan::Plan>> plans;
  for (const Way& way : ways) {
    RunOptions options;
    options.schedule = way.schedule;
    options.seed = way.seed;
    options.grid = grid;
    options.checked = way.checked;
    const std::tuple key(way.schedule, way.seed, way.checked);
    auto source = sources.find(key);
    if (source == sources.end())
      source = sources.emplace(key, run_source(checked, inputs, options)).first;
    auto plan = plans.find({way.route, way.checked});
    if (plan == plans.end())
      plan = plans
                 .emplace(std::pair(way.route, way.checked),
                          plan::make_plan(checked, {.route = way.route, .checked = way.checked}))
                 .first;
    if (!plan->second) return Fault{way, "no plan: " + vyre::to_string(plan->second.error())};
    options.workgroup_phases = way.workgroup_phases;
    const Ran ran = interpret(checked, *plan->second, inputs, options);
    if (std::string what = difference(checked.program, source->second, ran); !what.empty())
      return Fault{way, std::move(what)};
  }
  return std::nullopt;
}

std::string apart(const std::function<std::string()>& find, std::chrono::seconds limit) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return "no pipe";
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(static_cast<unsigned>(limit.count()));
    std::string what;
    try {
      what = find();
    } catch (const std::exception& e) {
      what = std::string("exception: ") + e.what();
    }
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
  if (!WIFSIGNALED(status)) return what;
  return WTERMSIG(status) == SIGALRM
             ? "the interpreter does not end"
             : fmt::format("the interpreter ended with signal {}", WTERMSIG(status));
}

}  // namespace vyre::plan_test
