// SPDX-License-Identifier: Apache-2.0
#include "codegen/c/expressions.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/match.hpp"
#include "codegen/c/functions.hpp"
#include "codegen/c/words.hpp"
#include "ir/maths.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen::c {

using namespace ir;

std::string Expressions::value(ExprId id) {
  if (const auto known = b_.replaced.find(id.value); known != b_.replaced.end())
    return known->second;
  const auto constant_of = [&](const auto&) {
    const Type type = unit_.type_of(id);
    return literal(type, check::literal_in_type(p_[id], type)->bits);
  };
  return match(
      p_[id], [&](const IntLiteral& e) { return constant_of(e); },
      [&](const FloatLiteral& e) { return constant_of(e); },
      [&](const BoolLiteral& e) { return constant_of(e); },
      [&](const LocalRef& e) { return b_.local(e.local); },
      [&](const ConstRef& e) {
        const check::Constant& c = unit_.c.constants[e.constant.index()].front();
        return literal(c.type, c.bits);
      },
      [&](const BuiltinRef& e) { return builtin(e); },
      [&](const Len& e) { return memory(e.memory).length; },
      [&](const Load& e) {
        std::string index = value(e.index);
        return load(memory(e.memory), std::move(index),
                    site_of(e.memory, unit_.type_of(e.index), p_.position_of(id)));
      },
      [&](const Unary& e) { return unary(e.op, unit_.type_of(e.operand), value(e.operand)); },
      [&](const Binary& e) {
        if (is_lazy(e.op)) return lazy(e);
        const auto sides = values(std::array{e.left, e.right});
        return binary(e.op, unit_.type_of(e.left), sides[0], sides[1]);
      },
      [&](const Cast& e) { return cast(unit_.type_of(e.operand), e.type, value(e.operand)); },
      [&](const Bitcast& e) { return bitcast(unit_.type_of(e.operand), e.type, value(e.operand)); },
      [&](const IntrinsicCall& e) { return intrinsic(e); },
      [&](const Atomic& e) {
        std::string text = atomic_call(id, e);
        const bool effect = unit_.checked || writes(access_of(e.op));
        return effect ? captured(unit_.type_of(id), text) : text;
      },
      [](const Subgroup&) -> std::string { VYRE_CHECK(!"its value is known before"); },
      [](const UniformLoad&) -> std::string { VYRE_CHECK(!"cut into phases"); },
      [&](const Call& e) {
        std::string text = call_text(e);
        if (!unit_.facts.effectful(e.fn)) return text;
        text = captured(unit_.type_of(id), text);
        after_call(e);
        return text;
      },
      [](const Poison&) -> std::string { VYRE_CHECK(!"a checked program has no poison"); },
      [&](const AxisIndex& e) { return axis_index(e); },
      [](const AxisLen&) -> std::string { VYRE_CHECK(!"the plan has lowered it"); });
}

std::string Expressions::axis_index(const AxisIndex& e) {
  std::vector<ExprId> parts;
  for_each_operand(p_, e, [&](ExprId part) { parts.push_back(part); });
  const auto texts = values(parts);
  std::string element = "0";
  for (uint32_t axis = 0; axis < e.indices.count; ++axis) {
    const Type type = unit_.type_of(parts[axis]);
    element = fmt::format("{}({}, (uint64_t){}, {})", unit_.library.on_axis(), element,
                          is_signed(type) ? "(int64_t)" + texts[axis] : texts[axis],
                          bare(texts[e.indices.count + axis]));
  }
  return element;
}

std::vector<std::string> Expressions::values(std::span<const ExprId> ids) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < ids.size(); ++i) {
    std::string text = value(ids[i]);
    const auto later = ids.subspan(i + 1);
    const bool effect_follows =
        std::ranges::any_of(later, [&](ExprId e) { return unit_.facts.effectful(e); });
    const bool is_name = text.find('(') == std::string::npos;
    if (effect_follows && unit_.facts.unstable(ids[i]) && !is_name)
      text = captured(unit_.type_of(ids[i]), text);
    texts.push_back(std::move(text));
  }
  return texts;
}

