// SPDX-License-Identifier: Apache-2.0
// Brings control flow around cuts into one form: what a branch or loop decides on is a local,
// computed before it; `break` and `continue` are flags; a loop is `while true { condition; if !go {
// break; } body }`.
#include <algorithm>
#include <utility>

#include "base/match.hpp"
#include "ir/properties.hpp"
#include "plan/hoist.hpp"
#include "plan/mutation.hpp"
#include "plan/passes.hpp"

namespace vyre::plan {

using namespace ir;

bool CutPoints::is_cut(const Draft& d, ExprId id) const {
  return !native && properties_of(d.p[id]).synchronises == scope;
}

bool CutPoints::is_cut(const Draft& d, StmtId id) const {
  const Stmt& s = d.p[id];
  if (properties_of(s).synchronises != scope) return false;
  if (std::holds_alternative<Barrier>(s)) return !native;
  if (!std::holds_alternative<Fixpoint>(s) || !native) return true;
  // One with such a place inside cannot stay in one launch, nor one whose snapshot would need bytes
  // that loads do not show.
  for (const FixpointBuffer& b : d.fixpoints[d.fixpoint_rows.at(id.value)].buffers)
    if (b.mode == FixpointMode::Snapshot && !loads_all_bits(d.p[b.buffer].element)) return true;
  bool inside = false;
  for_each_block(s, [&](Block b) {
    for (const StmtId inner : d.p.items(b)) inside = inside || below(d, inner);
  });
  return inside;
}

bool CutPoints::below(const Draft& d, StmtId id) const {
  return any_stmt_below(d.p, id, [&](StmtId s) { return is_cut(d, s); }) ||
         any_expr_below(d.p, id, [&](ExprId e) { return is_cut(d, e); });
}

namespace {

class Normaliser : private Hoister {
 public:
  Normaliser(Draft& d, const CutPoints& cuts)
      : Hoister(d),
        cuts_(cuts),
        level_(cuts.scope == Scope::Grid ? Level::Grid : Level::Workgroup) {}

  void run() { d_.p.body = d_.block(list(d_.p.items(d_.p.body), nullptr)); }

 private:
  // The flags of the nearest loop with a cut inside; its own breaks and continues set them.
  struct Flags {
    LocalId left;   // a break happened
    LocalId skips;  // the rest of this iteration is left out
  };

  [[nodiscard]] bool chosen(ExprId id) const override {
    return cuts_.is_cut(d_, id) || (mixed_ && std::holds_alternative<UniformLoad>(d_.p[id]));
  }
  ExprId take(ExprId id, StmtList& out) override {
    const bool grid = std::get<UniformLoad>(d_.p[id]).scope == Scope::Grid;
    return d_.ref(d_.capture(with_index_before(id, out), "loaded",
                             grid ? Level::Grid : Level::Workgroup, out));
  }
  // The index is evaluated before the first barrier; an access in it may be what stops a lane.
  ExprId with_index_before(ExprId id, StmtList& out) {
    const ExprId index = std::get<UniformLoad>(d_.p[id]).index;
    bool reads = false;
    for_each_expr(d_.p, index, [&](ExprId e) { reads |= properties_of(d_.p[e]).may_trap; });
    if (!reads) return id;
    return d_.with_operands(id, {d_.ref(d_.capture(index, "at", level_, out))});
  }

  // Breaks and continues of the loop around, not of loops inside.
  [[nodiscard]] bool jumps(StmtId id) const {
    const Stmt& s = d_.p[id];
    const StmtProperties row = properties_of(s);
    if (row.exit == Exit::Break || row.exit == Exit::Continue) return true;
    if (row.is_loop || std::holds_alternative<Fixpoint>(s)) return false;
    bool found = false;
    for_each_block(s, [&](Block b) {
      for (const StmtId inner : d_.p.items(b)) found = found || jumps(inner);
    });
    return found;
  }
  [[nodiscard]] bool breaks(std::span<const StmtId> items) const {
    bool found = false;
    for (const StmtId id : items) {
      const Stmt& s = d_.p[id];
      if (std::holds_alternative<Break>(s)) return true;
      if (!jumps(id)) continue;
      for_each_block(s, [&](Block b) { found = found || breaks(d_.p.items(b)); });
    }
    return found;
  }

