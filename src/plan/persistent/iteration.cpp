// SPDX-License-Identifier: Apache-2.0
// One iteration over virtual workgroups: its ids, what it keeps for the next phase, and the
// statements with them.
#include <algorithm>

#include "plan/mutation.hpp"
#include "plan/persistent/emission.hpp"

namespace vyre::plan::persistent {

using namespace ir;

void name_ids(Emission& em) {
  using Kind = Local::Kind;
  const Level level = em.place.workgroups_per_block == 1 ? Level::Workgroup : Level::Lane;
  const auto fresh = [&](Kind kind, std::string_view name, Level of) {
    return em.d.local(kind, name, Type::U32, of);
  };
  em.now = {};
  em.now.number = fresh(Kind::For, "turn", level);
  em.now.group = fresh(Kind::Let, "turn_group", level);
  em.now.lane = fresh(Kind::Let, "turn_lane", Level::Lane);
  em.now.in_group = fresh(Kind::Let, "in_group", Level::Lane);
  for (Iteration::Axis& a : em.now.wid) a = {fresh(Kind::Var, "turn_wid", level), false};
  for (Iteration::Axis& a : em.now.gid) a = {fresh(Kind::Let, "turn_gid", Level::Lane), false};
  for (Iteration::Axis& a : em.now.lid) a = {fresh(Kind::Let, "turn_lid", Level::Lane), false};
}

StmtList declare_ids(Emission& em) {
  Draft& d = em.d;
  StmtList out;
  const auto add = [&](LocalId local, ExprId value) { out.push_back(d.let(local, value)); };
  const auto workgroup = [&](uint32_t axis) { return d.number(em.size[axis]); };
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if (!em.now.gid[axis].used) continue;
    em.now.wid[axis].used = true;
    if (em.place.workgroups_per_block != 1) em.now.lid[axis].used = true;
  }
  if (em.place.workgroups_per_block != 1) {
    add(em.now.in_group,
        d.binary(BinaryOp::Rem, d.builtin(Builtin::Lid), d.number(d.lanes_per_group())));
    const bool row = em.size[1] == 1 && em.size[2] == 1;
    if (em.now.lid[0].used)
      add(em.now.lid[0].local, row ? d.ref(em.now.in_group)
                                   : d.binary(BinaryOp::Rem, d.ref(em.now.in_group), workgroup(0)));
    if (em.now.lid[1].used)
      add(em.now.lid[1].local,
          d.binary(BinaryOp::Rem, d.binary(BinaryOp::Div, d.ref(em.now.in_group), workgroup(0)),
                   workgroup(1)));
    if (em.now.lid[2].used)
      add(em.now.lid[2].local,
          d.binary(BinaryOp::Div, d.ref(em.now.in_group), d.number(em.size[0] * em.size[1])));
  }
  // Divisions only where the grid has several rows.
  StmtList split;
  const auto row_of = [&] {
    return d.binary(BinaryOp::Div, d.ref(em.now.group), d.ref(em.num[0]));
  };
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if (!em.now.wid[axis].used) continue;
    add(em.now.wid[axis].local, axis == 0 ? d.ref(em.now.group) : d.number(0));
    const ExprId value = axis == 0 ? d.binary(BinaryOp::Rem, d.ref(em.now.group), d.ref(em.num[0]))
                         : axis == 1 ? d.binary(BinaryOp::Rem, row_of(), d.ref(em.num[1]))
                                     : d.binary(BinaryOp::Div, row_of(), d.ref(em.num[1]));
    split.push_back(d.assign(em.now.wid[axis].local, value));
  }
  if (!split.empty() && !em.is_1d) out.push_back(d.when(d.negate(d.ref(em.is_row)), split));
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if (!em.now.gid[axis].used) continue;
    const ExprId lid = em.place.workgroups_per_block == 1 ? d.builtin(Builtin::Lid, axis)
                                                          : d.ref(em.now.lid[axis].local);
    const ExprId base = d.binary(BinaryOp::Mul, d.ref(em.now.wid[axis].local), workgroup(axis));
    add(em.now.gid[axis].local, d.binary(BinaryOp::Add, base, lid));
  }
  if (em.now.uses_lane)
    add(em.now.lane,
        d.binary(BinaryOp::Add,
                 d.binary(BinaryOp::Mul, d.ref(em.now.group), d.number(d.lanes_per_group())),
                 em.place.workgroups_per_block == 1 ? lane_in_group(d) : d.ref(em.now.in_group)));
  return out;
}

