// SPDX-License-Identifier: Apache-2.0
#include "base/check.hpp"
#include "base/match.hpp"
#include "codegen/llvm/body/lane_code.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;

void Environment::workgroup_barrier() {
  VYRE_CHECK(!"a barrier of a workgroup is cut by the plan");
}
void Environment::grid_barrier(StmtId) {
  VYRE_CHECK(!"a barrier of the grid is cut by the plan");
}
void Environment::subgroup_barrier() {
  VYRE_CHECK(!"a block of lanes has nothing to wait for");
}
void Environment::copy(const CopyOperands&, SiteRef) {
  VYRE_CHECK(!"an async copy is cut by the plan");
}
llvm::Value* Environment::ballot(llvm::Value*) {
  VYRE_CHECK(!"a subgroup is a block of lanes");
}
llvm::Value* Environment::from_lane(llvm::Value*, llvm::Value*) {
  VYRE_CHECK(!"a subgroup is a block of lanes");
}
bool Environment::subgroups_are_full() const {
  return false;
}
void Environment::fence() {
  VYRE_CHECK(!"atomic operations have their orders");
}
llvm::Value* Environment::trips_left(uint32_t) {
  VYRE_CHECK(!"loops are not split here");
  return nullptr;
}
void Environment::poll_trips(SiteRef, llvm::Value*, uint32_t) {
  VYRE_CHECK(!"loops are not split here");
}
void Environment::spend(llvm::Value*) {
  VYRE_CHECK(!"loops are not nests here");
}
void Environment::ask(SiteRef) {
  VYRE_CHECK(!"loops are not nests here");
}

void Environment::enter_lane(llvm::Value*) {
  VYRE_CHECK(!"a lane is a thread of its own");
}
void Environment::leave_lane() {}

LaneCode::LaneCode(Builder& builder, Environment& environment, const check::CheckedProgram& program,
                   const Divergence& divergence, const Options& options)
    : b_(builder),
      env_(environment),
      options_(options),
      math_(builder, options.shape.lanes, options.half_conversions) {
  Frame main;
  main.c = &program;
  main.d = &divergence;
  main.slots = Slots(0, program.program.locals.size());
  frames_.push_back(std::move(main));
  assigned_.resize(program.program.locals.size());
  for (const Stmt& s : program.program.stmts)
    if (const auto* assign = std::get_if<Assign>(&s)) assigned_[assign->local.index()] = true;
}

void LaneCode::emit(llvm::Value* mask) {
  mask_ = mask;
  if (wide() && (d().ends_lanes() || options_.checked)) {
    live_ = new_variable(vector(b_.getInt1Ty()));
    b_.CreateStore(mask_or_all(), live_);
  }
  std::vector<StmtId> items;
  // Regions and blocks are only names at this point.
  const auto flatten = [&](auto&& self, Block block) -> void {
    for (const StmtId id : p().items(block)) {
      if (const auto* region = std::get_if<Region>(&p()[id]))
        self(self, region->body);
      else if (const auto* nested = std::get_if<Nested>(&p()[id]))
        self(self, nested->body);
      else
        items.push_back(id);
    }
  };
  flatten(flatten, p().body);
  emit_top(std::move(items), 0);
}

// ---- helpers

llvm::Type* LaneCode::shaped(Type type, bool varying) {
  llvm::Type* const scalar = type_of(type, b_.getContext());
  return varying ? vector(scalar) : scalar;
}

llvm::Value* LaneCode::new_variable(llvm::Type* type) {
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at(&entry, entry.begin());
  return at.CreateAlloca(type);
}

llvm::BasicBlock* LaneCode::new_block(const char* name) {
  return llvm::BasicBlock::Create(b_.getContext(), name, b_.GetInsertBlock()->getParent());
}

bool LaneCode::terminated() const {
  return b_.GetInsertBlock()->getTerminator() != nullptr;
}

void LaneCode::branch_to(llvm::BasicBlock* block) {
  if (!terminated()) b_.CreateBr(block);
}

llvm::Value* LaneCode::all_lanes() {
  return llvm::Constant::getAllOnesValue(vector(b_.getInt1Ty()));
}
llvm::Value* LaneCode::no_lanes() {
  return llvm::Constant::getNullValue(vector(b_.getInt1Ty()));
}
llvm::Value* LaneCode::mask_bits(llvm::Value* mask) {
  return b_.CreateBitCast(mask, b_.getIntNTy(lanes()));
}
llvm::Value* LaneCode::any(llvm::Value* mask) {
  return b_.CreateICmpNE(mask_bits(mask), llvm::ConstantInt::get(b_.getIntNTy(lanes()), 0));
}
llvm::Value* LaneCode::every(llvm::Value* mask) {
  return b_.CreateICmpEQ(mask_bits(mask), llvm::Constant::getAllOnesValue(b_.getIntNTy(lanes())));
}

