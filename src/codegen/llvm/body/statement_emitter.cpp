// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/statement_emitter.hpp"

#include "base/check.hpp"
#include "base/match.hpp"
#include "codegen/llvm/body/emitters.hpp"

namespace vyre::codegen {

using namespace ir;

StatementEmitter::StatementEmitter(BodyContext& context, Emitters& emitters)
    : Emitter(context, emitters), assigned_(context.p().locals.size()) {
  for (const Stmt& s : context.p().stmts)
    if (const auto* assign = std::get_if<Assign>(&s)) assigned_[assign->local.index()] = true;
}

void StatementEmitter::emit_program() {
  std::vector<StmtId> items;
  // Regions and blocks are only names at this point.
  const auto flatten = [&](auto&& self, Block block) -> void {
    for (const StmtId id : x_.p().items(block)) {
      if (const auto* region = std::get_if<Region>(&x_.p()[id]))
        self(self, region->body);
      else if (const auto* nested = std::get_if<Nested>(&x_.p()[id]))
        self(self, nested->body);
      else
        items.push_back(id);
    }
  };
  flatten(flatten, x_.p().body);
  emit_top(std::move(items), 0);
}

// `if c { return; }` in a block without mask: what follows is emitted for the case that all lanes
// go on, without a mask, and for the case that some do.
void StatementEmitter::emit_top(std::vector<StmtId> items, size_t first) {
  for (size_t i = first; i < items.size() && !x_.terminated(); ++i) {
    const auto* s = std::get_if<If>(&x_.p()[items[i]]);
    const bool guards = s != nullptr && x_.wide() && x_.mask == nullptr && s->else_block.empty() &&
                        s->then_block.count == 1 &&
                        std::holds_alternative<Return>(x_.p()[x_.p().items(s->then_block)[0]]) &&
                        x_.repeated + items.size() - i < kMostRepeated;
    if (!guards) {
      emit_statement(items[i]);
      continue;
    }
    const Val c = e_.values.condition(s->condition);
    if (!c.varying) {
      emit_uniform_if(c.v, *s);
      continue;
    }
    x_.repeated += static_cast<uint32_t>(items.size() - i);
    llvm::Value* const stay = b_.CreateNot(c.v);
    llvm::BasicBlock* const full = x_.new_block("all_stay");
    llvm::BasicBlock* const some = x_.new_block("some_stay");
    llvm::BasicBlock* const partial = x_.new_block("part");
    llvm::BasicBlock* const done = x_.new_block("done");
    b_.CreateCondBr(x_.every(stay), full, some);
    b_.SetInsertPoint(full);
    emit_top(items, i + 1);
    x_.branch_to(done);
    b_.SetInsertPoint(some);
    b_.CreateCondBr(x_.any(stay), partial, done);
    b_.SetInsertPoint(partial);
    x_.mask = stay;
    if (x_.live != nullptr) b_.CreateStore(stay, x_.live);
    emit_top(items, i + 1);
    x_.branch_to(done);
    b_.SetInsertPoint(done);
    return;
  }
}

void StatementEmitter::emit_block(Block block) {
  for (const StmtId id : x_.p().items(block)) {
    if (x_.terminated()) return;
    emit_statement(id);
  }
}

void StatementEmitter::emit_statement(StmtId id) {
  ++x_.nodes;
  if (x_.lowering.threads != nullptr && x_.in_program() && x_.threads().try_lower_statement(id))
    return;
  match(
      x_.p()[id], [&](const Let& s) { emit_let(s); }, [&](const DeclareArray& s) { emit_array(s); },
      [&](const Assign& s) { emit_assign(s); }, [&](const Store& s) { emit_store(s, id); },
      [&](const Eval& s) {
        if (const auto* a = std::get_if<Atomic>(&x_.p()[s.value]))
          e_.atomics.atomic(s.value, *a, false);
        else
          e_.values.value(s.value);
      },
      [&](const If& s) { emit_if(s, id); }, [&](const For& s) { emit_loop(s, id); },
      [&](const While& s) { emit_loop(s, id); }, [&](const Break&) { emit_break(); },
      [&](const Continue&) { emit_continue(); }, [&](const Return& s) { emit_return(s); },
      [&](const Nested& s) { emit_block(s.body); }, [&](const Region& s) { emit_block(s.body); },
      [&](const Barrier& s) { emit_barrier(s, id); },
      [&](const Fixpoint&) { VYRE_CHECK(!"a fixpoint is cut by the plan"); },
      [&](const AsyncCopy& s) { emit_copy(s, id); },
      [&](const Wait&) { x_.threads().workgroup_barrier(); },
      [&](const Trap& s) { emit_trap(s, id); },
      [&](const Resume&) { VYRE_CHECK(!"a resume is cut by the plan"); },
      [&](const Collective&) { VYRE_CHECK(!"a collective is cut by the plan"); },
      [&](const Swap&) { VYRE_CHECK(!"a swap is cut by the plan"); },
      [&](const Print&) { VYRE_CHECK(!"a print is lowered by the plan"); },
      [&](const Assert&) { VYRE_CHECK(!"an assert is lowered by the plan"); });
}

bool StatementEmitter::is_serialised(StmtId id) const {
  return x_.wide() && x_.frames.size() == 1 && x_.options.serialised != nullptr &&
         (*x_.options.serialised)[id.index()];
}

// ---- locals and memory

void StatementEmitter::emit_let(const Let& s) {
  Val v = e_.values.value(s.value);
  Slot& slot = x_.frame().slots[s.local.index()];
  const bool stays = x_.in_program() && !assigned_[s.local.index()];
  if (stays || x_.p()[s.local].kind == Local::Kind::Let ||
      x_.p()[s.local].kind == Local::Kind::For) {
    slot.value = v;
    slot.variable = nullptr;
    return;
  }
  slot.varying = x_.d().varies(s.local);
  const Type type = *x_.c().local_types[s.local.index()];
  slot.variable = x_.new_variable(x_.shaped(type, slot.varying));
  b_.CreateStore(slot.varying ? math_.splat(v) : v.v, slot.variable);
}

void StatementEmitter::emit_array(const DeclareArray& s) {
  const uint32_t count = x_.c().array_counts[s.local.index()];
  MemoryRef m;
  m.element = *x_.c().local_types[s.local.index()];
  m.per_lane = x_.wide() && x_.d().varies(s.local);
  m.own = true;
  m.length = b_.getInt32(count);
  llvm::Type* const element = element_type(m.element, b_.getContext());
  llvm::Type* const row = m.per_lane ? x_.vector(element) : element;
  // Whole words, see MemoryEmitter::gather_narrow().
  m.address = x_.new_variable(llvm::ArrayType::get(row, (count + 3) / 4 * 4));
  auto* const array = llvm::cast<llvm::AllocaInst>(m.address);
  array->setAlignment(std::max(array->getAlign(), llvm::Align(4)));
  const uint64_t bytes = uint64_t{count} * bytes_of(m.element) * (m.per_lane ? x_.lanes() : 1);
  b_.CreateMemSet(m.address, b_.getInt8(0), bytes, llvm::Align(bytes_of(m.element)));
  x_.frame().slots[s.local.index()].memory = m;
}

void StatementEmitter::emit_assign(const Assign& s) {
  Slot& slot = x_.frame().slots[s.local.index()];
  const Type type = *x_.c().local_types[s.local.index()];
  Val v = e_.values.value(s.value);
  llvm::Type* const stored = x_.shaped(type, slot.varying);
  if (s.op) {
    const Val old{b_.CreateLoad(stored, slot.variable), slot.varying};
    v = math_.binary(*s.op, type, old, v, x_.type_of_expr(s.value));
  }
  if (!slot.varying) {
    VYRE_CHECK(!v.varying);
    b_.CreateStore(v.v, slot.variable);
    return;
  }
  llvm::Value* now = math_.splat(v);
  if (x_.mask != nullptr) now = b_.CreateSelect(x_.mask, now, b_.CreateLoad(stored, slot.variable));
  b_.CreateStore(now, slot.variable);
}

void StatementEmitter::emit_store(const Store& s, StmtId id) {
  const Type index_type = x_.type_of_expr(s.index);
  const Val index = e_.values.value(s.index);
  const MemoryRef m = e_.memory.memory(s.memory);
  const bool proved = x_.c().stmt_proofs[id.index()] >= 0;
  const SiteRef site{{}, id};
  Val v;
  if (s.op) {
    const Val old = e_.memory.load_at(m, index, index_type, site, proved);
    v = math_.binary(*s.op, widened(m.element), old, e_.values.value(s.value),
                     x_.type_of_expr(s.value));
  } else {
    v = e_.values.value(s.value);
  }
  if (x_.terminated()) return;
  e_.memory.store_at(m, s.memory, index, index_type, v, site, proved);
}

// ---- branches

void StatementEmitter::emit_if(const If& s, StmtId id) {
  if (x_.options.test == id && x_.frames.size() == 1) demand_lanes(s);
  const Val c = e_.values.condition(s.condition);
  if (x_.terminated()) return;
  if (c.varying && is_serialised(id))
    e_.serialiser.emit(x_.p().items(s.then_block),
                       x_.mask != nullptr ? b_.CreateAnd(x_.mask, c.v) : c.v);
  else if (c.varying)
    emit_divergent_if(c, s);
  else
    emit_uniform_if(c.v, s);
}

void StatementEmitter::demand_lanes(const If& s) {
  const auto& e = std::get<Binary>(x_.p()[s.condition]);
  if (x_.type_of_expr(e.left) != Type::U32) return;
  const Val index = e_.values.value(e.left);
  const Val limit = e_.values.value(e.right);
  if (index.offset != nullptr && !limit.varying)
    x_.rows.demand_lanes(index.offset, limit.v, e.op == BinaryOp::Eq);
}

void StatementEmitter::emit_uniform_if(llvm::Value* condition, const If& s) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    emit_block(known->isZero() ? s.else_block : s.then_block);
    return;
  }
  llvm::Value* const before = x_.mask;
  llvm::BasicBlock* const yes = x_.new_block("then");
  llvm::BasicBlock* const no = s.else_block.empty() ? nullptr : x_.new_block("else");
  llvm::BasicBlock* const after = x_.new_block("after");
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  b_.CreateCondBr(condition, yes, no != nullptr ? no : after);

  struct End {
    llvm::BasicBlock* block = nullptr;
    llvm::Value* mask = nullptr;
  };
  const auto side = [&](llvm::BasicBlock* block, Block body) {
    b_.SetInsertPoint(block);
    x_.mask = before;
    const size_t known = x_.facts.count();
    if (!x_.wide()) x_.facts.learn(x_.c(), s.condition, block == yes, body);
    emit_block(body);
    x_.facts.forget_from(known);
    End end;
    if (!x_.terminated()) {
      end = {b_.GetInsertBlock(), x_.mask};
      b_.CreateBr(after);
    }
    return end;
  };
  const End yes_end = side(yes, s.then_block);
  const End no_end = no != nullptr ? side(no, s.else_block) : End{from, before};
  b_.SetInsertPoint(after);
  if (yes_end.block != nullptr && no_end.block != nullptr)
    x_.mask = x_.merged_mask(yes_end.mask, yes_end.block, no_end.mask, no_end.block);
  else if (yes_end.block != nullptr)
    x_.mask = yes_end.mask;
  else if (no_end.block != nullptr)
    x_.mask = no_end.mask;
  else
    b_.CreateUnreachable();
}

