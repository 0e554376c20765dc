// SPDX-License-Identifier: Apache-2.0
// What conditions say of differences: behind `lane >= distance` the difference of the two does not
// wrap. LLVM knows how large a lane's number is, and then needs no test of the bounds.
#include "base/match.hpp"
#include "codegen/llvm/lane_code.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// What has one value wherever it stands, as long as no local is assigned.
bool is_simple(const Expr& e) {
  return std::holds_alternative<LocalRef>(e) || std::holds_alternative<BuiltinRef>(e) ||
         std::holds_alternative<IntLiteral>(e) || std::holds_alternative<ConstRef>(e);
}

bool same(const Expr& a, const Expr& b) {
  if (a.index() != b.index()) return false;
  return match(
      a, [&](const LocalRef& x) { return x.local == std::get<LocalRef>(b).local; },
      [&](const BuiltinRef& x) {
        const auto& y = std::get<BuiltinRef>(b);
        return x.builtin == y.builtin && x.axis == y.axis;
      },
      [&](const IntLiteral& x) {
        const auto& y = std::get<IntLiteral>(b);
        return x.magnitude == y.magnitude && x.negative == y.negative;
      },
      [&](const ConstRef& x) { return x.constant == std::get<ConstRef>(b).constant; },
      [](const auto&) { return false; });
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

void LaneCode::learn(ExprId condition, bool holds, Block block) {
  const auto* e = std::get_if<Binary>(&p()[condition]);
  if (wide() || e == nullptr) return;
  if (is_lazy(e->op)) {
    if (holds != (e->op == BinaryOp::LogicalAnd)) return;
    learn(e->left, holds, block);
    learn(e->right, holds, block);
    return;
  }
  if (!is_comparison(e->op)) return;
  const Type type = type_of_expr(e->left);
  if (type != Type::U32 && type != Type::U64) return;
  for (const ExprId side : {e->left, e->right}) {
    if (!is_simple(p()[side])) return;
    if (const auto* ref = std::get_if<LocalRef>(&p()[side]);
        ref != nullptr && assigns(p(), block, ref->local))
      return;
  }
  const bool left = holds ? e->op == BinaryOp::Ge || e->op == BinaryOp::Gt
                          : e->op == BinaryOp::Lt || e->op == BinaryOp::Le;
  const bool right = holds ? e->op == BinaryOp::Le || e->op == BinaryOp::Lt
                           : e->op == BinaryOp::Gt || e->op == BinaryOp::Ge;
  if (left) facts_.emplace_back(e->left, e->right);
  if (right) facts_.emplace_back(e->right, e->left);
}

bool LaneCode::at_least(ExprId large, ExprId small) const {
  for (const auto& [a, b] : facts_)
    if (same(p()[a], p()[large]) && same(p()[b], p()[small])) return true;
  return false;
}

}  // namespace vyre::codegen
