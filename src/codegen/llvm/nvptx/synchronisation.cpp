// SPDX-License-Identifier: Apache-2.0
// Where lanes wait for each other, exchange values, and are told to stop. LLVM 19 drops orders of
// atomic operations for this target and ends the process over fences, so both are written as PTX.
#include <cstddef>

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/llvm/body/phases.hpp"
#include "codegen/llvm/nvptx/kernel.hpp"

namespace vyre::codegen {

using namespace ir;
using device::GpuControl;
using device::KernelStop;
namespace in = llvm::Intrinsic;

namespace {

constexpr uint32_t kAllLanes = ~uint32_t{0};
constexpr uint32_t kNap = 20;  // ns, while others are waited for

}  // namespace

llvm::Value* NvptxKernel::inline_ptx(const char* text, const char* constraints, llvm::Type* result,
                                     llvm::ArrayRef<llvm::Value*> operands) {
  std::vector<llvm::Type*> types;
  for (const llvm::Value* operand : operands) types.push_back(operand->getType());
  llvm::FunctionType* const type = llvm::FunctionType::get(result, types, false);
  return b_.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), operands);
}

llvm::Function* NvptxKernel::internal_function(const char* name, llvm::Type* result,
                                               llvm::ArrayRef<llvm::Type*> parameters) {
  llvm::Function* const made =
      llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                             llvm::GlobalValue::InternalLinkage, name, module_);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  made->addFnAttr(llvm::Attribute::Convergent);
  made->addFnAttr(llvm::Attribute::NoInline);
  return made;
}

void NvptxKernel::fence() {
  inline_ptx("fence.acq_rel.gpu;", "~{memory}", b_.getVoidTy(), {});
}

// ---- barriers

// Where lanes end on their own, the others of their warp may be here while these are still on
// their way out: bar.sync, which is barrier.sync.aligned, has to be met by a warp as a whole. With
// barriers of the grid inside, lanes only end all together.
void NvptxKernel::workgroup_barrier() {
  if (use_.ends && !segment_.barriers_inside)
    b_.CreateIntrinsic(in::nvvm_barrier_sync, {}, {b_.getInt32(0)});
  else
    b_.CreateIntrinsic(in::nvvm_barrier0, {}, {});
}

// Named lanes that have exited are not waited for.
void NvptxKernel::subgroup_barrier() {
  b_.CreateIntrinsic(in::nvvm_bar_warp_sync, {}, {lanes_of_warp()});
}

void NvptxKernel::nap(uint32_t ns) {
  b_.CreateIntrinsic(in::nvvm_nanosleep, {}, {b_.getInt32(ns)});
}

// ---- subgroups

// Those that there ever were: the last warp of a block may have fewer than 32.
llvm::Value* NvptxKernel::lanes_of_warp() {
  const uint32_t rest = threads() % kPtxSubgroupLanes;
  if (rest == 0) return b_.getInt32(kAllLanes);
  llvm::Value* const few = b_.getInt32((1U << rest) - 1);
  if (threads() < kPtxSubgroupLanes) return few;
  return b_.CreateSelect(b_.CreateICmpULT(thread_, b_.getInt32(threads() - rest)),
                         b_.getInt32(kAllLanes), few);
}

// Waits for all lanes of the warp but those that have exited, whose bits are 0.
llvm::Value* NvptxKernel::ballot(llvm::Value* condition) {
  return b_.CreateIntrinsic(in::nvvm_vote_ballot_sync, {}, {lanes_of_warp(), condition});
}

llvm::Value* NvptxKernel::from_lane(llvm::Value* word, llvm::Value* lane) {
  return b_.CreateIntrinsic(in::nvvm_shfl_sync_idx_i32, {},
                            {lanes_of_warp(), word, lane, b_.getInt32(31)});
}

bool NvptxKernel::subgroups_are_full() const {
  return !use_.ends && threads() % kPtxSubgroupLanes == 0;
}

