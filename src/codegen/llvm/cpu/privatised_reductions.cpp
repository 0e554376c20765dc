// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/cpu/privatised_reductions.hpp"

#include <cstddef>

#include <fmt/format.h>

#include "device/kernel.hpp"

namespace vyre::codegen {

using namespace ir;
using device::KernelArgs;
using device::KernelBinding;
using device::KernelWorker;

namespace {

constexpr uint64_t kCopyBytes = 256 * 1024;  // of the largest buffer that is copied
constexpr uint32_t kBankBytes = 4 * 1024;    // shorter ones have several banks
// A copy has to be filled and merged, which fewer lanes do not make up for.
constexpr uint64_t kLanesPerElement = 4;
constexpr size_t kMostCopies = 4;

llvm::Value* has_banks(Builder& b, Type type, llvm::Value* length) {
  return b.CreateICmpULE(length, b.getInt32(kBankBytes / bytes_of(type)));
}
// Whole cache lines.
llvm::Value* bank_stride(Builder& b, llvm::Value* length) {
  return b.CreateZExt(b.CreateAnd(b.CreateAdd(length, b.getInt32(15)), b.getInt32(~15U)),
                      b.getInt64Ty());
}
llvm::Value* bank_mask(Builder& b, Type type, llvm::Value* length) {
  return b.CreateSelect(has_banks(b, type, length), b.getInt64(kCopyBanks - 1), b.getInt64(0));
}

// body(k) for each k below the count (i32), if at all.
void for_each_element(Builder& b, llvm::Value* at_all, llvm::Value* count,
                      llvm::function_ref<void(llvm::Value*)> body) {
  llvm::Value* const end = b.CreateZExt(count, b.getInt64Ty());
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::Function* const function = before->getParent();
  llvm::BasicBlock* const each = llvm::BasicBlock::Create(b.getContext(), "each", function);
  llvm::BasicBlock* const after = llvm::BasicBlock::Create(b.getContext(), "each_done", function);
  b.CreateCondBr(b.CreateAnd(at_all, b.CreateICmpNE(end, b.getInt64(0))), each, after);
  b.SetInsertPoint(each);
  llvm::PHINode* const k = b.CreatePHI(b.getInt64Ty(), 2);
  k->addIncoming(b.getInt64(0), before);
  body(k);
  llvm::Value* const next = b.CreateAdd(k, b.getInt64(1), "", true, true);
  k->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(next, end), each, after);
  b.SetInsertPoint(after);
}

}  // namespace

PrivatisedReductions::PrivatisedReductions(const check::CheckedProgram& segment,
                                           const std::vector<BufferUse>& uses,
                                           uint64_t& scratch_bytes)
    : lanes_per_group_(uint64_t{segment.workgroup[0]} * segment.workgroup[1] *
                       segment.workgroup[2]) {
  for (uint32_t i = 0; i < uses.size() && copies_.size() < kMostCopies; ++i) {
    if (!uses[i].combines) continue;
    copies_.push_back({.buffer = i,
                       .op = *uses[i].combines,
                       .type = segment.program.buffers[i].element,
                       .at = scratch_bytes,
                       .memory = {}});
    scratch_bytes += kCopyBytes;
  }
}

llvm::Value* PrivatisedReductions::worth_it(Builder& b, const Copy& copy, llvm::Value* length,
                                            const std::array<llvm::Value*, 3>& grid) const {
  llvm::Type* const word = b.getInt64Ty();
  llvm::Value* const wide = b.CreateZExt(length, word);
  llvm::Value* lanes = b.getInt64(lanes_per_group_);
  for (llvm::Value* const axis : grid) lanes = b.CreateMul(lanes, b.CreateZExt(axis, word));
  return b.CreateAnd(b.CreateICmpULE(wide, b.getInt64(kCopyBytes / bytes_of(copy.type))),
                     b.CreateICmpUGE(lanes, b.CreateMul(wide, b.getInt64(kLanesPerElement))));
}

