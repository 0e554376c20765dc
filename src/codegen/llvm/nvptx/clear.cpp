// SPDX-License-Identifier: Apache-2.0
// Shared memory starts as zeros. Where each lane writes its own element before any lane reads one,
// they are never seen.
#include "codegen/llvm/nvptx/shared_memory.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

class FirstWrite {
 public:
  FirstWrite(const check::CheckedProgram& program, BufferId buffer)
      : c_(program), p_(program.program), buffer_(buffer), values_(p_.locals.size()) {
    std::vector<uint32_t> writes(p_.locals.size());
    for (const Stmt& s : p_.stmts) {
      if (const auto* assign = std::get_if<Assign>(&s)) ++writes[assign->local.index()];
      if (const auto* let = std::get_if<Let>(&s)) {
        ++writes[let->local.index()];
        values_[let->local.index()] = let->value;
      }
    }
    for (size_t i = 0; i < writes.size(); ++i)
      if (writes[i] != 1) values_[i] = {};
  }

  // Whether what was there before is never read. All lanes execute the statements convergently.
  bool hides_the_start(Block block) {
    bool written = false;
    const std::vector<StmtId> items = flat(block);
    for (size_t i = 0; i < items.size(); ++i) {
      const Stmt& s = p_[items[i]];
      if (const auto* barrier = std::get_if<Barrier>(&s);
          barrier != nullptr && barrier->scope != Scope::Subgroup) {
        if (written) return true;
        continue;
      }
      if (!touches(items[i])) continue;
      if (written) return false;
      if (const auto* store = std::get_if<Store>(&s)) {
        if (store->op || touches(store->index) || touches(store->value) || !is_lane(store->index))
          return false;
        written = true;
        continue;
      }
      // A loop without iterations leaves it as it was, and then nothing may read it afterwards.
      const auto* loop = std::get_if<For>(&s);
      const auto* endless = std::get_if<While>(&s);
      if (loop == nullptr && endless == nullptr) return false;
      bool touched = false;
      for_each_operand(p_, s, [&](ExprId e) { touched = touched || touches(e); });
      for (size_t after = i + 1; after < items.size(); ++after)
        touched = touched || touches(items[after]);
      return !touched && hides_the_start(loop != nullptr ? loop->body : endless->body);
    }
    return true;
  }

 private:
  std::vector<StmtId> flat(Block block) const {
    std::vector<StmtId> items;
    for (const StmtId id : p_.items(block)) {
      const auto* region = std::get_if<Region>(&p_[id]);
      const auto* nested = std::get_if<Nested>(&p_[id]);
      if (region == nullptr && nested == nullptr) {
        items.push_back(id);
        continue;
      }
      for (const StmtId inner : flat(region != nullptr ? region->body : nested->body))
        items.push_back(inner);
    }
    return items;
  }

  [[nodiscard]] bool is_ours(Memory memory) const {
    return memory.kind == Memory::Kind::Buffer && memory.buffer() == buffer_;
  }
  // Functions may do anything.
  [[nodiscard]] bool touches(ExprId id) const {
    bool found = std::holds_alternative<Call>(p_[id]);
    for_each_memory(p_, p_[id], [&](const MemoryUse& use) {
      found = found || (use.access != Access::Length && is_ours(use.memory));
    });
    for_each_operand(p_, p_[id], [&](ExprId e) { found = found || touches(e); });
    return found;
  }
  [[nodiscard]] bool touches(StmtId id) const {
    bool found = std::holds_alternative<AsyncCopy>(p_[id]);
    for_each_memory(p_, p_[id],
                    [&](const MemoryUse& use) { found = found || is_ours(use.memory); });
    for_each_operand(p_, p_[id], [&](ExprId e) { found = found || touches(e); });
    for_each_block(p_[id], [&](Block b) {
      for (const StmtId inner : p_.items(b)) found = found || touches(inner);
    });
    return found;
  }

  // The number of the lane in a workgroup along x.
  [[nodiscard]] bool is_lane(ExprId id) const {
    if (c_.workgroup[1] != 1 || c_.workgroup[2] != 1) return false;
    if (const auto* ref = std::get_if<LocalRef>(&p_[id])) {
      const ExprId value = values_[ref->local.index()];
      return value.valid() && is_lane(value);
    }
    const auto* builtin = std::get_if<BuiltinRef>(&p_[id]);
    return builtin != nullptr && builtin->builtin == Builtin::Lid && builtin->axis == 0;
  }

  const check::CheckedProgram& c_;
  const Program& p_;
  const BufferId buffer_;
  std::vector<ExprId> values_;  // by local that has one value
};

}  // namespace

bool SharedMemoryEmitter::needs_zeros(uint32_t buffer) const {
  const plan::SharedUse* const use = use_of(buffer);
  if (k_.use.ends || (use != nullptr && use->save) || k_.count_of(buffer) > k_.threads())
    return true;
  return !FirstWrite(k_.program, BufferId{buffer}).hides_the_start(k_.program.program.body);
}

}  // namespace vyre::codegen
