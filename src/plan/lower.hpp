// SPDX-License-Identifier: Apache-2.0
// From a checked program to a plan, one pass after the other, for every route.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/segments.hpp"

namespace vyre::plan {

struct PassInfo {
  std::string_view name;    // "inline-calls"
  std::string_view reason;  // one line
};
// All passes of all routes, in the order in which they run.
std::vector<PassInfo> passes();

// What the passes begin with: print() and assert() only where they have a meaning, statements in
// the forms that passes and code generators know (core_forms.hpp).
check::CheckedProgram planned_program(const check::CheckedProgram& checked,
                                      const PlanOptions& options);

// What holds after a pass. `segment`: of a pass over one segment, the state of that one.
struct AfterPass {
  const PassInfo& pass;
  const Lowering& lowering;
  const SegmentBody* segment = nullptr;
  uint32_t number = 0;  // of the segment
};
// What is broken of the invariants that this pass and the ones before it have made, or nothing.
// Builds for development and tests check it after every pass.
std::string find_broken(const AfterPass& after);

using Observer = std::function<void(const AfterPass&)>;

struct Refused {
  Refusal refusal = Refusal::TooLarge;
  size_t segments = 0;  // that were made so far
};
// `observer` may be empty; it is called after every pass that ran.
std::expected<Plan, Refused> lower(const check::CheckedProgram& checked, const PlanOptions& options,
                                   Target target, const Observer& observer = {});

// What there is after a pass that comes before those over segments.
Lowering lower_up_to(const check::CheckedProgram& checked, const PlanOptions& options,
                     Target target, std::string_view pass);

// make_plan() with an observer. Where a program cannot be made persistent, the passes run a second
// time for the resident route, from the first one on.
Result<Plan> make_plan(const check::CheckedProgram& checked, const PlanOptions& options,
                       const Observer& observer);

}  // namespace vyre::plan
