// SPDX-License-Identifier: Apache-2.0
// What a phase costs, and what of a lane's place it depends on.
#pragma once

#include <initializer_list>

#include "vyre/check/check.hpp"

namespace vyre::codegen {

bool mentions(const check::CheckedProgram& phase, std::initializer_list<ir::Builtin> builtins);

// A lane's workgroup makes no difference to it.
bool may_merge(const check::CheckedProgram& phase);

struct Cost {
  double lane = 1;       // in about a nanosecond
  bool guessed = false;  // it has loops of unknown length
};
Cost estimated_cost(const check::CheckedProgram& phase, uint32_t lanes);

}  // namespace vyre::codegen
