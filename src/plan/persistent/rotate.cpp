// SPDX-License-Identifier: Apache-2.0
#include "plan/persistent/rotate.hpp"

#include <algorithm>
#include <map>

#include "ir/properties.hpp"
#include "plan/copier.hpp"
#include "plan/mutation.hpp"

namespace vyre::plan::persistent {

using namespace ir;

namespace {

bool jumps_out(const Draft& d, StmtId id) {
  const Stmt& s = d.p[id];
  const StmtProperties row = properties_of(s);
  if (row.exit == Exit::Break || row.exit == Exit::Continue) return true;
  if (row.is_loop) return false;
  bool found = false;
  for_each_block(s, [&](Block b) {
    for (const StmtId inner : d.p.items(b)) found = found || jumps_out(d, inner);
  });
  return found;
}

// With other names for some locals.
class Renamer : public Copier {
 public:
  Renamer(Draft& d, std::map<uint32_t, LocalId> names) : Copier(d), names_(std::move(names)) {}

 private:
  LocalId local(LocalId id) override {
    const auto found = names_.find(id.value);
    return found == names_.end() ? id : found->second;
  }

  std::map<uint32_t, LocalId> names_;
};

class Rotation {
 public:
  Rotation(Draft& d, const std::set<uint32_t>& among) : d_(d), among_(among) {}

  StmtList list(std::span<const StmtId> items) {
    StmtList out;
    for (const StmtId id : StmtList(items.begin(), items.end())) {
      if (!stands_around(d_, id)) {
        out.push_back(id);
        continue;
      }
      const Stmt s = d_.p[id];
      // Every local has a name of its own, so blocks need not be kept.
      const auto* nested = std::get_if<Nested>(&s);
      const auto* region = std::get_if<Region>(&s);
      if (nested != nullptr || region != nullptr) {
        const StmtList inner = list(d_.p.items(nested != nullptr ? nested->body : region->body));
        out.insert(out.end(), inner.begin(), inner.end());
        continue;
      }
      const StmtId copy = d_.map_blocks(id, [&](Block b) { return list(d_.p.items(b)); });
      const bool is_loop = std::holds_alternative<For>(s) || std::holds_alternative<While>(s);
      const uint32_t number = is_loop ? loops_++ : 0;
      if (is_loop && (among_.empty() || among_.contains(number)) && loop(copy, out))
        rotated.insert(number);
      else
        out.push_back(copy);
    }
    return out;
  }

  std::set<uint32_t> rotated;
  std::set<uint32_t> invariant;

 private:
  // A iteration: what comes before everything around barriers, that, and what comes after it.
  struct Iteration {
    StmtList begin, middle, end;
    StmtList values = {};  // of `begin`: what the rest can compute from the number of the iteration
  };

  [[nodiscard]] static bool has_continue(const Draft& d, std::span<const StmtId> items) {
    return std::ranges::any_of(items, [&](StmtId id) {
      const Stmt& s = d.p[id];
      if (std::holds_alternative<Continue>(s)) return true;
      if (std::holds_alternative<For>(s) || std::holds_alternative<While>(s)) return false;
      bool found = false;
      for_each_block(s, [&](Block b) { found = found || has_continue(d, d.p.items(b)); });
      return found;
    });
  }

  // Whether a value differs per lane; what is uniform over the grid is computed once.
  [[nodiscard]] bool has_lane_values(const StmtList& items) const {
    return std::ranges::any_of(items, [&](StmtId id) {
      const auto* let = std::get_if<Let>(&d_.p[id]);
      const auto* assign = std::get_if<Assign>(&d_.p[id]);
      const LocalId local = let != nullptr      ? let->local
                            : assign != nullptr ? assign->local
                                                : LocalId{};
      return !local.valid() || d_.level_of(local) != Level::Grid;
    });
  }

  [[nodiscard]] Iteration split(const StmtList& body) const {
    const auto around = [&](StmtId id) { return stands_around(d_, id); };
    const auto first = std::ranges::find_if(body, around);
    auto last = body.end();
    while (last != first && !around(*(last - 1))) --last;
    return {.begin = {body.begin(), first}, .middle = {first, last}, .end = {last, body.end()}};
  }

