// SPDX-License-Identifier: Apache-2.0
// The plan of a dispatch: how a device runs a program with barriers over the whole grid.
//
// A device without such a barrier, or with room for fewer workgroups than the grid has, runs
// segments: ordinary programs without a grid barrier, one launch each. What lives across a barrier
// is saved in hidden buffers, and a tree of steps says in which order segments run. Loops and
// branches around barriers are part of the tree; what they decide on is a word that a segment
// computed. docs/design/grid-barriers.md says why this is sound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/check/check.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/plan/schedule.hpp"
#include "vyre/plan/strategy.hpp"

namespace vyre::plan {

// A local that lives across the end of a segment, for people.
struct LiveAcross {
  enum class How : uint8_t { Saved, Kept, Recomputed };  // Kept: saved before and not changed
  std::string name;
  ir::Type type = ir::Type::U32;
  uint32_t elements = 0;  // of a private array
  check::Level level = check::Level::Lane;
  How how = How::Saved;
  std::string where;  // "slot 3", "frame word 1"
  std::string why;
  Position declared;
};
std::string_view name_of(LiveAcross::How how);

struct Segment : SegmentLaunch {
  check::CheckedProgram program;
  // Native route: the local that is false in inactive lanes, which only execute uniform code up to
  // barriers, and takes them out of subgroup operations.
  ir::LocalId live;
  std::vector<std::string> regions;        // of its statements, in source order
  std::vector<std::string> enclosing;      // those that all of its statements are in
  std::vector<LiveAcross> live_across;     // in source order
  uint32_t first_line = 0, last_line = 0;  // of its statements in the source; 0: unknown
  Position barrier;                        // what ends it, if that has a position
};

struct Plan : Outline {
  std::vector<Segment> segments;
};
// All that the driver needs of a plan. The positions of steps and sites are left out: programs that
// differ in nothing else share one schedule.
Schedule schedule_of(const Plan& plan);

struct PlanOptions {
  RouteVariant variant = {};
  bool checked = false;    // accesses out of bounds stop a lane
  bool wide_index = true;  // the device has 64-bit integers
  // Instead of the program's; one that resolve_launch() has accepted.
  std::optional<check::Axes> workgroup = {};
  bool print = false;  // print() writes lines; otherwise it is left out
};

// Fails if asked for a native route in checked mode (Unsupported), or if the segments together
// would be of absurd size (LimitExceeded). A program that cannot be made persistent gets the plan
// of the resident route, and Plan::not_persistent says why.
Result<Plan> make_plan(const check::CheckedProgram& checked, const PlanOptions& options = {});
// For devices that run sources: one launch of the program with its barriers. What `print` and
// `checked` leave out is not in it.
Plan whole_plan(const check::CheckedProgram& checked, const PlanOptions& options = {});

// Scope workgroup: the phases between workgroup barriers of a segment (or of any program without a
// grid barrier), for backends that run the lanes of a workgroup one after the other. Shared buffers
// become arguments. `accesses_end_lanes`: checked mode, in which an access out of bounds does.
Result<Plan> cut_workgroup(const check::CheckedProgram& checked, bool accesses_end_lanes = false);

// ---- how much memory

struct StateBytes {
  uint64_t per_lane = 0;
  uint64_t per_workgroup = 0;
  uint64_t fixed = 0;
  uint64_t snapshots = 0;
  uint64_t total = 0;
};
// LimitExceeded if the total does not fit in 64 bits, or a hidden buffer has more elements than the
// plan's indices reach.
Result<StateBytes> state_bytes(const Outline& plan, const check::CheckedProgram& source,
                               const check::Launch& launch);
// LimitExceeded naming what is saved and the barrier with the most of it.
Result<void> check_state(const Plan& plan, const check::CheckedProgram& source,
                         const check::Launch& launch, uint64_t max_state_bytes);

}  // namespace vyre::plan