// ---- stops

// The smallest lane that stops is kept. All lanes of the GPU may come at once, and only those that
// would change something wait for each other: the rest sees that there is a smaller one, or, if the
// launch is given up, that there is any.
llvm::Function* NvptxKernel::stop_function() {
  if (llvm::Function* const made = module_.getFunction("vyre_stop")) return made;
  const Builder::InsertPointGuard guard(b_);
  llvm::Type* const word = b_.getInt32Ty();
  llvm::Type* const global = b_.getPtrTy(kPtxGlobalSpace);
  llvm::Function* const made = internal_function("vyre_stop", b_.getVoidTy(),
                                                 {global, word, word, word, word, b_.getInt64Ty()});
  const auto new_block = [&](const char* name) {
    return llvm::BasicBlock::Create(context_, name, made);
  };
  llvm::BasicBlock* const entry = new_block("entry");
  llvm::BasicBlock* const look = new_block("look");
  llvm::BasicBlock* const compare = new_block("compare");
  llvm::BasicBlock* const take = new_block("take");
  llvm::BasicBlock* const wait = new_block("nap");
  llvm::BasicBlock* const mine = new_block("mine");
  llvm::BasicBlock* const write = new_block("write");
  llvm::BasicBlock* const done = new_block("done");
  llvm::BasicBlock* const leave = new_block("leave");
  const auto field = [&](uint64_t offset) { return byte_address(b_, made->getArg(0), offset); };
  constexpr uint64_t kStop = offsetof(GpuControl, stop);
  // Kind and memory are one word.
  static_assert(offsetof(KernelStop, kind) == 0 && offsetof(KernelStop, memory) == 2);
  llvm::Value* const what = made->getArg(1);
  llvm::Value* const lane = made->getArg(3);
  const auto kind_of = [&](llvm::Value* both) { return b_.CreateTrunc(both, b_.getInt16Ty()); };
  const auto is_lowest = [&] {
    return b_.CreateICmpULT(
        lane, b_.CreateLoad(word, field(kStop + offsetof(KernelStop, lane)), /*isVolatile=*/true));
  };

  b_.SetInsertPoint(entry);
  llvm::Value* const lock = field(offsetof(GpuControl, lock));
  llvm::Value* const any_will_do =
      b_.CreateICmpEQ(kind_of(what), b_.getInt16(static_cast<uint16_t>(KernelStop::Kind::Loop)));
  b_.CreateBr(look);
  // The kind is written after the lane, and the lane only ever becomes smaller.
  b_.SetInsertPoint(look);
  llvm::Value* const there = kind_of(
      inline_ptx("ld.acquire.gpu.global.u32 $0, [$1];", "=r,l,~{memory}", word, {field(kStop)}));
  b_.CreateCondBr(b_.CreateICmpEQ(there, b_.getInt16(0)), take, compare);
  b_.SetInsertPoint(compare);
  b_.CreateCondBr(b_.CreateAnd(is_lowest(), b_.CreateNot(any_will_do)), take, leave);
  b_.SetInsertPoint(take);
  llvm::Value* const taken = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, lock, b_.getInt32(1),
                                                llvm::Align(4), llvm::AtomicOrdering::Monotonic);
  b_.CreateCondBr(b_.CreateICmpEQ(taken, b_.getInt32(0)), mine, wait);
  b_.SetInsertPoint(wait);
  nap(kNap);
  b_.CreateBr(look);
  b_.SetInsertPoint(mine);
  fence();
  llvm::Value* const before = kind_of(b_.CreateLoad(word, field(kStop), /*isVolatile=*/true));
  b_.CreateCondBr(b_.CreateOr(b_.CreateICmpEQ(before, b_.getInt16(0)), is_lowest()), write, done);
  b_.SetInsertPoint(write);
  b_.CreateStore(made->getArg(2), field(kStop + offsetof(KernelStop, site)), true);
  b_.CreateStore(lane, field(kStop + offsetof(KernelStop, lane)), true);
  b_.CreateStore(made->getArg(4), field(kStop + offsetof(KernelStop, value)), true);
  b_.CreateStore(made->getArg(5), field(kStop + offsetof(KernelStop, index)), true);
  fence();
  b_.CreateStore(what, field(kStop), true);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  fence();
  b_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, lock, b_.getInt32(0), llvm::Align(4),
                     llvm::AtomicOrdering::Monotonic);
  b_.CreateBr(leave);
  b_.SetInsertPoint(leave);
  b_.CreateRetVoid();
  return made;
}

