// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/atomic_emitter.hpp"

#include <llvm/IR/IntrinsicsX86.h>

#include "base/check.hpp"
#include "codegen/llvm/body/emitters.hpp"

namespace vyre::codegen {

using namespace ir;

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

// Their order is one of bits, which no instruction has.
bool orders_floats(AtomicOp op, Type type) {
  return is_float(type) && (op == AtomicOp::Min || op == AtomicOp::Max);
}

bool is_narrow(Type element) {
  return element != Type::Bool && bits_of(element) < 32;
}

// Operations after which the element is what it was, more often than not.
bool often_changes_nothing(AtomicOp op) {
  return op == AtomicOp::Min || op == AtomicOp::Max || op == AtomicOp::And || op == AtomicOp::Or;
}

}  // namespace

llvm::Value* AtomicEmitter::in_memory(const Val& v) {
  if (v.v == nullptr || !v.varying) return nullptr;
  llvm::Value* const all = x_.new_variable(v.v->getType());
  b_.CreateStore(v.v, all);
  return all;
}
llvm::Value* AtomicEmitter::of_lane(const Val& v, llvm::Value* place, llvm::Value* lane) {
  if (place == nullptr) return v.v;
  llvm::Type* const element = v.v->getType()->getScalarType();
  return b_.CreateLoad(element, b_.CreateGEP(element, place, lane));
}

llvm::Value* AtomicEmitter::scalar(const MemoryRef& m, const Atomic& e, llvm::Value* address,
                                   llvm::Value* a, llvm::Value* b) {
  if (x_.options.lanes_are_threads && e.order != MemoryOrder::Relaxed) {
    Atomic relaxed = e;
    relaxed.order = MemoryOrder::Relaxed;
    if (e.order != MemoryOrder::Acquire) x_.threads().fence();
    llvm::Value* const old = scalar(m, relaxed, address, a, b);
    if (e.order != MemoryOrder::Release) x_.threads().fence();
    return old;
  }
  if (m.own) return unshared(m, e, address, a, b);
  if (x_.options.fences_releases &&
      (e.order == MemoryOrder::Release || e.order == MemoryOrder::AcqRel))
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  llvm::Type* const t = element_type(m.element, b_.getContext());
  const llvm::Align align = e_.memory.align_of(m);
  if (e.op == AtomicOp::Load) {
    llvm::LoadInst* const load = e_.memory.mark(m, b_.CreateAlignedLoad(t, address, align));
    load->setAtomic(ordering(e.order));
    return load;
  }
  if (e.op == AtomicOp::Store) {
    store(m, e, address, a);
    return llvm::Constant::getNullValue(t);
  }
  if (e.op == AtomicOp::Cas) {
    auto* const exchange = e_.memory.mark(
        m,
        b_.CreateAtomicCmpXchg(address, a, b, align, ordering(e.order), failure_ordering(e.order)));
    return b_.CreateExtractValue(exchange, 0);
  }
  return read_modify_write(m, e, address, a);
}

// Plain operations: no other thread sees the memory.
llvm::Value* AtomicEmitter::unshared(const MemoryRef& m, const Atomic& e, llvm::Value* address,
                                     llvm::Value* a, llvm::Value* b) {
  llvm::Type* const t = element_type(m.element, b_.getContext());
  const llvm::Align align = e_.memory.align_of(m);
  llvm::Value* const old = e_.memory.mark(m, b_.CreateAlignedLoad(t, address, align));
  if (e.op == AtomicOp::Load) return old;
  llvm::Value* now = nullptr;
  if (e.op == AtomicOp::Cas)
    now = b_.CreateSelect(b_.CreateICmpEQ(old, a), b, old);
  else if (orders_floats(e.op, m.element))
    now = b_.CreateSelect(replaces(e.op, m.element, as_bits(old), as_bits(a)), a, old);
  else
    now = math_.combine(e.op, m.element, old, a);
  e_.memory.mark(m, b_.CreateAlignedStore(now, address, align));
  return old;
}