llvm::Value* LaneCode::iota(llvm::Type* element) {
  std::vector<llvm::Constant*> numbers;
  for (uint32_t i = 0; i < lanes(); ++i) numbers.push_back(llvm::ConstantInt::get(element, i));
  return llvm::ConstantVector::get(numbers);
}

llvm::Value* LaneCode::merged_mask(llvm::Value* a, llvm::BasicBlock* from_a, llvm::Value* b,
                                   llvm::BasicBlock* from_b) {
  if (a == b) return a;
  llvm::PHINode* const phi = b_.CreatePHI(vector(b_.getInt1Ty()), 2);
  phi->addIncoming(a != nullptr ? a : all_lanes(), from_a);
  phi->addIncoming(b != nullptr ? b : all_lanes(), from_b);
  return phi;
}

// ---- lists

// `if c { return; }` in a block without mask: what follows is emitted for the case that all lanes
// go on, without a mask, and for the case that some do.
void LaneCode::emit_top(std::vector<StmtId> items, size_t first) {
  for (size_t i = first; i < items.size() && !terminated(); ++i) {
    const auto* s = std::get_if<If>(&p()[items[i]]);
    const bool guards = s != nullptr && wide() && mask_ == nullptr && s->else_block.empty() &&
                        s->then_block.count == 1 &&
                        std::holds_alternative<Return>(p()[p().items(s->then_block)[0]]) &&
                        copies_ + items.size() - i < kMostRepeated;
    if (!guards) {
      emit_stmt(items[i]);
      continue;
    }
    const Val c = condition(s->condition);
    if (!c.varying) {
      emit_uniform_if(c.v, *s);
      continue;
    }
    copies_ += static_cast<uint32_t>(items.size() - i);
    llvm::Value* const stay = b_.CreateNot(c.v);
    llvm::BasicBlock* const full = new_block("all_stay");
    llvm::BasicBlock* const some = new_block("some_stay");
    llvm::BasicBlock* const partial = new_block("part");
    llvm::BasicBlock* const done = new_block("done");
    b_.CreateCondBr(every(stay), full, some);
    b_.SetInsertPoint(full);
    emit_top(items, i + 1);
    branch_to(done);
    b_.SetInsertPoint(some);
    b_.CreateCondBr(any(stay), partial, done);
    b_.SetInsertPoint(partial);
    mask_ = stay;
    if (live_ != nullptr) b_.CreateStore(stay, live_);
    emit_top(items, i + 1);
    branch_to(done);
    b_.SetInsertPoint(done);
    return;
  }
}

void LaneCode::emit_block(Block block) {
  for (const StmtId id : p().items(block)) {
    if (terminated()) return;
    emit_stmt(id);
  }
}

void LaneCode::emit_stmt(StmtId id) {
  ++nodes_;
  if (frame().c == frames_.front().c && env_.does(id)) return;
  match(
      p()[id], [&](const Let& s) { emit_let(s); }, [&](const DeclareArray& s) { emit_array(s); },
      [&](const Assign& s) { emit_assign(s); }, [&](const Store& s) { emit_store(s, id); },
      [&](const Eval& s) {
        if (const auto* a = std::get_if<Atomic>(&p()[s.value]))
          atomic(s.value, *a, false);
        else
          value(s.value);
      },
      [&](const If& s) { emit_if(s, id); },
      [&](const For& s) {
        if (comes_one_by_one(id))
          emit_one_by_one(std::span(&id, 1), mask_or_all());
        else
          emit_for(s, id);
      },
      [&](const While& s) {
        if (comes_one_by_one(id))
          emit_one_by_one(std::span(&id, 1), mask_or_all());
        else
          emit_while(s, id);
      },
      [&](const Break&) {
        Loop& loop = frame().loops.back();
        if (loop.skipped == nullptr)
          b_.CreateBr(loop.exit);
        else
          mask_ = no_lanes();
      },
      [&](const Continue&) {
        Loop& loop = frame().loops.back();
        if (loop.skipped == nullptr) {
          b_.CreateBr(loop.next);
          return;
        }
        llvm::Value* const before = b_.CreateLoad(vector(b_.getInt1Ty()), loop.skipped);
        b_.CreateStore(b_.CreateOr(before, mask_or_all()), loop.skipped);
        mask_ = no_lanes();
      },
      [&](const Return& s) { emit_return(s); }, [&](const Nested& s) { emit_block(s.body); },
      [&](const Region& s) { emit_block(s.body); }, [&](const Barrier& s) { emit_barrier(s, id); },
      [&](const Fixpoint&) { VYRE_CHECK(!"a fixpoint is cut by the plan"); },
      [&](const AsyncCopy& s) { emit_copy(s, id); }, [&](const Wait&) { env_.workgroup_barrier(); },
      [&](const Trap& s) { emit_trap(s, id); },
      [&](const Resume&) { VYRE_CHECK(!"a resume is cut by the plan"); },
      [&](const Collective&) { VYRE_CHECK(!"a collective is cut by the plan"); });
}

