// SPDX-License-Identifier: Apache-2.0
// Atomics. Memory that no other thread sees (shared memory of a workgroup, which one thread runs)
// needs plain operations only. Lanes of a block take their turns one after the other, unless
// nobody looks at what they find and their operands can be combined first.
#include "base/check.hpp"
#include "codegen/llvm/body/lane_code.hpp"

namespace vyre::codegen {

using namespace ir;
namespace in = llvm::Intrinsic;

namespace {

llvm::AtomicOrdering ordering(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::Relaxed: return llvm::AtomicOrdering::Monotonic;
    case MemoryOrder::Acquire: return llvm::AtomicOrdering::Acquire;
    case MemoryOrder::Release: return llvm::AtomicOrdering::Release;
    case MemoryOrder::AcqRel: return llvm::AtomicOrdering::AcquireRelease;
  }
  return llvm::AtomicOrdering::Monotonic;
}

// A failed exchange only loads.
llvm::AtomicOrdering failure_ordering(MemoryOrder order) {
  return order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel
             ? llvm::AtomicOrdering::Acquire
             : llvm::AtomicOrdering::Monotonic;
}

llvm::AtomicRMWInst::BinOp rmw(AtomicOp op, Type type) {
  using R = llvm::AtomicRMWInst;
  switch (op) {
    case AtomicOp::Add: return is_float(type) ? R::FAdd : R::Add;
    case AtomicOp::Sub: return R::Sub;
    case AtomicOp::Min: return is_signed(type) ? R::Min : R::UMin;
    case AtomicOp::Max: return is_signed(type) ? R::Max : R::UMax;
    case AtomicOp::And: return R::And;
    case AtomicOp::Or: return R::Or;
    case AtomicOp::Xor: return R::Xor;
    case AtomicOp::Nand: return R::Nand;
    case AtomicOp::Exchange:
    case AtomicOp::Store:
    case AtomicOp::Cas:
    case AtomicOp::Load: break;
  }
  return R::Xchg;
}

// Operations after which the element is what it was, more often than not.
bool often_changes_nothing(AtomicOp op) {
  return op == AtomicOp::Min || op == AtomicOp::Max || op == AtomicOp::And || op == AtomicOp::Or;
}

}  // namespace

void LaneCode::for_each_lane(llvm::Value* mask, llvm::function_ref<void(llvm::Value*)> body) {
  llvm::Type* const word = b_.getIntNTy(lanes());
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::Value* const bits = mask_bits(mask);
  llvm::BasicBlock* const turn = new_block("turn");
  llvm::BasicBlock* const after = new_block("turns_done");
  b_.CreateCondBr(b_.CreateICmpNE(bits, llvm::ConstantInt::get(word, 0)), turn, after);
  b_.SetInsertPoint(turn);
  llvm::PHINode* const left = b_.CreatePHI(word, 2);
  left->addIncoming(bits, from);
  llvm::Value* const lane = b_.CreateZExtOrTrunc(
      b_.CreateIntrinsic(in::cttz, {word}, {left, b_.getTrue()}), b_.getInt32Ty());
  turn_ = lane;
  body(lane);
  turn_ = nullptr;
  llvm::Value* const rest = b_.CreateAnd(left, b_.CreateSub(left, llvm::ConstantInt::get(word, 1)));
  left->addIncoming(rest, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(rest, llvm::ConstantInt::get(word, 0)), turn, after);
  b_.SetInsertPoint(after);
}

llvm::Value* LaneCode::in_memory(const Val& v) {
  if (v.v == nullptr || !v.varying) return nullptr;
  llvm::Value* const all = new_variable(v.v->getType());
  b_.CreateStore(v.v, all);
  return all;
}
llvm::Value* LaneCode::of_lane(const Val& v, llvm::Value* place, llvm::Value* lane) {
  if (place == nullptr) return v.v;
  llvm::Type* const element = v.v->getType()->getScalarType();
  return b_.CreateLoad(element, b_.CreateGEP(element, place, lane));
}

