// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/divergence.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/match.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;

uint32_t coalesced_axis(const Program& program) {
  const auto hinted = std::ranges::find_if(
      program.buffers, [](const Buffer& b) { return b.coalesce_axis.has_value(); });
  return hinted == program.buffers.end() ? 0 : *hinted->coalesce_axis;
}

Divergence::Divergence(const check::CheckedProgram& checked, BlockShape shape, Options options)
    : c_(checked),
      p_(checked.program),
      shape_(shape),
      local_(p_.locals.size()),
      loop_(p_.stmts.size()),
      fn_returns_(p_.fns.size()),
      fn_result_(p_.fns.size()),
      fn_diverges_(p_.fns.size()),
      fn_ends_(p_.fns.size()),
      declared_at_(p_.locals.size()) {
  if (shape_.lanes == 1) return;
  if (options.accesses_end) {
    ends_lanes_ = true;
    loop_.assign(loop_.size(), true);
  }
  if (options.params_vary)
    for (const Fn& fn : p_.fns)
      for (const LocalId param : p_.params(fn.params)) local_[param.index()] = true;
  // Everything only ever becomes worse, so this ends; where it would take long, at the worst.
  constexpr uint32_t kMostRounds = 64;
  uint32_t rounds = 0;
  do {
    changed_ = false;
    if (++rounds == kMostRounds) assume_worst();
    fn_ = {};
    visit(p_.body, 0);
    for (uint32_t i = 0; i < p_.fns.size(); ++i) {
      fn_ = FnId{i};
      fn_depth_ = (fn_diverges_[i] ? 1U : 0U) + (fn_returns_[i] ? 1U : 0U);
      visit(p_.fns[i].body, fn_depth_);
    }
  } while (changed_);
}

void Divergence::assume_worst() {
  for (std::vector<bool>* const flags : {&local_, &loop_, &fn_returns_, &fn_result_, &fn_diverges_})
    flags->assign(flags->size(), true);
}

Divergence::LoopKinds Divergence::loop_kinds(const std::vector<bool>& left_out) const {
  LoopKinds kinds;
  for (size_t i = 0; i < loop_.size(); ++i) {
    if (!loop_[i] || (!left_out.empty() && left_out[i])) continue;
    const auto* loop = std::get_if<For>(&p_.stmts[i]);
    (loop != nullptr && stays_convergent(*loop) ? kinds.convergent : kinds.divergent) = true;
  }
  return kinds;
}

bool Divergence::stays_convergent(const For& loop) const {
  return c_.local_types[loop.variable.index()] == Type::U32 && !varies(loop.last) &&
         counts_lanes(loop.first) && !may_leave(loop.body);
}

bool Divergence::counts_lanes(ExprId id) const {
  if (const auto* e = std::get_if<BuiltinRef>(&p_[id]))
    return (e->builtin == Builtin::Gid || e->builtin == Builtin::Lid) && e->axis == shape_.axis;
  if (const auto* e = std::get_if<Binary>(&p_[id])) {
    if (e->op == BinaryOp::Add && counts_lanes(e->right)) return !varies(e->left);
    return (e->op == BinaryOp::Add || e->op == BinaryOp::Sub) && counts_lanes(e->left) &&
           !varies(e->right);
  }
  const auto* ref = std::get_if<LocalRef>(&p_[id]);
  if (ref == nullptr || p_[ref->local].kind != Local::Kind::Let) return false;
  for (const Stmt& s : p_.stmts)
    if (const auto* let = std::get_if<Let>(&s); let != nullptr && let->local == ref->local)
      return counts_lanes(let->value);
  return false;
}

