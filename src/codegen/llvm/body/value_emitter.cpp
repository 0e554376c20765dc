// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/value_emitter.hpp"

#include "base/check.hpp"
#include "base/match.hpp"
#include "codegen/llvm/body/emitters.hpp"
#include "ir/maths.hpp"

namespace vyre::codegen {

using namespace ir;

Val ValueEmitter::value(ExprId id) {
  ++x_.nodes;
  const auto literal = [&](const auto&) {
    return x_.constant(x_.type_of_expr(id),
                       check::literal_in_type(x_.p()[id], x_.type_of_expr(id))->bits);
  };
  return match(
      x_.p()[id], [&](const IntLiteral& e) { return literal(e); },
      [&](const FloatLiteral& e) { return literal(e); },
      [&](const BoolLiteral& e) { return literal(e); },
      [&](const LocalRef& e) {
        const Slot& slot = x_.frame().slots[e.local.index()];
        if (slot.variable == nullptr) return slot.value;
        return Val{b_.CreateLoad(x_.shaped(*x_.c().local_types[e.local.index()], slot.varying),
                                 slot.variable),
                   slot.varying};
      },
      [&](const ConstRef& e) {
        const check::Constant& k = x_.c().constants[e.constant.index()].front();
        return x_.constant(k.type, k.bits);
      },
      [&](const BuiltinRef& e) { return x_.target.builtin(e.builtin, e.axis); },
      [&](const Len& e) { return Val{e_.memory.memory(e.memory).length, false}; },
      [&](const Load& e) {
        if (x_.lowering.threads != nullptr && x_.in_program())
          if (llvm::Value* const lowered = x_.threads().try_lower_expression(id))
            return Val{lowered, false};
        return e_.memory.load(e.memory, e.index, {id, {}}, x_.c().expr_proofs[id.index()] >= 0);
      },
      [&](const Unary& e) {
        const Val x = value(e.operand);
        return math_.unary(e.op, x_.type_of_expr(e.operand), x);
      },
      [&](const Binary& e) { return binary(e); },
      [&](const Cast& e) {
        const Val x = value(e.operand);
        return math_.cast(x_.type_of_expr(e.operand), e.type, x);
      },
      [&](const Bitcast& e) { return math_.bitcast(e.type, value(e.operand)); },
      [&](const IntrinsicCall& e) { return intrinsic(e); },
      [&](const Atomic& e) { return e_.atomics.atomic(id, e, true); },
      [&](const Subgroup& e) {
        return x_.options.lanes_are_threads ? e_.thread_subgroups.subgroup(e)
                                            : e_.subgroups.subgroup(e);
      },
      [&](const UniformLoad& e) { return uniform_load(id, e); },
      [&](const Call& e) { return e_.calls.call(e); },
      [&](const Poison&) -> Val { VYRE_CHECK(!"a checked program has no poison"); },
      [&](const AxisIndex& e) { return axis_index(id, e); },
      [&](const AxisLen&) -> Val { VYRE_CHECK(!"the plan has lowered it"); });
}

Val ValueEmitter::binary(const Binary& e) {
  if (is_lazy(e.op)) return lazy(e, false);
  const Val x = value(e.left);
  const Val y = value(e.right);
  if (e.op == BinaryOp::Sub && x_.facts.at_least(x_.p(), e.left, e.right))
    return Val{b_.CreateNUWSub(x.v, y.v), false};
  return math_.binary(e.op, x_.type_of_expr(e.left), x, y, x_.type_of_expr(e.right));
}

Val ValueEmitter::intrinsic(const IntrinsicCall& e) {
  std::array<Val, 3> args;
  std::array<Type, 3> types = {};
  const auto count = static_cast<size_t>(arity_of(e.op));
  for (size_t i = 0; i < count; ++i) {
    args[i] = e.op == Intrinsic::Select && i == 0 ? condition(e.args[i]) : value(e.args[i]);
    types[i] = x_.type_of_expr(e.args[i]);
  }
  // What a guard has decided keeps what is known of its value.
  if (e.op == Intrinsic::Select && !args[0].varying)
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(args[0].v))
      return known->isZero() ? args[2] : args[1];
  const Type type = types[e.op == Intrinsic::Select ? 1 : 0];
  if (is_maths(e.op)) return e_.calls.maths(e.op, type, std::span(args).first(count));
  return math_.intrinsic(e.op, type, args, types);
}

