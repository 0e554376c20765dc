// SPDX-License-Identifier: Apache-2.0
// Types of expressions: inferred bottom-up with one expected type passed down. A side made of
// unsuffixed literals only is typed after the other side, so that `x * 2` takes the type of x.
#pragma once

#include <initializer_list>
#include <optional>

#include "check/state.hpp"

namespace vyre::check {

class Typer {
 public:
  using Maybe = std::optional<ir::Type>;

  explicit Typer(State& s) : s_(s), p_(s.p) {}

  // The type of an expression; none if it has no value or was already reported. Records
  // facts.expr_types.
  Maybe infer(ir::ExprId id, Maybe expected = {});
  // The same for an expression that stands alone as a statement: it may have no value.
  void infer_effect(ir::ExprId id);
  // infer() and a report if the type is another one. `what` names the destination: "`x`", "the
  // result".
  void require(ir::ExprId id, ir::Type wanted, const std::string& what);
  void require_bool(ir::ExprId id, std::string_view what);
  // An integer of any type: indices, shift amounts.
  Maybe require_integer(ir::ExprId id, std::string_view what);
  // The index of an access: one integer, or one for each axis.
  void index(ir::Memory memory, ir::ExprId id);
  // Types of `a op b` for an operand whose type is known (the target of op=).
  void check_op_assign(ir::ExprId at, ir::BinaryOp op, ir::Type target, ir::ExprId value,
                       const std::string& what);
  // Two expressions of one type, literal-only sides typed last; none if they differ (reported).
  Maybe same_type(std::initializer_list<ir::ExprId> ids, Maybe expected, ir::ExprId at,
                  std::string_view what);

 private:
  Maybe infer_node(ir::ExprId id, const ir::Expr& e, Maybe expected);
  Maybe literal(ir::ExprId id, const ir::Expr& e, Maybe suffix, bool whole, bool negative,
                Maybe expected);
  Maybe unary(ir::ExprId id, const ir::Unary& e, Maybe expected);
  Maybe binary(ir::ExprId id, const ir::Binary& e, Maybe expected);
  Maybe cast(ir::ExprId id, ir::Type to, ir::ExprId operand);
  Maybe bitcast(ir::ExprId id, const ir::Bitcast& e);
  Maybe intrinsic(ir::ExprId id, const ir::IntrinsicCall& e, Maybe expected);
  Maybe atomic(ir::ExprId id, const ir::Atomic& e);
  Maybe subgroup(ir::ExprId id, const ir::Subgroup& e, Maybe expected);
  void scalar_index(ir::BufferId buffer, ir::ExprId id);
  Maybe axis_len(ir::ExprId id, const ir::AxisLen& e);
  Maybe call(ir::ExprId id, const ir::Call& e);
  bool operand_fits(ir::ExprId at, ir::BinaryOp op, ir::Type type);
  void zero_divisor(ir::BinaryOp op, ir::Type type, ir::ExprId right);
  bool literal_only(ir::ExprId id);

  State& s_;
  const ir::Program& p_;
  std::vector<uint8_t> literal_only_;  // by ExprId: 0 unknown, 1 no, 2 yes
};

}  // namespace vyre::check