void AtomicEmitter::store(const MemoryRef& m, const Atomic& e, llvm::Value* address,
                          llvm::Value* a) {
  llvm::Type* const t = element_type(m.element, b_.getContext());
  const llvm::Align align = e_.memory.align_of(m);
  const auto write = [&] {
    llvm::StoreInst* const s = e_.memory.mark(m, b_.CreateAlignedStore(a, address, align));
    s->setAtomic(ordering(e.order));
    return s;
  };
  if (e.order != MemoryOrder::Relaxed || !x_.options.shared_lines) {
    write();
    return;
  }
  // A flag that all lanes set stays shared among the cores after the first.
  llvm::LoadInst* const seen = e_.memory.mark(m, b_.CreateAlignedLoad(t, address, align));
  seen->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::Type* const bits = b_.getIntNTy(t->getScalarSizeInBits());
  e_.memory.jumped_over(b_.CreateICmpNE(b_.CreateBitCast(seen, bits), b_.CreateBitCast(a, bits)),
                        write);
}

llvm::Value* AtomicEmitter::read_modify_write(const MemoryRef& m, const Atomic& e,
                                              llvm::Value* address, llvm::Value* a) {
  if (orders_floats(e.op, m.element)) return order_floats(m, e, address, a);
  llvm::Type* const t = element_type(m.element, b_.getContext());
  const llvm::Align align = e_.memory.align_of(m);
  const auto change = [&] {
    return e_.memory.mark(
        m, b_.CreateAtomicRMW(rmw(e.op, m.element), address, a, align, ordering(e.order)));
  };
  if (!often_changes_nothing(e.op) || e.order != MemoryOrder::Relaxed) return change();
  // A load first keeps the line shared among the cores when there is nothing to change.
  llvm::LoadInst* const seen = e_.memory.mark(m, b_.CreateAlignedLoad(t, address, align));
  seen->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::Value* const changed = math_.combine(e.op, m.element, seen, a);
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::BasicBlock* const write = x_.new_block("change");
  llvm::BasicBlock* const after = x_.new_block("changed");
  b_.CreateCondBr(b_.CreateICmpEQ(changed, seen), after, write);
  b_.SetInsertPoint(write);
  llvm::Value* const old = change();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* const phi = b_.CreatePHI(t, 2);
  phi->addIncoming(seen, from);
  phi->addIncoming(old, write);
  return phi;
}

llvm::Value* AtomicEmitter::as_bits(llvm::Value* v) {
  return b_.CreateBitCast(v, b_.getIntNTy(v->getType()->getScalarSizeInBits()));
}

// Whether min or max changes an element of floats, from the bits of both: numbers in the order of
// their bits, those of negative ones turned round, so that -0 comes before +0.
llvm::Value* AtomicEmitter::replaces(AtomicOp op, Type type, llvm::Value* old, llvm::Value* given) {
  llvm::Type* const bits = given->getType();
  const unsigned width = bits->getScalarSizeInBits();
  const auto constant = [&](const llvm::APInt& n) { return llvm::ConstantInt::get(bits, n); };
  const llvm::APInt most = llvm::APInt::getSignedMaxValue(width);
  const llvm::APInt infinity =
      llvm::APInt::getBitsSet(width, type == Type::F64 ? 52 : 23, width - 1);
  const auto is_nan = [&](llvm::Value* x) {
    return b_.CreateICmpUGT(b_.CreateAnd(x, constant(most)), constant(infinity));
  };
  const auto place = [&](llvm::Value* x) {
    llvm::Value* const signs = b_.CreateAShr(x, width - 1);
    return b_.CreateXor(x, b_.CreateAnd(signs, constant(most)));
  };
  llvm::Value* const before = op == AtomicOp::Min ? b_.CreateICmpSLT(place(given), place(old))
                                                  : b_.CreateICmpSGT(place(given), place(old));
  return b_.CreateAnd(b_.CreateNot(is_nan(given)), b_.CreateOr(is_nan(old), before));
}

