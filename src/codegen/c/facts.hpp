// SPDX-License-Identifier: Apache-2.0
// What the printer knows of expressions and functions before it prints them: which of them the
// lanes of a subgroup execute together, and which order of evaluation matters for.
#pragma once

#include <cstdint>
#include <vector>

#include "vyre/check/check.hpp"

namespace vyre::codegen::c {

class Facts {
 public:
  // `checked`: an access out of bounds ends its lane.
  Facts(const check::CheckedProgram& checked, bool accesses_end);

  // A subgroup operation is inside, or a call of a function with one.
  [[nodiscard]] bool synchronises(ir::ExprId id) const { return has(id, kSynchronises); }
  [[nodiscard]] bool synchronises(ir::FnId id) const { return has(id, kSynchronises); }
  // Also in a block below, or a jump out of a loop that has one: `in_loop`.
  [[nodiscard]] bool synchronises(ir::StmtId id, bool in_loop) const;
  // How often and when it is evaluated can be noticed.
  [[nodiscard]] bool effectful(ir::ExprId id) const { return has(id, kEffect); }
  [[nodiscard]] bool effectful(ir::FnId id) const { return has(id, kEffect); }
  // Another effect may change its value.
  [[nodiscard]] bool unstable(ir::ExprId id) const { return has(id, kEffect | kReads); }
  // The lane may end in it, or the launch may be given up.
  [[nodiscard]] bool may_end(ir::FnId id) const { return has(id, kEnds); }
  // Statements that one execution of the block executes at least, calls included, each branch and
  // loop once: how often a loop around it asks whether to go on.
  [[nodiscard]] uint32_t weight(ir::Block block) const;
  // No loop and no call is inside.
  [[nodiscard]] bool is_straight(ir::Block block) const;
  // By FnId: called from the body, or from a function that is.
  [[nodiscard]] const std::vector<bool>& called() const { return called_; }
  // By ConstId: tables that the body and the functions called from it read.
  [[nodiscard]] const std::vector<bool>& tables() const { return tables_; }

 private:
  static constexpr uint8_t kSynchronises = 1, kEffect = 2, kReads = 4, kEnds = 8, kKnown = 16;
  [[nodiscard]] bool has(ir::ExprId id, uint8_t bits) const {
    return (exprs_[id.index()] & bits) != 0;
  }
  [[nodiscard]] bool has(ir::FnId id, uint8_t bits) const { return (fns_[id.index()] & bits) != 0; }
  uint8_t collect(ir::ExprId id);
  uint8_t collect(ir::FnId id);
  uint8_t collect(ir::Block block);
  uint8_t own(const ir::Expr& e);
  [[nodiscard]] bool jumps(ir::StmtId id) const;
  [[nodiscard]] uint32_t weight(ir::ExprId id) const;

  const check::CheckedProgram& c_;
  const ir::Program& p_;
  bool accesses_end_;
  std::vector<uint8_t> exprs_, fns_;
  mutable std::vector<uint32_t> fn_weights_;  // by FnId; 0: not known yet
  std::vector<bool> called_, tables_;
};

}  // namespace vyre::codegen::c
