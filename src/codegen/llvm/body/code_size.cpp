// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/code_size.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/match.hpp"
#include "ir/maths.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// More than that does not matter, and sums of it do not overflow.
constexpr uint64_t kHuge = uint64_t{1} << 40;

constexpr uint64_t kStatement = 2;
constexpr uint64_t kLoop = 40;   // its test, its counter and the poll
constexpr uint64_t kAccess = 8;  // the address and the test of its bounds
constexpr uint64_t kAtomic = 16;
constexpr uint64_t kMaths = 150;
constexpr uint64_t kSubgroup = 150;  // vectors that are shuffled
constexpr uint64_t kTrap = 30;       // the record of a stop
constexpr uint64_t kBarrier = 30;
constexpr uint64_t kCall = 8;
constexpr uint64_t kPhase = 40;
// A function of less code is never worth a call.
constexpr uint64_t kLeastCalled = 24;

uint64_t sum(uint64_t a, uint64_t b) {
  return std::min(a + b, kHuge);
}

class Measure {
 public:
  enum class Calls : uint8_t { None, Large, Every };
  Measure(const check::CheckedProgram& checked, Calls calls)
      : p_(checked.program),
        calls_(calls != Calls::None),
        every_(calls == Calls::Every),
        fns_(p_.fns.size()) {
    if (!calls_) return;
    find_uses();
    called_.resize(p_.fns.size());
  }

  CodeSize run() {
    CodeSize result;
    result.size = sum(kPhase, of(p_.body));
    if (calls_) {
      for (size_t i = 0; i < called_.size(); ++i)
        if (called_[i]) result.size = sum(result.size, fns_[i].size);
      result.called = called_;
      result.maths_called = true;
    }
    return result;
  }

 private:
  struct FnSize {
    bool known = false;
    uint64_t size = 0;
  };

  // Calls by the text. A function that only one place calls is emitted once either way.
  void find_uses() {
    uses_.assign(p_.fns.size(), 0);
    synchronises_.assign(p_.fns.size(), false);
    for (const Expr& e : p_.exprs)
      if (const auto* call = std::get_if<Call>(&e)) ++uses_[call->fn.index()];
  }

  // Depth is that of calls, which the nesting limit of the language bounds.
  const FnSize& of(FnId fn) {
    FnSize& f = fns_[fn.index()];
    if (f.known) return f;
    const bool outer = std::exchange(inside_synchronises_, false);
    const uint64_t size = of(p_[fn].body);
    if (calls_) {
      synchronises_[fn.index()] = inside_synchronises_;
      called_[fn.index()] =
          !inside_synchronises_ && (every_ || (uses_[fn.index()] > 1 && size >= kLeastCalled));
    }
    inside_synchronises_ = outer || inside_synchronises_;
    FnSize& known = fns_[fn.index()];
    known = {true, size};
    return known;
  }

  uint64_t of(Block block) {
    uint64_t size = 0;
    for (const StmtId id : p_.items(block)) {
      const Stmt& s = p_[id];
      size = sum(size, own(s));
      for_each_operand(p_, s, [&](ExprId e) { size = sum(size, of(e)); });
      for_each_block(s, [&](Block b) { size = sum(size, of(b)); });
    }
    return size;
  }

  uint64_t own(const Stmt& s) {
    return match(
        s, [](const Let&) { return kStatement; }, [](const DeclareArray&) { return kStatement; },
        [](const Assign&) { return kStatement; }, [](const Store&) { return kAccess; },
        [](const Eval&) { return uint64_t{0}; }, [](const If&) { return 2 * kStatement; },
        [](const For&) { return kLoop; }, [](const While&) { return kLoop; },
        [](const Break&) { return kStatement; }, [](const Continue&) { return kStatement; },
        [](const Return&) { return kStatement; }, [](const Nested&) { return uint64_t{0}; },
        [](const Region&) { return uint64_t{0}; },
        [&](const Barrier&) {
          inside_synchronises_ = true;
          return kBarrier;
        },
        [&](const Fixpoint&) {
          inside_synchronises_ = true;
          return kLoop;
        },
        [&](const AsyncCopy&) {
          inside_synchronises_ = true;
          return kLoop;
        },
        [&](const Wait&) {
          inside_synchronises_ = true;
          return kBarrier;
        },
        [](const Trap&) { return kTrap; }, [](const Resume&) { return kBarrier; },
        [](const Collective&) { return kBarrier; }, [](const Swap&) { return kBarrier; },
        [](const Print&) { return kTrap; }, [](const Assert&) { return kTrap; });
  }