// Compare and swap until it is done or there is nothing to change.
llvm::Value* AtomicEmitter::order_floats(const MemoryRef& m, const Atomic& e, llvm::Value* address,
                                         llvm::Value* a) {
  const llvm::Align align = e_.memory.align_of(m);
  llvm::Value* const given = as_bits(a);
  llvm::LoadInst* const first =
      e_.memory.mark(m, b_.CreateAlignedLoad(given->getType(), address, align));
  first->setAtomic(failure_ordering(e.order));
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::BasicBlock* const head = x_.new_block("order");
  llvm::BasicBlock* const write = x_.new_block("order_change");
  llvm::BasicBlock* const after = x_.new_block("ordered");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode* const old = b_.CreatePHI(given->getType(), 2);
  old->addIncoming(first, from);
  b_.CreateCondBr(replaces(e.op, m.element, old, given), write, after);
  b_.SetInsertPoint(write);
  auto* const exchange =
      e_.memory.mark(m, b_.CreateAtomicCmpXchg(address, old, given, align, ordering(e.order),
                                               failure_ordering(e.order)));
  old->addIncoming(b_.CreateExtractValue(exchange, 0), b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(exchange, 1), after, head);
  b_.SetInsertPoint(after);
  return b_.CreateBitCast(old, a->getType());
}