void LaneCode::emit_barrier(const Barrier& s, StmtId id) {
  switch (s.scope) {
    case Scope::Workgroup: env_.workgroup_barrier(); return;
    case Scope::Grid: env_.grid_barrier(id); return;
    // Lanes of a block are always at the same place.
    case Scope::Subgroup:
      if (options_.lanes_are_threads) env_.subgroup_barrier();
      return;
  }
}

void LaneCode::emit_copy(const AsyncCopy& s, StmtId id) {
  CopyOperands copy;
  copy.dst_memory = s.dst;
  copy.src_memory = s.src;
  copy.dst_index = value(s.dst_index).v;
  copy.src_index = value(s.src_index).v;
  copy.count = value(s.count).v;
  copy.dst_type = type_of_expr(s.dst_index);
  copy.src_type = type_of_expr(s.src_index);
  copy.count_type = type_of_expr(s.count);
  if (terminated()) return;
  copy.dst = memory(s.dst);
  copy.src = memory(s.src);
  env_.copy(copy, {{}, id});
}

// ---- locals

void LaneCode::emit_let(const Let& s) {
  Val v = value(s.value);
  Slot& slot = frame().slots[s.local.index()];
  const bool stays = frame().c == frames_.front().c && !assigned_[s.local.index()];
  if (stays || p()[s.local].kind == Local::Kind::Let || p()[s.local].kind == Local::Kind::For) {
    slot.value = v;
    slot.variable = nullptr;
    return;
  }
  slot.varying = d().varies(s.local);
  const Type type = *c().local_types[s.local.index()];
  slot.variable = new_variable(shaped(type, slot.varying));
  b_.CreateStore(slot.varying ? math_.splat(v) : v.v, slot.variable);
}

void LaneCode::emit_array(const DeclareArray& s) {
  const uint32_t count = c().array_counts[s.local.index()];
  MemoryRef m;
  m.element = *c().local_types[s.local.index()];
  m.per_lane = wide() && d().varies(s.local);
  m.own = true;
  m.length = b_.getInt32(count);
  llvm::Type* const element = element_type(m.element, b_.getContext());
  llvm::Type* const row = m.per_lane ? vector(element) : element;
  // Whole words, see gather_narrow().
  m.address = new_variable(llvm::ArrayType::get(row, (count + 3) / 4 * 4));
  auto* const array = llvm::cast<llvm::AllocaInst>(m.address);
  array->setAlignment(std::max(array->getAlign(), llvm::Align(4)));
  const uint64_t bytes = uint64_t{count} * bytes_of(m.element) * (m.per_lane ? lanes() : 1);
  b_.CreateMemSet(m.address, b_.getInt8(0), bytes, llvm::Align(bytes_of(m.element)));
  frame().slots[s.local.index()].memory = m;
}

void LaneCode::emit_assign(const Assign& s) {
  Slot& slot = frame().slots[s.local.index()];
  const Type type = *c().local_types[s.local.index()];
  Val v = value(s.value);
  llvm::Type* const stored = shaped(type, slot.varying);
  if (s.op) {
    const Val old{b_.CreateLoad(stored, slot.variable), slot.varying};
    v = math_.binary(*s.op, type, old, v, type_of_expr(s.value));
  }
  if (!slot.varying) {
    VYRE_CHECK(!v.varying);
    b_.CreateStore(v.v, slot.variable);
    return;
  }
  llvm::Value* now = math_.splat(v);
  if (mask_ != nullptr) now = b_.CreateSelect(mask_, now, b_.CreateLoad(stored, slot.variable));
  b_.CreateStore(now, slot.variable);
}

