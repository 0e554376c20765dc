// SPDX-License-Identifier: Apache-2.0
// A turn of a folded segment: what it keeps for the next one, its ids, and its statements with
// them.
#include <algorithm>

#include "plan/fold.hpp"

namespace vyre::plan {

using namespace ir;

// ---- what turns keep

void Folder::declare_again(LocalId local, std::set<uint32_t>& declared, StmtList& out) {
  if (!declared.insert(local.value).second) return;
  const ExprId value = view_.uses.at(local.value).value;
  std::vector<LocalId> needed;
  for_each_expr(d_.p, value, [&](ExprId e) {
    if (const auto* ref = std::get_if<LocalRef>(&d_.p[e])) needed.push_back(ref->local);
  });
  for (const LocalId other : needed)
    if (home(other) == Home::Again || home(other) == Home::Inside)
      declare_again(other, declared, out);
  rewrite(d_.stmt(Let{local, value}, d_.p.loc(local), d_.level_of(local)), out);
}

// Of a value among those of its lane, or of an element of an array.
ExprId Folder::slot_index(const SlotPlace& slot, LocalId element) {
  now_.uses_lane = true;
  const ExprId lane = d_.ref(now_.lane);
  if (slot.width == 1) return lane;
  const Type type = wide_index_ ? Type::U64 : Type::U32;
  const auto place = [&](ExprId row, ExprId rows, ExprId in_row) {
    return d_.binary(BinaryOp::Add, d_.binary(BinaryOp::Mul, d_.cast(type, row), rows), in_row);
  };
  if (slot.width != 0)
    return place(lane, d_.number(slot.width, type), d_.number(slot.element, type));
  const ExprId lanes = d_.binary(BinaryOp::Mul, d_.ref(groups_), d_.number(d_.lanes_per_group()));
  return place(d_.ref(element), d_.cast(type, lanes), d_.cast(type, lane));
}

ExprId Folder::in_slot(LocalId local, LocalId element) {
  const SlotPlace& slot = slots_.at(local.value);
  return d_.load(Memory::of(slot.buffer), slot_index(slot, element), true);
}

StmtId Folder::to_slot(LocalId local, ExprId value, LocalId element) {
  const SlotPlace& slot = slots_.at(local.value);
  return d_.store(Memory::of(slot.buffer), slot_index(slot, element), value);
}

void Folder::load_slot(LocalId local, std::optional<uint32_t> written, StmtList& out) {
  if (written)
    out.push_back(d_.assign(local, d_.ref(kept_.at(local.value)[*written])));
  else if (d_.c.array_counts[local.index()] == 0)
    out.push_back(d_.assign(local, in_slot(local)));
  else
    out.push_back(d_.over_array(local, [&](LocalId k) {
      return StmtList{d_.store(Memory::of(local), d_.ref(k), in_slot(local, k))};
    }));
}

void Folder::save_slot(LocalId local, std::optional<uint32_t> written, StmtList& out) {
  if (written)
    out.push_back(d_.assign(kept_.at(local.value)[*written], d_.ref(local)));
  else if (d_.c.array_counts[local.index()] == 0)
    out.push_back(to_slot(local, d_.ref(local)));
  else
    out.push_back(d_.over_array(local, [&](LocalId k) {
      return StmtList{to_slot(local, d_.load(Memory::of(local), d_.ref(k), true), k)};
    }));
}

// All lanes of the workgroup, each its share of the elements.
void Folder::copy_shared(BufferId buffer, bool save, StmtList& out) {
  const uint32_t count = *d_.c.buffers[buffer.index()].constant_count;
  BufferId& kept = memory_.shared[buffer.value];
  if (!kept.valid()) {
    Hidden hidden;
    hidden.kind = Hidden::Kind::Shared;
    hidden.name = "kept_" + d_.p.buffers[buffer.index()].name;
    hidden.element = d_.p.buffers[buffer.index()].element;
    hidden.extent = Hidden::Extent::PerWorkgroup;
    hidden.count = count;
    hidden.like = buffer;
    kept = d_.add_hidden(std::move(hidden));
  }
  const LocalId i = d_.local(Local::Kind::For, "i", Type::U32, Level::Lane);
  const Type type = wide_index_ ? Type::U64 : Type::U32;
  const ExprId place =
      d_.binary(BinaryOp::Add,
                d_.binary(BinaryOp::Mul, d_.cast(type, d_.ref(now_.group)), d_.number(count, type)),
                d_.cast(type, d_.ref(i)));
  const Memory from = Memory::of(save ? buffer : kept);
  const Memory to = Memory::of(save ? kept : buffer);
  const ExprId value = d_.load(from, save ? d_.ref(i) : place, true);
  For loop;
  loop.variable = i;
  loop.first = d_.lane_in_group();
  loop.last = d_.number(count);
  loop.step = d_.number(d_.lanes_per_group());
  loop.body = d_.block({d_.store(to, save ? place : d_.ref(i), value)});
  out.push_back(d_.stmt(loop));
}

// ---- ids

StmtList Folder::ids() {
  StmtList out;
  const auto add = [&](LocalId local, ExprId value) { out.push_back(d_.let(local, value)); };
  const auto workgroup = [&](uint32_t axis) { return d_.number(size_[axis]); };
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if (!now_.gid[axis].used) continue;
    now_.wid[axis].used = true;
    if (together_ != 1) now_.lid[axis].used = true;
  }
  if (together_ != 1) {
    add(now_.in_group,
        d_.binary(BinaryOp::Rem, d_.builtin(Builtin::Lid), d_.number(d_.lanes_per_group())));
    const bool row = size_[1] == 1 && size_[2] == 1;
    if (now_.lid[0].used)
      add(now_.lid[0].local, row ? d_.ref(now_.in_group)
                                 : d_.binary(BinaryOp::Rem, d_.ref(now_.in_group), workgroup(0)));
    if (now_.lid[1].used)
      add(now_.lid[1].local,
          d_.binary(BinaryOp::Rem, d_.binary(BinaryOp::Div, d_.ref(now_.in_group), workgroup(0)),
                    workgroup(1)));
    if (now_.lid[2].used)
      add(now_.lid[2].local,
          d_.binary(BinaryOp::Div, d_.ref(now_.in_group), d_.number(size_[0] * size_[1])));
  }
  // Divisions only where the grid has several rows.
  StmtList split;
  const auto row_of = [&] { return d_.binary(BinaryOp::Div, d_.ref(now_.group), d_.ref(num_[0])); };
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if (!now_.wid[axis].used) continue;
    add(now_.wid[axis].local, axis == 0 ? d_.ref(now_.group) : d_.number(0));
    const ExprId value = axis == 0   ? d_.binary(BinaryOp::Rem, d_.ref(now_.group), d_.ref(num_[0]))
                         : axis == 1 ? d_.binary(BinaryOp::Rem, row_of(), d_.ref(num_[1]))
                                     : d_.binary(BinaryOp::Div, row_of(), d_.ref(num_[1]));
    split.push_back(d_.assign(now_.wid[axis].local, value));
  }
  if (!split.empty() && !row_) out.push_back(d_.when(d_.negate(d_.ref(is_row_)), split));
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if (!now_.gid[axis].used) continue;
    const ExprId lid =
        together_ == 1 ? d_.builtin(Builtin::Lid, axis) : d_.ref(now_.lid[axis].local);
    const ExprId base = d_.binary(BinaryOp::Mul, d_.ref(now_.wid[axis].local), workgroup(axis));
    add(now_.gid[axis].local, d_.binary(BinaryOp::Add, base, lid));
  }
  if (now_.uses_lane)
    add(now_.lane,
        d_.binary(BinaryOp::Add,
                  d_.binary(BinaryOp::Mul, d_.ref(now_.group), d_.number(d_.lanes_per_group())),
                  together_ == 1 ? d_.lane_in_group() : d_.ref(now_.in_group)));
  return out;
}

