// SPDX-License-Identifier: Apache-2.0
// Program to text. Writes bare tokens; the layout that formats people's texts gives them their
// shape.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/match.hpp"
#include "text/layout.hpp"
#include "text/lexer.hpp"
#include "text/number.hpp"
#include "vyre/text/text.hpp"

namespace vyre::text {

namespace {

using namespace ir;

// Twice what a valid program may have; deeper ones are cut off rather than overflow the stack.
constexpr int kMaxDepth = 256;

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string program();
  std::string expression(ExprId id) {
    expr(id, 0);
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void put(const Parts&... parts) {
    ((out_ += parts, out_ += ' '), ...);
  }
  void line() { out_ += '\n'; }
  void gap() { out_ += "\n\n"; }

  void axes(std::string_view word, const std::array<ExprId, 3>& ids);
  void constant(const Const& constant);
  void buffer(const Buffer& buffer);
  void attribute(std::string_view name, ExprId value);
  void requires_before(uint32_t buffers);
  void function(const Fn& fn);
  void block(Block items);
  void stmt(StmtId id);
  void async_copy(const AsyncCopy& s);
  void for_loop(const For& s);
  void if_chain(const If& first);
  void fixpoint(const Fixpoint& s);
  void collective(const Collective& s);
  void expr(ExprId id, int min_precedence);
  void unary(const Unary& e, int min_precedence);
  void binary(const Binary& e, int min_precedence);
  void atomic(const Atomic& e);
  void call(const Call& e);
  void values(std::span<const ExprId> ids);
  void more_values(Range list);
  void element(Memory memory, ExprId index);
  void load(const Load& e);
  std::string_view name(Memory memory) const;
  void assign(const std::optional<BinaryOp>& op, ExprId value);

  const Program& program_;
  std::string out_;
  size_t next_require_ = 0;
  int depth_ = 0;
};

// ---- declarations

std::string Printer::program() {
  put("program", program_.name, "{");
  line();
  axes("workgroup", program_.workgroup);
  axes("over", program_.over);
  if (!program_.consts.empty()) gap();
  for (const Const& c : program_.consts) constant(c);
  if (!program_.buffers.empty()) gap();
  for (uint32_t i = 0; i < program_.buffers.size(); ++i) {
    requires_before(i);
    buffer(program_.buffers[i]);
  }
  requires_before(UINT32_MAX);
  for (const Fn& fn : program_.fns) {
    gap();
    function(fn);
    line();
  }
  bool first = true;
  bool after_block = false;
  for (const StmtId id : program_.items(program_.body)) {
    const bool has_block = std::holds_alternative<Region>(program_[id]) ||
                           std::holds_alternative<Fixpoint>(program_[id]);
    if (first || has_block || after_block) gap();
    stmt(id);
    first = false;
    after_block = has_block;
  }
  put("}");
  return std::move(out_);
}

void Printer::axes(std::string_view word, const std::array<ExprId, 3>& ids) {
  const size_t count = Program::axes(ids);
  if (count == 0) return;
  put(word);
  values(std::span(ids).first(count));
  put(";");
  line();
}

void Printer::constant(const Const& c) {
  put("const", c.name, ":", name_of(c.type));
  put(c.table ? "[ ] = {" : "=");
  values(program_.values(c.values));
  put(c.table ? "} ;" : ";");
  line();
}

void Printer::attribute(std::string_view attribute_name, ExprId value) {
  if (!value.valid()) return;
  put("@", attribute_name, "(");
  expr(value, 0);
  put(")");
}

void Printer::buffer(const Buffer& b) {
  put(name_of(b.kind), b.name, ":", name_of(b.element));
  if (!b.scalar) {
    put("[");
    if (b.count.valid()) expr(b.count, 0);
    values(program_.values(b.axes));
    put("]");
  }
  attribute("binding", b.binding);
  attribute("align", b.align);
  attribute("count", b.size);
  if (b.range_first.valid()) {
    put("@ range (");
    expr(b.range_first, 0);
    put("..");
    expr(b.range_last, 0);
    put(")");
  }
  if (b.live_out) put("@ live_out");
  if (b.locality != Locality::None) put("@ locality (", name_of(b.locality), ")");
  if (b.coalesce_axis)
    put("@ coalesce (", std::string_view("xyz").substr(*b.coalesce_axis % 3, 1), ")");
  put(";");
  line();
}

// Requirements in their places among the buffers.
void Printer::requires_before(uint32_t buffers) {
  const size_t first = next_require_;
  while (next_require_ < program_.require_list.size() &&
         program_.require_list[next_require_].buffers_before <= buffers) {
    const Require& require = program_.require_list[next_require_++];
    if (next_require_ == first + 1) gap();
    put("require");
    expr(require.condition, 0);
    put(",", escape(require.message), ";");
    line();
  }
  if (next_require_ != first) gap();
}

void Printer::function(const Fn& fn) {
  put("fn", fn.name, "(");
  bool first = true;
  for (const LocalId id : program_.params(fn.params)) {
    const Local& param = program_[id];
    if (!first) put(",");
    first = false;
    put(param.name, ":");
    const std::string_view type = name_of(param.type.value_or(Type::U32));
    if (param.kind == Local::Kind::BufferParam) {
      put("buffer", type, "[");
      for (uint32_t axis = 1; axis < param.rank; ++axis) put(",");
      put("]");
    } else {
      put(type);
    }
  }
  put(")");
  if (fn.result) put("->", name_of(*fn.result));
  block(fn.body);
}

// ---- statements

void Printer::block(Block items) {
  put("{");
  line();
  if (depth_ < kMaxDepth) {
    ++depth_;
    for (const StmtId id : program_.items(items)) stmt(id);
    --depth_;
  } else if (!items.empty()) {
    put("// ...");
    line();
  }
  put("}");
}

std::string_view Printer::name(Memory memory) const {
  switch (memory.kind) {
    case Memory::Kind::Buffer: return program_[memory.buffer()].name;
    case Memory::Kind::Table: return program_[memory.table()].name;
    case Memory::Kind::Local: return program_[memory.local()].name;
  }
  return "";
}

void Printer::element(Memory memory, ExprId index) {
  put(name(memory), "[");
  const auto* at = std::get_if<AxisIndex>(&program_[index]);
  if (at != nullptr)
    values(program_.values(at->indices));
  else
    expr(index, 0);
  put("]");
}

void Printer::assign(const std::optional<BinaryOp>& op, ExprId value) {
  put(op ? std::string(spelling_of(*op)) + "=" : "=");
  expr(value, 0);
  put(";");
}

void Printer::stmt(StmtId id) {
  match(
      program_[id],
      [&](const Let& s) {
        const Local& local = program_[s.local];
        put(local.kind == Local::Kind::Var ? "var" : "let", local.name);
        if (local.type) put(":", name_of(*local.type));
        assign({}, s.value);
      },
      [&](const DeclareArray& s) {
        const Local& local = program_[s.local];
        put("var", local.name, ":", name_of(local.type.value_or(Type::U32)), "[");
        if (local.count.valid()) expr(local.count, 0);
        values(program_.values(local.axes));
        put("]");
        if (!local.values.empty()) {
          put("= {");
          values(program_.values(local.values));
          put("}");
        }
        put(";");
      },
      [&](const Assign& s) {
        put(program_[s.local].name);
        assign(s.op, s.value);
      },
      [&](const Store& s) {
        element(s.memory, s.index);
        assign(s.op, s.value);
      },
      [&](const Eval& s) {
        expr(s.value, 0);
        put(";");
      },
      [&](const If& s) { if_chain(s); }, [&](const For& s) { for_loop(s); },
      [&](const While& s) {
        put("while");
        expr(s.condition, 0);
        block(s.body);
      },
      [&](const Break&) { put("break ;"); }, [&](const Continue&) { put("continue ;"); },
      [&](const Return& s) {
        put("return");
        if (s.value.valid()) expr(s.value, 0);
        put(";");
      },
      [&](const Nested& s) { block(s.body); },
      [&](const Region& s) {
        put("region", s.name);
        block(s.body);
      },
      [&](const Barrier& s) { put("barrier", name_of(s.scope), ";"); },
      [&](const Fixpoint& s) { fixpoint(s); }, [&](const AsyncCopy& s) { async_copy(s); },
      [&](const Wait& s) { put("wait (", std::to_string(s.tag), ") ;"); },
      [&](const Trap& s) {
        put("trap (", std::to_string(s.tag), ",");
        expr(s.value, 0);
        put(") ;");
      },
      [&](const Resume& s) { put("resume (", std::to_string(s.tag), ") ;"); },
      [&](const Collective& s) { collective(s); },
      [&](const Swap& s) { put("swap (", name(s.a), ",", name(s.b), ") ;"); },
      [&](const Print& s) {
        put("print (", escape(s.format));
        more_values(s.args);
        put(") ;");
      },
      [&](const Assert& s) {
        put("assert (");
        expr(s.condition, 0);
        put(",", escape(s.format));
        more_values(s.args);
        put(") ;");
      });
  line();
}

void Printer::async_copy(const AsyncCopy& s) {
  put("async copy (", std::to_string(s.tag), ",", name(s.dst), ",");
  expr(s.dst_index, 0);
  put(",", name(s.src), ",");
  values(std::array{s.src_index, s.count});
  put(") ;");
}

void Printer::if_chain(const If& first) {
  const If* s = &first;
  while (true) {
    put("if");
    expr(s->condition, 0);
    block(s->then_block);
    if (s->else_block.empty()) return;
    put("else");
    const std::span<const StmtId> items = program_.items(s->else_block);
    const If* const next = items.size() == 1 ? std::get_if<If>(&program_[items[0]]) : nullptr;
    if (next == nullptr) break;
    s = next;
  }
  block(s->else_block);
}

void Printer::for_loop(const For& s) {
  put("for", program_[s.variable].name, "in");
  if (s.reversed) put("rev");
  expr(s.first, 0);
  put("..");
  expr(s.last, 0);
  if (s.step.valid()) {
    put("step");
    expr(s.step, 0);
  }
  if (s.unroll) put("@ unroll");
  block(s.body);
}

void Printer::fixpoint(const Fixpoint& s) {
  put("fixpoint max");
  expr(s.max_passes, 0);
  put("over (");
  bool first = true;
  for (const Memory memory : program_.memories(s.buffers)) {
    if (!first) put(",");
    first = false;
    put(name(memory));
  }
  put(")");
  block(s.body);
}

void Printer::collective(const Collective& s) {
  put(name_of(s.op), "(", name(s.src));
  if (s.op == CollectiveOp::AllGather || s.op == CollectiveOp::ReduceScatter) put(",", name(s.dst));
  if (s.op == CollectiveOp::AllReduce || s.op == CollectiveOp::ReduceScatter)
    put(",", name_of(s.reduce));
  if (s.op == CollectiveOp::Broadcast) {
    put(",");
    expr(s.root, 0);
  }
  if (s.group.valid()) {
    put(",");
    expr(s.group, 0);
  }
  put(") ;");
}

// ---- expressions

void Printer::values(std::span<const ExprId> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) put(",");
    expr(ids[i], 0);
  }
}