bool Divergence::may_leave(Block block) const {
  for (const StmtId id : p_.items(block)) {
    const Stmt& s = p_[id];
    if (properties_of(s).exit != Exit::None) return true;
    bool inner = false;
    for_each_block(s, [&](Block b) { inner = inner || may_leave(b); });
    const auto ends = [&](ExprId e, auto&& self) -> void {
      if (const auto* call = std::get_if<Call>(&p_[e])) inner = inner || fn_ends_[call->fn.index()];
      for_each_operand(p_, p_[e], [&](ExprId operand) { self(operand, self); });
    };
    for_each_operand(p_, s, [&](ExprId e) { ends(e, ends); });
    if (inner) return true;
  }
  return false;
}

void Divergence::set(std::vector<bool>& flags, size_t index) {
  if (flags[index]) return;
  flags[index] = true;
  changed_ = true;
}

void Divergence::vary(LocalId local) {
  set(local_, local.index());
}

void Divergence::assign(LocalId local, bool value_varies, uint32_t depth) {
  if (value_varies || depth > declared_at_[local.index()]) vary(local);
}

bool Divergence::varies_when_loaded(Memory memory, ExprId index) const {
  return varies(index) || (memory.kind == Memory::Kind::Local &&
                           p_[memory.local()].kind == Local::Kind::Array && varies(memory.local()));
}

bool Divergence::varies(ExprId id) const {
  if (shape_.lanes == 1) return false;
  return match(
      p_[id], [](const IntLiteral&) { return false; }, [](const FloatLiteral&) { return false; },
      [](const BoolLiteral&) { return false; }, [&](const LocalRef& e) { return varies(e.local); },
      [](const ConstRef&) { return false; },
      [&](const BuiltinRef& e) {
        switch (e.builtin) {
          case Builtin::Gid:
          case Builtin::Lid:
            return e.axis == shape_.axis || (shape_.packed && c_.workgroup_axes > 1);
          case Builtin::SubgroupLane: return true;
          case Builtin::SubgroupId: return !shape_.packed;
          case Builtin::Wid:
          case Builtin::NumWorkgroups:
          case Builtin::WorkgroupSize:
          case Builtin::SubgroupSize:
          case Builtin::FixpointPasses:
          case Builtin::FixpointConverged: return false;
        }
        return true;
      },
      [](const Len&) { return false; },
      [&](const Load& e) { return varies_when_loaded(e.memory, e.index); },
      [&](const Unary& e) { return varies(e.operand); },
      [&](const Binary& e) { return varies(e.left) || varies(e.right); },
      [&](const Cast& e) { return varies(e.operand); },
      [&](const Bitcast& e) { return varies(e.operand); },
      [&](const IntrinsicCall& e) {
        for (int i = 0; i < arity_of(e.op); ++i)
          if (varies(e.args[static_cast<size_t>(i)])) return true;
        return false;
      },
      // Each lane finds what the one before it has left.
      [&](const Atomic& e) { return e.op != AtomicOp::Load || varies(e.index); },
      [&](const Subgroup& e) {
        switch (e.op) {
          case SubgroupOp::Shuffle:
          case SubgroupOp::ShuffleXor:
          case SubgroupOp::ShuffleUp:
          case SubgroupOp::ShuffleDown:
          case SubgroupOp::ExclusiveAdd:
          case SubgroupOp::InclusiveAdd: return true;
          default: return false;
        }
      },
      [&](const UniformLoad&) { return false; },
      [&](const Call& e) { return static_cast<bool>(fn_result_[e.fn.index()]); },
      [](const Poison&) { return true; },
      [&](const AxisIndex& e) {
        return std::ranges::any_of(p_.values(e.indices), [&](ExprId i) { return varies(i); });
      },
      [](const AxisLen&) -> bool { VYRE_CHECK(!"the plan has lowered it"); });
}

