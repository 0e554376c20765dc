// SPDX-License-Identifier: Apache-2.0
#include "base/check.hpp"
#include "base/match.hpp"
#include "codegen/llvm/body/lane_code.hpp"
#include "codegen/llvm/body/maths_functions.hpp"
#include "ir/maths.hpp"

namespace vyre::codegen {

using namespace ir;

Val LaneCode::constant(Type type, uint64_t bits) {
  llvm::Type* const t = type_of(type, b_.getContext());
  if (!is_float(type)) return {llvm::ConstantInt::get(t, bits), false};
  const llvm::fltSemantics& kind =
      type == Type::F32 ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble();
  return {llvm::ConstantFP::get(t, llvm::APFloat(kind, llvm::APInt(bits_of(type), bits))), false};
}

Val LaneCode::value(ExprId id) {
  ++nodes_;
  const auto literal = [&](const auto&) {
    return constant(type_of_expr(id), check::literal_in_type(p()[id], type_of_expr(id))->bits);
  };
  return match(
      p()[id], [&](const IntLiteral& e) { return literal(e); },
      [&](const FloatLiteral& e) { return literal(e); },
      [&](const BoolLiteral& e) { return literal(e); },
      [&](const LocalRef& e) {
        const Slot& slot = frame().slots[e.local.index()];
        if (slot.variable == nullptr) return slot.value;
        return Val{
            b_.CreateLoad(shaped(*c().local_types[e.local.index()], slot.varying), slot.variable),
            slot.varying};
      },
      [&](const ConstRef& e) {
        const check::Constant& k = c().constants[e.constant.index()].front();
        return constant(k.type, k.bits);
      },
      [&](const BuiltinRef& e) { return env_.builtin(e.builtin, e.axis); },
      [&](const Len& e) { return Val{memory(e.memory).length, false}; },
      [&](const Load& e) {
        if (frame().c == frames_.front().c)
          if (llvm::Value* const known = env_.knows(id)) return Val{known, false};
        return load(e.memory, e.index, {id, {}}, c().expr_proofs[id.index()] >= 0);
      },
      [&](const Unary& e) {
        const Val x = value(e.operand);
        return math_.unary(e.op, type_of_expr(e.operand), x);
      },
      [&](const Binary& e) {
        if (is_lazy(e.op)) return lazy(e, false);
        const Val x = value(e.left);
        const Val y = value(e.right);
        if (e.op == BinaryOp::Sub && at_least(e.left, e.right))
          return Val{b_.CreateNUWSub(x.v, y.v), false};
        return math_.binary(e.op, type_of_expr(e.left), x, y, type_of_expr(e.right));
      },
      [&](const Cast& e) {
        const Val x = value(e.operand);
        return math_.cast(type_of_expr(e.operand), e.type, x);
      },
      [&](const Bitcast& e) { return math_.bitcast(e.type, value(e.operand)); },
      [&](const IntrinsicCall& e) { return intrinsic(e); },
      [&](const Atomic& e) { return atomic(id, e, true); },
      [&](const Subgroup& e) {
        return options_.lanes_are_threads ? thread_subgroup(e) : subgroup(e);
      },
      [&](const UniformLoad& e) { return uniform_load(id, e); },
      [&](const Call& e) { return call(e); },
      [&](const Poison&) -> Val { VYRE_CHECK(!"a checked program has no poison"); });
}

Val LaneCode::intrinsic(const IntrinsicCall& e) {
  std::array<Val, 3> args;
  std::array<Type, 3> types = {};
  const auto count = static_cast<size_t>(arity_of(e.op));
  for (size_t i = 0; i < count; ++i) {
    args[i] = e.op == Intrinsic::Select && i == 0 ? condition(e.args[i]) : value(e.args[i]);
    types[i] = type_of_expr(e.args[i]);
  }
  // What a promise has decided keeps what is known of its value.
  if (e.op == Intrinsic::Select && !args[0].varying)
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(args[0].v))
      return known->isZero() ? args[2] : args[1];
  const Type type = types[e.op == Intrinsic::Select ? 1 : 0];
  if (is_maths(e.op)) return maths(e.op, type, std::span(args).first(count));
  return math_.intrinsic(e.op, type, args, types);
}

