// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/condition_facts.hpp"

#include <optional>
#include <tuple>

namespace vyre::codegen {

using namespace ir;

namespace {

// What has one value wherever it stands, as long as no local is assigned, in a form that compares
// equal for equal values.
using Simple = std::tuple<size_t, uint64_t, uint32_t>;  // kind, and what it names
std::optional<Simple> simple(const Expr& e) {
  if (const auto* x = std::get_if<LocalRef>(&e)) return Simple(e.index(), x->local.value, 0);
  if (const auto* x = std::get_if<ConstRef>(&e)) return Simple(e.index(), x->constant.value, 0);
  if (const auto* x = std::get_if<IntLiteral>(&e))
    return Simple(e.index(), x->magnitude, x->negative ? 1 : 0);
  if (const auto* x = std::get_if<BuiltinRef>(&e))
    return Simple(e.index(), static_cast<uint64_t>(x->builtin), x->axis);
  return std::nullopt;
}

bool same(const Expr& a, const Expr& b) {
  const auto of_a = simple(a);
  return of_a && of_a == simple(b);
}

bool assigns(const Program& p, Block block, LocalId local) {
  for (const StmtId id : p.items(block)) {
    const auto* assign = std::get_if<Assign>(&p[id]);
    const auto* let = std::get_if<Let>(&p[id]);
    if ((assign != nullptr && assign->local == local) || (let != nullptr && let->local == local))
      return true;
    bool inner = false;
    for_each_block(p[id], [&](Block b) { inner = inner || assigns(p, b, local); });
    if (inner) return true;
  }
  return false;
}

}  // namespace

void ConditionFacts::learn(const check::CheckedProgram& c, ExprId condition, bool holds,
                           Block block) {
  const Program& p = c.program;
  const auto* e = std::get_if<Binary>(&p[condition]);
  if (e == nullptr) return;
  if (is_lazy(e->op)) {
    if (holds != (e->op == BinaryOp::LogicalAnd)) return;
    learn(c, e->left, holds, block);
    learn(c, e->right, holds, block);
    return;
  }
  if (!is_comparison(e->op)) return;
  const Type type = *c.expr_types[e->left.index()];
  if (type != Type::U32 && type != Type::U64) return;
  for (const ExprId side : {e->left, e->right}) {
    if (!simple(p[side])) return;
    if (const auto* ref = std::get_if<LocalRef>(&p[side]);
        ref != nullptr && assigns(p, block, ref->local))
      return;
  }
  const bool left = holds ? e->op == BinaryOp::Ge || e->op == BinaryOp::Gt
                          : e->op == BinaryOp::Lt || e->op == BinaryOp::Le;
  const bool right = holds ? e->op == BinaryOp::Le || e->op == BinaryOp::Lt
                           : e->op == BinaryOp::Gt || e->op == BinaryOp::Ge;
  if (left) facts_.emplace_back(e->left, e->right);
  if (right) facts_.emplace_back(e->right, e->left);
}

bool ConditionFacts::at_least(const Program& p, ExprId large, ExprId small) const {
  for (const auto& [a, b] : facts_)
    if (same(p[a], p[large]) && same(p[b], p[small])) return true;
  return false;
}

}  // namespace vyre::codegen
