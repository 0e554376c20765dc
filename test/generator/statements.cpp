// SPDX-License-Identifier: Apache-2.0
// Statements that do not hold others: locals, stores, atomics, copies, collectives.
#include <algorithm>
#include <array>

#include "generator/maker.hpp"

namespace vyre::generator {

using namespace ir;

void Maker::emit(Stmt stmt) {
  items_.push_back(p_.add(std::move(stmt)));
  cost_ += multiplier_;
}

LocalId Maker::new_local(Local::Kind kind, std::string_view prefix, std::optional<Type> type) {
  return p_.add(Local{fresh(prefix), kind, type, {}});
}

// The numbers of the lane, as locals that the rest of the block can use.
void Maker::prologue() {
  lane_local_ = local_local_ = group_local_ = {};
  const auto name = [&](std::string_view prefix, Level level, ExprId value) {
    const LocalId id = new_local(Local::Kind::Let, prefix, std::nullopt);
    emit(Let{id, value});
    visible_.push_back({id, Type::U32, level, false, 0});
    return id;
  };
  if (axes_ == 1 && rnd_.one_in(3)) return;
  group_local_ = name("w", std::max(flow_, Level::Workgroup), group_id());
  local_local_ = name("l", Level::Lane, local_id());
  lane_local_ = name("g", Level::Lane, lane_id());
}

// ---- locals

void Maker::let_statement(bool mutable_local) {
  const Type type = any_type();
  const Level level = level_at_least(flow_);
  const bool declared = rnd_.one_in(2);
  ExprId id;
  if (declared && rnd_.one_in(5))
    id = literal(type, true);
  else
    id = value(type, level);
  const LocalId local = new_local(mutable_local ? Local::Kind::Var : Local::Kind::Let, "v",
                                  declared ? std::optional(type) : std::nullopt);
  emit(Let{local, id});
  visible_.push_back({local, type, level, mutable_local, 0});
  if (rnd_.one_in(3)) observe(visible_.back());
}

bool Maker::assign_statement() {
  std::vector<size_t> all;
  for (size_t i = 0; i < visible_.size(); ++i)
    if (visible_[i].assignable && visible_[i].array == 0 && visible_[i].level >= flow_ &&
        (i >= frozen_ || visible_[i].level == Level::Lane))
      all.push_back(i);
  if (all.empty()) return false;
  const LocalInfo info = visible_[rnd_.pick(all)];
  if (info.type == Type::Bool || rnd_.one_in(2)) {
    emit(Assign{info.id, std::nullopt, value(info.type, info.level)});
    return true;
  }
  static constexpr std::array kInteger = {
      BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem,
      BinaryOp::And, BinaryOp::Or,  BinaryOp::Xor, BinaryOp::Shl, BinaryOp::Shr};
  static constexpr std::array kFloat = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div};
  const BinaryOp op = is_float(info.type) ? rnd_.pick(kFloat) : rnd_.pick(kInteger);
  const ExprId operand = is_shift(op)     ? value(Type::U32, info.level)
                         : rnd_.one_in(4) ? operand_literal(info.type, op)
                                          : expr(info.type, info.level, 2);
  if (auto* whole = std::get_if<IntLiteral>(&p_.exprs[operand.index()]);
      whole && whole->magnitude == 0)
    whole->magnitude = 2;
  emit(Assign{info.id, op, operand});
  return true;
}

