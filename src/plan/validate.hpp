// SPDX-License-Identifier: Apache-2.0
// Invariants of a program between two passes. Each pass names in lower.cpp the one that it makes;
// builds for development and tests check it after that pass and after all later ones of the same
// stage, and end the process with the invariant and the pass where one is broken.
#pragma once

#include <string>

#include "plan/segments.hpp"

namespace vyre::plan {

#if defined(VYRE_VALIDATE_PLANS) && !defined(VYRE_MUTATIONS)
inline constexpr bool kValidates = true;
#else
inline constexpr bool kValidates = false;
#endif

// An invariant of the program, the tree or the plan; it says what is broken, or nothing.
using Invariant = std::string (*)(const Lowering& l);
// One of a segment on its way.
using SegmentInvariant = std::string (*)(const Lowering& l, const SegmentBody& s);

namespace invariant {

// ---- of the program, up to the cut

// Of all passes: every node has its facts, expressions are trees, a name stands for one local,
// which one statement declares.
std::string well_formed(const Lowering& l);
// No function that is called synchronises more than a subgroup, stops a lane or reads the result of
// a fixpoint.
std::string barriers_in_the_body(const Lowering& l);
std::string prints_lowered(const Lowering& l);
std::string axes_lowered(const Lowering& l);
// The most passes of a fixpoint are a constant above 0, or a local that a trap has tested.
std::string zero_passes_guarded(const Lowering& l);
// Every fixpoint has a row with a mode for each of its buffers.
std::string fixpoints_have_modes(const Lowering& l);
// The control words are a hidden buffer.
std::string control_declared(const Lowering& l);
// Every fixpoint has a local for the round of its votes.
std::string votes_declared(const Lowering& l);
// A load with barriers is the whole value of a `let`; arguments of calls have no effect.
std::string effects_separated(const Lowering& l);
// An `if` that marks the change follows every write to a tracked buffer of a fixpoint.
std::string writes_tracked(const Lowering& l);
// Control flow around a cut decides on a local, and no jump crosses a cut.
std::string normal_form(const Lowering& l);

// ---- of the tree

// Each raw segment stands once in the tree, in source order, and no cut is inside of one.
std::string segments_without_cuts(const Lowering& l);
// No local is live where the program begins.
std::string live_values_have_definitions(const Lowering& l);
// What lives across a cut is computed again or has storage that no other value uses meanwhile.
std::string storage_disjoint(const Lowering& l);
// Every buffer stands for one of the source or for hidden memory, and all storage has a buffer.
std::string hidden_declared(const Lowering& l);

// ---- of a segment on its way

// Nothing is left of traps, resumes and cuts, nor of the source's question for a fixpoint's result.
std::string edges_lowered(const Lowering& l, const SegmentBody& s);
// No fixpoint is left.
std::string fixpoints_lowered(const Lowering& l, const SegmentBody& s);
// Lanes leave all at once: a `return` is uniform over the grid.
std::string ended_lanes_lowered(const Lowering& l, const SegmentBody& s);
// Every local is declared before it is used, in a block around it, once.
std::string locals_declared(const Lowering& l, const SegmentBody& s);
// A persistent kernel takes the ids of virtual workgroups, not those of the launch.
std::string ids_are_virtual(const Lowering& l, const SegmentBody& s);
// The program of the segment is complete, and the driver knows what its buffers stand for.
std::string segment_complete(const Lowering& l, const SegmentBody& s);

// ---- of the plan

// The steps launch every segment once and decide on words that the frame has.
std::string steps_complete(const Lowering& l);

}  // namespace invariant

// Ends the process.
[[noreturn]] void report_broken(std::string_view pass, const std::string& what);

}  // namespace vyre::plan
