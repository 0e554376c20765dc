// SPDX-License-Identifier: Apache-2.0
#include "codegen/c/functions.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "codegen/c/subgroup.hpp"
#include "codegen/c/words.hpp"
#include "ir/maths.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen::c {

using namespace ir;

namespace {

bool by_subgroup(const Unit& unit, Block block) {
  return std::ranges::any_of(unit.p().items(block),
                             [&](StmtId id) { return unit.facts.synchronises(id, false); });
}

std::string parameters(const Unit& unit, FnId fn, bool subgroup) {
  std::string list;
  for (const LocalId id : unit.p().params(unit.p()[fn].params)) {
    const Local& local = unit.p()[id];
    const Type type = *unit.c.local_types[id.index()];
    const std::string name = identifier(local.name, 'v', id.value);
    if (!list.empty()) list += ", ";
    if (local.kind == Local::Kind::BufferParam) {
      list += fmt::format("volatile {0} *{1}, uint32_t {1}_n", element_type(type), name);
      if (unit.checked) list += fmt::format(", uint16_t {}_id", name);
    } else if (subgroup) {
      list += fmt::format("const {} {}[{}]", value_type(type), name, unit.subgroup_size);
    } else {
      list += fmt::format("{} {}", value_type(type), name);
    }
  }
  return list;
}

std::string context(const Unit& unit) {
  return fmt::format("struct vyre_group *g, const struct buffers_{} *m", unit.name);
}

std::string signature(const Unit& unit, FnId fn) {
  const std::optional<Type> result = unit.p()[fn].result;
  const bool subgroup = unit.facts.synchronises(fn);
  const std::string given = parameters(unit, fn, subgroup);
  std::string list = context(unit) + ", ";
  if (subgroup) {
    list += fmt::format("uint32_t first, uint32_t lanes, const bool caller_on[{0}], bool live[{0}]",
                        unit.subgroup_size);
    if (result) list += fmt::format(", {} result[{}]", value_type(*result), unit.subgroup_size);
  } else {
    list += "uint32_t lane";
  }
  if (!given.empty()) list += ", " + given;
  return fmt::format("static {} {}({})", result && !subgroup ? value_type(*result) : "void",
                     function_name(unit, fn), list);
}

void print_function(const Unit& unit, FnId id, Writer& out) {
  const Fn& fn = unit.p()[id];
  out.open("{} {{", signature(unit, id));
  if (unit.facts.synchronises(id)) {
    std::map<uint32_t, std::string> names;
    for (const LocalId param : unit.p().params(fn.params))
      if (unit.p()[param].kind == Local::Kind::Param)
        names[param.value] = identifier(unit.p()[param].name, 'v', param.value) + "[l]";
    out.line("bool on[{}];", unit.subgroup_size);
    out.line("memcpy(on, caller_on, sizeof on);");
    print_subgroup(unit, fn.body, out, true, names);
  } else {
    Body body(unit, Frame::Function, out);
    body.in_function = true;
    body.result = fn.result;
    Statements(body).block(fn.body);
  }
  out.close();
  out.blank();
}

void print_body(const Unit& unit, Writer& out) {
  const Block block = unit.p().body;
  if (!runs_by_subgroup(unit)) {
    out.open("static void phase_{}({}, uint32_t lane) {{", unit.name, context(unit));
    Body body(unit, Frame::Lane, out);
    Statements(body).block(block);
  } else {
    out.open("static void phase_{}({}, uint32_t first, uint32_t lanes) {{", unit.name,
             context(unit));
    out.line("bool on[{}];", unit.subgroup_size);
    out.line("for (uint32_t l = 0; l < {}; ++l) on[l] = l < lanes;", unit.subgroup_size);
    print_subgroup(unit, block, out, false, {});
  }
  out.close();
  out.blank();
}

}  // namespace

bool runs_by_subgroup(const Unit& unit) {
  return by_subgroup(unit, unit.p().body);
}