Val LaneCode::uniform_load(ExprId id, const UniformLoad& e) {
  const auto meet = [&] {
    if (e.scope == Scope::Grid)
      env_.grid_barrier({});
    else
      env_.workgroup_barrier();
  };
  meet();
  const Val v = load(e.memory, e.index, {id, {}}, c().expr_proofs[id.index()] >= 0);
  meet();
  return v;
}

// ---- conditions

// `x < n` for a whole block, known before the block starts: true where x counts up to something,
// and from something on.
std::optional<bool> LaneCode::promised(const Binary& e, const Val& x, const Val& y) {
  if (!wide() || mask_ != nullptr || type_of_expr(e.left) != Type::U32) return std::nullopt;
  BinaryOp op = e.op;
  Val index = x;
  Val limit = y;
  if (x.offset == nullptr) {
    std::swap(index, limit);
    switch (op) {
      case BinaryOp::Lt: op = BinaryOp::Gt; break;
      case BinaryOp::Le: op = BinaryOp::Ge; break;
      case BinaryOp::Gt: op = BinaryOp::Lt; break;
      case BinaryOp::Ge: op = BinaryOp::Le; break;
      case BinaryOp::Eq:
      case BinaryOp::Ne: break;
      default: return std::nullopt;
    }
  }
  if (index.offset == nullptr || limit.varying) return std::nullopt;
  const bool lower = llvm::isa<llvm::Constant>(limit.v);
  // From n + 1 on. A constant that cannot be counted further is left alone.
  const auto above = [&](llvm::Value* n) {
    const auto* const k = llvm::dyn_cast<llvm::ConstantInt>(n);
    if (k == nullptr || k->getZExtValue() >= 0xFFFF'FFFF) return false;
    return env_.ensure_at_least(index.offset,
                                b_.getInt32(static_cast<uint32_t>(k->getZExtValue()) + 1));
  };
  switch (op) {
    case BinaryOp::Lt:
      if (env_.ensure_below(index.offset, limit.v, false)) return true;
      break;
    case BinaryOp::Ge:
      if (lower && env_.ensure_at_least(index.offset, limit.v)) return true;
      if (!lower && env_.ensure_below(index.offset, limit.v, false)) return false;
      break;
    case BinaryOp::Gt:
      if (above(limit.v)) return true;
      break;
    // The first and the last of a row are what is told apart.
    case BinaryOp::Eq:
    case BinaryOp::Ne:
      if (lower ? above(limit.v) : env_.ensure_below(index.offset, limit.v, false))
        return op == BinaryOp::Ne;
      break;
    default: break;
  }
  return std::nullopt;
}

Val LaneCode::condition(ExprId id) {
  const auto* e = std::get_if<Binary>(&p()[id]);
  if (e == nullptr || !wide()) return value(id);
  if (is_lazy(e->op)) return lazy(*e, true);
  if (!is_comparison(e->op)) return value(id);
  const Val x = value(e->left);
  const Val y = value(e->right);
  if (const auto known = promised(*e, x, y)) return {b_.getInt1(*known), false};
  return math_.binary(e->op, type_of_expr(e->left), x, y, type_of_expr(e->right));
}

// It takes less than to ask whether a lane wants it, and nobody sees it being done for others.
bool LaneCode::quickly_done(ExprId id, uint32_t& nodes) const {
  constexpr uint32_t kMostNodes = 24;
  if (++nodes > kMostNodes) return false;
  const auto parts = [&] {
    bool all = true;
    for_each_operand(p(), p()[id], [&](ExprId e) { all = all && quickly_done(e, nodes); });
    return all;
  };
  return match(
      p()[id], [](const IntLiteral&) { return true; }, [](const FloatLiteral&) { return true; },
      [](const BoolLiteral&) { return true; }, [](const LocalRef&) { return true; },
      [](const ConstRef&) { return true; }, [](const BuiltinRef&) { return true; },
      [](const Len&) { return true; },
      [&](const Load& e) {
        // What the left side proves is not proved for those it does not hold for.
        const check::BoundsProof* const proof = c().proof(id);
        if (proof != nullptr && proof->kind != check::BoundsProof::Kind::Range) return false;
        // Lanes side by side, as far as one can see.
        const auto in_row = [&](ExprId i, auto&& self) -> bool {
          if (!d().varies(i)) return true;
          if (const auto* sum = std::get_if<Binary>(&p()[i]))
            return (sum->op == BinaryOp::Add || sum->op == BinaryOp::Sub) &&
                   self(sum->left, self) && self(sum->right, self);
          return std::holds_alternative<LocalRef>(p()[i]) ||
                 std::holds_alternative<BuiltinRef>(p()[i]);
        };
        return in_row(e.index, in_row) && parts();
      },
      [&](const Unary&) { return parts(); },
      [&](const Binary& e) { return e.op != BinaryOp::Div && e.op != BinaryOp::Rem && parts(); },
      [&](const Cast&) { return parts(); }, [&](const Bitcast&) { return parts(); },
      [&](const IntrinsicCall& e) { return e.op < Intrinsic::Exp && parts(); },
      [](const Atomic&) { return false; }, [](const Subgroup&) { return false; },
      [](const UniformLoad&) { return false; }, [](const Call&) { return false; },
      [](const Poison&) { return false; });
}

Val LaneCode::lazy(const Binary& e, bool as_condition) {
  const auto part = [&](ExprId id) { return as_condition ? condition(id) : value(id); };
  const bool is_or = e.op == BinaryOp::LogicalOr;
  const Val left = part(e.left);
  if (terminated()) return left;
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(left.v);
      known != nullptr && !left.varying)
    return known->isZero() == is_or ? part(e.right) : left;
  if (!left.varying) {
    llvm::BasicBlock* const from = b_.GetInsertBlock();
    llvm::BasicBlock* const right_block = new_block("right");
    llvm::BasicBlock* const after = new_block("lazy");
    b_.CreateCondBr(left.v, is_or ? after : right_block, is_or ? right_block : after);
    b_.SetInsertPoint(right_block);
    llvm::Value* const before = mask_;
    const Val right = part(e.right);
    llvm::BasicBlock* const end = b_.GetInsertBlock();
    if (terminated()) {
      // The lane has stopped there.
      b_.SetInsertPoint(after);
      return left;
    }
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    llvm::PHINode* const phi = b_.CreatePHI(right.v->getType(), 2);
    // What the left side decides is known on its way.
    phi->addIncoming(is_or ? llvm::Constant::getAllOnesValue(right.v->getType())
                           : llvm::Constant::getNullValue(right.v->getType()),
                     from);
    phi->addIncoming(right.v, end);
    if (mask_ != before) mask_ = merged_mask(before, from, mask_, end);
    return {phi, right.varying};
  }
  if (uint32_t nodes = 0; !options_.checked && quickly_done(e.right, nodes)) {
    const Val right = value(e.right);
    return {
        is_or ? b_.CreateOr(left.v, math_.splat(right)) : b_.CreateAnd(left.v, math_.splat(right)),
        true};
  }
  // Lanes for which the left side decides take no part in the right one.
  llvm::Value* const before = mask_;
  llvm::Value* asks = is_or ? b_.CreateNot(left.v) : left.v;
  if (before != nullptr) asks = b_.CreateAnd(before, asks);
  llvm::BasicBlock* const right_block = new_block("right");
  llvm::BasicBlock* const after = new_block("lazy");
  b_.CreateCondBr(any(asks), right_block, after);
  llvm::BasicBlock* const skip = b_.GetInsertBlock();
  b_.SetInsertPoint(right_block);
  ++parted_;
  mask_ = asks;
  const Val right = value(e.right);
  llvm::Value* const left_over = mask_;
  --parted_;
  llvm::Value* const joined =
      is_or ? b_.CreateOr(left.v, math_.splat(right)) : b_.CreateAnd(left.v, math_.splat(right));
  llvm::BasicBlock* const end = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* const phi = b_.CreatePHI(joined->getType(), 2);
  phi->addIncoming(left.v, skip);
  phi->addIncoming(joined, end);
  mask_ = before;
  // In checked mode lanes may have stopped in the right side.
  if (left_over != asks && live_ != nullptr) {
    llvm::Value* const live = b_.CreateLoad(vector(b_.getInt1Ty()), live_);
    mask_ = before != nullptr ? b_.CreateAnd(before, live) : live;
  }
  return {phi, true};
}

