// SPDX-License-Identifier: Apache-2.0
#include "plan/native/ended_lanes.hpp"

#include <algorithm>
#include <set>

#include "base/match.hpp"
#include "ir/properties.hpp"
#include "plan/mutation.hpp"

namespace vyre::plan {

using namespace ir;

bool NativeSegment::EndedLanes::is_exit(StmtId id) const {
  return std::holds_alternative<Return>(d_.p[id]) && !n_.uniform_returns_.contains(id.value);
}

void NativeSegment::EndedLanes::exit(StmtId, bool, StmtList& out) {
  out.push_back(d_.assign(n_.live_, d_.boolean(false)));
}

ExprId NativeSegment::EndedLanes::going_on() {
  return d_.ref(n_.live_);
}

// ---- what has to be walked

bool NativeSegment::EndedLanes::synchronises(StmtId id, Scope least) const {
  const auto is_wide_enough = [&](std::optional<Scope> scope) { return scope && *scope >= least; };
  return any_stmt_below(
             d_.p, id,
             [&](StmtId s) { return is_wide_enough(properties_of(d_.p[s]).synchronises); }) ||
         any_expr_below(d_.p, id, [&](ExprId e) {
           return is_wide_enough(properties_of(d_.p[e]).synchronises);
         });
}

// The grid_load that is the value of a `let` or an assignment.
ExprId NativeSegment::EndedLanes::grid_load_of(StmtId id) const {
  ExprId value;
  if (const auto* let = std::get_if<Let>(&d_.p[id])) value = let->value;
  if (const auto* assign = std::get_if<Assign>(&d_.p[id])) value = assign->value;
  if (!value.valid()) return {};
  const auto* load = std::get_if<UniformLoad>(&d_.p[value]);
  return load != nullptr && load->scope == Scope::Grid ? value : ExprId{};
}

bool NativeSegment::EndedLanes::jumps(StmtId id) const {
  const Stmt& s = d_.p[id];
  // One under a condition of single lanes stands after everything that all lanes walk.
  const StmtProperties row = properties_of(s);
  if (row.exit == Exit::Break || row.exit == Exit::Continue)
    return d_.c.flow_levels[id.index()] <= Level::Workgroup;
  if (row.is_loop) return false;
  bool found = false;
  for_each_block(s, [&](Block b) {
    for (const StmtId inner : d_.p.items(b)) found = found || jumps(inner);
  });
  return found;
}

bool NativeSegment::EndedLanes::ends(StmtId id) const {
  return any_stmt_below(d_.p, id, [&](StmtId s) { return is_exit(s); });
}

std::vector<LocalId> NativeSegment::EndedLanes::assigned_outside(StmtId id, Level level) const {
  std::set<uint32_t> declared;
  std::set<uint32_t> assigned;
  for_each_stmt(d_.p, id, [&](StmtId s) {
    if (const auto* let = std::get_if<Let>(&d_.p[s])) declared.insert(let->local.value);
    if (const auto* array = std::get_if<DeclareArray>(&d_.p[s]))
      declared.insert(array->local.value);
    LocalId local;
    if (const auto* assign = std::get_if<Assign>(&d_.p[s])) local = assign->local;
    if (const auto* store = std::get_if<Store>(&d_.p[s]);
        store != nullptr && store->memory.kind == Memory::Kind::Local)
      local = store->memory.local();
    if (local.valid() && d_.level_of(local) <= level) assigned.insert(local.value);
  });
  std::vector<LocalId> outside;
  for (const uint32_t local : assigned)
    if (!declared.contains(local)) outside.push_back(LocalId{local});
  return outside;
}

bool NativeSegment::EndedLanes::walks(StmtId id, bool in_loop) const {
  if (n_.lowered_.contains(id.value) || n_.uniform_returns_.contains(id.value)) return true;
  if (any_stmt_below(d_.p, id, [&](StmtId s) {
        return n_.lowered_.contains(s.value) || n_.uniform_returns_.contains(s.value);
      }))
    return true;
  if (const auto* let = std::get_if<Let>(&d_.p[id]))
    return d_.level_of(let->local) <= Level::Workgroup || synchronises(id, Scope::Workgroup);
  if (in_loop && jumps(id)) return true;
  return synchronises(id, Scope::Workgroup) || !assigned_outside(id, Level::Workgroup).empty();
}

// ---- lists

StmtList NativeSegment::EndedLanes::run(const StmtList& items) {
  return list(items, false);
}

StmtList NativeSegment::EndedLanes::list(std::span<const StmtId> given, bool in_loop) {
  StmtList out;
  StmtList guarded;
  for (const StmtId id : StmtList(given.begin(), given.end())) {
    if (!walks(id, in_loop)) {
      // Private arrays start as zeros in every lane; that needs no guard and keeps them in sight.
      if (std::holds_alternative<DeclareArray>(d_.p[id]))
        out.push_back(id);
      else
        guarded.push_back(id);
      if (is_exit(id)) break;  // no lane goes on
      continue;
    }
    flush(guarded, out);
    walk(id, in_loop, out);
    if (std::holds_alternative<Break>(d_.p[id]) || std::holds_alternative<Continue>(d_.p[id]))
      return out;
  }
  flush(guarded, out);
  return out;
}

// Statements of live lanes. What they declare for later statements is declared for all.
void NativeSegment::EndedLanes::flush(StmtList& guarded, StmtList& out) {
  if (guarded.empty()) return;
  StmtList group = std::exchange(guarded, {});
  // As long as no lane can have ended they need no guard.
  if (!n_.may_have_ended_) {
    const auto first = std::ranges::find_if(group, [&](StmtId id) { return ends(id); });
    out.insert(out.end(), group.begin(), first);
    group.erase(group.begin(), first);
    if (group.empty()) return;
  }
  const bool can_end = std::ranges::any_of(group, [&](StmtId id) { return ends(id); });
  for (StmtId& id : group) {
    const auto* let = std::get_if<Let>(&d_.p[id]);
    if (let == nullptr) continue;
    const Let s = *let;
    d_.p.locals[s.local.index()].kind = Local::Kind::Var;
    out.push_back(d_.let(s.local, d_.zero(d_.type_of(s.local))));
    id =
        d_.stmt(Assign{s.local, std::nullopt, s.value}, d_.p.loc(id), d_.c.flow_levels[id.index()]);
  }
  out.push_back(d_.when(d_.ref(n_.live_), rewrite(group, true, false)));
  n_.may_have_ended_ |= can_end;
}

void NativeSegment::EndedLanes::walk(StmtId id, bool in_loop, StmtList& out) {
  if (n_.lowered_.contains(id.value) || n_.uniform_returns_.contains(id.value)) {
    out.push_back(id);
    return;
  }
  const Stmt s = d_.p[id];
  const bool loop = std::holds_alternative<For>(s) || std::holds_alternative<While>(s);
  if (loop && ends(id)) n_.may_have_ended_ = true;
  const auto blocks = [&](bool inside) {
    std::vector<StmtList> lists;
    const bool before = n_.may_have_ended_;
    bool after = before;
    for_each_block(s, [&](Block b) {
      n_.may_have_ended_ = before;
      lists.push_back(list(d_.p.items(b), inside));
      after |= n_.may_have_ended_;
    });
    n_.may_have_ended_ = after;
    return lists;
  };
  if (const auto* barrier = std::get_if<Barrier>(&s)) {
    if (barrier->scope == Scope::Grid)
      n_.source_barrier(out);
    else
      out.push_back(id);
    return;
  }
  if (const ExprId value = grid_load_of(id); value.valid()) {
    const UniformLoad load = std::get<UniformLoad>(d_.p[value]);
    n_.source_barrier(out);
    const ExprId plain = d_.expr(Load{load.memory, load.index}, d_.type_of(value), d_.p.loc(value));
    d_.c.expr_proofs[plain.index()] = d_.c.expr_proofs[value.index()];
    out.push_back(d_.with_operands(id, {plain}));
    n_.source_barrier(out);
    return;
  }
  if (std::holds_alternative<Let>(s) || std::holds_alternative<Assign>(s)) {
    if (mutated(Mutation::NativeGuardUniform) && std::holds_alternative<Assign>(s))
      out.push_back(d_.when(d_.ref(n_.live_), {id}));
    else
      out.push_back(id);
    return;
  }
  if (std::holds_alternative<AsyncCopy>(s) && n_.may_have_ended_) {
    // A workgroup without a live lane copies nothing.
    const LocalId alive = n_.group_vote(out, {});
    out.push_back(d_.when(d_.ref(alive), {id}));
    return;
  }
  if (std::holds_alternative<While>(s)) {
    walk_while(id, out);
    return;
  }
  if (std::holds_alternative<If>(s) || std::holds_alternative<For>(s) ||
      std::holds_alternative<Nested>(s) || std::holds_alternative<Region>(s)) {
    out.push_back(d_.with_blocks(id, blocks(loop || in_loop)));
    return;
  }
  out.push_back(id);  // break, continue, wait, barriers of subgroups never walk
}

bool NativeSegment::EndedLanes::synchronises_every_iteration(std::span<const StmtId> items,
                                                             bool& stop) const {
  for (const StmtId id : items) {
    const Stmt& s = d_.p[id];
    if (const auto* barrier = std::get_if<Barrier>(&s);
        barrier != nullptr && barrier->scope == Scope::Grid && !n_.lowered_.contains(id.value))
      return true;
    if (grid_load_of(id).valid()) return true;
    if (std::holds_alternative<Nested>(s) || std::holds_alternative<Region>(s)) {
      bool found = false;
      for_each_block(s,
                     [&](Block b) { found = synchronises_every_iteration(d_.p.items(b), stop); });
      if (found) return true;
    }
    if (stop || jumps(id)) {
      stop = true;
      return false;
    }
  }
  return false;
}

void NativeSegment::EndedLanes::resync(const std::vector<LocalId>& locals, StmtList& out) {
  std::vector<LocalId> grid;
  std::vector<LocalId> group;
  for (const LocalId local : locals)
    (d_.level_of(local) == Level::Grid ? grid : group).push_back(local);
  if (mutated(Mutation::NativeNoResync)) return;
  if (!group.empty()) n_.group_vote(out, group);
  if (!grid.empty()) n_.grid_vote(out, grid);
}

void NativeSegment::EndedLanes::walk_while(StmtId id, StmtList& out) {
  const auto s = std::get<While>(d_.p[id]);
  const auto items = d_.p.items(s.body);
  const StmtList body(items.begin(), items.end());
  if (!n_.may_have_ended_) {
    out.push_back(d_.with_blocks(id, {list(body, true)}));
    return;
  }
  if (!synchronises(id, Scope::Workgroup)) {
    // Only live lanes run it: with the others it might never end. They are told what came out.
    const std::vector<LocalId> assigned = assigned_outside(id, Level::Workgroup);
    if (mutated(Mutation::NativeWalkEveryLoop)) {
      out.push_back(d_.with_blocks(id, {list(body, true)}));
      return;
    }
    out.push_back(d_.when(d_.ref(n_.live_), rewrite(std::vector{id}, true, false)));
    resync(assigned, out);
    return;
  }
  StmtList iteration;
  const auto leave_unless = [&](ExprId condition) {
    iteration.push_back(d_.when(d_.negate(condition), {d_.stmt(Break{}, {}, Level::Workgroup)}));
  };
  // Telling the others what a loop further in came to may have put a grid barrier there.
  const StmtList inner = list(body, true);
  const bool grid =
      std::ranges::any_of(inner, [&](StmtId s) { return synchronises(s, Scope::Grid); });
  bool stop = false;
  if (grid && !synchronises_every_iteration(body, stop) && !mutated(Mutation::NativeNoVote))
    n_.grid_vote(iteration, {});
  if (!grid && !mutated(Mutation::NativeNoVote)) leave_unless(d_.ref(n_.group_vote(iteration, {})));
  leave_unless(s.condition);
  iteration.insert(iteration.end(), inner.begin(), inner.end());
  out.push_back(d_.stmt(While{d_.boolean(true), d_.block(iteration)}, d_.p.loc(id),
                        d_.c.flow_levels[id.index()]));
  // A workgroup without live lanes has left it early.
  if (!grid && !mutated(Mutation::NativeNoGridResync))
    if (const auto assigned = assigned_outside(id, Level::Grid); !assigned.empty())
      n_.grid_vote(out, assigned);
}

}  // namespace vyre::plan