void Printer::more_values(Range list) {
  for (const ExprId id : program_.values(list)) {
    put(",");
    expr(id, 0);
  }
}

void Printer::expr(ExprId id, int min_precedence) {
  if (depth_ >= kMaxDepth) {
    put("_");
    return;
  }
  ++depth_;
  match(
      program_[id], [&](const IntLiteral& e) { put(write_number(e)); },
      [&](const FloatLiteral& e) { put(write_number(e)); },
      [&](const BoolLiteral& e) { put(e.value ? "true" : "false"); },
      [&](const LocalRef& e) { put(program_[e.local].name); },
      [&](const ConstRef& e) { put(program_[e.constant].name); },
      [&](const BuiltinRef& e) {
        put(name_of(e.builtin));
        if (has_axis(e.builtin)) put(".", std::string_view("xyz").substr(e.axis % 3, 1));
        if (is_call(e.builtin)) put("( )");
      },
      [&](const Len& e) { put("len (", name(e.memory), ")"); }, [&](const Load& e) { load(e); },
      [&](const Unary& e) { unary(e, min_precedence); },
      [&](const Binary& e) { binary(e, min_precedence); },
      [&](const Cast& e) {
        if (min_precedence > kCastPrecedence) put("(");
        expr(e.operand, kCastPrecedence);
        put("as", name_of(e.type));
        if (min_precedence > kCastPrecedence) put(")");
      },
      [&](const Bitcast& e) {
        put("bitcast <", name_of(e.type), "> (");
        expr(e.operand, 0);
        put(")");
      },
      [&](const IntrinsicCall& e) {
        put(name_of(e.op), "(");
        values(std::span(e.args).first(static_cast<size_t>(arity_of(e.op))));
        put(")");
      },
      [&](const Atomic& e) { atomic(e); },
      [&](const Subgroup& e) {
        put(name_of(e.op), "(");
        expr(e.value, 0);
        if (e.lane.valid()) {
          put(",");
          expr(e.lane, 0);
        }
        put(")");
      },
      [&](const UniformLoad& e) {
        put(e.scope == Scope::Grid ? "grid_load" : "workgroup_load", "(");
        element(e.memory, e.index);
        put(")");
      },
      [&](const Call& e) { call(e); }, [&](const Poison&) { put("_"); },
      // As it stands in a plan, or in a program that is not valid.
      [&](const AxisIndex& e) {
        put("index (");
        std::vector<ExprId> parts(program_.values(e.indices).begin(),
                                  program_.values(e.indices).end());
        for (const ExprId length : program_.values(e.lengths)) parts.push_back(length);
        values(parts);
        put(")");
      },
      [&](const AxisLen& e) { put("len (", name(e.memory), ",", std::to_string(e.axis), ")"); });
  --depth_;
}