void LaneCode::emit_store(const Store& s, StmtId id) {
  const Type index_type = type_of_expr(s.index);
  const Val index = value(s.index);
  const MemoryRef m = memory(s.memory);
  const bool proved = c().stmt_proofs[id.index()] >= 0;
  const SiteRef site{{}, id};
  Val v;
  if (s.op) {
    const Val old = load_at(m, index, index_type, site, proved);
    v = math_.binary(*s.op, widened(m.element), old, value(s.value), type_of_expr(s.value));
  } else {
    v = value(s.value);
  }
  if (terminated()) return;
  store_at(m, s.memory, index, index_type, v, site, proved);
}

// ---- branches

bool LaneCode::jumps_out(Block block) const {
  if (options_.checked) return true;
  for (const StmtId id : p().items(block)) {
    const Stmt& s = p()[id];
    if (properties_of(s).exit != Exit::None) return true;
    bool inner = false;
    for_each_block(s, [&](Block b) { inner = inner || jumps_out(b); });
    if (inner) return true;
  }
  return can_end(block);
}

// Lanes may end in it, and not only leave it.
bool LaneCode::can_end(Block block) const {
  if (live_ == nullptr) return false;
  if (options_.checked) return true;
  for (const StmtId id : p().items(block)) {
    const Stmt& s = p()[id];
    const StmtProperties row = properties_of(s);
    if (row.may_end_lane && (row.exit != Exit::Return || !frames_.back().fn.valid())) return true;
    bool inner = false;
    for_each_block(s, [&](Block b) { inner = inner || can_end(b); });
    for_each_operand(p(), s, [&](ExprId e) { inner = inner || calls_ending(e); });
    if (inner) return true;
  }
  return false;
}

bool LaneCode::calls_ending(ExprId id) const {
  if (const auto* e = std::get_if<Call>(&p()[id]))
    if (d().ends_lanes(e->fn)) return true;
  bool inner = false;
  for_each_operand(p(), p()[id], [&](ExprId e) { inner = inner || calls_ending(e); });
  return inner;
}

void LaneCode::tell_test(const If& s) {
  const auto& e = std::get<Binary>(p()[s.condition]);
  if (type_of_expr(e.left) != Type::U32) return;
  const Val index = value(e.left);
  const Val limit = value(e.right);
  if (index.offset != nullptr && !limit.varying)
    env_.only_lanes(index.offset, limit.v, e.op == BinaryOp::Eq);
}

void LaneCode::emit_if(const If& s, StmtId id) {
  if (options_.test == id && frames_.size() == 1) tell_test(s);
  const Val c = condition(s.condition);
  if (terminated()) return;
  if (c.varying && comes_one_by_one(id))
    emit_one_by_one(p().items(s.then_block), mask_ != nullptr ? b_.CreateAnd(mask_, c.v) : c.v);
  else if (c.varying)
    emit_divergent_if(c, s);
  else
    emit_uniform_if(c.v, s);
}

void LaneCode::emit_uniform_if(llvm::Value* condition, const If& s) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    emit_block(known->isZero() ? s.else_block : s.then_block);
    return;
  }
  llvm::Value* const before = mask_;
  llvm::BasicBlock* const yes = new_block("then");
  llvm::BasicBlock* const no = s.else_block.empty() ? nullptr : new_block("else");
  llvm::BasicBlock* const after = new_block("after");
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  b_.CreateCondBr(condition, yes, no != nullptr ? no : after);

  struct End {
    llvm::BasicBlock* block = nullptr;
    llvm::Value* mask = nullptr;
  };
  const auto side = [&](llvm::BasicBlock* block, Block body) {
    b_.SetInsertPoint(block);
    mask_ = before;
    const size_t known = facts_.size();
    learn(s.condition, block == yes, body);
    emit_block(body);
    facts_.resize(known);
    End end;
    if (!terminated()) {
      end = {b_.GetInsertBlock(), mask_};
      b_.CreateBr(after);
    }
    return end;
  };
  const End yes_end = side(yes, s.then_block);
  const End no_end = no != nullptr ? side(no, s.else_block) : End{from, before};
  b_.SetInsertPoint(after);
  if (yes_end.block != nullptr && no_end.block != nullptr)
    mask_ = merged_mask(yes_end.mask, yes_end.block, no_end.mask, no_end.block);
  else if (yes_end.block != nullptr)
    mask_ = yes_end.mask;
  else if (no_end.block != nullptr)
    mask_ = no_end.mask;
  else
    b_.CreateUnreachable();
}