void StatementEmitter::emit_divergent_if(Val c, const If& s) {
  llvm::Value* const before = x_.mask;
  const bool jumps = e_.masks.jumps_out(s.then_block) || e_.masks.jumps_out(s.else_block);
  const auto masked = [&] {
    ++x_.divergence_depth;
    llvm::Value* const yes = before != nullptr ? b_.CreateAnd(before, c.v) : c.v;
    llvm::Value* left = e_.masks.under_mask(yes, [&] { emit_block(s.then_block); });
    if (!s.else_block.empty() || jumps) {
      llvm::Value* no = b_.CreateNot(c.v);
      if (before != nullptr) no = b_.CreateAnd(before, no);
      if (!s.else_block.empty()) no = e_.masks.under_mask(no, [&] { emit_block(s.else_block); });
      left = jumps ? b_.CreateOr(left, no) : left;
    }
    --x_.divergence_depth;
    x_.mask = jumps ? left : before;
  };
  const uint32_t size = s.then_block.count + s.else_block.count;
  if (before != nullptr || jumps || x_.repeated + size > kMostRepeated || !s.else_block.empty()) {
    masked();
    return;
  }
  // All lanes, some, or none.
  x_.repeated += size;
  llvm::BasicBlock* const full = x_.new_block("all");
  llvm::BasicBlock* const part = x_.new_block("some");
  llvm::BasicBlock* const after = x_.new_block("after");
  b_.CreateCondBr(x_.every(c.v), full, part);
  b_.SetInsertPoint(full);
  emit_block(s.then_block);
  x_.branch_to(after);
  b_.SetInsertPoint(part);
  masked();
  x_.branch_to(after);
  b_.SetInsertPoint(after);
  x_.mask = before;
}

