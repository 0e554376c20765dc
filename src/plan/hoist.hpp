// SPDX-License-Identifier: Apache-2.0
// Takes chosen parts of expressions out into statements of their own, keeping the order in which
// everything is evaluated: what stands to the left of such a part and could be changed by it is put
// into a local first, and the right side of && and || stays conditional.
#pragma once

#include "plan/draft.hpp"

namespace vyre::plan {

class Hoister {
 public:
  explicit Hoister(Draft& d) : d_(d) {}
  virtual ~Hoister() = default;

 protected:
  // Is this very node to be taken out?
  [[nodiscard]] virtual bool chosen(ir::ExprId id) const = 0;
  // Emits statements for a chosen node, whose operands are free of chosen ones, and returns what
  // takes its place; an invalid id if it has no value.
  virtual ir::ExprId take(ir::ExprId id, StmtList& out) = 0;

  [[nodiscard]] bool contains(ir::ExprId id) const;
  ir::ExprId hoist(ir::ExprId id, StmtList& out);
  // A statement's own expressions. Appends what comes before it and the statement itself, unless
  // nothing is left of it. Its blocks stay as they are; a `while` becomes `while true` with its
  // condition inside.
  void hoist_statement(ir::StmtId id, StmtList& out);

  Draft& d_;

 private:
  std::vector<ir::ExprId> hoist_in_order(std::vector<ir::ExprId> operands, StmtList& out);
};

}  // namespace vyre::plan