// A private array, or an element of one.
bool Maker::array_statement() {
  std::vector<size_t> all;
  for (size_t i = 0; i < visible_.size(); ++i)
    if (visible_[i].array != 0 && visible_[i].level >= flow_ &&
        (i >= frozen_ || visible_[i].level == Level::Lane))
      all.push_back(i);
  if (all.empty() || rnd_.one_in(4)) {
    const Type type = any_type();
    const Level level = level_at_least(flow_);
    const uint32_t count = 1 + static_cast<uint32_t>(rnd_.below(rnd_.one_in(10) ? 40 : 6));
    const LocalId id = new_local(Local::Kind::Array, "a", type);
    p_.locals[id.index()].count = u32(count);
    if (rnd_.one_in(3)) {
      std::vector<ExprId> values;
      for (uint64_t n = 1 + rnd_.below(count); n != 0; --n) values.push_back(literal(type));
      p_.locals[id.index()].values = p_.add_values(values);
    }
    emit(DeclareArray{id});
    visible_.push_back({id, type, level, true, count});
    return true;
  }
  const LocalInfo info = visible_[rnd_.pick(all)];
  const bool compound = is_number(info.type) && rnd_.one_in(3);
  const ExprId index = any_index(info.level, info.array);
  const Within pure(pure_, compound);
  emit(Store{Memory::of(info.id), index, compound ? std::optional(BinaryOp::Add) : std::nullopt,
             value(info.type, info.level)});
  return true;
}

// ---- memory

bool Maker::store_statement() {
  std::vector<size_t> all;
  for (size_t i = 0; i < mems_.size(); ++i)
    if (mems_[i].writable && owned(i)) all.push_back(i);
  if (all.empty()) return false;
  const size_t mem = rnd_.pick(all);
  const Type type = widened(mems_[mem].element);
  std::optional<BinaryOp> op;
  if (mems_[mem].readable && is_number(type) && rnd_.one_in(3)) {
    static constexpr std::array kOps = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul};
    op = rnd_.pick(kOps);
  }
  // Whether the element is read before or after an effect of the value is nowhere said.
  const Within pure(pure_, op.has_value());
  const ExprId index = own_index(mem);
  emit(Store{mems_[mem].memory, index, op, value(type, Level::Lane)});
  return true;
}

bool Maker::atomic_statement() {
  if (!options_.atomics) return false;
  std::vector<size_t> all;
  for (size_t i = 0; i < mems_.size(); ++i) {
    const Mem& m = mems_[i];
    const bool element = is_integer(m.element) || m.element == Type::F32;
    if (!m.atomics || !element) continue;
    if (states_[i].role == Role::Accumulate || owned(i)) all.push_back(i);
  }
  if (all.empty()) return false;
  const size_t mem = rnd_.pick(all);
  const Mem& m = mems_[mem];
  if (states_[mem].role == Role::Accumulate) {
    Atomic atomic{states_[mem].op, m.memory, any_index(Level::Lane, m.count), {}, {}};
    atomic.args[0] = value(m.element, Level::Lane);
    atomic.order = order_for(atomic.op);
    emit(Eval{p_.add(atomic)});
    return true;
  }
  if (rnd_.one_in(4)) {
    Atomic atomic{AtomicOp::Store, m.memory, own_index(mem), {}, {}};
    atomic.args[0] = value(m.element, Level::Lane);
    atomic.order = order_for(atomic.op);
    emit(Eval{p_.add(atomic)});
    return true;
  }
  const auto atomic = own_atomic(m.element);
  if (!atomic) return false;
  if (rnd_.one_in(3)) {
    emit(Eval{*atomic});
    return true;
  }
  const LocalId id = new_local(Local::Kind::Let, "old", std::nullopt);
  emit(Let{id, *atomic});
  visible_.push_back({id, m.element, Level::Lane, false, 0});
  return true;
}

// One lane has a whole memory for itself.
bool Maker::single_statement() {
  std::vector<size_t> all;
  for (size_t i = 0; i < mems_.size(); ++i)
    if (mems_[i].writable && states_[i].role == Role::Single) all.push_back(i);
  if (all.empty()) return false;
  const size_t mem = rnd_.pick(all);
  const Mem m = mems_[mem];
  const ExprId who = m.shared ? local_id() : lane_id();
  const ExprId only = binary({BinaryOp::Eq, who, u32(states_[mem].shift)});
  const Within flow(flow_, Level::Lane);
  const Block body = block([&] {
    for (uint64_t n = 1 + rnd_.below(3); n != 0; --n) {
      const ExprId index = any_index(Level::Lane, m.count);
      ExprId stored = value(widened(m.element), Level::Lane);
      if (m.readable && is_number(widened(m.element)) && rnd_.one_in(2))
        stored = binary(
            {BinaryOp::Add, p_.add(Load{m.memory, any_index(Level::Lane, m.count)}), stored});
      emit(Store{m.memory, index, std::nullopt, stored});
    }
  });
  emit(If{only, body, {}});
  return true;
}

