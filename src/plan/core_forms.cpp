// SPDX-License-Identifier: Apache-2.0
#include "plan/core_forms.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/stop.hpp"
#include "ir/properties.hpp"
#include "ir/scalar.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::plan {

using namespace ir;
using check::Level;

namespace {

using StmtList = std::vector<StmtId>;

std::optional<uint64_t> constant(const check::CheckedProgram& c, ExprId id) {
  const auto value = check::evaluate_constant(c, id);
  return value ? std::optional(value->bits) : std::nullopt;
}

bool may_trap(const Program& p, ExprId id) {
  bool found = properties_of(p[id]).may_trap;
  for_each_operand(p, p[id], [&](ExprId operand) { found = found || may_trap(p, operand); });
  return found;
}

// The value of a step that need not be evaluated: in checked mode a load of a table beyond its end
// stops the lane, whatever the value is.
std::optional<uint64_t> constant_step(const check::CheckedProgram& c, ExprId id) {
  return may_trap(c.program, id) ? std::nullopt : constant(c, id);
}

bool counts_up_by_a_constant(const check::CheckedProgram& c, const For& s) {
  return !s.reversed && (!s.step.valid() || constant_step(c, s.step));
}

class CoreForms {
 public:
  explicit CoreForms(const check::CheckedProgram& checked)
      : c_(checked), p_(c_.program), stop_tag_(step_trap_tag(p_)) {
    for (const Buffer& b : p_.buffers) names_.insert(b.name);
    for (const Const& k : p_.consts) names_.insert(k.name);
    for (const Fn& f : p_.fns) names_.insert(f.name);
    for (const Local& l : p_.locals) names_.insert(l.name);
  }

  check::CheckedProgram run() {
    for (size_t i = 0; i < p_.fns.size(); ++i) p_.fns[i].body = block(p_.fns[i].body);
    p_.body = block(p_.body);
    return std::move(c_);
  }

 private:
  // The bounds and the step of a loop, evaluated once.
  struct Bounds {
    LocId at;
    Type type = Type::U32;      // of the variable
    Type count = Type::U32;     // unsigned, as wide
    Level level = Level::Grid;  // of the variable
    LocalId first, last, step;  // step: none if it is constant
    uint64_t by = 1;
    bool may_stop = false;
  };

  // ---- nodes

  ExprId expr(Expr e, Type type, LocId at) {
    poll_stop();
    const ExprId id = p_.add(std::move(e), at);
    c_.expr_types.resize(p_.exprs.size());
    c_.expr_types[id.index()] = type;
    c_.expr_proofs.resize(p_.exprs.size(), -1);
    return id;
  }
  StmtId stmt(Stmt s, LocId at, Level flow) {
    poll_stop();
    const StmtId id = p_.add(std::move(s), at);
    c_.flow_levels.resize(p_.stmts.size(), Level::Lane);
    c_.flow_levels[id.index()] = flow;
    c_.stmt_proofs.resize(p_.stmts.size(), -1);
    return id;
  }
  std::string fresh_name(const std::string& wish) {
    std::string name = wish.substr(0, kMaxNameBytes - 11);
    for (uint32_t n = 2; is_reserved(name) || !names_.insert(name).second; ++n)
      name = fmt::format("{}_{}", wish.substr(0, kMaxNameBytes - 11), n);
    return name;
  }
  LocalId local(Local::Kind kind, const std::string& wish, Type type, Level level) {
    Local l;
    l.name = fresh_name(wish);
    l.kind = kind;
    l.type = type;
    const LocalId id = p_.add(std::move(l));
    c_.local_types.push_back(type);
    c_.array_counts.push_back(0);
    c_.local_levels.push_back(level);
    return id;
  }
  ExprId ref(LocalId id) { return expr(LocalRef{id}, *c_.local_types[id.index()], {}); }
  ExprId number(uint64_t value, Type type) {
    return expr(IntLiteral{.magnitude = value, .negative = false, .suffix = type}, type, {});
  }
  ExprId binary(BinaryOp op, ExprId left, ExprId right) {
    const Type type = is_comparison(op) || is_lazy(op) ? Type::Bool : *c_.expr_types[left.index()];
    return expr(Binary{op, left, right}, type, {});
  }
  ExprId cast(Type type, ExprId value) {
    return c_.expr_types[value.index()] == type ? value : expr(Cast{type, value}, type, {});
  }
  LocalId let(const std::string& name, ExprId value, Level level, LocId at, StmtList& out) {
    const LocalId id = local(Local::Kind::Let, name, *c_.expr_types[value.index()], level);
    out.push_back(stmt(Let{id, value}, at, level));
    return id;
  }
  int32_t in_range() {
    c_.proofs.push_back({check::BoundsProof::Kind::Range, "one of the first elements"});
    return static_cast<int32_t>(c_.proofs.size()) - 1;
  }

