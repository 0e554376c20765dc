// SPDX-License-Identifier: Apache-2.0
// The body of a persistent kernel: the control flow around barriers, and a loop over virtual
// workgroups for each phase.
#include "plan/persistent/emit.hpp"

#include <algorithm>

#include "base/match.hpp"
#include "plan/mutation.hpp"
#include "plan/persistent/emission.hpp"

namespace vyre::plan::persistent {

using namespace ir;

bool reads_once(const Emission& em, ExprId id, const std::set<uint32_t>& seen) {
  const Draft& d = em.d;
  bool once = is_same_in_workgroups(
      d.p, d.p[id],
      [&](LocalId local) {
        const StorageClass h = storage_of(em.a, local);
        return h == StorageClass::Uniform || h == StorageClass::LoopVariable ||
               seen.contains(local.value);
      },
      [&](Memory m) { return m.kind != Memory::Kind::Local && !d.is_shared(m); },
      [] { return false; });
  for_each_operand(d.p, d.p[id], [&](ExprId e) { once = once && reads_once(em, e, seen); });
  return once;
}

StmtId name_group(Emission& em, ExprId number) {
  Draft& d = em.d;
  const LocalId from = em.from.valid() ? em.from : em.first;
  const LocalId by = em.from.valid() ? em.by : em.stride;
  return d.let(em.now.group,
               d.binary(BinaryOp::Add, d.ref(from), d.binary(BinaryOp::Mul, number, d.ref(by))));
}

namespace {

// What is the same for the whole launch, and the locals that outlive an iteration.
StmtList start(Emission& em) {
  Draft& d = em.d;
  StmtList out;
  if (!em.memory.grid.valid()) {
    Hidden hidden;
    hidden.kind = Hidden::Kind::Grid;
    hidden.name = "dispatch_grid";
    hidden.count = 3;
    em.memory.grid = d.add_hidden(std::move(hidden), BufferKind::In);
  }
  for (uint32_t axis = 0; axis < 3; ++axis)
    out.push_back(d.let(em.num[axis], d.load(Memory::of(em.memory.grid), d.number(axis), true)));
  const auto num = [&](uint32_t axis) { return d.ref(em.num[axis]); };
  const ExprId rows = d.binary(BinaryOp::Mul, num(1), num(2));
  out.push_back(d.let(em.groups, d.binary(BinaryOp::Mul, num(0), rows)));
  if (!em.is_1d)
    out.push_back(d.let(
        em.is_row, d.binary(BinaryOp::Eq, d.binary(BinaryOp::Mul, num(1), num(2)), d.number(1))));
  ExprId first = d.builtin(Builtin::Wid);
  ExprId step = d.builtin(Builtin::NumWorkgroups);
  if (em.place.workgroups_per_block != 1) {
    const ExprId beside =
        d.binary(BinaryOp::Div, d.builtin(Builtin::Lid), d.number(d.lanes_per_group()));
    first =
        d.binary(BinaryOp::Add,
                 d.binary(BinaryOp::Mul, first, d.number(em.place.workgroups_per_block)), beside);
    step = d.binary(BinaryOp::Mul, step, d.number(em.place.workgroups_per_block));
  }
  out.push_back(d.let(em.first, first));
  out.push_back(d.let(em.stride, step));
  // Every lane has one iteration at least.
  const ExprId others = d.binary(
      BinaryOp::Sub, d.binary(BinaryOp::Sub, d.ref(em.groups), d.number(1)), d.ref(em.first));
  out.push_back(d.let(
      em.iterations,
      d.binary(BinaryOp::Add, d.binary(BinaryOp::Div, others, d.ref(em.stride)), d.number(1))));
  for (const auto& [i, u] : em.a.uses) {
    const LocalId local{i};
    if (u.storage != StorageClass::Slot && u.storage != StorageClass::Uniform) continue;
    if (d.c.array_counts[i] != 0) {
      out.push_back(d.stmt(DeclareArray{local}, d.p.loc(local)));
      continue;
    }
    d.p.locals[i].kind = Local::Kind::Var;
    out.push_back(d.let(local, d.zero(d.type_of(local))));
    if (const auto kept = em.place.registers.find(i); kept != em.place.registers.end())
      for (const LocalId own : kept->second) out.push_back(d.let(own, d.zero(d.type_of(local))));
  }
  return out;
}

bool is_of_first_lane(const Emission& em, const If& s) {
  const Draft& d = em.d;
  const auto* equal = std::get_if<Binary>(&d.p[s.condition]);
  if (equal == nullptr || equal->op != BinaryOp::Eq || !d.p.items(s.else_block).empty())
    return false;
  const auto* ref = std::get_if<LocalRef>(&d.p[equal->left]);
  const auto zero = check::evaluate_constant(d.c, equal->right);
  return ref != nullptr && ref->local == em.lane_of_source && zero && zero->bits == 0;
}

bool runs_once(const Emission& em, StmtId id, std::set<uint32_t>& seen) {
  const Draft& d = em.d;
  const auto may_write = [&](LocalId local) {
    return storage_of(em.a, local) == StorageClass::Uniform;
  };
  const auto block = [&](Block b) {
    std::set<uint32_t> inner = seen;
    return std::ranges::all_of(d.p.items(b), [&](StmtId s) { return runs_once(em, s, inner); });
  };
  return match(
      d.p[id],
      [&](const Let& x) {
        if (!reads_once(em, x.value, seen)) return false;
        if (may_write(x.local)) return true;
        if (storage_of(em.a, x.local) != StorageClass::Register ||
            em.a.uses.at(x.local.value).assigns != 0)
          return false;
        seen.insert(x.local.value);
        return true;
      },
      [&](const Assign& x) { return may_write(x.local) && reads_once(em, x.value, seen); },
      [&](const Store& x) {
        return !x.op && x.memory.kind == Memory::Kind::Buffer && !d.is_shared(x.memory) &&
               reads_once(em, x.index, seen) && reads_once(em, x.value, seen);
      },
      [&](const Eval& x) {
        const auto* atomic = std::get_if<Atomic>(&d.p[x.value]);
        return atomic != nullptr && atomic->op == AtomicOp::Store && !d.is_shared(atomic->memory) &&
               reads_once(em, atomic->index, seen) && reads_once(em, atomic->args[0], seen);
      },
      [&](const If& x) {
        return (reads_once(em, x.condition, seen) || is_of_first_lane(em, x)) &&
               block(x.then_block) && block(x.else_block);
      },
      [](const DeclareArray&) { return false; }, [](const For&) { return false; },
      [](const While&) { return false; }, [](const Break&) { return false; },
      [](const Continue&) { return false; }, [](const Return&) { return false; },
      [](const Nested&) { return false; }, [](const Region&) { return false; },
      [](const Barrier&) { return false; }, [](const Fixpoint&) { return false; },
      [](const AsyncCopy&) { return false; }, [](const Wait&) { return false; },
      [](const Trap&) { return false; }, [](const Resume&) { return false; },
      [](const Collective&) { return false; }, [](const Swap&) { return false; },
      [](const Print&) { return false; }, [](const Assert&) { return false; });
}

// A statement that runs once for all iterations.
void emit_once(Emission& em, StmtId id, StmtList& out) {
  Draft& d = em.d;
  const auto* branch = std::get_if<If>(&d.p[id]);
  if (branch == nullptr || !is_of_first_lane(em, *branch)) return rewrite(em, id, out);
  if (!em.first_lane.valid())
    em.first_lane = d.local(Local::Kind::Let, "first_lane", Type::Bool, Level::Lane);
  const auto items = d.p.items(branch->then_block);
  StmtList body;
  for (const StmtId inner : StmtList(items.begin(), items.end())) emit_once(em, inner, body);
  out.push_back(d.when(
      mutated(Mutation::PersistentLaneZeroNever) ? d.boolean(false) : d.ref(em.first_lane), body));
}

void iterate(Emission& em, uint32_t phase, std::span<const StmtId> items, StmtList& out) {
  Draft& d = em.d;
  std::map<uint32_t, LocalId> before;
  const uint32_t width = interleave_width(em, items);
  const Level level = em.place.workgroups_per_block == 1 ? Level::Workgroup : Level::Lane;
  if (em.place.unrolled_iterations == 0) {
    if (width > 1) return iterate_interleaved(em, phase, items, width, out);
    name_ids(em);
    StmtList body = {name_group(em, d.ref(em.now.number))};
    const LocalId number = em.now.number;
    emit_iteration(em, phase, items, std::nullopt, before, out, body);
    For loop;
    loop.variable = number;
    loop.first = d.number(0);
    loop.last = d.ref(em.iterations);
    loop.body = d.block(body);
    out.push_back(d.stmt(loop, {}, level));
    return;
  }
  for (uint32_t t = 0; t < em.place.unrolled_iterations;) {
    const uint32_t count = std::min(width, em.place.unrolled_iterations - t);
    if (count > 1) {
      const StmtList body = interleave(em, phase, items, count, {.number = t}, before, out);
      out.push_back(d.stmt(Nested{d.block(body)}));
    } else {
      name_ids(em);
      StmtList body = {name_group(em, d.number(t))};
      emit_iteration(em, phase, items, t, before, out, body);
      // Every lane has a first one.
      out.push_back(t == 0
                        ? d.stmt(Nested{d.block(body)})
                        : d.when(d.binary(BinaryOp::Lt, d.number(t), d.ref(em.iterations)), body));
    }
    t += count;
  }
}

void emit_phase(Emission& em, const Part& part, StmtList& out) {
  const std::span<const StmtId> items = part.items;
  std::set<uint32_t> seen;
  size_t begin = 0;
  while (begin < items.size() && runs_once(em, items[begin], seen)) ++begin;
  // From the end: what is declared in the iterations is not seen after them.
  size_t end = items.size();
  while (end > begin) {
    std::set<uint32_t> after = seen;
    if (!std::ranges::all_of(items.subspan(end - 1),
                             [&](StmtId s) { return runs_once(em, s, after); }))
      break;
    --end;
  }
  for (const StmtId id : items.first(begin)) emit_once(em, id, out);
  // What every phase computes again for itself needs no iterations of its own.
  const std::span<const StmtId> rest = items.subspan(begin, end - begin);
  const bool idle = std::ranges::all_of(rest, [&](StmtId id) {
    const auto* let = std::get_if<Let>(&em.d.p[id]);
    return let != nullptr && storage_of(em.a, let->local) == StorageClass::Rematerialised;
  });
  if (!idle) iterate(em, part.phase, rest, out);
  for (const StmtId id : items.subspan(end)) emit_once(em, id, out);
}

StmtList emit_around(Emission& em, const std::vector<Part>& parts) {
  Draft& d = em.d;
  StmtList out;
  for (const Part& part : parts) {
    if (!part.stmt.valid()) {
      emit_phase(em, part, out);
      continue;
    }
    std::vector<ExprId> operands;
    for (const ExprId e : d.operands(part.stmt)) operands.push_back(rewrite(em, e));
    StmtId copy = operands.empty() ? part.stmt : d.with_operands(part.stmt, operands);
    const bool loop = std::holds_alternative<For>(d.p[part.stmt]) ||
                      std::holds_alternative<While>(d.p[part.stmt]);
    std::vector<StmtList> blocks;
    em.loops += loop ? 1 : 0;
    for (const std::vector<Part>& block : part.blocks) blocks.push_back(emit_around(em, block));
    em.loops -= loop ? 1 : 0;
    if (!blocks.empty()) copy = d.with_blocks(copy, blocks);
    out.push_back(copy);
  }
  return out;
}

}  // namespace

StmtList emit(const EmitInput& input) {
  Emission em(input);
  Draft& d = em.d;
  const auto fresh = [&](Local::Kind kind, std::string_view name, Level level,
                         Type type = Type::U32) { return d.local(kind, name, type, level); };
  using Kind = Local::Kind;
  const Level level = em.place.workgroups_per_block == 1 ? Level::Workgroup : Level::Lane;
  for (LocalId& n : em.num) n = fresh(Kind::Let, "num", Level::Grid);
  em.groups = fresh(Kind::Let, "groups", Level::Grid);
  em.is_row = fresh(Kind::Let, "is_row", Level::Grid, Type::Bool);
  em.first = fresh(Kind::Let, "first", level);
  em.stride = fresh(Kind::Let, "stride", Level::Grid);
  em.iterations = fresh(Kind::Let, "turns", level);

  StmtList out = start(em);
  const StmtList body = emit_around(em, em.a.parts);
  if (em.first_lane.valid()) {
    const ExprId in_group =
        d.binary(BinaryOp::Rem, lane_in_group(d), d.number(d.lanes_per_group()));
    out.push_back(
        d.let(em.first_lane,
              d.binary(BinaryOp::LogicalAnd, d.binary(BinaryOp::Eq, d.ref(em.first), d.number(0)),
                       d.binary(BinaryOp::Eq, in_group, d.number(0)))));
  }
  if (em.backwards.valid()) out.push_back(d.let(em.backwards, d.boolean(false)));
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

}  // namespace vyre::plan::persistent
