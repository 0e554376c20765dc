// SPDX-License-Identifier: Apache-2.0
#include "plan/copier.hpp"

#include "base/match.hpp"

namespace vyre::plan {

using namespace ir;

ExprId Copier::expr(ExprId id) {
  std::vector<ExprId> operands;
  for (const ExprId e : d_.operands(id)) operands.push_back(expr(e));
  const ExprId copy = d_.with_operands(id, operands);
  Expr e = d_.p[copy];
  match(
      e, [&](LocalRef& x) { x.local = local(x.local); },
      [&](Len& x) { x.memory = memory(x.memory); }, [&](Load& x) { x.memory = memory(x.memory); },
      [&](Atomic& x) { x.memory = memory(x.memory); },
      [&](UniformLoad& x) { x.memory = memory(x.memory); },
      [&](Call& x) {
        const auto old = d_.p.arguments(x.args);
        std::vector<Arg> args(old.begin(), old.end());
        for (Arg& arg : args)
          if (Memory* m = std::get_if<Memory>(&arg)) *m = memory(*m);
        x.args = d_.p.add_args(args);
      },
      [](auto&) {});
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
  match(
      s, [&](Let& x) { x.local = local(x.local); },
      [&](DeclareArray& x) { x.local = local(x.local); },
      [&](Assign& x) { x.local = local(x.local); }, [&](Store& x) { x.memory = memory(x.memory); },
      [&](For& x) { x.variable = local(x.variable); },
      [&](Fixpoint& x) {
        const auto old = d_.p.memories(x.buffers);
        std::vector<Memory> list(old.begin(), old.end());
        for (Memory& m : list) m = memory(m);
        x.buffers = d_.p.add_memories(list);
      },
      [&](AsyncCopy& x) {
        x.dst = memory(x.dst);
        x.src = memory(x.src);
      },
      [&](Collective& x) {
        x.src = memory(x.src);
        if (x.dst.valid()) x.dst = memory(x.dst);
      },
      [&](Trap& x) { x.tag = tag(x.tag); }, [&](Resume& x) { x.tag = tag(x.tag); }, [](auto&) {});
  d_.p.stmts[copy.index()] = std::move(s);
  return copy;
}

}  // namespace vyre::plan
