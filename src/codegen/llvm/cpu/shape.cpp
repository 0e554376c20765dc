// SPDX-License-Identifier: Apache-2.0
// In blocks of how many lanes a phase is best run.
#include <algorithm>

#include "codegen/llvm/body/lane_cost.hpp"
#include "codegen/llvm/body/private_memory.hpp"
#include "codegen/llvm/cpu/buffer_use.hpp"
#include "codegen/llvm/cpu/kernel.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// Blocks of fewer are not worth their masks.
constexpr uint32_t kFewestLanes = 8;

bool is_serial(const Atomic& atomic) {
  return atomic.op != AtomicOp::Load && atomic.op != AtomicOp::Store;
}

// What would keep a phase from having blocks of many lanes does not count where these can be
// serialised: in loops of which each lane takes iterations of its own, and in ifs whose condition
// depends on data. Those are often taken by few lanes of a block (nodes on the frontier, keys that
// match), and the rest is skipped at once.
class Serialised {
 public:
  Serialised(const check::CheckedProgram& phase, const Divergence& divergence)
      : p_(phase.program),
        d_(divergence),
        found_(p_.stmts.size()),
        stmts_(p_.stmts.size()),
        exprs_(p_.exprs.size()) {
    // Arrays of a lane lie between those of others.
    for (const Stmt& s : p_.stmts)
      if (std::holds_alternative<DeclareArray>(s)) return;
    find(p_.body);
  }

  // By statement; empty: none.
  [[nodiscard]] std::vector<bool> found() const {
    return std::ranges::find(found_, true) != found_.end() ? found_ : std::vector<bool>();
  }
  // What is in them.
  [[nodiscard]] const std::vector<bool>& stmts() const { return stmts_; }
  [[nodiscard]] bool has(size_t expr) const { return exprs_[expr]; }

 private:
  [[nodiscard]] bool depends_on_data(ExprId id) const {
    const auto* atomic = std::get_if<Atomic>(&p_[id]);
    if (std::holds_alternative<Load>(p_[id]) || (atomic != nullptr && !is_serial(*atomic)))
      return d_.varies(id);
    bool inner = false;
    for_each_operand(p_, p_[id], [&](ExprId e) { inner = inner || depends_on_data(e); });
    return inner;
  }
  [[nodiscard]] bool pure(ExprId id) const {
    const auto* atomic = std::get_if<Atomic>(&p_[id]);
    if ((atomic != nullptr && is_serial(*atomic)) || std::holds_alternative<Call>(p_[id]))
      return false;
    bool inner = true;
    for_each_operand(p_, p_[id], [&](ExprId e) { inner = inner && pure(e); });
    return inner;
  }
  [[nodiscard]] bool parts(StmtId id) const {
    const auto* const loop = std::get_if<For>(&p_[id]);
    return (loop != nullptr || std::holds_alternative<While>(p_[id])) && d_.diverges(id) &&
           (loop == nullptr || !d_.stays_convergent(*loop));
  }
  [[nodiscard]] bool needs_serialisation(Block block) const {
    for (const StmtId id : p_.items(block)) {
      bool needs = parts(id);
      for_each_operand(p_, p_[id], [&](ExprId e) { needs = needs || !pure(e); });
      for_each_block(p_[id], [&](Block b) { needs = needs || needs_serialisation(b); });
      if (needs) return true;
    }
    return false;
  }
  // Lanes may end in it.
  [[nodiscard]] bool ends(Block block) const {
    for (const StmtId id : p_.items(block)) {
      bool inner = properties_of(p_[id]).may_end_lane;
      const auto calls = [&](ExprId e, auto&& self) -> void {
        if (const auto* call = std::get_if<Call>(&p_[e])) inner = inner || d_.ends_lanes(call->fn);
        for_each_operand(p_, p_[e], [&](ExprId operand) { self(operand, self); });
      };
      for_each_operand(p_, p_[id], [&](ExprId e) { calls(e, calls); });
      for_each_block(p_[id], [&](Block b) { inner = inner || ends(b); });
      if (inner) return true;
    }
    return false;
  }
  [[nodiscard]] bool can_be(StmtId id) const {
    const auto* const s = std::get_if<If>(&p_[id]);
    if (s != nullptr)
      return s->else_block.empty() && d_.varies(s->condition) && pure(s->condition) &&
             depends_on_data(s->condition) && !d_.may_leave(s->then_block) &&
             needs_serialisation(s->then_block);
    bool inside = parts(id);
    for_each_block(p_[id], [&](Block b) { inside = inside && !ends(b); });
    return inside;
  }
  void find(Block block) {
    for (const StmtId id : p_.items(block)) {
      if (can_be(id)) {
        found_[id.index()] = true;
        mark(id);
      } else {
        for_each_block(p_[id], [&](Block b) { find(b); });
      }
    }
  }
  void mark(StmtId id) {
    stmts_[id.index()] = true;
    // The condition of an if is for all lanes.
    if (!std::holds_alternative<If>(p_[id]) || !found_[id.index()])
      for_each_operand(p_, p_[id], [&](ExprId e) { mark(e); });
    for_each_block(p_[id], [&](Block b) {
      for (const StmtId inner : p_.items(b)) mark(inner);
    });
  }
  void mark(ExprId id) {
    exprs_[id.index()] = true;
    for_each_operand(p_, p_[id], [&](ExprId e) { mark(e); });
  }

