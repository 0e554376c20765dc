// SPDX-License-Identifier: Apache-2.0
#include "codegen/c/body.hpp"

#include <algorithm>

#include "codegen/c/words.hpp"

namespace vyre::codegen::c {

using namespace ir;

std::string function_name(const Unit& unit, FnId fn) {
  return identifier(unit.p()[fn].name, 'f', fn.value) + "_" + unit.name;
}

std::string table_name(const Unit& unit, ConstId table) {
  return identifier(unit.p()[table].name, 'c', table.value) + "_" + unit.name;
}

bool table_by_bits(const Unit& unit, ConstId table) {
  return std::ranges::any_of(unit.c.constants[table.index()], [](const check::Constant& c) {
    return constant(c.type, c.bits).find("_of_bits") != std::string::npos;
  });
}

std::string buffer_name(const Program& p, BufferId buffer) {
  return identifier(p[buffer].name, 'b', buffer.value);
}

std::string length_name(const Program& p, BufferId buffer) {
  return identifier(p[buffer].name, 'n', buffer.value);
}

std::string Body::local(LocalId id) const {
  const auto [seen, fresh] = run_of.try_emplace(id.value, run);
  if (!fresh && seen->second != run) seen->second = kManyRuns;
  const auto known = names.find(id.value);
  return known != names.end() ? known->second : identifier(unit.p()[id].name, 'v', id.value);
}

std::string Body::temporary() {
  return fmt::format("t{}", temporaries++);
}

void Body::leave_lane() {
  switch (frame) {
    case Frame::Lane: out->line("return;"); break;
    case Frame::Function: out->line("return{};", result ? " 0" : ""); break;
    case Frame::Run:
      out->line("on[l] = false;");
      if (in_function) out->line("live[l] = false;");
      go_to_next();
      break;
  }
}

void Body::end_lane() {
  if (frame == Frame::Function) out->line("g->ended = true;");
  leave_lane();
}

void Body::leave_lane_if(std::string_view condition) {
  if (frame == Frame::Run) {
    out->open("if ({}) {{", condition);
    leave_lane();
    out->close();
  } else {
    out->line("if ({}) return{};", condition, frame == Frame::Function && result ? " 0" : "");
  }
}

void Body::go_to_next() {
  out->line("goto {};", next);
  next_used = true;
}

}  // namespace vyre::codegen::c
