// SPDX-License-Identifier: Apache-2.0
// What a phase costs, and in blocks of how many lanes it is best run.
#include <algorithm>
#include <map>

#include "codegen/llvm/blocks.hpp"
#include "codegen/llvm/kernel.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// Nodes of a block, those of loops counted once for each trip, as far as it is known.
class Weight {
 public:
  explicit Weight(const check::CheckedProgram& checked) : c_(checked), p_(checked.program) {}

  double of(Block block) {
    double sum = 0;
    for (const StmtId id : p_.items(block)) {
      const Stmt& s = p_[id];
      double own = 1;
      for_each_operand(p_, s, [&](ExprId e) { own += of(e); });
      for_each_block(s, [&](Block b) { own += of(b); });
      if (std::holds_alternative<While>(s)) own *= kUnknownTrips;
      if (const auto* loop = std::get_if<For>(&s)) own *= trips(*loop);
      sum += own;
    }
    return sum;
  }

 private:
  static constexpr double kUnknownTrips = 8;
  static constexpr double kMathsFunction = 30;

  double of(ExprId id) {
    double sum = 1;
    if (const auto* e = std::get_if<IntrinsicCall>(&p_[id]); e && e->op >= Intrinsic::Exp)
      sum = kMathsFunction;
    // Calls cannot recurse, but one function may be called from everywhere.
    if (const auto* e = std::get_if<Call>(&p_[id])) {
      auto [known, fresh] = functions_.try_emplace(e->fn.value, 0.0);
      if (fresh) known->second = of(p_[e->fn].body);
      sum += functions_[e->fn.value];
    }
    for_each_operand(p_, p_[id], [&](ExprId e) { sum += of(e); });
    return sum;
  }

  double trips(const For& loop) {
    const auto first = check::evaluate_constant(c_, loop.first);
    const auto last = check::evaluate_constant(c_, loop.last);
    if (!first || !last) return kUnknownTrips;
    const auto step = loop.step.valid() ? check::evaluate_constant(c_, loop.step) : std::nullopt;
    const auto number = [](const check::Constant& k) {
      return k.type == Type::I32   ? static_cast<double>(static_cast<int32_t>(k.bits))
             : k.type == Type::I64 ? static_cast<double>(static_cast<int64_t>(k.bits))
                                   : static_cast<double>(k.bits);
    };
    return std::max(1.0, (number(*last) - number(*first)) / (step ? number(*step) : 1.0));
  }

  const check::CheckedProgram& c_;
  const Program& p_;
  std::map<uint32_t, double> functions_;
};

bool mentions(const check::CheckedProgram& phase, std::initializer_list<Builtin> builtins) {
  for (const Expr& e : phase.program.exprs)
    if (const auto* ref = std::get_if<BuiltinRef>(&e))
      for (const Builtin b : builtins)
        if (ref->builtin == b) return true;
  return false;
}

}  // namespace

bool may_merge(const check::CheckedProgram& phase) {
  for (const Buffer& b : phase.program.buffers)
    if (b.kind == BufferKind::Shared) return false;
  return !mentions(phase, {Builtin::Lid, Builtin::Wid, Builtin::SubgroupId, Builtin::SubgroupLane});
}

double estimated_cost(const check::CheckedProgram& phase, uint32_t lanes) {
  return Weight(phase).of(phase.program.body) * (lanes > 1 ? 0.08 : 0.3);
}

BlockShape choose_shape(const check::CheckedProgram& phase, const std::vector<bool>& own,
                        bool checked, bool wide_vectors) {
  bool subgroups = mentions(phase, {Builtin::SubgroupId, Builtin::SubgroupLane});
  bool turns = false;    // lanes that have to come one after the other
  bool waiting = false;  // and look at what the one before has left, or meet other threads
  for (const Expr& e : phase.program.exprs) {
    subgroups = subgroups || std::holds_alternative<Subgroup>(e);
    const auto* atomic = std::get_if<Atomic>(&e);
    if (atomic == nullptr || atomic->op == AtomicOp::Load || atomic->op == AtomicOp::Store)
      continue;
    turns = true;
    waiting = waiting || atomic->memory.kind != Memory::Kind::Buffer || !own[atomic->memory.index];
  }
  if (subgroups) return {.lanes = kSubgroupLanes, .packed = true};
  if (checked || waiting) return {};
  // The functions of the maths library keep many values at a time: not more than there are
  // registers for.
  const bool maths = std::ranges::any_of(phase.program.exprs, [](const Expr& e) {
    const auto* call = std::get_if<IntrinsicCall>(&e);
    return call != nullptr && call->op >= Intrinsic::Exp;
  });
  uint32_t lanes = maths && !wide_vectors ? 16 : 32;
  if (!may_merge(phase))
    while (lanes > phase.workgroup[0]) lanes /= 2;
  if (lanes < 8) return {};
  const BlockShape shape{.lanes = lanes};
  // Lanes that walk through memory side by side use whole cache lines, which makes up for turns.
  const Divergence::LoopKinds loops = Divergence(phase, shape, {}).loop_kinds();
  return loops.apart || (turns && !loops.together) ? BlockShape{} : shape;
}

}  // namespace vyre::codegen
