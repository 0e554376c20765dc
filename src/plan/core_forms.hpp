// SPDX-License-Identifier: Apache-2.0
// A program in fewer forms of statements, with the same meaning. Planner and code generators know
// these only:
//   - a `for` counts up, by a constant step;
//   - a private array starts as zeros.
#pragma once

#include <optional>

#include "vyre/check/check.hpp"

namespace vyre::plan {

// None: the program has these forms only already. All names are free ones, and a loop whose step
// is below 1 traps with ir::step_trap_tag().
std::optional<check::CheckedProgram> core_forms(const check::CheckedProgram& checked);

}  // namespace vyre::plan
