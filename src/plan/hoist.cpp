// SPDX-License-Identifier: Apache-2.0
#include "plan/hoist.hpp"

#include <algorithm>

#include "plan/mutation.hpp"

namespace vyre::plan {

using namespace ir;

bool Hoister::contains(ExprId id) const {
  if (chosen(id)) return true;
  bool found = false;
  for_each_operand(d_.p, d_.p[id], [&](ExprId e) { found = found || contains(e); });
  return found;
}

std::vector<ExprId> Hoister::hoist_in_order(std::vector<ExprId> operands, StmtList& out) {
  size_t last = 0;  // behind the last operand that moves
  for (size_t i = 0; i < operands.size(); ++i)
    if (contains(operands[i])) last = i + 1;
  for (size_t i = 0; i < last; ++i) {
    operands[i] = hoist(operands[i], out);
    if (i + 1 < last && !is_stable(d_, operands[i]) && !mutated(Mutation::ConditionReadAgain))
      operands[i] = d_.ref(d_.capture(operands[i], "before", d_.level_of(operands[i]), out));
  }
  return operands;
}

ExprId Hoister::hoist(ExprId id, StmtList& out) {
  if (!contains(id)) return id;
  const Expr e = d_.p[id];
  if (const auto* binary = std::get_if<Binary>(&e);
      binary != nullptr && is_lazy(binary->op) && contains(binary->right)) {
    const ExprId left = hoist(binary->left, out);
    const LocalId result = d_.local(Local::Kind::Var, "both", Type::Bool, Level::Lane);
    StmtList right;
    const ExprId value = hoist(binary->right, right);
    // Of what took the place of the right side: a call counts as one of single lanes as soon as it
    // gets memory that is written, while its result, and what the checker says of the whole, may
    // be uniform. Lanes that have ended would then go without a value that others take for theirs.
    d_.c.local_levels[result.index()] = std::max(d_.level_of(left), d_.level_of(value));
    out.push_back(d_.let(result, left));
    right.push_back(d_.assign(result, value));
    const ExprId go_on =
        binary->op == BinaryOp::LogicalAnd ? d_.ref(result) : d_.negate(d_.ref(result));
    out.push_back(d_.when(go_on, right));
    return d_.ref(result);
  }
  const ExprId rebuilt = d_.with_operands(id, hoist_in_order(d_.operands(id), out));
  return chosen(id) ? take(rebuilt, out) : rebuilt;
}

void Hoister::hoist_statement(StmtId id, StmtList& out) {
  const Stmt s = d_.p[id];
  std::vector<ExprId> operands = d_.operands(id);
  if (std::ranges::none_of(operands, [&](ExprId e) { return contains(e); })) {
    out.push_back(id);
    return;
  }
  if (const auto* loop = std::get_if<While>(&s)) {
    StmtList body;
    const ExprId condition = hoist(loop->condition, body);
    const Level flow = std::max(d_.level_of(condition), d_.c.flow_levels[id.index()]);
    body.push_back(d_.when(d_.negate(condition), {d_.stmt(Break{}, {}, flow)}));
    const auto items = d_.p.items(loop->body);
    body.insert(body.end(), items.begin(), items.end());
    out.push_back(d_.stmt(While{d_.boolean(true), d_.block(body)}, d_.p.loc(id),
                          d_.c.flow_levels[id.index()]));
    return;
  }
  if (const auto* store = std::get_if<Store>(&s);
      store != nullptr && store->op && contains(store->value)) {
    // The old value is loaded before the new one is computed.
    const ExprId index_value = hoist(store->index, out);
    const LocalId index = d_.capture(index_value, "at", d_.level_of(index_value), out);
    const ExprId old_value = d_.expr(Load{store->memory, d_.ref(index)},
                                     widened(d_.element_of(store->memory)), d_.p.loc(id));
    d_.c.expr_proofs[old_value.index()] = d_.c.stmt_proofs[id.index()];
    const LocalId old = d_.capture(old_value, "old", Level::Lane, out);
    const ExprId value = hoist(store->value, out);
    const StmtId plain = d_.stmt(Store{store->memory, d_.ref(index), std::nullopt,
                                       d_.binary(*store->op, d_.ref(old), value)},
                                 d_.p.loc(id), d_.c.flow_levels[id.index()]);
    d_.c.stmt_proofs[plain.index()] = d_.c.stmt_proofs[id.index()];
    out.push_back(plain);
    return;
  }
  if (const auto* eval = std::get_if<Eval>(&s); eval != nullptr && chosen(eval->value)) {
    // Nothing reads its value.
    take(d_.with_operands(eval->value, hoist_in_order(d_.operands(eval->value), out)), out);
    return;
  }
  out.push_back(d_.with_operands(id, hoist_in_order(std::move(operands), out)));
}

}  // namespace vyre::plan
