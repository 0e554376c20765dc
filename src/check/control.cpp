// SPDX-License-Identifier: Apache-2.0
// Control flow rules: break and continue have a loop, functions return on every path, and barriers
// inside expressions stand only where the order of evaluation stays plain.
#include <fmt/core.h>

#include "check/flow.hpp"

namespace vyre::check {

using namespace ir;

bool breaks_out(const Program& p, Block body) {
  bool found = false;
  for (StmtId id : p.items(body)) {
    const Stmt& st = p[id];
    if (std::holds_alternative<Break>(st)) return true;
    if (std::holds_alternative<For>(st) || std::holds_alternative<While>(st) ||
        std::holds_alternative<Fixpoint>(st))
      continue;
    for_each_block(st, [&](Block inner) { found = found || breaks_out(p, inner); });
    if (found) return true;
  }
  return false;
}

bool never_falls_through(const Program& p, Block block) {
  // After a trap or return lanes may come back at a later resume of this very block.
  bool ended = false;
  for (StmtId id : p.items(block)) {
    if (std::holds_alternative<Resume>(p[id]))
      ended = false;
    else if (!ended)
      ended = never_falls_through(p, id);
  }
  return ended;
}

bool never_falls_through(const Program& p, StmtId id) {
  return match(
      p[id], [](const Return&) { return true; }, [](const Break&) { return true; },
      [](const Continue&) { return true; }, [](const Trap&) { return true; },
      [&](const If& st) {
        return never_falls_through(p, st.then_block) && never_falls_through(p, st.else_block);
      },
      [&](const Nested& st) { return never_falls_through(p, st.body); },
      [&](const Region& st) { return never_falls_through(p, st.body); },
      [&](const While& st) {
        const auto* condition = std::get_if<BoolLiteral>(&p[st.condition]);
        return condition != nullptr && condition->value && !breaks_out(p, st.body);
      },
      [](const Let&) { return false; }, [](const DeclareArray&) { return false; },
      [](const Assign&) { return false; }, [](const Store&) { return false; },
      [](const Eval&) { return false; }, [](const For&) { return false; },
      [](const Barrier&) { return false; }, [](const Fixpoint&) { return false; },
      [](const AsyncCopy&) { return false; }, [](const Wait&) { return false; },
      [](const Resume&) { return false; }, [](const Collective&) { return false; },
      [](const Swap&) { return false; }, [](const Print&) { return false; },
      [](const Assert&) { return false; });
}

namespace {

class Control {
 public:
  explicit Control(State& s) : s_(s), p_(s.p) {}

  void run() {
    for (uint32_t i = 0; i < p_.fns.size(); ++i) {
      const Fn& fn = p_.fns[i];
      in_fn_ = true;
      block(fn.body);
      if (fn.result && !never_falls_through(p_, fn.body))
        s_.report(Code::MissingReturn, FnId{i},
                  fmt::format("`{}` returns {}, but some paths end without a `return`", fn.name,
                              vyre::ir::name_of(*fn.result)),
                  "add a `return …;` at the end");
    }
    in_fn_ = false;
    block(p_.body);
  }

 private:
  // Where a load with a barrier, or a call of a function with one, may stand.
  enum class Place : uint8_t { Whole, Condition, Inside };

  bool has_barrier(FnId fn) const {
    return fn.index() < s_.fns.size() && s_.fns[fn.index()].barrier;
  }

  void expr(ExprId id, Place place) {
    const Expr& e = p_[id];
    if (const auto* load = std::get_if<UniformLoad>(&e);
        load != nullptr && place == Place::Inside) {
      const std::string_view what = load->scope == Scope::Grid ? "grid_load" : "workgroup_load";
      s_.report(Code::BarrierInExpression, id,
                fmt::format("`{}` is a barrier and cannot stand here", what),
                fmt::format("put it in a local first: `let x = {}(…);`; it may also stand in a "
                            "condition, but not to the right of && or ||, and not in select",
                            what));
    }
    if (const auto* call = std::get_if<Call>(&e);
        call != nullptr && place != Place::Whole && !is_print_ && has_barrier(call->fn))
      s_.report(Code::BarrierInExpression, id,
                fmt::format("`{}` contains a barrier, so its call cannot be part of an expression",
                            p_[call->fn].name),
                "call it as a statement, or put its result in a local first: `let x = …;`")
          .notes.push_back(s_.note(call->fn, "the function is declared here"));
    const Place inner = place == Place::Condition ? Place::Condition : Place::Inside;
    if (const auto* binary = std::get_if<Binary>(&e); binary != nullptr && is_lazy(binary->op)) {
      expr(binary->left, inner);
      expr(binary->right, Place::Inside);
      return;
    }
    const auto* intrinsic = std::get_if<IntrinsicCall>(&e);
    const bool select = intrinsic != nullptr && intrinsic->op == Intrinsic::Select;
    for_each_operand(p_, e, [&](ExprId child) { expr(child, select ? Place::Inside : inner); });
  }

  void block(Block b) {
    for (StmtId id : p_.items(b)) stmt(id);
  }

  void stmt(StmtId id) {
    const Stmt& st = p_[id];
    Place place = Place::Inside;
    if (std::holds_alternative<Let>(st) || std::holds_alternative<Eval>(st)) place = Place::Whole;
    if (const auto* assign = std::get_if<Assign>(&st); assign != nullptr && !assign->op)
      place = Place::Whole;
    if (std::holds_alternative<If>(st) || std::holds_alternative<While>(st))
      place = Place::Condition;
    is_print_ = std::holds_alternative<Print>(st) || std::holds_alternative<Assert>(st);
    for_each_operand(p_, st, [&](ExprId child) { expr(child, place); });

    if (std::holds_alternative<Break>(st)) jump(id, "break");
    if (std::holds_alternative<Continue>(st)) jump(id, "continue");
    if (std::holds_alternative<Return>(st) && in_fn_ && in_fixpoint_)
      s_.report(Code::BadReturn, id,
                "this `return` would leave a `fixpoint` in the middle of a pass",
                "let the pass end, and return after the fixpoint");

    const bool loop = std::holds_alternative<For>(st) || std::holds_alternative<While>(st);
    const bool fixpoint = std::holds_alternative<Fixpoint>(st);
    const int outer_loops = loops_;
    const bool outer_fixpoint = in_fixpoint_;
    if (loop) ++loops_;
    if (fixpoint) {
      loops_ = 0;
      in_fixpoint_ = true;
    }
    for_each_block(st, [&](Block inner) { block(inner); });
    loops_ = outer_loops;
    in_fixpoint_ = outer_fixpoint;
  }

  void jump(StmtId id, std::string_view what) {
    if (loops_ > 0) return;
    s_.report(Code::LoopControl, id,
              in_fixpoint_ ? fmt::format("this `{}` would leave the body of a `fixpoint`", what)
                           : fmt::format("this `{}` is not inside a loop", what),
              in_fixpoint_
                  ? "a fixpoint ends when nothing changes: skip the rest of a pass with `if`"
                  : "use `return;` to end the lane, or remove it");
  }

  State& s_;
  const Program& p_;
  int loops_ = 0;
  bool in_fixpoint_ = false;
  bool in_fn_ = false;
  bool is_print_ = false;  // whose arguments call no function at all (V089)
};

}  // namespace

void check_control(State& s) {
  Control(s).run();
}

}  // namespace vyre::check