  StmtList list(std::span<const StmtId> given, const Flags* flags) {
    const StmtList items(given.begin(), given.end());
    StmtList out;
    for (size_t i = 0; i < items.size(); ++i) {
      const StmtId id = items[i];
      const bool jump = flags != nullptr && jumps(id);
      if (!jump && !cuts_.below(d_, id)) {
        out.push_back(id);
        continue;
      }
      const Stmt& s = d_.p[id];
      if (std::holds_alternative<Break>(s) || std::holds_alternative<Continue>(s)) {
        if (std::holds_alternative<Break>(s))
          out.push_back(d_.assign(flags->left, d_.boolean(true)));
        if (std::holds_alternative<Continue>(s) || !mutated(Mutation::BreakWithoutSkip))
          out.push_back(d_.assign(flags->skips, d_.boolean(true)));
        return out;
      }
      statement(id, flags, out);
      if (!jump || i + 1 == items.size()) continue;
      const StmtList rest = list(std::span(items).subspan(i + 1), flags);
      branch(d_.negate(d_.ref(flags->skips)), rest, {}, {}, out);
      return out;
    }
    return out;
  }

  // An `if`, whose condition is a local if a cut is inside.
  void branch(ExprId condition, const StmtList& then, const StmtList& otherwise, LocId loc,
              StmtList& out) {
    const auto cut = [&](StmtId id) { return cuts_.below(d_, id); };
    if (!std::ranges::any_of(then, cut) && !std::ranges::any_of(otherwise, cut)) {
      out.push_back(d_.stmt(If{condition, d_.block(then), d_.block(otherwise)}, loc));
      return;
    }
    const LocalId word = d_.capture(condition, "taken", level_, out);
    const StmtId id = d_.stmt(If{d_.ref(word), d_.block(then), d_.block(otherwise)}, loc, level_);
    d_.branch_words[id.value] = word;
    out.push_back(id);
  }

  void statement(StmtId id, const Flags* flags, StmtList& out) {
    const Stmt s = d_.p[id];
    const LocId loc = d_.p.loc(id);
    // Where a barrier of the grid stands in an expression, one of a workgroup beside it has to come
    // out, too: it cannot be part of a larger value that is saved.
    bool mixed = false;
    for_each_operand(d_.p, s, [&](ExprId top) {
      for_each_expr(d_.p, top, [&](ExprId e) { mixed |= cuts_.is_cut(d_, e); });
    });
    const bool outer = std::exchange(mixed_, mixed);
    statement_in(id, s, loc, flags, out);
    mixed_ = outer;
  }

  void statement_in(StmtId id, const Stmt& s, LocId loc, const Flags* flags, StmtList& out) {
    if (const auto* let = std::get_if<Let>(&s);
        let != nullptr && chosen(let->value) && d_.p[let->local].kind == Local::Kind::Let) {
      // Already in its final form, but for what its index holds.
      const ExprId index = hoist(std::get<UniformLoad>(d_.p[let->value]).index, out);
      const ExprId load = with_index_before(d_.with_operands(let->value, {index}), out);
      out.push_back(d_.with_operands(id, {load}));
      return;
    }
    if (const auto* branched = std::get_if<If>(&s)) {
      const ExprId condition = hoist(branched->condition, out);
      const StmtList then = list(d_.p.items(branched->then_block), flags);
      const StmtList otherwise = list(d_.p.items(branched->else_block), flags);
      branch(condition, then, otherwise, loc, out);
      return;
    }
    if (std::holds_alternative<For>(s)) {
      for_loop(id, out);
      return;
    }
    if (std::holds_alternative<While>(s)) {
      while_loop(id, out);
      return;
    }
    if (const auto* fixpoint = std::get_if<Fixpoint>(&s)) {
      const StmtId body = d_.with_blocks(id, {list(d_.p.items(fixpoint->body), nullptr)});
      bool reads = false;  // a table, perhaps out of bounds
      for_each_expr(d_.p, fixpoint->max_passes,
                    [&](ExprId e) { reads |= std::holds_alternative<Load>(d_.p[e]); });
      if (!reads && check::evaluate_constant(d_.c, fixpoint->max_passes)) {
        out.push_back(body);  // no need for a word
        return;
      }
      const LocalId most = d_.capture(fixpoint->max_passes, "most", level_, out);
      const StmtId copy = d_.with_operands(body, {d_.ref(most)});
      d_.branch_words[copy.value] = most;
      out.push_back(copy);
      return;
    }
    if (std::holds_alternative<Nested>(s) || std::holds_alternative<Region>(s)) {
      out.push_back(d_.map_blocks(id, [&](Block b) { return list(d_.p.items(b), flags); }));
      return;
    }
    hoist_statement(id, out);
  }

