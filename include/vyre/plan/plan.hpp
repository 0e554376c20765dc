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
#include "vyre/device/capabilities.hpp"

namespace vyre::plan {

// Ways through a grid barrier.
enum class Route : uint8_t {
  Native,    // all workgroups at once, the barrier inside the launch
  Virtual,   // one launch with the barriers inside; each resident block runs several workgroups
  Resident,  // one launch per segment on buffers that stay on the device
  Host,      // one launch per segment, buffers go through the host
};
std::string_view name_of(Route route);
std::optional<Route> route_from_name(std::string_view name);

// Memory of a dispatch that no source names.
struct Hidden {
  enum class Kind : uint8_t {
    Frame,        // grid-uniform values; two halves: segments read one and write the other
    GroupFrame,   // workgroup-uniform values, likewise
    Slot,         // values of single lanes
    Shared,       // shared memory between two segments; zeros at the start
    Mask,         // per lane: kLive, kEnded, or kParked + number of the resume it waits for
    Control,      // words of the plan, see ControlWords
    Fixpoint,     // fixpoint_passes() and fixpoint_converged()
    ReportValue,  // per lane: value of its last trap
    ReportSite,   // per lane: row of Plan::sites
    Snapshot,     // a fixpoint's buffer as it was before the pass
    Meeting,      // native route: words of votes and stops, zeros before the launch
    Grid,         // workgroups of the dispatch along each axis, for launches of fewer
  };
  enum class Extent : uint8_t { Once, PerWorkgroup, PerLane, LikeBuffer };
  Kind kind = Kind::Control;
  std::string name = {};
  ir::Type element = ir::Type::U32;
  Extent extent = Extent::Once;
  uint32_t count = 1;      // elements per dispatch, workgroup or lane
  ir::BufferId like = {};  // Shared, Snapshot: of the source program
  bool two_halves = false;
};
inline constexpr uint32_t kLive = 0;
inline constexpr uint32_t kEnded = 1;
inline constexpr uint32_t kParked = 2;
std::string_view name_of(Hidden::Kind kind);

// The words of Hidden::Kind::Control.
struct ControlWords {
  static constexpr uint32_t kLive = 0;     // nonzero: a lane reached the end of the segment
  static constexpr uint32_t kStop = 1;     // smallest lane that trapped for good; kNoLane: none
  static constexpr uint32_t kStopped = 2;  // native route: the phase of that trap has ended
  static constexpr uint32_t kFirstChanged = 3;  // one per fixpoint that tracks its writes
  uint32_t fixpoints = 0;
  uint32_t resumes = 0;
  [[nodiscard]] uint32_t changed(uint32_t fixpoint) const { return kFirstChanged + fixpoint; }
  [[nodiscard]] uint32_t parked(uint32_t resume) const {
    return kFirstChanged + fixpoints + resume;
  }
  [[nodiscard]] uint32_t count() const { return kFirstChanged + fixpoints + resumes; }
};
inline constexpr uint32_t kNoLane = ~uint32_t{0};

// What a buffer of a segment's program stands for.
struct Argument {
  enum class Kind : uint8_t { Source, Hidden, HiddenOut };  // HiddenOut: the half that is written
  Kind kind = Kind::Source;
  uint32_t index = 0;  // BufferId of the source program, or row of Plan::hidden
  friend bool operator==(const Argument&, const Argument&) = default;
};

// Shared memory at the edges of a segment. What is not restored starts as zeros.
struct SharedUse {
  ir::BufferId buffer;  // of the segment's program
  uint32_t hidden = 0;
  bool restore = false;
  bool save = false;  // when all lanes of the workgroup are done, also if none is left
};

// A local that lives across the end of a segment, for people.
struct Crossing {
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
std::string_view name_of(Crossing::How how);

struct Segment {
  check::CheckedProgram program;
  std::vector<Argument> arguments;  // by BufferId of its program; shared ones: the source's
  std::vector<SharedUse> shared;
  bool swaps_frame = false;  // the halves change their roles if a lane has written
  bool swaps_group_frame = false;
  // The other half starts as a copy, for workgroups all of whose lanes wait.
  bool carries_group_frame = false;
  bool tells_live = false;  // Control says whether a lane is left; otherwise all are
  bool ends_phase = false;  // a barrier of the source follows
  // Native route: barriers of the source are inside; `live` is the local that is false in lanes
  // that only walk along, and takes them out of subgroup operations.
  bool barriers_inside = false;
  ir::LocalId live;
  // Not 0: the launch has fewer workgroups than the dispatch, along x, each of which runs so many
  // of the dispatch side by side, and all of them in turns. There have to be at least `folds` for
  // each. The program's workgroup is that of the launch.
  uint32_t folds = 0;
  uint32_t turns = 0;                // not 0: no more than so many, with all state in registers
  std::vector<std::string> regions;  // of its statements, in source order
  std::vector<Crossing> crossings;   // in source order
  uint32_t first_line = 0, last_line = 0;  // of its statements in the source; 0: unknown
  Position barrier;                        // what ends it, if that has a position
};

enum class FixpointMode : uint8_t { Tracked, TrackedStore, Snapshot };
std::string_view name_of(FixpointMode mode);

struct FixpointBuffer {
  ir::BufferId buffer;  // of the source program
  FixpointMode mode = FixpointMode::Snapshot;
  std::string why;
  std::optional<uint32_t> snapshot = {};  // row of Plan::hidden
};
struct FixpointInfo {
  std::vector<FixpointBuffer> buffers;
  Position at;
};

struct Step;
using Steps = std::vector<Step>;

struct LaunchStep {
  uint32_t segment = 0;
};
// A barrier with nothing before it that would have to be launched.
struct PhaseStep {};
struct BranchStep {
  uint32_t word = 0;  // of the frame
  Steps then_steps;
  Steps else_steps;
  Position at;
};
struct LoopStep {
  Steps condition;
  uint32_t word = 0;
  Steps body;
  Position at;
};
// The entry barrier stands before it; the body ends with the barrier of the pass.
struct FixpointStep {
  uint32_t fixpoint = 0;              // of Plan::fixpoints
  std::optional<uint32_t> most = {};  // passes, if the source says it
  uint32_t word = 0;                  // otherwise they are here
  Steps body;
};
struct ResumeStep {
  uint32_t resume = 0;  // of Plan::resumes
};
struct CollectiveStep {
  ir::CollectiveOp op = ir::CollectiveOp::AllReduce;
  ir::ReduceOp reduce = ir::ReduceOp::Add;
  uint32_t root = 0, group = 0;
  ir::BufferId src, dst;  // dst: not valid if the operation is in place
  Position at;
  bool sure = false;  // takes part even if no lane is left
};
// Workgroup scope: an asynchronous copy, done by all lanes of the workgroup.
struct CopyStep {
  ir::BufferId dst, src;  // of the program that was cut
  uint32_t dst_word = 0, src_word = 0, count_word = 0;
  ir::Type dst_type = ir::Type::U32, src_type = ir::Type::U32, count_type = ir::Type::U32;
  Position at;
};
struct Step {
  std::variant<LaunchStep, PhaseStep, BranchStep, LoopStep, FixpointStep, ResumeStep,
               CollectiveStep, CopyStep>
      node;
};

struct ResumeInfo {
  uint16_t tag = 0;
  Position at;
};
// Where a lane stops: a trap, or a fixpoint of at most 0 passes.
struct Site {
  uint16_t tag = 0;
  bool zero_passes = false;
  Position at;
};

struct Plan {
  ir::Scope scope = ir::Scope::Grid;
  Route route = Route::Resident;
  bool whole = false;  // one segment that is the program itself
  Steps steps;
  std::vector<Segment> segments;
  std::vector<Hidden> hidden;
  ControlWords control;
  std::vector<FixpointInfo> fixpoints;
  std::vector<ResumeInfo> resumes;  // in source order
  std::vector<Site> sites;
  uint32_t frame_words = 0;
  uint32_t group_frame_words = 0;
  uint32_t barriers = 0;   // places in the source that are grid barriers, after inlining
  bool wide_index = true;  // as in PlanOptions

