// SPDX-License-Identifier: Apache-2.0
// Program to JSON: every field under a readable name, expressions and statements as nested objects.
#include <string>

#include <nlohmann/json.hpp>

#include "base/match.hpp"
#include "text/number.hpp"
#include "vyre/text/text.hpp"

namespace vyre::text {

namespace {

using namespace ir;
using Json = nlohmann::ordered_json;

// Twice what a valid program may have; deeper parts are cut off rather than overflow the stack.
constexpr int kMaxDepth = 256;

class Writer {
 public:
  explicit Writer(const Program& program) : program_(program) {}
  Json program();

 private:
  Json node(std::string_view kind) { return Json{{"kind", kind}}; }
  Json constant(const Const& c);
  Json buffer(const Buffer& b);
  Json function(const Fn& fn);
  Json local(LocalId id);
  Json memory(Memory memory);
  Json block(Block items);
  Json stmt(StmtId id);
  Json stmt_body(const Stmt& stmt);
  Json collective(const Collective& s);
  Json loop(const For& s);
  Json fixpoint(const Fixpoint& s);
  Json async_copy(const AsyncCopy& s);
  Json atomic(const Atomic& e);
  Json expr(ExprId id);
  Json expr_body(const Expr& expr);
  Json call(const Call& e);
  Json list(std::span<const ExprId> ids);
  Json optional(ExprId id) { return id.valid() ? expr(id) : Json(nullptr); }
  static Json type(const std::optional<Type>& t) { return t ? Json(name_of(*t)) : Json(nullptr); }
  static std::string axis(uint8_t index) { return std::string(1, "xyz"[index % 3]); }