llvm::Value* LaneCode::atomic_scalar(const MemoryRef& m, const Atomic& e, llvm::Value* address,
                                     llvm::Value* a, llvm::Value* b, bool used) {
  if (options_.lanes_are_threads && e.order != MemoryOrder::Relaxed) {
    Atomic relaxed = e;
    relaxed.order = MemoryOrder::Relaxed;
    if (e.order != MemoryOrder::Acquire) env_.fence();
    llvm::Value* const old = atomic_scalar(m, relaxed, address, a, b, used);
    if (e.order != MemoryOrder::Release) env_.fence();
    return old;
  }
  const Type type = m.element;
  llvm::Type* const t = type_of(type, b_.getContext());
  const llvm::Align align = align_of(m);
  if (m.own) {
    llvm::Value* const old = mark(m, b_.CreateAlignedLoad(t, address, align));
    if (e.op == AtomicOp::Load) return old;
    llvm::Value* now = nullptr;
    if (e.op == AtomicOp::Cas)
      now = b_.CreateSelect(b_.CreateICmpEQ(old, a), b, old);
    else
      now = math_.combine(e.op, type, old, a);
    mark(m, b_.CreateAlignedStore(now, address, align));
    return old;
  }
  if (e.op == AtomicOp::Load) {
    llvm::LoadInst* const load = mark(m, b_.CreateAlignedLoad(t, address, align));
    load->setAtomic(ordering(e.order));
    return load;
  }
  if (e.op == AtomicOp::Store) {
    const auto store = [&] {
      llvm::StoreInst* const s = mark(m, b_.CreateAlignedStore(a, address, align));
      s->setAtomic(ordering(e.order));
      return s;
    };
    if (e.order != MemoryOrder::Relaxed || !options_.shared_lines) {
      store();
    } else {
      // A flag that everybody sets stays shared among the cores after the first.
      llvm::LoadInst* const seen = mark(m, b_.CreateAlignedLoad(t, address, align));
      seen->setAtomic(llvm::AtomicOrdering::Monotonic);
      llvm::Type* const bits = b_.getIntNTy(t->getScalarSizeInBits());
      jumped_over(b_.CreateICmpNE(b_.CreateBitCast(seen, bits), b_.CreateBitCast(a, bits)), store);
    }
    return llvm::Constant::getNullValue(t);
  }
  if (e.op == AtomicOp::Cas) {
    auto* const exchange = mark(m, b_.CreateAtomicCmpXchg(address, a, b, align, ordering(e.order),
                                                          failure_ordering(e.order)));
    return b_.CreateExtractValue(exchange, 0);
  }
  const auto change = [&] {
    return mark(m, b_.CreateAtomicRMW(rmw(e.op, type), address, a, align, ordering(e.order)));
  };
  if (!often_changes_nothing(e.op) || e.order != MemoryOrder::Relaxed) return change();
  // Looking first keeps the line shared among the cores when there is nothing to change.
  llvm::LoadInst* const seen = mark(m, b_.CreateAlignedLoad(t, address, align));
  seen->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::Value* const wanted = math_.combine(e.op, type, seen, a);
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::BasicBlock* const write = new_block("change");
  llvm::BasicBlock* const after = new_block("changed");
  b_.CreateCondBr(b_.CreateICmpEQ(wanted, seen), after, write);
  b_.SetInsertPoint(write);
  llvm::Value* const old = change();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* const phi = b_.CreatePHI(t, 2);
  phi->addIncoming(seen, from);
  phi->addIncoming(old, write);
  return phi;
}

// The operands of all lanes as one; lanes that are not meant are left out by the caller.
llvm::Value* LaneCode::reduced(AtomicOp op, Type type, llvm::Value* values) {
  switch (op) {
    case AtomicOp::Add:
    case AtomicOp::Sub: return b_.CreateAddReduce(values);
    case AtomicOp::And: return b_.CreateAndReduce(values);
    case AtomicOp::Or: return b_.CreateOrReduce(values);
    case AtomicOp::Xor: return b_.CreateXorReduce(values);
    case AtomicOp::Min: return b_.CreateIntMinReduce(values, is_signed(type));
    case AtomicOp::Max: return b_.CreateIntMaxReduce(values, is_signed(type));
    default: return nullptr;
  }
}

llvm::Constant* neutral_operand(AtomicOp op, Type type, llvm::Type* t) {
  if (is_float(type)) return nullptr;
  const unsigned width = t->getScalarSizeInBits();
  switch (op) {
    case AtomicOp::Add:
    case AtomicOp::Sub:
    case AtomicOp::Or:
    case AtomicOp::Xor: return llvm::Constant::getNullValue(t);
    case AtomicOp::And: return llvm::Constant::getAllOnesValue(t);
    case AtomicOp::Min:
      return llvm::ConstantInt::get(t, is_signed(type) ? llvm::APInt::getSignedMaxValue(width)
                                                       : llvm::APInt::getMaxValue(width));
    case AtomicOp::Max:
      return llvm::ConstantInt::get(t, is_signed(type) ? llvm::APInt::getSignedMinValue(width)
                                                       : llvm::APInt::getMinValue(width));
    default: return nullptr;
  }
}