  // ---- statements

  Block block(Block given) {
    const auto items = p_.items(given);
    const StmtList before(items.begin(), items.end());
    StmtList after;
    for (const StmtId id : before) {
      poll_stop();
      Stmt s = p_[id];  // `block` adds others
      replace_blocks(s, [&](Block b) { return block(b); });
      p_.stmts[id.index()] = std::move(s);
      statement(id, after);
    }
    return after == before ? given : p_.add_block(after);
  }

  void statement(StmtId id, StmtList& out) {
    const Stmt& s = p_[id];
    if (const auto* loop = std::get_if<For>(&s);
        loop != nullptr && !counts_up_by_a_constant(c_, *loop))
      return for_loop(id, For(*loop), out);
    out.push_back(id);
    if (const auto* array = std::get_if<DeclareArray>(&s)) array_values(array->local, id, out);
  }

  void array_values(LocalId array, StmtId id, StmtList& out) {
    constexpr uint32_t kFewValues = 16;
    const Range values = std::exchange(p_.locals[array.index()].values, {});
    const LocId at = p_.loc(id);
    const Level flow = c_.flow_levels[id.index()];
    const Type type = *c_.local_types[array.index()];
    const auto store = [&](ExprId index, ExprId value) {
      const StmtId stored = stmt(Store{Memory::of(array), index, std::nullopt, value}, at, flow);
      c_.stmt_proofs[stored.index()] = in_range();
      return stored;
    };
    if (values.count <= kFewValues) {
      const auto list = p_.values(values);
      uint32_t index = 0;
      for (const ExprId value : std::vector<ExprId>(list.begin(), list.end()))
        out.push_back(store(number(index++, Type::U32), value));
      return;
    }
    Const table;
    table.name = fresh_name(p_[array].name + "_values");
    table.type = type;
    table.table = true;
    table.values = values;
    std::vector<check::Constant> known;
    for (const ExprId value : p_.values(values))
      known.push_back(*check::evaluate_constant(c_, value));
    const ConstId from = p_.add(std::move(table), at);
    c_.constants.push_back(std::move(known));
    For loop;
    loop.variable = local(Local::Kind::For, p_[array].name + "_at", Type::U32, flow);
    loop.first = number(0, Type::U32);
    loop.last = number(values.count, Type::U32);
    const ExprId value = expr(Load{Memory::of(from), ref(loop.variable)}, type, at);
    c_.expr_proofs[value.index()] = in_range();
    const StmtId stored = store(ref(loop.variable), value);
    loop.body = p_.add_block(std::vector{stored});
    out.push_back(stmt(loop, at, flow));
  }

  // first .. last by step as numbers from 0 on:
  //   for trip in 0 .. count { let i = first + trip * step; body }
  // and reversed
  //   for trip in 0 .. count { let i = top - trip * step; body }
  // All of it wraps: distances are unsigned and below 2^width, whatever the type is.
  void for_loop(StmtId id, const For& s, StmtList& out) {
    const Bounds b = bounds(id, s, out);
    const std::string name = p_[s.variable].name;
    if (b.may_stop) out.push_back(stop_if_not_positive(b, s, id));
    const LocalId count = let(name + "_count", trip_count(b), b.level, b.at, out);
    LocalId start;
    if (s.reversed) {
      const ExprId before_last = binary(BinaryOp::Sub, ref(count), number(1, b.count));
      start = let(name + "_top",
                  binary(BinaryOp::Add, cast(b.count, ref(b.first)), steps(b, before_last)),
                  b.level, b.at, out);
    }
    For loop;
    loop.unroll = s.unroll;
    loop.variable = local(Local::Kind::For, name + "_trip", b.count, b.level);
    loop.first = number(0, b.count);
    loop.last = ref(count);
    const ExprId gone = steps(b, ref(loop.variable));
    const ExprId at = s.reversed ? binary(BinaryOp::Sub, ref(start), gone)
                                 : binary(BinaryOp::Add, cast(b.count, ref(b.first)), gone);
    p_.locals[s.variable.index()].kind = Local::Kind::Let;
    StmtList body = {stmt(Let{s.variable, cast(b.type, at)}, b.at, b.level)};
    const auto items = p_.items(s.body);
    body.insert(body.end(), items.begin(), items.end());
    loop.body = p_.add_block(body);
    // In the place of the other one: nothing that looks at all nodes must find that.
    p_.stmts[id.index()] = loop;
    out.push_back(id);
  }