void NvptxKernel::record(KernelStop::Kind kind, SiteRef site, uint16_t memory, llvm::Value* lane,
                         llvm::Value* value, llvm::Value* index) {
  const uint32_t what = static_cast<uint32_t>(kind) | static_cast<uint32_t>(memory) << 16;
  b_.CreateCall(stop_function(),
                {control_, b_.getInt32(what), b_.getInt32(uncut_site(site)), lane, value, index});
}

void NvptxKernel::trapped(SiteRef site, llvm::Value* lane, llvm::Value* value) {
  record(KernelStop::Kind::Trap, site, 0, lane, value, b_.getInt64(0));
}

void NvptxKernel::out_of_bounds(SiteRef site, const MemoryRef& memory, llvm::Value* lane,
                                llvm::Value* index) {
  record(KernelStop::Kind::OutOfBounds, site, memory.argument, lane, memory.length, index);
}

llvm::Value* NvptxKernel::cancel_word() {
  return b_.CreateLoad(b_.getInt32Ty(), byte_address(b_, control_, offsetof(GpuControl, cancel)),
                       true);
}

llvm::Value* NvptxKernel::given_up() {
  return b_.CreateICmpNE(cancel_word(), b_.getInt32(0));
}

void NvptxKernel::ask_first() {
  llvm::BasicBlock* const on = block("on");
  b_.CreateCondBr(given_up(), leave_, on);
  b_.SetInsertPoint(on);
}

void NvptxKernel::poll(SiteRef site, uint32_t weight) {
  count_work(b_.getInt32(weight));
  poll_if_due(site);
}

void NvptxKernel::count_work(llvm::Value* units) {
  b_.CreateStore(b_.CreateSub(b_.CreateLoad(b_.getInt32Ty(), polls_left_), units), polls_left_);
}

void NvptxKernel::poll_if_due(SiteRef site) {
  llvm::Value* const left = b_.CreateLoad(b_.getInt32Ty(), polls_left_);
  llvm::BasicBlock* const ask = block("ask");
  llvm::BasicBlock* const stop = block("give_up");
  llvm::BasicBlock* const on = block("on");
  llvm::MDBuilder md(context_);
  b_.CreateCondBr(b_.CreateICmpSLE(left, b_.getInt32(0)), ask, on,
                  md.createBranchWeights(1, kTripsPerPoll));
  b_.SetInsertPoint(ask);
  b_.CreateStore(b_.getInt32(kTripsPerPoll), polls_left_);
  b_.CreateCondBr(given_up(), stop, on);
  b_.SetInsertPoint(stop);
  // All lanes come here, and one is enough.
  llvm::BasicBlock* const first = block("give_up_first");
  llvm::Value* const known = b_.CreateLoad(
      b_.getInt16Ty(),
      byte_address(b_, control_, offsetof(GpuControl, stop) + offsetof(KernelStop, kind)), true);
  b_.CreateCondBr(b_.CreateICmpEQ(known, b_.getInt16(0)), first, leave_);
  b_.SetInsertPoint(first);
  record(KernelStop::Kind::Loop, site, 0, global_lane().v, b_.getInt32(0), b_.getInt64(0));
  b_.CreateBr(leave_);
  b_.SetInsertPoint(on);
}

}  // namespace vyre::codegen
