// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nvptx/nvptx_lowering.hpp"

#include <numeric>

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "base/check.hpp"
#include "codegen/llvm/body/body_emitter.hpp"

namespace vyre::codegen {

using namespace ir;
using device::KernelStop;
namespace in = llvm::Intrinsic;

namespace {

constexpr uint32_t kAllLanes = ~uint32_t{0};

Val plain(llvm::Value* v) {
  return {v, false};
}

}  // namespace

void NvptxLowering::emit_lanes(uint32_t lanes, llvm::Value* first, llvm::BasicBlock* lane_end) {
  lanes_ = lanes;
  lane_end_ = lane_end;
  if (first != nullptr) {
    wide_start_ = first;
    k_.start = b_.CreateTrunc(first, b_.getInt32Ty());
  }
  const BlockShape shape{.lanes = lanes};
  const Divergence divergence(k_.program, shape, {.accesses_end = k_.options.checked});
  BodyEmitter code(b_, {.target = *this, .rows = *this, .threads = this}, k_.program, divergence,
                   {.shape = shape,
                    .checked = k_.options.checked,
                    .half_conversions = k_.machine.half_conversions,
                    .jumps_over_accesses = true,
                    .nests_loops = true,
                    .lanes_are_threads = lanes == 1,
                    .approximations = kGpuApproximations,
                    .ulp_budget = k_.options.ulp_budget,
                    .size = k_.options.size});
  code.emit(nullptr);
  if (b_.GetInsertBlock()->getTerminator() == nullptr) b_.CreateBr(lane_end_);
}

NvptxLowering::Version NvptxLowering::emit_version(llvm::Value* first, llvm::BasicBlock* before,
                                                   bool aligned) {
  Hoister hoister(before, *k_.function);
  hoister_ = &hoister;
  guards_.clear();
  aligned_ = aligned;
  llvm::BasicBlock* const start = k_.block("together");
  b_.SetInsertPoint(start);
  emit_lanes(k_.shape.lanes, first, k_.exit);
  hoister_ = nullptr;
  aligned_ = false;
  return {start, guards_};
}

// A row starts at a multiple of the thread's lanes and a constant, and neighbours at the same one:
// LLVM sees what they share and what is aligned.
llvm::Value* NvptxLowering::row_offset(llvm::Value* offset) {
  llvm::Type* const wide = b_.getInt64Ty();
  llvm::Value* const plain = b_.CreateSExt(offset, wide);
  if (!aligned_ || llvm::isa<llvm::Constant>(offset)) return plain;
  int64_t constant = 0;
  llvm::Value* row = offset;
  while (const auto* op = llvm::dyn_cast<llvm::BinaryOperator>(row)) {
    const auto* const k = llvm::dyn_cast<llvm::ConstantInt>(op->getOperand(1));
    if (k == nullptr) break;
    if (op->getOpcode() == llvm::Instruction::Add)
      constant += k->getSExtValue();
    else if (op->getOpcode() == llvm::Instruction::Sub)
      constant -= k->getSExtValue();
    else
      break;
    row = op->getOperand(0);
  }
  llvm::Value* const wide_row = b_.CreateSExt(row, wide);
  llvm::Value* const start = b_.CreateAnd(wide_row, b_.getInt64(~uint64_t{k_.shape.lanes - 1}));
  llvm::Value* const sum = b_.CreateAdd(start, llvm::ConstantInt::getSigned(wide, constant));
  return guards_.fact(*hoister_, b_.CreateICmpEQ(sum, plain)) ? sum : plain;
}

Val NvptxLowering::along_x() {
  if (lanes_ == 1) return {k_.start, false, nullptr};
  std::vector<uint32_t> numbers(lanes_);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return {b_.CreateAdd(b_.CreateVectorSplat(lanes_, k_.start),
                       llvm::ConstantDataVector::get(context_, numbers)),
          true, b_.getInt32(0)};
}

Val NvptxLowering::builtin(Builtin builtin, uint32_t axis) {
  switch (builtin) {
    case Builtin::Gid:
      if (k_.is_coarsened()) return axis == 0 ? along_x() : plain(k_.group_id(axis));
      return plain(
          b_.CreateAdd(b_.CreateMul(k_.group_id(axis), k_.size_of(axis)), k_.lane_along(axis)));
    case Builtin::Lid: return plain(k_.lane_along(axis));
    case Builtin::Wid: return plain(k_.group_id(axis));
    case Builtin::NumWorkgroups: return plain(k_.grid[axis]);
    case Builtin::WorkgroupSize: return plain(k_.size_of(axis));
    case Builtin::SubgroupSize: return plain(b_.getInt32(kPtxSubgroupLanes));
    case Builtin::SubgroupLane:
      return plain(b_.CreateAnd(k_.lane_in_group(), b_.getInt32(kPtxSubgroupLanes - 1)));
    case Builtin::SubgroupId:
      return plain(b_.CreateUDiv(k_.lane_in_group(), b_.getInt32(kPtxSubgroupLanes)));
    // Where the program has a fixpoint these are words that the plan keeps.
    case Builtin::FixpointPasses: return plain(b_.getInt32(0));
    case Builtin::FixpointConverged: return plain(b_.getFalse());
  }
  return {};
}

void NvptxLowering::trapped(SiteRef site, llvm::Value* lane, llvm::Value* value) {
  stops_.record(KernelStop::Kind::Trap, site, 0, lane, value, b_.getInt64(0));
}

void NvptxLowering::out_of_bounds(SiteRef site, const MemoryRef& memory, llvm::Value* lane,
                                  llvm::Value* index) {
  stops_.record(KernelStop::Kind::OutOfBounds, site, memory.argument, lane, memory.length, index);
}

void NvptxLowering::poll(SiteRef site, uint32_t weight) {
  stops_.count_work(b_.getInt32(weight));
  stops_.poll_if_due(site);
}

// Named lanes that have exited are not waited for.
void NvptxLowering::subgroup_barrier() {
  b_.CreateIntrinsic(in::nvvm_bar_warp_sync, {}, {lanes_of_warp()});
}

// Those that there ever were: the last warp of a block may have fewer than 32.
llvm::Value* NvptxLowering::lanes_of_warp() {
  const uint32_t rest = k_.threads() % kPtxSubgroupLanes;
  if (rest == 0) return b_.getInt32(kAllLanes);
  llvm::Value* const few = b_.getInt32((1U << rest) - 1);
  if (k_.threads() < kPtxSubgroupLanes) return few;
  return b_.CreateSelect(b_.CreateICmpULT(k_.thread, b_.getInt32(k_.threads() - rest)),
                         b_.getInt32(kAllLanes), few);
}

// Waits for all lanes of the warp but those that have exited, whose bits are 0.
llvm::Value* NvptxLowering::ballot(llvm::Value* condition) {
  return b_.CreateIntrinsic(in::nvvm_vote_ballot_sync, {}, {lanes_of_warp(), condition});
}

llvm::Value* NvptxLowering::from_lane(llvm::Value* word, llvm::Value* lane) {
  return b_.CreateIntrinsic(in::nvvm_shfl_sync_idx_i32, {},
                            {lanes_of_warp(), word, lane, b_.getInt32(31)});
}

llvm::Value* NvptxLowering::approximate(Intrinsic op, llvm::Value* x) {
  const char* text = nullptr;
  switch (op) {
    case Intrinsic::Recip: text = "rcp.approx.f32 $0, $1;"; break;
    case Intrinsic::Rsqrt: text = "rsqrt.approx.f32 $0, $1;"; break;
    case Intrinsic::Exp2: text = "ex2.approx.f32 $0, $1;"; break;
    default: VYRE_CHECK(false && "an approximation that no instruction computes");
  }
  llvm::FunctionType* const type = llvm::FunctionType::get(x->getType(), {x->getType()}, false);
  llvm::Value* const y = b_.CreateCall(type, llvm::InlineAsm::get(type, text, "=f,f", false), {x});
  if (op != Intrinsic::Rsqrt) return y;
  // The ISA leaves open what it gives for negative subnormal numbers.
  return b_.CreateSelect(b_.CreateFCmpOLT(x, llvm::ConstantFP::get(x->getType(), 0)),
                         llvm::ConstantFP::getNaN(x->getType()), y);
}

bool NvptxLowering::subgroups_are_full() const {
  return !k_.use.ends && k_.threads() % kPtxSubgroupLanes == 0;
}

}  // namespace vyre::codegen