void Expressions::evaluate(ExprId id) {
  if (const auto* call = std::get_if<Call>(&p_[id]); call != nullptr) {
    if (b_.replaced.contains(id.value)) return;
    const std::string text = call_text(*call);
    b_.out->line("{};", text);
    after_call(*call);
  } else if (const auto* atomic = std::get_if<Atomic>(&p_[id])) {
    const std::string text = atomic_call(id, *atomic);
    b_.out->line("{};", text);
  } else {
    const std::string text = value(id);
    b_.out->line("(void){};", text);
  }
}

std::string Expressions::captured(Type type, std::string_view text) {
  std::string name = b_.temporary();
  b_.out->line("const {} {} = {};", value_type(type), name, bare(text));
  return name;
}

std::string Expressions::literal(Type type, uint64_t bits) {
  std::string text = constant(type, bits);
  if (text.find("_of_bits") != std::string::npos) unit_.library.from_bits(type);
  return text;
}

// ---- where the lane is

std::string Expressions::lid(uint32_t axis) const {
  const auto& size = unit_.c.workgroup;
  if (size[axis] == 1) return "0u";
  const uint64_t below = axis == 0 ? 1 : axis == 1 ? size[0] : uint64_t{size[0]} * size[1];
  std::string text = below == 1 ? "lane" : fmt::format("lane / {}", number(below));
  if (below * size[axis] != unit_.lanes()) text += fmt::format(" % {}", number(size[axis]));
  return text == "lane" ? text : "(" + text + ")";
}

std::string Expressions::builtin(const BuiltinRef& e) const {
  const uint32_t size = unit_.c.workgroup[e.axis];
  switch (e.builtin) {
    case Builtin::Gid:
      if (size == 1) return fmt::format("g->wid[{}]", e.axis);
      return fmt::format("(g->wid[{}] * {} + {})", e.axis, number(size), lid(e.axis));
    case Builtin::Lid: return lid(e.axis);
    case Builtin::Wid: return fmt::format("g->wid[{}]", e.axis);
    case Builtin::NumWorkgroups: return fmt::format("g->grid[{}]", e.axis);
    case Builtin::WorkgroupSize: return number(size);
    case Builtin::SubgroupLane: return fmt::format("(lane % {})", number(unit_.subgroup_size));
    case Builtin::SubgroupId: return fmt::format("(lane / {})", number(unit_.subgroup_size));
    case Builtin::SubgroupSize: return number(unit_.subgroup_size);
    // Of a program without fixpoints: the plan puts memory in their place where there are some.
    case Builtin::FixpointPasses: return "0u";
    case Builtin::FixpointConverged: return "false";
  }
  return "0u";
}

// ---- operators

std::string Expressions::unary(UnaryOp op, Type type, const std::string& a) const {
  switch (op) {
    case UnaryOp::Not: return fmt::format("(!{})", a);
    case UnaryOp::BitNot: return fmt::format("(~{})", a);
    case UnaryOp::Neg:
      if (is_float(type)) return fmt::format("(-{})", a);
      if (!is_signed(type)) return fmt::format("(0 - {})", a);
      return fmt::format("({})(0 - ({}){})", value_type(type),
                         type == Type::I64 ? "uint64_t" : "uint32_t", a);
  }
  return a;
}

std::string Expressions::binary(BinaryOp op, Type type, const std::string& a,
                                const std::string& b) {
  const std::string_view word = spelling_of(op);
  const bool wraps =
      op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul || op == BinaryOp::Shl;
  std::string right = b;
  if (is_shift(op)) right = fmt::format("({} & {})", b, bits_of(type) - 1);
  if (is_integer(type) && (op == BinaryOp::Div || op == BinaryOp::Rem))
    return fmt::format("{}({}, {})", unit_.library.divide(op, type), bare(a), bare(b));
  if (!is_signed(type) || !wraps) return fmt::format("({} {} {})", a, word, right);
  // Signed numbers wrap as unsigned ones do.
  const std::string_view wide = type == Type::I64 ? "uint64_t" : "uint32_t";
  if (!is_shift(op)) right = fmt::format("({}){}", wide, b);
  return fmt::format("({})(({}){} {} {})", value_type(type), wide, a, word, right);
}