namespace {

void print_table(const Unit& unit, ConstId id, Writer& out) {
  const auto& values = unit.c.constants[id.index()];
  const Type type = unit.p()[id].type;
  const bool by_bits = table_by_bits(unit, id);
  const Type printed = !by_bits ? type : type == Type::F64 ? Type::U64 : Type::U32;
  const std::string name = table_name(unit, id);
  if (by_bits)
    out.open("static const union {{ {0} bits[{1}]; {2} values[{1}]; }} {3} = {{{{",
             element_type(printed), values.size(), element_type(type), name);
  else
    out.open("static const {} {}[{}] = {{", element_type(type), name, values.size());
  constexpr size_t kPerLine = 8;
  for (size_t at = 0; at < values.size(); at += kPerLine) {
    std::string row;
    for (size_t k = at; k < std::min(at + kPerLine, values.size()); ++k)
      row += (k == at ? "" : " ") + std::string(bare(constant(printed, values[k].bits))) + ",";
    out.line("{}", row);
  }
  out.close(by_bits ? "}};" : "};");
}

}  // namespace

void print_memory(const Unit& unit, Writer& out) {
  const Program& p = unit.p();
  for (uint32_t i = 0; i < p.consts.size(); ++i)
    if (p.consts[i].table && unit.facts.tables()[i]) print_table(unit, ConstId{i}, out);
  out.open("struct buffers_{} {{", unit.name);
  for (uint32_t i = 0; i < p.buffers.size(); ++i)
    out.line("{}{} *{}; uint32_t {};", is_read_only(p.buffers[i].kind) ? "const " : "",
             element_type(p.buffers[i].element), buffer_name(p, BufferId{i}),
             length_name(p, BufferId{i}));
  if (p.buffers.empty()) out.line("char none;");
  out.close("};");
  out.blank();
}

void print_functions(const Unit& unit, Writer& out) {
  const auto& called = unit.facts.called();
  for (uint32_t i = 0; i < called.size(); ++i)
    if (called[i]) out.line("{};", signature(unit, FnId{i}));
  if (std::ranges::find(called, true) != called.end()) out.blank();
  for (uint32_t i = 0; i < called.size(); ++i)
    if (called[i]) print_function(unit, FnId{i}, out);
  print_body(unit, out);
}

void print_lane_loop(const Unit& unit, Writer& out) {
  if (!runs_by_subgroup(unit)) {
    out.open("for (uint32_t lane = 0; lane < {}; ++lane) {{", unit.lanes());
    out.line("phase_{}(g, &buffers, lane);", unit.name);
  } else {
    out.open("for (uint32_t first = 0; first < {}; first += {}) {{", unit.lanes(),
             unit.subgroup_size);
    out.line("const uint32_t rest = {} - first;", unit.lanes());
    out.line("phase_{0}(g, &buffers, first, rest < {1} ? rest : {1});", unit.name,
             unit.subgroup_size);
  }
  out.line("if (g->gave_up) return;");
  out.close();
}

std::string maths_function(Library& library, Intrinsic op, Type type) {
  static const check::CheckedProgram kMaths = [] {
    auto checked = check::check_valid(maths_library().program);
    VYRE_CHECK(checked.has_value());
    return std::move(*checked);
  }();
  static const Facts kFacts(kMaths, false);

  const std::string name = fmt::format("{}_{}", name_of(op), name_of(type));
  if (library.contains(name)) return name;
  Sites sites;
  const Unit unit{kMaths, kFacts, "maths", library, sites};
  const FnId id = maths_library().function(op, type);
  const Fn& fn = unit.p()[id];
  Writer out;
  out.open("static {} {}({}) {{", value_type(*fn.result), name, parameters(unit, id, false));
  Body body(unit, Frame::Function, out);
  body.in_function = true;
  body.result = fn.result;
  Statements(body).block(fn.body);
  out.close();
  out.blank();
  library.add(name, out.take());
  return name;
}

}  // namespace vyre::codegen::c