  Bounds bounds(StmtId id, const For& s, StmtList& out) {
    Bounds b;
    b.at = p_.loc(id);
    b.type = *c_.local_types[s.variable.index()];
    b.count = bits_of(b.type) == 64 ? Type::U64 : Type::U32;
    b.level = c_.local_levels[s.variable.index()];
    const std::string name = p_[s.variable].name;
    b.first = let(name + "_first", s.first, b.level, b.at, out);
    b.last = let(name + "_last", s.last, b.level, b.at, out);
    if (!s.step.valid()) return b;
    if (const auto by = constant_step(c_, s.step)) {
      b.by = *by;
      return b;
    }
    b.step = let(name + "_step", s.step, b.level, b.at, out);
    b.may_stop = id.index() >= c_.positive_steps.size() || !c_.positive_steps[id.index()];
    return b;
  }

  ExprId runs(const Bounds& b) { return binary(BinaryOp::Lt, ref(b.first), ref(b.last)); }
  ExprId is_positive(const Bounds& b) {
    return binary(BinaryOp::Gt, ref(b.step), number(0, b.type));
  }

  StmtId stop_if_not_positive(const Bounds& b, const For& s, StmtId id) {
    const Level flow = std::max(b.level, c_.flow_levels[id.index()]);
    const ExprId value = cast(Type::U32, ref(b.step));
    const StmtId trap = stmt(Trap{*stop_tag_, value}, p_.loc(s.step), flow);
    const ExprId stops =
        binary(BinaryOp::LogicalAnd, runs(b), binary(BinaryOp::Le, ref(b.step), number(0, b.type)));
    return stmt(If{stops, p_.add_block(std::vector{trap}), {}}, b.at, c_.flow_levels[id.index()]);
  }

  // How many iterations: (last - first - 1) / step + 1. Lanes that have ended and only walk along
  // come here with any step.
  ExprId trip_count(const Bounds& b) {
    const ExprId distance =
        binary(BinaryOp::Sub, cast(b.count, ref(b.last)), cast(b.count, ref(b.first)));
    ExprId count = distance;
    if (b.step.valid() || b.by != 1) {
      const ExprId by = b.step.valid() ? cast(b.count, ref(b.step)) : number(b.by, b.count);
      count = binary(BinaryOp::Div, binary(BinaryOp::Sub, distance, number(1, b.count)), by);
      count = binary(BinaryOp::Add, count, number(1, b.count));
    }
    ExprId some = runs(b);
    if (b.may_stop) some = binary(BinaryOp::LogicalAnd, some, is_positive(b));
    IntrinsicCall select;
    select.op = Intrinsic::Select;
    select.args = {some, count, number(0, b.count)};
    return expr(select, b.count, {});
  }

  ExprId steps(const Bounds& b, ExprId iterations) {
    if (b.step.valid()) return binary(BinaryOp::Mul, iterations, cast(b.count, ref(b.step)));
    return b.by == 1 ? iterations : binary(BinaryOp::Mul, iterations, number(b.by, b.count));
  }

  check::CheckedProgram c_;
  Program& p_;
  std::optional<uint16_t> stop_tag_;
  std::unordered_set<std::string> names_;
};

}  // namespace

std::optional<check::CheckedProgram> core_forms(const check::CheckedProgram& checked) {
  const Program& p = checked.program;
  const bool has_all = std::ranges::none_of(p.stmts, [&](const Stmt& s) {
    if (const auto* loop = std::get_if<For>(&s)) return !counts_up_by_a_constant(checked, *loop);
    if (const auto* array = std::get_if<DeclareArray>(&s)) return !p[array->local].values.empty();
    return false;
  });
  if (has_all) return std::nullopt;
  return CoreForms(checked).run();
}

}  // namespace vyre::plan
