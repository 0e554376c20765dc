// SPDX-License-Identifier: Apache-2.0
// Loads and stores. Out of bounds is defined, so every access that nobody proved is tested: in one
// lane by choosing another address, in a block once for all lanes where they lie side by side, else
// lane by lane in a mask.
#include "base/check.hpp"
#include "codegen/llvm/body/hoister.hpp"
#include "codegen/llvm/body/lane_code.hpp"
#include "ir/scalar.hpp"

namespace vyre::codegen {

using namespace ir;
namespace in = llvm::Intrinsic;

namespace {

llvm::GlobalVariable* new_constant(llvm::Module& module, const std::string& name,
                                   llvm::Constant* value) {
  std::string unique = name;
  while (module.getNamedValue(unique) != nullptr) unique += '.';
  auto* const global =
      llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal(unique, value->getType()));
  global->setInitializer(value);
  global->setConstant(true);
  global->setLinkage(llvm::GlobalValue::InternalLinkage);
  global->setAlignment(llvm::Align(64));
  return global;
}

}  // namespace

MemoryRef LaneCode::memory(Memory m) {
  switch (m.kind) {
    case Memory::Kind::Buffer: return env_.buffer(m.buffer());
    case Memory::Kind::Table: return table(m.table());
    case Memory::Kind::Local: return *frame().slots[m.index].memory;
  }
  return {};
}

uint16_t argument_number(Memory memory) {
  const uint32_t first = memory.kind == Memory::Kind::Table ? kTableArguments : 1;
  const uint32_t most = memory.kind == Memory::Kind::Table ? 0xFFFF : kTableArguments - 1;
  // More than that many are never passed; a site alone would then speak of the parameter.
  return memory.index <= most - first ? static_cast<uint16_t>(first + memory.index) : uint16_t{0};
}

MemoryRef LaneCode::table(ConstId id) {
  const auto [known, fresh] = tables_.try_emplace({frame().c, id.value});
  if (fresh) known->second = new_table(id);
  return known->second;
}

MemoryRef LaneCode::new_table(ConstId id) {
  const std::vector<check::Constant>& values = c().constants[id.index()];
  const Type type = p()[id].type;
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
  m.address = new_constant(module, "table." + p()[id].name, data);
  return m;
}

// ---- addresses

llvm::Value* LaneCode::wide_index(llvm::Value* index, Type type) {
  llvm::Type* target = b_.getInt64Ty();
  if (auto* v = llvm::dyn_cast<llvm::VectorType>(index->getType()))
    target = llvm::VectorType::get(target, v->getElementCount());
  return is_signed(type) ? b_.CreateSExt(index, target) : b_.CreateZExt(index, target);
}

llvm::Value* LaneCode::element_address(const MemoryRef& m, llvm::Value* wide) {
  return b_.CreateGEP(element_type(m.element, b_.getContext()), m.address, wide);
}

llvm::Align LaneCode::align_of(const MemoryRef& m) const {
  return llvm::Align(bytes_of(m.element));
}

void LaneCode::describe_access(const MemoryRef& m, llvm::Instruction& access) {
  if (m.scope != nullptr) {
    access.setMetadata(llvm::LLVMContext::MD_alias_scope, m.scope);
    access.setMetadata(llvm::LLVMContext::MD_noalias, m.others);
  }
  if (m.invariant && llvm::isa<llvm::LoadInst>(access))
    access.setMetadata(llvm::LLVMContext::MD_invariant_load,
                       llvm::MDNode::get(b_.getContext(), {}));
}

llvm::Value* LaneCode::finish_load(const MemoryRef& m, llvm::Value* raw) {
  // A race gives some value, but one value.
  if (!m.invariant && !m.own) raw = b_.CreateFreeze(raw);
  return math_.widen(m.element, raw);
}

// ---- bounds

llvm::Value* LaneCode::in_bounds(const MemoryRef& m, const Val& index, Type type) {
  llvm::Value* length = m.length;
  llvm::Value* i = index.v;
  if (bits_of(type) == 64)
    length = b_.CreateZExt(length, b_.getInt64Ty());
  else if (is_signed(type) && !index.varying) {
    i = b_.CreateSExt(i, b_.getInt64Ty());
    length = b_.CreateZExt(length, b_.getInt64Ty());
  }
  if (index.varying) length = b_.CreateVectorSplat(lanes(), length);
  llvm::Value* const below = b_.CreateICmpULT(i, length);
  if (!index.varying || bits_of(type) == 64 || !is_signed(type)) return below;
  return b_.CreateAnd(below, b_.CreateICmpSGE(i, llvm::Constant::getNullValue(i->getType())));
}

