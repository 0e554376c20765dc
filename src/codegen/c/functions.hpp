// SPDX-License-Identifier: Apache-2.0
// Functions: those of a program, the body of the program as a function, and those of the maths
// library, which are programs too.
#pragma once

#include <string>

#include "codegen/c/body.hpp"

namespace vyre::codegen::c {

// A subgroup executes the body together; otherwise each lane executes it by itself.
bool runs_by_subgroup(const Unit& unit);

// The memory that the unit names, as `struct buffers_<unit>`, and its constant tables.
void print_memory(const Unit& unit, Writer& out);
// The functions that it calls, and phase_<unit>() last.
void print_functions(const Unit& unit, Writer& out);
// Calls phase_<unit>(g, &buffers, ...) for all lanes of a workgroup.
void print_lane_loop(const Unit& unit, Writer& out);

// The function of the maths library for this type, printed if it is new.
std::string maths_function(Library& library, ir::Intrinsic op, ir::Type type);

}  // namespace vyre::codegen::c
