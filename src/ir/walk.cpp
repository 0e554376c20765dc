// SPDX-License-Identifier: Apache-2.0
// The one place that lists the operands and the child blocks of every kind of node.
#include "base/match.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::ir {

void for_each_operand(const Program& program, const Expr& expr,
                      FunctionRef<void(const ExprId&)> visit) {
  match(
      expr, [](const IntLiteral&) {}, [](const FloatLiteral&) {}, [](const BoolLiteral&) {},
      [](const LocalRef&) {}, [](const ConstRef&) {}, [](const BuiltinRef&) {}, [](const Len&) {},
      [&](const Load& e) { visit(e.index); }, [&](const Unary& e) { visit(e.operand); },
      [&](const Binary& e) {
        visit(e.left);
        visit(e.right);
      },
      [&](const Cast& e) { visit(e.operand); }, [&](const Bitcast& e) { visit(e.operand); },
      [&](const IntrinsicCall& e) {
        for (int i = 0; i < arity_of(e.op); ++i) visit(e.args[static_cast<size_t>(i)]);
      },
      [&](const Atomic& e) {
        visit(e.index);
        for (int i = 0; i < arity_of(e.op); ++i) visit(e.args[static_cast<size_t>(i)]);
      },
      [&](const Subgroup& e) {
        visit(e.value);
        if (e.lane.valid()) visit(e.lane);
      },
      [&](const UniformLoad& e) { visit(e.index); },
      [&](const Call& e) {
        for (const Arg& arg : program.arguments(e.args))
          if (const ExprId* value = std::get_if<ExprId>(&arg)) visit(*value);
      },
      [](const Poison&) {},
      [&](const AxisIndex& e) {
        for (const Range range : {e.indices, e.lengths})
          for (uint32_t i = 0; i < range.count; ++i) visit(program.expr_lists[range.first + i]);
      },
      [](const AxisLen&) {});
}

void for_each_operand(const Program& program, const Stmt& stmt,
                      FunctionRef<void(const ExprId&)> visit) {
  // One by one: `visit` may add to the lists.
  const auto list = [&](Range range) {
    for (uint32_t i = 0; i < range.count; ++i) visit(program.expr_lists[range.first + i]);
  };
  match(
      stmt, [&](const Let& s) { visit(s.value); }, [](const DeclareArray&) {},
      [&](const Assign& s) { visit(s.value); },
      [&](const Store& s) {
        visit(s.index);
        visit(s.value);
      },
      [&](const Eval& s) { visit(s.value); }, [&](const If& s) { visit(s.condition); },
      [&](const For& s) {
        visit(s.first);
        visit(s.last);
        if (s.step.valid()) visit(s.step);
      },
      [&](const While& s) { visit(s.condition); }, [](const Break&) {}, [](const Continue&) {},
      [&](const Return& s) {
        if (s.value.valid()) visit(s.value);
      },
      [](const Nested&) {}, [](const Region&) {}, [](const Barrier&) {},
      [&](const Fixpoint& s) { visit(s.max_passes); },
      [&](const AsyncCopy& s) {
        visit(s.dst_index);
        visit(s.src_index);
        visit(s.count);
      },
      [](const Wait&) {}, [&](const Trap& s) { visit(s.value); }, [](const Resume&) {},
      [&](const Collective& s) {
        if (s.root.valid()) visit(s.root);
        if (s.group.valid()) visit(s.group);
      },
      [](const Swap&) {}, [&](const Print& s) { list(s.args); },
      [&](const Assert& s) {
        visit(s.condition);
        list(s.args);
      });
}

void for_each_block(const Stmt& stmt, FunctionRef<void(const Block&)> visit) {
  match(
      stmt, [](const Let&) {}, [](const DeclareArray&) {}, [](const Assign&) {},
      [](const Store&) {}, [](const Eval&) {},
      [&](const If& s) {
        visit(s.then_block);
        visit(s.else_block);
      },
      [&](const For& s) { visit(s.body); }, [&](const While& s) { visit(s.body); },
      [](const Break&) {}, [](const Continue&) {}, [](const Return&) {},
      [&](const Nested& s) { visit(s.body); }, [&](const Region& s) { visit(s.body); },
      [](const Barrier&) {}, [&](const Fixpoint& s) { visit(s.body); }, [](const AsyncCopy&) {},
      [](const Wait&) {}, [](const Trap&) {}, [](const Resume&) {}, [](const Collective&) {},
      [](const Swap&) {}, [](const Print&) {}, [](const Assert&) {});
}

}  // namespace vyre::ir