// Everybody who comes here takes the next number. Which lane gets which does not show in what is
// counted.
bool Maker::ticket_statement() {
  if (!tickets_.valid() || in_fn_) return false;
  const Block body = block([&] {
    const LocalId id = new_local(Local::Kind::Let, "t", std::nullopt);
    Atomic take{
        AtomicOp::Add, Memory::of(tickets_), u32(0), {u32(1), {}}, order_for(AtomicOp::Add)};
    emit(Let{id, p_.add(take)});
    const ExprId slot = binary({BinaryOp::Rem, reference(id), u32(8)});
    Atomic count{AtomicOp::Add, Memory::of(histogram_), slot, {u32(1), {}}, MemoryOrder::Relaxed};
    emit(Eval{p_.add(count)});
  });
  emit(Nested{body});
  return true;
}

// The lane that arrives last reads what all wrote: ordered by a chain of acquire and release, not
// by a barrier.
bool Maker::last_arriver_statement() {
  if (!arrivals_.valid() || in_fn_ || some_ended_ || flow_ != Level::Grid || multiplier_ != 1 ||
      !ordered_ || !may_synchronise(Scope::Grid))
    return false;
  std::vector<size_t> all;
  for (size_t i = 0; i < mems_.size(); ++i)
    if (mems_[i].writable && mems_[i].readable && !mems_[i].shared && owned(i) &&
        is_integer(widened(mems_[i].element)))
      all.push_back(i);
  if (all.empty()) return false;
  const size_t mem = rnd_.pick(all);
  const Type type = widened(mems_[mem].element);
  const Memory memory = mems_[mem].memory;
  const ExprId at = own_index(mem);
  emit(Store{memory, at, std::nullopt, value(type, Level::Lane)});
  const Block body = block([&] {
    const LocalId before = new_local(Local::Kind::Let, "before", std::nullopt);
    Atomic arrive{AtomicOp::Add, Memory::of(arrivals_), u32(0), {u32(1), {}}, MemoryOrder::AcqRel};
    emit(Let{before, p_.add(arrive)});
    const Block last = block([&] {
      const LocalId k = new_local(Local::Kind::For, "k", std::nullopt);
      const Block add = block([&] {
        ExprId element = p_.add(Load{memory, reference(k)});
        if (type != Type::U32) element = p_.add(Cast{Type::U32, element});
        emit(Store{Memory::of(total_), u32(0), BinaryOp::Add, element});
      });
      const ExprId zero = u32(0);
      emit(For{k, zero, u32(lanes_), {}, false, add});
      cost_ += 4;
    });
    emit(If{binary({BinaryOp::Eq, reference(before), u32(lanes_ - 1)}), last, {}});
  });
  emit(Nested{body});
  states_[mem] = {.role = Role::Closed};
  arrivals_ = {};
  return true;
}

// ---- what a lane has computed becomes visible

