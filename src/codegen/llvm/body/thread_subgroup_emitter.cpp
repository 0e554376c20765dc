// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/thread_subgroup_emitter.hpp"

#include "codegen/llvm/body/emitters.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

constexpr uint32_t kLanes = 32;

}  // namespace

// Of any type, word by word.
llvm::Value* ThreadSubgroupEmitter::word_of_lane(llvm::Value* v, llvm::Value* lane) {
  llvm::Type* const type = v->getType();
  llvm::Type* const word = b_.getInt32Ty();
  if (type->isIntegerTy(1))
    return b_.CreateICmpNE(x_.threads().from_lane(b_.CreateZExt(v, word), lane), b_.getInt32(0));
  if (type->getScalarSizeInBits() == 32)
    return b_.CreateBitCast(x_.threads().from_lane(b_.CreateBitCast(v, word), lane), type);
  llvm::Type* const wide = b_.getInt64Ty();
  llvm::Value* const bits = b_.CreateBitCast(v, wide);
  llvm::Value* const low = x_.threads().from_lane(b_.CreateTrunc(bits, word), lane);
  llvm::Value* const high =
      x_.threads().from_lane(b_.CreateTrunc(b_.CreateLShr(bits, 32), word), lane);
  return b_.CreateBitCast(
      b_.CreateOr(b_.CreateZExt(low, wide), b_.CreateShl(b_.CreateZExt(high, wide), 32)), type);
}

// Reductions and scans over 32 lanes that are all there.
llvm::Value* ThreadSubgroupEmitter::over_all(SubgroupOp op, Type type, llvm::Value* v) {
  llvm::Value* const self = x_.target.builtin(Builtin::SubgroupLane, 0).v;
  const bool scans = op == SubgroupOp::InclusiveAdd || op == SubgroupOp::ExclusiveAdd;
  llvm::Constant* const nothing = e_.subgroups.identity(scans ? SubgroupOp::Add : op, type);
  const auto from_below = [&](uint32_t distance) {
    llvm::Value* const below = word_of_lane(v, b_.CreateSub(self, b_.getInt32(distance)));
    return b_.CreateSelect(b_.CreateICmpUGE(self, b_.getInt32(distance)), below, nothing);
  };
  for (uint32_t distance = 1; distance < kLanes; distance *= 2) {
    if (scans) {
      v = e_.subgroups.joined(SubgroupOp::Add, type, from_below(distance), v);
      continue;
    }
    // The lower lane is on the left: the order of float sums.
    llvm::Value* const other = word_of_lane(v, b_.CreateXor(self, b_.getInt32(distance)));
    llvm::Value* const lower =
        b_.CreateICmpEQ(b_.CreateAnd(self, b_.getInt32(distance)), b_.getInt32(0));
    v = e_.subgroups.joined(op, type, b_.CreateSelect(lower, v, other),
                            b_.CreateSelect(lower, other, v));
  }
  return op == SubgroupOp::ExclusiveAdd ? from_below(1) : v;
}

// The same where only the lanes with a bit in `present` are there.
llvm::Value* ThreadSubgroupEmitter::over_present(SubgroupOp op, Type type, llvm::Value* v,
                                                 llvm::Value* present) {
  const bool scans = op == SubgroupOp::InclusiveAdd || op == SubgroupOp::ExclusiveAdd;
  llvm::Type* const t = type_of(type, b_.getContext());
  llvm::Constant* const nothing = e_.subgroups.identity(scans ? SubgroupOp::Add : op, type);
  llvm::Value* const all = x_.new_variable(llvm::ArrayType::get(t, kLanes));
  const auto at = [&](llvm::Value* lane) {
    return b_.CreateGEP(t, all, b_.CreateZExt(lane, b_.getInt64Ty()));
  };
  // for k in 0 .. count, at least once
  const auto count_to = [&](llvm::Value* count, llvm::function_ref<void(llvm::Value*)> body) {
    llvm::BasicBlock* const from = b_.GetInsertBlock();
    llvm::BasicBlock* const iteration = x_.new_block("lane");
    llvm::BasicBlock* const after = x_.new_block("lanes_done");
    b_.CreateBr(iteration);
    b_.SetInsertPoint(iteration);
    llvm::PHINode* const k = b_.CreatePHI(b_.getInt32Ty(), 2);
    k->addIncoming(b_.getInt32(0), from);
    body(k);
    llvm::Value* const next = b_.CreateAdd(k, b_.getInt32(1));
    k->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpULT(next, count), iteration, after);
    b_.SetInsertPoint(after);
  };
  count_to(b_.getInt32(kLanes), [&](llvm::Value* k) {
    llvm::Value* const there = b_.CreateTrunc(b_.CreateLShr(present, k), b_.getInt1Ty());
    b_.CreateStore(b_.CreateSelect(there, word_of_lane(v, k), nothing), at(k));
  });
  for (uint32_t distance = 1; distance < kLanes; distance *= 2) {
    if (scans) {
      // From the last one down, so that what is added is still what it was.
      count_to(b_.getInt32(kLanes - distance), [&](llvm::Value* k) {
        llvm::Value* const to = b_.CreateSub(b_.getInt32(kLanes - 1), k);
        llvm::Value* const from = b_.CreateSub(to, b_.getInt32(distance));
        b_.CreateStore(e_.subgroups.joined(SubgroupOp::Add, type, b_.CreateLoad(t, at(from)),
                                           b_.CreateLoad(t, at(to))),
                       at(to));
      });
      continue;
    }
    count_to(b_.getInt32(kLanes / (2 * distance)), [&](llvm::Value* k) {
      llvm::Value* const low = b_.CreateMul(k, b_.getInt32(2 * distance));
      llvm::Value* const high = b_.CreateAdd(low, b_.getInt32(distance));
      b_.CreateStore(
          e_.subgroups.joined(op, type, b_.CreateLoad(t, at(low)), b_.CreateLoad(t, at(high))),
          at(low));
    });
  }
  if (!scans) return b_.CreateLoad(t, at(b_.getInt32(0)));
  llvm::Value* const self = x_.target.builtin(Builtin::SubgroupLane, 0).v;
  if (op == SubgroupOp::InclusiveAdd) return b_.CreateLoad(t, at(self));
  llvm::Value* const first = b_.CreateICmpEQ(self, b_.getInt32(0));
  llvm::Value* const below = b_.CreateSelect(first, self, b_.CreateSub(self, b_.getInt32(1)));
  return b_.CreateSelect(first, nothing, b_.CreateLoad(t, at(below)));
}

