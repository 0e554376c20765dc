// SPDX-License-Identifier: Apache-2.0
#include "generator/reduce_tree.hpp"

#include "generator/reduce.hpp"

namespace vyre::generator {

using namespace ir;

namespace {

void each_statement(const Program& p, Block block, const std::function<void(StmtId)>& visit) {
  for (const StmtId id : p.items(block)) {
    visit(id);
    for_each_block(p[id], [&](Block inner) { each_statement(p, inner, visit); });
  }
}

}  // namespace

void each_statement(const Program& p, const std::function<void(StmtId)>& visit) {
  for (const Fn& fn : p.fns) each_statement(p, fn.body, visit);
  each_statement(p, p.body, visit);
}

Block& block_at(Program& p, const Place& place) {
  if (place.kind == Place::Kind::Body) return p.body;
  if (place.kind == Place::Kind::Fn) return p.fns[place.index].body;
  Stmt& st = p.stmts[place.index];
  if (auto* s = std::get_if<If>(&st)) return place.which == 0 ? s->then_block : s->else_block;
  if (auto* s = std::get_if<For>(&st)) return s->body;
  if (auto* s = std::get_if<While>(&st)) return s->body;
  if (auto* s = std::get_if<Nested>(&st)) return s->body;
  if (auto* s = std::get_if<Region>(&st)) return s->body;
  return std::get<Fixpoint>(st).body;
}

std::vector<Place> places_of(const Program& p) {
  std::vector<Place> all = {{Place::Kind::Body, 0, 0}};
  for (uint32_t i = 0; i < p.fns.size(); ++i) all.push_back({Place::Kind::Fn, i, 0});
  each_statement(p, [&](StmtId id) {
    int which = 0;
    for_each_block(p[id], [&](Block) { all.push_back({Place::Kind::Stmt, id.value, which++}); });
  });
  return all;
}

std::vector<ExprId> live_expressions(const Program& p) {
  std::vector<ExprId> all;
  const std::function<void(ExprId)> walk = [&](ExprId id) {
    all.push_back(id);
    for_each_operand(p, p[id], walk);
  };
  each_statement(p, [&](StmtId id) { for_each_operand(p, p[id], walk); });
  return all;
}

void each_memory(Program& p, const std::function<void(Memory&)>& visit) {
  for (Expr& e : p.exprs) {
    if (auto* x = std::get_if<Len>(&e)) visit(x->memory);
    if (auto* x = std::get_if<Load>(&e)) visit(x->memory);
    if (auto* x = std::get_if<Atomic>(&e)) visit(x->memory);
    if (auto* x = std::get_if<UniformLoad>(&e)) visit(x->memory);
  }
  for (Stmt& s : p.stmts) {
    if (auto* x = std::get_if<Store>(&s)) visit(x->memory);
    if (auto* x = std::get_if<AsyncCopy>(&s)) {
      visit(x->dst);
      visit(x->src);
    }
    if (auto* x = std::get_if<Collective>(&s)) {
      visit(x->src);
      visit(x->dst);
    }
    if (auto* x = std::get_if<Swap>(&s)) {
      visit(x->a);
      visit(x->b);
    }
  }
  for (Memory& m : p.memory_lists) visit(m);
  for (Arg& arg : p.args)
    if (auto* m = std::get_if<Memory>(&arg)) visit(*m);
}

size_t statement_count(const Program& program) {
  size_t count = 0;
  each_statement(program, [&](StmtId) { ++count; });
  return count;
}

}  // namespace vyre::generator
