// SPDX-License-Identifier: Apache-2.0
#include "plan/draft.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "check/level.hpp"
#include "ir/properties.hpp"
#include "plan/mutation.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::plan {

using namespace ir;

Draft::Draft(const check::CheckedProgram& checked) : DraftFacts(checked) {
  // Passes before this one add expressions without axes.
  c.axis_proofs.resize(p.exprs.size(), 0);
  for (const Buffer& b : p.buffers) names_.insert(b.name);
  for (const Const& k : p.consts) names_.insert(k.name);
  for (const Fn& f : p.fns) names_.insert(f.name);
  for (Local& l : p.locals) {
    source_names.push_back(l.name);
    l.name = fresh_name(l.name);
  }
  for (uint32_t i = 0; i < p.buffers.size(); ++i) arguments.push_back({Argument::Kind::Source, i});
  for (const Stmt& s : p.stmts) {
    if (const auto* trap = std::get_if<Trap>(&s)) tags_.insert(trap->tag);
    if (const auto* resume = std::get_if<Resume>(&s)) tags_.insert(resume->tag);
  }
}

// `p` is a part of `c`, so each keeps its own; `bound_` is empty between calls.
DraftFacts::DraftFacts(DraftFacts&& other) noexcept : DraftData(std::move(other)), p(c.program) {}

DraftFacts& DraftFacts::operator=(DraftFacts&& other) noexcept {
  DraftData::operator=(std::move(other));
  return *this;
}

std::string Draft::fresh_name(std::string_view wish) {
  std::string name(wish);
  if (!is_reserved(name) && names_.insert(name).second) return name;
  for (uint32_t& n = next_suffix_.try_emplace(name, 1).first->second;;) {
    std::string candidate = fmt::format("{}_{}", wish.substr(0, kMaxNameBytes - 11), ++n);
    if (names_.insert(candidate).second) return candidate;
  }
}

uint16_t Draft::fresh_tag() {
  for (uint32_t tag = 0; tag <= kMaxTag; ++tag)
    if (tags_.insert(static_cast<uint16_t>(tag)).second) return static_cast<uint16_t>(tag);
  VYRE_CHECK(!"more resumes than a program has statements");
}

ExprId Draft::call_expr(Expr e, std::optional<Type> type, LocId loc) {
  poll_stop();
  const ExprId id = p.add(std::move(e), loc);
  c.expr_types.resize(p.exprs.size());
  c.expr_types[id.index()] = type;
  c.expr_proofs.resize(p.exprs.size(), -1);
  c.axis_proofs.resize(p.exprs.size(), 0);
  return id;
}

ExprId Draft::expr(Expr e, Type type, LocId loc) {
  return call_expr(std::move(e), type, loc);
}

StmtId Draft::stmt(Stmt s, LocId loc, Level flow) {
  poll_stop();
  const StmtId id = p.add(std::move(s), loc);
  c.flow_levels.resize(p.stmts.size(), Level::Lane);
  c.flow_levels[id.index()] = flow;
  c.stmt_proofs.resize(p.stmts.size(), -1);
  return id;
}

LocalId Draft::local(Local::Kind kind, std::string_view name, Type type, Level level) {
  Local l;
  l.name = fresh_name(name);
  l.kind = kind;
  l.type = type;
  const LocalId id = p.add(std::move(l));
  c.local_types.push_back(type);
  c.array_counts.push_back(0);
  c.local_levels.push_back(level);
  source_names.emplace_back(name);
  return id;
}

LocalId Draft::copy_of(LocalId id) {
  const Local from = p[id];
  const LocalId copy = local(from.kind == Local::Kind::Param ? Local::Kind::Let : from.kind,
                             std::string(source_names[id.index()]), type_of(id), level_of(id));
  p.locals[copy.index()].count = from.count;
  p.locals[copy.index()].axes = from.axes;
  c.array_counts[copy.index()] = c.array_counts[id.index()];
  if (p.loc(id).valid()) {
    p.positions.locals.resize(p.locals.size());
    p.positions.locals[copy.index()] = p.loc(id);
  }
  return copy;
}