void LaneCode::stop_lanes(llvm::Value* stopped, SiteRef site, const MemoryRef& m, const Val& index,
                          Type index_type) {
  llvm::Value* const before = mask_;
  ++parted_;
  under_mask(stopped, [&] {
    llvm::Value* const bits = mask_bits(stopped);
    llvm::Value* const first = b_.CreateZExtOrTrunc(
        b_.CreateIntrinsic(in::cttz, {bits->getType()}, {bits, b_.getTrue()}), b_.getInt32Ty());
    const Val lane = env_.global_lane();
    llvm::Value* const one = index.varying ? b_.CreateExtractElement(index.v, first) : index.v;
    env_.out_of_bounds(site, m, b_.CreateExtractElement(math_.splat(lane), first),
                       wide_index(one, index_type));
    llvm::Value* const live = b_.CreateLoad(vector(b_.getInt1Ty()), live_);
    b_.CreateStore(b_.CreateAnd(live, b_.CreateNot(stopped)), live_);
  });
  --parted_;
  mask_ = b_.CreateAnd(before != nullptr ? before : all_lanes(), b_.CreateNot(stopped));
}

llvm::Value* LaneCode::allowed(const MemoryRef& m, const Val& index, Type index_type, SiteRef site,
                               bool proved) {
  if (proved) return mask_;
  llvm::Value* const inside = in_bounds(m, index, index_type);
  if (options_.checked) {
    stop_lanes(b_.CreateAnd(mask_or_all(), b_.CreateNot(inside)), site, m, index, index_type);
    return mask_;
  }
  return mask_ != nullptr ? b_.CreateAnd(mask_, inside) : inside;
}

llvm::Value* LaneCode::allowed_scalar(const MemoryRef& m, const Val& index, Type index_type,
                                      SiteRef site, bool proved) {
  if (proved) return nullptr;
  llvm::Value* const inside = in_bounds(m, index, index_type);
  if (!options_.checked) return inside;
  if (wide()) {
    stop_lanes(b_.CreateAnd(mask_or_all(), math_.splat({b_.CreateNot(inside), false})), site, m,
               index, index_type);
    return inside;
  }
  llvm::BasicBlock* const outside = new_block("outside");
  llvm::BasicBlock* const fine = new_block("inside");
  b_.CreateCondBr(inside, fine, outside);
  b_.SetInsertPoint(outside);
  env_.out_of_bounds(site, m, env_.global_lane().v, wide_index(index.v, index_type));
  b_.CreateBr(env_.lane_end());
  b_.SetInsertPoint(fine);
  return nullptr;
}

// ---- loads

Val LaneCode::load(Memory m, ExprId index, SiteRef site, bool proved) {
  const Val i = value(index);
  if (terminated()) return i;
  return load_at(memory(m), i, type_of_expr(index), site, proved);
}

Val LaneCode::load_scalar(const MemoryRef& m, const Val& index, Type index_type, SiteRef site,
                          bool proved) {
  llvm::Type* const type = element_type(m.element, b_.getContext());
  llvm::Value* address = nullptr;
  const auto access = [&] { return mark(m, b_.CreateAlignedLoad(type, address, align_of(m))); };
  if (llvm::Value* const i = proved ? nullptr : split_index(index.v, nullptr, m, index_type)) {
    address = element_address(m, i);
    return {finish_load(m, access()), false};
  }
  llvm::Value* const inside = allowed_scalar(m, index, index_type, site, proved);
  address = element_address(m, wide_index(index.v, index_type));
  if (inside != nullptr && options_.jumps_over_accesses)
    return {finish_load(m, jumped_over(inside, access)), false};
  if (inside != nullptr)
    address = b_.CreateSelect(inside, address, zero_global(*b_.GetInsertBlock()->getModule()));
  llvm::LoadInst* const raw = access();
  // A fixed place of a fixed length is there whether the lane comes to it or not.
  const check::BoundsProof* const proof = site.expr.valid() ? c().proof(site.expr) : nullptr;
  const bool fixed = proof != nullptr && proof->kind == check::BoundsProof::Kind::Range &&
                     llvm::isa<llvm::Constant>(index.v);
  if (inside == nullptr && fixed && (m.steady || m.invariant))
    raw->setMetadata(kSteady, llvm::MDNode::get(b_.getContext(), {}));
  return {finish_load(m, raw), false};
}

