// SPDX-License-Identifier: Apache-2.0
// Where the whole grid meets: fixpoints, traps with their resume, and the program around it all.
#include <algorithm>
#include <array>

#include "generator/maker.hpp"
#include "vyre/text/text.hpp"

namespace vyre::generator {

using namespace ir;

// ---- fixpoints

// Something that comes to rest, sooner or later or never.
void Maker::converging_update(size_t mem) {
  const Mem& m = mems_[mem];
  const Type type = widened(m.element);
  if (states_[mem].role == Role::Accumulate) {
    Atomic atomic{states_[mem].op, m.memory, any_index(Level::Lane, m.count), {}, {}};
    atomic.args[0] = rnd_.one_in(2) ? literal(m.element) : value(m.element, Level::Lane);
    emit(Eval{p_.add(atomic)});
    return;
  }
  if (!owned(mem)) return;
  const ExprId index = own_index(mem);
  if (!m.readable || type == Type::Bool) {
    emit(Store{m.memory, index, std::nullopt, literal(type)});
    return;
  }
  const ExprId old = p_.add(Load{m.memory, own_index(mem)});
  const ExprId one = p_.add(IntLiteral{1, false, type});
  ExprId next;
  switch (rnd_.below(3)) {
    case 0: next = binary({BinaryOp::Xor, old, one}); break;
    case 1: next = binary({BinaryOp::Shr, old, u32(1)}); break;
    default: {
      const ExprId more = p_.add(IntrinsicCall{Intrinsic::SatAdd, {old, one, {}}});
      const ExprId limit = p_.add(IntLiteral{2 + rnd_.below(4), false, type});
      next = p_.add(IntrinsicCall{Intrinsic::Min, {more, limit, {}}});
      break;
    }
  }
  emit(Store{m.memory, index, std::nullopt, next});
}

bool Maker::fixpoint_statement() {
  const uint32_t passes = 1 + static_cast<uint32_t>(rnd_.below(5));
  if (!options_.fixpoints || !may_synchronise(Scope::Grid) || too_deep(passes)) return false;
  // Bits of a NaN do not decide how often the body runs: no floats in the list.
  std::vector<size_t> all;
  for (size_t i = 0; i < mems_.size(); ++i)
    if (mems_[i].writable && !mems_[i].shared && !is_float(widened(mems_[i].element)))
      all.push_back(i);
  if (all.empty()) return false;
  std::vector<size_t> listed = {rnd_.pick(all)};
  if (const size_t second = rnd_.pick(all); second != listed[0] && rnd_.one_in(2))
    listed.push_back(second);
  std::vector<Memory> memories;
  for (const size_t i : listed) memories.push_back(mems_[i].memory);

  Fixpoint fix;
  if (rnd_.one_in(2)) {
    fix.max_passes = u32(passes);
  } else {
    // 0 is an error when the grid comes there, like a trap.
    const bool zero = unmatched_ && may_end_ && rnd_.one_in(8);
    if (zero) {
      fix.max_passes =
          binary({BinaryOp::Rem, p_.add(BuiltinRef{Builtin::NumWorkgroups, 0}), u32(grid_[0])});
      some_ended_ = true;
    } else {
      const ExprId some = binary({BinaryOp::Rem, expr(Type::U32, Level::Grid, 1), u32(passes + 1)});
      fix.max_passes = p_.add(IntrinsicCall{Intrinsic::Max, {some, u32(1), {}}});
    }
  }
  fix.buffers = p_.add_memories(memories);
  if (fn_ != nullptr) fn_->has_grid_barrier = true;
  reroll(Scope::Grid);
  for (int tries = 0; tries < 4 && !owned(listed[0]); ++tries)
    states_[listed[0]] = any_state(mems_[listed[0]], Scope::Grid, states_[listed[0]]);
  {
    const Within around(loop_, std::optional<Loop>());
    const Within no_return(no_return_, true);
    const Within more(multiplier_, multiplier_ * passes);
    // Each pass ends with a barrier of the grid, so it may end with any roles.
    const std::vector<State> entry = states_;
    fix.body = block([&] {
      if (!rnd_.one_in(4)) converging_update(listed[0]);
      statements(rnd_.below(4));
    });
    states_ = entry;
  }
  emit(fix);
  reroll(Scope::Grid);
  return true;
}

// ---- traps

void Maker::trap_if(uint16_t tag) {
  const bool by_group = rnd_.one_in(4);
  const auto inner = [&] {
    const uint64_t modulus = 2 + rnd_.below(3);
    const ExprId some = binary(
        {BinaryOp::Eq, binary({BinaryOp::Rem, lane_id(), u32(modulus)}), u32(rnd_.below(modulus))});
    const ExprId chosen = rnd_.one_in(3) ? condition(Level::Lane) : some;
    const Within flow(flow_, Level::Lane);
    const Block body = block([&] {
      if (rnd_.one_in(3)) store_statement();
      emit(Trap{tag, value(Type::U32, Level::Lane)});
    });
    emit(If{chosen, body, {}});
  };
  some_ended_ = true;
  if (fn_ != nullptr) fn_->traps = true;
  // All lanes, now and then: the grid goes on at a resume with nobody to lead it there.
  if (rnd_.one_in(20)) return emit(Trap{tag, value(Type::U32, Level::Lane)});
  if (!by_group) return inner();
  const Level level = std::max(flow_, Level::Workgroup);
  const bool whole = rnd_.one_in(3);
  const ExprId chosen =
      whole ? binary({BinaryOp::Eq, group_id(), u32(rnd_.below(lanes_ / group_lanes_ + 1ULL))})
            : condition(level);
  const Within flow(flow_, level);
  const Block body = block([&] {
    if (!whole) return inner();
    emit(Trap{tag, value(Type::U32, Level::Lane)});
  });
  emit(If{chosen, body, {}});
}

void Maker::resume_at(uint16_t tag, size_t visible_before) {
  emit(Resume{tag});
  // The lanes that waited never had what was declared meanwhile.
  visible_.resize(visible_before);
  reroll(Scope::Grid);
}

bool Maker::trap_statement() {
  if (!options_.traps || !may_synchronise(Scope::Grid) || !may_end_ || too_deep(2)) return false;
  if (fn_ != nullptr) fn_->has_grid_barrier = true;
  const size_t before = visible_.size();
  const Within frozen(frozen_, before);
  const Within around(loop_, std::optional<Loop>());
  const Within no_return(no_return_, true);
  const uint16_t tag = next_tag_++;
  trap_if(tag);
  const auto between = [&](uint16_t open) {
    for (uint64_t n = rnd_.below(4); n != 0; --n) {
      if (rnd_.one_in(5)) trap_if(open);
      statements(1);
    }
  };
  between(tag);
  if (rnd_.one_in(4)) {
    // Two spans that overlap without one holding the other.
    const size_t middle = visible_.size();
    const Within more(frozen_, middle);
    const uint16_t other = next_tag_++;
    trap_if(other);
    between(rnd_.one_in(2) ? tag : other);
    resume_at(tag, before);
    between(other);
    resume_at(other, std::min(before, visible_.size()));
    return true;
  }
  if (!in_fn_ && options_.returns && rnd_.one_in(8)) emit(Return{});
  resume_at(tag, before);
  return true;
}

// The dispatch fails if a lane comes there.
bool Maker::unmatched_trap_statement() {
  if (!unmatched_ || !may_end_ || !options_.unmatched_traps) return false;
  if (fn_ != nullptr) fn_->traps = true;
  some_ended_ = true;
  const ExprId chosen = condition(Level::Lane);
  const Within flow(flow_, Level::Lane);
  const uint16_t tag = static_cast<uint16_t>(60'000 + next_tag_++);
  const Block body = block([&] { emit(Trap{tag, value(Type::U32, Level::Lane)}); });
  emit(If{chosen, body, {}});
  return true;
}

// ---- the program

void Maker::main_program() {
  budget_ = std::max(options_.size, 1U);
  std::vector<StmtId> top;
  const auto region = [&](uint64_t count, bool last) {
    const Block body = block([&] {
      prologue();
      const uint64_t plant_at = plant_pending_ ? rnd_.below(std::min<uint64_t>(count, 8) + 1) : 0;
      for (uint64_t i = 0; i <= count && (budget_ != 0 || plant_pending_); ++i) {
        if (plant_pending_ && i >= plant_at) plant();
        statements(1);
      }
      if (!last) return;
      for (size_t i = 0; i < visible_.size(); ++i)
        if (visible_.size() < 16 || rnd_.one_in(2)) observe(visible_[i]);
    });
    lane_local_ = local_local_ = group_local_ = {};
    return p_.add(Region{last ? "main" : fresh("part"), body});
  };
  const bool several = !plant_pending_ && rnd_.one_in(4);
  if (several) {
    for (uint64_t n = 1 + rnd_.below(4); n != 0; --n) {
      switch (rnd_.below(4)) {
        case 0: fixpoint_statement(); break;
        case 1: collective_statement(); break;
        case 2:
          if (may_synchronise(Scope::Grid)) emit_barrier(Scope::Grid);
          break;
        default: items_.push_back(region(2 + rnd_.below(6), false)); break;
      }
    }
  }
  const StmtId last = region(options_.size, true);
  items_.push_back(last);
  top = std::exchange(items_, {});
  p_.body = p_.add_block(top);
}

Generated Maker::run() {
  p_.name = "generated";
  choose_grid();
  declare_consts();
  declare_buffers();
  // Some programs in which no lane ever ends: they can do what must not depend on that.
  calm_ = rnd_.one_in(5);
  if (calm_) options_.returns = options_.traps = options_.unmatched_traps = false;
  plant_pending_ = options_.plant_race;
  may_end_ = !plant_pending_;
  ordered_ = !plant_pending_;
  unmatched_ = options_.unmatched_traps && !plant_pending_ && rnd_.one_in(16);
  trap_rich_ = options_.traps && rnd_.one_in(8);
  if (options_.functions) make_functions();
  some_ended_ = false;
  main_program();
  drop_uncalled();
  headers();
  Generated result;
  result.inputs = make_inputs();
  give_shapes(result.inputs);
  result.grid = grid_;
  // With the lines of its text, so that what is said about it can be looked up.
  text::Parsed parsed = text::parse(text::print(p_), "generated.vyre");
  result.program = parsed.diagnostics.has_errors() ? p_ : std::move(parsed.program);
  if (options_.plant_race) result.planted = planted_lines(result.program);
  return result;
}

Generated generate(uint64_t seed, const GeneratorOptions& options) {
  return Maker(seed, options).run();
}

// ---- switches by name

namespace {

struct Switch {
  std::string_view name;
  bool GeneratorOptions::* member;
};
constexpr std::array kSwitches = {
    Switch{"grid_barriers", &GeneratorOptions::grid_barriers},
    Switch{"workgroup_barriers", &GeneratorOptions::workgroup_barriers},
    Switch{"shared", &GeneratorOptions::shared},
    Switch{"subgroups", &GeneratorOptions::subgroups},
    Switch{"fixpoints", &GeneratorOptions::fixpoints},
    Switch{"traps", &GeneratorOptions::traps},
    Switch{"unmatched_traps", &GeneratorOptions::unmatched_traps},
    Switch{"collectives", &GeneratorOptions::collectives},
    Switch{"functions", &GeneratorOptions::functions},
    Switch{"atomics", &GeneratorOptions::atomics},
    Switch{"wide_atomics", &GeneratorOptions::wide_atomics},
    Switch{"float_atomics", &GeneratorOptions::float_atomics},
    Switch{"async", &GeneratorOptions::async},
    Switch{"floats", &GeneratorOptions::floats},
    Switch{"transcendental", &GeneratorOptions::transcendental},
    Switch{"wide", &GeneratorOptions::wide},
    Switch{"doubles", &GeneratorOptions::doubles},
    Switch{"storage_types", &GeneratorOptions::storage_types},
    Switch{"returns", &GeneratorOptions::returns},
    Switch{"many_axes", &GeneratorOptions::many_axes},
    Switch{"shapes", &GeneratorOptions::shapes},
    Switch{"persistent", &GeneratorOptions::persistent},
    Switch{"swaps", &GeneratorOptions::swaps},
    Switch{"plant_race", &GeneratorOptions::plant_race},
};

}  // namespace

std::vector<std::string_view> switch_names() {
  std::vector<std::string_view> names;
  for (const Switch& s : kSwitches) names.push_back(s.name);
  return names;
}

bool* find_switch(GeneratorOptions& options, std::string_view name) {
  for (const Switch& s : kSwitches)
    if (s.name == name) return &(options.*s.member);
  return nullptr;
}

}  // namespace vyre::generator