// ---- loops, and what leaves them

void StatementEmitter::emit_loop(const For& s, StmtId id) {
  if (is_serialised(id))
    e_.serialiser.emit(std::span(&id, 1), x_.mask_or_all());
  else
    e_.loops.emit_for(s, id);
}

void StatementEmitter::emit_loop(const While& s, StmtId id) {
  if (is_serialised(id))
    e_.serialiser.emit(std::span(&id, 1), x_.mask_or_all());
  else
    e_.loops.emit_while(s, id);
}

void StatementEmitter::emit_break() {
  const Loop& loop = x_.frame().loops.back();
  if (loop.skipped == nullptr)
    b_.CreateBr(loop.exit);
  else
    x_.mask = x_.no_lanes();
}

void StatementEmitter::emit_continue() {
  const Loop& loop = x_.frame().loops.back();
  if (loop.skipped == nullptr) {
    b_.CreateBr(loop.next);
    return;
  }
  llvm::Value* const before = b_.CreateLoad(x_.vector(b_.getInt1Ty()), loop.skipped);
  b_.CreateStore(b_.CreateOr(before, x_.mask_or_all()), loop.skipped);
  x_.mask = x_.no_lanes();
}

// ---- the end of lanes and functions

void StatementEmitter::emit_return(const Return& s) {
  if (!x_.frame().fn.valid()) {
    e_.masks.end_lanes();
    return;
  }
  if (s.value.valid()) {
    const Val v = e_.values.value(s.value);
    if (x_.terminated()) return;
    llvm::Value* now = x_.frame().result_varies ? math_.splat(v) : v.v;
    if (x_.frame().result_varies && x_.mask != nullptr)
      now = b_.CreateSelect(x_.mask, now, b_.CreateLoad(now->getType(), x_.frame().result));
    b_.CreateStore(now, x_.frame().result);
  }
  // All lanes that are here leave at once.
  if (!x_.frame().divergent || x_.divergence_depth == x_.frame().divergence_depth) {
    for (const Loop& loop : x_.frame().loops) e_.nests.flush_count(loop);
    b_.CreateBr(x_.frame().exit);
    return;
  }
  llvm::Value* const before = b_.CreateLoad(x_.vector(b_.getInt1Ty()), x_.frame().returned);
  b_.CreateStore(b_.CreateOr(before, x_.mask_or_all()), x_.frame().returned);
  x_.mask = x_.no_lanes();
}

