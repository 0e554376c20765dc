// SPDX-License-Identifier: Apache-2.0
// What a body is like that is to be folded: its pieces, and where its locals live.
#include "plan/fold.hpp"

#include <algorithm>

#include "base/match.hpp"
#include "plan/fold_join.hpp"
#include "plan/passes.hpp"

namespace vyre::plan {

using namespace ir;

Folder::Folder(Draft& d, FoldMemory& memory, LocalId lane, LocalId live, const PlanOptions& options)
    : d_(d),
      memory_(memory),
      lane_of_source_(lane),
      live_(live),
      together_(std::max(options.variant.workgroups_per_block, 1U)),
      written_turns_(options.variant.unrolled_iterations),
      interleaved_(std::max(options.variant.interleave, 1U)),
      wide_index_(options.wide_index),
      row_(options.variant.is_1d),
      size_(d.c.workgroup) {}

Folder::Home Folder::home(LocalId local) const {
  const auto found = view_.uses.find(local.value);
  return found == view_.uses.end() ? Home::Inside : found->second.home;
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

}  // namespace

bool Folder::has_barrier(const Draft& d, const StmtList& body) {
  return std::ranges::any_of(body, [&](StmtId id) {
    return any_stmt_below(
               d.p, id,
               [&](StmtId s) { return properties_of(d.p[s]).synchronises == Scope::Grid; }) ||
           any_expr_below(d.p, id, [&](ExprId e) {
             return properties_of(d.p[e]).synchronises == Scope::Grid;
           });
  });
}

StmtList Folder::lower_loads(std::span<const StmtId> list) {
  StmtList out;
  for (const StmtId id : StmtList(list.begin(), list.end())) {
    if (!has_barrier(d_, {id})) {
      out.push_back(id);
      continue;
    }
    if (const ExprId value = grid_load_of(d_, id); value.valid()) {
      const auto load = std::get<UniformLoad>(d_.p[value]);
      const ExprId plain =
          d_.expr(Load{load.memory, load.index}, d_.type_of(value), d_.p.loc(value));
      d_.c.expr_proofs[plain.index()] = d_.c.expr_proofs[value.index()];
      out.push_back(d_.barrier(Scope::Grid));
      out.push_back(d_.with_operands(id, {plain}));
      out.push_back(d_.barrier(Scope::Grid));
      continue;
    }
    out.push_back(d_.map_blocks(id, [&](Block b) { return lower_loads(d_.p.items(b)); }));
  }
  return out;
}

bool Folder::accepts(const StmtList& body) {
  const StmtList lowered = lower_loads(body);
  if (!look(lowered)) return false;
  join(lowered);
  if (view_.meets_in_group) together_ = 1;
  if (!fits_registers()) written_turns_ = 0;
  return true;
}

// Where the value of a trip would have to wait in a slot that it does not need now, trips stay
// apart.
void Folder::join(const StmtList& body) {
  const auto joins = [&](const Joined& joined) {
    View apart = std::exchange(view_, {});
    view_.steady = joined.steady;
    const bool good = look(joined.body) && view_.words <= apart.words;
    if (!good) view_ = std::move(apart);
    return good;
  };
  const Joined all = join_trips(d_, body);
  if (all.loops.empty() || joins(all)) return;
  constexpr size_t kMostLoops = 8;
  std::set<uint32_t> good;
  for (const uint32_t loop : all.loops) {
    if (all.loops.size() > kMostLoops) break;
    std::set<uint32_t> more = good;
    more.insert(loop);
    if (joins(join_trips(d_, body, more))) good = std::move(more);
  }
}

bool Folder::look(const StmtList& body) {
  if (!build(body, view_.parts) || view_.refused) return false;
  // Lanes that have ended do not come to operations of their subgroup.
  if (view_.in_subgroup && view_.uses.contains(live_.value)) return false;
  settle_homes();
  find_waiting();
  for (const uint32_t i : view_.waits) {
    view_.words += std::max(1U, d_.c.array_counts[i]) * words_of(d_.type_of(LocalId{i}));
    view_.has_arrays = view_.has_arrays || d_.c.array_counts[i] != 0;
  }
  for (const StmtId id : body) for_each_stmt(d_.p, id, [&](StmtId) { ++view_.statements; });
  return true;
}

bool Folder::fits_registers() const {
  constexpr uint32_t kMostWords = 40;        // of a thread
  constexpr uint32_t kMostStatements = 400;  // in all turns
  // Without state there is nothing to gain.
  return view_.words != 0 && !view_.has_arrays && view_.words * written_turns_ <= kMostWords &&
         view_.statements * written_turns_ <= kMostStatements;
}

// ---- pieces

bool Folder::build(std::span<const StmtId> list, std::vector<Part>& parts) {
  for (const StmtId id : list) {
    if (stands_around(d_, id)) {
      // Every local has a name of its own, so blocks need not be kept.
      const auto* nested = std::get_if<Nested>(&d_.p[id]);
      const auto* region = std::get_if<Region>(&d_.p[id]);
      if (nested != nullptr || region != nullptr) {
        if (!build(d_.p.items(nested != nullptr ? nested->body : region->body), parts))
          return false;
        continue;
      }
      if (!build_around(id, parts.emplace_back())) return false;
      continue;
    }
    if (parts.empty() || parts.back().stmt.valid()) parts.emplace_back().piece = view_.pieces++;
    parts.back().items.push_back(id);
    scan(id, parts.back().piece, true);
  }
  return true;
}

bool Folder::build_around(StmtId id, Part& part) {
  part.stmt = id;
  const Stmt& s = d_.p[id];
  bool uniform = true;
  for_each_operand(d_.p, s, [&](ExprId e) {
    uniform = uniform && is_uniform(e);
    scan(e, kAround);
  });
  if (!uniform) return false;
  if (const auto* loop = std::get_if<For>(&s)) use(loop->variable).home = Home::Loop;
  const bool known = std::holds_alternative<Barrier>(s) || std::holds_alternative<Return>(s) ||
                     std::holds_alternative<Break>(s) || std::holds_alternative<Continue>(s) ||
                     std::holds_alternative<If>(s) || std::holds_alternative<For>(s) ||
                     std::holds_alternative<While>(s);
  if (!known) return false;
  bool good = true;
  for_each_block(s, [&](Block b) {
    part.blocks.emplace_back();
    good = good && build(d_.p.items(b), part.blocks.back());
  });
  return good;
}

// Words of meeting points are read after a barrier, so a load is uniform if its index is.
bool Folder::is_uniform(ExprId id) const {
  bool uniform = is_same_in_workgroups(
      d_.p, d_.p[id], [&](LocalId local) { return d_.level_of(local) == Level::Grid; },
      [&](Memory m) {
        return m.kind != Memory::Kind::Local || d_.level_of(m.local()) == Level::Grid;
      },
      [&] { return d_.level_of(id) == Level::Grid; });
  for_each_operand(d_.p, d_.p[id], [&](ExprId e) { uniform = uniform && is_uniform(e); });
  return uniform;
}

// ---- locals

void Folder::write(LocalId local, uint32_t piece, bool by_all) {
  mention(local, piece);
  LocalUse& u = use(local);
  u.by_some = u.by_some || !by_all;
}

void Folder::note_memory(Memory memory, uint32_t piece) {
  if (!memory.valid()) return;
  if (memory.kind == Memory::Kind::Local) mention(memory.local(), piece);
  if (!d_.is_shared(memory)) return;
  view_.meets_in_group = true;
  const bool kept = loads_all_bits(d_.element_of(memory)) &&
                    d_.c.buffers[memory.buffer().index()].constant_count.has_value();
  view_.refused = view_.refused || !kept || piece == kAround;
}

void Folder::scan(ExprId id, uint32_t piece) {
  for_each_expr(d_.p, id, [&](ExprId node) {
    const Expr& e = d_.p[node];
    for_each_local(e, [&](LocalId local, LocalAccess) { mention(local, piece); });
    for_each_memory(d_.p, e, [&](const MemoryUse& use) {
      const LocalId local = use.memory.local();
      if (use.access != Access::Length)
        note_memory(use.memory, piece);
      else if (local.valid())
        mention(local, piece);
      if (local.valid() && writes(use.access)) write(local, piece, false);
    });
    const auto* ref = std::get_if<BuiltinRef>(&e);
    const auto scope = properties_of(e).synchronises;
    view_.in_subgroup = view_.in_subgroup || scope == Scope::Subgroup;
    view_.refused = view_.refused || scope == Scope::Grid;
    view_.meets_in_group = view_.meets_in_group || scope.has_value() ||
                           (ref != nullptr && (ref->builtin == Builtin::SubgroupLane ||
                                               ref->builtin == Builtin::SubgroupId ||
                                               ref->builtin == Builtin::SubgroupSize));
  });
}

void Folder::scan(StmtId id, uint32_t piece, bool by_all) {
  const Stmt& s = d_.p[id];
  bool same = true;  // all lanes go the same way
  for_each_operand(d_.p, s, [&](ExprId e) {
    scan(e, piece);
    same = same && is_uniform(e);
  });
  match(
      s,
      [&](const Let& x) {
        LocalUse& u = use(x.local);
        ++u.lets;
        u.value = x.value;
        write(x.local, piece, by_all);
      },
      [&](const DeclareArray& x) { write(x.local, piece, by_all); },
      [&](const Assign& x) {
        ++use(x.local).assigns;
        write(x.local, piece, by_all);
      },
      [&](const Store& x) {
        note_memory(x.memory, piece);
        if (x.memory.kind == Memory::Kind::Local) write(x.memory.local(), piece, by_all);
      },
      [&](const For& x) { mention(x.variable, piece); },
      [&](const Barrier& x) {
        view_.meets_in_group = true;
        view_.in_subgroup = view_.in_subgroup || x.scope == Scope::Subgroup;
      },
      // Their copies may still be under way at the next barrier.
      [&](const AsyncCopy&) { view_.refused = true; }, [&](const Wait&) { view_.refused = true; },
      [&](const Fixpoint&) { view_.refused = true; }, [&](const Trap&) { view_.refused = true; },
      [&](const Resume&) { view_.refused = true; },
      [&](const Collective&) { view_.refused = true; }, [](const Eval&) {}, [](const If&) {},
      [](const While&) {}, [](const Break&) {}, [](const Continue&) {}, [](const Return&) {},
      [](const Nested&) {}, [](const Region&) {});
  for_each_block(s, [&](Block b) {
    for (const StmtId inner : d_.p.items(b)) scan(inner, piece, by_all && same);
  });
}

bool Folder::can_compute_again(LocalId local, uint32_t& nodes) const {
  constexpr uint32_t kMostNodes = 32;
  const auto found = view_.uses.find(local.value);
  if (found == view_.uses.end()) return false;
  const LocalUse& u = found->second;
  if (u.lets != 1 || u.assigns != 0 || d_.c.array_counts[local.index()] != 0) return false;
  // Its value between turns is that of a slot.
  if (u.pieces.contains(kAround) && (d_.level_of(local) != Level::Grid || u.by_some)) return false;
  if (!is_stable(d_, u.value)) return false;
  bool can = true;
  for_each_expr(d_.p, u.value, [&](ExprId e) {
    ++nodes;
    const auto* ref = std::get_if<LocalRef>(&d_.p[e]);
    if (ref == nullptr || !can || nodes > kMostNodes) return;
    const auto other = view_.uses.find(ref->local.value);
    if (other != view_.uses.end() && other->second.home == Home::Loop) return;
    if (view_.steady.contains(ref->local.value)) return;
    can = can_compute_again(ref->local, nodes);
  });
  return can && nodes <= kMostNodes;
}

void Folder::settle_homes() {
  for (auto& [i, u] : view_.uses) {
    // Others that are computed again may need it.
    if (view_.steady.contains(i)) {
      u.home = Home::Uniform;
      continue;
    }
    if (u.home == Home::Loop || (u.pieces.size() < 2 && !u.pieces.contains(kAround))) continue;
    const LocalId local{i};
    const bool array = d_.c.array_counts[i] != 0;
    uint32_t nodes = 0;
    if (d_.level_of(local) == Level::Grid && !u.by_some && !array)
      u.home = Home::Uniform;
    else if (!u.pieces.contains(kAround) && can_compute_again(local, nodes))
      u.home = Home::Again;
    else
      u.home = Home::Slot;
  }
}

}  // namespace vyre::plan
