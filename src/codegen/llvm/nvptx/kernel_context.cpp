// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nvptx/kernel_context.hpp"

#include <algorithm>
#include <cstddef>

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/llvm/body/divergence.hpp"
#include "codegen/llvm/body/lane_cost.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;
using device::GpuArgs;
using device::GpuControl;
using device::KernelBinding;
namespace in = llvm::Intrinsic;

ThreadUse thread_use(const check::CheckedProgram& program, bool accesses_end) {
  const Program& p = program.program;
  ThreadUse use;
  use.ends = accesses_end;
  std::vector<bool> of_function(p.stmts.size());
  const auto mark = [&](auto&& self, Block body) -> void {
    for (const StmtId id : p.items(body)) {
      of_function[id.index()] = true;
      for_each_block(p[id], [&](Block inner) { self(self, inner); });
    }
  };
  for (const Fn& fn : p.fns) mark(mark, fn.body);
  const auto note = [&](std::optional<Scope> scope) {
    if (scope) (*scope == Scope::Subgroup ? use.subgroups : use.waits) = true;
  };
  for (size_t i = 0; i < p.stmts.size(); ++i) {
    const StmtProperties row = properties_of(p.stmts[i]);
    const bool from_function = row.exit == Exit::Return && of_function[i];
    use.ends = use.ends || (row.may_end_lane && !from_function);
    use.copies = use.copies || std::holds_alternative<AsyncCopy>(p.stmts[i]);
    note(row.synchronises);
  }
  for (const Expr& e : p.exprs) note(properties_of(e).synchronises);
  return use;
}

KernelContext::KernelContext(llvm::Module& to, const plan::Plan& plan, uint32_t index,
                             const Machine& target, const KernelOptions& chosen)
    : module(to),
      context(to.getContext()),
      builder(context),
      segment(plan.segments[index]),
      program(segment.program),
      number(index),
      machine(target),
      options(chosen),
      use(thread_use(program, chosen.checked)),
      shape(thread_shape(program, chosen.checked, chosen.lanes)),
      votes(plan, segment) {
  const uint32_t first = coalesced_axis(program.program);
  // With one it has the others behind it in their order.
  if (!use.subgroups && !mentions(program, {Builtin::SubgroupId, Builtin::SubgroupLane}))
    std::rotate(axes.begin(), axes.begin() + first, axes.begin() + first + 1);
}

llvm::BasicBlock* KernelContext::block(const char* name) {
  llvm::BasicBlock* const here = builder.GetInsertBlock();  // null: the kernel begins
  return llvm::BasicBlock::Create(context, name, here != nullptr ? here->getParent() : function);
}

llvm::Value* KernelContext::parameter(llvm::Type* type, uint64_t offset) {
  return invariant_load(builder, type, function->getArg(0), offset);
}

llvm::Function* KernelContext::internal_function(const char* name, llvm::Type* result,
                                                 llvm::ArrayRef<llvm::Type*> parameters) {
  llvm::Function* const made =
      llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                             llvm::GlobalValue::InternalLinkage, name, module);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  made->addFnAttr(llvm::Attribute::Convergent);
  made->addFnAttr(llvm::Attribute::NoInline);
  return made;
}

llvm::Value* KernelContext::inline_ptx(const char* text, const char* constraints,
                                       llvm::Type* result, llvm::ArrayRef<llvm::Value*> operands) {
  std::vector<llvm::Type*> types;
  for (const llvm::Value* operand : operands) types.push_back(operand->getType());
  llvm::FunctionType* const type = llvm::FunctionType::get(result, types, false);
  return builder.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), operands);
}

llvm::Value* KernelContext::lane_along(uint32_t axis) {
  const auto& size = program.workgroup;
  if (size[axis] == 1) return builder.getInt32(0);
  llvm::Value* lane = lane_in_group();
  uint32_t before = 1;
  for (const uint32_t faster : axes) {
    if (faster == axis) break;
    before *= size[faster];
  }
  if (before != 1) lane = builder.CreateUDiv(lane, builder.getInt32(before));
  if (before * size[axis] != threads()) lane = builder.CreateURem(lane, size_of(axis));
  return lane;
}

llvm::Value* KernelContext::linear_group() {
  llvm::Value* const row = builder.CreateAdd(builder.CreateMul(group_id(2), grid[1]), group_id(1));
  return builder.CreateAdd(builder.CreateMul(row, grid[0]), group_id(0));
}

Val KernelContext::global_lane() {
  if (is_coarsened()) {
    llvm::Value* const row =
        builder.CreateAdd(builder.CreateMul(group_id(2), grid[1]), group_id(1));
    return {
        builder.CreateAdd(builder.CreateMul(builder.CreateMul(row, grid[0]), size_of(0)), start)};
  }
  llvm::Value* lane = lane_in_group();
  if (axes[0] != 0) {
    llvm::Value* const row =
        builder.CreateAdd(builder.CreateMul(lane_along(2), size_of(1)), lane_along(1));
    lane = builder.CreateAdd(builder.CreateMul(row, size_of(0)), lane_along(0));
  }
  return {builder.CreateAdd(builder.CreateMul(linear_group(), builder.getInt32(threads())), lane)};
}

uint32_t KernelContext::rows_of(uint32_t buffer) const {
  const uint64_t bytes =
      uint64_t{count_of(buffer)} * bytes_of(program.program.buffers[buffer].element);
  return static_cast<uint32_t>((bytes + device::kGpuSharedRow - 1) / device::kGpuSharedRow);
}

llvm::Value* KernelContext::bound_address(uint32_t buffer) {
  auto* const address = llvm::cast<llvm::LoadInst>(parameter(
      builder.getPtrTy(kPtxGlobalSpace),
      sizeof(GpuArgs) + buffer * sizeof(KernelBinding) + offsetof(KernelBinding, address)));
  const uint64_t alignment = std::max<uint64_t>(program.buffers[buffer].align, 256);
  address->setMetadata(
      llvm::LLVMContext::MD_align,
      llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(builder.getInt64(alignment))));
  return address;
}

llvm::Value* KernelContext::header_word(uint32_t word) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt32Ty(), shared, word);
}

void KernelContext::fence() {
  inline_ptx("fence.acq_rel.gpu;", "~{memory}", builder.getVoidTy(), {});
}

// Where lanes end on their own, the others of their warp may be here while these are still on
// their way out: bar.sync, which is barrier.sync.aligned, has to be met by a warp as a whole. With
// barriers of the grid inside, lanes only end all at once.
void KernelContext::workgroup_barrier() {
  if (use.ends && !segment.barriers_inside)
    builder.CreateIntrinsic(in::nvvm_barrier_sync, {}, {builder.getInt32(0)});
  else
    builder.CreateIntrinsic(in::nvvm_barrier0, {}, {});
}

void KernelContext::sleep(uint32_t ns) {
  builder.CreateIntrinsic(in::nvvm_nanosleep, {}, {builder.getInt32(ns)});
}

llvm::Value* KernelContext::cancel_word() {
  return builder.CreateLoad(builder.getInt32Ty(),
                            byte_address(builder, control, offsetof(GpuControl, cancel)), true);
}

}  // namespace vyre::codegen