  // The only row of that kind, if there is one.
  [[nodiscard]] std::optional<uint32_t> find_hidden(Hidden::Kind kind) const;
};

struct PlanOptions {
  Route route = Route::Resident;
  bool checked = false;    // accesses out of bounds stop a lane
  bool wide_index = true;  // the device has 64-bit integers
  // Instead of the program's; one that resolve_launch() has accepted.
  std::optional<check::Axes> workgroup = {};
  // Virtual route: workgroups that a block should run side by side, where their lanes do not meet;
  // turns that are enough, if the state of so many fits in registers (0: any number); whether the
  // grid has workgroups along x only; turns that go on statement by statement, so that loads of one
  // do not wait for those of another.
  uint32_t together = 1;
  uint32_t turns = 0;
  bool row = false;
  uint32_t interleaved = 1;
};

// Fails if asked for a native route in checked mode (Unsupported), or if the segments together
// would be of absurd size (LimitExceeded).
Result<Plan> make_plan(const check::CheckedProgram& checked, const PlanOptions& options = {});
// For devices that run sources: one launch of the program with its barriers.
Plan whole_plan(const check::CheckedProgram& checked);

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
Result<StateBytes> state_bytes(const Plan& plan, const check::CheckedProgram& source,
                               const check::Launch& launch);
// LimitExceeded naming what is saved and the barrier with the most of it.
Result<void> check_state(const Plan& plan, const check::CheckedProgram& source,
                         const check::Launch& launch, uint64_t max_state_bytes);

// ---- the choice of a route

struct RouteRequest {
  device::Capabilities capabilities = {};
  uint64_t resident_workgroups = 0;  // what the loaded code can keep on the device at once
  bool require_cooperative = false;
  bool checked = false;
};
struct RouteChoice {
  Route route = Route::Resident;
  std::string why;
};
// Unsupported: no way through, or a native barrier is required of a device without one.
// CooperativeResidencyExceeded: it is required and the grid does not fit.
Result<RouteChoice> choose_route(const check::CheckedProgram& checked, const check::Launch& launch,
                                 const RouteRequest& request);

bool contains_grid_barrier(const check::CheckedProgram& checked);

// How many blocks a segment that folds workgroups is launched with, of which `resident` can be on
// the device at once. 0: they are not enough.
uint64_t blocks_of(const Segment& segment, uint64_t workgroups, uint64_t resident);

}  // namespace vyre::plan
