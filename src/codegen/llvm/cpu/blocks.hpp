// SPDX-License-Identifier: Apache-2.0
// A phase for the lanes of a workgroup (or of a row of workgroups) as loops over blocks.
//
// Rows along x are walked block by block. Where the code of a block would have to test the same
// bounds again and again, the row is split before it is walked: a stretch of blocks that lie inside
// of all bounds and are complete runs code without tests and masks, and what is left over at the
// ends runs code with both.
#pragma once

#include <functional>

#include "codegen/llvm/body/body_emitter.hpp"

namespace vyre::codegen {

struct GroupIds {
  std::array<llvm::Value*, 3> wid = {};
  llvm::Value* row_of_groups = nullptr;  // linear id of the first workgroup with these y and z
};

struct BlockKernel {
  const std::vector<MemoryRef>* memories = nullptr;  // by buffer of the phase
  GroupIds ids;
  std::array<llvm::Value*, 3> grid = {};
  bool merges = false;  // x runs over several workgroups
  std::function<void(SiteRef, llvm::Value* lane, llvm::Value* value)> trapped;
  std::function<void(SiteRef, const MemoryRef&, llvm::Value* lane, llvm::Value* index)>
      out_of_bounds;
  std::function<void(SiteRef, llvm::Value* weight)> poll;  // i32
  // How many iterations of so many bits of weight may be made without a poll, i32.
  std::function<llvm::Value*(uint32_t weight_bits)> iterations_left;
  // Whether a store is worth going past the caches, at the insertion point; null: never.
  std::function<llvm::Value*(ir::BufferId)> streams;
  // Not empty: after each block, which takes long enough for a poll.
  std::function<void()> block_done;
};

// `any_lane`: one lane does what all do.
// Workgroups wx .. wx + run of a row (i64).
void emit_blocks(Builder& builder, const BlockKernel& kernel, const check::CheckedProgram& phase,
                 const Divergence& divergence, const BodyOptions& options, llvm::Value* wx,
                 llvm::Value* run, bool any_lane);

}  // namespace vyre::codegen
