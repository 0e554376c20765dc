// SPDX-License-Identifier: Apache-2.0
// Roles of memories, and the indices that keep to them.
#include <algorithm>
#include <array>

#include "generator/maker.hpp"

namespace vyre::generator {

using namespace ir;

namespace {

// Elements of a workgroup only, without shared memory.
bool within_group(const State& state) {
  return state.role == Role::Group ||
         (state.role == Role::Own && state.shift == 0 && !state.mirror);
}

}  // namespace

// The barrier that must lie between the two; none if they are the same.
std::optional<Scope> Maker::scope_between(const Mem& mem, const State& from, const State& to) {
  if (from == to) return std::nullopt;
  if (from.role == Role::Subgroup && to.role == Role::Subgroup) return Scope::Subgroup;
  if (mem.shared || (within_group(from) && within_group(to))) return Scope::Workgroup;
  return Scope::Grid;
}

State Maker::any_state(const Mem& mem, Scope scope, const State& now) {
  static constexpr std::array kCommutative = {AtomicOp::Add, AtomicOp::Sub, AtomicOp::Min,
                                              AtomicOp::Max, AtomicOp::And, AtomicOp::Or,
                                              AtomicOp::Xor};
  if (mem.constant || now.pinned) return now;
  for (int tries = 0; tries < 8; ++tries) {
    State next;
    const uint32_t span = mem.shared ? group_lanes_ : lanes_;
    switch (rnd_.below(10)) {
      case 0:
      case 1:
      case 2:
        next.role = Role::Own;
        next.shift = rnd_.one_in(2) ? 0 : static_cast<uint32_t>(rnd_.below(span));
        next.mirror = rnd_.one_in(5);
        break;
      case 3:
      case 4:
        next.role = mem.shared ? Role::Own : Role::Group;
        next.shift = static_cast<uint32_t>(rnd_.below(group_lanes_));
        break;
      case 5:
      case 6: next.role = Role::Read; break;
      case 7:
        next.role = Role::Accumulate;
        next.op = rnd_.pick(kCommutative);
        break;
      case 8:
        next.role = Role::Single;
        next.shift = static_cast<uint32_t>(rnd_.below(span));
        break;
      default:
        next.role = Role::Subgroup;
        next.shift = static_cast<uint32_t>(rnd_.below(4));
        break;
    }
    if (next.role == Role::Read && !mem.readable) continue;
    if (next.role == Role::Accumulate &&
        (!mem.atomics || !options_.atomics || !is_integer(mem.element)))
      continue;
    if (next.role == Role::Subgroup && (!mem.shared || !options_.subgroups)) continue;
    const auto needed = scope_between(mem, now, next);
    if (!needed || *needed <= scope) return next;
  }
  return now;
}

void Maker::reroll(Scope scope) {
  for (size_t i = 0; i < mems_.size(); ++i)
    if (!rnd_.one_in(3)) states_[i] = any_state(mems_[i], scope, states_[i]);
}

bool Maker::may_synchronise(Scope scope) const {
  switch (scope) {
    case Scope::Subgroup: return options_.subgroups && flow_ <= Level::Subgroup;
    case Scope::Workgroup: return options_.workgroup_barriers && flow_ <= Level::Workgroup;
    case Scope::Grid: return options_.grid_barriers && flow_ == Level::Grid && !copying_;
  }
  return false;
}

void Maker::emit_barrier(Scope scope) {
  if (scope == Scope::Grid && !in_fn_ && !swapped_.empty() && !rnd_.one_in(3)) {
    const size_t first = rnd_.below(swapped_.size());
    const size_t second = (first + 1 + rnd_.below(swapped_.size() - 1)) % swapped_.size();
    emit(Swap{Memory::of(swapped_[first]), Memory::of(swapped_[second])});
  } else {
    emit(Barrier{scope});
  }
  if (fn_ != nullptr) {
    fn_->has_grid_barrier = fn_->has_grid_barrier || scope == Scope::Grid;
    fn_->has_workgroup_barrier = fn_->has_workgroup_barrier || scope == Scope::Workgroup;
  }
  reroll(scope);
}

// Back to the roles at the start of a block, for those who come or go another way.
void Maker::restore(const std::vector<State>& entry) {
  std::optional<Scope> needed;
  for (size_t i = 0; i < states_.size(); ++i)
    if (const auto scope = scope_between(mems_[i], states_[i], entry[i]))
      needed = std::max(needed.value_or(*scope), *scope);
  if (!needed) return;
  Scope scope = *needed;
  const auto wider = [&] { return scope == Scope::Subgroup ? Scope::Workgroup : Scope::Grid; };
  if (!may_synchronise(scope) ||
      (rnd_.one_in(4) && scope != Scope::Grid && may_synchronise(wider())))
    scope = wider();
  emit_barrier(scope);
  states_ = entry;
}

bool Maker::owned(size_t mem) const {
  const Role role = states_[mem].role;
  return role == Role::Own || role == Role::Group || role == Role::Subgroup;
}

bool Maker::may_load(size_t mem) const {
  return mems_[mem].readable && (owned(mem) || states_[mem].role == Role::Read);
}

// ---- who a lane is

ExprId Maker::lane_id() {
  if (axes_ == 1 && (!lane_local_.valid() || rnd_.one_in(3)))
    return p_.add(BuiltinRef{Builtin::Gid, 0});
  if (lane_local_.valid()) return reference(lane_local_);
  return binary(
      {BinaryOp::Add, binary({BinaryOp::Mul, group_id(), u32(group_lanes_)}), local_id()});
}

ExprId Maker::local_id() {
  if (axes_ == 1 && (!local_local_.valid() || rnd_.one_in(3)))
    return p_.add(BuiltinRef{Builtin::Lid, 0});
  if (local_local_.valid()) return reference(local_local_);
  const auto of = [&](Builtin b, uint8_t axis) { return p_.add(BuiltinRef{b, axis}); };
  const ExprId rows = binary(
      {BinaryOp::Add, binary({BinaryOp::Mul, of(Builtin::Lid, 2), of(Builtin::WorkgroupSize, 1)}),
       of(Builtin::Lid, 1)});
  return binary({BinaryOp::Add, binary({BinaryOp::Mul, rows, of(Builtin::WorkgroupSize, 0)}),
                 of(Builtin::Lid, 0)});
}

ExprId Maker::group_id() {
  if (axes_ == 1 && (!group_local_.valid() || rnd_.one_in(3)))
    return p_.add(BuiltinRef{Builtin::Wid, 0});
  if (group_local_.valid()) return reference(group_local_);
  const auto of = [&](Builtin b, uint8_t axis) { return p_.add(BuiltinRef{b, axis}); };
  const ExprId rows = binary(
      {BinaryOp::Add, binary({BinaryOp::Mul, of(Builtin::Wid, 2), of(Builtin::NumWorkgroups, 1)}),
       of(Builtin::Wid, 1)});
  return binary({BinaryOp::Add, binary({BinaryOp::Mul, rows, of(Builtin::NumWorkgroups, 0)}),
                 of(Builtin::Wid, 0)});
}

// ---- indices

ExprId Maker::own_index(const Mem& mem, const State& state) {
  const auto turned = [&](ExprId id, uint32_t span) {
    if (state.shift != 0)
      id = binary({BinaryOp::Rem, binary({BinaryOp::Add, id, u32(state.shift)}), u32(span)});
    return state.mirror ? binary({BinaryOp::Sub, u32(span - 1), id}) : id;
  };
  ExprId index;
  switch (state.role) {
    case Role::Group:
      index = binary({BinaryOp::Add, binary({BinaryOp::Mul, group_id(), u32(group_lanes_)}),
                      turned(local_id(), group_lanes_)});
      break;
    case Role::Subgroup: {
      // The first lane of the subgroup, and from there around.
      const auto lane = [&] { return p_.add(BuiltinRef{Builtin::SubgroupLane, 0}); };
      const auto size = [&] { return p_.add(BuiltinRef{Builtin::SubgroupSize, 0}); };
      const ExprId first =
          binary({BinaryOp::Mul, p_.add(BuiltinRef{Builtin::SubgroupId, 0}), size()});
      index = binary(
          {BinaryOp::Add, first,
           binary({BinaryOp::Rem, binary({BinaryOp::Add, lane(), u32(state.shift)}), size()})});
      break;
    }
    case Role::Own:
    case Role::Read:
    case Role::Accumulate:
    case Role::Single:
    case Role::Closed:
      index = mem.shared ? turned(local_id(), group_lanes_) : turned(lane_id(), lanes_);
      break;
  }
  if (rnd_.one_in(8)) {
    static constexpr std::array kTypes = {Type::I32, Type::U64, Type::I64};
    if (const Type type = rnd_.pick(kTypes); has(type)) return p_.add(Cast{type, index});
  }
  return index;
}

ExprId Maker::own_index(size_t mem) {
  // In a function the index may come as a parameter.
  if (mems_[mem].memory.kind == Memory::Kind::Local && fn_ != nullptr &&
      states_[mem] == fn_entry_[mem])
    for (size_t i = 0; i + 1 < fn_->params.size(); ++i)
      if (fn_->params[i].memory && fn_->params[i].memory->memory == mems_[mem].memory &&
          fn_->params[i + 1].index_of_own)
        for (const LocalInfo& info : visible_)
          if (p_[info.id].name == p_[mems_[mem].memory.local()].name + "_at")
            return reference(info.id);
  return own_index(mems_[mem], states_[mem]);
}

// Any element, mostly one that exists.
ExprId Maker::any_index(Level level, uint32_t count) {
  static constexpr std::array kTypes = {Type::U32, Type::U32, Type::U32,
                                        Type::I32, Type::U64, Type::I64};
  Type type = rnd_.pick(kTypes);
  if (!has(type)) type = Type::U32;
  if (rnd_.one_in(8)) return expr(type, level, 2);
  if (rnd_.one_in(16)) return literal(type);
  if (rnd_.one_in(3)) return u32(rnd_.below(count + (rnd_.one_in(6) ? 2 : 0) + 1ULL));
  if (level == Level::Lane && rnd_.one_in(3))
    return binary({BinaryOp::Add, lane_id(), u32(rnd_.below(3))});
  // Modulo the size, or a little more.
  const uint64_t modulus = count + (rnd_.one_in(6) ? 1ULL : 0ULL);
  return binary({BinaryOp::Rem, expr(Type::U32, level, 2), u32(std::max<uint64_t>(modulus, 1))});
}

}  // namespace vyre::generator
