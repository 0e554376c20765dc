// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/memory_emitter.hpp"

#include "base/check.hpp"
#include "codegen/llvm/body/emitters.hpp"
#include "codegen/llvm/body/hoister.hpp"
#include "ir/scalar.hpp"

namespace vyre::codegen {

using namespace ir;
namespace in = llvm::Intrinsic;

MemoryRef MemoryEmitter::memory(Memory m) {
  switch (m.kind) {
    case Memory::Kind::Buffer: return x_.target.buffer(m.buffer());
    case Memory::Kind::Table: return table(m.table());
    case Memory::Kind::Local: return *x_.frame().slots[m.index].memory;
  }
  return {};
}

MemoryRef MemoryEmitter::table(ConstId id) {
  const auto [known, fresh] = tables_.try_emplace({x_.frame().c, id.value});
  if (fresh) known->second = new_table(id);
  return known->second;
}

MemoryRef MemoryEmitter::new_table(ConstId id) {
  const std::vector<check::Constant>& values = x_.c().constants[id.index()];
  const Type type = x_.p()[id].type;
  MemoryRef m;
  m.element = type;
  m.invariant = true;
  m.length = b_.getInt32(static_cast<uint32_t>(values.size()));
  // Whole words, see gather_narrow().
  std::string bytes((values.size() * bytes_of(type) + 3) / 4 * 4, '\0');
  for (size_t k = 0; k < values.size(); ++k)
    store_element(type, reinterpret_cast<std::byte*>(bytes.data()) + k * bytes_of(type),
                  values[k].bits);
  llvm::Module& module = *b_.GetInsertBlock()->getModule();
  llvm::Constant* const data = llvm::ConstantDataArray::getString(b_.getContext(), bytes, false);
  for (llvm::GlobalVariable& global : module.globals())
    if (global.hasInitializer() && global.getInitializer() == data) {
      m.address = &global;
      return m;
    }
  m.address = new_constant(module, "table." + x_.p()[id].name, data);
  return m;
}

llvm::Value* MemoryEmitter::wide_index(llvm::Value* index, Type type) {
  llvm::Type* target = b_.getInt64Ty();
  if (auto* v = llvm::dyn_cast<llvm::VectorType>(index->getType()))
    target = llvm::VectorType::get(target, v->getElementCount());
  return is_signed(type) ? b_.CreateSExt(index, target) : b_.CreateZExt(index, target);
}

llvm::Value* MemoryEmitter::element_address(const MemoryRef& m, llvm::Value* wide) {
  return b_.CreateGEP(element_type(m.element, b_.getContext()), m.address, wide);
}

llvm::Align MemoryEmitter::align_of(const MemoryRef& m) const {
  return llvm::Align(bytes_of(m.element));
}

void MemoryEmitter::describe_access(const MemoryRef& m, llvm::Instruction& access) {
  if (m.scope != nullptr) {
    access.setMetadata(llvm::LLVMContext::MD_alias_scope, m.scope);
    access.setMetadata(llvm::LLVMContext::MD_noalias, m.others);
  }
  if (m.invariant && llvm::isa<llvm::LoadInst>(access))
    access.setMetadata(llvm::LLVMContext::MD_invariant_load,
                       llvm::MDNode::get(b_.getContext(), {}));
}

llvm::Value* MemoryEmitter::finish_load(const MemoryRef& m, llvm::Value* raw) {
  // A race gives some value, but one value.
  if (!m.invariant && !m.own) raw = b_.CreateFreeze(raw);
  return math_.widen(m.element, raw);
}

llvm::Value* MemoryEmitter::in_bounds(const MemoryRef& m, const Val& index, Type type) {
  llvm::Value* length = m.length;
  llvm::Value* i = index.v;
  if (bits_of(type) == 64)
    length = b_.CreateZExt(length, b_.getInt64Ty());
  else if (is_signed(type) && !index.varying) {
    i = b_.CreateSExt(i, b_.getInt64Ty());
    length = b_.CreateZExt(length, b_.getInt64Ty());
  }
  if (index.varying) length = b_.CreateVectorSplat(x_.lanes(), length);
  llvm::Value* const below = b_.CreateICmpULT(i, length);
  if (!index.varying || bits_of(type) == 64 || !is_signed(type)) return below;
  return b_.CreateAnd(below, b_.CreateICmpSGE(i, llvm::Constant::getNullValue(i->getType())));
}

void MemoryEmitter::stop_lanes(llvm::Value* stopped, SiteRef site, const MemoryRef& m,
                               const Val& index, Type index_type) {
  llvm::Value* const before = x_.mask;
  ++x_.divergence_depth;
  e_.masks.under_mask(stopped, [&] {
    llvm::Value* const first = x_.first_lane(stopped);
    const Val lane = x_.target.global_lane();
    llvm::Value* const one = index.varying ? b_.CreateExtractElement(index.v, first) : index.v;
    x_.target.out_of_bounds(site, m, b_.CreateExtractElement(math_.splat(lane), first),
                            wide_index(one, index_type));
    llvm::Value* const live = b_.CreateLoad(x_.vector(b_.getInt1Ty()), x_.live);
    b_.CreateStore(b_.CreateAnd(live, b_.CreateNot(stopped)), x_.live);
  });
  --x_.divergence_depth;
  x_.mask = b_.CreateAnd(before != nullptr ? before : x_.all_lanes(), b_.CreateNot(stopped));
}

llvm::Value* MemoryEmitter::allowed(const MemoryRef& m, const Val& index, Type index_type,
                                    SiteRef site, bool proved) {
  if (proved) return x_.mask;
  llvm::Value* const inside = in_bounds(m, index, index_type);
  if (x_.options.checked) {
    stop_lanes(b_.CreateAnd(x_.mask_or_all(), b_.CreateNot(inside)), site, m, index, index_type);
    return x_.mask;
  }
  return x_.mask != nullptr ? b_.CreateAnd(x_.mask, inside) : inside;
}

llvm::Value* MemoryEmitter::allowed_scalar(const MemoryRef& m, const Val& index, Type index_type,
                                           SiteRef site, bool proved) {
  if (proved) return nullptr;
  llvm::Value* const inside = in_bounds(m, index, index_type);
  if (!x_.options.checked) return inside;
  if (x_.wide()) {
    stop_lanes(b_.CreateAnd(x_.mask_or_all(), math_.splat({b_.CreateNot(inside), false})), site, m,
               index, index_type);
    return inside;
  }
  llvm::BasicBlock* const outside = x_.new_block("outside");
  llvm::BasicBlock* const fine = x_.new_block("inside");
  b_.CreateCondBr(inside, fine, outside);
  b_.SetInsertPoint(outside);
  x_.target.out_of_bounds(site, m, x_.target.global_lane().v, wide_index(index.v, index_type));
  b_.CreateBr(x_.target.lane_end());
  b_.SetInsertPoint(fine);
  return nullptr;
}

Val MemoryEmitter::load(Memory m, ExprId index, SiteRef site, bool proved) {
  const Val i = e_.values.value(index);
  if (x_.terminated()) return i;
  return load_at(memory(m), i, x_.type_of_expr(index), site, proved);
}

Val MemoryEmitter::load_scalar(const MemoryRef& m, const Val& index, Type index_type, SiteRef site,
                               bool proved) {
  llvm::Type* const type = element_type(m.element, b_.getContext());
  llvm::Value* address = nullptr;
  const auto access = [&] { return mark(m, b_.CreateAlignedLoad(type, address, align_of(m))); };
  if (llvm::Value* const i =
          proved ? nullptr : e_.splitter.split_index(index.v, nullptr, m, index_type)) {
    address = element_address(m, i);
    return {finish_load(m, access()), false};
  }
  llvm::Value* const inside = allowed_scalar(m, index, index_type, site, proved);
  address = element_address(m, wide_index(index.v, index_type));
  if (inside != nullptr && x_.options.jumps_over_accesses)
    return {finish_load(m, jumped_over(inside, access)), false};
  if (inside != nullptr)
    address = b_.CreateSelect(inside, address, zero_global(*b_.GetInsertBlock()->getModule()));
  llvm::LoadInst* const raw = access();
  // A fixed place of a fixed length is there whether the lane comes to it or not.
  const check::BoundsProof* const proof = site.expr.valid() ? x_.c().proof(site.expr) : nullptr;
  const bool fixed = proof != nullptr && proof->kind == check::BoundsProof::Kind::Range &&
                     llvm::isa<llvm::Constant>(index.v);
  if (inside == nullptr && fixed && (m.phase_invariant || m.invariant))
    raw->setMetadata(kPhaseInvariant, llvm::MDNode::get(b_.getContext(), {}));
  return {finish_load(m, raw), false};
}

Val MemoryEmitter::load_contiguous(const MemoryRef& m, const Val& index, Type index_type,
                                   SiteRef site, bool proved) {
  llvm::Type* const type = x_.vector(element_type(m.element, b_.getContext()));
  llvm::Value* const first = b_.CreateAdd(x_.rows.start(), index.offset);
  llvm::Value* const wide_first = b_.CreateZExt(first, b_.getInt64Ty());
  llvm::Value* const address = element_address(m, wide_first);
  const auto ragged_address = [&] { return element_address(m, ragged_start(first, index.offset)); };
  const auto plain = [&](llvm::Value* at) {
    return mark(m, b_.CreateAlignedLoad(type, at, align_of(m)));
  };
  const auto masked = [&](llvm::Value* lanes_in) {
    return mark(m, b_.CreateMaskedLoad(type, ragged_address(), align_of(m), lanes_in,
                                       llvm::Constant::getNullValue(type)));
  };
  if (llvm::Value* const at = unmasked_row(m, index, index_type, address, proved)) {
    prefetch(m, index, at);
    return {finish_load(m, plain(at)), true};
  }
  // Lanes that are not meant may load what is there.
  const bool for_all = x_.mask == nullptr || !x_.options.cheap_masks;
  if (x_.options.checked || !for_all) {
    llvm::Value* const lanes_in = allowed(m, index, index_type, site, proved);
    if (lanes_in == nullptr) return {finish_load(m, plain(address)), true};
    return {finish_load(m, masked(lanes_in)), true};
  }
  llvm::BasicBlock* const inside = x_.new_block("row");
  llvm::BasicBlock* const ragged = x_.new_block("ragged");
  llvm::BasicBlock* const after = x_.new_block("loaded");
  b_.CreateCondBr(whole_row_inside(m, wide_first, index_type), inside, ragged);
  b_.SetInsertPoint(inside);
  prefetch(m, index, address);
  llvm::Value* const all = plain(address);
  b_.CreateBr(after);
  b_.SetInsertPoint(ragged);
  llvm::Value* const some = masked(allowed(m, index, index_type, site, false));
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* const phi = b_.CreatePHI(type, 2);
  phi->addIncoming(all, inside);
  phi->addIncoming(some, ragged);
  return {finish_load(m, phi), true};
}

void MemoryEmitter::prefetch(const MemoryRef& m, const Val& index, llvm::Value* address) {
  if (!x_.stride || m.own || !computed_from(index.offset, x_.stride->number)) return;
  constexpr uint64_t kLine = 64;
  const uint64_t bytes = uint64_t{x_.lanes()} * bytes_of(m.element);
  for (uint64_t line = 0; line < bytes; line += kLine) {
    // Maybe behind the buffer, which does no harm to a prefetch: the address promises nothing.
    llvm::Value* const at = b_.CreateGEP(
        b_.getInt8Ty(), address, b_.getInt64(x_.stride->ahead * bytes_of(m.element) + line));
    b_.CreateIntrinsic(in::prefetch, {at->getType()},
                       {at, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  }
}

llvm::Value* MemoryEmitter::unmasked_row(const MemoryRef& m, const Val& index, Type index_type,
                                         llvm::Value* address, bool proved) {
  if (x_.mask != nullptr || x_.options.checked) return nullptr;
  const auto* const k = llvm::dyn_cast<llvm::ConstantInt>(index.offset);
  if (proved && (k == nullptr || !k->isZero())) return address;
  if (!proved && !x_.rows.ensure_below(index.offset, m.length, is_signed(index_type))) {
    llvm::Value* const i =
        e_.splitter.split_index(index.offset, x_.rows.wide_start(), m, index_type);
    return i != nullptr ? element_address(m, i) : nullptr;
  }
  // What does not change from block to block comes first, so that it is added once.
  llvm::Type* const element = element_type(m.element, b_.getContext());
  llvm::Value* const base = b_.CreateGEP(element, m.address, x_.rows.row_offset(index.offset));
  return b_.CreateGEP(element, base, x_.rows.wide_start());
}

// Where a row starts of which not all lanes are inside: if its indices wrap, the lanes that are
// inside come after 2^32, and the row starts below 0.
llvm::Value* MemoryEmitter::ragged_start(llvm::Value* first, llvm::Value* offset) {
  llvm::Value* const wide_first = b_.CreateZExt(first, b_.getInt64Ty());
  if (const auto* k = llvm::dyn_cast<llvm::ConstantInt>(offset); k != nullptr && k->isZero())
    return wide_first;
  llvm::Value* const wraps = b_.CreateICmpUGT(first, b_.getInt32(0U - x_.lanes()));
  llvm::Value* const below =
      b_.CreateSub(wide_first, llvm::ConstantInt::get(b_.getInt64Ty(), uint64_t{1} << 32));
  return b_.CreateSelect(wraps, below, wide_first);
}

llvm::Value* MemoryEmitter::whole_row_inside(const MemoryRef& m, llvm::Value* wide_first,
                                             Type index_type) {
  llvm::Value* const last = b_.CreateAdd(
      wide_first, llvm::ConstantInt::get(b_.getInt64Ty(), x_.lanes() - 1), "", true, true);
  llvm::Value* limit = b_.CreateZExt(m.length, b_.getInt64Ty());
  if (is_signed(index_type))
    limit = b_.CreateBinaryIntrinsic(in::umin, limit,
                                     llvm::ConstantInt::get(b_.getInt64Ty(), uint64_t{1} << 31));
  return b_.CreateICmpULT(last, limit);
}

// Row `index`, then the lane's own part.
Val MemoryEmitter::load_per_lane(const MemoryRef& m, const Val& index, Type index_type,
                                 SiteRef site, bool proved) {
  llvm::Type* const element = element_type(m.element, b_.getContext());
  if (!index.varying) {
    llvm::Value* const inside = allowed_scalar(m, index, index_type, site, proved);
    llvm::Value* row = wide_index(index.v, index_type);
    if (inside != nullptr)
      row = b_.CreateSelect(inside, row, llvm::ConstantInt::get(b_.getInt64Ty(), 0));
    llvm::Value* const at = b_.CreateGEP(x_.vector(element), m.address, row);
    llvm::Value* raw = b_.CreateAlignedLoad(x_.vector(element), at, align_of(m));
    if (inside != nullptr)
      raw = b_.CreateSelect(inside, raw, llvm::Constant::getNullValue(raw->getType()));
    return {finish_load(m, raw), true};
  }
  llvm::Value* lanes_in = allowed(m, index, index_type, site, proved);
  if (lanes_in == nullptr) lanes_in = x_.all_lanes();
  llvm::Value* const raw =
      b_.CreateMaskedGather(x_.vector(element), lane_part(m, index.v, index_type), align_of(m),
                            lanes_in, llvm::Constant::getNullValue(x_.vector(element)));
  return {finish_load(m, raw), true};
}

Val MemoryEmitter::load_at(const MemoryRef& m, Val index, Type index_type, SiteRef site,
                           bool proved) {
  if (!x_.wide()) return load_scalar(m, index, index_type, site, proved);
  if (m.per_lane) return load_per_lane(m, index, index_type, site, proved);
  if (!index.varying) return load_scalar(m, index, index_type, site, proved);
  if (index.offset != nullptr) return load_contiguous(m, index, index_type, site, proved);
  llvm::Type* const element = element_type(m.element, b_.getContext());
  llvm::Value* lanes_in = allowed(m, index, index_type, site, proved);
  if (lanes_in == nullptr) lanes_in = x_.all_lanes();
  if (bytes_of(m.element) < 4) return {finish_load(m, gather_narrow(m, index.v, lanes_in)), true};
  llvm::Value* const raw =
      mark(m, b_.CreateMaskedGather(
                  x_.vector(element), element_address(m, wide_index(index.v, index_type)),
                  align_of(m), lanes_in, llvm::Constant::getNullValue(x_.vector(element))));
  return {finish_load(m, raw), true};
}

// Processors gather words of 32 bits. Memory starts at a multiple of four bytes, so the word around
// an element lies in the page the element does (what we lay out ourselves ends with a whole word),
// and what is beside it is cut off.
llvm::Value* MemoryEmitter::gather_narrow(const MemoryRef& m, llvm::Value* index,
                                          llvm::Value* lanes_in) {
  const uint32_t bytes = bytes_of(m.element);
  const uint32_t per_word = 4 / bytes;
  llvm::Type* const words = x_.vector(b_.getInt32Ty());
  const auto all = [&](uint32_t k) { return llvm::ConstantInt::get(words, k); };
  // Lanes that are meant are inside: 32 bits are enough.
  llvm::Value* const element = b_.CreateZExtOrTrunc(index, words);
  llvm::Value* const word = b_.CreateLShr(element, all(bytes == 2 ? 1 : 2));
  llvm::Value* const addresses =
      b_.CreateGEP(b_.getInt32Ty(), m.address, b_.CreateZExt(word, x_.vector(b_.getInt64Ty())));
  llvm::Value* const raw = mark(m, b_.CreateMaskedGather(words, addresses, llvm::Align(4), lanes_in,
                                                         llvm::Constant::getNullValue(words)));
  llvm::Value* const shift = b_.CreateMul(b_.CreateAnd(element, all(per_word - 1)), all(8 * bytes));
  llvm::Value* const bits =
      b_.CreateTrunc(b_.CreateLShr(raw, shift), x_.vector(b_.getIntNTy(8 * bytes)));
  return b_.CreateBitCast(bits, x_.vector(element_type(m.element, b_.getContext())));
}

llvm::Value* MemoryEmitter::lane_part(const MemoryRef& m, llvm::Value* index, Type index_type) {
  llvm::Type* const wide_type = x_.vector(b_.getInt64Ty());
  llvm::Value* const row =
      b_.CreateMul(wide_index(index, index_type), llvm::ConstantInt::get(wide_type, x_.lanes()));
  return element_address(m, b_.CreateAdd(row, x_.iota(b_.getInt64Ty())));
}

void MemoryEmitter::store_at(const MemoryRef& m, Memory source, Val index, Type index_type, Val v,
                             SiteRef site, bool proved) {
  if (!x_.wide()) {
    store_scalar(m, index, index_type, v, site, proved);
    return;
  }
  if (m.per_lane) {
    store_per_lane(m, index, index_type, v, site, proved);
    return;
  }
  if (!index.varying) {
    store_uniform(m, index, index_type, v, site, proved);
    return;
  }
  llvm::Value* const raw = math_.narrow(m.element, math_.splat(v));
  if (index.offset != nullptr) {
    store_contiguous(m, source, index, index_type, raw, site, proved);
    return;
  }
  llvm::Value* lanes_in = allowed(m, index, index_type, site, proved);
  if (lanes_in == nullptr) lanes_in = x_.all_lanes();
  mark(m, b_.CreateMaskedScatter(raw, element_address(m, wide_index(index.v, index_type)),
                                 align_of(m), lanes_in));
}

void MemoryEmitter::store_scalar(const MemoryRef& m, const Val& index, Type index_type,
                                 const Val& v, SiteRef site, bool proved) {
  llvm::Value* address = nullptr;
  llvm::Value* const raw = math_.narrow(m.element, v.v);
  const auto access = [&] { return mark(m, b_.CreateAlignedStore(raw, address, align_of(m))); };
  llvm::Value* const split =
      proved ? nullptr : e_.splitter.split_index(index.v, nullptr, m, index_type);
  if (split != nullptr) {
    address = element_address(m, split);
    access();
    return;
  }
  llvm::Value* const inside = allowed_scalar(m, index, index_type, site, proved);
  address = element_address(m, wide_index(index.v, index_type));
  if (llvm::Value* const changes = changes_element(m, index, inside, address, raw)) {
    jumped_over(changes, access);
    return;
  }
  if (inside != nullptr && x_.options.jumps_over_accesses) {
    jumped_over(inside, access);
    return;
  }
  if (inside != nullptr) address = b_.CreateSelect(inside, address, sink_address());
  access();
}

void MemoryEmitter::store_per_lane(const MemoryRef& m, const Val& index, Type index_type,
                                   const Val& v, SiteRef site, bool proved) {
  llvm::Type* const element = element_type(m.element, b_.getContext());
  llvm::Value* const raw = math_.narrow(m.element, math_.splat(v));
  if (!index.varying && proved && x_.mask == nullptr) {
    b_.CreateAlignedStore(
        raw, b_.CreateGEP(x_.vector(element), m.address, wide_index(index.v, index_type)),
        align_of(m));
    return;
  }
  if (!index.varying) {
    llvm::Value* const inside = allowed_scalar(m, index, index_type, site, proved);
    llvm::Value* row = wide_index(index.v, index_type);
    if (inside != nullptr)
      row = b_.CreateSelect(inside, row, llvm::ConstantInt::get(b_.getInt64Ty(), 0));
    llvm::Value* const at = b_.CreateGEP(x_.vector(element), m.address, row);
    llvm::Value* now = raw;
    llvm::Value* const old = b_.CreateAlignedLoad(raw->getType(), at, align_of(m));
    if (x_.mask != nullptr) now = b_.CreateSelect(x_.mask, now, old);
    if (inside != nullptr) now = b_.CreateSelect(inside, now, old);
    b_.CreateAlignedStore(now, at, align_of(m));
    return;
  }
  llvm::Value* lanes_in = allowed(m, index, index_type, site, proved);
  if (lanes_in == nullptr) lanes_in = x_.all_lanes();
  b_.CreateMaskedScatter(raw, lane_part(m, index.v, index_type), align_of(m), lanes_in);
}

// All lanes store to one element: one of those that are meant does.
void MemoryEmitter::store_uniform(const MemoryRef& m, const Val& index, Type index_type,
                                  const Val& v, SiteRef site, bool proved) {
  llvm::Value* inside = allowed_scalar(m, index, index_type, site, proved);
  llvm::Value* one = v.v;
  if (v.varying) {
    llvm::Value* last = b_.getInt32(x_.lanes() - 1);
    if (x_.mask != nullptr) {
      llvm::Value* const bits = x_.mask_bits(x_.mask);
      llvm::Value* const leading =
          b_.CreateIntrinsic(in::ctlz, {bits->getType()}, {bits, b_.getFalse()});
      // No lane at all: element 0 of a value that is not stored.
      last = b_.CreateAnd(b_.CreateSub(last, b_.CreateZExtOrTrunc(leading, b_.getInt32Ty())),
                          b_.getInt32(x_.lanes() - 1));
    }
    one = b_.CreateExtractElement(v.v, last);
  }
  if (x_.mask != nullptr) {
    llvm::Value* const meant = x_.any(x_.mask);
    inside = inside != nullptr ? b_.CreateAnd(inside, meant) : meant;
  }
  llvm::Value* address = element_address(m, wide_index(index.v, index_type));
  llvm::Value* const raw = math_.narrow(m.element, one);
  const auto access = [&] { return mark(m, b_.CreateAlignedStore(raw, address, align_of(m))); };
  if (llvm::Value* const changes = changes_element(m, index, inside, address, raw)) {
    jumped_over(changes, access);
    return;
  }
  if (inside != nullptr) address = b_.CreateSelect(inside, address, sink_address());
  access();
}

// For a store to a fixed element, which all lanes of all workgroups write: whether something else
// is there. Where all store the same, the line stays shared among the cores after the first.
llvm::Value* MemoryEmitter::changes_element(const MemoryRef& m, const Val& index,
                                            llvm::Value* inside, llvm::Value* address,
                                            llvm::Value* raw) {
  if (m.own || !x_.options.shared_lines || !llvm::isa<llvm::ConstantInt>(index.v)) return nullptr;
  llvm::Type* const bits = b_.getIntNTy(raw->getType()->getScalarSizeInBits());
  const auto differs = [&]() -> llvm::Value* {
    llvm::Value* const there =
        b_.CreateFreeze(mark(m, b_.CreateAlignedLoad(bits, address, align_of(m))));
    return b_.CreateICmpNE(there, b_.CreateBitCast(raw, bits));
  };
  if (inside == nullptr) return differs();
  if (x_.options.jumps_over_accesses) return jumped_over(inside, differs);
  address = b_.CreateSelect(inside, address, zero_global(*b_.GetInsertBlock()->getModule()));
  return b_.CreateAnd(inside, differs());
}

void MemoryEmitter::store_contiguous(const MemoryRef& m, Memory source, const Val& index,
                                     Type index_type, llvm::Value* raw, SiteRef site, bool proved) {
  llvm::Value* const first = b_.CreateAdd(x_.rows.start(), index.offset);
  llvm::Value* const wide_first = b_.CreateZExt(first, b_.getInt64Ty());
  llvm::Value* const address = element_address(m, wide_first);
  const auto ragged_address = [&] { return element_address(m, ragged_start(first, index.offset)); };
  if (llvm::Value* const at = unmasked_row(m, index, index_type, address, proved)) {
    llvm::StoreInst* const store = mark(m, b_.CreateAlignedStore(raw, at, align_of(m)));
    if (source.kind == Memory::Kind::Buffer && x_.frames.size() == 1 && x_.frame().loops.empty() &&
        x_.rows.streams(source.buffer(), index.offset)) {
      store->setAlignment(llvm::Align(row_align(m.element, x_.lanes())));
      store->setMetadata(
          llvm::LLVMContext::MD_nontemporal,
          llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    }
    return;
  }
  const auto masked = [&](llvm::Value* lanes_in) {
    mark(m, b_.CreateMaskedStore(raw, ragged_address(), align_of(m), lanes_in));
  };
  if (x_.mask != nullptr || x_.options.checked) {
    llvm::Value* const lanes_in = allowed(m, index, index_type, site, proved);
    masked(lanes_in != nullptr ? lanes_in : x_.all_lanes());
    return;
  }
  llvm::BasicBlock* const inside = x_.new_block("row");
  llvm::BasicBlock* const ragged = x_.new_block("ragged");
  llvm::BasicBlock* const after = x_.new_block("stored");
  b_.CreateCondBr(whole_row_inside(m, wide_first, index_type), inside, ragged);
  b_.SetInsertPoint(inside);
  mark(m, b_.CreateAlignedStore(raw, address, align_of(m)));
  b_.CreateBr(after);
  b_.SetInsertPoint(ragged);
  masked(in_bounds(m, index, index_type));
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

llvm::Value* MemoryEmitter::jumped_over(llvm::Value* inside,
                                        llvm::function_ref<llvm::Value*()> access) {
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::BasicBlock* const there = x_.new_block("access");
  llvm::BasicBlock* const after = x_.new_block("accessed");
  b_.CreateCondBr(inside, there, after);
  b_.SetInsertPoint(there);
  llvm::Value* const found = access();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  if (found->getType()->isVoidTy()) return nullptr;
  llvm::PHINode* const phi = b_.CreatePHI(found->getType(), 2);
  phi->addIncoming(llvm::Constant::getNullValue(found->getType()), from);
  phi->addIncoming(found, there);
  return phi;
}

llvm::Value* MemoryEmitter::sink_address() {
  if (x_.sink == nullptr) x_.sink = x_.new_variable(b_.getInt64Ty());
  return x_.sink;
}

}  // namespace vyre::codegen