  // Locals that are declared or used.
  [[nodiscard]] std::set<uint32_t> declared(const StmtList& items) const {
    std::set<uint32_t> out;
    for (const StmtId id : items)
      for_each_stmt(d_.p, id, [&](StmtId s) {
        for_each_local(d_.p[s], [&](LocalId local, LocalAccess access) {
          if (access != LocalAccess::Assign) out.insert(local.value);
        });
      });
    return out;
  }
  [[nodiscard]] std::set<uint32_t> used(const StmtList& items) const {
    std::set<uint32_t> out;
    const auto memory = [&](const MemoryUse& use) {
      if (use.memory.kind == Memory::Kind::Local) out.insert(use.memory.index);
    };
    for (const StmtId id : items) {
      for_each_stmt(d_.p, id, [&](StmtId s) {
        for_each_local(d_.p[s], [&](LocalId local, LocalAccess access) {
          if (access == LocalAccess::Assign) out.insert(local.value);
        });
        for_each_memory(d_.p, d_.p[s], memory);
      });
      for_each_expr_below(d_.p, id, [&](ExprId e) {
        for_each_local(d_.p[e], [&](LocalId local, LocalAccess) { out.insert(local.value); });
        for_each_memory(d_.p, d_.p[e], memory);
      });
    }
    return out;
  }

  // A value that every iteration would compute again: it need not be in the loop.
  [[nodiscard]] bool is_loop_invariant(const Let& let, const std::set<uint32_t>& in_loop) const {
    if (d_.p[let.local].kind != Local::Kind::Let || !is_stable(d_, let.value)) return false;
    bool fixed = true;
    for_each_expr(d_.p, let.value, [&](ExprId e) {
      const auto* ref = std::get_if<LocalRef>(&d_.p[e]);
      if (ref == nullptr) return;
      const Local::Kind kind = d_.p[ref->local].kind;
      fixed = fixed && (kind == Local::Kind::Let || kind == Local::Kind::For) &&
              !in_loop.contains(ref->local.value);
    });
    return fixed;
  }

  bool loop(StmtId id, StmtList& out) {
    const Stmt s = d_.p[id];
    const auto* counted = std::get_if<For>(&s);
    const auto items = d_.p.items(counted != nullptr ? counted->body : std::get<While>(s).body);
    const StmtList body(items.begin(), items.end());
    Iteration iteration = split(body);
    uint32_t statements = 0;
    for (const StmtId item : iteration.begin)
      for_each_stmt(d_.p, item, [&](StmtId) { ++statements; });
    constexpr uint32_t kMostStatements = 100;  // they are there twice then
    bool stable = !(counted != nullptr && counted->unroll);
    for_each_operand(d_.p, s, [&](ExprId e) { stable = stable && is_stable(d_, e); });
    if (!stable || statements > kMostStatements || !has_lane_values(iteration.begin) ||
        !has_lane_values(iteration.end) || has_continue(d_, body))
      return false;

    std::set<uint32_t> in_loop = declared(body);
    if (counted != nullptr) in_loop.insert(counted->variable.value);
    StmtList rest = iteration.middle;
    rest.insert(rest.end(), iteration.end.begin(), iteration.end.end());
    const std::set<uint32_t> later = used(rest);
    // Values of a iteration that are a function of its number are there twice as well.
    if (counted != nullptr) {
      std::set<uint32_t> unknown = in_loop;
      unknown.erase(counted->variable.value);
      for (const StmtId item : iteration.begin) {
        const auto* let = std::get_if<Let>(&d_.p[item]);
        if (let == nullptr || !later.contains(let->local.value) ||
            !is_loop_invariant(*let, unknown))
          continue;
        unknown.erase(let->local.value);
        if (!is_loop_invariant(*let, in_loop)) iteration.values.push_back(item);
      }
    }
    StmtList fixed;
    StmtList begin;
    for (const StmtId item : iteration.begin) {
      const auto* let = std::get_if<Let>(&d_.p[item]);
      if (let != nullptr && later.contains(let->local.value) && is_loop_invariant(*let, in_loop)) {
        in_loop.erase(let->local.value);
        fixed.push_back(item);
        continue;
      }
      begin.push_back(item);
    }
    // What goes on into the rest of the iteration is set in two places.
    std::set<uint32_t> own = declared(begin);
    std::set<uint32_t> values = declared(iteration.values);
    for (StmtId& item : begin) {
      const auto* let = std::get_if<Let>(&d_.p[item]);
      if (let == nullptr || !later.contains(let->local.value) || values.contains(let->local.value))
        continue;
      own.erase(let->local.value);
      const Assign assign{let->local, std::nullopt, let->value};
      item = d_.stmt(assign, d_.p.loc(item), d_.c.flow_levels[item.index()]);
    }
    if (std::ranges::any_of(own,
                            [&](uint32_t i) { return later.contains(i) && !values.contains(i); }))
      return false;

    out.insert(out.end(), fixed.begin(), fixed.end());
    iteration.begin = begin;
    if (counted != nullptr)
      rotate(*counted, iteration, own, id, out);
    else
      rotate(std::get<While>(s), iteration, own, id, out);
    return true;
  }