llvm::Value* LaneCode::under_mask(llvm::Value* mask, llvm::function_ref<void()> body) {
  llvm::BasicBlock* const inside = new_block("lanes");
  llvm::BasicBlock* const after = new_block("lanes_after");
  b_.CreateCondBr(any(mask), inside, after);
  llvm::BasicBlock* const skip = b_.GetInsertBlock();
  b_.SetInsertPoint(inside);
  mask_ = mask;
  body();
  llvm::Value* const result = mask_;
  llvm::BasicBlock* const end = b_.GetInsertBlock();
  VYRE_CHECK(!terminated());
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  // Where no lane was meant, none is left.
  return result == mask ? mask : merged_mask(result, end, no_lanes(), skip);
}

void LaneCode::emit_divergent_if(Val c, const If& s) {
  llvm::Value* const before = mask_;
  const bool jumps = jumps_out(s.then_block) || jumps_out(s.else_block);
  const auto masked = [&] {
    ++parted_;
    llvm::Value* const yes = before != nullptr ? b_.CreateAnd(before, c.v) : c.v;
    llvm::Value* left = under_mask(yes, [&] { emit_block(s.then_block); });
    if (!s.else_block.empty() || jumps) {
      llvm::Value* no = b_.CreateNot(c.v);
      if (before != nullptr) no = b_.CreateAnd(before, no);
      if (!s.else_block.empty()) no = under_mask(no, [&] { emit_block(s.else_block); });
      left = jumps ? b_.CreateOr(left, no) : left;
    }
    --parted_;
    mask_ = jumps ? left : before;
  };
  const uint32_t size = s.then_block.count + s.else_block.count;
  if (before != nullptr || jumps || copies_ + size > kMostRepeated || !s.else_block.empty()) {
    masked();
    return;
  }
  // All lanes, some, or none.
  copies_ += size;
  llvm::BasicBlock* const full = new_block("all");
  llvm::BasicBlock* const part = new_block("some");
  llvm::BasicBlock* const after = new_block("after");
  b_.CreateCondBr(every(c.v), full, part);
  b_.SetInsertPoint(full);
  emit_block(s.then_block);
  branch_to(after);
  b_.SetInsertPoint(part);
  masked();
  branch_to(after);
  b_.SetInsertPoint(after);
  mask_ = before;
}

// ---- the end of lanes and functions

void LaneCode::end_lanes() {
  if (!wide() || parted_ == 0) {
    b_.CreateBr(env_.lane_end());
    return;
  }
  llvm::Value* const live = b_.CreateLoad(vector(b_.getInt1Ty()), live_);
  b_.CreateStore(b_.CreateAnd(live, b_.CreateNot(mask_or_all())), live_);
  mask_ = no_lanes();
}

void LaneCode::emit_return(const Return& s) {
  if (!frame().fn.valid()) {
    end_lanes();
    return;
  }
  if (s.value.valid()) {
    const Val v = value(s.value);
    if (terminated()) return;
    llvm::Value* now = frame().result_varies ? math_.splat(v) : v.v;
    if (frame().result_varies && mask_ != nullptr)
      now = b_.CreateSelect(mask_, now, b_.CreateLoad(now->getType(), frame().result));
    b_.CreateStore(now, frame().result);
  }
  // All lanes that are here leave together.
  if (!frame().divergent || parted_ == frame().parted) {
    for (const Loop& loop : frame().loops) tell_trips(loop);
    b_.CreateBr(frame().exit);
    return;
  }
  llvm::Value* const before = b_.CreateLoad(vector(b_.getInt1Ty()), frame().returned);
  b_.CreateStore(b_.CreateOr(before, mask_or_all()), frame().returned);
  mask_ = no_lanes();
}

void LaneCode::emit_trap(const Trap& s, StmtId id) {
  const Val v = value(s.value);
  if (terminated()) return;
  const SiteRef site{{}, id};
  if (!wide()) {
    env_.trapped(site, env_.global_lane().v, v.v);
  } else {
    // The first of them is the smallest.
    llvm::Value* const before = mask_;
    under_mask(mask_or_all(), [&] {
      llvm::Value* const bits = mask_bits(mask_);
      llvm::Value* const first = b_.CreateZExtOrTrunc(
          b_.CreateIntrinsic(llvm::Intrinsic::cttz, {bits->getType()}, {bits, b_.getTrue()}),
          b_.getInt32Ty());
      env_.trapped(site, b_.CreateExtractElement(math_.splat(env_.global_lane()), first),
                   b_.CreateExtractElement(math_.splat(v), first));
    });
    mask_ = before;
  }
  end_lanes();
}

}  // namespace vyre::codegen
