// SPDX-License-Identifier: Apache-2.0
#include "vyre/check/check.hpp"

#include "check/state.hpp"

namespace vyre::check {

using namespace ir;

std::string quoted(std::string_view name) {
  return "`" + std::string(name) + "`";
}

std::string name_of(const Program& p, Memory memory) {
  switch (memory.kind) {
    case Memory::Kind::Buffer: return p[memory.buffer()].name;
    case Memory::Kind::Table: return p[memory.table()].name;
    case Memory::Kind::Local: return p[memory.local()].name;
  }
  return "";
}

Type element_type(const Program& p, Memory memory) {
  switch (memory.kind) {
    case Memory::Kind::Buffer: return p[memory.buffer()].element;
    case Memory::Kind::Table: return p[memory.table()].type;
    case Memory::Kind::Local: return p[memory.local()].type.value_or(Type::U32);
  }
  return Type::U32;
}

const BoundsProof* CheckedProgram::proof(ExprId id) const {
  const int32_t index = expr_proofs[id.index()];
  return index < 0 ? nullptr : &proofs[static_cast<size_t>(index)];
}

const BoundsProof* CheckedProgram::proof(StmtId id) const {
  const int32_t index = stmt_proofs[id.index()];
  return index < 0 ? nullptr : &proofs[static_cast<size_t>(index)];
}

Checked check(Program program, bool text_had_errors) {
  Checked result;
  CheckedProgram facts;
  State s{program, facts, result.diagnostics, text_had_errors};
  if (check_structure(s)) {
    facts.expr_types.resize(program.exprs.size());
    facts.local_types.resize(program.locals.size());
    facts.array_counts.resize(program.locals.size());
    check_names(s);
    check_declarations(s);
    check_types(s);
    check_host_expressions(s);
    const bool can_inline = check_calls(s);
    check_control(s);  // after the calls: it asks which functions hold a barrier
    check_traps(s);    // before uniformity: a resume splits variables
    check_async(s);
    if (can_inline) {
      check_access(s);
      check_uniformity(s);
    }
    if (!s.d.has_errors() && !text_had_errors) {
      find_bounds(s);
      warn_unused(s);
      warn_flow(s);
    }
  }
  result.diagnostics.sort();
  if (!result.diagnostics.has_errors() && !text_had_errors) {
    facts.program = std::move(program);
    result.program = std::move(facts);
  }
  return result;
}

Result<CheckedProgram> check_valid(Program program) {
  const std::string name = program.name;
  Checked checked = check(std::move(program));
  if (checked.program) return std::move(*checked.program);
  Error error;
  error.code = ErrorCode::InvalidProgram;
  for (const Diagnostic& d : checked.diagnostics.list()) {
    if (d.severity != Severity::Error) continue;
    error.message = "`" + name + "`: " + d.message + ". Fix: " + d.fix;
    error.at = d.at;
    break;
  }
  error.diagnostics = checked.diagnostics.list();
  return std::unexpected(std::move(error));
}

}  // namespace vyre::check
