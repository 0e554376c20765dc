// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/cpu/demanded_lanes.hpp"

#include <variant>

#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

class Analysis {
 public:
  explicit Analysis(const check::CheckedProgram& phase) : c_(phase), p_(phase.program) {}

  DemandedLanes run() {
    if (!same(p_.body, true)) return {};
    return {.one = !test_.valid(), .test = test_};
  }

 private:
  // Nothing happens but that a value is known.
  [[nodiscard]] bool pure(ExprId id) const {
    const Expr& e = p_[id];
    bool all = !properties_of(e).has_effect && !std::holds_alternative<Atomic>(e);
    for_each_operand(p_, e, [&](ExprId operand) { all = all && pure(operand); });
    return all;
  }

  // Any lane of the workgroup may find it out for the others.
  [[nodiscard]] bool uniform(ExprId id) const {
    const Expr& e = p_[id];
    const ExprProperties row = properties_of(e);
    bool all = true;
    switch (row.uniformity) {
      case UniformityRule::Operands: break;
      case UniformityRule::Local:
        for_each_local(e, [&](LocalId local, LocalAccess) {
          all = c_.local_levels[local.index()] <= check::Level::Workgroup;
        });
        break;
      case UniformityRule::Memory:
        for_each_memory(
            p_, e, [&](const MemoryUse& use) { all = use.memory.kind != Memory::Kind::Local; });
        break;
      case UniformityRule::Given: return row.uniform_over >= Scope::Workgroup;
      case UniformityRule::Function: return false;
    }
    for_each_operand(p_, e, [&](ExprId operand) { all = all && uniform(operand); });
    return all;
  }
  [[nodiscard]] bool invariant(ExprId id) const { return pure(id) && uniform(id); }

  // A comparison that picks a stretch of lanes, at the end of what there is to compare.
  [[nodiscard]] bool picks(ExprId id) const {
    const auto* e = std::get_if<Binary>(&p_[id]);
    return e != nullptr && (e->op == BinaryOp::Lt || e->op == BinaryOp::Eq) && pure(e->left) &&
           invariant(e->right);
  }

  // Lanes that end there leave what comes after it to the others.
  [[nodiscard]] bool may_end(Block block) const {
    for (const StmtId id : p_.items(block)) {
      const Stmt& s = p_[id];
      bool ends = properties_of(s).may_end_lane;
      for_each_block(s, [&](Block b) { ends = ends || may_end(b); });
      for_each_operand(p_, s, [&](ExprId e) { ends = ends || calls(e); });
      if (ends) return true;
    }
    return false;
  }
  [[nodiscard]] bool calls(ExprId id) const {
    bool found = std::holds_alternative<Call>(p_[id]);
    for_each_operand(p_, p_[id], [&](ExprId e) { found = found || calls(e); });
    return found;
  }

  // What lanes do in the block can be left to any of them, once; `top`: but for one `if`.
  bool same(Block block, bool top) {
    for (const StmtId id : p_.items(block))
      if (!same(id, top)) return false;
    return true;
  }
  bool same(StmtId id, bool top) {
    const Stmt& s = p_[id];
    if (const auto* x = std::get_if<Let>(&s)) return pure(x->value);
    if (const auto* x = std::get_if<Assign>(&s)) return pure(x->value);
    if (const auto* x = std::get_if<Nested>(&s)) return same(x->body, top);
    if (const auto* x = std::get_if<Region>(&s)) return same(x->body, top);
    if (const auto* x = std::get_if<Store>(&s))
      return x->memory.kind == Memory::Kind::Buffer && !x->op && invariant(x->index) &&
             invariant(x->value);
    // How values are kept for the phases that follow.
    if (const auto* x = std::get_if<Eval>(&s)) {
      const auto* store = std::get_if<Atomic>(&p_[x->value]);
      return store != nullptr && store->op == AtomicOp::Store &&
             store->order == MemoryOrder::Relaxed && store->memory.kind == Memory::Kind::Buffer &&
             invariant(store->index) && invariant(store->args[0]);
    }
    if (const auto* x = std::get_if<If>(&s)) {
      if (invariant(x->condition) && same(x->then_block, false) && same(x->else_block, false))
        return true;
      if (!top || test_.valid() || !x->else_block.empty() || !picks(x->condition) ||
          may_end(x->then_block))
        return false;
      test_ = id;
      return true;
    }
    return false;
  }

  const check::CheckedProgram& c_;
  const Program& p_;
  StmtId test_ = {};
};

}  // namespace

DemandedLanes demanded_lanes(const check::CheckedProgram& phase) {
  return Analysis(phase).run();
}

}  // namespace vyre::codegen
