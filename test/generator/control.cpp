// SPDX-License-Identifier: Apache-2.0
// Statements that hold others: branches and loops at every level of uniformity, with barriers
// inside where the level allows it.
#include <algorithm>
#include <array>

#include "generator/maker.hpp"

namespace vyre::generator {

using namespace ir;

namespace {

constexpr uint64_t kMostLaneStatements = 12'000;
constexpr uint32_t kMostRepeats = 40;
constexpr int kMostDepth = 6;

}  // namespace

// ---- blocks

Block Maker::block(const std::function<void()>& body) {
  std::vector<StmtId> outer = std::exchange(items_, {});
  const size_t locals = visible_.size();
  // A block gets a part of what is left, so that something stays for those after it.
  const uint32_t kept = depth_ == 0 ? 0 : budget_ - std::min(budget_, std::max(budget_ / 3, 2U));
  budget_ -= kept;
  ++depth_;
  body();
  --depth_;
  budget_ += kept;
  visible_.resize(locals);
  const Block result = p_.add_block(items_);
  items_ = std::move(outer);
  return result;
}

void Maker::statements(uint64_t n) {
  for (; n != 0 && budget_ != 0; --n) {
    statement();
    if (cost_ * lanes_ > kMostLaneStatements) budget_ = 0;
  }
  if (depth_ > 1 && rnd_.one_in(3)) observe_statement();
}

// A block that ends with the roles it started with.
Block Maker::synchronising_block(const std::vector<State>& entry,
                                 const std::function<void()>& body) {
  const Block result = block([&] {
    body();
    restore(entry);
  });
  states_ = entry;
  return result;
}

Level Maker::level_at_least(Level flow) {
  static constexpr std::array kLevels = {Level::Grid,     Level::Grid, Level::Workgroup,
                                         Level::Subgroup, Level::Lane, Level::Lane};
  Level level = rnd_.pick(kLevels);
  if (level == Level::Subgroup && !options_.subgroups) level = Level::Lane;
  return std::max(level, flow);
}

bool Maker::too_deep(uint32_t repeats) const {
  return depth_ >= kMostDepth || multiplier_ * repeats > kMostRepeats ||
         (cost_ + uint64_t{multiplier_} * repeats) * lanes_ > kMostLaneStatements;
}

// ---- uniform loads

std::optional<ExprId> Maker::uniform_load(Scope scope) {
  if (!may_synchronise(scope)) return std::nullopt;
  std::vector<size_t> all;
  for (size_t i = 0; i < mems_.size(); ++i) {
    const Mem& m = mems_[i];
    const State& s = states_[i];
    if (!m.readable || (s.pinned && s.role == Role::Closed)) continue;
    if (scope == Scope::Grid && m.shared) continue;
    // Other workgroups do not wait: it must be one of this workgroup's own, or one nobody writes.
    const bool of_group = s.role == Role::Group || s == State{.role = Role::Own};
    if (scope == Scope::Workgroup && !m.shared && !m.constant && s.role != Role::Read && !of_group)
      continue;
    all.push_back(i);
  }
  if (all.empty()) return std::nullopt;
  const size_t mem = rnd_.pick(all);
  const Mem& m = mems_[mem];
  ExprId index;
  if (scope == Scope::Workgroup && !m.shared && !m.constant && states_[mem].role != Role::Read)
    index = binary({BinaryOp::Add, binary({BinaryOp::Mul, group_id(), u32(group_lanes_)}),
                    u32(rnd_.below(group_lanes_))});
  else
    index = any_index(scope == Scope::Grid ? Level::Grid : Level::Workgroup, m.count);
  if (fn_ != nullptr)
    (scope == Scope::Grid ? fn_->has_grid_barrier : fn_->has_workgroup_barrier) = true;
  loaded_ = widened(m.element);
  return p_.add(UniformLoad{scope, m.memory, index});
}

bool Maker::uniform_load_statement() {
  const Scope scope = rnd_.one_in(2) ? Scope::Grid : Scope::Workgroup;
  const auto load = uniform_load(scope);
  if (!load) return false;
  const Type type = loaded_;
  const Level level = std::max(flow_, scope == Scope::Grid ? Level::Grid : Level::Workgroup);
  std::vector<LocalId> targets;
  for (size_t i = 0; i < visible_.size(); ++i)
    if (visible_[i].assignable && visible_[i].array == 0 && visible_[i].type == type &&
        visible_[i].level >= level && (i >= frozen_ || visible_[i].level == Level::Lane))
      targets.push_back(visible_[i].id);
  if (!targets.empty() && rnd_.one_in(3)) {
    emit(Assign{rnd_.pick(targets), std::nullopt, *load});
  } else {
    const bool mutable_local = rnd_.one_in(3);
    const LocalId id =
        new_local(mutable_local ? Local::Kind::Var : Local::Kind::Let, "u", std::nullopt);
    emit(Let{id, *load});
    visible_.push_back({id, type, level, mutable_local, 0});
  }
  reroll(scope);
  return true;
}

// May hold loads that are barriers. `again`: evaluated in the flow of a loop of that level.
ExprId Maker::branch_condition(Level level, bool again) {
  const Level flow = again ? std::max(flow_, level) : flow_;
  const Within inside(flow_, flow);
  std::optional<ExprId> load;
  if (rnd_.one_in(again ? 2 : 3))
    load = uniform_load(rnd_.one_in(2) ? Scope::Grid : Scope::Workgroup);
  if (load) {
    const bool grid = std::get<UniformLoad>(p_[*load]).scope == Scope::Grid;
    if (!grid && level == Level::Grid) load.reset();
  }
  if (!load) return condition(level);
  const Type type = loaded_;
  ExprId whole;
  if (type == Type::Bool)
    whole = *load;
  else if (rnd_.one_in(2))
    whole = binary(
        {rnd_.one_in(2) ? BinaryOp::Ne : BinaryOp::Le, *load, operand_literal(type, BinaryOp::Ne)});
  else
    whole = binary({BinaryOp::Lt, expr(type, level, 1), *load});
  if (rnd_.one_in(3)) {
    const Within lazy(no_subgroup_, true);
    whole = binary({rnd_.one_in(2) ? BinaryOp::LogicalAnd : BinaryOp::LogicalOr, whole,
                    expr(Type::Bool, level, 1)});
  }
  return whole;
}

// ---- branches and loops

void Maker::if_statement() {
  if (too_deep(1)) return let_statement(true);
  const Level level = level_at_least(flow_);
  const ExprId chosen = branch_condition(level, false);
  const std::vector<State> entry = states_;
  const Within flow(flow_, level);
  const Block then_block = synchronising_block(entry, [&] { statements(1 + rnd_.below(4)); });
  Block else_block;
  if (rnd_.one_in(2)) {
    const bool chain = rnd_.one_in(4);
    else_block = synchronising_block(entry, [&] {
      if (chain)
        if_statement();
      else
        statements(1 + rnd_.below(3));
    });
  }
  emit(If{chosen, then_block, else_block});
}

// A range at an end of the type, or over all of it, that takes at most four iterations. The next
// value after the last iteration often does not fit the type, also as a signed number of the same
// width: compilers that believe it does loop for ever. Returns the step.
uint64_t Maker::extreme_range(For& loop, Type type, Level level) {
  const uint64_t most = highest_value(type);
  const auto number = [&](uint64_t n, bool negative = false) {
    return p_.add(IntLiteral{n, negative, type});
  };
  // A bound that no compiler knows, where it is chosen so.
  const auto hidden = [&](ExprId bound) {
    if (!rnd_.one_in(3)) return bound;
    return binary({BinaryOp::Sub, bound, binary({BinaryOp::Rem, expr(type, level, 1), number(2)})});
  };
  switch (rnd_.below(4)) {
    case 0: {  // all of the type in a few large steps
      loop.first = is_signed(type) && rnd_.one_in(2) ? number(rnd_.below(3), true) : number(0);
      loop.last = number(most - rnd_.below(3));
      return most / 2 - rnd_.below(3);
    }
    case 1: {  // at the low end
      if (!is_signed(type)) break;
      loop.first = number(most + 1, true);
      loop.last = number(most - rnd_.below(8), true);
      return 2 + rnd_.below(4);
    }
    case 2: {  // across the sign bit of the same width
      if (is_signed(type)) break;
      loop.first = number(most / 2 - rnd_.below(6));
      loop.last = number(most / 2 + rnd_.below(6));
      return 3 + rnd_.below(3);
    }
    default: break;
  }
  const uint64_t step = 1 + rnd_.below(5);
  const uint64_t last = most - (rnd_.one_in(2) ? 0 : rnd_.below(4));
  const uint64_t distance = 1 + rnd_.below(3 * step + 1);  // a hidden one may be 1 less
  loop.last = number(last);
  loop.first = hidden(number(last - distance));
  return step;
}

void Maker::for_statement() {
  static constexpr std::array kTypes = {Type::U32, Type::U32, Type::I32, Type::U64, Type::I64};
  const uint32_t trip_count = 1 + static_cast<uint32_t>(rnd_.below(4));
  if (too_deep(trip_count)) return let_statement(false);
  Type type = rnd_.pick(kTypes);
  if (!has(type)) type = Type::U32;
  const Level level = level_at_least(flow_);
  const auto number = [&](uint64_t n, bool negative = false) {
    return p_.add(IntLiteral{n, negative, type});
  };
  For loop;
  LocalId changed;
  std::optional<uint64_t> wide_step;
  switch (rnd_.below(5)) {
    case 0:
    case 1: {
      const bool negative = is_signed(type) && rnd_.one_in(2);
      loop.first = negative ? number(rnd_.below(2), true) : number(0);
      loop.last = number(trip_count);
      loop.unroll = rnd_.one_in(3);
      break;
    }
    case 4: {
      wide_step = extreme_range(loop, type, level);
      loop.unroll = rnd_.one_in(4);
      break;
    }
    case 2: {
      // A bound that the body changes: it counts as it was.
      loop.first = number(0);
      std::vector<LocalId> all;
      for (size_t i = 0; i < visible_.size(); ++i)
        if (visible_[i].assignable && visible_[i].array == 0 && visible_[i].type == type &&
            visible_[i].level == level && (i >= frozen_ || level == Level::Lane))
          all.push_back(visible_[i].id);
      if (!all.empty()) changed = rnd_.pick(all);
      const ExprId limit = changed.valid() ? reference(changed) : expr(type, level, 1);
      loop.last = p_.add(IntrinsicCall{Intrinsic::Min, {limit, number(trip_count), {}}});
      break;
    }
    default: {
      loop.first = binary({BinaryOp::Rem, expr(type, level, 1), number(2)});
      loop.last = binary({BinaryOp::Rem, expr(type, level, 1), number(trip_count + 1)});
      break;
    }
  }
  if (wide_step)
    loop.step = p_.add(IntLiteral{*wide_step, false, std::nullopt});
  else if (rnd_.one_in(4))
    loop.step = p_.add(IntLiteral{1 + rnd_.below(3), false, std::nullopt});
  // Positive, which the checker does not find out. Not where no lane may trap: between a copy and
  // its wait, and in functions, which may be called there.
  else if (!copying_ && !in_fn_ && rnd_.one_in(4))
    loop.step = binary(
        {BinaryOp::And, binary({BinaryOp::Or, expr(type, Level::Grid, 1), number(1)}), number(7)});
  loop.reversed = rnd_.one_in(4);
  loop.variable = new_local(Local::Kind::For, "i", std::nullopt);
  const std::vector<State> entry = states_;
  const Within flow(flow_, level);
  const Within around(loop_, std::optional(Loop{level, entry}));
  const Within more(multiplier_, multiplier_ * (trip_count + 1));
  loop.body = synchronising_block(entry, [&] {
    visible_.push_back({loop.variable, type, level, false, 0});
    if (changed.valid()) emit(Assign{changed, BinaryOp::Add, u32(1)});
    statements(1 + rnd_.below(4));
  });
  emit(loop);
}

// Every `while` counts, so that it ends; first thing in the body, so that `continue` cannot skip
// it.
void Maker::while_statement() {
  const uint32_t trip_count = 1 + static_cast<uint32_t>(rnd_.below(4));
  if (too_deep(trip_count)) return let_statement(true);
  const Level level = level_at_least(flow_);
  const LocalId counter = new_local(Local::Kind::Var, "c", std::nullopt);
  emit(Let{counter, u32(0)});
  visible_.push_back({counter, Type::U32, level, false, 0});
  const auto counted = [&] { return binary({BinaryOp::Lt, reference(counter), u32(trip_count)}); };
  ExprId chosen;
  if (rnd_.one_in(4)) {
    const Within inside(flow_, std::max(flow_, level));
    const Within lazy(no_subgroup_, true);
    const ExprId first = counted();
    chosen = binary({BinaryOp::LogicalAnd, first, condition(level)});
  } else {
    const ExprId first = branch_condition(level, true);
    chosen = binary({BinaryOp::LogicalAnd, first, counted()});
  }
  const std::vector<State> entry = states_;
  const Within flow(flow_, level);
  const Within around(loop_, std::optional(Loop{level, entry}));
  const Within more(multiplier_, multiplier_ * (trip_count + 1));
  const Block body = synchronising_block(entry, [&] {
    emit(Assign{counter, BinaryOp::Add, u32(1)});
    statements(1 + rnd_.below(4));
  });
  emit(While{chosen, body});
}

bool Maker::jump_statement() {
  if (!loop_ || flow_ > loop_->level) return false;
  const std::vector<State> entry = states_;
  const Level level = loop_->level;
  const ExprId chosen = condition(level);
  const Within flow(flow_, level);
  const Block body = block([&] {
    if (rnd_.one_in(3)) statements(1);
    restore(loop_->entry);
    if (rnd_.one_in(2))
      emit(Break{});
    else
      emit(Continue{});
  });
  states_ = entry;
  emit(If{chosen, body, {}});
  return true;
}

bool Maker::return_statement() {
  const std::vector<State> entry = states_;
  if (in_fn_) {
    if (no_return_ || fn_ == nullptr || flow_ > fn_->needs) return false;
    const ExprId chosen = condition(fn_->needs);
    const Within flow(flow_, fn_->needs);
    const Block body = block([&] {
      restore(fn_entry_);
      emit(Return{fn_->result ? value(*fn_->result, fn_->result_level) : ExprId{}});
    });
    states_ = entry;
    emit(If{chosen, body, {}});
    return true;
  }
  if (!options_.returns || !may_end_) return false;
  some_ended_ = true;
  if (rnd_.one_in(5)) {
    // Whole workgroups.
    const Level level = std::max(flow_, Level::Workgroup);
    const ExprId group =
        flow_ <= Level::Workgroup
            ? binary({BinaryOp::Eq, group_id(), u32(rnd_.below(lanes_ / group_lanes_ + 1ULL))})
            : condition(level);
    const Within flow(flow_, level);
    const Block body = block([&] { emit(Return{}); });
    emit(If{group, body, {}});
    return true;
  }
  const uint64_t modulus = 2 + rnd_.below(5);
  const ExprId some = binary(
      {BinaryOp::Eq, binary({BinaryOp::Rem, lane_id(), u32(modulus)}), u32(rnd_.below(modulus))});
  const ExprId chosen = rnd_.one_in(3) ? condition(Level::Lane) : some;
  {
    const Within flow(flow_, Level::Lane);
    const Block body = block([&] {
      observe_statement();
      emit(Return{});
    });
    emit(If{chosen, body, {}});
  }
  return true;
}

// A loop that only `return` leaves. Uniform for the checker, though lanes leave it one by one.
bool Maker::endless_loop_statement() {
  if (in_fn_ || !options_.returns || !may_end_ || too_deep(4)) return false;
  const bool all = rnd_.one_in(8);  // every lane ends here
  const auto loop = [&](Level level) {
    const LocalId counter = new_local(Local::Kind::Var, "n", std::nullopt);
    emit(Let{counter, u32(0)});
    const std::vector<State> entry = states_;
    const Within flow(flow_, level);
    const Within around(loop_, std::optional<Loop>());
    const Within more(multiplier_, multiplier_ * 4);
    const Block body = synchronising_block(entry, [&] {
      const Block leave = block([&] { emit(Return{}); });
      const ExprId limit = binary({BinaryOp::Rem, expr(Type::U32, Level::Lane, 1), u32(3)});
      // A limit that may change from pass to pass: the counter alone ends it.
      const ExprId over =
          binary({BinaryOp::LogicalOr, binary({BinaryOp::Ge, reference(counter), u32(3)}),
                  binary({BinaryOp::Gt, reference(counter), limit})});
      emit(If{over, leave, {}});
      emit(Assign{counter, BinaryOp::Add, u32(1)});
      statements(1 + rnd_.below(2));
    });
    const ExprId always = p_.add(BoolLiteral{true});
    emit(While{always, body});
  };
  some_ended_ = true;
  if (all) {
    loop(flow_);
    return true;
  }
  const ExprId some = binary({BinaryOp::Eq, binary({BinaryOp::Rem, lane_id(), u32(5)}), u32(3)});
  const Within flow(flow_, Level::Lane);
  const Block body = block([&] { loop(Level::Lane); });
  emit(If{some, body, {}});
  return true;
}

void Maker::nested_statement() {
  if (too_deep(1)) return let_statement(true);
  const Block body = block([&] { statements(1 + rnd_.below(4)); });
  if (rnd_.one_in(2))
    emit(Nested{body});
  else
    emit(Region{fresh("part"), body});
}

}  // namespace vyre::generator
