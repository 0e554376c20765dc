// SPDX-License-Identifier: Apache-2.0
// What differs per target in the body of a program: small interfaces that a target implements and
// the body emitter calls. A target implements TargetLowering and RowLowering, and one of
// CoreLowering (lanes share a thread) and ThreadLowering (a lane is a thread).
#pragma once

#include "codegen/llvm/body/memory_ref.hpp"

namespace vyre::codegen {

// Where memory lies, what lanes are called, and how one of them stops.
class TargetLowering {
 public:
  virtual ~TargetLowering() = default;
  virtual Val builtin(ir::Builtin builtin, uint32_t axis) = 0;
  virtual MemoryRef buffer(ir::BufferId id) = 0;
  // Global numbers of the lanes, as u32.
  virtual Val global_lane() = 0;
  // One lane stops: reports are kept for the smallest.
  virtual void trapped(SiteRef site, llvm::Value* lane, llvm::Value* value) = 0;
  virtual void out_of_bounds(SiteRef site, const MemoryRef& memory, llvm::Value* lane,
                             llvm::Value* index) = 0;
  // In each iteration of a loop without a known end; `weight`: about how long an iteration is.
  virtual void poll(SiteRef site, uint32_t weight) = 0;
  // A block at the end of the lane's (or the block's) code.
  virtual llvm::BasicBlock* lane_end() = 0;
  // Between them what is emitted belongs to a function of its own, of which nothing can be computed
  // before it is called.
  virtual void enter_function() = 0;
  virtual void leave_function() = 0;
};

// Rows of lanes along x, and what the code of a row may rely on without a test.
class RowLowering {
 public:
  virtual ~RowLowering() = default;
  // First lane of the block along x, as i32, to which Val::offset is added.
  virtual llvm::Value* start() = 0;
  // The same as i64. Where ensure_below() has said yes, the sum with the offset (as a signed
  // number) is the index without wrapping.
  virtual llvm::Value* wide_start() = 0;
  // True if from now on start + offset .. + lanes lies below the limit (u32): a guard before the
  // code of the row tests it. False: there is no such guard, and the caller has to test.
  virtual bool ensure_below(llvm::Value* offset, llvm::Value* limit, bool signed_index) = 0;
  virtual bool ensure_at_least(llvm::Value* offset, llvm::Value* limit) = 0;
  // Where ensure_below() has said yes: the offset as a signed number of 64 bits.
  virtual llvm::Value* row_offset(llvm::Value* offset) = 0;
  // Called for an unmasked contiguous store outside of loops; true: write past the caches, the row
  // starts at a multiple of row_align().
  virtual bool streams(ir::BufferId id, llvm::Value* offset) = 0;
  // The demanded lanes are those with start + offset + k below the limit, or equal to it.
  virtual void demand_lanes(llvm::Value* offset, llvm::Value* limit, bool equal) = 0;
};

// Only where a thread runs a block of lanes.
class CoreLowering {
 public:
  virtual ~CoreLowering() = default;
  // Lane serialisation: from here on a block of one lane, the one with this number in the block
  // (i32), until leave_lane().
  virtual void enter_lane(llvm::Value* lane) = 0;
  virtual void leave_lane() = 0;
  // For loops that poll after many iterations: how many of them at most (i64), where an iteration
  // weighs 2^weight_bits; and after so many (i64).
  virtual llvm::Value* iterations_left(uint32_t weight_bits) = 0;
  virtual void poll_iterations(SiteRef site, llvm::Value* iterations, uint32_t weight_bits) = 0;
};

// Only where each lane is a thread of its own. Elsewhere the plan cuts at barriers and copies, and
// a subgroup is a block of lanes.
class ThreadLowering {
 public:
  virtual ~ThreadLowering() = default;
  virtual void workgroup_barrier() = 0;
  // `at`: the statement, if it is one.
  virtual void grid_barrier(ir::StmtId at) = 0;
  virtual void subgroup_barrier() = 0;
  virtual void copy(const CopyOperands& copy, SiteRef site) = 0;
  // What a statement of the program does, and what an expression of it is, if the target has its
  // own way for it; otherwise false and null.
  virtual bool try_lower_statement(ir::StmtId id) = 0;
  virtual llvm::Value* try_lower_expression(ir::ExprId id) = 0;
  // Of lanes of the subgroup that have not ended: the bits (u32) of those for which it holds, and
  // the word (i32) of another one (below 32), which is anything if that one has ended. All of them
  // come here.
  virtual llvm::Value* ballot(llvm::Value* condition) = 0;
  virtual llvm::Value* from_lane(llvm::Value* word, llvm::Value* lane) = 0;
  // All subgroups have 32 lanes, and none of them ends before the others.
  [[nodiscard]] virtual bool subgroups_are_full() const = 0;
  // Between accesses of this lane and those of others anywhere on the device.
  virtual void fence() = 0;
  // A function of one f32 (codegen/approximations.hpp, Kind::Instruction) of a scalar.
  virtual llvm::Value* approximate(ir::Intrinsic op, llvm::Value* x) = 0;
  // What TargetLowering::poll() does, in two parts: so many units of work (i32) are done; if that
  // was enough, poll whether to go on.
  virtual void count_work(llvm::Value* units) = 0;
  virtual void poll_if_due(SiteRef site) = 0;
};

// A target, as the body emitter calls it; all as long as the emitter is there.
struct Lowering {
  TargetLowering& target;
  RowLowering& rows;
  CoreLowering* core = nullptr;
  ThreadLowering* threads = nullptr;
};

}  // namespace vyre::codegen