LocalId Folder::named(LocalId local) const {
  const auto found = now_.names.find(local.value);
  return found == now_.names.end() ? local : found->second;
}

Memory Folder::named(Memory memory) const {
  return memory.kind == Memory::Kind::Local ? Memory::of(named(memory.local())) : memory;
}

void Folder::declare(LocalId local) {
  if (!declared_.insert(local.value).second) now_.names[local.value] = d_.copy_of(local);
}

ExprId Folder::rewrite(ExprId id) {
  if (const auto early = now_.early.find(id.value); early != now_.early.end())
    return d_.ref(early->second);
  if (const auto* ref = std::get_if<LocalRef>(&d_.p[id])) {
    const LocalId local = named(ref->local);
    return local == ref->local ? id : d_.ref(local);
  }
  if (const auto* b = std::get_if<BuiltinRef>(&d_.p[id])) {
    const auto of = [&](Axis& axis) {
      axis.used = true;
      return d_.ref(axis.local);
    };
    switch (b->builtin) {
      case Builtin::NumWorkgroups: return d_.ref(num_[b->axis]);
      case Builtin::Wid: return of(now_.wid[b->axis]);
      case Builtin::Gid: return of(now_.gid[b->axis]);
      case Builtin::Lid: return together_ == 1 ? id : of(now_.lid[b->axis]);
      case Builtin::WorkgroupSize: return together_ == 1 ? id : d_.number(size_[b->axis]);
      default: return id;
    }
  }
  std::vector<ExprId> operands = d_.operands(id);
  bool changed = false;
  for (ExprId& e : operands) {
    const ExprId before = e;
    e = rewrite(e);
    changed |= !(e == before);
  }
  bool renamed = false;
  for_each_memory(d_.p, d_.p[id],
                  [&](const MemoryUse& use) { renamed |= !(named(use.memory) == use.memory); });
  if (!changed && !renamed) return id;
  const ExprId copy = d_.with_operands(id, operands);
  if (renamed) replace_memories(d_.p, d_.p.exprs[copy.index()], [&](Memory m) { return named(m); });
  return copy;
}