LocalId named(const Emission& em, LocalId local) {
  const auto found = em.now.names.find(local.value);
  return found == em.now.names.end() ? local : found->second;
}

namespace {

Memory named(const Emission& em, Memory memory) {
  return memory.kind == Memory::Kind::Local ? Memory::of(named(em, memory.local())) : memory;
}

}  // namespace

void declare(Emission& em, LocalId local) {
  if (!em.declared.insert(local.value).second) em.now.names[local.value] = em.d.copy_of(local);
}

ExprId rewrite(Emission& em, ExprId id) {
  Draft& d = em.d;
  if (const auto hoisted = em.now.hoisted.find(id.value); hoisted != em.now.hoisted.end())
    return d.ref(hoisted->second);
  if (const auto* ref = std::get_if<LocalRef>(&d.p[id])) {
    const LocalId local = named(em, ref->local);
    return local == ref->local ? id : d.ref(local);
  }
  if (const auto* b = std::get_if<BuiltinRef>(&d.p[id])) {
    const auto of = [&](Iteration::Axis& axis) {
      axis.used = true;
      return d.ref(axis.local);
    };
    switch (b->builtin) {
      case Builtin::NumWorkgroups: return d.ref(em.num[b->axis]);
      case Builtin::Wid: return of(em.now.wid[b->axis]);
      case Builtin::Gid: return of(em.now.gid[b->axis]);
      case Builtin::Lid: return em.place.workgroups_per_block == 1 ? id : of(em.now.lid[b->axis]);
      case Builtin::WorkgroupSize:
        return em.place.workgroups_per_block == 1 ? id : d.number(em.size[b->axis]);
      default: return id;
    }
  }
  std::vector<ExprId> operands = d.operands(id);
  bool changed = false;
  for (ExprId& e : operands) {
    const ExprId before = e;
    e = rewrite(em, e);
    changed |= !(e == before);
  }
  bool renamed = false;
  for_each_memory(d.p, d.p[id],
                  [&](const MemoryUse& use) { renamed |= !(named(em, use.memory) == use.memory); });
  if (!changed && !renamed) return id;
  const ExprId copy = d.with_operands(id, operands);
  if (renamed)
    replace_memories(d.p, d.p.exprs[copy.index()], [&](Memory m) { return named(em, m); });
  return copy;
}

namespace {

bool is_vote(const Emission& em, const Stmt& s) {
  const Draft& d = em.d;
  const auto* eval = std::get_if<Eval>(&s);
  const auto* store = eval != nullptr ? std::get_if<Atomic>(&d.p[eval->value]) : nullptr;
  if (store == nullptr || store->op != AtomicOp::Store ||
      !(store->memory == Memory::of(em.memory.votes) ||
        store->memory == Memory::of(em.memory.control)))
    return false;
  const auto value = check::evaluate_constant(d.c, store->args[0]);
  return value && value->bits == 1;
}

}  // namespace

void rewrite(Emission& em, StmtId id, StmtList& out) {
  Draft& d = em.d;
  const Stmt s = d.p[id];
  const auto outside = [&](LocalId local) {
    return storage_of(em.a, local) == StorageClass::Slot ||
           storage_of(em.a, local) == StorageClass::Uniform;
  };
  std::vector<ExprId> operands;
  const auto* let = std::get_if<Let>(&s);
  if (let != nullptr && let->local == em.lane_of_source && em.in_iteration) {
    em.now.uses_lane = true;
    operands = {d.ref(em.now.lane)};
  } else {
    for (const ExprId e : d.operands(id)) operands.push_back(rewrite(em, e));
  }
  if (let != nullptr && outside(let->local)) {
    out.push_back(d.stmt(Assign{named(em, let->local), std::nullopt, operands[0]}, d.p.loc(id),
                         d.c.flow_levels[id.index()]));
    return;
  }
  const auto* array = std::get_if<DeclareArray>(&s);
  if (array != nullptr && outside(array->local)) {
    const LocalId local = array->local;
    out.push_back(over_array(d, local, [&](LocalId k) {
      return StmtList{d.store(Memory::of(local), d.ref(k), d.zero(d.type_of(local)))};
    }));
    return;
  }
  if (let != nullptr) declare(em, let->local);
  if (array != nullptr) declare(em, array->local);
  if (const auto* loop = std::get_if<For>(&s)) declare(em, loop->variable);
  StmtId copy = d.with_operands(id, operands);
  // Words of votes are cleared at least one barrier before they are used: no lane reads an old one.
  if (em.in_iteration && is_vote(em, s)) {
    const auto store = std::get<Atomic>(d.p[operands[0]]);
    const ExprId now = d.load(store.memory, d.clone(store.index), true);
    out.push_back(d.when(d.binary(BinaryOp::Eq, now, d.number(0)), {copy}));
    return;
  }
  copy = d.map_blocks(copy, [&](Block b) {
    StmtList list;
    const auto items = d.p.items(b);
    for (const StmtId inner : StmtList(items.begin(), items.end())) rewrite(em, inner, list);
    return list;
  });
  Stmt& renamed = d.p.stmts[copy.index()];
  replace_locals(renamed, [&](LocalId local) { return named(em, local); });
  replace_memories(d.p, renamed, [&](Memory m) { return named(em, m); });
  out.push_back(copy);
}