// Every part once; what is proved is not tested.
Val ValueEmitter::axis_index(ExprId id, const AxisIndex& e) {
  const uint8_t proved = x_.c().axis_proofs[id.index()];
  std::vector<Val> parts;
  for_each_operand(x_.p(), e, [&](ExprId part) { parts.push_back(value(part)); });
  Val element;
  Val inside{b_.getTrue(), false};
  for (uint32_t axis = 0; axis < e.indices.count; ++axis) {
    const Type type = x_.type_of_expr(x_.p().values(e.indices)[axis]);
    const Val& index = parts[axis];
    const Val& length = parts[e.indices.count + axis];
    if ((proved >> axis & 1) == 0)
      inside =
          math_.binary(BinaryOp::And, Type::Bool, inside, on_axis(index, type, length), Type::Bool);
    const Val narrow = math_.cast(type, Type::U32, index);
    element = axis == 0
                  ? narrow
                  : math_.binary(BinaryOp::Add, Type::U32,
                                 math_.binary(BinaryOp::Mul, Type::U32, element, length, Type::U32),
                                 narrow, Type::U32);
  }
  return math_.select(inside, element, x_.constant(Type::U32, kOutsideAxis));
}

Val ValueEmitter::on_axis(const Val& index, Type type, const Val& length) {
  if (bits_of(type) == 64)
    return math_.binary(BinaryOp::Lt, Type::U64, math_.cast(type, Type::U64, index),
                        math_.cast(Type::U32, Type::U64, length), Type::U64);
  const Val below =
      math_.binary(BinaryOp::Lt, Type::U32, math_.cast(type, Type::U32, index), length, Type::U32);
  if (!is_signed(type)) return below;
  const Val not_negative = math_.binary(BinaryOp::Ge, type, index, x_.constant(type, 0), type);
  return math_.binary(BinaryOp::And, Type::Bool, below, not_negative, Type::Bool);
}

Val ValueEmitter::uniform_load(ExprId id, const UniformLoad& e) {
  const auto synchronise = [&] {
    if (e.scope == Scope::Grid)
      x_.threads().grid_barrier({});
    else
      x_.threads().workgroup_barrier();
  };
  synchronise();
  const Val v = e_.memory.load(e.memory, e.index, {id, {}}, x_.c().expr_proofs[id.index()] >= 0);
  synchronise();
  return v;
}

// `x < n` for a whole block, known before the block starts: true where x counts up to something,
// and from something on.
std::optional<bool> ValueEmitter::guarded_outcome(const Binary& e, const Val& x, const Val& y) {
  if (!x_.wide() || x_.mask != nullptr || x_.type_of_expr(e.left) != Type::U32) return std::nullopt;
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
    return x_.rows.ensure_at_least(index.offset,
                                   b_.getInt32(static_cast<uint32_t>(k->getZExtValue()) + 1));
  };
  switch (op) {
    case BinaryOp::Lt:
      if (x_.rows.ensure_below(index.offset, limit.v, false)) return true;
      break;
    case BinaryOp::Ge:
      if (lower && x_.rows.ensure_at_least(index.offset, limit.v)) return true;
      if (!lower && x_.rows.ensure_below(index.offset, limit.v, false)) return false;
      break;
    case BinaryOp::Gt:
      if (above(limit.v)) return true;
      break;
    // Mostly the first or the last lane of a row is compared.
    case BinaryOp::Eq:
    case BinaryOp::Ne:
      if (lower ? above(limit.v) : x_.rows.ensure_below(index.offset, limit.v, false))
        return op == BinaryOp::Ne;
      break;
    default: break;
  }
  return std::nullopt;
}

Val ValueEmitter::condition(ExprId id) {
  const auto* e = std::get_if<Binary>(&x_.p()[id]);
  if (e == nullptr || !x_.wide()) return value(id);
  if (is_lazy(e->op)) return lazy(*e, true);
  if (!is_comparison(e->op)) return value(id);
  const Val x = value(e->left);
  const Val y = value(e->right);
  if (const auto known = guarded_outcome(*e, x, y)) return {b_.getInt1(*known), false};
  return math_.binary(e->op, x_.type_of_expr(e->left), x, y, x_.type_of_expr(e->right));
}

