// SPDX-License-Identifier: Apache-2.0
// The part of a plan that the driver executes: the tree of steps, how each segment is launched, and
// the memory that the plan hides. Plain data without programs, so that a cache keeps it beside the
// code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "vyre/base/diagnostic.hpp"
#include "vyre/ir/ops.hpp"
#include "vyre/ir/program.hpp"
#include "vyre/ir/types.hpp"

namespace vyre::plan {

// Ways through a grid barrier.
enum class Route : uint8_t {
  Native,      // all workgroups at once, the barrier inside the launch
  Persistent,  // one launch with the barriers inside; each resident block loops over workgroups
  Resident,    // one launch per segment on buffers that stay on the device
  Host,        // one launch per segment, buffers go through the host
};
std::string_view name_of(Route route);
std::optional<Route> route_from_name(std::string_view name);

// All that a route leaves open about the code of a program. Equal variants of a program are the
// same code.
struct RouteVariant {
  Route route = Route::Resident;
  // Persistent route only. How many workgroups a block runs side by side, where their lanes do not
  // synchronise with each other.
  uint32_t workgroups_per_block = 1;
  // Not 0: a block iterates at most so often over virtual workgroups, and their state is in
  // registers. 0: any number of iterations, with state in memory.
  uint32_t unrolled_iterations = 0;
  // Iterations that are executed statement by statement, so that loads of one do not wait for those
  // of another.
  uint32_t interleave = 1;
  bool is_1d = false;  // the grid has workgroups along x only
  // Of the grid, side by side in a thread, where the code generator has a choice; 0: it chooses.
  uint32_t lanes = 0;
  friend bool operator==(const RouteVariant&, const RouteVariant&) = default;
};

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
    Votes,        // native route: words of votes and stops, zeros before the launch
    Grid,         // workgroups of the dispatch along each axis, for launches of fewer
    Print,        // what print() has written, see PrintWords; as large as the caller says
    Asserted,     // per lane: a word of the arguments of the assert that failed
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

// The words of Hidden::Kind::Print: a head, then records of one length. Word 0 of a record is the
// number of its row in Outline::prints + 1, and 0 until the record is written.
struct PrintWords {
  static constexpr uint32_t kUsed = 0;     // records handed out, those that did not fit aside
  static constexpr uint32_t kDropped = 1;  // two words: records that did not fit
  static constexpr uint32_t kPhase = 3;    // the last phase that a live lane has begun
  static constexpr uint32_t kBase = 4;     // the phase behind a resume; the host writes it
  static constexpr uint32_t kHead = 8;
  // Of a record:
  static constexpr uint32_t kSite = 0;
  static constexpr uint32_t kRecordPhase = 1;
  static constexpr uint32_t kRecordLane = 2;
  static constexpr uint32_t kArguments = 3;  // one or two words each
};

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

// How a segment is launched.
struct SegmentLaunch {
  std::vector<Argument> arguments;  // by BufferId of its program; shared ones: the source's
  std::vector<SharedUse> shared;
  bool swaps_frame = false;  // the halves change their roles if a lane has written
  bool swaps_group_frame = false;
  // The other half starts as a copy, for workgroups all of whose lanes wait.
  bool carries_group_frame = false;
  bool reports_live = false;     // Control says whether a lane is left; otherwise all are
  bool ends_phase = false;       // a barrier of the source follows
  bool barriers_inside = false;  // native route: barriers of the source are inside
  // Not 0: the launch has fewer workgroups than the dispatch, along x, each of which runs so many
  // of the dispatch side by side, and all of them in turns. There have to be at least `folds` for
  // each. The program's workgroup is that of the launch.
  uint32_t workgroups_per_block = 0;
  uint32_t unrolled_iterations = 0;  // not 0: no more than so many, with all state in registers
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
  bool unconditional = false;  // takes part even if no lane is left
};
// Workgroup scope: an asynchronous copy, done by all lanes of the workgroup.
struct CopyStep {
  ir::BufferId dst, src;  // of the program that was cut
  uint32_t dst_word = 0, src_word = 0, count_word = 0;
  ir::Type dst_type = ir::Type::U32, src_type = ir::Type::U32, count_type = ir::Type::U32;
  Position at;
};
// The two buffers exchange their memory: launches that follow are given that of the other one. The
// barrier stands before it.
struct SwapStep {
  ir::BufferId a, b;  // of the source program
  Position at;
};
struct Step {
  std::variant<LaunchStep, PhaseStep, BranchStep, LoopStep, FixpointStep, ResumeStep,
               CollectiveStep, CopyStep, SwapStep>
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
  bool assertion = false;  // the value is a row of Outline::asserts
};

// A print() or assert() of the source, by its place in the program after inlining.
struct PrintSite {
  std::string format;
  std::vector<ir::Type> types;  // of the arguments
  Position at;
};

// What a plan and its schedule share.
struct Outline {
  ir::Scope scope = ir::Scope::Grid;
  Route route = Route::Resident;
  std::string not_persistent = {};  // asked for a persistent kernel: why there is none
  bool whole = false;               // one segment that is the program itself
  Steps steps;
  std::vector<Hidden> hidden;
  ControlWords control;
  std::vector<FixpointInfo> fixpoints;
  std::vector<ResumeInfo> resumes;  // in source order
  std::vector<Site> sites;
  uint32_t frame_words = 0;
  uint32_t group_frame_words = 0;
  std::vector<PrintSite> prints;
  std::vector<PrintSite> asserts;
  uint32_t print_words = 0;  // of a record of print(); 0: nothing is printed
  uint32_t barriers = 0;     // places in the source that are grid barriers, after inlining
  bool wide_index = true;    // as in PlanOptions

  // The only row of that kind, if there is one.
  [[nodiscard]] std::optional<uint32_t> find_hidden(Hidden::Kind kind) const;
};

struct Schedule : Outline {
  std::vector<SegmentLaunch> segments;
};

}  // namespace vyre::plan
