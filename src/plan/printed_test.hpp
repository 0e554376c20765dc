// SPDX-License-Identifier: Apache-2.0
// The planner's passes as functions from text to text, for tests that hold what a pass makes of a
// program against what it should be. A program that does not check fails the test.
#pragma once

#include <string>
#include <string_view>

#include "plan/cut.hpp"

namespace vyre::plan {

// Holds a text against test/golden/plan/NAME.expected. With VYRE_REGEN=1 it writes the file.
void expect_golden(std::string_view name, const std::string& text);

// A program as it enters the planner.
check::CheckedProgram checked_text(std::string_view source);
Draft draft_of(std::string_view source);

// The statements of a Draft as text::print() writes them, without declarations and functions.
std::string body_of(const Draft& d);

// ---- the Draft after a pass and all those before it
std::string inlined(std::string_view source, bool effects = false);
// One line for each buffer of each fixpoint: name, mode, reason.
std::string fixpoint_modes(std::string_view source, bool checked = false);
// A change is marked in the hidden buffer `control`, at 2 + number of the fixpoint.
std::string tracked(std::string_view source);
std::string normalised(std::string_view source, ir::Scope scope = ir::Scope::Grid);

// ---- the cut
// The tree with its segments: their statements, whether a phase ends, what is live at their
// boundaries.
std::string tree_of(std::string_view source, ir::Scope scope = ir::Scope::Grid);
// What lives across boundaries, with the place where it is kept.
std::string storage_of(std::string_view source, ir::Scope scope = ir::Scope::Grid);

// ---- plans
// The steps, hidden memory, and every segment with what the host does at its boundaries.
std::string print_plan(const Plan& plan, const ir::Program& source);
std::string planned(std::string_view source, const PlanOptions& options = {});
std::string workgroup_phases(std::string_view source);

}  // namespace vyre::plan
