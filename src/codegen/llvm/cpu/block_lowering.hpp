// SPDX-License-Identifier: Apache-2.0
// Blocks of lanes on a core: where the lanes of a row are, and what code of a row without tests
// relies on.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "codegen/llvm/body/bounds_guards.hpp"
#include "codegen/llvm/cpu/blocks.hpp"

namespace vyre::codegen {

// What a row of lanes is while its code is written.
struct RowState {
  struct Stream {
    ir::BufferId buffer;
    llvm::Value* offset = nullptr;
  };
  // The demanded lanes: those with start + offset below the limit, or equal to it.
  struct Narrow {
    llvm::Value* offset = nullptr;
    llvm::Value* limit = nullptr;
    bool equal = false;
  };

  BlockShape shape = {};
  std::array<llvm::Value*, 3> lid = {};
  uint32_t axis = 0;                   // along which the row lies
  llvm::Value* group_start = nullptr;  // along it, the first lane of the workgroup
  llvm::Value* start = nullptr;
  llvm::Value* wide_start = nullptr;
  llvm::BasicBlock* lane_end = nullptr;
  Hoister* hoister = nullptr;
  Hoister* narrower = nullptr;
  BoundsGuards guards = {};
  std::vector<Stream> streams = {};
  std::optional<Narrow> narrow = {};
  bool streaming = false;
};

class BlockLowering : public TargetLowering, public RowLowering, public CoreLowering {
 public:
  BlockLowering(Builder& builder, const BlockKernel& kernel, const check::CheckedProgram& phase,
                RowState& row)
      : b_(builder), k_(kernel), phase_(phase), row_(row), size_(phase.workgroup) {}

  [[nodiscard]] uint32_t lanes_per_group() const { return size_[0] * size_[1] * size_[2]; }

 private:
  Val builtin(ir::Builtin builtin, uint32_t axis) override;
  MemoryRef buffer(ir::BufferId id) override;
  Val global_lane() override;
  void trapped(SiteRef site, llvm::Value* lane, llvm::Value* value) override;
  void out_of_bounds(SiteRef site, const MemoryRef& memory, llvm::Value* lane,
                     llvm::Value* index) override;
  void poll(SiteRef site, uint32_t weight) override;
  llvm::Value* iterations_left(uint32_t weight_bits) override;
  void poll_iterations(SiteRef site, llvm::Value* iterations, uint32_t weight_bits) override;
  void enter_lane(llvm::Value* lane) override;
  void leave_lane() override;
  void enter_function() override {
    early_.emplace_back(std::exchange(row_.hoister, nullptr),
                        std::exchange(row_.narrower, nullptr));
  }
  void leave_function() override;
  llvm::BasicBlock* lane_end() override { return row_.lane_end; }
  llvm::Value* start() override { return row_.start; }
  llvm::Value* wide_start() override { return row_.wide_start; }
  bool ensure_below(llvm::Value* offset, llvm::Value* limit, bool signed_index) override {
    return row_.hoister != nullptr && row_.guards.below(*row_.hoister, offset, limit, signed_index);
  }
  bool ensure_at_least(llvm::Value* offset, llvm::Value* limit) override {
    return row_.hoister != nullptr && row_.guards.at_least(*row_.hoister, offset, limit);
  }
  llvm::Value* row_offset(llvm::Value* offset) override {
    return b_.CreateSExt(offset, b_.getInt64Ty());
  }
  bool streams(ir::BufferId id, llvm::Value* offset) override;
  void demand_lanes(llvm::Value* offset, llvm::Value* limit, bool equal) override;

  llvm::Value* splat(llvm::Value* v);
  // start + offset + 0, 1, 2 ...
  Val along_row(llvm::Value* offset);
  // Not for rows of several workgroups.
  Val lane_in_group();

  // What a block is, while one of its lanes is entered.
  struct Whole {
    llvm::Value* start = nullptr;
    llvm::Value* wide_start = nullptr;
    BlockShape shape;
    Hoister* hoister = nullptr;
  };

  Builder& b_;
  const BlockKernel& k_;
  const check::CheckedProgram& phase_;
  RowState& row_;
  std::array<uint32_t, 3> size_;
  Whole outer_;
  std::vector<std::pair<Hoister*, Hoister*>> early_;  // of code around a function
};

}  // namespace vyre::codegen