Val LaneCode::load_contiguous(const MemoryRef& m, const Val& index, Type index_type, SiteRef site,
                              bool proved) {
  llvm::Type* const type = vector(element_type(m.element, b_.getContext()));
  llvm::Value* const first = b_.CreateAdd(env_.start(), index.offset);
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
  const bool for_all = mask_ == nullptr || !options_.cheap_masks;
  if (options_.checked || !for_all) {
    llvm::Value* const lanes_in = allowed(m, index, index_type, site, proved);
    if (lanes_in == nullptr) return {finish_load(m, plain(address)), true};
    return {finish_load(m, masked(lanes_in)), true};
  }
  llvm::BasicBlock* const inside = new_block("row");
  llvm::BasicBlock* const ragged = new_block("ragged");
  llvm::BasicBlock* const after = new_block("loaded");
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

void LaneCode::prefetch(const MemoryRef& m, const Val& index, llvm::Value* address) {
  if (!walk_ || m.own || !computed_from(index.offset, walk_->number)) return;
  constexpr uint64_t kLine = 64;
  const uint64_t bytes = uint64_t{lanes()} * bytes_of(m.element);
  for (uint64_t line = 0; line < bytes; line += kLine) {
    // Maybe behind the buffer, which does no harm to a prefetch: the address promises nothing.
    llvm::Value* const at = b_.CreateGEP(b_.getInt8Ty(), address,
                                         b_.getInt64(walk_->ahead * bytes_of(m.element) + line));
    b_.CreateIntrinsic(in::prefetch, {at->getType()},
                       {at, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  }
}

// Where the row of an access starts that all lanes take part in and that nobody has to test here;
// null if there is no such promise.
llvm::Value* LaneCode::unmasked_row(const MemoryRef& m, const Val& index, Type index_type,
                                    llvm::Value* address, bool proved) {
  if (mask_ != nullptr || options_.checked) return nullptr;
  const auto* const k = llvm::dyn_cast<llvm::ConstantInt>(index.offset);
  if (proved && (k == nullptr || !k->isZero())) return address;
  if (!proved && !env_.ensure_below(index.offset, m.length, is_signed(index_type))) {
    llvm::Value* const i = split_index(index.offset, env_.wide_start(), m, index_type);
    return i != nullptr ? element_address(m, i) : nullptr;
  }
  // What does not change from block to block comes first, so that it is added once.
  llvm::Type* const element = element_type(m.element, b_.getContext());
  llvm::Value* const base = b_.CreateGEP(element, m.address, env_.row_offset(index.offset));
  return b_.CreateGEP(element, base, env_.wide_start());
}

// Where a row starts of which not all lanes are inside: if its indices wrap, the lanes that are
// inside come after 2^32, and the row starts below 0.
llvm::Value* LaneCode::ragged_start(llvm::Value* first, llvm::Value* offset) {
  llvm::Value* const wide_first = b_.CreateZExt(first, b_.getInt64Ty());
  if (const auto* k = llvm::dyn_cast<llvm::ConstantInt>(offset); k != nullptr && k->isZero())
    return wide_first;
  llvm::Value* const wraps = b_.CreateICmpUGT(first, b_.getInt32(0U - lanes()));
  llvm::Value* const below =
      b_.CreateSub(wide_first, llvm::ConstantInt::get(b_.getInt64Ty(), uint64_t{1} << 32));
  return b_.CreateSelect(wraps, below, wide_first);
}

llvm::Value* LaneCode::whole_row_inside(const MemoryRef& m, llvm::Value* wide_first,
                                        Type index_type) {
  llvm::Value* const last = b_.CreateAdd(
      wide_first, llvm::ConstantInt::get(b_.getInt64Ty(), lanes() - 1), "", true, true);
  llvm::Value* limit = b_.CreateZExt(m.length, b_.getInt64Ty());
  if (is_signed(index_type))
    limit = b_.CreateBinaryIntrinsic(in::umin, limit,
                                     llvm::ConstantInt::get(b_.getInt64Ty(), uint64_t{1} << 31));
  return b_.CreateICmpULT(last, limit);
}

Val LaneCode::load_at(const MemoryRef& m, Val index, Type index_type, SiteRef site, bool proved) {
  if (!wide()) return load_scalar(m, index, index_type, site, proved);
  llvm::Type* const element = element_type(m.element, b_.getContext());
  if (m.per_lane) {
    // Row `index`, then the lane's own part.
    if (!index.varying) {
      llvm::Value* const inside = allowed_scalar(m, index, index_type, site, proved);
      llvm::Value* row = wide_index(index.v, index_type);
      if (inside != nullptr)
        row = b_.CreateSelect(inside, row, llvm::ConstantInt::get(b_.getInt64Ty(), 0));
      llvm::Value* const at = b_.CreateGEP(vector(element), m.address, row);
      llvm::Value* raw = b_.CreateAlignedLoad(vector(element), at, align_of(m));
      if (inside != nullptr)
        raw = b_.CreateSelect(inside, raw, llvm::Constant::getNullValue(raw->getType()));
      return {finish_load(m, raw), true};
    }
    llvm::Value* lanes_in = allowed(m, index, index_type, site, proved);
    if (lanes_in == nullptr) lanes_in = all_lanes();
    llvm::Value* const raw =
        b_.CreateMaskedGather(vector(element), own_part(m, index.v, index_type), align_of(m),
                              lanes_in, llvm::Constant::getNullValue(vector(element)));
    return {finish_load(m, raw), true};
  }
  if (!index.varying) return load_scalar(m, index, index_type, site, proved);
  if (index.offset != nullptr) return load_contiguous(m, index, index_type, site, proved);
  llvm::Value* lanes_in = allowed(m, index, index_type, site, proved);
  if (lanes_in == nullptr) lanes_in = all_lanes();
  if (bytes_of(m.element) < 4) return {finish_load(m, gather_narrow(m, index.v, lanes_in)), true};
  llvm::Value* const raw = mark(
      m,
      b_.CreateMaskedGather(vector(element), element_address(m, wide_index(index.v, index_type)),
                            align_of(m), lanes_in, llvm::Constant::getNullValue(vector(element))));
  return {finish_load(m, raw), true};
}

// Processors gather words of 32 bits. Memory starts at a multiple of four bytes, so the word around
// an element lies in the page the element does (what we lay out ourselves ends with a whole word),
// and what is beside it is cut off.
llvm::Value* LaneCode::gather_narrow(const MemoryRef& m, llvm::Value* index,
                                     llvm::Value* lanes_in) {
  const uint32_t bytes = bytes_of(m.element);
  const uint32_t per_word = 4 / bytes;
  llvm::Type* const words = vector(b_.getInt32Ty());
  const auto all = [&](uint32_t k) { return llvm::ConstantInt::get(words, k); };
  // Lanes that are meant are inside: 32 bits are enough.
  llvm::Value* const element = b_.CreateZExtOrTrunc(index, words);
  llvm::Value* const word = b_.CreateLShr(element, all(bytes == 2 ? 1 : 2));
  llvm::Value* const addresses =
      b_.CreateGEP(b_.getInt32Ty(), m.address, b_.CreateZExt(word, vector(b_.getInt64Ty())));
  llvm::Value* const raw = mark(m, b_.CreateMaskedGather(words, addresses, llvm::Align(4), lanes_in,
                                                         llvm::Constant::getNullValue(words)));
  llvm::Value* const shift = b_.CreateMul(b_.CreateAnd(element, all(per_word - 1)), all(8 * bytes));
  llvm::Value* const bits =
      b_.CreateTrunc(b_.CreateLShr(raw, shift), vector(b_.getIntNTy(8 * bytes)));
  return b_.CreateBitCast(bits, vector(element_type(m.element, b_.getContext())));
}

llvm::Value* LaneCode::own_part(const MemoryRef& m, llvm::Value* index, Type index_type) {
  llvm::Type* const wide_type = vector(b_.getInt64Ty());
  llvm::Value* const row =
      b_.CreateMul(wide_index(index, index_type), llvm::ConstantInt::get(wide_type, lanes()));
  return element_address(m, b_.CreateAdd(row, iota(b_.getInt64Ty())));
}

// ---- stores

void LaneCode::store_at(const MemoryRef& m, Memory source, Val index, Type index_type, Val v,
                        SiteRef site, bool proved) {
  llvm::Type* const element = element_type(m.element, b_.getContext());
  if (!wide()) {
    llvm::Value* address = nullptr;
    llvm::Value* const raw = math_.narrow(m.element, v.v);
    const auto access = [&] { return mark(m, b_.CreateAlignedStore(raw, address, align_of(m))); };
    if (llvm::Value* const i = proved ? nullptr : split_index(index.v, nullptr, m, index_type)) {
      address = element_address(m, i);
      access();
      return;
    }
    llvm::Value* inside = allowed_scalar(m, index, index_type, site, proved);
    address = element_address(m, wide_index(index.v, index_type));
    if (llvm::Value* const changes = changes_element(m, index, inside, address, raw)) {
      jumped_over(changes, access);
      return;
    }
    if (inside != nullptr && options_.jumps_over_accesses) {
      jumped_over(inside, access);
      return;
    }
    if (inside != nullptr) address = b_.CreateSelect(inside, address, sink_address());
    access();
    return;
  }
  if (m.per_lane) {
    llvm::Value* const raw = math_.narrow(m.element, math_.splat(v));
    if (!index.varying && proved && mask_ == nullptr) {
      b_.CreateAlignedStore(
          raw, b_.CreateGEP(vector(element), m.address, wide_index(index.v, index_type)),
          align_of(m));
      return;
    }
    if (!index.varying) {
      llvm::Value* const inside = allowed_scalar(m, index, index_type, site, proved);
      llvm::Value* row = wide_index(index.v, index_type);
      if (inside != nullptr)
        row = b_.CreateSelect(inside, row, llvm::ConstantInt::get(b_.getInt64Ty(), 0));
      llvm::Value* const at = b_.CreateGEP(vector(element), m.address, row);
      llvm::Value* now = raw;
      llvm::Value* const old = b_.CreateAlignedLoad(raw->getType(), at, align_of(m));
      if (mask_ != nullptr) now = b_.CreateSelect(mask_, now, old);
      if (inside != nullptr) now = b_.CreateSelect(inside, now, old);
      b_.CreateAlignedStore(now, at, align_of(m));
      return;
    }
    llvm::Value* lanes_in = allowed(m, index, index_type, site, proved);
    if (lanes_in == nullptr) lanes_in = all_lanes();
    b_.CreateMaskedScatter(raw, own_part(m, index.v, index_type), align_of(m), lanes_in);
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
  if (lanes_in == nullptr) lanes_in = all_lanes();
  mark(m, b_.CreateMaskedScatter(raw, element_address(m, wide_index(index.v, index_type)),
                                 align_of(m), lanes_in));
}

// All lanes store to one element: one of those that are meant does.
void LaneCode::store_uniform(const MemoryRef& m, const Val& index, Type index_type, const Val& v,
                             SiteRef site, bool proved) {
  llvm::Value* inside = allowed_scalar(m, index, index_type, site, proved);
  llvm::Value* one = v.v;
  if (v.varying) {
    llvm::Value* last = b_.getInt32(lanes() - 1);
    if (mask_ != nullptr) {
      llvm::Value* const bits = mask_bits(mask_);
      llvm::Value* const leading =
          b_.CreateIntrinsic(in::ctlz, {bits->getType()}, {bits, b_.getFalse()});
      // No lane at all: element 0 of a value that is not stored.
      last = b_.CreateAnd(b_.CreateSub(last, b_.CreateZExtOrTrunc(leading, b_.getInt32Ty())),
                          b_.getInt32(lanes() - 1));
    }
    one = b_.CreateExtractElement(v.v, last);
  }
  if (mask_ != nullptr) {
    llvm::Value* const meant = any(mask_);
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
// is there. Where everybody stores the same, the line stays shared among the cores after the first.
llvm::Value* LaneCode::changes_element(const MemoryRef& m, const Val& index, llvm::Value* inside,
                                       llvm::Value* address, llvm::Value* raw) {
  if (m.own || !options_.shared_lines || !llvm::isa<llvm::ConstantInt>(index.v)) return nullptr;
  llvm::Type* const bits = b_.getIntNTy(raw->getType()->getScalarSizeInBits());
  const auto differs = [&]() -> llvm::Value* {
    llvm::Value* const there =
        b_.CreateFreeze(mark(m, b_.CreateAlignedLoad(bits, address, align_of(m))));
    return b_.CreateICmpNE(there, b_.CreateBitCast(raw, bits));
  };
  if (inside == nullptr) return differs();
  if (options_.jumps_over_accesses) return jumped_over(inside, differs);
  address = b_.CreateSelect(inside, address, zero_global(*b_.GetInsertBlock()->getModule()));
  return b_.CreateAnd(inside, differs());
}

void LaneCode::store_contiguous(const MemoryRef& m, Memory source, const Val& index,
                                Type index_type, llvm::Value* raw, SiteRef site, bool proved) {
  llvm::Value* const first = b_.CreateAdd(env_.start(), index.offset);
  llvm::Value* const wide_first = b_.CreateZExt(first, b_.getInt64Ty());
  llvm::Value* const address = element_address(m, wide_first);
  const auto ragged_address = [&] { return element_address(m, ragged_start(first, index.offset)); };
  if (llvm::Value* const at = unmasked_row(m, index, index_type, address, proved)) {
    llvm::StoreInst* const store = mark(m, b_.CreateAlignedStore(raw, at, align_of(m)));
    if (source.kind == Memory::Kind::Buffer && frames_.size() == 1 && frame().loops.empty() &&
        env_.streams(source.buffer(), index.offset)) {
      store->setAlignment(llvm::Align(row_align(m.element, lanes())));
      store->setMetadata(
          llvm::LLVMContext::MD_nontemporal,
          llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    }
    return;
  }
  const auto masked = [&](llvm::Value* lanes_in) {
    mark(m, b_.CreateMaskedStore(raw, ragged_address(), align_of(m), lanes_in));
  };
  if (mask_ != nullptr || options_.checked) {
    llvm::Value* const lanes_in = allowed(m, index, index_type, site, proved);
    masked(lanes_in != nullptr ? lanes_in : all_lanes());
    return;
  }
  llvm::BasicBlock* const inside = new_block("row");
  llvm::BasicBlock* const ragged = new_block("ragged");
  llvm::BasicBlock* const after = new_block("stored");
  b_.CreateCondBr(whole_row_inside(m, wide_first, index_type), inside, ragged);
  b_.SetInsertPoint(inside);
  mark(m, b_.CreateAlignedStore(raw, address, align_of(m)));
  b_.CreateBr(after);
  b_.SetInsertPoint(ragged);
  masked(in_bounds(m, index, index_type));
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

// ---- what does not happen

llvm::Value* LaneCode::jumped_over(llvm::Value* inside, llvm::function_ref<llvm::Value*()> access) {
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::BasicBlock* const there = new_block("access");
  llvm::BasicBlock* const after = new_block("accessed");
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

OutsideCopy outside_copy(Builder& b, llvm::Value* first, llvm::Value* count, llvm::Value* length) {
  llvm::Constant* const zero = llvm::ConstantInt::get(first->getType(), 0);
  llvm::Value* const below = b.CreateICmpSLT(first, zero);
  llvm::Value* const leaves = b.CreateOr(below, b.CreateICmpSGT(b.CreateAdd(first, count), length));
  llvm::Value* const said =
      b.CreateSelect(below, first, b.CreateBinaryIntrinsic(in::smax, first, length));
  return {b.CreateAnd(b.CreateICmpNE(count, zero), leaves),
          b.CreateSExtOrTrunc(said, b.getInt64Ty())};
}

llvm::Value* zero_global(llvm::Module& module) {
  if (llvm::GlobalVariable* const found = module.getNamedGlobal("vyre.zero")) return found;
  llvm::Type* const type = llvm::Type::getInt64Ty(module.getContext());
  return new_constant(module, "vyre.zero", llvm::Constant::getNullValue(type));
}

llvm::Value* LaneCode::sink_address() {
  if (sink_ == nullptr) sink_ = new_variable(b_.getInt64Ty());
  return sink_;
}

}  // namespace vyre::codegen
