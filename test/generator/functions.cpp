// SPDX-License-Identifier: Apache-2.0
// Functions, with and without barriers, and their calls. What a function does with a buffer
// parameter is fixed when it is made; a call passes a buffer that is in the role it needs.
#include <algorithm>
#include <array>
#include <functional>

#include "generator/maker.hpp"

namespace vyre::generator {

using namespace ir;

void Maker::make_functions() {
  static constexpr std::array kNeeds = {Level::Lane,      Level::Lane, Level::Lane, Level::Subgroup,
                                        Level::Workgroup, Level::Grid, Level::Grid};
  for (uint64_t n = rnd_.below(4); n != 0; --n) {
    Level needs = rnd_.pick(kNeeds);
    if (needs == Level::Subgroup && !options_.subgroups) needs = Level::Lane;
    make_function(needs);
  }
}

// A parameter for buffers like one of the program's.
void Maker::buffer_param(FnInfo& fn, const Mem& like) {
  FnInfo::Param param;
  param.type = like.element;
  param.memory = like;
  const LocalId id = new_local(Local::Kind::BufferParam, "b", like.element);
  param.memory->memory = Memory::of(id);
  bool by_index = false;
  if (!like.constant) {
    param.state = any_state(like, Scope::Grid, {});
    by_index = rnd_.one_in(2);
    if (by_index) param.state = {.role = Role::Own, .shift = kByParameter};
    // Whoever calls must be able to be in this role, and a Single lane is hard to agree on.
    if (param.state.role == Role::Single || param.state.role == Role::Closed)
      param.state = {.role = like.readable ? Role::Read : Role::Own};
  }
  fn.params.push_back(param);
  mems_.push_back(*param.memory);
  states_.push_back(param.state);
  params_.push_back(id);
  if (!by_index) return;
  FnInfo::Param index;
  index.index_of_own = true;
  const LocalId at = new_local(Local::Kind::Param, "", Type::U32);
  p_.locals[at.index()].name = p_[id].name + "_at";
  fn.params.push_back(index);
  params_.push_back(at);
  visible_.push_back({at, Type::U32, Level::Lane, false, 0});
}

void Maker::make_function(Level needs) {
  FnInfo fn;
  fn.needs = needs;
  const std::vector<Mem> outer_mems = std::exchange(mems_, {});
  const Within states(states_, std::vector<State>());
  const Within visible(visible_, std::vector<LocalInfo>());
  const Within items(items_, std::vector<StmtId>());
  const Within params(params_, std::vector<LocalId>());
  const Within lane(lane_local_, LocalId());
  const Within local(local_local_, LocalId());
  const Within group(group_local_, LocalId());
  const Within flow(flow_, needs);
  const Within inside(in_fn_, true);
  const Within budget(budget_, static_cast<uint32_t>(2 + rnd_.below(6)));
  const Within depth(depth_, 1);
  const Within here(fn_, &fn);
  const Within cost(cost_, uint64_t{0});

  for (uint64_t n = rnd_.below(3); n != 0; --n) {
    FnInfo::Param param;
    param.type = any_type();
    param.level = level_at_least(Level::Grid);
    fn.params.push_back(param);
    const LocalId id = new_local(Local::Kind::Param, "p", param.type);
    params_.push_back(id);
    visible_.push_back({id, param.type, std::max(param.level, needs), false, 0});
  }
  for (uint64_t n = rnd_.below(3); n != 0; --n) buffer_param(fn, rnd_.pick(outer_mems));
  const std::vector<State> entry = states_;
  const Within entry_states(fn_entry_, entry);
  if (!rnd_.one_in(3)) {
    fn.result = any_type();
    fn.result_level = level_at_least(needs);
  }
  const Block body = block([&] {
    if (rnd_.one_in(2)) prologue();
    statements(budget_);
    restore(fn_entry_);
    if (fn.result) emit(Return{value(*fn.result, fn.result_level)});
  });
  const Range range = p_.add_params(params_);
  fn.id = p_.add(Fn{fresh("f"), range, fn.result, body});
  fn.cost = static_cast<uint32_t>(cost_);
  mems_ = outer_mems;
  fns_.push_back(std::move(fn));
}

// What would never run.
void Maker::drop_uncalled() {
  std::vector<bool> called(p_.fns.size());
  const std::function<void(ExprId)> in_expr = [&](ExprId id) {
    for_each_operand(p_, p_[id], in_expr);
    if (const auto* call = std::get_if<Call>(&p_[id])) called[call->fn.index()] = true;
  };
  const std::function<void(Block)> in_block = [&](Block b) {
    for (const StmtId id : p_.items(b)) {
      for_each_operand(p_, p_[id], in_expr);
      for_each_block(p_[id], in_block);
    }
  };
  in_block(p_.body);
  // Functions call only those made before them.
  for (size_t i = p_.fns.size(); i-- > 0;)
    if (called[i]) in_block(p_.fns[i].body);
  std::vector<FnId> moved(p_.fns.size());
  std::vector<Fn> kept;
  for (size_t i = 0; i < p_.fns.size(); ++i) {
    if (!called[i]) continue;
    moved[i] = FnId{static_cast<uint32_t>(kept.size())};
    kept.push_back(std::move(p_.fns[i]));
  }
  p_.fns = std::move(kept);
  for (Expr& e : p_.exprs)
    if (auto* call = std::get_if<Call>(&e)) call->fn = moved[call->fn.index()];
}

// ---- calls

bool Maker::callable(const FnInfo& fn) const {
  if (flow_ > fn.needs) return false;
  if (fn.needs != Level::Lane && no_subgroup_) return false;
  if (fn.has_grid_barrier && !may_synchronise(Scope::Grid)) return false;
  if (fn.traps && !may_end_) return false;
  const auto has_memory = [](const FnInfo::Param& p) { return p.memory.has_value(); };
  if (pure_ && (fn.traps || std::any_of(fn.params.begin(), fn.params.end(), has_memory)))
    return false;
  return !too_deep(1) && (cost_ + uint64_t{multiplier_} * fn.cost) * lanes_ < 14'000;
}

bool Maker::stands_for(const FnInfo::Param& param, const Mem& mem) const {
  const Mem& want = *param.memory;
  return mem.element == want.element && mem.constant == want.constant &&
         mem.shared == want.shared && mem.readable == want.readable &&
         mem.writable == want.writable && mem.atomics == want.atomics;
}

std::optional<ExprId> Maker::call(const FnInfo& fn) {
  std::vector<size_t> passed(fn.params.size());
  std::vector<bool> taken(mems_.size());
  for (size_t k = 0; k < fn.params.size(); ++k) {
    const FnInfo::Param& param = fn.params[k];
    if (!param.memory) continue;
    std::vector<size_t> all;
    for (size_t i = 0; i < mems_.size(); ++i) {
      if (taken[i] || !stands_for(param, mems_[i])) continue;
      const bool fits = mems_[i].constant ||
                        (param.state.shift == kByParameter
                             ? owned(i)
                             : states_[i].role == param.state.role && states_[i] == param.state);
      // The function's own barriers change the role, which pinned ones must not.
      if (fits && !states_[i].pinned) all.push_back(i);
    }
    if (all.empty()) return std::nullopt;
    passed[k] = rnd_.pick(all);
    if (!mems_[passed[k]].constant) taken[passed[k]] = true;
  }
  std::vector<Arg> args;
  const Within no_more(pure_, true);
  for (size_t k = 0; k < fn.params.size(); ++k) {
    const FnInfo::Param& param = fn.params[k];
    if (param.memory) {
      args.emplace_back(mems_[passed[k]].memory);
    } else if (param.index_of_own) {
      ExprId at = own_index(passed[k - 1]);
      // Whatever integer type the index came as.
      at = p_.add(Cast{Type::U32, at});
      args.emplace_back(at);
    } else {
      args.emplace_back(expr(param.type, std::min(param.level, Level::Lane), 2));
    }
  }
  const Range range = p_.add_args(args);
  cost_ += uint64_t{multiplier_} * fn.cost;
  if (fn_ != nullptr) {
    fn_->has_grid_barrier = fn_->has_grid_barrier || fn.has_grid_barrier;
    fn_->has_workgroup_barrier = fn_->has_workgroup_barrier || fn.has_workgroup_barrier;
    fn_->traps = fn_->traps || fn.traps;
  }
  if (fn.traps) some_ended_ = true;
  return p_.add(Call{fn.id, range});
}

// A barrier after which memories are in the roles that the function needs.
bool Maker::prepare_call(const FnInfo& fn) {
  const Scope scope = may_synchronise(Scope::Grid) ? Scope::Grid : Scope::Workgroup;
  if (!may_synchronise(scope)) return false;
  emit_barrier(scope);
  std::vector<bool> taken(mems_.size());
  for (const FnInfo::Param& param : fn.params) {
    if (!param.memory || param.memory->constant) continue;
    for (size_t i = 0; i < mems_.size(); ++i) {
      if (taken[i] || states_[i].pinned || !stands_for(param, mems_[i])) continue;
      State want = param.state;
      if (want.shift == kByParameter) want = {.role = Role::Own};
      const auto needed = scope_between(mems_[i], states_[i], want);
      if (needed && *needed > scope) continue;
      states_[i] = want;
      taken[i] = true;
      break;
    }
  }
  return true;
}

bool Maker::call_statement() {
  std::vector<size_t> all;
  for (size_t i = 0; i < fns_.size(); ++i)
    if (callable(fns_[i])) all.push_back(i);
  if (all.empty()) return false;
  const FnInfo& fn = fns_[rnd_.pick(all)];
  auto made = call(fn);
  if (!made && prepare_call(fn)) made = call(fn);
  if (!made) return true;
  if (!fn.result || rnd_.one_in(6)) {
    emit(Eval{*made});
    return true;
  }
  const Level level = std::max(flow_, fn.result_level);
  const bool mutable_local = rnd_.one_in(3);
  const LocalId id = new_local(mutable_local ? Local::Kind::Var : Local::Kind::Let, "r",
                               rnd_.one_in(2) ? fn.result : std::nullopt);
  emit(Let{id, *made});
  visible_.push_back({id, *fn.result, level, mutable_local, 0});
  return true;
}

}  // namespace vyre::generator
