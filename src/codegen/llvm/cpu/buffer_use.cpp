// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/cpu/buffer_use.hpp"

#include <algorithm>

#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;

bool combines(AtomicOp op) {
  switch (op) {
    case AtomicOp::Add:
    case AtomicOp::Min:
    case AtomicOp::Max:
    case AtomicOp::And:
    case AtomicOp::Or:
    case AtomicOp::Xor: return true;
    case AtomicOp::Sub:
    case AtomicOp::Nand:
    case AtomicOp::Exchange:
    case AtomicOp::Cas:
    case AtomicOp::Load:
    case AtomicOp::Store: return false;
  }
  return false;
}

std::vector<BufferUse> buffer_uses(const check::CheckedProgram& segment) {
  const Program& p = segment.program;
  struct Accesses {
    uint32_t stores = 0;
    uint32_t atomics = 0;
    uint32_t others = 0;
    std::optional<AtomicOp> op;
    bool one_op = true;
  };
  std::vector<Accesses> accesses(p.buffers.size());
  const auto other = [&](Memory m) {
    if (m.kind == Memory::Kind::Buffer && m.valid()) ++accesses[m.index].others;
  };
  std::vector<bool> for_effect(p.exprs.size());
  for (const Stmt& s : p.stmts) {
    if (const auto* eval = std::get_if<Eval>(&s)) for_effect[eval->value.index()] = true;
    if (const auto* store = std::get_if<Store>(&s);
        store && store->memory.kind == Memory::Kind::Buffer)
      ++accesses[store->memory.index].stores;
    if (const auto* copy = std::get_if<AsyncCopy>(&s)) {
      other(copy->dst);
      other(copy->src);
    }
  }
  for (size_t i = 0; i < p.exprs.size(); ++i) {
    const Expr& e = p.exprs[i];
    if (const auto* load = std::get_if<Load>(&e)) other(load->memory);
    if (const auto* load = std::get_if<UniformLoad>(&e)) other(load->memory);
    const auto* atomic = std::get_if<Atomic>(&e);
    if (atomic == nullptr || atomic->memory.kind != Memory::Kind::Buffer) continue;
    Accesses& a = accesses[atomic->memory.index];
    ++a.atomics;
    a.one_op = a.one_op && for_effect[i] && combines(atomic->op) &&
               atomic->order == MemoryOrder::Relaxed && a.op.value_or(atomic->op) == atomic->op;
    a.op = atomic->op;
  }
  // A function may do anything with what it is given.
  for (const Arg& arg : p.args)
    if (const Memory* m = std::get_if<Memory>(&arg)) other(*m);
  std::vector<BufferUse> uses(p.buffers.size());
  for (size_t b = 0; b < uses.size(); ++b) {
    const Accesses& a = accesses[b];
    if (p.buffers[b].kind == BufferKind::Shared || a.others != 0) continue;
    uses[b].stored_once = a.stores == 1 && a.atomics == 0;
    if (a.stores == 0 && a.one_op && is_integer(p.buffers[b].element)) uses[b].combines = a.op;
  }
  return uses;
}

bool repeatable(const check::CheckedProgram& phase) {
  const Program& p = phase.program;
  struct Use {
    bool read = false;
    bool written = false;
  };
  std::vector<Use> buffers(p.buffers.size());
  std::vector<Use> locals(p.locals.size());  // parameters; arrays are a lane's own
  const auto use = [&](Memory m) -> Use* {
    if (m.kind == Memory::Kind::Buffer) return &buffers[m.index];
    return m.kind == Memory::Kind::Local ? &locals[m.index] : nullptr;
  };
  const auto reads = [&](Memory m) {
    if (Use* const u = use(m)) u->read = true;
  };
  for (const Stmt& s : p.stmts) {
    if (std::holds_alternative<Trap>(s) || std::holds_alternative<AsyncCopy>(s)) return false;
    const auto* store = std::get_if<Store>(&s);
    if (store == nullptr) continue;
    if (Use* const u = use(store->memory)) u->written = true;
    if (store->op) reads(store->memory);
  }
  for (const Expr& e : p.exprs) {
    if (std::holds_alternative<Atomic>(e) || std::holds_alternative<Subgroup>(e)) return false;
    if (const auto* load = std::get_if<Load>(&e)) reads(load->memory);
    if (const auto* load = std::get_if<UniformLoad>(&e)) reads(load->memory);
  }
  // What a function does with a parameter it does with the argument, through any number of calls.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Expr& e : p.exprs) {
      const auto* call = std::get_if<Call>(&e);
      if (call == nullptr) continue;
      const auto params = p.params(p[call->fn].params);
      const auto args = p.arguments(call->args);
      for (size_t k = 0; k < args.size(); ++k) {
        const Memory* const m = std::get_if<Memory>(&args[k]);
        Use* const u = m != nullptr ? use(*m) : nullptr;
        if (u == nullptr) continue;
        const Use& inner = locals[params[k].index()];
        changed = changed || (inner.read && !u->read) || (inner.written && !u->written);
        u->read = u->read || inner.read;
        u->written = u->written || inner.written;
      }
    }
  }
  return std::ranges::none_of(buffers, [](const Use& u) { return u.read && u.written; });
}

bool overwrites(const check::CheckedProgram& phase, BufferId shared) {
  const Program& p = phase.program;
  const auto meant = [&](Memory m) {
    return m.kind == Memory::Kind::Buffer && m.index == shared.value;
  };
  const auto count = phase.buffers[shared.index()].constant_count;
  if (!count || *count > phase.workgroup[0] || phase.workgroup[1] * phase.workgroup[2] != 1)
    return false;
  for (const Expr& e : p.exprs) {
    bool used = std::holds_alternative<Call>(e);
    for_each_memory(p, e, [&](const MemoryUse& use) {
      used = used || (use.access != Access::Length && meant(use.memory));
    });
    if (used) return false;
  }
  for (const Stmt& s : p.stmts) {
    bool used = properties_of(s).may_end_lane;
    // Whatever reads keeps what was there; of what writes, only plain stores are followed below.
    for_each_memory(p, s, [&](const MemoryUse& use) {
      const bool plain = std::holds_alternative<Store>(s) && use.access == Access::Write;
      used = used || (!plain && meant(use.memory));
    });
    if (used) return false;
  }
  const auto all_store = [&](Block block, auto&& self) -> bool {
    for (const StmtId id : p.items(block)) {
      if (const auto* region = std::get_if<Region>(&p[id]))
        if (self(region->body, self)) return true;
      const auto* store = std::get_if<Store>(&p[id]);
      if (store == nullptr || !meant(store->memory) || store->op) continue;
      const auto* index = std::get_if<BuiltinRef>(&p[store->index]);
      if (index != nullptr && index->builtin == Builtin::Lid && index->axis == 0) return true;
    }
    return false;
  };
  return all_store(p.body, all_store);
}

}  // namespace vyre::codegen
