// SPDX-License-Identifier: Apache-2.0
// The parts of a body, and the storage of its locals.
#include "plan/persistent/analyse.hpp"

#include <algorithm>

#include "base/match.hpp"
#include "ir/properties.hpp"
#include "plan/passes.hpp"
#include "plan/persistent/rotate.hpp"

namespace vyre::plan::persistent {

using namespace ir;

StorageClass storage_of(const Analysis& a, LocalId local) {
  const auto found = a.uses.find(local.value);
  return found == a.uses.end() ? StorageClass::Register : found->second.storage;
}

bool has_grid_barrier(const Draft& d, const StmtList& body) {
  return std::ranges::any_of(body, [&](StmtId id) {
    return any_stmt_below(
               d.p, id,
               [&](StmtId s) { return properties_of(d.p[s]).synchronises == Scope::Grid; }) ||
           any_expr_below(d.p, id, [&](ExprId e) {
             return properties_of(d.p[e]).synchronises == Scope::Grid;
           });
  });
}

namespace {

// The grid_load that is the value of a `let` or an assignment.
ExprId grid_load_of(const Draft& d, StmtId id) {
  ExprId value;
  if (const auto* let = std::get_if<Let>(&d.p[id])) value = let->value;
  if (const auto* assign = std::get_if<Assign>(&d.p[id]); assign != nullptr && !assign->op)
    value = assign->value;
  if (!value.valid()) return {};
  const auto* load = std::get_if<UniformLoad>(&d.p[value]);
  return load != nullptr && load->scope == Scope::Grid ? value : ExprId{};
}

// Loads between barriers as what they are.
StmtList lower_loads(Draft& d, std::span<const StmtId> list) {
  StmtList out;
  for (const StmtId id : StmtList(list.begin(), list.end())) {
    if (!has_grid_barrier(d, {id})) {
      out.push_back(id);
      continue;
    }
    if (const ExprId value = grid_load_of(d, id); value.valid()) {
      const auto load = std::get<UniformLoad>(d.p[value]);
      const ExprId plain = d.expr(Load{load.memory, load.index}, d.type_of(value), d.p.loc(value));
      d.c.expr_proofs[plain.index()] = d.c.expr_proofs[value.index()];
      out.push_back(d.barrier(Scope::Grid));
      out.push_back(d.with_operands(id, {plain}));
      out.push_back(d.barrier(Scope::Grid));
      continue;
    }
    out.push_back(d.map_blocks(id, [&](Block b) { return lower_loads(d, d.p.items(b)); }));
  }
  return out;
}

// Words of votes are read after a barrier, so a load is uniform if its index is.
bool is_uniform(const Draft& d, ExprId id) {
  bool uniform = is_same_in_workgroups(
      d.p, d.p[id], [&](LocalId local) { return d.level_of(local) == Level::Grid; },
      [&](Memory m) {
        return m.kind != Memory::Kind::Local || d.level_of(m.local()) == Level::Grid;
      },
      [&] { return d.level_of(id) == Level::Grid; });
  for_each_operand(d.p, d.p[id], [&](ExprId e) { uniform = uniform && is_uniform(d, e); });
  return uniform;
}

// ---- what the body does with locals and memory

LocalUse& use(Analysis& a, LocalId local) {
  return a.uses[local.value];
}

void note_use(Analysis& a, LocalId local, uint32_t phase) {
  use(a, local).phases.insert(phase);
}

void note_write(Analysis& a, LocalId local, uint32_t phase, bool by_all) {
  note_use(a, local, phase);
  LocalUse& u = use(a, local);
  u.divergent = u.divergent || !by_all;
}

void note_memory(const Draft& d, Analysis& a, Memory memory, uint32_t phase) {
  if (!memory.valid()) return;
  if (memory.kind == Memory::Kind::Local) note_use(a, memory.local(), phase);
  if (!d.is_shared(memory)) return;
  a.synchronises_workgroup = true;
  const bool kept = loads_all_bits(d.element_of(memory)) &&
                    d.c.buffers[memory.buffer().index()].constant_count.has_value();
  a.refused = a.refused || !kept || phase == kAround;
}

void scan(const Draft& d, Analysis& a, ExprId id, uint32_t phase) {
  for_each_expr(d.p, id, [&](ExprId node) {
    const Expr& e = d.p[node];
    for_each_local(e, [&](LocalId local, LocalAccess) { note_use(a, local, phase); });
    for_each_memory(d.p, e, [&](const MemoryUse& use) {
      const LocalId local = use.memory.local();
      if (use.access != Access::Length)
        note_memory(d, a, use.memory, phase);
      else if (local.valid())
        note_use(a, local, phase);
      if (local.valid() && writes(use.access)) note_write(a, local, phase, false);
    });
    const auto* ref = std::get_if<BuiltinRef>(&e);
    const auto scope = properties_of(e).synchronises;
    a.synchronises_subgroup = a.synchronises_subgroup || scope == Scope::Subgroup;
    a.refused = a.refused || scope == Scope::Grid;
    a.synchronises_workgroup = a.synchronises_workgroup || scope.has_value() ||
                               (ref != nullptr && (ref->builtin == Builtin::SubgroupLane ||
                                                   ref->builtin == Builtin::SubgroupId ||
                                                   ref->builtin == Builtin::SubgroupSize));
  });
}

void scan(const Draft& d, Analysis& a, StmtId id, uint32_t phase, bool by_all) {
  const Stmt& s = d.p[id];
  bool same = true;  // all lanes go the same way
  for_each_operand(d.p, s, [&](ExprId e) {
    scan(d, a, e, phase);
    same = same && is_uniform(d, e);
  });
  match(
      s,
      [&](const Let& x) {
        LocalUse& u = use(a, x.local);
        ++u.lets;
        u.value = x.value;
        note_write(a, x.local, phase, by_all);
      },
      [&](const DeclareArray& x) { note_write(a, x.local, phase, by_all); },
      [&](const Assign& x) {
        ++use(a, x.local).assigns;
        note_write(a, x.local, phase, by_all);
      },
      [&](const Store& x) {
        note_memory(d, a, x.memory, phase);
        if (x.memory.kind == Memory::Kind::Local) note_write(a, x.memory.local(), phase, by_all);
      },
      [&](const For& x) { note_use(a, x.variable, phase); },
      [&](const Barrier& x) {
        a.synchronises_workgroup = true;
        a.synchronises_subgroup = a.synchronises_subgroup || x.scope == Scope::Subgroup;
      },
      // Their copies may still be under way at the next barrier.
      [&](const AsyncCopy&) { a.refused = true; }, [&](const Wait&) { a.refused = true; },
      [&](const Fixpoint&) { a.refused = true; }, [&](const Trap&) { a.refused = true; },
      [&](const Resume&) { a.refused = true; }, [&](const Collective&) { a.refused = true; },
      [&](const Swap&) { a.refused = true; }, [](const Eval&) {}, [](const If&) {},
      [](const While&) {}, [](const Break&) {}, [](const Continue&) {}, [](const Return&) {},
      [](const Nested&) {}, [](const Region&) {}, [&](const Print&) { a.refused = true; },
      [&](const Assert&) { a.refused = true; });
  for_each_block(s, [&](Block b) {
    for (const StmtId inner : d.p.items(b)) scan(d, a, inner, phase, by_all && same);
  });
}

// ---- parts

bool build(const Draft& d, Analysis& a, std::span<const StmtId> list, std::vector<Part>& parts);

bool build_around(const Draft& d, Analysis& a, StmtId id, Part& part) {
  part.stmt = id;
  const Stmt& s = d.p[id];
  bool uniform = true;
  for_each_operand(d.p, s, [&](ExprId e) {
    uniform = uniform && is_uniform(d, e);
    scan(d, a, e, kAround);
  });
  if (!uniform) return false;
  if (const auto* loop = std::get_if<For>(&s))
    use(a, loop->variable).storage = StorageClass::LoopVariable;
  const bool known = std::holds_alternative<Barrier>(s) || std::holds_alternative<Return>(s) ||
                     std::holds_alternative<Break>(s) || std::holds_alternative<Continue>(s) ||
                     std::holds_alternative<If>(s) || std::holds_alternative<For>(s) ||
                     std::holds_alternative<While>(s);
  if (!known) return false;
  bool good = true;
  for_each_block(s, [&](Block b) {
    part.blocks.emplace_back();
    good = good && build(d, a, d.p.items(b), part.blocks.back());
  });
  return good;
}

bool build(const Draft& d, Analysis& a, std::span<const StmtId> list, std::vector<Part>& parts) {
  for (const StmtId id : list) {
    if (stands_around(d, id)) {
      // Every local has a name of its own, so blocks need not be kept.
      const auto* nested = std::get_if<Nested>(&d.p[id]);
      const auto* region = std::get_if<Region>(&d.p[id]);
      if (nested != nullptr || region != nullptr) {
        if (!build(d, a, d.p.items(nested != nullptr ? nested->body : region->body), parts))
          return false;
        continue;
      }
      if (!build_around(d, a, id, parts.emplace_back())) return false;
      continue;
    }
    if (parts.empty() || parts.back().stmt.valid()) parts.emplace_back().phase = a.phases++;
    parts.back().items.push_back(id);
    scan(d, a, id, parts.back().phase, true);
  }
  return true;
}

// ---- storage

bool can_rematerialise(const Draft& d, const Analysis& a, LocalId local, uint32_t& nodes) {
  constexpr uint32_t kMostNodes = 32;
  const auto found = a.uses.find(local.value);
  if (found == a.uses.end()) return false;
  const LocalUse& u = found->second;
  if (u.lets != 1 || u.assigns != 0 || d.c.array_counts[local.index()] != 0) return false;
  // Its value between iterations is that of a slot.
  if (u.phases.contains(kAround) && (d.level_of(local) != Level::Grid || u.divergent)) return false;
  if (!is_stable(d, u.value)) return false;
  bool can = true;
  for_each_expr(d.p, u.value, [&](ExprId e) {
    ++nodes;
    const auto* ref = std::get_if<LocalRef>(&d.p[e]);
    if (ref == nullptr || !can || nodes > kMostNodes) return;
    const auto other = a.uses.find(ref->local.value);
    if (other != a.uses.end() && other->second.storage == StorageClass::LoopVariable) return;
    if (a.invariant.contains(ref->local.value)) return;
    can = can_rematerialise(d, a, ref->local, nodes);
  });
  return can && nodes <= kMostNodes;
}

void choose_storage(const Draft& d, Analysis& a) {
  for (auto& [i, u] : a.uses) {
    // Others that are computed again may need it.
    if (a.invariant.contains(i)) {
      u.storage = StorageClass::Uniform;
      continue;
    }
    if (u.storage == StorageClass::LoopVariable ||
        (u.phases.size() < 2 && !u.phases.contains(kAround)))
      continue;
    const LocalId local{i};
    const bool array = d.c.array_counts[i] != 0;
    uint32_t nodes = 0;
    if (d.level_of(local) == Level::Grid && !u.divergent && !array)
      u.storage = StorageClass::Uniform;
    else if (!u.phases.contains(kAround) && can_rematerialise(d, a, local, nodes))
      u.storage = StorageClass::Rematerialised;
    else
      u.storage = StorageClass::Slot;
  }
}

// Nothing: the body cannot be made persistent. `invariant`: as in Analysis.
std::optional<Analysis> analyse_body(const Draft& d, const StmtList& body, LocalId live,
                                     Locals invariant) {
  Analysis a;
  a.invariant = std::move(invariant);
  if (!build(d, a, body, a.parts) || a.refused) return std::nullopt;
  // Lanes that have ended do not come to operations of their subgroup.
  if (a.synchronises_subgroup && a.uses.contains(live.value)) return std::nullopt;
  choose_storage(d, a);
  find_live(d, a);
  for (const uint32_t i : a.live_across) {
    a.words += std::max(1U, d.c.array_counts[i]) * words_of(d.type_of(LocalId{i}));
    a.has_arrays = a.has_arrays || d.c.array_counts[i] != 0;
  }
  for (const StmtId id : body) for_each_stmt(d.p, id, [&](StmtId) { ++a.statements; });
  return a;
}

}  // namespace

// Where a value of a loop iteration would have to be kept in a slot that it does not need now, the
// loop is not rotated.
std::optional<Analysis> analyse(Draft& d, const StmtList& given, LocalId live) {
  const StmtList body = lower_loads(d, given);
  std::optional<Analysis> best = analyse_body(d, body, live, {});
  if (!best) return best;
  const auto improves = [&](const Rotated& rotated) {
    std::optional<Analysis> a = analyse_body(d, rotated.body, live, rotated.invariant);
    const bool good = a && a->words <= best->words;
    if (good) best = std::move(a);
    return good;
  };
  const Rotated all = rotate_loops(d, body);
  if (all.loops.empty() || improves(all)) return best;
  constexpr size_t kMostLoops = 8;
  std::set<uint32_t> good;
  for (const uint32_t loop : all.loops) {
    if (all.loops.size() > kMostLoops) break;
    std::set<uint32_t> more = good;
    more.insert(loop);
    if (improves(rotate_loops(d, body, more))) good = std::move(more);
  }
  return best;
}

}  // namespace vyre::plan::persistent
