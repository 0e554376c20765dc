// SPDX-License-Identifier: Apache-2.0
#include "codegen/c/subgroup.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/match.hpp"
#include "codegen/c/words.hpp"

namespace vyre::codegen::c {

using namespace ir;

namespace {

class SubgroupCode {
 public:
  SubgroupCode(const Unit& unit, Writer& out, bool in_function,
               const std::map<uint32_t, std::string>& names)
      : unit_(unit), p_(unit.p()), out_(out), body_(unit, Frame::Run, out), e_(body_), s_(body_) {
    body_.in_function = in_function;
    body_.names = names;
  }

  void block(Block block, bool in_loop);
  // Locals that several runs name and none of `names` is for.
  [[nodiscard]] std::vector<LocalId> kept() const;
  void give_name(LocalId id, std::string name) { body_.names[id.value] = std::move(name); }

 private:
  void statement(StmtId id, bool in_loop);
  void branch(const If& s, StmtId id, bool in_loop);
  void for_loop(const For& s, StmtId id);
  void while_loop(const While& s, StmtId id);
  void store(const Store& s, StmtId id);
  [[nodiscard]] bool synchronises(Block b, bool in_loop) const {
    return std::ranges::any_of(p_.items(b),
                               [&](StmtId i) { return unit_.facts.synchronises(i, in_loop); });
  }

  // For each lane that takes part.
  void run(const std::function<void()>& print);
  // An array with a value of each lane; its name.
  std::string captured(Type type, const std::function<std::string()>& text);
  std::string captured(ExprId id) {
    return captured(unit_.type_of(id), [&] { return e_.value(id); });
  }
  // The number of the first lane that takes part.
  std::string first_lane();
  void tick(StmtId loop, Block body);

  void hoist(ExprId id);
  void hoist(std::span<const ExprId> operands);
  void hoist_lazy(const Binary& e, ExprId id);
  void operation(const Subgroup& e, ExprId id);
  void call(const Call& e, ExprId id);
  std::string array(Type type);

