// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/lane_cost.hpp"

#include <algorithm>
#include <map>

#include "ir/maths.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// Nodes of a block, those of loops counted once per iteration, as far as the trip count is known.
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
      if (std::holds_alternative<While>(s)) own *= unknown_trip_count();
      if (const auto* loop = std::get_if<For>(&s)) own *= trip_count(*loop);
      sum += own;
    }
    return sum;
  }

  [[nodiscard]] bool guessed() const { return guessed_; }

 private:
  static constexpr double kMathsFunction = 30;

  double unknown_trip_count() {
    guessed_ = true;
    return 8;
  }

  double of(ExprId id) {
    double sum = 1;
    if (const auto* e = std::get_if<IntrinsicCall>(&p_[id]); e && is_maths(e->op))
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

  double trip_count(const For& loop) {
    const auto first = check::evaluate_constant(c_, loop.first);
    const auto last = check::evaluate_constant(c_, loop.last);
    if (!first || !last) return unknown_trip_count();
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
  bool guessed_ = false;
};

}  // namespace

bool mentions(const check::CheckedProgram& phase, std::initializer_list<Builtin> builtins) {
  for (const Expr& e : phase.program.exprs)
    if (const auto* ref = std::get_if<BuiltinRef>(&e))
      for (const Builtin b : builtins)
        if (ref->builtin == b) return true;
  return false;
}

bool may_merge(const check::CheckedProgram& phase) {
  for (const Buffer& b : phase.program.buffers)
    if (b.kind == BufferKind::Shared) return false;
  return !mentions(phase, {Builtin::Lid, Builtin::Wid, Builtin::SubgroupId, Builtin::SubgroupLane});
}

Cost estimated_cost(const check::CheckedProgram& phase, uint32_t lanes) {
  Weight weight(phase);
  const double nodes = weight.of(phase.program.body);
  return {.lane = nodes * (lanes > 1 ? 0.08 : 0.3), .guessed = weight.guessed()};
}

}  // namespace vyre::codegen
