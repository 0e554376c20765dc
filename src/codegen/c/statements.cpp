// SPDX-License-Identifier: Apache-2.0
#include "codegen/c/statements.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/match.hpp"
#include "codegen/c/words.hpp"

namespace vyre::codegen::c {

using namespace ir;

void Statements::block(Block block) {
  for (const StmtId id : p_.items(block)) statement(id);
}

void Statements::statement(StmtId id) {
  const auto cut = [] { VYRE_CHECK(!"the plan cuts here"); };
  match(
      p_[id], [&](const Let& s) { let(s); }, [&](const DeclareArray& s) { array(s); },
      [&](const Assign& s) { assign(s); }, [&](const Store& s) { store(s, id); },
      [&](const Eval& s) { e_.evaluate(s.value); }, [&](const If& s) { branch(s); },
      [&](const For& s) { for_loop(s, id); }, [&](const While& s) { while_loop(s, id); },
      [&](const Break&) { b_.out->line("break;"); },
      [&](const Continue&) { b_.out->line("continue;"); }, [&](const Return& s) { return_(s); },
      [&](const Nested& s) {
        b_.out->open("{{");
        block(s.body);
        b_.out->close();
      },
      [&](const Region& s) {
        b_.out->open("{{  // region {}", s.name);
        block(s.body);
        b_.out->close();
      },
      [&](const Barrier&) { cut(); }, [&](const Fixpoint&) { cut(); },
      [&](const AsyncCopy&) { cut(); }, [&](const Wait&) { cut(); },
      [&](const Trap& s) { trap(s, id); }, [&](const Resume&) { cut(); },
      [&](const Collective&) { cut(); }, [&](const Swap&) { cut(); }, [&](const Print&) { cut(); },
      [&](const Assert&) { cut(); });
}

void Statements::let(const Let& s) {
  const std::string value = e_.value(s.value);
  if (b_.names.contains(s.local.value)) {
    b_.out->line("{} = {};", b_.local(s.local), bare(value));
    return;
  }
  const bool constant = p_[s.local].kind == Local::Kind::Let;
  b_.out->line("{}{} {} = {};", constant ? "const " : "",
               value_type(*unit_.c.local_types[s.local.index()]), b_.local(s.local), bare(value));
}

void Statements::array(const DeclareArray& s) {
  const std::string name = b_.local(s.local);
  if (b_.names.contains(s.local.value)) {
    b_.out->line("memset({}, 0, sizeof {});", name, name);
    return;
  }
  b_.out->line("{} {}[{}] = {{0}};", element_type(*unit_.c.local_types[s.local.index()]), name,
               unit_.c.array_counts[s.local.index()]);
}

void Statements::assign(const Assign& s) {
  const std::string name = b_.local(s.local);
  std::string value = e_.value(s.value);
  if (s.op) value = e_.binary(*s.op, *unit_.c.local_types[s.local.index()], name, value);
  b_.out->line("{} = {};", name, bare(value));
}

void Statements::store(const Store& s, StmtId id) {
  const MemoryText m = e_.memory(s.memory);
  const Site site = e_.site_of(s.memory, unit_.type_of(s.index), p_.position_of(id));
  if (!s.op) {
    const auto texts = e_.values(std::array{s.index, s.value});
    e_.store(m, texts[0], texts[1], site);
    return;
  }
  // The index is evaluated once, and the old value is read before the new one is known.
  std::string index = e_.captured(Type::U64, e_.value(s.index));
  std::string old = e_.load(m, index, site);
  if (unit_.facts.effectful(s.value)) old = e_.captured(widened(m.element), old);
  const std::string value = e_.value(s.value);
  e_.store(m, index, e_.binary(*s.op, widened(m.element), old, value), site);
}

void Statements::branch(const If& s) {
  const std::string condition = e_.value(s.condition);
  b_.out->open("if ({}) {{", bare(condition));
  block(s.then_block);
  if (!s.else_block.empty()) {
    b_.out->close("} else {");
    b_.out->reopen();
    block(s.else_block);
  }
  b_.out->close();
}

void Statements::tick(StmtId loop, Block body) {
  b_.leave_lane_if(tick_text(unit_, loop, body));
}

std::string tick_text(const Unit& unit, StmtId loop, Block body) {
  const uint32_t site = unit.sites.add({.at = unit.p().position_of(loop)});
  return fmt::format("vyre_tick(g, {}, {})", site, std::max(1U, unit.facts.weight(body)));
}

// So few iterations that none of them has to ask.
bool Statements::ends_soon(const For& s) const {
  constexpr uint64_t kFew = 64;
  const auto first = check::evaluate_constant(unit_.c, s.first);
  const auto last = check::evaluate_constant(unit_.c, s.last);
  if (!first || !last || last->bits - first->bits > kFew) return false;
  return unit_.facts.is_straight(s.body);
}

std::string step_text(const Unit& unit, const For& s, const std::string& variable,
                      const std::string& end) {
  const Type type = *unit.c.local_types[s.variable.index()];
  const uint64_t step = s.step.valid() ? check::evaluate_constant(unit.c, s.step)->bits : 1;
  if (step == 1) return "++" + variable;
  const std::string_view wide = bits_of(type) == 64 ? "uint64_t" : "uint32_t";
  return fmt::format("{0} = ({2}){1} - ({2}){0} > {3} ? ({4})(({2}){0} + {3}) : {1}", variable, end,
                     wide, number(step), value_type(type));
}

void Statements::for_loop(const For& s, StmtId id) {
  const auto bounds = e_.values(std::array{s.first, s.last});
  const std::string variable = b_.local(s.variable);
  const std::string end = variable + "_end";
  const std::string_view type = value_type(*unit_.c.local_types[s.variable.index()]);
  b_.out->open("for ({0} {1} = {2}, {3} = {4}; {1} < {3}; {5}) {{", type, variable, bare(bounds[0]),
               end, bare(bounds[1]), step_text(unit_, s, variable, end));
  if (!ends_soon(s)) tick(id, s.body);
  block(s.body);
  b_.out->close();
}

void Statements::while_loop(const While& s, StmtId id) {
  if (unit_.facts.effectful(s.condition)) {
    b_.out->open("for (;;) {{");
    const std::string condition = e_.value(s.condition);
    b_.out->line("if (!{}) break;", condition);
  } else {
    b_.out->open("while ({}) {{", bare(e_.value(s.condition)));
  }
  tick(id, s.body);
  block(s.body);
  b_.out->close();
}

void Statements::return_(const Return& s) {
  if (!b_.in_function) {
    b_.end_lane();
    return;
  }
  const std::string value = s.value.valid() ? e_.value(s.value) : std::string();
  if (b_.frame == Frame::Function) {
    b_.out->line("return{}{};", value.empty() ? "" : " ", bare(value));
    return;
  }
  if (!value.empty()) b_.out->line("result[l] = {};", bare(value));
  b_.out->line("on[l] = false;");
  b_.go_to_next();
}

void Statements::trap(const Trap& s, StmtId id) {
  const std::string value = e_.value(s.value);
  const uint32_t site = unit_.sites.add({.at = p_.position_of(id), .tag = s.tag});
  b_.out->line("vyre_stop_lane(g, {}, {}, {}, {}, 0, 0);",
               static_cast<int>(device::KernelStop::Kind::Trap), site, e_.global_lane(),
               bare(value));
  b_.end_lane();
}

}  // namespace vyre::codegen::c