void Maker::observe(const LocalInfo& info) {
  if (in_fn_) return;
  // Of an array one element.
  const uint64_t element = rnd_.below(std::max(info.array, 1U));
  const auto value_of = [&] {
    return info.array == 0 ? reference(info.id) : p_.add(Load{Memory::of(info.id), u32(element)});
  };
  ExprId bits = value_of();
  if (info.type == Type::U64 || info.type == Type::I64)
    bits = binary({BinaryOp::Xor, bits, binary({BinaryOp::Shr, value_of(), u32(32)})});
  if (info.type != Type::U32) bits = p_.add(Cast{Type::U32, bits});
  const State own{.role = Role::Own};
  const Mem mem{.memory = Memory::of(observed_), .element = Type::U32, .count = lanes_};
  const ExprId index = own_index(mem, own);
  const ExprId turned = p_.add(IntrinsicCall{
      Intrinsic::Rotl, {p_.add(Load{Memory::of(observed_), own_index(mem, own)}), u32(5), {}}});
  emit(Store{Memory::of(observed_), index, std::nullopt, binary({BinaryOp::Xor, turned, bits})});
}

bool Maker::observe_statement() {
  if (visible_.empty() || in_fn_) return false;
  // The latest more often: nobody else may use them.
  const size_t n = visible_.size();
  const size_t k = static_cast<size_t>(std::max(rnd_.below(n), rnd_.below(n)));
  observe(visible_[k]);
  return true;
}

// ---- collectives and copies

bool Maker::collective_statement() {
  if (!options_.collectives || !may_synchronise(Scope::Grid) || in_fn_) return false;
  // A collective takes part when every lane has ended; whether it is reached at all must then be
  // known without a lane to ask.
  if (depth_ > 1 && !calm_) return false;
  Collective c;
  if (twins_ && rnd_.one_in(2)) {
    const bool numbers = is_number(p_[twins_->first].element);
    c.op = !numbers || rnd_.one_in(2) ? CollectiveOp::AllGather : CollectiveOp::ReduceScatter;
    c.src = Memory::of(twins_->first);
    c.dst = Memory::of(twins_->second);
  } else {
    std::vector<size_t> all;
    for (size_t i = 0; i < mems_.size(); ++i)
      if (mems_[i].writable && mems_[i].readable && !mems_[i].shared && is_number(mems_[i].element))
        all.push_back(i);
    if (all.empty()) return false;
    c.op = rnd_.one_in(2) ? CollectiveOp::AllReduce : CollectiveOp::Broadcast;
    c.src = mems_[rnd_.pick(all)].memory;
    if (c.op == CollectiveOp::Broadcast) c.root = u32(0);
  }
  const bool integers = is_integer(p_[c.src.buffer()].element);
  c.reduce = static_cast<ReduceOp>(rnd_.below(integers ? 6 : 3));
  if (rnd_.one_in(4)) c.group = u32(0);
  emit(c);
  reroll(Scope::Grid);
  return true;
}

