// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/buffer_use.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

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

}  // namespace

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

bool overwrites(const check::CheckedProgram& phase, BufferId shared) {
  const Program& p = phase.program;
  const auto meant = [&](Memory m) {
    return m.kind == Memory::Kind::Buffer && m.index == shared.value;
  };
  const auto count = phase.buffers[shared.index()].constant_count;
  if (!count || *count > phase.workgroup[0] || phase.workgroup[1] * phase.workgroup[2] != 1)
    return false;
  for (const Expr& e : p.exprs) {
    const auto* load = std::get_if<Load>(&e);
    const auto* atomic = std::get_if<Atomic>(&e);
    if ((load != nullptr && meant(load->memory)) || (atomic != nullptr && meant(atomic->memory)) ||
        std::holds_alternative<Call>(e))
      return false;
  }
  for (const Stmt& s : p.stmts)
    if (std::holds_alternative<Return>(s) || std::holds_alternative<Trap>(s)) return false;
  for (const StmtId id : p.items(p.body)) {
    const auto* store = std::get_if<Store>(&p[id]);
    if (store == nullptr || !meant(store->memory) || store->op) continue;
    const auto* index = std::get_if<BuiltinRef>(&p[store->index]);
    if (index != nullptr && index->builtin == Builtin::Lid && index->axis == 0) return true;
  }
  return false;
}

}  // namespace vyre::codegen