// The operands of all lanes as one; lanes that are not meant are left out by the caller.
llvm::Value* AtomicEmitter::reduced(AtomicOp op, Type type, llvm::Value* values) {
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

// In the worker's private copy if there is one. The result is unused.
llvm::Value* AtomicEmitter::combine(const MemoryRef& m, const Atomic& e, llvm::Value* wide,
                                    llvm::Value* a) {
  llvm::Type* const t = element_type(m.element, b_.getContext());
  llvm::BasicBlock* const own = x_.new_block("own_copy");
  llvm::BasicBlock* const shared = x_.new_block("no_copy");
  llvm::BasicBlock* const after = x_.new_block("combined");
  b_.CreateCondBr(m.copy->use, own, shared);
  b_.SetInsertPoint(own);
  llvm::Value* const number = x_.serial_lane != nullptr
                                  ? b_.CreateZExt(x_.serial_lane, b_.getInt64Ty())
                                  : x_.rows.wide_start();
  llvm::Value* const bank = b_.CreateAnd(number, m.copy->bank_mask);
  llvm::Value* const at = b_.CreateAdd(wide, b_.CreateMul(bank, m.copy->bank_stride));
  llvm::Value* const address = b_.CreateGEP(t, m.copy->address, at);
  llvm::Value* const old = b_.CreateAlignedLoad(t, address, e_.memory.align_of(m));
  b_.CreateAlignedStore(math_.combine(e.op, m.element, old, a), address, e_.memory.align_of(m));
  b_.CreateBr(after);
  b_.SetInsertPoint(shared);
  scalar(m, e, e_.memory.element_address(m, wide), a, nullptr);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  return llvm::Constant::getNullValue(t);
}

void AtomicEmitter::combine_lanes(const Operation& o, llvm::Value* lanes_in) {
  const MemoryRef& m = o.m;
  llvm::Type* const t = element_type(m.element, b_.getContext());
  llvm::BasicBlock* const own = x_.new_block("own_copy");
  llvm::BasicBlock* const whole = x_.new_block("own_all");
  llvm::BasicBlock* const single = x_.new_block("own_some");
  llvm::BasicBlock* const after = x_.new_block("combined");
  b_.CreateCondBr(m.copy->use, own, single);
  b_.SetInsertPoint(own);
  b_.CreateCondBr(x_.every(lanes_in), whole, single);
  b_.SetInsertPoint(whole);
  std::array<llvm::Value*, kCopyBanks> banks = {};
  for (uint32_t k = 0; k < kCopyBanks; ++k) {
    llvm::Value* const bank = b_.CreateAnd(b_.getInt64(k), m.copy->bank_mask);
    banks[k] = b_.CreateGEP(t, m.copy->address, b_.CreateMul(bank, m.copy->bank_stride));
  }
  for (uint32_t k = 0; k < x_.lanes(); ++k) {
    const auto of_this = [&](const Val& v) {
      return v.varying ? b_.CreateExtractElement(v.v, k) : v.v;
    };
    llvm::Value* const wide = e_.memory.wide_index(of_this(o.index), o.index_type);
    llvm::Value* const address = b_.CreateGEP(t, banks[k % kCopyBanks], wide);
    llvm::Value* const old = b_.CreateAlignedLoad(t, address, e_.memory.align_of(m));
    b_.CreateAlignedStore(math_.combine(o.e.op, m.element, old, of_this(o.args[0])), address,
                          e_.memory.align_of(m));
  }
  b_.CreateBr(after);
  b_.SetInsertPoint(single);
  llvm::Value* const indices = in_memory(o.index);
  llvm::Value* const operands = in_memory(o.args[0]);
  e_.masks.for_each_lane(lanes_in, [&](llvm::Value* lane) {
    combine(m, o.e, e_.memory.wide_index(of_lane(o.index, indices, lane), o.index_type),
            of_lane(o.args[0], operands, lane));
  });
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

Val AtomicEmitter::atomic(ExprId id, const Atomic& e, bool used) {
  Operation o{.e = e, .used = used};
  o.index = e_.values.value(e.index);
  for (int i = 0; i < arity_of(e.op); ++i)
    o.args[static_cast<size_t>(i)] = e_.values.value(e.args[static_cast<size_t>(i)]);
  if (x_.terminated()) return o.index;
  o.m = e_.memory.memory(e.memory);
  // Elements of 8 and 16 bits are worked on as they are; the old value widens as a load does.
  const bool storage = is_narrow(o.m.element);
  if (storage)
    for (int i = 0; i < arity_of(e.op); ++i) {
      Val& arg = o.args[static_cast<size_t>(i)];
      arg = {math_.narrow(o.m.element, arg.v), arg.varying};
    }
  o.index_type = x_.type_of_expr(e.index);
  o.proved = x_.c().expr_proofs[id.index()] >= 0;
  o.site = {id, {}};
  Val old;
  if (x_.wide()) {
    old = of_block(o);
  } else {
    llvm::Value* const may = e_.memory.allowed_scalar(o.m, o.index, o.index_type, o.site, o.proved);
    old = {guarded(o, may, o.index.v, o.args[0].v, o.args[1].v), false};
  }
  return storage ? Val{math_.widen(o.m.element, old.v), old.varying} : old;
}

llvm::Value* AtomicEmitter::guarded(const Operation& o, llvm::Value* may, llvm::Value* index,
                                    llvm::Value* a, llvm::Value* b) {
  const auto operation = [&] {
    llvm::Value* const wide = e_.memory.wide_index(index, o.index_type);
    if (o.m.copy != nullptr) return combine(o.m, o.e, wide, a);
    return scalar(o.m, o.e, e_.memory.element_address(o.m, wide), a, b);
  };
  if (may == nullptr) return operation();
  llvm::Type* const t = element_type(o.m.element, b_.getContext());
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::BasicBlock* const inside = x_.new_block("atomic");
  llvm::BasicBlock* const after = x_.new_block("atomic_after");
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
}

Val AtomicEmitter::of_block(const Operation& o) {
  if (llvm::Value* const row = load_row(o)) return {row, true};
  if (!o.index.varying)
    if (const auto one = to_one_element(o)) return *one;
  llvm::Value* lanes_in = nullptr;
  if (o.index.varying) {
    lanes_in = e_.memory.allowed(o.m, o.index, o.index_type, o.site, o.proved);
    if (lanes_in == nullptr) lanes_in = x_.all_lanes();
  } else {
    llvm::Value* const inside =
        e_.memory.allowed_scalar(o.m, o.index, o.index_type, o.site, o.proved);
    lanes_in = x_.mask_or_all();
    if (inside != nullptr) lanes_in = b_.CreateAnd(lanes_in, math_.splat({inside, false}));
  }
  if (o.used || o.m.copy == nullptr) return serialised(o, lanes_in);
  combine_lanes(o, lanes_in);
  llvm::Type* const t = element_type(o.m.element, b_.getContext());
  return {llvm::Constant::getNullValue(x_.vector(t)), true};
}

// Elements of an aligned row are read whole; volatile, because each of them is loaded anew.
llvm::Value* AtomicEmitter::load_row(const Operation& o) {
  if (o.e.op != AtomicOp::Load || o.e.order != MemoryOrder::Relaxed || o.index.offset == nullptr ||
      o.m.own || o.m.per_lane)
    return nullptr;
  llvm::Value* const first =
      b_.CreateZExt(b_.CreateAdd(x_.rows.start(), o.index.offset), b_.getInt64Ty());
  llvm::Value* const row = e_.memory.unmasked_row(o.m, o.index, o.index_type,
                                                  e_.memory.element_address(o.m, first), o.proved);
  if (row == nullptr) return nullptr;
  llvm::Type* const t = element_type(o.m.element, b_.getContext());
  llvm::LoadInst* const load =
      e_.memory.mark(o.m, b_.CreateAlignedLoad(x_.vector(t), row, e_.memory.align_of(o.m)));
  load->setVolatile(true);
  return b_.CreateFreeze(load);
}

std::optional<Val> AtomicEmitter::to_one_element(const Operation& o) {
  llvm::Value* may = e_.memory.allowed_scalar(o.m, o.index, o.index_type, o.site, o.proved);
  if (x_.mask != nullptr) {
    llvm::Value* const meant = x_.any(x_.mask);
    may = may != nullptr ? b_.CreateAnd(may, meant) : meant;
  }
  // All lanes may see the same.
  if (o.e.op == AtomicOp::Load) return Val{guarded(o, may, o.index.v, nullptr, nullptr), false};
  if (o.e.op == AtomicOp::Store && !o.args[0].varying)
    return Val{guarded(o, may, o.index.v, o.args[0].v, nullptr), false};
  llvm::Type* const t = element_type(o.m.element, b_.getContext());
  llvm::Constant* const nothing = neutral_operand(o.e.op, o.m.element, x_.vector(t));
  if (o.used || nothing == nullptr || o.e.order != MemoryOrder::Relaxed) return std::nullopt;
  llvm::Value* operands = math_.splat(o.args[0]);
  if (x_.mask != nullptr) operands = b_.CreateSelect(x_.mask, operands, nothing);
  return Val{guarded(o, may, o.index.v, reduced(o.e.op, o.m.element, operands), nullptr), false};
}

Val AtomicEmitter::serialised(const Operation& o, llvm::Value* lanes_in) {
  llvm::Type* const t = element_type(o.m.element, b_.getContext());
  llvm::Value* const found = x_.new_variable(x_.vector(t));
  b_.CreateStore(llvm::Constant::getNullValue(x_.vector(t)), found);
  const std::array<llvm::Value*, 3> all = {in_memory(o.index), in_memory(o.args[0]),
                                           in_memory(o.args[1])};
  e_.masks.for_each_lane(lanes_in, [&](llvm::Value* lane) {
    llvm::Value* const old =
        guarded(o, nullptr, of_lane(o.index, all[0], lane), of_lane(o.args[0], all[1], lane),
                of_lane(o.args[1], all[2], lane));
    if (o.used) {
      llvm::Value* const before = b_.CreateLoad(x_.vector(t), found);
      b_.CreateStore(b_.CreateInsertElement(before, old, lane), found);
    }
  });
  return {b_.CreateLoad(x_.vector(t), found), true};
}

}  // namespace vyre::codegen