// In the worker's own copy if there is one. Nobody looks at what was there before.
llvm::Value* LaneCode::combine(const MemoryRef& m, const Atomic& e, llvm::Value* wide,
                               llvm::Value* a) {
  llvm::Type* const t = type_of(m.element, b_.getContext());
  llvm::BasicBlock* const own = new_block("own_copy");
  llvm::BasicBlock* const shared = new_block("no_copy");
  llvm::BasicBlock* const after = new_block("combined");
  b_.CreateCondBr(m.copy->use, own, shared);
  b_.SetInsertPoint(own);
  llvm::Value* const number =
      turn_ != nullptr ? b_.CreateZExt(turn_, b_.getInt64Ty()) : env_.wide_start();
  llvm::Value* const bank = b_.CreateAnd(number, m.copy->bank_mask);
  llvm::Value* const at = b_.CreateAdd(wide, b_.CreateMul(bank, m.copy->bank_stride));
  llvm::Value* const address = b_.CreateGEP(t, m.copy->address, at);
  llvm::Value* const old = b_.CreateAlignedLoad(t, address, align_of(m));
  b_.CreateAlignedStore(math_.combine(e.op, m.element, old, a), address, align_of(m));
  b_.CreateBr(after);
  b_.SetInsertPoint(shared);
  atomic_scalar(m, e, element_address(m, wide), a, nullptr, false);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  return llvm::Constant::getNullValue(t);
}