  uint64_t of(ExprId id) {
    uint64_t size = own(id);
    for_each_operand(p_, p_[id], [&](ExprId e) { size = sum(size, of(e)); });
    return size;
  }

  uint64_t own(ExprId id) {
    return match(
        p_[id], [](const IntLiteral&) { return uint64_t{0}; },
        [](const FloatLiteral&) { return uint64_t{0}; },
        [](const BoolLiteral&) { return uint64_t{0}; }, [](const LocalRef&) { return uint64_t{1}; },
        [](const ConstRef&) { return uint64_t{0}; }, [](const BuiltinRef&) { return uint64_t{2}; },
        [](const Len&) { return uint64_t{0}; }, [](const Load&) { return kAccess; },
        [](const Unary&) { return uint64_t{1}; },
        [](const Binary& e) {
          const bool divides = e.op == BinaryOp::Div || e.op == BinaryOp::Rem;
          return is_lazy(e.op) || divides ? uint64_t{4} : uint64_t{1};
        },
        [](const Cast&) { return uint64_t{2}; }, [](const Bitcast&) { return uint64_t{1}; },
        [&](const IntrinsicCall& e) {
          if (!is_maths(e.op)) return uint64_t{2};
          return calls_ ? kCall : kMaths;
        },
        [](const Atomic&) { return kAtomic; },
        [&](const Subgroup&) {
          inside_synchronises_ = true;
          return kSubgroup;
        },
        [&](const UniformLoad&) {
          inside_synchronises_ = true;
          return 2 * kBarrier;
        },
        [&](const Call& e) {
          const FnSize& f = of(e.fn);
          if (calls_ && synchronises_[e.fn.index()]) inside_synchronises_ = true;
          return calls_ && called_[e.fn.index()] ? kCall : sum(kCall, f.size);
        },
        [](const Poison&) { return uint64_t{0}; },
        [](const AxisIndex& e) { return uint64_t{3} * e.indices.count; },
        [](const AxisLen&) -> uint64_t { VYRE_CHECK(!"the plan has lowered it"); });
  }

  const Program& p_;
  bool calls_;
  bool every_;
  std::vector<FnSize> fns_;
  std::vector<uint32_t> uses_;
  std::vector<bool> called_;
  std::vector<bool> synchronises_;  // lanes synchronise or exchange values in it
  bool inside_synchronises_ = false;
};

Error too_large(uint64_t size, uint64_t most) {
  return {.code = ErrorCode::LimitExceeded,
          .message = fmt::format(
              "the program becomes about {} instructions, more than are compiled (at most {}). "
              "Fix: use loops instead of repeated statements, and fewer barriers in functions "
              "that are called often",
              size >= kHuge ? std::string("10^12") : std::to_string(size), most),
          .context = {},
          .at = {},
          .diagnostics = {}};
}

}  // namespace

CodeSize inlined_size(const check::CheckedProgram& program) {
  return Measure(program, Measure::Calls::None).run();
}

CodeSize called_size(const check::CheckedProgram& program, bool every_call) {
  return Measure(program, every_call ? Measure::Calls::Every : Measure::Calls::Large).run();
}

Result<CodePlan> plan_code(const std::vector<const check::CheckedProgram*>& programs,
                           const CodeBudget& budget) {
  CodePlan plan;
  const auto measure = [&](const auto& of) {
    plan.programs.clear();
    uint64_t size = 0;
    for (const check::CheckedProgram* const program : programs) {
      plan.programs.push_back(of(*program));
      size = sum(size, plan.programs.back().size);
    }
    return size;
  };
  uint64_t size = measure(inlined_size);
  if (size > budget.inlined)
    size = measure([&](const auto& program) { return called_size(program, budget.every_call); });
  if (size > budget.most) return std::unexpected(too_large(size, budget.most));
  plan.effort = size <= budget.vectors     ? Effort::Full
                : size <= budget.optimised ? Effort::Scalar
                                           : Effort::Cheap;
  return plan;
}

}  // namespace vyre::codegen
