// SPDX-License-Identifier: Apache-2.0
// Code for a subgroup. Between two subgroup operations each lane executes its statements in a loop
// over the lanes, a run; the operations, and the control flow around them, are executed once for
// all. What a lane keeps from one run to another is in arrays with an element for each lane.
#pragma once

#include <functional>

#include "codegen/c/statements.hpp"

namespace vyre::codegen::c {

// Statements at the depth of `out`: arrays first. In scope are g, m, first, lanes and `on`, and in
// a function `live` and `result`. `names` are those of its parameters.
void print_subgroup(const Unit& unit, ir::Block block, Writer& out, bool in_function,
                    const std::map<uint32_t, std::string>& names);

}  // namespace vyre::codegen::c