  StmtId when(ExprId condition, const StmtList& then) {
    return d_.stmt(If{condition, d_.block(then), d_.block({})}, {}, Level::Grid);
  }
  StmtId again(ExprId condition, const StmtList& body, StmtId loop) {
    return d_.stmt(While{condition, d_.block(body)}, d_.p.loc(loop),
                   d_.c.flow_levels[loop.index()]);
  }
  // Each with locals of its own.
  StmtList begin_of(const Iteration& iteration, const std::set<uint32_t>& own,
                    std::map<uint32_t, LocalId> names) {
    for (const uint32_t i : own) names[i] = d_.copy_of(LocalId{i});
    return Renamer(d_, std::move(names)).list(iteration.begin);
  }

  void rotate(const For& loop, const Iteration& iteration, const std::set<uint32_t>& own, StmtId id,
              StmtList& out) {
    const std::string name = d_.source_names[loop.variable.index()];
    const Type type = d_.type_of(loop.variable);
    const uint64_t step = loop.step.valid() ? check::evaluate_constant(d_.c, loop.step)->bits : 1;
    const LocalId next = d_.local(Local::Kind::Var, "next_" + name, type, Level::Grid);
    const LocalId now = d_.local(Local::Kind::Let, name, type, Level::Grid);
    invariant.insert(now.value);
    out.push_back(d_.let(next, loop.first));
    const LocalId end = d_.capture(loop.last, "end_" + name, Level::Grid, out);
    const auto more = [&] { return d_.binary(BinaryOp::Lt, d_.ref(next), d_.ref(end)); };
    const std::map<uint32_t, LocalId> coming = {{loop.variable.value, next}};
    out.push_back(when(more(), begin_of(iteration, own, coming)));
    std::map<uint32_t, LocalId> names = {{loop.variable.value, now}};
    for (const uint32_t i : declared(iteration.values)) names[i] = d_.copy_of(LocalId{i});
    Renamer current(d_, std::move(names));
    StmtList body = {d_.let(now, d_.ref(next))};
    for (const StmtId item : current.list(iteration.values)) body.push_back(item);
    for (const StmtId item : current.list(iteration.middle)) body.push_back(item);
    body.push_back(d_.assign(next, advanced(d_, next, end, step)));
    for (const StmtId item : current.list(iteration.end)) body.push_back(item);
    // After the last iteration there is no beginning of another.
    body.push_back(when(mutated(Mutation::PersistentRotatedTooOften) ? d_.boolean(true) : more(),
                        begin_of(iteration, own, coming)));
    out.push_back(again(more(), body, id));
  }

  void rotate(const While& loop, const Iteration& iteration, const std::set<uint32_t>& own,
              StmtId id, StmtList& out) {
    const LocalId more = d_.local(Local::Kind::Var, "more", Type::Bool, Level::Grid);
    out.push_back(d_.let(more, loop.condition));
    out.push_back(when(d_.ref(more), begin_of(iteration, own, {})));
    StmtList body = iteration.middle;
    body.insert(body.end(), iteration.end.begin(), iteration.end.end());
    body.push_back(d_.assign(more, d_.clone(loop.condition)));
    body.push_back(when(d_.ref(more), begin_of(iteration, own, {})));
    out.push_back(again(d_.ref(more), body, id));
  }

  Draft& d_;
  const std::set<uint32_t>& among_;
  uint32_t loops_ = 0;
};

}  // namespace

bool stands_around(const Draft& d, StmtId id) {
  return jumps_out(d, id) || any_stmt_below(d.p, id, [&](StmtId s) {
           const StmtProperties row = properties_of(d.p[s]);
           return row.synchronises == Scope::Grid || row.may_end_lane;
         });
}

Rotated rotate_loops(Draft& d, const StmtList& body, const std::set<uint32_t>& among) {
  Rotation rotation(d, among);
  StmtList list = rotation.list(body);
  return {std::move(list), std::move(rotation.rotated), std::move(rotation.invariant)};
}

}  // namespace vyre::plan::persistent
