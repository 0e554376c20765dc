// SPDX-License-Identifier: Apache-2.0
// The machine that runs Code: lanes, the workgroups that hold them, where they synchronise.
//
// A lane runs until it ends, traps, or has to wait for others. When the last live lane of a scope
// arrives at a synchronisation point, its action happens once, and all go on. Which ready
// lane runs next is the schedule's choice (schedule.cpp) and must not matter to a race-free
// program.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "oracle/code.hpp"
#include "oracle/races.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::oracle {

enum class LaneState : uint8_t { Ready, AtSubgroup, AtWorkgroup, AtGrid, Trapped, Ended };

struct Lane {
  Pc pc = 0;
  uint32_t frame = 0;  // first slot of the function it is in
  uint16_t tag = 0;    // Trapped: of the resume it waits for
  LaneState state = LaneState::Ready;
  bool retired = false;  // from subgroup operations
};

// An async copy between its start and its wait.
struct PendingCopy {
  uint16_t tag = 0;
  Pc pc = 0;
  MemoryRow dst = 0, src = 0;
  __int128 dst_index = 0, src_index = 0;
  uint64_t count = 0;
  bool done = false;
};

struct Group {
  uint64_t id = 0;
  std::array<uint32_t, 3> wid = {};
  std::vector<Lane> lanes;
  std::vector<uint64_t> slots;   // frame_slots for each lane
  std::vector<uint64_t> shared;  // bytes, aligned
  std::vector<PendingCopy> copies;
  struct Subgroup {
    uint32_t live = 0;
    uint32_t arrived = 0;
  };
  std::vector<Subgroup> subgroups;
  uint32_t live = 0;  // neither ended nor trapped
  uint32_t at_workgroup = 0;
  uint32_t at_grid = 0;
  uint32_t trapped = 0;
};

struct LaneRef {
  Group* group = nullptr;
  uint32_t lane = 0;
};

// Why a dispatch stops at the end of its phase.
struct Stop {
  enum class Kind : uint8_t { Trap, OutOfBounds, FixpointZero, Assertion };
  Kind kind = Kind::Trap;
  uint32_t lane = 0;  // the smallest of the phase
  Pc pc = 0;
  uint16_t tag = 0;
  uint32_t value = 0;
  MemoryRow memory = 0;
  __int128 index = 0;
  uint64_t count = 0;
  std::string text = {};  // of an assertion
};

// A run of some workgroups of a grid, for programs that are part of a plan.
struct Slice {
  uint64_t first = 0;
  std::optional<uint64_t> count = {};  // all that follow
  // Called with the shared memory of a workgroup before its first and after its last statement.
  std::function<void(uint64_t, std::span<std::byte>)> on_start = {};
  std::function<void(uint64_t, std::span<std::byte>)> on_end = {};
  // By BufferId: lanes that store to one element with atomic_store have to agree on the value.
  std::vector<bool> agreed = {};
  // Like a device whose barriers count on every lane: none may have ended at a barrier.
  bool all_arrive = false;
};

inline MemoryRow resolve(MemoryRow row, const uint64_t* frame) {
  return (row & kParam) != 0 ? static_cast<MemoryRow>(frame[row & ~kParam]) : row;
}
Position position_of(const check::CheckedProgram& checked, const Code& code, Pc pc);
// By phase and lane; the lines of a lane stay in their order.
void sort_lines(PrintReport& printed);
// The error that a dispatch ends with which a lane stopped.
Error error_of(const check::CheckedProgram& checked, const Code& code, const Stop& stop);

// What print() and assert() say.
class LineWriter {
 public:
  LineWriter(const check::CheckedProgram& checked, const Code& code, const Options& options)
      : checked_(checked), code_(code), options_(options) {}
  // Of the row in Code::prints.
  [[nodiscard]] std::string text(uint32_t row, const uint64_t* frame) const;
  // Nothing unless lines are wanted.
  void add(uint32_t row, const uint64_t* frame, uint64_t phase, uint32_t lane) const;

 private:
  const check::CheckedProgram& checked_;
  const Code& code_;
  const Options& options_;
};

class Machine : private HandlerBuffers {
 public:
  // `buffers` by BufferId, as long as the launch says; shared ones are not looked at.
  Machine(const check::CheckedProgram& checked, const Code& code, const check::Launch& launch,
          const Options& options, std::vector<std::span<std::byte>> buffers, Slice slice = {});

  // Runs the whole program once on the buffers.
  Result<void> run_pass();
  // What happened over all passes, but for buffers and launch.
  Outcome take_totals();
  // Why the pass ended early, if a lane stopped it.
  [[nodiscard]] const std::optional<Stop>& stopped() const { return stop_; }
  // Elements of agreed buffers that two lanes stored different values to.
  [[nodiscard]] uint64_t disagreements() const { return disagreements_; }
  // Slice::all_arrive: barriers that some lane would never have reached.
  [[nodiscard]] uint64_t missed_barriers() const { return missed_barriers_; }