  const Program& program_;
  int depth_ = 0;
};

// ---- declarations

Json Writer::program() {
  Json json{{"schema", 1}, {"kind", "program"}, {"name", program_.name}};
  json["workgroup"] = list(std::span(program_.workgroup).first(Program::axes(program_.workgroup)));
  json["over"] = list(std::span(program_.over).first(Program::axes(program_.over)));
  json["consts"] = Json::array();
  for (const Const& c : program_.consts) json["consts"].push_back(constant(c));
  json["buffers"] = Json::array();
  for (const Buffer& b : program_.buffers) json["buffers"].push_back(buffer(b));
  json["requires"] = Json::array();
  for (const Require& r : program_.require_list)
    json["requires"].push_back({{"condition", expr(r.condition)},
                                {"message", r.message},
                                {"buffers_before", r.buffers_before}});
  json["functions"] = Json::array();
  for (const Fn& fn : program_.fns) json["functions"].push_back(function(fn));
  json["body"] = block(program_.body);
  return json;
}

Json Writer::constant(const Const& c) {
  return {{"name", c.name},
          {"type", name_of(c.type)},
          {"table", c.table},
          {"values", list(program_.values(c.values))}};
}

Json Writer::buffer(const Buffer& b) {
  Json json{{"name", b.name},
            {"kind", name_of(b.kind)},
            {"element", name_of(b.element)},
            {"count", optional(b.count)}};
  if (!b.axes.empty()) json["axes"] = list(program_.values(b.axes));
  if (b.scalar) json["scalar"] = true;
  Json& attributes = json["attributes"] = Json::object();
  if (b.binding.valid()) attributes["binding"] = expr(b.binding);
  if (b.align.valid()) attributes["align"] = expr(b.align);
  if (b.size.valid()) attributes["count"] = expr(b.size);
  if (b.range_first.valid())
    attributes["range"] = {{"first", expr(b.range_first)}, {"last", expr(b.range_last)}};
  if (b.live_out) attributes["live_out"] = true;
  if (b.locality != Locality::None) attributes["locality"] = name_of(b.locality);
  if (b.coalesce_axis) attributes["coalesce"] = axis(*b.coalesce_axis);
  return json;
}

Json Writer::function(const Fn& fn) {
  Json params = Json::array();
  for (const LocalId id : program_.params(fn.params)) params.push_back(local(id));
  return {{"name", fn.name},
          {"params", std::move(params)},
          {"result", type(fn.result)},
          {"body", block(fn.body)}};
}

// A local is named by its number; the name is for people and may repeat.
Json Writer::local(LocalId id) {
  const Local& l = program_[id];
  const auto kind = [&] {
    switch (l.kind) {
      case Local::Kind::Let: return "let";
      case Local::Kind::Var: return "var";
      case Local::Kind::Array: return "array";
      case Local::Kind::For: return "for";
      case Local::Kind::Param: return "param";
      case Local::Kind::BufferParam: return "buffer_param";
    }
    return "";
  }();
  Json json{{"local", id.value}, {"name", l.name}, {"kind", kind}, {"type", type(l.type)}};
  if (l.kind == Local::Kind::Array) json["count"] = optional(l.count);
  if (!l.values.empty()) {
    json["values"] = Json::array();
    for (const ExprId value : program_.values(l.values)) json["values"].push_back(expr(value));
  }
  if (!l.axes.empty()) json["axes"] = list(program_.values(l.axes));
  if (l.rank > 1) json["axes"] = l.rank;
  return json;
}

Json Writer::memory(Memory m) {
  switch (m.kind) {
    case Memory::Kind::Buffer: return {{"buffer", program_[m.buffer()].name}};
    case Memory::Kind::Table: return {{"table", program_[m.table()].name}};
    case Memory::Kind::Local: return {{"local", m.index}, {"name", program_[m.local()].name}};
  }
  return nullptr;
}

// ---- statements

Json Writer::block(Block items) {
  Json json = Json::array();
  for (const StmtId id : program_.items(items)) json.push_back(stmt(id));
  return json;
}

Json Writer::stmt(StmtId id) {
  if (depth_ >= kMaxDepth) return node("too_deep");
  ++depth_;
  Json json = stmt_body(program_[id]);
  --depth_;
  const Position at = program_.position_of(id);
  if (at.known()) json["line"] = at.line;
  return json;
}

Json Writer::collective(const Collective& s) {
  Json json = node(name_of(s.op));
  json["src"] = memory(s.src);
  if (s.op == CollectiveOp::AllGather || s.op == CollectiveOp::ReduceScatter)
    json["dst"] = memory(s.dst);
  if (s.op == CollectiveOp::AllReduce || s.op == CollectiveOp::ReduceScatter)
    json["op"] = name_of(s.reduce);
  if (s.op == CollectiveOp::Broadcast) json["root"] = expr(s.root);
  json["group"] = optional(s.group);
  return json;
}

Json Writer::loop(const For& s) {
  Json json = {{"kind", "for"},        {"variable", local(s.variable)}, {"first", expr(s.first)},
               {"last", expr(s.last)}, {"step", optional(s.step)},      {"unroll", s.unroll},
               {"body", block(s.body)}};
  if (s.reversed) json["reversed"] = true;
  return json;
}

Json Writer::fixpoint(const Fixpoint& s) {
  Json buffers = Json::array();
  for (const Memory m : program_.memories(s.buffers)) buffers.push_back(memory(m));
  return {{"kind", "fixpoint"},
          {"max", expr(s.max_passes)},
          {"over", std::move(buffers)},
          {"body", block(s.body)}};
}

Json Writer::async_copy(const AsyncCopy& s) {
  return {{"kind", "async_copy"},  {"tag", s.tag},
          {"dst", memory(s.dst)},  {"dst_index", expr(s.dst_index)},
          {"src", memory(s.src)},  {"src_index", expr(s.src_index)},
          {"count", expr(s.count)}};
}

Json Writer::stmt_body(const Stmt& stmt) {
  const auto op = [](const std::optional<BinaryOp>& o) {
    return o ? Json(spelling_of(*o)) : Json(nullptr);
  };
  return match(
      stmt,
      [&](const Let& s) {
        return Json{{"kind", "let"}, {"local", local(s.local)}, {"value", expr(s.value)}};
      },
      [&](const DeclareArray& s) {
        return Json{{"kind", "declare_array"}, {"local", local(s.local)}};
      },
      [&](const Assign& s) {
        return Json{{"kind", "assign"},
                    {"local", s.local.value},
                    {"name", program_[s.local].name},
                    {"op", op(s.op)},
                    {"value", expr(s.value)}};
      },
      [&](const Store& s) {
        return Json{{"kind", "store"},
                    {"memory", memory(s.memory)},
                    {"index", expr(s.index)},
                    {"op", op(s.op)},
                    {"value", expr(s.value)}};
      },
      [&](const Eval& s) { return Json{{"kind", "eval"}, {"value", expr(s.value)}}; },
      [&](const If& s) {
        return Json{{"kind", "if"},
                    {"condition", expr(s.condition)},
                    {"then", block(s.then_block)},
                    {"else", block(s.else_block)}};
      },
      [&](const For& s) { return loop(s); },
      [&](const While& s) {
        return Json{{"kind", "while"}, {"condition", expr(s.condition)}, {"body", block(s.body)}};
      },
      [&](const Break&) { return node("break"); },
      [&](const Continue&) { return node("continue"); },
      [&](const Return& s) { return Json{{"kind", "return"}, {"value", optional(s.value)}}; },
      [&](const Nested& s) { return Json{{"kind", "block"}, {"body", block(s.body)}}; },
      [&](const Region& s) {
        return Json{{"kind", "region"}, {"name", s.name}, {"body", block(s.body)}};
      },
      [&](const Barrier& s) { return Json{{"kind", "barrier"}, {"scope", name_of(s.scope)}}; },
      [&](const Fixpoint& s) { return fixpoint(s); },
      [&](const AsyncCopy& s) { return async_copy(s); },
      [&](const Wait& s) { return Json{{"kind", "wait"}, {"tag", s.tag}}; },
      [&](const Trap& s) {
        return Json{{"kind", "trap"}, {"tag", s.tag}, {"value", expr(s.value)}};
      },
      [&](const Resume& s) { return Json{{"kind", "resume"}, {"tag", s.tag}}; },
      [&](const Collective& s) { return collective(s); },
      [&](const Swap& s) { return Json{{"kind", "swap"}, {"a", memory(s.a)}, {"b", memory(s.b)}}; },
      [&](const Print& s) {
        return Json{
            {"kind", "print"}, {"format", s.format}, {"args", list(program_.values(s.args))}};
      },
      [&](const Assert& s) {
        return Json{{"kind", "assert"},
                    {"condition", expr(s.condition)},
                    {"format", s.format},
                    {"args", list(program_.values(s.args))}};
      });
}

// ---- expressions

Json Writer::list(std::span<const ExprId> ids) {
  Json json = Json::array();
  for (const ExprId id : ids) json.push_back(expr(id));
  return json;
}

Json Writer::expr(ExprId id) {
  if (depth_ >= kMaxDepth) return node("too_deep");
  ++depth_;
  Json json = expr_body(program_[id]);
  --depth_;
  return json;
}

Json Writer::call(const Call& e) {
  Json args = Json::array();
  for (const Arg& arg : program_.arguments(e.args))
    match(
        arg, [&](const ExprId& value) { args.push_back(expr(value)); },
        [&](const Memory& m) { args.push_back(memory(m)); });
  return {{"kind", "call"}, {"function", program_[e.fn].name}, {"args", std::move(args)}};
}

Json Writer::atomic(const Atomic& e) {
  return {{"kind", "atomic"},
          {"name", name_of(e.op)},
          {"memory", memory(e.memory)},
          {"index", expr(e.index)},
          {"args", list(std::span(e.args).first(static_cast<size_t>(arity_of(e.op))))},
          {"order", name_of(e.order)}};
}

Json Writer::expr_body(const Expr& expression) {
  // Numbers as text: JSON readers would round 64-bit integers and long decimals.
  const auto literal = [](std::string_view kind, auto e) {
    const Json suffix = type(e.suffix);
    e.suffix.reset();
    return Json{{"kind", kind}, {"value", write_number(e)}, {"suffix", suffix}};
  };
  return match(
      expression, [&](const IntLiteral& e) { return literal("int", e); },
      [&](const FloatLiteral& e) { return literal("float", e); },
      [&](const BoolLiteral& e) { return Json{{"kind", "bool"}, {"value", e.value}}; },
      [&](const LocalRef& e) {
        return Json{{"kind", "local"}, {"local", e.local.value}, {"name", program_[e.local].name}};
      },
      [&](const ConstRef& e) {
        return Json{{"kind", "const"}, {"name", program_[e.constant].name}};
      },
      [&](const BuiltinRef& e) {
        Json json{{"kind", "builtin"}, {"name", name_of(e.builtin)}};
        if (has_axis(e.builtin)) json["axis"] = axis(e.axis);
        return json;
      },
      [&](const AxisLen& e) {
        return Json{{"kind", "len"}, {"memory", memory(e.memory)}, {"axis", e.axis}};
      },
      [&](const AxisIndex& e) {
        return Json{{"kind", "axis_index"},
                    {"memory", memory(e.memory)},
                    {"indices", list(program_.values(e.indices))}};
      },
      [&](const Len& e) { return Json{{"kind", "len"}, {"memory", memory(e.memory)}}; },
      [&](const Load& e) {
        return Json{{"kind", "load"}, {"memory", memory(e.memory)}, {"index", expr(e.index)}};
      },
      [&](const Unary& e) {
        return Json{{"kind", "unary"}, {"op", spelling_of(e.op)}, {"operand", expr(e.operand)}};
      },
      [&](const Binary& e) {
        return Json{{"kind", "binary"},
                    {"op", spelling_of(e.op)},
                    {"left", expr(e.left)},
                    {"right", expr(e.right)}};
      },
      [&](const Cast& e) {
        return Json{{"kind", "cast"}, {"type", name_of(e.type)}, {"operand", expr(e.operand)}};
      },
      [&](const Bitcast& e) {
        return Json{{"kind", "bitcast"}, {"type", name_of(e.type)}, {"operand", expr(e.operand)}};
      },
      [&](const IntrinsicCall& e) {
        return Json{{"kind", "intrinsic"},
                    {"name", name_of(e.op)},
                    {"args", list(std::span(e.args).first(static_cast<size_t>(arity_of(e.op))))}};
      },
      [&](const Atomic& e) { return atomic(e); },
      [&](const Subgroup& e) {
        return Json{{"kind", "subgroup"},
                    {"name", name_of(e.op)},
                    {"value", expr(e.value)},
                    {"lane", optional(e.lane)}};
      },
      [&](const UniformLoad& e) {
        return Json{{"kind", "uniform_load"},
                    {"scope", name_of(e.scope)},
                    {"memory", memory(e.memory)},
                    {"index", expr(e.index)}};
      },
      [&](const Call& e) { return call(e); }, [&](const Poison&) { return node("poison"); });
}

}  // namespace

std::string to_json(const Program& program) {
  // A name or message that is not UTF-8 must not make dump() throw.
  return Writer(program).program().dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vyre::text
