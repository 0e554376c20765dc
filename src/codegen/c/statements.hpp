// SPDX-License-Identifier: Apache-2.0
// Statements of one lane.
#pragma once

#include "codegen/c/expressions.hpp"

namespace vyre::codegen::c {

class Statements {
 public:
  explicit Statements(Body& body) : b_(body), unit_(body.unit), p_(body.unit.p()), e_(body) {}

  void block(ir::Block block);
  void statement(ir::StmtId id);
  // Asks now and then whether the launch is to be given up.
  void tick(ir::StmtId loop, ir::Block body);

 private:
  void let(const ir::Let& s);
  void array(const ir::DeclareArray& s);
  void assign(const ir::Assign& s);
  void store(const ir::Store& s, ir::StmtId id);
  void branch(const ir::If& s);
  void for_loop(const ir::For& s, ir::StmtId id);
  void while_loop(const ir::While& s, ir::StmtId id);
  void return_(const ir::Return& s);
  void trap(const ir::Trap& s, ir::StmtId id);
  [[nodiscard]] bool ends_soon(const ir::For& s) const;

  Body& b_;
  const Unit& unit_;
  const ir::Program& p_;
  Expressions e_;
};

// True if the launch is given up; asked once in each iteration of a loop.
std::string tick_text(const Unit& unit, ir::StmtId loop, ir::Block body);

// What comes after `variable` in a `for`, without ever being past the end.
std::string step_text(const Unit& unit, const ir::For& s, const std::string& variable,
                      const std::string& end);

}  // namespace vyre::codegen::c
