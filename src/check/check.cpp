// SPDX-License-Identifier: Apache-2.0
#include "vyre/check/check.hpp"

#include "base/stop.hpp"
#include "check/constants.hpp"
#include "check/learn.hpp"
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

bool may_stop_at_step(const State& s, const Stmt& stmt) {
  const auto* loop = std::get_if<For>(&stmt);
  return loop != nullptr && loop->step.valid() && !evaluate(s.p, s.facts, loop->step);
}

const BoundsProof* CheckedProgram::proof(ExprId id) const {
  const int32_t index = expr_proofs[id.index()];
  return index < 0 ? nullptr : &proofs[static_cast<size_t>(index)];
}

const BoundsProof* CheckedProgram::proof(StmtId id) const {
  const int32_t index = stmt_proofs[id.index()];
  return index < 0 ? nullptr : &proofs[static_cast<size_t>(index)];
}

Diagnostics check_and_learn(Program program, bool text_had_errors, CheckedProgram& facts) {
  const StageScope stage(Stage::Check);
  Diagnostics diagnostics;
  State s{program, facts, diagnostics, text_had_errors};
  // Each pass takes little longer than reading the program did.
  const auto pass = [&s](const auto& run) {
    poll_stop_now();
    return run(s);
  };
  if (check_structure(s)) {
    facts.expr_types.resize(program.exprs.size());
    facts.local_types.resize(program.locals.size());
    facts.array_counts.resize(program.locals.size());
    pass(check_names);
    pass(check_declarations);
    pass(check_types);
    pass(check_host_expressions);
    const bool can_inline = pass(check_calls);
    pass(check_control);  // after the calls: it needs to know which functions hold a barrier
    pass(check_traps);    // before uniformity: a resume splits variables
    pass(check_async);
    if (can_inline) {
      pass(check_access);
      pass(check_uniformity);
    }
    if (!s.d.has_errors() && !text_had_errors) {
      pass(find_bounds);
      pass(warn_unused);
      pass(warn_flow);
      pass(warn_default_grid);
    }
  }
  diagnostics.sort();
  facts.program = std::move(program);
  return diagnostics;
}

Checked check(Program program, bool text_had_errors) {
  CheckedProgram facts;
  Checked result;
  result.diagnostics = check_and_learn(std::move(program), text_had_errors, facts);
  if (!result.diagnostics.has_errors() && !text_had_errors) result.program = std::move(facts);
  return result;
}

Result<CheckedProgram> check_valid(Program program) {
  const std::string name = program.name;
  Checked checked = check(std::move(program));
  if (checked.program) return std::move(*checked.program);
  Error error;
  error.code = ErrorCode::InvalidProgram;
  const Diagnostic* first = nullptr;
  for (const Diagnostic& d : checked.diagnostics.list()) {
    if (d.severity != Severity::Error) continue;
    // The region rule comes before those of the language. Programs that were made by hand have no
    // positions that would say so.
    const bool is_region_rule = d.code == Code::RegionRule;
    if (first == nullptr || is_region_rule) first = &d;
    if (is_region_rule) break;
  }
  if (first != nullptr) {
    error.message = "`" + name + "`: " + first->message + ". Fix: " + first->fix;
    error.at = first->at;
  }
  error.diagnostics = checked.diagnostics.list();
  return std::unexpected(std::move(error));
}

}  // namespace vyre::check