// A copy, statements that keep away from it, the wait.
bool Maker::async_statement() {
  if (!options_.async || !may_synchronise(Scope::Workgroup) || copying_ || depth_ > 4) return false;
  std::vector<std::pair<size_t, size_t>> pairs;
  const auto fits = [&](size_t i) {  // the elements of the workgroup, or shared memory
    return mems_[i].shared || (mems_[i].writable && (states_[i].role == Role::Group ||
                                                     states_[i] == State{.role = Role::Own}));
  };
  for (size_t d = 0; d < mems_.size(); ++d)
    for (size_t s = 0; s < mems_.size(); ++s) {
      if (d == s || mems_[d].element != mems_[s].element || !mems_[d].writable || !fits(d))
        continue;
      if (!mems_[s].readable || (mems_[d].shared && mems_[s].shared)) continue;
      if (mems_[s].constant || states_[s].role == Role::Read || fits(s)) pairs.emplace_back(d, s);
    }
  if (pairs.empty()) return false;
  const auto [d, s] = rnd_.pick(pairs);
  const std::vector<State> before = states_;
  emit(Barrier{Scope::Workgroup});
  if (fn_ != nullptr) fn_->has_workgroup_barrier = true;

  const uint16_t tag = next_tag_++;
  AsyncCopy copy;
  copy.tag = tag;
  copy.dst = mems_[d].memory;
  copy.src = mems_[s].memory;
  const auto first_of_group = [&] {
    return binary({BinaryOp::Mul, group_id(), u32(group_lanes_)});
  };
  const bool source_of_group =
      !mems_[s].constant && !mems_[s].shared && states_[s].role != Role::Read;
  uint64_t count = 1 + rnd_.below(group_lanes_);
  if (mems_[d].shared) {
    copy.dst_index = rnd_.one_in(3) ? any_index(Level::Workgroup, mems_[d].count) : u32(0);
    if (!source_of_group && rnd_.one_in(3)) count += rnd_.below(4);
  } else {
    copy.dst_index = first_of_group();
  }
  if (source_of_group)
    copy.src_index = first_of_group();
  else
    copy.src_index = rnd_.one_in(2) ? any_index(Level::Workgroup, mems_[s].count) : u32(0);
  copy.count = rnd_.one_in(4) && mems_[d].shared && !source_of_group
                   ? binary({BinaryOp::Rem, expr(Type::U32, Level::Workgroup, 1), u32(count + 1)})
                   : u32(count);
  emit(copy);
  states_[d] = {.role = Role::Closed, .pinned = true};
  if (!mems_[s].constant)
    states_[s] = source_of_group ? State{.role = Role::Closed, .pinned = true}
                                 : State{.role = Role::Read, .pinned = true};
  {
    const Within copying(copying_, true);
    const Within no_return(no_return_, true);
    const Within may_end(may_end_, false);
    const Within loop(loop_, std::optional<Loop>());
    for (uint64_t n = rnd_.below(4); n != 0 && budget_ != 0; --n) statement();
  }
  emit(Wait{tag});
  // The wait orders the workgroup: what it may change starts from where it was.
  for (const size_t i : {d, s})
    if (!mems_[i].constant) states_[i] = before[i];
  reroll(Scope::Workgroup);
  return true;
}

// ---- one of them

bool Maker::try_statement(uint64_t pick) {
  switch (pick) {
    case 0:
    case 1:
    case 2:
    case 3: let_statement(rnd_.one_in(2)); return true;
    case 4:
    case 5: return assign_statement();
    case 6: return array_statement();
    case 7:
    case 8:
    case 9: return store_statement();
    case 10:
    case 11: return atomic_statement();
    case 12: return single_statement();
    case 13: return rnd_.one_in(2) ? ticket_statement() : last_arriver_statement();
    case 14: return observe_statement();
    case 15: return collective_statement();
    case 16: return async_statement();
    case 17:
    case 18:
    case 19: if_statement(); return true;
    case 20: for_statement(); return true;
    case 21: while_statement(); return true;
    case 22: return jump_statement();
    case 23: return return_statement();
    case 24:
    case 25:
    case 26: {
      const Scope scope = static_cast<Scope>(rnd_.below(3));
      if (!may_synchronise(scope)) return false;
      emit_barrier(scope);
      return true;
    }
    case 27: return uniform_load_statement();
    case 28: return fixpoint_statement();
    case 29: return trap_statement();
    case 30: return rnd_.one_in(2) ? unmatched_trap_statement() : endless_loop_statement();
    case 31:
    case 32: return call_statement();
    case 33: nested_statement(); return true;
    case 34:
    case 35: return lazy_statement();
    default: return false;
  }
}

void Maker::statement() {
  if (budget_ == 0) return;
  --budget_;
  // What makes the hard programs would be rare by chance alone.
  if (loop_ && loop_->level != Level::Lane && rnd_.one_in(6) && jump_statement()) return;
  if (loop_ && rnd_.one_in(6)) {
    const Scope scope = rnd_.one_in(2) ? Scope::Grid : Scope::Workgroup;
    if (may_synchronise(scope)) return emit_barrier(scope);
  }
  if (trap_rich_ && rnd_.one_in(5) && (rnd_.one_in(3) ? return_statement() : trap_statement()))
    return;
  for (int tries = 0; tries < 6; ++tries)
    if (try_statement(rnd_.below(36))) return;
  let_statement(true);
}

}  // namespace vyre::generator