void PrivatisedReductions::enter(Builder& b, std::vector<MemoryRef>& memories,
                                 const std::array<llvm::Value*, 3>& grid, llvm::Value* scratch,
                                 llvm::Value* worker) {
  for (Copy& c : copies_) {
    llvm::Value* const length = memories[c.buffer].length;
    c.memory = {.use = worth_it(b, c, length, grid),
                .address = byte_address(b, scratch, c.at),
                .bank_mask = bank_mask(b, c.type, length),
                .bank_stride = bank_stride(b, length)};
    memories[c.buffer].copy = &c.memory;
  }
  llvm::Function* const function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* const fill = llvm::BasicBlock::Create(b.getContext(), "fill_copies", function);
  llvm::BasicBlock* const ready = llvm::BasicBlock::Create(b.getContext(), "copies", function);
  llvm::Value* const started = byte_address(b, worker, offsetof(KernelWorker, started));
  b.CreateCondBr(b.CreateICmpEQ(b.CreateLoad(b.getInt64Ty(), started), b.getInt64(0)), fill, ready);
  b.SetInsertPoint(fill);
  b.CreateStore(b.getInt64(1), started);
  for (const Copy& c : copies_) {
    llvm::Value* const length = memories[c.buffer].length;
    llvm::Value* const all_banks = b.CreateSelect(
        has_banks(b, c.type, length),
        b.CreateTrunc(b.CreateMul(c.memory.bank_stride, b.getInt64(kCopyBanks)), b.getInt32Ty()),
        length);
    llvm::Type* const t = type_of(c.type, b.getContext());
    for_each_element(b, c.memory.use, all_banks, [&](llvm::Value* k) {
      b.CreateStore(neutral_operand(c.op, c.type, t), b.CreateGEP(t, c.memory.address, k));
    });
  }
  b.CreateBr(ready);
  b.SetInsertPoint(ready);
}

// Called for one worker after the other, so plain operations will do.
void PrivatisedReductions::finish(Builder& b, llvm::Module& module, uint32_t number,
                                  bool half_conversions) {
  llvm::Type* const ptr = b.getPtrTy();
  llvm::Function* const finish = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), {ptr, ptr}, false), llvm::GlobalValue::ExternalLinkage,
      fmt::format("vyre_finish_{}", number), module);
  finish->addFnAttr(llvm::Attribute::NoUnwind);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", finish));
  llvm::Value* const args = finish->getArg(0);
  llvm::Value* const scratch =
      invariant_load(b, ptr, finish->getArg(1), offsetof(KernelWorker, scratch));
  std::array<llvm::Value*, 3> grid = {};
  for (uint32_t axis = 0; axis < 3; ++axis)
    grid[axis] =
        invariant_load(b, b.getInt32Ty(), args, offsetof(KernelArgs, grid) + uint64_t{4} * axis);
  Arithmetic math(b, 1, half_conversions);
  for (const Copy& c : copies_) {
    llvm::Type* const t = type_of(c.type, b.getContext());
    const uint64_t at = sizeof(KernelArgs) + c.buffer * sizeof(KernelBinding);
    llvm::Value* const buffer = invariant_load(b, ptr, args, at + offsetof(KernelBinding, address));
    llvm::Value* const length =
        invariant_load(b, b.getInt32Ty(), args, at + offsetof(KernelBinding, length));
    llvm::Value* const banks = bank_mask(b, c.type, length);
    llvm::Value* const stride = bank_stride(b, length);
    llvm::Value* const copy = byte_address(b, scratch, c.at);
    for_each_element(b, worth_it(b, c, length, grid), length, [&](llvm::Value* k) {
      llvm::Value* const place = b.CreateGEP(t, buffer, k);
      llvm::Value* sum = b.CreateLoad(t, place);
      for (uint32_t bank = 0; bank < kCopyBanks; ++bank) {
        // Without banks the first one is taken again, as nothing.
        llvm::Value* const from =
            b.CreateAdd(k, b.CreateMul(b.CreateAnd(b.getInt64(bank), banks), stride));
        llvm::Value* part = b.CreateLoad(t, b.CreateGEP(t, copy, from));
        if (bank != 0)
          part = b.CreateSelect(b.CreateICmpNE(banks, b.getInt64(0)), part,
                                neutral_operand(c.op, c.type, t));
        sum = math.combine(c.op, c.type, sum, part);
      }
      b.CreateStore(sum, place);
    });
  }
  b.CreateRetVoid();
}

}  // namespace vyre::codegen
