// SPDX-License-Identifier: Apache-2.0
// In which order the operands of an expression are evaluated, and which of them may not be. The
// oracle and the code generators follow it; who proves something about a program walks expressions
// by it, so that nothing that may not run is taken for something that does.
//
// Operands are evaluated left to right. All of them are, with one exception: the right operand of
// `&&` and `||` only if the left one does not decide. `select` evaluates all three. A call comes
// after its arguments, an atomic operation and a load after their operands. Of statements, the
// operands are evaluated before what the statement does and before its blocks, once; only the
// condition of `while` again after each iteration. What stands in a block of `if`, `for`, `while`
// or `fixpoint`, and after a statement that may leave the block, may not run at all.
#pragma once

#include <optional>

#include "vyre/ir/program.hpp"

namespace vyre::ir {

// `operand` is evaluated only if `condition`, which comes before it, is `truth`.
struct LazyOperand {
  ExprId condition;
  bool truth = true;
  ExprId operand;
};

inline std::optional<LazyOperand> lazy_operand(const Expr& expr) {
  const auto* binary = std::get_if<Binary>(&expr);
  if (binary == nullptr || !is_lazy(binary->op)) return std::nullopt;
  return LazyOperand{binary->left, binary->op == BinaryOp::LogicalAnd, binary->right};
}

// Calls always(ExprId) for each operand that is evaluated with the expression, and then
// maybe(LazyOperand) for one that may not be: in order of evaluation.
template <class Always, class Maybe>
void for_each_evaluated(const Program& program, const Expr& expr, Always&& always, Maybe&& maybe) {
  if (const auto lazy = lazy_operand(expr)) {
    always(lazy->condition);
    maybe(*lazy);
    return;
  }
  for_each_operand(program, expr, always);
}

}  // namespace vyre::ir