void StatementEmitter::emit_trap(const Trap& s, StmtId id) {
  const Val v = e_.values.value(s.value);
  if (x_.terminated()) return;
  const SiteRef site{{}, id};
  if (!x_.wide()) {
    x_.target.trapped(site, x_.target.global_lane().v, v.v);
  } else {
    // The first of them is the smallest.
    llvm::Value* const before = x_.mask;
    e_.masks.under_mask(x_.mask_or_all(), [&] {
      llvm::Value* const first = x_.first_lane(x_.mask);
      x_.target.trapped(site, b_.CreateExtractElement(math_.splat(x_.target.global_lane()), first),
                        b_.CreateExtractElement(math_.splat(v), first));
    });
    x_.mask = before;
  }
  e_.masks.end_lanes();
}

// ---- synchronisation

void StatementEmitter::emit_barrier(const Barrier& s, StmtId id) {
  switch (s.scope) {
    case Scope::Workgroup: x_.threads().workgroup_barrier(); return;
    case Scope::Grid: x_.threads().grid_barrier(id); return;
    // Lanes of a block are always at the same place.
    case Scope::Subgroup:
      if (x_.options.lanes_are_threads) x_.threads().subgroup_barrier();
      return;
  }
}

void StatementEmitter::emit_copy(const AsyncCopy& s, StmtId id) {
  CopyOperands copy;
  copy.dst_memory = s.dst;
  copy.src_memory = s.src;
  copy.dst_index = e_.values.value(s.dst_index).v;
  copy.src_index = e_.values.value(s.src_index).v;
  copy.count = e_.values.value(s.count).v;
  copy.dst_type = x_.type_of_expr(s.dst_index);
  copy.src_type = x_.type_of_expr(s.src_index);
  copy.count_type = x_.type_of_expr(s.count);
  if (x_.terminated()) return;
  copy.dst = e_.memory.memory(s.dst);
  copy.src = e_.memory.memory(s.src);
  x_.threads().copy(copy, {{}, id});
}

}  // namespace vyre::codegen