void rematerialise(Emission& em, LocalId local, std::set<uint32_t>& declared, StmtList& out) {
  Draft& d = em.d;
  if (!declared.insert(local.value).second) return;
  const ExprId value = em.a.uses.at(local.value).value;
  std::vector<LocalId> needed;
  for_each_expr(d.p, value, [&](ExprId e) {
    if (const auto* ref = std::get_if<LocalRef>(&d.p[e])) needed.push_back(ref->local);
  });
  for (const LocalId other : needed)
    if (storage_of(em.a, other) == StorageClass::Rematerialised ||
        storage_of(em.a, other) == StorageClass::Register)
      rematerialise(em, other, declared, out);
  rewrite(em, d.stmt(Let{local, value}, d.p.loc(local), d.level_of(local)), out);
}

namespace {

// Of a value among those of its lane, or of an element of an array.
ExprId slot_index(Emission& em, const SlotPlace& slot, LocalId element) {
  Draft& d = em.d;
  em.now.uses_lane = true;
  const ExprId lane = d.ref(em.now.lane);
  if (slot.width == 1) return lane;
  const Type type = em.wide_index ? Type::U64 : Type::U32;
  const auto place = [&](ExprId row, ExprId rows, ExprId in_row) {
    return d.binary(BinaryOp::Add, d.binary(BinaryOp::Mul, d.cast(type, row), rows), in_row);
  };
  if (slot.width != 0) return place(lane, d.number(slot.width, type), d.number(slot.element, type));
  const ExprId lanes = d.binary(BinaryOp::Mul, d.ref(em.groups), d.number(d.lanes_per_group()));
  return place(d.ref(element), d.cast(type, lanes), d.cast(type, lane));
}

}  // namespace

ExprId in_slot(Emission& em, LocalId local, LocalId element) {
  const SlotPlace& slot = em.place.slots.at(local.value);
  return em.d.load(Memory::of(slot.buffer), slot_index(em, slot, element), true);
}

StmtId to_slot(Emission& em, LocalId local, ExprId value, LocalId element) {
  const SlotPlace& slot = em.place.slots.at(local.value);
  return em.d.store(Memory::of(slot.buffer), slot_index(em, slot, element), value);
}