std::string Expressions::lazy(const Binary& e) {
  if (!unit_.facts.effectful(e.right)) {
    const std::string left = value(e.left);
    return fmt::format("({} {} {})", left, spelling_of(e.op), value(e.right));
  }
  const std::string left = value(e.left);
  const std::string name = b_.temporary();
  b_.out->line("bool {} = {};", name, bare(left));
  b_.out->open("if ({}{}) {{", e.op == BinaryOp::LogicalOr ? "!" : "", name);
  const std::string right = value(e.right);
  b_.out->line("{} = {};", name, bare(right));
  b_.out->close();
  return name;
}

std::string Expressions::cast(Type from, Type to, const std::string& a) {
  if (from == to) return a;
  if (to == Type::Bool) return fmt::format("({} != 0)", a);
  if (is_float(from) && is_integer(to))
    return fmt::format("{}({})", unit_.library.float_to_int(from, to), bare(a));
  return fmt::format("(({}){})", value_type(to), a);
}

std::string Expressions::bitcast(Type from, Type to, const std::string& a) {
  if (from == to) return a;
  std::string bits = a;
  if (is_float(from)) bits = fmt::format("{}({})", unit_.library.to_bits(from), bare(a));
  if (is_float(to)) return fmt::format("{}({})", unit_.library.from_bits(to), bare(bits));
  return fmt::format("(({}){})", value_type(to), bits);
}

namespace {

// Functions of <math.h> that do what the language says.
struct StandardRow {
  Intrinsic op;
  std::string_view name;
  bool is_test = false;  // gives an int
};
constexpr StandardRow kStandard[] = {
    {Intrinsic::Fma, "fma"},
    {Intrinsic::Sqrt, "sqrt"},
    {Intrinsic::Floor, "floor"},
    {Intrinsic::Ceil, "ceil"},
    {Intrinsic::Trunc, "trunc"},
    {Intrinsic::Round, "rint"},
    {Intrinsic::RoundAway, "round"},
    {Intrinsic::Abs, "fabs"},
    {Intrinsic::IsNan, "isnan", true},
    {Intrinsic::IsInf, "isinf", true},
    {Intrinsic::IsFinite, "isfinite", true},
};

}  // namespace

std::string Expressions::intrinsic(const IntrinsicCall& e) {
  const auto arity = static_cast<size_t>(arity_of(e.op));
  const auto args = values(std::span(e.args).first(arity));
  if (e.op == Intrinsic::Select) return fmt::format("({} ? {} : {})", args[0], args[1], args[2]);
  const Type type = unit_.type_of(e.args[0]);
  std::string list;
  for (const std::string& arg : args) list += (list.empty() ? "" : ", ") + std::string(bare(arg));
  if (is_maths(e.op)) return fmt::format("{}({})", maths_function(unit_.library, e.op, type), list);
  const auto* const standard = std::ranges::find(kStandard, e.op, &StandardRow::op);
  if (!is_float(type) || standard == std::end(kStandard))
    return fmt::format("{}({})", unit_.library.intrinsic(e.op, type), list);
  if (standard->is_test) return fmt::format("({}({}) != 0)", standard->name, list);
  return fmt::format("{}{}({})", standard->name, type == Type::F32 ? "f" : "", list);
}

// ---- memory

MemoryText Expressions::memory(Memory m) const {
  MemoryText text;
  text.number = "0";
  if (m.kind == Memory::Kind::Buffer) {
    const Buffer& buffer = p_[m.buffer()];
    text.pointer = "m->" + buffer_name(p_, m.buffer());
    text.length = "m->" + length_name(p_, m.buffer());
    text.element = buffer.element;
    text.read_only = is_read_only(buffer.kind);
  } else if (m.kind == Memory::Kind::Table) {
    text.pointer = table_name(unit_, m.table());
    if (table_by_bits(unit_, m.table())) text.pointer += ".values";
    text.length = number(unit_.c.constants[m.index].size());
    text.element = p_[m.table()].type;
    text.read_only = true;
  } else {
    const std::string name = b_.local(m.local());
    const bool array = p_[m.local()].kind == Local::Kind::Array;
    text.pointer = name;
    text.length = array ? number(unit_.c.array_counts[m.index]) : name + "_n";
    text.element = *unit_.c.local_types[m.index];
    if (!array && unit_.checked) text.number = name + "_id";
  }
  return text;
}