// ---- functions

Val LaneCode::call(const Call& e) {
  if (frame().c == frames_.front().c && options_.size != nullptr &&
      !options_.size->called.empty() && options_.size->called[e.fn.index()])
    return call_function(e);
  Frame inner;
  inner.c = frame().c;
  inner.d = frame().d;
  inner.slots = slots_of(*frame().c, e.fn);
  const auto params = p().params(p()[e.fn].params);
  const auto args = p().arguments(e.args);
  for (size_t k = 0; k < args.size(); ++k) {
    Slot& slot = inner.slots[params[k].index()];
    if (const ExprId* v = std::get_if<ExprId>(&args[k]))
      slot.value = value(*v);
    else {
      const Memory m = std::get<Memory>(args[k]);
      slot.memory = memory(m);
      if (m.kind != Memory::Kind::Local) slot.memory->argument = argument_number(m);
    }
  }
  if (terminated()) return {};
  return call_body(std::move(inner), e.fn);
}

Val LaneCode::call_body(Frame inner, FnId fn) {
  const Fn& f = inner.c->program[fn];
  inner.fn = fn;
  inner.divergent = wide() && inner.d->diverges(fn);
  inner.exit = new_block("returned");
  if (f.result) {
    // A call for nothing but its value has one, also when no lane makes it.
    inner.result_varies = wide() && inner.d->result_varies(fn);
    llvm::Type* const type = shaped(*f.result, inner.result_varies);
    inner.result = new_variable(type);
    b_.CreateStore(llvm::Constant::getNullValue(type), inner.result);
  }
  if (inner.divergent) {
    inner.returned = new_variable(vector(b_.getInt1Ty()));
    b_.CreateStore(no_lanes(), inner.returned);
    ++parted_;
  }
  inner.parted = parted_;
  llvm::Value* const before = mask_;
  llvm::BasicBlock* const exit = inner.exit;
  const bool divergent = inner.divergent;
  const uint64_t trips = trips_;
  const auto facts = std::exchange(facts_, {});
  frames_.push_back(std::move(inner));
  emit_block(f.body);
  branch_to(exit);
  b_.SetInsertPoint(exit);
  trips_ = trips;
  facts_ = facts;
  if (divergent) --parted_;
  mask_ = before;
  if (wide() && can_end(f.body)) {
    llvm::Value* const live = b_.CreateLoad(vector(b_.getInt1Ty()), live_);
    mask_ = before != nullptr ? b_.CreateAnd(before, live) : live;
  }
  Val result;
  if (f.result) {
    result.varying = frame().result_varies;
    result.v = b_.CreateLoad(shaped(*f.result, result.varying), frame().result);
  }
  frames_.pop_back();
  return result;
}

Val LaneCode::maths(Intrinsic op, Type type, std::span<const Val> args) {
  bool varying = false;
  for (const Val& arg : args) varying = varying || arg.varying;
  const MathsFunctions& library = maths_functions();
  Frame inner;
  inner.c = &library.program;
  inner.d = varying ? &library.varying(options_.shape) : &library.uniform;
  const FnId fn = maths_library().function(op, type);
  inner.slots = slots_of(*inner.c, fn);
  if (options_.size != nullptr && options_.size->maths_called)
    return call_maths(std::move(inner), fn, args, varying);
  const auto params = inner.c->program.params(inner.c->program[fn].params);
  for (size_t k = 0; k < args.size(); ++k)
    inner.slots[params[k].index()].value = {varying ? math_.splat(args[k]) : args[k].v, varying};
  return call_body(std::move(inner), fn);
}

}  // namespace vyre::codegen
