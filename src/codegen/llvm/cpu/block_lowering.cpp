// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/cpu/block_lowering.hpp"

#include <algorithm>
#include <tuple>

#include "codegen/llvm/cpu/kernel.hpp"

namespace vyre::codegen {

using namespace ir;

Val BlockLowering::builtin(Builtin builtin, uint32_t axis) {
  switch (builtin) {
    case Builtin::Wid: return {k_.ids.wid[axis], false};
    case Builtin::NumWorkgroups: return {k_.grid[axis], false};
    case Builtin::WorkgroupSize: return {b_.getInt32(size_[axis]), false};
    case Builtin::SubgroupSize: return {b_.getInt32(kSubgroupLanes), false};
    case Builtin::SubgroupLane:
      // A packed block is a subgroup.
      if (row_.shape.packed) return along_row(b_.CreateNeg(row_.start));
      return {b_.CreateAnd(lane_in_group().v, splat(b_.getInt32(kSubgroupLanes - 1))),
              row_.shape.lanes > 1};
    case Builtin::SubgroupId:
      if (row_.shape.packed) return {b_.CreateLShr(row_.start, b_.getInt32(5)), false};
      return {b_.CreateLShr(lane_in_group().v, splat(b_.getInt32(5))), row_.shape.lanes > 1};
    case Builtin::FixpointPasses: return {b_.getInt32(0), false};
    case Builtin::FixpointConverged: return {b_.getFalse(), false};
    case Builtin::Lid:
    case Builtin::Gid: break;
  }
  const bool global = builtin == Builtin::Gid;
  llvm::Value* const group_start = axis == row_.axis
                                       ? row_.group_start
                                       : b_.CreateMul(k_.ids.wid[axis], b_.getInt32(size_[axis]));
  if (row_.shape.packed && phase_.workgroup_axes > 1) {
    const Val l = lane_in_group();
    llvm::Value* v = l.v;
    if (axis == 0)
      v = b_.CreateURem(v, splat(b_.getInt32(size_[0])));
    else if (axis == 1)
      v = b_.CreateURem(b_.CreateUDiv(v, splat(b_.getInt32(size_[0]))),
                        splat(b_.getInt32(size_[1])));
    else
      v = b_.CreateUDiv(v, splat(b_.getInt32(size_[0] * size_[1])));
    return {global ? b_.CreateAdd(v, splat(group_start)) : v, true};
  }
  if (axis != row_.axis) {
    llvm::Value* const l =
        row_.shape.packed ? static_cast<llvm::Value*>(b_.getInt32(0)) : row_.lid[axis];
    return {global ? b_.CreateAdd(group_start, l) : l, false};
  }
  // Along the row: packed blocks count from the start of the workgroup, others from that of the
  // grid.
  if (row_.shape.packed) return along_row(global ? row_.group_start : b_.getInt32(0));
  return along_row(global ? b_.getInt32(0) : b_.CreateNeg(row_.group_start));
}

MemoryRef BlockLowering::buffer(BufferId id) {
  return (*k_.memories)[id.index()];
}

Val BlockLowering::global_lane() {
  const bool wide = row_.shape.lanes > 1;
  const uint32_t lanes = lanes_per_group();
  if (!k_.merges) {
    llvm::Value* const group = b_.CreateAdd(k_.ids.row_of_groups, k_.ids.wid[0]);
    const Val l = lane_in_group();
    return {b_.CreateAdd(splat(b_.CreateMul(group, b_.getInt32(lanes))), l.v), wide};
  }
  const Val x = along_row(b_.getInt32(0));
  llvm::Value* const size = splat(b_.getInt32(size_[0]));
  llvm::Value* const group = b_.CreateAdd(splat(k_.ids.row_of_groups), b_.CreateUDiv(x.v, size));
  llvm::Value* const row =
      b_.CreateMul(b_.CreateAdd(b_.CreateMul(row_.lid[2], b_.getInt32(size_[1])), row_.lid[1]),
                   b_.getInt32(size_[0]));
  llvm::Value* const l = b_.CreateAdd(splat(row), b_.CreateURem(x.v, size));
  return {b_.CreateAdd(b_.CreateMul(group, splat(b_.getInt32(lanes))), l), wide};
}

void BlockLowering::trapped(SiteRef site, llvm::Value* lane, llvm::Value* value) {
  k_.trapped(site, lane, value);
}

void BlockLowering::out_of_bounds(SiteRef site, const MemoryRef& memory, llvm::Value* lane,
                                  llvm::Value* index) {
  k_.out_of_bounds(site, memory, lane, index);
}

void BlockLowering::poll(SiteRef site, uint32_t weight) {
  k_.poll(site, b_.getInt32(weight));
}

llvm::Value* BlockLowering::iterations_left(uint32_t weight_bits) {
  return b_.CreateZExt(k_.iterations_left(weight_bits), b_.getInt64Ty());
}

void BlockLowering::poll_iterations(SiteRef site, llvm::Value* iterations, uint32_t weight_bits) {
  k_.poll(site, b_.CreateShl(b_.CreateTrunc(iterations, b_.getInt32Ty()), weight_bits));
}

void BlockLowering::enter_lane(llvm::Value* lane) {
  outer_ = {row_.start, row_.wide_start, row_.shape, row_.hoister};
  row_.start = b_.CreateAdd(row_.start, lane);
  row_.wide_start =
      b_.CreateAdd(row_.wide_start, b_.CreateZExt(lane, b_.getInt64Ty()), "", true, true);
  row_.shape = {};
  row_.hoister = nullptr;
}

void BlockLowering::leave_lane() {
  row_.start = outer_.start;
  row_.wide_start = outer_.wide_start;
  row_.shape = outer_.shape;
  row_.hoister = outer_.hoister;
}

void BlockLowering::leave_function() {
  std::tie(row_.hoister, row_.narrower) = early_.back();
  early_.pop_back();
}

bool BlockLowering::streams(BufferId id, llvm::Value* offset) {
  const auto known = std::ranges::find(row_.streams, id, &RowState::Stream::buffer);
  if (row_.streaming) return known != row_.streams.end();
  if (row_.hoister == nullptr || known != row_.streams.end() || !k_.streams) return false;
  if (llvm::Value* const early = row_.hoister->hoist(offset)) row_.streams.push_back({id, early});
  return false;
}

void BlockLowering::demand_lanes(llvm::Value* offset, llvm::Value* limit, bool equal) {
  if (row_.narrower == nullptr) return;
  llvm::Value* const early_offset = row_.narrower->hoist(offset);
  llvm::Value* const early_limit = row_.narrower->hoist(limit);
  if (early_offset != nullptr && early_limit != nullptr)
    row_.narrow = {.offset = early_offset, .limit = early_limit, .equal = equal};
}

llvm::Value* BlockLowering::splat(llvm::Value* v) {
  return row_.shape.lanes > 1 ? b_.CreateVectorSplat(row_.shape.lanes, v) : v;
}

Val BlockLowering::along_row(llvm::Value* offset) {
  llvm::Value* const first = b_.CreateAdd(row_.start, offset);
  if (row_.shape.lanes == 1) return {first, false, offset};
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < row_.shape.lanes; ++i) numbers.push_back(i);
  return {b_.CreateAdd(splat(first), llvm::ConstantDataVector::get(b_.getContext(), numbers)), true,
          offset};
}

Val BlockLowering::lane_in_group() {
  if (row_.shape.packed) return along_row(b_.getInt32(0));
  if (row_.axis == 0) {
    llvm::Value* const row =
        b_.CreateMul(b_.CreateAdd(b_.CreateMul(row_.lid[2], b_.getInt32(size_[1])), row_.lid[1]),
                     b_.getInt32(size_[0]));
    return along_row(b_.CreateSub(row, row_.group_start));
  }
  const std::array<uint32_t, 3> distance = {1, size_[0], size_[0] * size_[1]};
  llvm::Value* rest = b_.getInt32(0);
  for (uint32_t axis = 0; axis < 3; ++axis)
    if (axis != row_.axis)
      rest = b_.CreateAdd(rest, b_.CreateMul(row_.lid[axis], b_.getInt32(distance[axis])));
  const Val along = along_row(b_.CreateNeg(row_.group_start));
  return {b_.CreateAdd(b_.CreateMul(along.v, splat(b_.getInt32(distance[row_.axis]))), splat(rest)),
          along.varying};
}

}  // namespace vyre::codegen