// Arguments reach parameters; a call in divergent flow makes the function's flow so.
void Divergence::calls_in(ExprId id, uint32_t depth) {
  if (const auto* binary = std::get_if<Binary>(&p_[id]); binary != nullptr && is_lazy(binary->op)) {
    calls_in(binary->left, depth);
    calls_in(binary->right, depth + (varies(binary->left) ? 1 : 0));
    return;
  }
  for_each_operand(p_, p_[id], [&](ExprId e) { calls_in(e, depth); });
  const auto* call = std::get_if<Call>(&p_[id]);
  if (call == nullptr) return;
  const auto params = p_.params(p_[call->fn].params);
  const auto args = p_.arguments(call->args);
  for (size_t k = 0; k < args.size(); ++k) {
    if (const ExprId* value = std::get_if<ExprId>(&args[k])) {
      if (varies(*value)) vary(params[k]);
    } else if (const Memory m = std::get<Memory>(args[k]); m.kind == Memory::Kind::Local) {
      if (varies(m.local())) vary(params[k]);
    }
  }
  if (depth != 0) set(fn_diverges_, call->fn.index());
  if (fn_ends_[call->fn.index()]) end_lanes(true);
}

// A loop in which lanes end has to notice when none is left.
void Divergence::end_lanes(bool some) {
  if (fn_.valid()) set(fn_ends_, fn_.index());
  if (!some && !fn_.valid()) return;
  if (!ends_lanes_) changed_ = true;
  ends_lanes_ = true;
  for (const Loop& loop : loops_) set(loop_, loop.id.index());
}

void Divergence::visit(Block block, uint32_t depth) {
  for (const StmtId id : p_.items(block)) visit(id, depth);
}

void Divergence::visit(StmtId id, uint32_t depth) {
  for_each_operand(p_, p_[id], [&](ExprId e) { calls_in(e, depth); });
  const auto in_loop = [&](Block body, bool varying) {
    if (varying) set(loop_, id.index());
    loops_.push_back({id, depth + (loop_[id.index()] ? 1U : 0U)});
    visit(body, loops_.back().depth);
    loops_.pop_back();
  };
  const auto jump = [&] {
    if (depth > loops_.back().depth) set(loop_, loops_.back().id.index());
  };
  match(
      p_[id],
      [&](const Let& s) {
        declared_at_[s.local.index()] = depth;
        if (varies(s.value)) vary(s.local);
      },
      [&](const DeclareArray& s) { declared_at_[s.local.index()] = depth; },
      [&](const Assign& s) { assign(s.local, varies(s.value), depth); },
      [&](const Store& s) {
        if (s.memory.kind == Memory::Kind::Local && p_[s.memory.local()].kind == Local::Kind::Array)
          assign(s.memory.local(), varies(s.index) || varies(s.value), depth);
      },
      [](const Eval&) {},
      [&](const If& s) {
        const uint32_t inside = depth + (varies(s.condition) ? 1 : 0);
        visit(s.then_block, inside);
        visit(s.else_block, inside);
      },
      [&](const For& s) {
        declared_at_[s.variable.index()] = depth;
        if (varies(s.first)) vary(s.variable);
        in_loop(s.body, varies(s.first) || varies(s.last));
      },
      [&](const While& s) { in_loop(s.body, varies(s.condition)); }, [&](const Break&) { jump(); },
      [&](const Continue&) { jump(); },
      [&](const Return& s) {
        if (!fn_.valid()) {
          end_lanes(depth != 0);
          return;
        }
        if (depth > fn_depth_) {
          set(fn_returns_, fn_.index());
          // Lanes that leave a loop by returning leave it in different iterations.
          for (const Loop& loop : loops_) set(loop_, loop.id.index());
        }
        if (s.value.valid() && (varies(s.value) || fn_returns_[fn_.index()]))
          set(fn_result_, fn_.index());
      },
      [&](const Nested& s) { visit(s.body, depth); },
      [&](const Region& s) { visit(s.body, depth); }, [](const Barrier&) {},
      [&](const Fixpoint& s) { visit(s.body, depth); }, [](const AsyncCopy&) {}, [](const Wait&) {},
      [&](const Trap&) { end_lanes(depth != 0); }, [](const Resume&) {}, [](const Collective&) {},
      [](const Swap&) {}, [](const Print&) {}, [](const Assert&) {});
}

}  // namespace vyre::codegen
