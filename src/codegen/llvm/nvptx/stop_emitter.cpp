// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nvptx/stop_emitter.hpp"

#include <cstddef>

#include "codegen/llvm/body/phases.hpp"

namespace vyre::codegen {

using namespace ir;
using device::GpuControl;
using device::KernelStop;

namespace {

constexpr uint32_t kBackoff = 20;  // ns, while another lane has the lock

}  // namespace

void StopEmitter::declare() {
  work_left_ = b_.CreateAlloca(b_.getInt32Ty());
  b_.CreateStore(b_.getInt32(kUnitsPerPoll), work_left_);
}

void StopEmitter::count_work(llvm::Value* units) {
  b_.CreateStore(b_.CreateSub(b_.CreateLoad(b_.getInt32Ty(), work_left_), units), work_left_);
}

void StopEmitter::poll_if_due(SiteRef site) {
  llvm::Value* const left = b_.CreateLoad(b_.getInt32Ty(), work_left_);
  llvm::BasicBlock* const due = k_.block("ask");
  llvm::BasicBlock* const stop = k_.block("give_up");
  llvm::BasicBlock* const on = k_.block("on");
  llvm::MDBuilder md(context_);
  b_.CreateCondBr(b_.CreateICmpSLE(left, b_.getInt32(0)), due, on,
                  md.createBranchWeights(1, kUnitsPerPoll));
  b_.SetInsertPoint(due);
  b_.CreateStore(b_.getInt32(kUnitsPerPoll), work_left_);
  b_.CreateCondBr(is_cancelled(), stop, on);
  b_.SetInsertPoint(stop);
  // All lanes come here, and one is enough.
  llvm::BasicBlock* const first = k_.block("give_up_first");
  llvm::Value* const known = b_.CreateLoad(
      b_.getInt16Ty(),
      byte_address(b_, k_.control, offsetof(GpuControl, stop) + offsetof(KernelStop, kind)), true);
  b_.CreateCondBr(b_.CreateICmpEQ(known, b_.getInt16(0)), first, k_.leave);
  b_.SetInsertPoint(first);
  record(KernelStop::Kind::Loop, site, 0, k_.global_lane().v, b_.getInt32(0), b_.getInt64(0));
  b_.CreateBr(k_.leave);
  b_.SetInsertPoint(on);
}

void StopEmitter::poll_at_start() {
  llvm::BasicBlock* const on = k_.block("on");
  b_.CreateCondBr(is_cancelled(), k_.leave, on);
  b_.SetInsertPoint(on);
}

llvm::Value* StopEmitter::is_cancelled() {
  return b_.CreateICmpNE(k_.cancel_word(), b_.getInt32(0));
}

void StopEmitter::record(KernelStop::Kind kind, SiteRef site, uint16_t memory, llvm::Value* lane,
                         llvm::Value* value, llvm::Value* index) {
  const uint32_t what = static_cast<uint32_t>(kind) | static_cast<uint32_t>(memory) << 16;
  b_.CreateCall(stop_function(),
                {k_.control, b_.getInt32(what), b_.getInt32(uncut_site(site)), lane, value, index});
}

// The smallest lane that stops is kept. All lanes of the GPU may come at once, and only those that
// would change something wait for each other: the rest sees that there is a smaller one, or, if the
// launch is given up, that there is any.
llvm::Function* StopEmitter::stop_function() {
  if (llvm::Function* const made = k_.module.getFunction("vyre_stop")) return made;
  const Builder::InsertPointGuard guard(b_);
  llvm::Type* const word = b_.getInt32Ty();
  llvm::Type* const global = b_.getPtrTy(kPtxGlobalSpace);
  llvm::Function* const made = k_.internal_function(
      "vyre_stop", b_.getVoidTy(), {global, word, word, word, word, b_.getInt64Ty()});
  const auto new_block = [&](const char* name) {
    return llvm::BasicBlock::Create(context_, name, made);
  };
  llvm::BasicBlock* const entry = new_block("entry");
  llvm::BasicBlock* const test = new_block("look");
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
  b_.CreateBr(test);
  // The kind is written after the lane, and the lane only ever becomes smaller.
  b_.SetInsertPoint(test);
  llvm::Value* const there = kind_of(
      k_.inline_ptx("ld.acquire.gpu.global.u32 $0, [$1];", "=r,l,~{memory}", word, {field(kStop)}));
  b_.CreateCondBr(b_.CreateICmpEQ(there, b_.getInt16(0)), take, compare);
  b_.SetInsertPoint(compare);
  b_.CreateCondBr(b_.CreateAnd(is_lowest(), b_.CreateNot(any_will_do)), take, leave);
  b_.SetInsertPoint(take);
  llvm::Value* const taken = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, lock, b_.getInt32(1),
                                                llvm::Align(4), llvm::AtomicOrdering::Monotonic);
  b_.CreateCondBr(b_.CreateICmpEQ(taken, b_.getInt32(0)), mine, wait);
  b_.SetInsertPoint(wait);
  k_.sleep(kBackoff);
  b_.CreateBr(test);
  b_.SetInsertPoint(mine);
  k_.fence();
  llvm::Value* const before = kind_of(b_.CreateLoad(word, field(kStop), /*isVolatile=*/true));
  b_.CreateCondBr(b_.CreateOr(b_.CreateICmpEQ(before, b_.getInt16(0)), is_lowest()), write, done);
  b_.SetInsertPoint(write);
  b_.CreateStore(made->getArg(2), field(kStop + offsetof(KernelStop, site)), true);
  b_.CreateStore(lane, field(kStop + offsetof(KernelStop, lane)), true);
  b_.CreateStore(made->getArg(4), field(kStop + offsetof(KernelStop, value)), true);
  b_.CreateStore(made->getArg(5), field(kStop + offsetof(KernelStop, index)), true);
  k_.fence();
  b_.CreateStore(what, field(kStop), true);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  k_.fence();
  b_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, lock, b_.getInt32(0), llvm::Align(4),
                     llvm::AtomicOrdering::Monotonic);
  b_.CreateBr(leave);
  b_.SetInsertPoint(leave);
  b_.CreateRetVoid();
  return made;
}

}  // namespace vyre::codegen