 private:
  struct MemoryView {
    std::byte* data = nullptr;
    uint64_t count = 0;
    ir::Type element = ir::Type::U32;
  };
  struct Fixpoint {
    uint32_t most = 0;
    uint32_t passes = 0;
    std::vector<std::vector<std::byte>> before;
    std::vector<MemoryRow> buffers;
  };

  // ---- schedule.cpp: which lane runs
  std::unique_ptr<Group> start_group(uint64_t n);
  void keep_or_finish(std::unique_ptr<Group> group);
  void run_in_order();
  void run_group_in_order(Group& group);
  void run_at_random();
  void remove_finished_groups();
  void make_ready(Group& group, uint32_t lane);

  // ---- execute.cpp: what a lane does
  // Runs at most `budget` statements. True: the lane could go on.
  bool run_lane(Group& group, uint32_t index, uint64_t budget);
  // A load, a store or an atomic. False: the lane stopped.
  bool access(Group& group, uint32_t index, Pc pc, uint64_t* frame);
  // The lane ends, traps, or waits for others.
  void suspend(Group& group, uint32_t index, Pc pc, const uint64_t* frame);
  bool poll(Pc pc);
  MemoryView view(MemoryRow row, Group& group, uint64_t* frame);
  uint64_t builtin(const Instr& instr, const Group& group, uint32_t lane) const;
  // False: the lane has ended, out of bounds.
  bool start_copy(Group& group, uint32_t lane, Pc pc, uint64_t* frame);
  void perform(Group& group, PendingCopy& copy);
  void stop(const Stop& stop);

  // ---- synchronise.cpp: what happens where lanes synchronise
  void arrive(Group& group, uint32_t index, ir::Scope scope);
  void leave(Group& group, uint32_t index, LaneState state);
  void complete_subgroup(Group& group, uint32_t subgroup);
  void subgroup_operation(Group& group, uint32_t subgroup, const Instr& instr);
  void complete_workgroup(Group& group);
  Result<void> complete_grid();
  void enter_fixpoint(const Instr& instr, Pc pc, const uint64_t* frame);
  void end_fixpoint_pass(const Instr& instr, Pc pc);
  Result<void> resume(uint16_t tag);
  Result<void> resume_first();
  Result<void> collective(const CollectiveInfo& info, const uint64_t* frame);
  Result<void> remaining_collectives(Pc before);
  void release_grid(Pc to);
  void end_phase();
  uint64_t* frame_of(Group& group, uint32_t lane) {
    return group.slots.data() + uint64_t{lane} * code_.frame_slots + group.lanes[lane].frame;
  }

  [[nodiscard]] uint32_t global_id(const Group& group, uint32_t lane) const {
    return static_cast<uint32_t>(group.id * lanes_per_group_ + lane);
  }

  std::span<const std::byte> read(ir::BufferId buffer) const override;
  std::span<std::byte> write(ir::BufferId buffer) override;

  const check::CheckedProgram& checked_;
  const Code& code_;
  const check::Launch& launch_;
  const Options& options_;
  const LineWriter lines_{checked_, code_, options_};
  std::vector<std::span<std::byte>> buffers_;
  std::vector<std::byte> tables_;
  std::optional<RaceDetector> races_;
  const uint32_t lanes_per_group_;
  Slice slice_;
  uint64_t groups_in_slice_ = 0;
  std::map<std::pair<MemoryRow, uint64_t>, uint64_t> agreed_;
  uint64_t disagreements_ = 0;
  uint64_t missed_barriers_ = 0;

  std::vector<std::unique_ptr<Group>> groups_;  // those with a lane that has not ended
  std::vector<std::unique_ptr<Group>> spare_;   // finished ones, to be used again
  uint64_t unstarted_ = 0;
  uint64_t live_ = 0;
  uint64_t at_grid_ = 0;
  uint64_t trapped_ = 0;
  std::vector<LaneRef> ready_;   // Schedule::Random only
  std::vector<uint64_t> order_;  // of starting, Schedule::Random
  std::mt19937_64 random_;

  std::vector<Fixpoint> fixpoints_;  // by row of Code::fixpoints
  uint32_t fixpoint_passes_ = 0;
  bool fixpoint_converged_ = false;
  std::map<uint16_t, std::vector<LaneRef>> waiting_;  // trapped lanes by tag
  std::map<uint16_t, std::vector<TrapReport>> reports_;
  size_t next_collective_ = 0;  // of Code::unconditional_collectives

  std::optional<Stop> stop_;
  std::optional<Error> error_;  // ends the dispatch at once
  std::chrono::steady_clock::time_point deadline_;
  std::chrono::steady_clock::time_point next_progress_;
  uint64_t until_poll_ = 0;

  Outcome totals_;
  uint64_t phases_before_ = 0;  // of the passes before this one
};

}  // namespace vyre::oracle