ExprId Draft::ref(LocalId id) {
  return expr(LocalRef{id}, type_of(id));
}

ExprId Draft::number(uint64_t value, Type type) {
  return expr(IntLiteral{.magnitude = value, .negative = false, .suffix = type}, type);
}

ExprId Draft::boolean(bool value) {
  return expr(BoolLiteral{value}, Type::Bool);
}

ExprId Draft::zero(Type type) {
  if (type == Type::Bool) return boolean(false);
  if (is_float(type))
    return expr(FloatLiteral{.digits = "", .exponent = 0, .negative = false, .suffix = type}, type);
  return number(0, type);
}

ExprId Draft::binary(BinaryOp op, ExprId left, ExprId right) {
  const Type type = is_comparison(op) || is_lazy(op) ? Type::Bool : type_of(left);
  return expr(Binary{op, left, right}, type);
}

// next + step, or the end if that lies before it: the sum could overflow. Distances are unsigned,
// whatever the type.
ExprId advanced(Draft& d, LocalId next, LocalId end, uint64_t step) {
  const Type type = d.type_of(next);
  const ExprId sum = d.binary(BinaryOp::Add, d.ref(next), d.number(step, type));
  if (step == 1 || mutated(Mutation::StepOverflows)) return sum;
  const Type distance = bits_of(type) == 64 ? Type::U64 : Type::U32;
  const ExprId left =
      d.binary(BinaryOp::Sub, d.cast(distance, d.ref(end)), d.cast(distance, d.ref(next)));
  IntrinsicCall select;
  select.op = Intrinsic::Select;
  select.args = {d.binary(BinaryOp::Gt, left, d.number(step, distance)), sum, d.ref(end)};
  return d.expr(select, type);
}

ExprId Draft::negate(ExprId condition) {
  if (const auto* inner = std::get_if<Unary>(&p[condition]);
      inner != nullptr && inner->op == UnaryOp::Not)
    return inner->operand;
  return expr(Unary{UnaryOp::Not, condition}, Type::Bool);
}

ExprId Draft::cast(Type type, ExprId operand) {
  if (type_of(operand) == type) return operand;
  return expr(Cast{type, operand}, type);
}

ExprId as_bits(Draft& d, ExprId value) {
  const Type type = d.type_of(value);
  if (type == Type::U32 || type == Type::U64) return value;
  if (type == Type::Bool) return d.cast(Type::U32, value);
  const Type to = bits_of(type) == 64 ? Type::U64 : Type::U32;
  return d.expr(Bitcast{to, value}, to);
}

ExprId from_bits(Draft& d, ExprId value, Type type) {
  if (d.type_of(value) == type) return value;
  if (type == Type::Bool) return d.cast(Type::Bool, value);
  return d.expr(Bitcast{type, value}, type);
}

uint32_t words_of(Type type) {
  return bits_of(type) == 64 ? 2 : 1;
}

ExprId word_of(Draft& d, ExprId value, uint32_t word) {
  ExprId part = as_bits(d, value);
  if (word == 1) part = d.binary(BinaryOp::Shr, part, d.number(32));
  return d.cast(Type::U32, part);
}

ExprId from_words(Draft& d, const std::function<ExprId(uint32_t)>& word, Type type) {
  if (words_of(type) == 1) return from_bits(d, word(0), type);
  const ExprId low = d.cast(Type::U64, word(0));
  const ExprId high = d.binary(BinaryOp::Shl, d.cast(Type::U64, word(1)), d.number(32));
  return from_bits(d, d.binary(BinaryOp::Or, low, high), type);
}

ExprId Draft::builtin(Builtin builtin, uint32_t axis) {
  return expr(BuiltinRef{builtin, static_cast<uint8_t>(axis)},
              builtin == Builtin::FixpointConverged ? Type::Bool : Type::U32);
}

ExprId Draft::length(Memory memory) {
  return expr(Len{memory}, Type::U32);
}

