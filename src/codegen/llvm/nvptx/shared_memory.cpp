// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nvptx/shared_memory.hpp"

#include <algorithm>

namespace vyre::codegen {

using namespace ir;
using device::KernelStop;

// Runs `body` for first, first + step and so on below `count` (all i32, and so is `at`).
void SharedMemoryEmitter::deal(llvm::Value* first, llvm::Value* step, llvm::Value* count,
                               llvm::function_ref<void(llvm::Value* at)> body) {
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::BasicBlock* const each = k_.block("deal");
  llvm::BasicBlock* const after = k_.block("dealt");
  b_.CreateCondBr(b_.CreateICmpULT(first, count), each, after);
  b_.SetInsertPoint(each);
  llvm::PHINode* const at = b_.CreatePHI(b_.getInt32Ty(), 2);
  at->addIncoming(first, from);
  body(at);
  const auto* const known_step = llvm::dyn_cast<llvm::ConstantInt>(step);
  const auto* const known_count = llvm::dyn_cast<llvm::ConstantInt>(count);
  const bool fits = known_step != nullptr && known_count != nullptr &&
                    known_count->getZExtValue() + known_step->getZExtValue() <= UINT32_MAX;
  llvm::Value* const next = b_.CreateAdd(at, step, "", fits);
  // Against what is left where the sum may wrap before it is compared.
  llvm::Value* const more =
      fits ? b_.CreateICmpULT(next, count) : b_.CreateICmpULT(step, b_.CreateSub(count, at));
  at->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(more, each, after);
  b_.SetInsertPoint(after);
}

void SharedMemoryEmitter::deal_to_all(uint32_t count,
                                      llvm::function_ref<void(llvm::Value* at)> body) {
  deal(k_.lane_in_group(), b_.getInt32(k_.threads()), b_.getInt32(count), body);
}

// The same for lanes of which some may have ended: each lane that is there takes the next element.
// By all lanes that are there, between barriers.
void SharedMemoryEmitter::take_elements(llvm::Value* count,
                                        llvm::function_ref<void(llvm::Value* at)> body) {
  llvm::Value* const word = k_.header_word(kTakenWord);
  b_.CreateStore(b_.getInt32(0), word, true);
  k_.workgroup_barrier();
  llvm::BasicBlock* const head = k_.block("turn");
  llvm::BasicBlock* const each = k_.block("taken");
  llvm::BasicBlock* const after = k_.block("turns_done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::Value* const at = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, word, b_.getInt32(1),
                                             llvm::Align(4), llvm::AtomicOrdering::Monotonic);
  b_.CreateCondBr(b_.CreateICmpULT(at, count), each, after);
  b_.SetInsertPoint(each);
  body(at);
  b_.CreateBr(head);
  b_.SetInsertPoint(after);
}

const plan::SharedUse* SharedMemoryEmitter::use_of(uint32_t buffer) const {
  for (const plan::SharedUse& use : k_.segment.shared)
    if (use.buffer.value == buffer) return &use;
  return nullptr;
}

bool SharedMemoryEmitter::saves() const {
  return std::ranges::any_of(k_.segment.shared,
                             [](const plan::SharedUse& use) { return use.save; });
}

// Between shared memory and where workgroups keep it from launch to launch, element by element;
// `alone`: by this lane.
void SharedMemoryEmitter::copy_shared(uint32_t buffer, bool save, bool alone) {
  llvm::Type* const type = element_type(k_.program.program.buffers[buffer].element, context_);
  llvm::Value* const group = b_.CreateMul(b_.CreateZExt(k_.linear_group(), b_.getInt64Ty()),
                                          b_.getInt64(k_.count_of(buffer)));
  llvm::Value* const kept = b_.CreateGEP(type, k_.bound_address(buffer), group);
  const auto element = [&](llvm::Value* at) {
    llvm::Value* const wide = b_.CreateZExt(at, b_.getInt64Ty());
    llvm::Value* const inside = b_.CreateGEP(type, k_.memories[buffer].address, wide);
    llvm::Value* const outside = b_.CreateGEP(type, kept, wide);
    b_.CreateStore(b_.CreateLoad(type, save ? inside : outside), save ? outside : inside);
  };
  if (alone)
    deal(b_.getInt32(0), b_.getInt32(1), b_.getInt32(k_.count_of(buffer)), element);
  else
    deal_to_all(k_.count_of(buffer), element);
}

// By all threads, of which none has ended yet.
void SharedMemoryEmitter::start() {
  const bool counts_ends = saves() && k_.use.ends;
  bool any = counts_ends || (k_.use.copies && k_.use.ends);
  llvm::Type* const row = llvm::FixedVectorType::get(b_.getInt32Ty(), device::kGpuSharedRow / 4);
  if (counts_ends)
    deal_to_all(
        1, [&](llvm::Value*) { b_.CreateStore(b_.getInt32(0), k_.header_word(kEndedWord), true); });
  // By the thread that may write it again.
  if (k_.segment.barriers_inside && k_.votes.count() == 0)
    deal_to_all(1, [&](llvm::Value*) {
      b_.CreateStore(b_.getInt32(0), k_.header_word(kBarrierWord), true);
    });
  for (uint32_t i = 0; i < k_.memories.size(); ++i) {
    if (k_.program.program.buffers[i].kind != BufferKind::Shared) continue;
    if (const plan::SharedUse* const use = use_of(i); use != nullptr && use->restore) {
      any = true;
      copy_shared(i, false, false);
      continue;
    }
    const bool zeros = needs_zeros(i);
    if (!zeros && !k_.options.poison) continue;
    any = true;
    const uint32_t byte = zeros ? 0 : static_cast<uint32_t>(*k_.options.poison);
    deal_to_all(k_.rows_of(i), [&](llvm::Value* at) {
      b_.CreateAlignedStore(
          llvm::ConstantInt::get(row, byte * 0x0101'0101ULL),
          b_.CreateGEP(row, k_.memories[i].address, b_.CreateZExt(at, b_.getInt64Ty())),
          llvm::Align(device::kGpuSharedRow));
    });
  }
  if (any) k_.workgroup_barrier();
}

// Where lanes end at different times a lane cannot wait for the others, at whose barriers it would
// be counted: the last one saves.
void SharedMemoryEmitter::save() {
  if (!saves()) return;
  if (!k_.use.ends) {
    k_.workgroup_barrier();
    for (const plan::SharedUse& use : k_.segment.shared)
      if (use.save) copy_shared(use.buffer.value, true, false);
    return;
  }
  k_.fence();
  llvm::Value* const before =
      b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, k_.header_word(kEndedWord), b_.getInt32(1),
                         llvm::Align(4), llvm::AtomicOrdering::Monotonic);
  llvm::BasicBlock* const last = k_.block("last");
  b_.CreateCondBr(b_.CreateICmpEQ(before, b_.getInt32(k_.threads() - 1)), last, k_.leave);
  b_.SetInsertPoint(last);
  k_.fence();
  for (const plan::SharedUse& use : k_.segment.shared)
    if (use.save) copy_shared(use.buffer.value, true, true);
}

// Elements that the source does not have are zeros, those that the destination does not have are
// dropped. Done at once: what follows may not read it before the wait.
void SharedMemoryEmitter::copy(const CopyOperands& x, SiteRef site) {
  // Sums of two numbers cannot overflow.
  const bool words =
      bits_of(x.dst_type) == 32 && bits_of(x.src_type) == 32 && bits_of(x.count_type) == 32;
  llvm::Type* const wide = words ? b_.getInt64Ty() : b_.getInt128Ty();
  const auto widened = [&](llvm::Value* v, Type type) {
    return is_signed(type) ? b_.CreateSExt(v, wide) : b_.CreateZExt(v, wide);
  };
  const auto number = [&](int64_t n) { return llvm::ConstantInt::getSigned(wide, n); };
  llvm::Value* const dst = widened(x.dst_index, x.dst_type);
  llvm::Value* const src = widened(x.src_index, x.src_type);
  llvm::Value* const count =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, widened(x.count, x.count_type), number(0));
  if (k_.options.checked) check_copy(x, site, dst, src, count);
  llvm::Value* const from_length = b_.CreateZExt(x.src.length, wide);
  llvm::Value* const first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, dst, number(0));
  llvm::Value* const last = b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, b_.CreateAdd(dst, count), b_.CreateZExt(x.dst.length, wide));
  llvm::Value* const elements = b_.CreateTrunc(
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(last, first), number(0)),
      b_.getInt32Ty());
  const uint32_t size = bytes_of(x.dst.element);
  llvm::Type* const element = b_.getIntNTy(size * 8);
  const auto one = [&](llvm::Value* at) {
    llvm::Value* const e = b_.CreateAdd(first, b_.CreateZExt(at, wide));
    llvm::Value* const s = b_.CreateAdd(src, b_.CreateSub(e, dst));
    const auto address = [&](const MemoryRef& m, llvm::Value* index) {
      return b_.CreateGEP(element, m.address, b_.CreateTrunc(index, b_.getInt64Ty()));
    };
    llvm::BasicBlock* const from = b_.GetInsertBlock();
    llvm::BasicBlock* const inside = k_.block("source");
    llvm::BasicBlock* const after = k_.block("copied");
    b_.CreateCondBr(b_.CreateICmpULT(s, from_length), inside, after);
    b_.SetInsertPoint(inside);
    llvm::Value* const loaded = b_.CreateAlignedLoad(element, address(x.src, s), llvm::Align(size));
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    llvm::PHINode* const v = b_.CreatePHI(element, 2);
    v->addIncoming(llvm::ConstantInt::get(element, 0), from);
    v->addIncoming(loaded, inside);
    b_.CreateAlignedStore(v, address(x.dst, e), llvm::Align(size));
  };
  k_.workgroup_barrier();
  if (x.dst.address == x.src.address) {
    // Within one buffer: what is still to be read is not written over.
    take_elements(b_.getInt32(1), [&](llvm::Value*) {
      llvm::Value* const backwards = b_.CreateICmpSGT(dst, src);
      deal(b_.getInt32(0), b_.getInt32(1), elements, [&](llvm::Value* at) {
        one(b_.CreateSelect(backwards, b_.CreateSub(b_.CreateSub(elements, b_.getInt32(1)), at),
                            at));
      });
    });
  } else if (k_.use.ends) {
    take_elements(elements, one);
  } else {
    deal(k_.lane_in_group(), b_.getInt32(k_.threads()), elements, one);
  }
}

// Checked mode: every lane of the workgroup stops, and the smallest of them says why.
void SharedMemoryEmitter::check_copy(const CopyOperands& x, SiteRef site, llvm::Value* dst,
                                     llvm::Value* src, llvm::Value* count) {
  for (const bool source : {true, false}) {
    const MemoryRef& m = source ? x.src : x.dst;
    const OutsideCopy found =
        outside_copy(b_, source ? src : dst, count, b_.CreateZExt(m.length, dst->getType()));
    llvm::BasicBlock* const stop = k_.block("copy_outside");
    llvm::BasicBlock* const fine = k_.block("copy_inside");
    b_.CreateCondBr(found.outside, stop, fine);
    b_.SetInsertPoint(stop);
    stops_.record(KernelStop::Kind::OutOfBounds, site,
                  argument_number(source ? x.src_memory : x.dst_memory), k_.global_lane().v,
                  m.length, found.index);
    b_.CreateBr(k_.exit);
    b_.SetInsertPoint(fine);
  }
}

}  // namespace vyre::codegen
