// SPDX-License-Identifier: Apache-2.0
// What the passes of the checker share: the program, the growing facts, the diagnostics. Each pass
// is a free function in its own file; check.cpp runs them in order.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/match.hpp"
#include "vyre/check/check.hpp"

namespace vyre::check {

// What a call of a function brings with it, callees included. Filled by check_calls.
struct FnInfo {
  uint64_t statements = 0;       // after inlining
  uint64_t nodes = 0;            // expressions after inlining
  uint32_t depth = 1;            // blocks after inlining, its own body included
  bool barrier = false;          // of workgroup or grid scope, in any form
  bool grid_barrier = false;     // barrier grid, grid_load, fixpoint, resume, collectives
  bool ends_lane = false;        // a trap
  std::vector<uint16_t> copies;  // tags of asynchronous copies

  void note_synchronisation(std::optional<ir::Scope> scope) {
    barrier = barrier || (scope && *scope != ir::Scope::Subgroup);
    grid_barrier = grid_barrier || scope == ir::Scope::Grid;
  }
};

struct State {
  const ir::Program& p;
  CheckedProgram& facts;  // facts.program is filled at the end; passes read p
  Diagnostics& d;
  // The parser reported mistakes already; parts of the program may be missing because of them.
  bool text_had_errors = false;
  std::vector<FnInfo> fns = {};  // by FnId
  // By LocalId: the resume that makes this variable differ between lanes, if one does. Filled by
  // check_traps.
  std::vector<ir::StmtId> split_by_resume = {};

  template <class AnyId>
  Diagnostic& report(Code code, AnyId at, std::string message, std::string fix) {
    return d.add(code, p.position_of(at), std::move(message), std::move(fix));
  }
  template <class AnyId>
  Note note(AnyId at, std::string message) const {
    return Note{p.position_of(at), std::move(message)};
  }
};

// "`name`"
std::string quoted(std::string_view name);
std::string name_of(const ir::Program& p, ir::Memory memory);
// The element type as declared (also a storage type).
ir::Type element_type(const ir::Program& p, ir::Memory memory);

// A loop that stops lanes if its step, which is known at run time only, turns out not to be
// positive.
bool may_stop_at_step(const State& s, const ir::Stmt& stmt);

// Expressions outside functions and statements: headers, constants, buffers, requirements.
template <class Visit>
void for_each_header_expr(const ir::Program& p, const Visit& visit) {
  for (const auto& ids : {p.workgroup, p.over})
    for (size_t i = 0; i < ir::Program::axes(ids); ++i) visit(ids[i]);
  for (const ir::Const& c : p.consts)
    for (ir::ExprId id : p.values(c.values)) visit(id);
  for (const ir::Buffer& b : p.buffers)
    for (ir::ExprId id : {b.count, b.binding, b.align, b.size, b.range_first, b.range_last})
      if (id.valid()) visit(id);
  for (const ir::Buffer& b : p.buffers)
    for (ir::ExprId id : p.values(b.axes)) visit(id);
  for (const ir::Require& r : p.require_list) visit(r.condition);
}

// The passes, in the order in which check() runs them.
bool check_structure(State& s);     // ids, trees, depth: false if the rest cannot walk the program
void check_names(State& s);         // V009 V020 V021 V022 V027
void check_declarations(State& s);  // constants, headers, buffers, attributes
void check_types(State& s);         // every expression and statement, accesses
void check_host_expressions(State& s);  // over, @count, require
void check_access(State& s);            // kinds of buffers, per call
bool check_calls(State& s);       // recursion, size after inlining: false if inlining would not end
void check_control(State& s);     // loops, returns, barriers in expressions
void check_traps(State& s);       // trap and resume
void check_async(State& s);       // async copy and wait
void check_uniformity(State& s);  // levels
void find_bounds(State& s);       // proofs
void warn_unused(State& s);
void warn_flow(State& s);          // unreachable statements, loops that wait for other lanes
void warn_default_grid(State& s);  // inputs longer than the grid

}  // namespace vyre::check
