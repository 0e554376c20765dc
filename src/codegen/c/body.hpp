// SPDX-License-Identifier: Apache-2.0
// What the printers of expressions, statements and subgroup code share while they print one
// function.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "codegen/c/facts.hpp"
#include "codegen/c/library.hpp"
#include "codegen/c/sites.hpp"
#include "codegen/c/writer.hpp"
#include "vyre/check/check.hpp"

namespace vyre::codegen::c {

// A program that is printed: a segment, one of its phases, or the maths library.
struct Unit {
  const check::CheckedProgram& c;
  const Facts& facts;
  std::string name;  // a suffix of all that is printed for it: "0_2" is phase 2 of segment 0
  Library& library;
  Sites& sites;
  uint32_t subgroup_size = 0;
  bool checked = false;  // an access out of bounds ends its lane

  [[nodiscard]] const ir::Program& p() const { return c.program; }
  [[nodiscard]] ir::Type type_of(ir::ExprId id) const { return *c.expr_types[id.index()]; }
  [[nodiscard]] uint32_t lanes() const { return c.workgroup[0] * c.workgroup[1] * c.workgroup[2]; }
};

std::string function_name(const Unit& unit, ir::FnId fn);
std::string table_name(const Unit& unit, ir::ConstId table);
// Some value of the table is no constant expression of C, so that its bits are printed.
bool table_by_bits(const Unit& unit, ir::ConstId table);
// Members of `struct buffers_<unit>`.
std::string buffer_name(const ir::Program& p, ir::BufferId buffer);
std::string length_name(const ir::Program& p, ir::BufferId buffer);

// Where a lane goes when it ends, or returns from a function.
enum class Frame : uint8_t {
  Lane,      // the body of the program, for one lane
  Function,  // a function of the program, for one lane
  Run,       // statements of one lane in code of its subgroup
};

struct Body {
  Body(const Unit& of, Frame kind, Writer& to) : unit(of), frame(kind), out(&to) {}

  const Unit& unit;
  Frame frame;
  Writer* out;
  std::optional<ir::Type> result = {};  // of the function
  bool in_function = false;             // also in code of its subgroup

  // Expressions that have a value already; by ExprId.
  std::map<uint32_t, std::string> replaced = {};
  // Names that differ from that of the declaration; by LocalId.
  std::map<uint32_t, std::string> names = {};
  uint32_t temporaries = 0;

  // Frame::Run: the label at the end of the lane, and whether a statement goes there.
  std::string next = {};
  bool next_used = false;
  // Which of the runs this is; by LocalId: the run that named it, kManyRuns for several.
  static constexpr uint32_t kManyRuns = ~uint32_t{0};
  uint32_t run = 0;
  mutable std::map<uint32_t, uint32_t> run_of = {};

  [[nodiscard]] std::string local(ir::LocalId id) const;
  std::string temporary();

  // The lane executes nothing more of this launch.
  void end_lane();
  // The same, where a function that it called, or vyre_tick(), has said so.
  void leave_lane();
  void leave_lane_if(std::string_view condition);
  // Frame::Run: the lane is done with these statements.
  void go_to_next();
};

}  // namespace vyre::codegen::c
