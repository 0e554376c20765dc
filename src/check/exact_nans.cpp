// SPDX-License-Identifier: Apache-2.0
// Marks what can hold unspecified bits, in any order until nothing new is found: marks only ever
// spread, so the result does not depend on the order.
#include "vyre/check/exact_nans.hpp"

#include <algorithm>

#include "base/match.hpp"

namespace vyre::check {

using namespace ir;

namespace {

// Sweeps over the whole program. Each finds more by at least one link of a chain of copies; in
// source order nearly all chains are one sweep. A program that needs more is given up.
constexpr uint32_t kMaxSweeps = 64;

class Marks {
 public:
  explicit Marks(const CheckedProgram& checked)
      : c_(checked),
        p_(checked.program),
        exprs_(p_.exprs.size()),
        locals_(p_.locals.size()),
        buffers_(p_.buffers.size()),
        results_(p_.fns.size()) {}

  std::vector<bool> run() {
    for (uint32_t i = 0; i < kMaxSweeps; ++i) {
      changed_ = false;
      for (uint32_t k = 0; k < p_.exprs.size(); ++k)
        if (is_open(p_.exprs[k], ExprId{k})) set(exprs_, k);
      for (const Stmt& s : p_.stmts) visit(s);
      for (uint32_t f = 0; f < p_.fns.size(); ++f)
        if (returns_open(p_.fns[f].body)) set(results_, f);
      if (!changed_) {
        std::vector<bool> exact(buffers_.size());
        for (size_t k = 0; k < exact.size(); ++k) exact[k] = !buffers_[k];
        return exact;
      }
    }
    return std::vector<bool>(buffers_.size(), false);
  }

 private:
  void set(std::vector<bool>& marks, size_t index) {
    if (marks[index]) return;
    marks[index] = true;
    changed_ = true;
  }
  [[nodiscard]] bool open(ExprId id) const { return id.valid() && exprs_[id.index()]; }
  [[nodiscard]] bool open(Memory m) const {
    switch (m.kind) {
      case Memory::Kind::Buffer: return m.valid() && buffers_[m.index];
      case Memory::Kind::Local: return m.valid() && locals_[m.index];
      case Memory::Kind::Table: return false;  // computed once, before any device
    }
    return false;
  }
  void mark(Memory m) {
    if (m.kind == Memory::Kind::Buffer) set(buffers_, m.index);
    if (m.kind == Memory::Kind::Local) set(locals_, m.index);
  }

  [[nodiscard]] bool is_float_value(ExprId id) const {
    const auto type = id.valid() ? c_.expr_types[id.index()] : std::nullopt;
    return type && is_float(*type);
  }
  [[nodiscard]] bool holds_floats(Memory m) const {
    if (m.kind == Memory::Kind::Buffer) return is_float(widened(p_.buffers[m.index].element));
    const auto type =
        m.kind == Memory::Kind::Local ? c_.local_types[m.index] : std::optional<Type>();
    return !type || is_float(widened(*type));
  }
  [[nodiscard]] bool any_operand(const Expr& e) const {
    bool found = false;
    for_each_operand(p_, e, [&](ExprId operand) { found = found || open(operand); });
    return found;
  }

  // Whether an expression can give bits that are not specified.
  bool is_open(const Expr& expr, ExprId id) {
    return match(
        expr, [](const IntLiteral&) { return false; }, [](const FloatLiteral&) { return false; },
        [](const BoolLiteral&) { return false; }, [](const ConstRef&) { return false; },
        [](const BuiltinRef&) { return false; }, [](const Len&) { return false; },
        [](const Poison&) { return false; }, [](const AxisLen&) { return false; },
        [&](const AxisIndex&) { return any_operand(expr); },
        [&](const LocalRef& e) { return static_cast<bool>(locals_[e.local.index()]); },
        [&](const Load& e) { return open(e.memory) || open(e.index); },
        [&](const UniformLoad& e) { return open(e.memory) || open(e.index); },
        [&](const Unary& e) { return is_float_value(id) || open(e.operand); },
        // Comparisons are the same for every NaN.
        [&](const Binary& e) {
          if (is_comparison(e.op) && is_float_value(e.left)) return false;
          return is_float_value(id) || open(e.left) || open(e.right);
        },
        [&](const Cast& e) {
          if (!is_float_value(e.operand)) return open(e.operand);
          return is_float_value(id);  // to integers and bool every NaN is the same
        },
        [&](const Bitcast& e) { return open(e.operand); },
        [&](const IntrinsicCall& e) {
          if (e.op == Intrinsic::Select) return any_operand(expr);
          return is_float_value(id) || (!is_float_value(e.args[0]) && any_operand(expr));
        },
        [&](const Atomic& e) {
          visit_atomic(e);
          return open(e.memory) || any_operand(expr);
        },
        [&](const Subgroup& e) {
          return (is_float_value(id) && !moves_only(e.op)) || any_operand(expr);
        },
        [&](const Call& e) {
          pass_arguments(e);
          return static_cast<bool>(results_[e.fn.index()]);
        });
  }