ExprId Draft::load(Memory memory, ExprId index, bool proved) {
  const ExprId id = expr(Load{memory, index}, widened(element_of(memory)));
  if (proved) {
    c.proofs.push_back({check::BoundsProof::Kind::Range, "sized by the plan"});
    c.expr_proofs[id.index()] = static_cast<int32_t>(c.proofs.size()) - 1;
  }
  return id;
}

// (z * size.y + y) * size.x + x, leaving out what is zero anyway.
ExprId lane_in_group(Draft& d) {
  const auto mul = [&](ExprId e, uint32_t n) {
    return n == 1 ? e : d.binary(BinaryOp::Mul, e, d.number(n));
  };
  const auto lid = [&](uint32_t axis) { return d.builtin(Builtin::Lid, axis); };
  const auto& size = d.c.workgroup;
  if (size[1] == 1 && size[2] == 1) return lid(0);
  ExprId e = lid(1);
  if (size[2] != 1) e = d.binary(BinaryOp::Add, mul(lid(2), size[1]), e);
  return d.binary(BinaryOp::Add, mul(e, size[0]), lid(0));
}

ExprId group_id(Draft& d) {
  const auto num = [&](uint32_t axis) { return d.builtin(Builtin::NumWorkgroups, axis); };
  const auto wid = [&](uint32_t axis) { return d.builtin(Builtin::Wid, axis); };
  const ExprId rows = d.binary(BinaryOp::Add, d.binary(BinaryOp::Mul, wid(2), num(1)), wid(1));
  return d.binary(BinaryOp::Add, d.binary(BinaryOp::Mul, rows, num(0)), wid(0));
}

ExprId lane_id(Draft& d) {
  return d.binary(BinaryOp::Add,
                  d.binary(BinaryOp::Mul, group_id(d), d.number(d.lanes_per_group())),
                  lane_in_group(d));
}

ExprId group_count(Draft& d) {
  const auto num = [&](uint32_t axis) { return d.builtin(Builtin::NumWorkgroups, axis); };
  return d.binary(BinaryOp::Mul, d.binary(BinaryOp::Mul, num(0), num(1)), num(2));
}

ExprId lane_count(Draft& d) {
  return d.binary(BinaryOp::Mul, group_count(d), d.number(d.lanes_per_group()));
}

StmtId Draft::let(LocalId local, ExprId value) {
  return stmt(Let{local, value}, {}, level_of(local));
}
StmtId Draft::assign(LocalId local, ExprId value) {
  return stmt(Assign{local, std::nullopt, value}, {}, level_of(local));
}
StmtId Draft::store(Memory memory, ExprId index, ExprId value) {
  const StmtId id = stmt(Store{memory, index, std::nullopt, value});
  c.proofs.push_back({check::BoundsProof::Kind::Range, "sized by the plan"});
  c.stmt_proofs[id.index()] = static_cast<int32_t>(c.proofs.size()) - 1;
  return id;
}
StmtId Draft::atomic(AtomicOp op, Memory memory, ExprId index, ExprId value) {
  Atomic a;
  a.op = op;
  a.memory = memory;
  a.index = index;
  a.args[0] = value;
  std::optional<Type> type = element_of(memory);
  if (op == AtomicOp::Store) type = std::nullopt;
  const ExprId e = call_expr(a, type, {});
  c.proofs.push_back({check::BoundsProof::Kind::Range, "sized by the plan"});
  c.expr_proofs[e.index()] = static_cast<int32_t>(c.proofs.size()) - 1;
  return stmt(Eval{e});
}
StmtId Draft::when(ExprId condition, const StmtList& then, const StmtList& otherwise) {
  return stmt(If{condition, block(then), block(otherwise)});
}
StmtId Draft::barrier(Scope scope) {
  return stmt(Barrier{scope}, {}, scope == Scope::Grid ? Level::Grid : Level::Workgroup);
}