namespace {

void load_slot(Emission& em, LocalId local, std::optional<uint32_t> unrolled, StmtList& out) {
  Draft& d = em.d;
  if (unrolled)
    out.push_back(d.assign(local, d.ref(em.place.registers.at(local.value)[*unrolled])));
  else if (d.c.array_counts[local.index()] == 0)
    out.push_back(d.assign(local, in_slot(em, local)));
  else
    out.push_back(over_array(d, local, [&](LocalId k) {
      return StmtList{d.store(Memory::of(local), d.ref(k), in_slot(em, local, k))};
    }));
}

void save_slot(Emission& em, LocalId local, std::optional<uint32_t> unrolled, StmtList& out) {
  Draft& d = em.d;
  if (unrolled)
    out.push_back(d.assign(em.place.registers.at(local.value)[*unrolled], d.ref(local)));
  else if (d.c.array_counts[local.index()] == 0)
    out.push_back(to_slot(em, local, d.ref(local)));
  else
    out.push_back(over_array(d, local, [&](LocalId k) {
      return StmtList{to_slot(em, local, d.load(Memory::of(local), d.ref(k), true), k)};
    }));
}

// All lanes of the workgroup, each its share of the elements.
void copy_shared(Emission& em, BufferId buffer, bool save, StmtList& out) {
  Draft& d = em.d;
  const uint32_t count = *d.c.buffers[buffer.index()].constant_count;
  BufferId& kept = em.memory.shared[buffer.value];
  if (!kept.valid()) {
    Hidden hidden;
    hidden.kind = Hidden::Kind::Shared;
    hidden.name = "kept_" + d.p.buffers[buffer.index()].name;
    hidden.element = d.p.buffers[buffer.index()].element;
    hidden.extent = Hidden::Extent::PerWorkgroup;
    hidden.count = count;
    hidden.like = buffer;
    kept = d.add_hidden(std::move(hidden));
  }
  const LocalId i = d.local(Local::Kind::For, "i", Type::U32, Level::Lane);
  const Type type = em.wide_index ? Type::U64 : Type::U32;
  const ExprId place =
      d.binary(BinaryOp::Add,
               d.binary(BinaryOp::Mul, d.cast(type, d.ref(em.now.group)), d.number(count, type)),
               d.cast(type, d.ref(i)));
  const Memory from = Memory::of(save ? buffer : kept);
  const Memory to = Memory::of(save ? kept : buffer);
  const ExprId value = d.load(from, save ? d.ref(i) : place, true);
  For loop;
  loop.variable = i;
  loop.first = lane_in_group(d);
  loop.last = d.number(count);
  loop.step = d.number(d.lanes_per_group());
  loop.body = d.block({d.store(to, save ? place : d.ref(i), value)});
  out.push_back(d.stmt(loop));
}

}  // namespace

void emit_iteration(Emission& em, uint32_t phase, std::span<const StmtId> items,
                    std::optional<uint32_t> unrolled, std::map<uint32_t, LocalId>& before,
                    StmtList& outside, StmtList& out) {
  Draft& d = em.d;
  em.in_iteration = true;
  const Mentioned mentioned = mentioned_in(d, items);
  StmtList restored;
  StmtList saved;
  std::set<uint32_t> declared;
  for (const auto& [i, u] : mentioned.locals)
    if (u.declared) declared.insert(i);
  for (const auto& [i, u] : mentioned.locals) {
    const LocalId local{i};
    switch (storage_of(em.a, local)) {
      case StorageClass::Rematerialised: rematerialise(em, local, declared, restored); break;
      case StorageClass::Uniform:
        // Every iteration starts from what held before the first one.
        if (u.written && !u.declared && !mutated(Mutation::PersistentUniformInPlace)) {
          const auto [it, fresh] = before.try_emplace(i, LocalId{});
          if (fresh) it->second = d.capture(d.ref(local), "before", Level::Grid, outside);
          restored.push_back(d.assign(local, d.ref(it->second)));
        }
        break;
      case StorageClass::Slot:
        // Without a slot there is no earlier value.
        if (em.a.live_across.contains(i) && em.a.values.at(phase).read.contains(i))
          load_slot(em, local, unrolled, restored);
        if (u.written && em.a.live_after.at(phase).contains(i) &&
            !mutated(Mutation::PersistentNotSaved))
          save_slot(em, local, unrolled, saved);
        break;
      case StorageClass::Register:
      case StorageClass::LoopVariable: break;
    }
  }
  StmtList body;
  for (const StmtId id : items) rewrite(em, id, body);
  StmtList from_memory;
  StmtList to_memory;
  for (const uint32_t buffer : mentioned.shared) {
    copy_shared(em, BufferId{buffer}, false, from_memory);
    copy_shared(em, BufferId{buffer}, true, to_memory);
  }
  const auto append = [&](const StmtList& list) {
    out.insert(out.end(), list.begin(), list.end());
  };
  append(declare_ids(em));
  append(from_memory);
  if (!mentioned.shared.empty()) out.push_back(d.barrier(Scope::Workgroup));
  append(restored);
  append(body);
  append(saved);
  if (!mentioned.shared.empty()) {
    out.push_back(d.barrier(Scope::Workgroup));
    append(to_memory);
    out.push_back(d.barrier(Scope::Workgroup));
  }
  em.in_iteration = false;
}

}  // namespace vyre::plan::persistent
