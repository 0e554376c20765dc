// SPDX-License-Identifier: Apache-2.0
// Several iterations over virtual workgroups, statement by statement. Their lanes are not those of
// the others, so the order of their statements is free; loads of one are under way while another
// one waits.
#include <algorithm>
#include <utility>

#include "ir/properties.hpp"
#include "plan/mutation.hpp"
#include "plan/persistent/emission.hpp"

namespace vyre::plan::persistent {

using namespace ir;

namespace {

// A load that is done before the statement that reads it.
struct HoistedLoad {
  ExprId load;
  bool speculative = false;  // the lane might not come to it
};

bool is_guard(const Emission& em, ExprId id);

bool has_effect(const Emission& em, ExprId id) {
  const Draft& d = em.d;
  bool effect = properties_of(d.p[id]).has_effect;
  for_each_operand(d.p, d.p[id], [&](ExprId e) { effect = effect || has_effect(em, e); });
  return effect;
}

void loads_to_hoist(const Emission& em, ExprId id, bool speculative,
                    std::vector<HoistedLoad>& out) {
  const Draft& d = em.d;
  const Expr& e = d.p[id];
  if (const auto* binary = std::get_if<Binary>(&e); binary != nullptr && is_lazy(binary->op)) {
    loads_to_hoist(em, binary->left, speculative, out);
    if (binary->op == BinaryOp::LogicalAnd && is_guard(em, binary->left))
      loads_to_hoist(em, binary->right, true, out);
    return;
  }
  for_each_operand(d.p, e, [&](ExprId inner) { loads_to_hoist(em, inner, speculative, out); });
  const auto* load = std::get_if<Load>(&e);
  const auto* atomic = std::get_if<Atomic>(&e);
  const bool from_buffer =
      (load != nullptr && load->memory.kind == Memory::Kind::Buffer &&
       !d.is_shared(load->memory)) ||
      (atomic != nullptr && atomic->op == AtomicOp::Load && !d.is_shared(atomic->memory));
  if (from_buffer) out.push_back({id, speculative});
}

// What most lanes pass: a comparison of numbers that are there already, or being alive.
bool is_guard(const Emission& em, ExprId id) {
  const Draft& d = em.d;
  if (const auto* ref = std::get_if<LocalRef>(&d.p[id])) return ref->local == em.live;
  const auto* binary = std::get_if<Binary>(&d.p[id]);
  if (binary == nullptr) return false;
  if (binary->op == BinaryOp::LogicalAnd)
    return is_guard(em, binary->left) && is_guard(em, binary->right);
  if (binary->op != BinaryOp::Lt && binary->op != BinaryOp::Le && binary->op != BinaryOp::Gt &&
      binary->op != BinaryOp::Ge)
    return false;
  std::vector<HoistedLoad> loads;
  loads_to_hoist(em, id, false, loads);
  return loads.empty() && !has_effect(em, id);
}

// In the order in which they are needed. A statement may have an effect only as the
// last thing that it does.
std::vector<HoistedLoad> loads_to_hoist(const Emission& em, StmtId id) {
  const Draft& d = em.d;
  std::vector<HoistedLoad> out;
  const Stmt& s = d.p[id];
  const bool known = std::holds_alternative<Let>(s) || std::holds_alternative<Assign>(s) ||
                     std::holds_alternative<If>(s) || std::holds_alternative<Store>(s) ||
                     std::holds_alternative<Eval>(s);
  if (!known) return out;
  const auto* eval = std::get_if<Eval>(&s);
  bool effect = false;
  const auto visit = [&](ExprId e) {
    effect = effect || has_effect(em, e);
    loads_to_hoist(em, e, false, out);
  };
  const auto* atomic = eval != nullptr ? std::get_if<Atomic>(&d.p[eval->value]) : nullptr;
  if (atomic != nullptr && atomic->op != AtomicOp::Load)
    for_each_operand(d.p, d.p[eval->value], visit);
  else
    for_each_operand(d.p, s, visit);
  if (effect) out.clear();
  return out;
}

// Whether all iterations go the same way.
bool branches_alike(const Emission& em, const If& s) {
  std::vector<HoistedLoad> loads;
  loads_to_hoist(em, s.condition, false, loads);
  return loads.empty() && reads_once(em, s.condition, {});
}

bool hides_latency(const Emission& em, std::span<const StmtId> items) {
  const Draft& d = em.d;
  return std::ranges::any_of(items, [&](StmtId id) {
    const Stmt& s = d.p[id];
    if (!loads_to_hoist(em, id).empty()) return true;
    const auto* branch = std::get_if<If>(&s);
    const auto* nested = std::get_if<Nested>(&s);
    const auto* region = std::get_if<Region>(&s);
    if (nested != nullptr) return hides_latency(em, d.p.items(nested->body));
    if (region != nullptr) return hides_latency(em, d.p.items(region->body));
    return branch != nullptr && (branches_alike(em, *branch) || is_guard(em, branch->condition)) &&
           (hides_latency(em, d.p.items(branch->then_block)) ||
            hides_latency(em, d.p.items(branch->else_block)));
  });
}

}  // namespace

uint32_t interleave_width(const Emission& em, std::span<const StmtId> items) {
  const Draft& d = em.d;
  constexpr uint32_t kMostStatements = 80;
  constexpr uint32_t kMostWords = 8;  // of state under way
  if (em.interleave == 1 || em.a.synchronises_workgroup) return 1;
  const Mentioned mentioned = mentioned_in(d, items);
  uint32_t words = 0;
  for (const auto& [i, u] : mentioned.locals) {
    if (d.c.array_counts[i] != 0) return 1;
    if (storage_of(em.a, LocalId{i}) != StorageClass::Slot) continue;
    // The value that a condition around barriers sees is that of the last iteration.
    if (u.written && em.a.uses.at(i).phases.contains(kAround)) return 1;
    if (em.a.live_across.contains(i)) words += words_of(d.type_of(LocalId{i}));
  }
  if ((words == 0 || em.place.unrolled_iterations != 0) && !hides_latency(em, items)) return 1;
  uint32_t statements = 0;
  for (const StmtId id : items) for_each_stmt(d.p, id, [&](StmtId) { ++statements; });
  uint32_t width = em.interleave;
  while (width > 1 && (statements * width > kMostStatements ||
                       (em.place.unrolled_iterations == 0 && words * width > kMostWords)))
    width /= 2;
  return std::max(width, 1U);
}

namespace {

void name_kept(Emission& em, uint32_t phase, const Mentioned& mentioned,
               std::optional<uint32_t> unrolled, std::map<uint32_t, LocalId>& before,
               StmtList& outside, StmtList& restored, StmtList& saved) {
  Draft& d = em.d;
  std::set<uint32_t> declared;
  for (const auto& [i, u] : mentioned.locals)
    if (u.declared) declared.insert(i);
  // Each iteration has its own copy of what outlives iterations.
  for (const auto& [i, u] : mentioned.locals) {
    const LocalId local{i};
    if (storage_of(em.a, local) == StorageClass::Uniform && u.written) {
      const auto [it, fresh] = before.try_emplace(i, LocalId{});
      if (fresh) it->second = d.capture(d.ref(local), "before", Level::Grid, outside);
      const LocalId own = d.copy_of(local);
      restored.push_back(d.let(own, d.ref(it->second)));
      em.now.names[i] = own;
    }
    if (storage_of(em.a, local) != StorageClass::Slot) continue;
    const bool waits = em.a.live_across.contains(i);
    if (waits && unrolled) {
      em.now.names[i] = em.place.registers.at(i)[*unrolled];
      continue;
    }
    const bool read = waits && em.a.values.at(phase).read.contains(i);
    const LocalId own = d.copy_of(local);
    restored.push_back(d.let(own, read ? in_slot(em, local) : d.zero(d.type_of(local))));
    em.now.names[i] = own;
    if (waits && u.written && em.a.live_after.at(phase).contains(i) &&
        !mutated(Mutation::PersistentNotSaved))
      saved.push_back(to_slot(em, local, d.ref(own)));
  }
  for (const auto& [i, u] : mentioned.locals)
    if (storage_of(em.a, LocalId{i}) == StorageClass::Rematerialised)
      rematerialise(em, LocalId{i}, declared, restored);
}

void each_iteration(Emission& em, StmtId id, std::vector<Iteration>& iterations, bool all,
                    StmtList& out) {
  Draft& d = em.d;
  for (const HoistedLoad& hoisted : loads_to_hoist(em, id))
    for (Iteration& iteration : iterations) {
      std::swap(em.now, iteration);
      ExprId value = rewrite(em, hoisted.load);
      // Where a guard is what the proof rests on, there is none.
      if (hoisted.speculative) {
        value = d.clone(value);
        d.c.expr_proofs[value.index()] = -1;
      }
      const LocalId local = d.capture(value, "early", Level::Lane, out);
      em.now.hoisted[hoisted.load.value] = local;
      std::swap(em.now, iteration);
    }
  const Stmt s = d.p[id];
  const auto* let = std::get_if<Let>(&s);
  const auto* assign = std::get_if<Assign>(&s);
  const bool plain = (let != nullptr && !has_effect(em, let->value)) ||
                     (assign != nullptr && !has_effect(em, assign->value));
  for (Iteration& iteration : iterations) {
    std::swap(em.now, iteration);
    StmtList list;
    if (all || plain || !em.now.active.valid() || mutated(Mutation::PersistentTooManyIterations)) {
      rewrite(em, id, out);
    } else if (let != nullptr && storage_of(em.a, let->local) == StorageClass::Register) {
      // Others read the local, whether the iteration exists or not.
      const ExprId value = rewrite(em, let->value);
      declare(em, let->local);
      const LocalId own = named(em, let->local);
      d.p.locals[own.index()].kind = Local::Kind::Var;
      out.push_back(d.let(own, d.zero(d.type_of(own))));
      out.push_back(d.when(d.ref(em.now.active), {d.assign(own, value)}));
    } else {
      rewrite(em, id, list);
      out.push_back(d.when(d.ref(em.now.active), list));
    }
    std::swap(em.now, iteration);
  }
}

void interleave_statements(Emission& em, std::span<const StmtId> items,
                           std::vector<Iteration>& iterations, bool all, StmtList& out);

// Where all of them pass, they go on side by side.
void interleave_guarded(Emission& em, StmtId id, std::vector<Iteration>& iterations, bool all,
                        StmtList& out) {
  Draft& d = em.d;
  const If branch = std::get<If>(d.p[id]);
  ExprId pass;
  for (Iteration& iteration : iterations) {
    std::swap(em.now, iteration);
    ExprId own = d.clone(rewrite(em, branch.condition));
    if (!all && em.now.active.valid())
      own = d.binary(BinaryOp::LogicalAnd, d.ref(em.now.active), own);
    pass = pass.valid() ? d.binary(BinaryOp::LogicalAnd, pass, own) : own;
    std::swap(em.now, iteration);
  }
  std::vector<Iteration> inner = iterations;
  StmtList then;
  interleave_statements(em, d.p.items(branch.then_block), inner, true, then);
  StmtList otherwise;
  for (size_t k = 0; k < iterations.size(); ++k) iterations[k].uses_lane |= inner[k].uses_lane;
  for (size_t k = 0; k < iterations.size(); ++k)
    for (const auto member : {&Iteration::wid, &Iteration::gid, &Iteration::lid})
      for (size_t axis = 0; axis < 3; ++axis)
        (iterations[k].*member)[axis].used |= (inner[k].*member)[axis].used;
  each_iteration(em, id, iterations, all, otherwise);
  out.push_back(d.when(pass, then, otherwise));
}

void interleave_statements(Emission& em, std::span<const StmtId> items,
                           std::vector<Iteration>& iterations, bool all, StmtList& out) {
  Draft& d = em.d;
  for (const StmtId id : StmtList(items.begin(), items.end())) {
    const Stmt s = d.p[id];
    const auto inside = [&](StmtId copy) {
      return d.map_blocks(copy, [&](Block b) {
        StmtList list;
        interleave_statements(em, d.p.items(b), iterations, all, list);
        return list;
      });
    };
    if (std::holds_alternative<Nested>(s) || std::holds_alternative<Region>(s)) {
      out.push_back(inside(id));
      continue;
    }
    const auto* branch = std::get_if<If>(&s);
    if (branch != nullptr && branches_alike(em, *branch)) {
      std::swap(em.now, iterations[0]);
      const ExprId condition = rewrite(em, branch->condition);
      std::swap(em.now, iterations[0]);
      out.push_back(inside(d.with_operands(id, {condition})));
      continue;
    }
    if (branch != nullptr && d.p.items(branch->else_block).empty() &&
        is_guard(em, branch->condition) && hides_latency(em, d.p.items(branch->then_block))) {
      interleave_guarded(em, id, iterations, all, out);
      continue;
    }
    each_iteration(em, id, iterations, all, out);
  }
}

}  // namespace

StmtList interleave(Emission& em, uint32_t phase, std::span<const StmtId> items, uint32_t width,
                    const Range& range, std::map<uint32_t, LocalId>& before, StmtList& outside) {
  Draft& d = em.d;
  em.in_iteration = true;
  const Mentioned mentioned = mentioned_in(d, items);
  const bool unrolled = !range.base.valid();
  std::vector<Iteration> iterations;
  std::vector<StmtList> heads(width);
  StmtList restored;
  std::vector<StmtList> saved(width);
  for (uint32_t k = 0; k < width; ++k) {
    name_ids(em);
    const uint32_t number = range.number + k;
    ExprId ahead = d.number(number);
    // Where there is no such iteration, its lane reads what the first of them reads, and does
    // nothing.
    if (number != 0 && !range.all) {
      em.now.active = d.local(Local::Kind::Let, "active", Type::Bool, d.level_of(em.iterations));
      const ExprId left = unrolled
                              ? d.ref(em.iterations)
                              : d.binary(BinaryOp::Sub, d.ref(em.iterations), d.ref(range.base));
      heads[k].push_back(d.let(em.now.active, d.binary(BinaryOp::Gt, left, ahead)));
      IntrinsicCall select;
      select.op = Intrinsic::Select;
      select.args = {d.ref(em.now.active), d.clone(ahead), d.number(0)};
      ahead = d.expr(select, Type::U32);
    }
    heads[k].push_back(
        name_group(em, unrolled ? ahead : d.binary(BinaryOp::Add, d.ref(range.base), ahead)));
    name_kept(em, phase, mentioned, unrolled ? std::optional(number) : std::nullopt, before,
              outside, restored, saved[k]);
    iterations.push_back(std::exchange(em.now, {}));
  }
  StmtList body;
  interleave_statements(em, items, iterations, range.all, body);

  StmtList out;
  const auto append = [&](const StmtList& list) {
    out.insert(out.end(), list.begin(), list.end());
  };
  for (uint32_t k = 0; k < width; ++k) {
    em.now = iterations[k];
    append(heads[k]);
    append(declare_ids(em));
  }
  append(restored);
  append(body);
  for (uint32_t k = 0; k < width; ++k) {
    if (saved[k].empty()) continue;
    if (iterations[k].active.valid())
      out.push_back(d.when(d.ref(iterations[k].active), saved[k]));
    else
      append(saved[k]);
  }
  for (const auto& [i, u] : mentioned.locals)
    if (storage_of(em.a, LocalId{i}) == StorageClass::Uniform && u.written && range.number == 0)
      out.push_back(d.assign(LocalId{i}, d.ref(iterations[0].names.at(i))));
  em.in_iteration = false;
  em.now = {};
  return out;
}

// All iterations, `width` of them at a time; the last ones are tested for whether they exist. What
// the last iterations had in a cache, the first ones of the next loop find there: loops go back and
// forth.
void iterate_interleaved(Emission& em, uint32_t phase, std::span<const StmtId> items,
                         uint32_t width, StmtList& out) {
  Draft& d = em.d;
  const Level level = d.level_of(em.iterations);
  const auto select = [&](LocalId condition, ExprId yes, ExprId no) {
    IntrinsicCall call;
    call.op = Intrinsic::Select;
    call.args = {d.ref(condition), yes, no};
    return d.expr(call, Type::U32);
  };
  if (em.loops != 0) {
    if (!em.backwards.valid())
      em.backwards = d.local(Local::Kind::Var, "backwards", Type::Bool, Level::Grid);
    const ExprId others = d.binary(BinaryOp::Sub, d.ref(em.iterations), d.number(1));
    const ExprId last =
        d.binary(BinaryOp::Add, d.ref(em.first), d.binary(BinaryOp::Mul, others, d.ref(em.stride)));
    em.from = d.capture(select(em.backwards, last, d.ref(em.first)), "from", level, out);
    const ExprId back = d.binary(BinaryOp::Sub, d.number(0), d.ref(em.stride));
    em.by = d.capture(select(em.backwards, back, d.ref(em.stride)), "by", Level::Grid, out);
  }
  const ExprId rest = d.binary(BinaryOp::Rem, d.ref(em.iterations), d.number(width));
  const LocalId whole =
      d.capture(d.binary(BinaryOp::Sub, d.ref(em.iterations), rest), "whole", level, out);
  std::map<uint32_t, LocalId> before;
  For loop;
  loop.variable = d.local(Local::Kind::For, "turn", Type::U32, level);
  loop.first = d.number(0);
  loop.last = d.ref(whole);
  loop.step = d.number(width);
  loop.body = d.block(
      interleave(em, phase, items, width, {.base = loop.variable, .all = true}, before, out));
  out.push_back(d.stmt(loop, {}, level));
  const StmtList tail = interleave(em, phase, items, width, {.base = whole}, before, out);
  out.push_back(d.when(d.binary(BinaryOp::Lt, d.ref(whole), d.ref(em.iterations)), tail));
  if (em.loops != 0) out.push_back(d.assign(em.backwards, d.negate(d.ref(em.backwards))));
  em.from = em.by = {};
}

}  // namespace vyre::plan::persistent