StmtId over_array(Draft& d, LocalId array, const std::function<StmtList(LocalId)>& each) {
  const LocalId k = d.local(Local::Kind::For, "k", Type::U32, Level::Grid);
  For loop;
  loop.variable = k;
  loop.first = d.number(0);
  loop.last = d.number(d.c.array_counts[array.index()]);
  loop.body = d.block(each(k));
  return d.stmt(loop, {}, Level::Grid);
}

LocalId Draft::capture(ExprId value, std::string_view name, Level level, StmtList& out) {
  const LocalId l = local(Local::Kind::Let, name, type_of(value), level);
  out.push_back(stmt(Let{l, value}, p.loc(value), level));
  return l;
}

Type DraftFacts::element_of(Memory memory) const {
  switch (memory.kind) {
    case Memory::Kind::Buffer: return p[memory.buffer()].element;
    case Memory::Kind::Table: return p[memory.table()].type;
    case Memory::Kind::Local: return *c.local_types[memory.index];
  }
  return Type::U32;
}

Level DraftFacts::level_of(ExprId id) const {
  const Expr& e = p[id];
  const ExprProperties row = properties_of(e);
  Level level = Level::Grid;
  switch (row.uniformity) {
    case UniformityRule::Operands: break;
    case UniformityRule::Local:
      for_each_local(e, [&](LocalId local, LocalAccess) { level = level_of(local); });
      break;
    case UniformityRule::Memory:
      for_each_memory(p, e, [&](const MemoryUse& use) { level = level_of(use.memory); });
      break;
    case UniformityRule::Given: return check::level_over(row.uniform_over);
    // Parameters carry the levels of the arguments, as far as the result depends on them.
    case UniformityRule::Function: return level_of(std::get<Call>(e));
  }
  for_each_operand(p, e, [&](ExprId operand) { level = std::max(level, level_of(operand)); });
  return level;
}

// What is loaded from it with a uniform index.
Level DraftFacts::level_of(Memory m) const {
  if (m.kind == Memory::Kind::Table) return Level::Grid;
  if (m.kind == Memory::Kind::Local) {
    const auto bound = bound_.find(m.index);
    return bound != bound_.end() ? bound->second : level_of(m.local());
  }
  return is_read_only(p[m.buffer()].kind) ? Level::Grid : Level::Lane;
}

// As the checker sees it: what is called only to store has a result that may be uniform. Said
// otherwise here, lanes that have ended would go without a value that others take for theirs.
Level DraftFacts::level_of(const Call& e) const {
  const auto params = p.params(p[e.fn].params);
  const auto args = p.arguments(e.args);
  std::map<uint32_t, Level> bound;
  for (size_t i = 0; i < params.size(); ++i)
    if (const Memory* m = std::get_if<Memory>(&args[i])) bound[params[i].value] = level_of(*m);
  std::swap(bound, bound_);
  const Level level = result_level(e.fn);
  std::swap(bound, bound_);
  return level;
}

// Locals of a function have the worst level of all calls, so its result has, too.
Level DraftFacts::result_level(FnId id) const {
  Level level = Level::Grid;
  for (const StmtId item : p.items(p[id].body))
    for_each_stmt(p, item, [&](StmtId s) {
      const auto* ret = std::get_if<Return>(&p[s]);
      if (ret == nullptr) return;
      level = std::max(level, c.flow_levels[s.index()]);
      if (ret->value.valid()) level = std::max(level, level_of(ret->value));
    });
  return level;
}

std::vector<ExprId> DraftFacts::operands(ExprId id) const {
  std::vector<ExprId> list;
  for_each_operand(p, p[id], [&](ExprId e) { list.push_back(e); });
  return list;
}
std::vector<ExprId> DraftFacts::operands(StmtId id) const {
  std::vector<ExprId> list;
  for_each_operand(p, p[id], [&](ExprId e) { list.push_back(e); });
  return list;
}

ExprId Draft::with_operands(ExprId id, const std::vector<ExprId>& operands) {
  size_t next = 0;
  Expr e = p[id];
  replace_operands(p, e, [&](ExprId) { return operands[next++]; });
  const ExprId copy = call_expr(std::move(e), c.expr_types[id.index()], p.loc(id));
  c.expr_proofs[copy.index()] = c.expr_proofs[id.index()];
  c.axis_proofs[copy.index()] = c.axis_proofs[id.index()];
  return copy;
}