bool Folder::is_vote(const Stmt& s) const {
  const auto* eval = std::get_if<Eval>(&s);
  const auto* store = eval != nullptr ? std::get_if<Atomic>(&d_.p[eval->value]) : nullptr;
  if (store == nullptr || store->op != AtomicOp::Store ||
      !(store->memory == Memory::of(memory_.meeting) ||
        store->memory == Memory::of(memory_.control)))
    return false;
  const auto value = check::evaluate_constant(d_.c, store->args[0]);
  return value && value->bits == 1;
}

void Folder::rewrite(StmtId id, StmtList& out) {
  const Stmt s = d_.p[id];
  const auto outside = [&](LocalId local) {
    return home(local) == Home::Slot || home(local) == Home::Uniform;
  };
  std::vector<ExprId> operands;
  const auto* let = std::get_if<Let>(&s);
  if (let != nullptr && let->local == lane_of_source_ && in_turn_) {
    now_.uses_lane = true;
    operands = {d_.ref(now_.lane)};
  } else {
    for (const ExprId e : d_.operands(id)) operands.push_back(rewrite(e));
  }
  if (let != nullptr && outside(let->local)) {
    out.push_back(d_.stmt(Assign{named(let->local), std::nullopt, operands[0]}, d_.p.loc(id),
                          d_.c.flow_levels[id.index()]));
    return;
  }
  const auto* array = std::get_if<DeclareArray>(&s);
  if (array != nullptr && outside(array->local)) {
    const LocalId local = array->local;
    out.push_back(d_.over_array(local, [&](LocalId k) {
      return StmtList{d_.store(Memory::of(local), d_.ref(k), d_.zero(d_.type_of(local)))};
    }));
    return;
  }
  if (let != nullptr) declare(let->local);
  if (array != nullptr) declare(array->local);
  if (const auto* loop = std::get_if<For>(&s)) declare(loop->variable);
  StmtId copy = d_.with_operands(id, operands);
  // Words of votes are cleared at least one barrier before they are used: nobody sees an old one.
  if (in_turn_ && is_vote(s)) {
    const auto store = std::get<Atomic>(d_.p[operands[0]]);
    const ExprId now = d_.load(store.memory, d_.clone(store.index), true);
    out.push_back(d_.when(d_.binary(BinaryOp::Eq, now, d_.number(0)), {copy}));
    return;
  }
  copy = d_.map_blocks(copy, [&](Block b) {
    StmtList list;
    const auto items = d_.p.items(b);
    for (const StmtId inner : StmtList(items.begin(), items.end())) rewrite(inner, list);
    return list;
  });
  Stmt& renamed = d_.p.stmts[copy.index()];
  replace_locals(renamed, [&](LocalId local) { return named(local); });
  replace_memories(d_.p, renamed, [&](Memory m) { return named(m); });
  out.push_back(copy);
}

}  // namespace vyre::plan