// It costs less than a test whether a lane needs it, and has no effect for the others.
bool ValueEmitter::is_cheap(ExprId id, uint32_t& nodes) const {
  constexpr uint32_t kMostNodes = 24;
  if (++nodes > kMostNodes) return false;
  const auto parts = [&] {
    bool all = true;
    for_each_operand(x_.p(), x_.p()[id], [&](ExprId e) { all = all && is_cheap(e, nodes); });
    return all;
  };
  return match(
      x_.p()[id], [](const IntLiteral&) { return true; }, [](const FloatLiteral&) { return true; },
      [](const BoolLiteral&) { return true; }, [](const LocalRef&) { return true; },
      [](const ConstRef&) { return true; }, [](const BuiltinRef&) { return true; },
      [](const Len&) { return true; },
      [&](const Load& e) {
        // What the left side proves is not proved for those it does not hold for.
        const check::BoundsProof* const proof = x_.c().proof(id);
        if (proof != nullptr && proof->kind != check::BoundsProof::Kind::Range) return false;
        // Lanes side by side, as far as one can see.
        const auto in_row = [&](ExprId i, auto&& self) -> bool {
          if (!x_.d().varies(i)) return true;
          if (const auto* sum = std::get_if<Binary>(&x_.p()[i]))
            return (sum->op == BinaryOp::Add || sum->op == BinaryOp::Sub) &&
                   self(sum->left, self) && self(sum->right, self);
          return std::holds_alternative<LocalRef>(x_.p()[i]) ||
                 std::holds_alternative<BuiltinRef>(x_.p()[i]);
        };
        return in_row(e.index, in_row) && parts();
      },
      [&](const Unary&) { return parts(); },
      [&](const Binary& e) { return e.op != BinaryOp::Div && e.op != BinaryOp::Rem && parts(); },
      [&](const Cast&) { return parts(); }, [&](const Bitcast&) { return parts(); },
      [&](const IntrinsicCall& e) { return e.op < Intrinsic::Exp && parts(); },
      [](const Atomic&) { return false; }, [](const Subgroup&) { return false; },
      [](const UniformLoad&) { return false; }, [](const Call&) { return false; },
      [](const Poison&) { return false; }, [&](const AxisIndex&) { return parts(); },
      [](const AxisLen&) -> bool { VYRE_CHECK(!"the plan has lowered it"); });
}

Val ValueEmitter::lazy(const Binary& e, bool as_condition) {
  const bool is_or = e.op == BinaryOp::LogicalOr;
  const Val left = as_condition ? condition(e.left) : value(e.left);
  if (x_.terminated()) return left;
  if (!left.varying) return lazy_uniform(e, left, as_condition);
  if (uint32_t nodes = 0; !x_.options.checked && is_cheap(e.right, nodes)) {
    const Val right = value(e.right);
    return {
        is_or ? b_.CreateOr(left.v, math_.splat(right)) : b_.CreateAnd(left.v, math_.splat(right)),
        true};
  }
  return lazy_divergent(e, left);
}

Val ValueEmitter::lazy_uniform(const Binary& e, const Val& left, bool as_condition) {
  const auto right_side = [&] { return as_condition ? condition(e.right) : value(e.right); };
  const bool is_or = e.op == BinaryOp::LogicalOr;
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(left.v))
    return known->isZero() == is_or ? right_side() : left;
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::BasicBlock* const right_block = x_.new_block("right");
  llvm::BasicBlock* const after = x_.new_block("lazy");
  b_.CreateCondBr(left.v, is_or ? after : right_block, is_or ? right_block : after);
  b_.SetInsertPoint(right_block);
  llvm::Value* const before = x_.mask;
  const Val right = right_side();
  llvm::BasicBlock* const end = b_.GetInsertBlock();
  if (x_.terminated()) {
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
  if (x_.mask != before) x_.mask = x_.merged_mask(before, from, x_.mask, end);
  return {phi, right.varying};
}

// Lanes for which the left side decides take no part in the right one.
Val ValueEmitter::lazy_divergent(const Binary& e, const Val& left) {
  const bool is_or = e.op == BinaryOp::LogicalOr;
  llvm::Value* const before = x_.mask;
  llvm::Value* undecided = is_or ? b_.CreateNot(left.v) : left.v;
  if (before != nullptr) undecided = b_.CreateAnd(before, undecided);
  llvm::BasicBlock* const right_block = x_.new_block("right");
  llvm::BasicBlock* const after = x_.new_block("lazy");
  b_.CreateCondBr(x_.any(undecided), right_block, after);
  llvm::BasicBlock* const skip = b_.GetInsertBlock();
  b_.SetInsertPoint(right_block);
  ++x_.divergence_depth;
  x_.mask = undecided;
  const Val right = value(e.right);
  llvm::Value* const left_over = x_.mask;
  --x_.divergence_depth;
  llvm::Value* const joined =
      is_or ? b_.CreateOr(left.v, math_.splat(right)) : b_.CreateAnd(left.v, math_.splat(right));
  llvm::BasicBlock* const end = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* const phi = b_.CreatePHI(joined->getType(), 2);
  phi->addIncoming(left.v, skip);
  phi->addIncoming(joined, end);
  x_.mask = before;
  // In checked mode lanes may have stopped in the right side.
  if (left_over != undecided && x_.live != nullptr) e_.masks.resume_live(before);
  return {phi, true};
}

}  // namespace vyre::codegen