Val ThreadSubgroupEmitter::subgroup(const Subgroup& e) {
  const Type type = x_.type_of_expr(e.value);
  llvm::Value* const v = e_.values.value(e.value).v;
  llvm::Value* const operand = e.lane.valid() ? e_.values.value(e.lane).v : nullptr;
  if (x_.terminated()) return {v, false};
  switch (e.op) {
    case SubgroupOp::Ballot: return {x_.threads().ballot(v), false};
    case SubgroupOp::Any: return {b_.CreateICmpNE(x_.threads().ballot(v), b_.getInt32(0)), false};
    case SubgroupOp::All:
      return {b_.CreateICmpEQ(x_.threads().ballot(b_.CreateNot(v)), b_.getInt32(0)), false};
    default: break;
  }
  const bool full = x_.threads().subgroups_are_full();
  llvm::Value* const present = full ? b_.getInt32(~uint32_t{0}) : x_.threads().ballot(b_.getTrue());
  if (operand == nullptr) {
    if (full) return {over_all(e.op, type, v), false};
    llvm::BasicBlock* const all = x_.new_block("all_lanes");
    llvm::BasicBlock* const some = x_.new_block("some_lanes");
    llvm::BasicBlock* const after = x_.new_block("subgroup_done");
    b_.CreateCondBr(b_.CreateICmpEQ(present, b_.getInt32(~uint32_t{0})), all, some);
    b_.SetInsertPoint(all);
    llvm::Value* const quick = over_all(e.op, type, v);
    llvm::BasicBlock* const all_end = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(some);
    llvm::Value* const slow = over_present(e.op, type, v, present);
    llvm::BasicBlock* const some_end = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    llvm::PHINode* const result = b_.CreatePHI(v->getType(), 2);
    result->addIncoming(quick, all_end);
    result->addIncoming(slow, some_end);
    return {result, false};
  }

  // Numbers of lanes may be of any integer type.
  llvm::Type* const t = operand->getType();
  llvm::Value* const self = b_.CreateZExtOrTrunc(x_.target.builtin(Builtin::SubgroupLane, 0).v, t);
  llvm::Constant* const size = llvm::ConstantInt::get(t, kLanes);
  llvm::Value* from = operand;
  llvm::Value* valid = nullptr;
  switch (e.op) {
    case SubgroupOp::ShuffleXor: from = b_.CreateXor(self, operand); break;
    case SubgroupOp::ShuffleUp:
      from = b_.CreateSub(self, operand);
      valid = b_.CreateICmpULE(operand, self);
      break;
    case SubgroupOp::ShuffleDown:
      from = b_.CreateAdd(self, operand);
      valid = b_.CreateAnd(b_.CreateICmpULT(operand, size), b_.CreateICmpULT(from, size));
      break;
    default: break;
  }
  if (valid == nullptr) valid = b_.CreateICmpULT(from, size);
  llvm::Value* const lane = b_.CreateZExtOrTrunc(
      b_.CreateAnd(from, llvm::ConstantInt::get(t, kLanes - 1)), b_.getInt32Ty());
  valid = b_.CreateAnd(valid, b_.CreateTrunc(b_.CreateLShr(present, lane), b_.getInt1Ty()));
  llvm::Value* const got = word_of_lane(v, lane);
  return {b_.CreateSelect(valid, got, llvm::Constant::getNullValue(got->getType())), false};
}

}  // namespace vyre::codegen