  const Unit& unit_;
  const Program& p_;
  Writer& out_;
  Body body_;
  Expressions e_;
  Statements s_;
  std::map<uint32_t, bool> scalars_;  // loop variables that all lanes share, by LocalId
};

// ---- statements

void SubgroupCode::block(Block block, bool in_loop) {
  const auto items = p_.items(block);
  for (size_t i = 0; i < items.size();) {
    if (unit_.facts.synchronises(items[i], in_loop)) {
      statement(items[i++], in_loop);
      continue;
    }
    run([&] {
      for (; i < items.size() && !unit_.facts.synchronises(items[i], in_loop); ++i)
        s_.statement(items[i]);
    });
  }
}

void SubgroupCode::statement(StmtId id, bool in_loop) {
  const auto cut = [] { VYRE_CHECK(!"the plan cuts here"); };
  const auto plain = [&] {
    std::vector<ExprId> operands;
    for_each_operand(p_, p_[id], [&](ExprId e) { operands.push_back(e); });
    hoist(operands);
    run([&] { s_.statement(id); });
  };
  const auto inner = [&](Block b) {
    out_.open("{{");
    block(b, in_loop);
    out_.close();
  };
  match(
      p_[id], [&](const Let&) { plain(); }, [&](const DeclareArray&) { plain(); },
      [&](const Assign&) { plain(); }, [&](const Store& s) { store(s, id); },
      [&](const Eval&) { plain(); }, [&](const If& s) { branch(s, id, in_loop); },
      [&](const For& s) { for_loop(s, id); }, [&](const While& s) { while_loop(s, id); },
      [&](const Break&) { out_.line("break;"); }, [&](const Continue&) { out_.line("continue;"); },
      [&](const Return&) { plain(); }, [&](const Nested& s) { inner(s.body); },
      [&](const Region& s) {
        out_.line("// region {}", s.name);
        inner(s.body);
      },
      // All lanes have executed what stands before it.
      [&](const Barrier&) {}, [&](const Fixpoint&) { cut(); }, [&](const AsyncCopy&) { cut(); },
      [&](const Wait&) { cut(); }, [&](const Trap&) { plain(); }, [&](const Resume&) { cut(); },
      [&](const Collective&) { cut(); }, [&](const Swap&) { cut(); }, [&](const Print&) { cut(); },
      [&](const Assert&) { cut(); });
}

void SubgroupCode::store(const Store& s, StmtId id) {
  if (s.op && unit_.facts.synchronises(s.value)) {
    // The old value is read before the new one is known.
    if (unit_.facts.synchronises(s.index)) hoist(s.index);
    const Type element = e_.memory(s.memory).element;
    const Site site = e_.site_of(s.memory, unit_.type_of(s.index), p_.position_of(id));
    const std::string index = captured(Type::U64, [&] { return e_.value(s.index); });
    const std::string old = captured(
        widened(element), [&] { return e_.load(e_.memory(s.memory), index + "[l]", site); });
    hoist(s.value);
    run([&] {
      const std::string value = e_.value(s.value);
      e_.store(e_.memory(s.memory), index + "[l]",
               e_.binary(*s.op, widened(element), old + "[l]", value), site);
    });
    return;
  }
  hoist(std::array{s.index, s.value});
  run([&] { s_.statement(id); });
}

void SubgroupCode::branch(const If& s, StmtId id, bool in_loop) {
  if (unit_.facts.synchronises(s.condition)) hoist(s.condition);
  if (!synchronises(s.then_block, in_loop) && !synchronises(s.else_block, in_loop)) {
    run([&] { s_.statement(id); });
    return;
  }
  const std::string condition = captured(s.condition);
  const std::string lane = first_lane();
  out_.open("if ({} < {} && {}[{}]) {{", lane, number(unit_.subgroup_size), condition, lane);
  block(s.then_block, in_loop);
  if (!s.else_block.empty()) {
    out_.close(fmt::format("}} else if ({} < {}) {{", lane, number(unit_.subgroup_size)));
    out_.reopen();
    block(s.else_block, in_loop);
  }
  out_.close();
}

void SubgroupCode::for_loop(const For& s, StmtId id) {
  hoist(std::array{s.first, s.last});
  if (!synchronises(s.body, true)) {
    run([&] { s_.statement(id); });
    return;
  }
  scalars_[s.variable.value] = true;
  const std::string first = captured(s.first);
  const std::string last = captured(s.last);
  const std::string lane = first_lane();
  const std::string variable = body_.local(s.variable);
  const std::string end = variable + "_end";
  out_.open("if ({} < {}) {{", lane, number(unit_.subgroup_size));
  out_.open("for ({0} {1} = {2}[{5}], {3} = {4}[{5}]; {1} < {3} && {6}(on) < {7}; {8}) {{",
            value_type(*unit_.c.local_types[s.variable.index()]), variable, first, end, last, lane,
            unit_.library.first_live(), number(unit_.subgroup_size),
            step_text(unit_, s, variable, end));
  tick(id, s.body);
  block(s.body, true);
  out_.close();
  out_.close();
}

void SubgroupCode::while_loop(const While& s, StmtId id) {
  out_.open("for (;;) {{");
  if (unit_.facts.synchronises(s.condition)) hoist(s.condition);
  const std::string condition = captured(s.condition);
  const std::string lane = first_lane();
  out_.line("if ({} == {} || !{}[{}]) break;", lane, number(unit_.subgroup_size), condition, lane);
  tick(id, s.body);
  block(s.body, true);
  out_.close();
}

void SubgroupCode::tick(StmtId loop, Block body) {
  out_.line("if ({}) return;", tick_text(unit_, loop, body));
}

// ---- runs

void SubgroupCode::run(const std::function<void()>& print) {
  ++body_.run;
  body_.next = fmt::format("next{}", body_.run);
  body_.next_used = false;
  Writer lane(out_.depth() + 1);
  body_.out = &lane;
  print();
  body_.out = &out_;
  const std::string text = lane.take();
  out_.open("for (uint32_t l = 0; l < lanes; ++l) {{");
  out_.line("if (!on[l]) continue;");
  if (text.find("lane") != std::string::npos) out_.line("const uint32_t lane = first + l;");
  out_.append(text);
  if (body_.next_used) out_.label(body_.next);
  out_.close();
  if (text.find("g->ended") != std::string::npos || text.find("vyre_tick") != std::string::npos)
    out_.line("if (g->gave_up) return;");
}

std::string SubgroupCode::array(Type type) {
  const std::string name = body_.temporary();
  out_.line("{} {}[{}];", value_type(type), name, unit_.subgroup_size);
  return name;
}

std::string SubgroupCode::captured(Type type, const std::function<std::string()>& text) {
  const std::string name = array(type);
  run([&] {
    const std::string value = text();
    body_.out->line("{}[l] = {};", name, bare(value));
  });
  return name;
}

std::string SubgroupCode::first_lane() {
  const std::string name = body_.temporary();
  out_.line("const uint32_t {} = {}(on);", name, unit_.library.first_live());
  return name;
}

std::vector<LocalId> SubgroupCode::kept() const {
  std::vector<LocalId> locals;
  for (const auto& [id, run] : body_.run_of)
    if (run == Body::kManyRuns && !scalars_.contains(id) && !body_.names.contains(id) &&
        p_.locals[id].kind != Local::Kind::BufferParam)
      locals.push_back(LocalId{id});
  return locals;
}

// ---- expressions: what synchronises gets a value before the run that it is a part of

void SubgroupCode::hoist(std::span<const ExprId> operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (unit_.facts.synchronises(operands[i])) hoist(operands[i]);
    const auto later = operands.subspan(i + 1);
    const bool waits =
        std::ranges::any_of(later, [&](ExprId e) { return unit_.facts.synchronises(e); });
    if (waits && unit_.facts.unstable(operands[i]) && !body_.replaced.contains(operands[i].value))
      body_.replaced[operands[i].value] = captured(operands[i]) + "[l]";
  }
}

void SubgroupCode::hoist(ExprId id) {
  const Expr& e = p_[id];
  if (const auto* binary = std::get_if<Binary>(&e); binary != nullptr && is_lazy(binary->op)) {
    hoist_lazy(*binary, id);
    return;
  }
  std::vector<ExprId> operands;
  for_each_operand(p_, e, [&](ExprId operand) { operands.push_back(operand); });
  hoist(operands);
  if (const auto* subgroup = std::get_if<Subgroup>(&e)) operation(*subgroup, id);
  if (const auto* callee = std::get_if<Call>(&e);
      callee != nullptr && unit_.facts.synchronises(callee->fn))
    call(*callee, id);
}

// The right operand is evaluated in uniform flow, so all lanes agree on the left one.
void SubgroupCode::hoist_lazy(const Binary& e, ExprId id) {
  if (unit_.facts.synchronises(e.left)) hoist(e.left);
  if (!unit_.facts.synchronises(e.right)) return;
  const std::string name = captured(e.left);
  const std::string lane = first_lane();
  out_.open("if ({} < {} && {}{}[{}]) {{", lane, number(unit_.subgroup_size),
            e.op == BinaryOp::LogicalOr ? "!" : "", name, lane);
  hoist(e.right);
  run([&] {
    const std::string right = e_.value(e.right);
    body_.out->line("{}[l] = {};", name, bare(right));
  });
  out_.close();
  body_.replaced[id.value] = name + "[l]";
}

void SubgroupCode::operation(const Subgroup& e, ExprId id) {
  Library& library = unit_.library;
  const Type type = unit_.type_of(e.value);
  const std::string value = captured(e.value);
  std::string lane;
  if (e.lane.valid()) {
    const Type of_lane = unit_.type_of(e.lane);
    lane = captured(Type::U64, [&] {
      const std::string text = e_.value(e.lane);
      return of_lane == Type::I32 ? "(uint32_t)" + text : text;
    });
  }
  const auto for_all = [&](const std::string& function) {
    const std::string name = body_.temporary();
    out_.line("const {} {} = {}({}, on);", value_type(unit_.type_of(id)), name, function, value);
    body_.replaced[id.value] = name;
  };
  const auto for_each = [&](const std::string& function) {
    const std::string name = array(type);
    out_.line("{}({}, {}{}{}, on);", function, name, value, lane.empty() ? "" : ", ", lane);
    body_.replaced[id.value] = name + "[l]";
  };
  switch (e.op) {
    case SubgroupOp::Ballot:
    case SubgroupOp::Any:
    case SubgroupOp::All: for_all(library.vote(e.op)); break;
    case SubgroupOp::Add:
    case SubgroupOp::Mul:
    case SubgroupOp::Min:
    case SubgroupOp::Max:
    case SubgroupOp::And:
    case SubgroupOp::Or:
    case SubgroupOp::Xor: for_all(library.reduce(e.op, type)); break;
    case SubgroupOp::ExclusiveAdd:
    case SubgroupOp::InclusiveAdd: for_each(library.scan(e.op, type)); break;
    case SubgroupOp::Shuffle:
    case SubgroupOp::ShuffleXor:
    case SubgroupOp::ShuffleUp:
    case SubgroupOp::ShuffleDown:
    case SubgroupOp::Broadcast: for_each(library.shuffle(e.op, type)); break;
  }
}

void SubgroupCode::call(const Call& e, ExprId id) {
  const std::optional<Type> result = p_[e.fn].result;
  std::string list = "g, m, first, lanes, on, ";
  list += body_.in_function ? "live" : "on";
  if (result) {
    const std::string name = array(*result);
    list += ", " + name;
    body_.replaced[id.value] = name + "[l]";
  } else {
    body_.replaced[id.value] = "";
  }
  for (const Arg& arg : p_.arguments(e.args)) {
    if (const ExprId* value = std::get_if<ExprId>(&arg))
      list += ", " + captured(*value);
    else
      list += ", " + e_.memory_arguments(std::get<Memory>(arg));
  }
  out_.line("{}({});", function_name(unit_, e.fn), list);
  out_.line("if (g->gave_up) return;");
  if (body_.in_function)
    out_.line("for (uint32_t l = 0; l < lanes; ++l) on[l] = on[l] && live[l];");
}

}  // namespace

void print_subgroup(const Unit& unit, Block block, Writer& out, bool in_function,
                    const std::map<uint32_t, std::string>& names) {
  // Printed once for what the runs share, and again with arrays for that.
  Library library = unit.library;
  Sites sites = unit.sites;
  const Unit draft_of{unit.c, unit.facts,         unit.name,   library,
                      sites,  unit.subgroup_size, unit.checked};
  Writer unread;
  SubgroupCode draft(draft_of, unread, in_function, names);
  draft.block(block, false);

  SubgroupCode code(unit, out, in_function, names);
  for (const LocalId id : draft.kept()) {
    const Local& local = unit.p()[id];
    const Type type = *unit.c.local_types[id.index()];
    const std::string name = identifier(local.name, 'v', id.value);
    if (local.kind == Local::Kind::Array)
      out.line("{} {}[{}][{}];", element_type(type), name, unit.subgroup_size,
               unit.c.array_counts[id.index()]);
    else
      out.line("{} {}[{}];", value_type(type), name, unit.subgroup_size);
    code.give_name(id, name + "[l]");
  }
  code.block(block, false);
}

}  // namespace vyre::codegen::c
