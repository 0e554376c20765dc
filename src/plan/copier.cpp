// SPDX-License-Identifier: Apache-2.0
#include "plan/copier.hpp"

#include "ir/properties.hpp"

namespace vyre::plan {

using namespace ir;

ExprId Copier::expr(ExprId id) {
  std::vector<ExprId> operands;
  for (const ExprId e : d_.operands(id)) operands.push_back(expr(e));
  const ExprId copy = d_.with_operands(id, operands);
  Expr e = d_.p[copy];
  replace_locals(e, [&](LocalId named) { return local(named); });
  replace_memories(d_.p, e, [&](Memory m) { return memory(m); });
  d_.p.exprs[copy.index()] = std::move(e);
  return copy;
}

StmtList Copier::list(std::span<const StmtId> items) {
  const StmtList given(items.begin(), items.end());  // copies add statements
  StmtList list;
  for (const StmtId id : given) list.push_back(stmt(id));
  return list;
}

StmtId Copier::stmt(StmtId id) {
  std::vector<ExprId> operands;
  for (const ExprId e : d_.operands(id)) operands.push_back(expr(e));
  const StmtId copy =
      d_.map_blocks(d_.with_operands(id, operands), [&](Block b) { return block(b); });
  Stmt s = d_.p[copy];
  replace_locals(s, [&](LocalId named) { return local(named); });
  replace_memories(d_.p, s, [&](Memory m) { return memory(m); });
  if (auto* x = std::get_if<Trap>(&s)) x->tag = tag(x->tag);
  if (auto* x = std::get_if<Resume>(&s)) x->tag = tag(x->tag);
  d_.p.stmts[copy.index()] = std::move(s);
  return copy;
}

}  // namespace vyre::plan