// The index of a scalar is not written.
void Printer::load(const Load& e) {
  const BufferId buffer = e.memory.buffer();
  const auto* index = std::get_if<IntLiteral>(&program_[e.index]);
  if (buffer.valid() && program_[buffer].scalar && index != nullptr && index->magnitude == 0)
    put(program_[buffer].name);
  else
    element(e.memory, e.index);
}

void Printer::unary(const Unary& e, int min_precedence) {
  const Expr& operand = program_[e.operand];
  const bool literal =
      std::holds_alternative<IntLiteral>(operand) || std::holds_alternative<FloatLiteral>(operand);
  // Without parentheses the sign would become part of the literal.
  const bool keep_apart = e.op == UnaryOp::Neg && literal;
  if (min_precedence > kUnaryPrecedence) put("(");
  put(spelling_of(e.op));
  if (keep_apart) put("(");
  expr(e.operand, kUnaryPrecedence);
  if (keep_apart) put(")");
  if (min_precedence > kUnaryPrecedence) put(")");
}

void Printer::binary(const Binary& e, int min_precedence) {
  const int precedence = precedence_of(e.op);
  if (min_precedence > precedence) put("(");
  expr(e.left, is_comparison(e.op) ? precedence + 1 : precedence);
  put(spelling_of(e.op));
  expr(e.right, precedence + 1);
  if (min_precedence > precedence) put(")");
}

void Printer::atomic(const Atomic& e) {
  put(name_of(e.op), "(");
  element(e.memory, e.index);
  for (int i = 0; i < arity_of(e.op); ++i) {
    put(",");
    expr(e.args[static_cast<size_t>(i)], 0);
  }
  if (e.order != MemoryOrder::Relaxed) put(",", name_of(e.order));
  put(")");
}

void Printer::call(const Call& e) {
  put(program_[e.fn].name, "(");
  bool first = true;
  for (const Arg& arg : program_.arguments(e.args)) {
    if (!first) put(",");
    first = false;
    match(
        arg, [&](const ExprId& value) { expr(value, 0); },
        [&](const Memory& memory) { put(name(memory)); });
  }
  put(")");
}

}  // namespace

std::string print(const Program& program) {
  return layout(Printer(program).program());
}

std::string print_expr(const Program& program, ExprId expr) {
  return layout_line(Printer(program).expression(expr));
}

}  // namespace vyre::text