void LaneCode::combine_lanes(const MemoryRef& m, const Atomic& e, const Val& index, Type index_type,
                             const Val& operand, llvm::Value* lanes_in) {
  llvm::Type* const t = type_of(m.element, b_.getContext());
  llvm::BasicBlock* const own = new_block("own_copy");
  llvm::BasicBlock* const whole = new_block("own_all");
  llvm::BasicBlock* const single = new_block("own_some");
  llvm::BasicBlock* const after = new_block("combined");
  b_.CreateCondBr(m.copy->use, own, single);
  b_.SetInsertPoint(own);
  b_.CreateCondBr(every(lanes_in), whole, single);
  b_.SetInsertPoint(whole);
  std::array<llvm::Value*, kCopyBanks> banks = {};
  for (uint32_t k = 0; k < kCopyBanks; ++k) {
    llvm::Value* const bank = b_.CreateAnd(b_.getInt64(k), m.copy->bank_mask);
    banks[k] = b_.CreateGEP(t, m.copy->address, b_.CreateMul(bank, m.copy->bank_stride));
  }
  for (uint32_t k = 0; k < lanes(); ++k) {
    const auto of_this = [&](const Val& v) {
      return v.varying ? b_.CreateExtractElement(v.v, k) : v.v;
    };
    llvm::Value* const wide = wide_index(of_this(index), index_type);
    llvm::Value* const address = b_.CreateGEP(t, banks[k % kCopyBanks], wide);
    llvm::Value* const old = b_.CreateAlignedLoad(t, address, align_of(m));
    b_.CreateAlignedStore(math_.combine(e.op, m.element, old, of_this(operand)), address,
                          align_of(m));
  }
  b_.CreateBr(after);
  b_.SetInsertPoint(single);
  llvm::Value* const indices = in_memory(index);
  llvm::Value* const operands = in_memory(operand);
  for_each_lane(lanes_in, [&](llvm::Value* lane) {
    combine(m, e, wide_index(of_lane(index, indices, lane), index_type),
            of_lane(operand, operands, lane));
  });
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

Val LaneCode::atomic(ExprId id, const Atomic& e, bool used) {
  const Val index = value(e.index);
  std::array<Val, 2> args;
  for (int i = 0; i < arity_of(e.op); ++i)
    args[static_cast<size_t>(i)] = value(e.args[static_cast<size_t>(i)]);
  if (terminated()) return index;
  const MemoryRef m = memory(e.memory);
  const Type index_type = type_of_expr(e.index);
  const bool proved = c().expr_proofs[id.index()] >= 0;
  const SiteRef site{id, {}};
  llvm::Type* const t = type_of(m.element, b_.getContext());

  // One operation, if `may` (null: yes).
  const auto guarded = [&](llvm::Value* may, llvm::Value* i, llvm::Value* a,
                           llvm::Value* b) -> llvm::Value* {
    const auto operation = [&] {
      llvm::Value* const wide = wide_index(i, index_type);
      if (m.copy != nullptr) return combine(m, e, wide, a);
      return atomic_scalar(m, e, element_address(m, wide), a, b, used);
    };
    if (may == nullptr) return operation();
    llvm::BasicBlock* const from = b_.GetInsertBlock();
    llvm::BasicBlock* const inside = new_block("atomic");
    llvm::BasicBlock* const after = new_block("atomic_after");
    b_.CreateCondBr(may, inside, after);
    b_.SetInsertPoint(inside);
    llvm::Value* const old = operation();
    llvm::BasicBlock* const end = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    llvm::PHINode* const phi = b_.CreatePHI(t, 2);
    phi->addIncoming(llvm::Constant::getNullValue(t), from);
    phi->addIncoming(old, end);
    return phi;
  };
  if (!wide()) {
    llvm::Value* const may = allowed_scalar(m, index, index_type, site, proved);
    return {guarded(may, index.v, args[0].v, args[1].v), false};
  }
  // Elements of an aligned row are read whole; volatile, because each of them is looked at anew.
  if (e.op == AtomicOp::Load && e.order == MemoryOrder::Relaxed && index.offset != nullptr &&
      !m.own && !m.per_lane) {
    llvm::Value* const first =
        b_.CreateZExt(b_.CreateAdd(env_.start(), index.offset), b_.getInt64Ty());
    if (llvm::Value* const row =
            unmasked_row(m, index, index_type, element_address(m, first), proved)) {
      llvm::LoadInst* const load = mark(m, b_.CreateAlignedLoad(vector(t), row, align_of(m)));
      load->setVolatile(true);
      return {b_.CreateFreeze(load), true};
    }
  }
  const bool uniform_args = !args[0].varying;
  if (!index.varying) {
    llvm::Value* may = allowed_scalar(m, index, index_type, site, proved);
    if (mask_ != nullptr) {
      llvm::Value* const meant = any(mask_);
      may = may != nullptr ? b_.CreateAnd(may, meant) : meant;
    }
    // All lanes may see the same.
    if (e.op == AtomicOp::Load) return {guarded(may, index.v, nullptr, nullptr), false};
    if (e.op == AtomicOp::Store && uniform_args)
      return {guarded(may, index.v, args[0].v, nullptr), false};
    llvm::Constant* const nothing = neutral_operand(e.op, m.element, vector(t));
    if (!used && nothing != nullptr && e.order == MemoryOrder::Relaxed) {
      llvm::Value* operands = math_.splat(args[0]);
      if (mask_ != nullptr) operands = b_.CreateSelect(mask_, operands, nothing);
      return {guarded(may, index.v, reduced(e.op, m.element, operands), nullptr), false};
    }
  }
  llvm::Value* lanes_in = nullptr;
  if (index.varying) {
    lanes_in = allowed(m, index, index_type, site, proved);
    if (lanes_in == nullptr) lanes_in = all_lanes();
  } else {
    llvm::Value* const inside = allowed_scalar(m, index, index_type, site, proved);
    lanes_in = mask_or_all();
    if (inside != nullptr) lanes_in = b_.CreateAnd(lanes_in, math_.splat({inside, false}));
  }
  if (!used && m.copy != nullptr) {
    combine_lanes(m, e, index, index_type, args[0], lanes_in);
    return {llvm::Constant::getNullValue(vector(t)), true};
  }
  llvm::Value* const found = new_variable(vector(t));
  b_.CreateStore(llvm::Constant::getNullValue(vector(t)), found);
  const std::array<llvm::Value*, 3> all = {in_memory(index), in_memory(args[0]),
                                           in_memory(args[1])};
  for_each_lane(lanes_in, [&](llvm::Value* lane) {
    llvm::Value* const old =
        guarded(nullptr, of_lane(index, all[0], lane), of_lane(args[0], all[1], lane),
                of_lane(args[1], all[2], lane));
    if (used) {
      llvm::Value* const before = b_.CreateLoad(vector(t), found);
      b_.CreateStore(b_.CreateInsertElement(before, old, lane), found);
    }
  });
  return {b_.CreateLoad(vector(t), found), true};
}

}  // namespace vyre::codegen