  static bool moves_only(SubgroupOp op) {
    switch (op) {
      case SubgroupOp::Shuffle:
      case SubgroupOp::ShuffleXor:
      case SubgroupOp::ShuffleUp:
      case SubgroupOp::ShuffleDown:
      case SubgroupOp::Broadcast:
      case SubgroupOp::Ballot:
      case SubgroupOp::Any:
      case SubgroupOp::All: return true;
      case SubgroupOp::Add:
      case SubgroupOp::Mul:
      case SubgroupOp::Min:
      case SubgroupOp::Max:
      case SubgroupOp::And:
      case SubgroupOp::Or:
      case SubgroupOp::Xor:
      case SubgroupOp::ExclusiveAdd:
      case SubgroupOp::InclusiveAdd: return false;
    }
    return false;
  }

  // Memory that a function gets is the caller's: marks go both ways.
  void pass_arguments(const Call& call) {
    const auto params = p_.params(p_[call.fn].params);
    const auto args = p_.arguments(call.args);
    for (size_t i = 0; i < std::min(params.size(), args.size()); ++i) {
      if (const auto* value = std::get_if<ExprId>(&args[i])) {
        if (open(*value)) set(locals_, params[i].index());
      } else {
        const Memory memory = std::get<Memory>(args[i]);
        if (open(memory)) set(locals_, params[i].index());
        if (locals_[params[i].index()]) mark(memory);
      }
    }
  }

  void visit_atomic(const Atomic& e) {
    switch (e.op) {
      case AtomicOp::Load: return;
      case AtomicOp::Exchange:
      case AtomicOp::Store:
      case AtomicOp::Min:  // moves bits as well
      case AtomicOp::Max:
        if (open(e.args[0])) mark(e.memory);
        return;
      case AtomicOp::Cas:
        if (open(e.args[1])) mark(e.memory);
        return;
      case AtomicOp::Add:
      case AtomicOp::Sub:
      case AtomicOp::And:
      case AtomicOp::Or:
      case AtomicOp::Xor:
      case AtomicOp::Nand:
        if (holds_floats(e.memory) || open(e.args[0])) mark(e.memory);
        return;
    }
  }

  void visit_collective(const Collective& s) {
    const bool folds = s.op == CollectiveOp::AllReduce || s.op == CollectiveOp::ReduceScatter;
    const Memory to = s.dst.valid() ? s.dst : s.src;
    if (open(s.src) || (folds && holds_floats(s.src))) mark(to);
  }

  void visit(const Stmt& stmt) {
    match(
        stmt,
        [&](const Let& s) {
          if (open(s.value)) set(locals_, s.local.index());
        },
        [&](const Assign& s) {
          if (open(s.value) || (s.op && is_float_value(s.value))) set(locals_, s.local.index());
        },
        [&](const Store& s) {
          if (open(s.value) || (s.op && holds_floats(s.memory))) mark(s.memory);
        },
        [&](const For& s) {
          if (open(s.first) || open(s.last) || open(s.step)) set(locals_, s.variable.index());
        },
        [&](const AsyncCopy& s) {
          if (open(s.src)) mark(s.dst);
        },
        [&](const Collective& s) { visit_collective(s); },
        [&](const Swap& s) {
          if (open(s.a)) mark(s.b);
          if (open(s.b)) mark(s.a);
        },
        [](const DeclareArray&) {}, [](const Eval&) {}, [](const If&) {}, [](const While&) {},
        [](const Break&) {}, [](const Continue&) {}, [](const Return&) {}, [](const Nested&) {},
        [](const Region&) {}, [](const Barrier&) {}, [](const Fixpoint&) {}, [](const Wait&) {},
        [](const Trap&) {}, [](const Resume&) {}, [](const Print&) {}, [](const Assert&) {});
  }

  bool returns_open(Block body) {
    return std::ranges::any_of(p_.items(body), [&](StmtId id) {
      const Stmt& s = p_[id];
      if (const auto* result = std::get_if<Return>(&s)) return open(result->value);
      bool found = false;
      for_each_block(s, [&](Block b) { found = found || returns_open(b); });
      return found;
    });
  }

  const CheckedProgram& c_;
  const Program& p_;
  std::vector<bool> exprs_;    // by ExprId: of what is evaluated
  std::vector<bool> locals_;   // by LocalId: values and private arrays
  std::vector<bool> buffers_;  // by BufferId
  std::vector<bool> results_;  // by FnId
  bool changed_ = false;
};

}  // namespace

std::vector<bool> exact_nans(const CheckedProgram& checked) {
  return Marks(checked).run();
}

}  // namespace vyre::check
