// SPDX-License-Identifier: Apache-2.0
#include "plan/compare.hpp"

#include <fmt/format.h>

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

std::string compare(const check::CheckedProgram& checked,
                    const std::vector<std::vector<std::byte>>& inputs,
                    const std::optional<check::Axes>& grid, const Way& way) {
  RunOptions options;
  options.schedule = way.schedule;
  options.seed = way.seed;
  options.grid = grid;
  options.checked = way.checked;
  const Ran source = run_source(checked, inputs, options);
  auto plan = plan::make_plan(checked, {.route = way.route, .checked = way.checked});
  if (!plan) return "no plan: " + vyre::to_string(plan.error());
  options.workgroup_phases = way.workgroup_phases;
  const Ran ran = interpret(checked, *plan, inputs, options);
  return difference(checked.program, source, ran);
}

}  // namespace vyre::plan_test