  // `condition` computes whether there is another iteration and ends with its local.
  void loop(StmtList condition, ExprId go_on, const StmtList& body, LocId loc, StmtList& out) {
    const LocalId word = d_.capture(go_on, "again", level_, condition);
    Draft::LoopForm form{static_cast<uint32_t>(condition.size()), word};
    condition.push_back(d_.when(d_.negate(d_.ref(word)), {d_.stmt(Break{}, {}, level_)}));
    condition.insert(condition.end(), body.begin(), body.end());
    const StmtId id = d_.stmt(While{d_.boolean(true), d_.block(condition)}, loc, level_);
    d_.loop_forms[id.value] = form;
    out.push_back(id);
  }

  LocalId flag(std::string_view name, StmtList& out) {
    const LocalId l = d_.local(Local::Kind::Var, name, Type::Bool, level_);
    out.push_back(d_.let(l, d_.boolean(false)));
    return l;
  }

  void while_loop(StmtId id, StmtList& out) {
    const auto s = std::get<While>(d_.p[id]);
    Flags flags;
    const auto items = d_.p.items(s.body);
    const StmtList given(items.begin(), items.end());
    const bool leaves = breaks(given);
    const bool jump = std::ranges::any_of(given, [&](StmtId i) { return jumps(i); });
    if (leaves) flags.left = flag("left", out);
    StmtList body;
    if (jump) flags.skips = flag("skips", body);
    const StmtList inner = list(given, jump ? &flags : nullptr);
    body.insert(body.end(), inner.begin(), inner.end());

    StmtList condition;
    const ExprId value = hoist(s.condition, condition);
    if (!leaves || mutated(Mutation::ConditionAfterBreak)) {
      loop(std::move(condition),
           leaves ? d_.binary(BinaryOp::LogicalAnd, d_.negate(d_.ref(flags.left)), value) : value,
           body, d_.p.loc(id), out);
      return;
    }
    // After a break the condition is not evaluated again: its barriers would count.
    const LocalId again = d_.local(Local::Kind::Var, "holds", Type::Bool, level_);
    StmtList outer = {d_.let(again, d_.boolean(false))};
    condition.push_back(d_.assign(again, value));
    branch(d_.negate(d_.ref(flags.left)), condition, {}, {}, outer);
    loop(std::move(outer), d_.ref(again), body, d_.p.loc(id), out);
  }

  void for_loop(StmtId id, StmtList& out) {
    const auto s = std::get<For>(d_.p[id]);
    const Type type = d_.type_of(s.variable);
    const std::string name = d_.p[s.variable].name;
    const uint64_t step = s.step.valid() ? check::evaluate_constant(d_.c, s.step)->bits : 1;
    const LocalId next = d_.local(Local::Kind::Var, "next_" + name, type, level_);
    out.push_back(d_.stmt(Let{next, s.first}, d_.p.loc(id), level_));
    const LocalId end = d_.capture(s.last, "end_" + name, level_, out);
    Flags flags;
    const auto items = d_.p.items(s.body);
    const StmtList given(items.begin(), items.end());
    const bool leaves = breaks(given);
    const bool jump = std::ranges::any_of(given, [&](StmtId i) { return jumps(i); });
    if (leaves) flags.left = flag("left", out);

    StmtList body;
    if (jump) flags.skips = flag("skips", body);
    d_.p.locals[s.variable.index()].kind = Local::Kind::Let;
    body.push_back(d_.stmt(Let{s.variable, d_.ref(next)}, d_.p.loc(id), level_));
    const StmtList inner = list(given, jump ? &flags : nullptr);
    body.insert(body.end(), inner.begin(), inner.end());
    StmtList advance = {d_.assign(next, advanced(d_, next, end, step))};
    if (mutated(Mutation::ContinueSkipsStep) && jump)
      body.push_back(d_.when(d_.negate(d_.ref(flags.skips)), advance));
    else
      body.insert(body.end(), advance.begin(), advance.end());

    ExprId bound = d_.ref(end);
    if (mutated(Mutation::BoundEvaluatedAgain)) bound = d_.clone(s.last);
    ExprId more = d_.binary(BinaryOp::Lt, d_.ref(next), bound);
    if (leaves) more = d_.binary(BinaryOp::LogicalAnd, d_.negate(d_.ref(flags.left)), more);
    loop({}, more, body, d_.p.loc(id), out);
  }

  const CutPoints& cuts_;
  Level level_;
  bool mixed_ = false;
};

}  // namespace

Draft normalise(Draft d, const CutPoints& cuts) {
  Normaliser(d, cuts).run();
  return d;
}

}  // namespace vyre::plan
