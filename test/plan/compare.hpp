// SPDX-License-Identifier: Apache-2.0
// One program, one way through its barriers, against the oracle.
#pragma once

#include <string>
#include <vector>

#include "plan/interpreter.hpp"

namespace vyre::plan_test {

struct Way {
  plan::Route route = plan::Route::Resident;
  bool workgroup_phases = false;
  bool checked = false;
  oracle::Schedule schedule = oracle::Schedule::Forward;
  uint64_t seed = 1;
};
std::string to_string(const Way& way);
// Every route, suspended lanes and workgroup phases, three schedules.
std::vector<Way> all_ways();

// What differs, in one line; empty if nothing does.
std::string compare(const check::CheckedProgram& checked,
                    const std::vector<std::vector<std::byte>>& inputs,
                    const std::optional<check::Axes>& grid, const Way& way);

}  // namespace vyre::plan_test