  const Program& p_;
  const Divergence& d_;
  std::vector<bool> found_;
  std::vector<bool> stmts_;
  std::vector<bool> exprs_;
};

}  // namespace

PhaseShape choose_shape(const check::CheckedProgram& phase, const std::vector<bool>& own,
                        const std::vector<BufferUse>& uses, const ShapeOptions& options) {
  const Program& p = phase.program;
  const bool subgroups = mentions(phase, {Builtin::SubgroupId, Builtin::SubgroupLane}) ||
                         std::ranges::any_of(p.exprs, [](const Expr& e) {
                           return std::holds_alternative<Subgroup>(e);
                         });
  if (subgroups) return {.block = {.lanes = kSubgroupLanes, .packed = true}, .serialised = {}};
  if (options.one_lane) return {};
  // The functions of the maths library keep many values at a time: not more than there are
  // registers for.
  const bool maths = std::ranges::any_of(p.exprs, [](const Expr& e) {
    const auto* call = std::get_if<IntrinsicCall>(&e);
    return call != nullptr && call->op >= Intrinsic::Exp;
  });
  const uint32_t usual = maths && !options.wide_vectors ? 16 : 32;
  const uint32_t most_lanes = options.lanes != 0 ? options.lanes : usual;
  const auto lanes_along = [&](uint32_t axis) {
    uint32_t lanes = most_lanes;
    while (lanes > phase.workgroup[axis]) lanes /= 2;
    return lanes;
  };
  uint32_t axis = coalesced_axis(p);
  if (axis != 0 && lanes_along(axis) < kFewestLanes) axis = 0;
  const uint32_t lanes = axis == 0 && may_merge(phase) ? most_lanes : lanes_along(axis);
  if (lanes < kFewestLanes) return {};
  if (private_bytes(phase) * 2 * lanes > kMostBlockArrays) return {};
  PhaseShape shape{.block = {.lanes = lanes, .axis = axis}, .serialised = {}};
  const Divergence divergence(phase, shape.block, {});
  const Serialised serialised(phase, divergence);
  std::vector<bool> for_effect(p.exprs.size());
  for (const Stmt& s : p.stmts)
    if (const auto* eval = std::get_if<Eval>(&s)) for_effect[eval->value.index()] = true;
  bool serial = false;   // lanes that have to be serialised
  bool waiting = false;  // and read what the one before has left, or synchronise
  for (size_t i = 0; i < p.exprs.size(); ++i) {
    const auto* atomic = std::get_if<Atomic>(&p.exprs[i]);
    if (atomic == nullptr || serialised.has(i) || !is_serial(*atomic)) continue;
    // Lanes combine what they have, or have a private copy of the buffer.
    const bool buffer = atomic->memory.kind == Memory::Kind::Buffer;
    const bool to_one_element =
        !divergence.varies(atomic->index) && is_integer(*phase.expr_types[i]);
    if (for_effect[i] && buffer && combines(atomic->op) && atomic->order == MemoryOrder::Relaxed &&
        (to_one_element || uses[atomic->memory.index].combines))
      continue;
    serial = true;
    waiting = waiting || !buffer || !own[atomic->memory.index];
  }
  // Lanes that access memory side by side use whole cache lines, which makes up for serialisation.
  const Divergence::LoopKinds loops = divergence.loop_kinds(serialised.stmts());
  if (waiting || loops.divergent || (serial && !loops.convergent)) return {};
  // What they read side by side in a step is all that memory gives in a row.
  if (options.lanes == 0 && loops.convergent && !maths && phase.workgroup[axis] >= 2 * lanes)
    shape.block.lanes = 2 * lanes;
  shape.serialised = serialised.found();
  return shape;
}

}  // namespace vyre::codegen