StmtId Draft::with_operands(StmtId id, const std::vector<ExprId>& operands) {
  size_t next = 0;
  Stmt s = p[id];
  replace_operands(p, s, [&](ExprId) { return operands[next++]; });
  const StmtId copy = stmt(std::move(s), p.loc(id), c.flow_levels[id.index()]);
  keep_facts(id, copy);
  return copy;
}

void Draft::keep_facts(StmtId from, StmtId to) {
  c.stmt_proofs[to.index()] = c.stmt_proofs[from.index()];
  if (const auto row = fixpoint_rows.find(from.value); row != fixpoint_rows.end())
    fixpoint_rows[to.value] = row->second;
  if (const auto word = branch_words.find(from.value); word != branch_words.end())
    branch_words[to.value] = word->second;
  if (unconditional_collectives.contains(from.value)) unconditional_collectives.insert(to.value);
}

StmtId Draft::with_blocks(StmtId id, const std::vector<StmtList>& blocks) {
  size_t next = 0;
  Stmt s = p[id];
  replace_blocks(s, [&](Block) { return block(blocks[next++]); });
  const StmtId copy = stmt(std::move(s), p.loc(id), c.flow_levels[id.index()]);
  keep_facts(id, copy);
  return copy;
}

ExprId Draft::clone(ExprId id) {
  std::vector<ExprId> copies;
  for (const ExprId e : operands(id)) copies.push_back(clone(e));
  return with_operands(id, copies);
}

BufferId Draft::add_hidden(Hidden h, BufferKind kind) {
  const auto row = static_cast<uint32_t>(hidden.size());
  h.name = fresh_name(h.name);
  const auto add = [&](std::string name, BufferKind k, Argument::Kind argument) {
    Buffer b;
    b.name = std::move(name);
    b.kind = k;
    b.element = h.element;
    const BufferId id = p.add(std::move(b));
    c.buffers.emplace_back();
    arguments.push_back({argument, row});
    return id;
  };
  BufferId id;
  if (h.two_halves) {
    // Segments read a value that no other workgroup changes under their hands: an `in` buffer.
    id = add(h.name, BufferKind::In, Argument::Kind::Hidden);
    out_half[row] = add(fresh_name("next_" + h.name), BufferKind::InOut, Argument::Kind::HiddenOut);
  } else {
    id = add(h.name, kind, Argument::Kind::Hidden);
  }
  hidden.push_back(std::move(h));
  return id;
}

Hidden DraftFacts::snapshot_of(BufferId buffer) const {
  Hidden h;
  h.kind = Hidden::Kind::Snapshot;
  h.name = "before_" + p[buffer].name;
  h.element = p[buffer].element;
  h.extent = Hidden::Extent::LikeBuffer;
  h.like = buffer;
  return h;
}

bool DraftFacts::ends_lane(StmtId id) const {
  if (const auto* trap = std::get_if<Trap>(&p[id])) return trap->tag != zero_passes_tag;
  return properties_of(p[id]).may_end_lane;
}

bool is_stable(const Draft& d, ExprId id) {
  const Expr& e = d.p[id];
  const auto unchanged = [&](Memory m) {
    if (m.kind == Memory::Kind::Local) return false;
    return m.kind == Memory::Kind::Table || is_read_only(d.p[m.buffer()].kind);
  };
  if (properties_of(e).rematerialise == Rematerialise::Never) return false;
  bool stable = true;
  // A second evaluation of a checked access would report a fault at a second place.
  for_each_memory(d.p, e, [&](const MemoryUse& use) {
    if (use.access != Access::Length) stable = stable && !d.checked && unchanged(use.memory);
  });
  for_each_operand(d.p, e, [&](ExprId operand) { stable = stable && is_stable(d, operand); });
  return stable;
}

}  // namespace vyre::plan
