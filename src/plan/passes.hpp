// SPDX-License-Identifier: Apache-2.0
// The passes over the program as a whole. Each takes a Draft that satisfies what the ones before it
// promise and returns the next one; lower.cpp says in which order they run and why.
#pragma once

#include <functional>

#include "plan/draft.hpp"

namespace vyre::plan {

// Promise: no function that is still called holds a barrier of workgroup or grid scope, a fixpoint,
// a trap, a resume, a collective, an async copy, or a read of the result of a fixpoint; with
// `effects`, none writes memory of others or uses subgroup operations either; with `ids`, none
// reads the ids of its lane.
struct Inlined {
  bool effects = false;
  bool ids = false;
  bool only_axes = false;  // nothing but functions with parameters that have axes
};
Draft inline_calls(Draft d, const Inlined& also);

// Promise: no print and no assert is left. `record_words`: check::print_record_words(), 0 if
// nothing is printed.
Draft lower_prints(Draft d, Outline& plan, uint32_t record_words);

// Promise: no length of an axis is left, and an index by axes only where one of them is not proved;
// it then has the lengths of the axes as operands. After inline_calls().
Draft lower_axes(Draft d);

// Promise: a fixpoint whose passes may be 0 stands behind a trap with the tag
// Draft::zero_passes_tag, which all live lanes take if they are.
Draft guard_zero_passes(Draft d);

// Loads of other types hide bits: a store can change them without the loaded value changing.
bool loads_all_bits(ir::Type element);
// Decides for every buffer of every fixpoint how a change is noticed: Draft::fixpoints.
// In checked mode extra accesses would be reported before those of the source.
Draft find_fixpoint_modes(Draft d, bool checked);
// Promise: every write to a tracked buffer is followed by `mark(fixpoint)` if it changed something,
// for each fixpoint around it that tracks the buffer. `mark` adds the statement to the draft.
using MarkChanged = std::function<ir::StmtId(Draft&, uint32_t)>;
Draft track_writes(Draft d, const MarkChanged& mark);

// Where a program is cut.
struct CutPoints {
  ir::Scope scope = ir::Scope::Grid;
  // The native route cuts only where a launch has to end.
  bool native = false;

  [[nodiscard]] bool is_cut(const Draft& d, ir::StmtId id) const;  // the statement itself
  [[nodiscard]] bool is_cut(const Draft& d, ir::ExprId id) const;  // a load with barriers
  [[nodiscard]] bool below(const Draft& d, ir::StmtId id) const;   // at any depth
};

// Promise: loads with barriers of the scope are the whole value of a `let`; conditions of ifs and
// loops with a cut inside are locals (Draft::branch_words, loop_forms), as is the most passes of a
// fixpoint; such loops have no `break` but the one at the end of their condition.
Draft normalise(Draft d, const CutPoints& cuts);

}  // namespace vyre::plan
