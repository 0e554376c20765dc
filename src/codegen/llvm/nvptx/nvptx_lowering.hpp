// SPDX-License-Identifier: Apache-2.0
// The body of a program in a kernel of PTX: a lane is a thread, or a thread runs a row of lanes.
#pragma once

#include <utility>
#include <vector>

#include "codegen/llvm/body/bounds_guards.hpp"
#include "codegen/llvm/nvptx/grid_barrier.hpp"
#include "codegen/llvm/nvptx/shared_memory.hpp"

namespace vyre::codegen {

class NvptxLowering : KernelPart, public TargetLowering, public RowLowering, public ThreadLowering {
 public:
  NvptxLowering(KernelContext& context, StopEmitter& stops, SharedMemoryEmitter& shared_memory,
                GridBarrierEmitter& grid_barriers)
      : KernelPart(context),
        stops_(stops),
        shared_memory_(shared_memory),
        grid_barriers_(grid_barriers) {}

  // All statements for these lanes of a thread, at the insertion point, which comes to nowhere.
  // `first`: of a thread with several lanes, i64. They end at `lane_end`.
  void emit_lanes(uint32_t lanes, llvm::Value* first, llvm::BasicBlock* lane_end);
  // The same for all lanes of a thread, in a block of its own, with what it relies on: rows that
  // start at multiples of a thread's lanes, if `aligned`.
  struct Version {
    llvm::BasicBlock* start = nullptr;
    BoundsGuards guards;
  };
  Version emit_version(llvm::Value* first, llvm::BasicBlock* before, bool aligned);

 private:
  Val builtin(ir::Builtin builtin, uint32_t axis) override;
  MemoryRef buffer(ir::BufferId id) override { return k_.memories[id.index()]; }
  Val global_lane() override { return k_.global_lane(); }
  void trapped(SiteRef site, llvm::Value* lane, llvm::Value* value) override;
  void out_of_bounds(SiteRef site, const MemoryRef& memory, llvm::Value* lane,
                     llvm::Value* index) override;
  void poll(SiteRef site, uint32_t weight) override;
  llvm::BasicBlock* lane_end() override { return lane_end_; }
  void enter_function() override { early_.push_back(std::exchange(hoister_, nullptr)); }
  void leave_function() override {
    hoister_ = early_.back();
    early_.pop_back();
  }

  llvm::Value* start() override { return k_.start; }
  llvm::Value* wide_start() override { return wide_start_; }
  bool ensure_below(llvm::Value* offset, llvm::Value* limit, bool signed_index) override {
    return hoister_ != nullptr && guards_.below(*hoister_, offset, limit, signed_index);
  }
  bool ensure_at_least(llvm::Value* offset, llvm::Value* limit) override {
    return hoister_ != nullptr && guards_.at_least(*hoister_, offset, limit);
  }
  llvm::Value* row_offset(llvm::Value* offset) override;
  bool streams(ir::BufferId, llvm::Value*) override { return false; }
  void demand_lanes(llvm::Value*, llvm::Value*, bool) override {}

  void workgroup_barrier() override { k_.workgroup_barrier(); }
  void grid_barrier(ir::StmtId at) override { grid_barriers_.barrier(at); }
  void subgroup_barrier() override;
  void copy(const CopyOperands& x, SiteRef site) override { shared_memory_.copy(x, site); }
  bool try_lower_statement(ir::StmtId id) override {
    return grid_barriers_.try_lower_statement(id);
  }
  llvm::Value* try_lower_expression(ir::ExprId id) override {
    return grid_barriers_.try_lower_expression(id);
  }
  llvm::Value* ballot(llvm::Value* condition) override;
  llvm::Value* from_lane(llvm::Value* word, llvm::Value* lane) override;
  [[nodiscard]] bool subgroups_are_full() const override;
  void fence() override { k_.fence(); }
  llvm::Value* approximate(ir::Intrinsic op, llvm::Value* x) override;
  void count_work(llvm::Value* units) override { stops_.count_work(units); }
  void poll_if_due(SiteRef site) override { stops_.poll_if_due(site); }

  Val along_x();
  llvm::Value* lanes_of_warp();

  StopEmitter& stops_;
  SharedMemoryEmitter& shared_memory_;
  GridBarrierEmitter& grid_barriers_;
  llvm::BasicBlock* lane_end_ = nullptr;
  llvm::Value* wide_start_ = nullptr;
  uint32_t lanes_ = 1;  // that are being written
  Hoister* hoister_ = nullptr;
  std::vector<Hoister*> early_;  // of code around a function
  BoundsGuards guards_;
  bool aligned_ = false;  // rows start at multiples of a thread's lanes
};

}  // namespace vyre::codegen