Site Expressions::site_of(Memory m, Type index_type, Position at) const {
  Site site{.at = std::move(at), .index_type = index_type};
  site.memory = m.kind == Memory::Kind::Buffer  ? p_[m.buffer()].name
                : m.kind == Memory::Kind::Table ? p_[m.table()].name
                                                : p_[m.local()].name;
  return site;
}

void Expressions::check_index(const MemoryText& m, std::string& index, const Site& site) {
  if (!unit_.checked) return;
  index = captured(Type::U64, index);
  b_.out->open("if ({} >= {}) {{", index, m.length);
  b_.out->line("vyre_stop_lane(g, {}, {}, {}, {}, {}, {});",
               static_cast<int>(device::KernelStop::Kind::OutOfBounds), unit_.sites.add(site),
               global_lane(), m.length, index, m.number);
  b_.end_lane();
  b_.out->close();
}

std::string Expressions::load(const MemoryText& m, std::string index, const Site& site) {
  check_index(m, index, site);
  std::string text = fmt::format("{}({}, {}, {})", unit_.library.load(m.element), m.pointer,
                                 m.length, bare(index));
  return unit_.checked ? captured(widened(m.element), text) : text;
}

void Expressions::store(const MemoryText& m, std::string index, const std::string& value,
                        const Site& site) {
  check_index(m, index, site);
  b_.out->line("{}({}, {}, {}, {});", unit_.library.store(m.element), m.pointer, m.length,
               bare(index), bare(value));
}

namespace {

std::string_view order_name(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::Relaxed: return "memory_order_relaxed";
    case MemoryOrder::Acquire: return "memory_order_acquire";
    case MemoryOrder::Release: return "memory_order_release";
    case MemoryOrder::AcqRel: return "memory_order_acq_rel";
  }
  return "memory_order_seq_cst";
}

}  // namespace

std::string Expressions::atomic_call(ExprId id, const Atomic& e) {
  std::vector<ExprId> operands = {e.index};
  for (int i = 0; i < arity_of(e.op); ++i) operands.push_back(e.args[static_cast<size_t>(i)]);
  auto args = values(operands);
  const MemoryText m = memory(e.memory);
  check_index(m, args[0], site_of(e.memory, unit_.type_of(e.index), p_.position_of(id)));
  std::string text =
      fmt::format("{}({}, {}", unit_.library.atomic(e.op, m.element), m.pointer, m.length);
  for (const std::string& arg : args) text += ", " + std::string(bare(arg));
  return fmt::format("{}, {})", text, order_name(e.order));
}

// ---- calls

std::string Expressions::call_text(const Call& e) {
  std::vector<ExprId> operands;
  for (const Arg& arg : p_.arguments(e.args))
    if (const ExprId* id = std::get_if<ExprId>(&arg)) operands.push_back(*id);
  const auto texts = values(operands);
  std::string list = "g, m, lane";
  size_t next = 0;
  for (const Arg& arg : p_.arguments(e.args)) {
    if (std::holds_alternative<ExprId>(arg))
      list += ", " + std::string(bare(texts[next++]));
    else
      list += ", " + memory_arguments(std::get<Memory>(arg));
  }
  // A function that runs for another one's lane finds this cleared.
  if (b_.frame != Frame::Function && unit_.facts.may_end(e.fn)) b_.out->line("g->ended = false;");
  return fmt::format("{}({})", function_name(unit_, e.fn), list);
}

std::string Expressions::memory_arguments(Memory m) const {
  const MemoryText text = memory(m);
  std::string list = fmt::format(
      "{}{}, {}",
      text.read_only ? fmt::format("({} *)", element_type(text.element)) : std::string(),
      text.pointer, text.length);
  if (!unit_.checked) return list;
  const bool given = text.number != "0";
  return fmt::format(
      "{}, {}", list,
      given ? text.number : std::to_string(unit_.sites.memory(site_of(m, Type::U32, {}).memory)));
}

// Only the code of a lane tells whether it has ended; a function returns at once.
void Expressions::after_call(const Call& e) {
  if (unit_.facts.may_end(e.fn)) b_.leave_lane_if("g->ended");
}

}  // namespace vyre::codegen::c
