// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/subgroup_emitter.hpp"

#include "base/check.hpp"
#include "codegen/llvm/body/emitters.hpp"

namespace vyre::codegen {

using namespace ir;
namespace in = llvm::Intrinsic;

namespace {

bool is_reduction(SubgroupOp op) {
  return op >= SubgroupOp::Add && op <= SubgroupOp::Xor;
}

}  // namespace

llvm::Constant* SubgroupEmitter::identity(SubgroupOp op, Type type) {
  llvm::Type* const t = x_.vector(type_of(type, b_.getContext()));
  const unsigned width = t->getScalarSizeInBits();
  if (is_float(type)) {
    switch (op) {
      case SubgroupOp::Mul: return llvm::ConstantFP::get(t, 1.0);
      // min and max leave out a NaN.
      case SubgroupOp::Min:
      case SubgroupOp::Max: return llvm::ConstantFP::getNaN(t);
      default: return llvm::ConstantFP::get(t, -0.0);
    }
  }
  switch (op) {
    case SubgroupOp::Mul: return llvm::ConstantInt::get(t, 1);
    case SubgroupOp::And: return llvm::Constant::getAllOnesValue(t);
    case SubgroupOp::Min:
      return llvm::ConstantInt::get(t, is_signed(type) ? llvm::APInt::getSignedMaxValue(width)
                                                       : llvm::APInt::getMaxValue(width));
    case SubgroupOp::Max:
      return llvm::ConstantInt::get(t, is_signed(type) ? llvm::APInt::getSignedMinValue(width)
                                                       : llvm::APInt::getMinValue(width));
    default: return llvm::Constant::getNullValue(t);
  }
}

llvm::Value* SubgroupEmitter::joined(SubgroupOp op, Type type, llvm::Value* a, llvm::Value* b) {
  switch (op) {
    case SubgroupOp::Add: return is_float(type) ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    case SubgroupOp::Mul: return is_float(type) ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
    case SubgroupOp::Min: return math_.minimum(type, a, b);
    case SubgroupOp::Max: return math_.maximum(type, a, b);
    case SubgroupOp::And: return b_.CreateAnd(a, b);
    case SubgroupOp::Or: return b_.CreateOr(a, b);
    default: return b_.CreateXor(a, b);
  }
}

// Partners are lane xor 1, 2, 4 and so on, the lower lane on the left: the order of float sums.
llvm::Value* SubgroupEmitter::butterfly(SubgroupOp op, Type type, llvm::Value* v) {
  for (uint32_t distance = 1; distance < x_.lanes(); distance *= 2) {
    std::vector<int> low;
    std::vector<int> high;
    for (uint32_t l = 0; l < x_.lanes(); ++l) {
      low.push_back(static_cast<int>(l & ~distance));
      high.push_back(static_cast<int>(l | distance));
    }
    llvm::Value* const a = b_.CreateShuffleVector(v, low);
    llvm::Value* const b = b_.CreateShuffleVector(v, high);
    v = joined(op, type, a, b);
  }
  return b_.CreateExtractElement(v, uint64_t{0});
}

llvm::Value* SubgroupEmitter::scanned(Type type, llvm::Value* v, bool exclusive) {
  llvm::Constant* const nothing = identity(SubgroupOp::Add, type);
  const auto from_below = [&](uint32_t distance) {
    std::vector<int> mask;  // elements of `nothing` come after those of v
    for (uint32_t l = 0; l < x_.lanes(); ++l)
      mask.push_back(static_cast<int>(l < distance ? x_.lanes() + l : l - distance));
    return b_.CreateShuffleVector(v, nothing, mask);
  };
  for (uint32_t distance = 1; distance < x_.lanes(); distance *= 2) {
    llvm::Value* const below = from_below(distance);
    v = is_float(type) ? b_.CreateFAdd(below, v) : b_.CreateAdd(below, v);
  }
  return exclusive ? from_below(1) : v;
}

// Element from[l] of v where valid[l], else 0.
llvm::Value* SubgroupEmitter::shuffled(Type type, llvm::Value* v, llvm::Value* from,
                                       llvm::Value* valid) {
  const bool is_bool = type == Type::Bool;
  if (is_bool) v = b_.CreateZExt(v, x_.vector(b_.getInt32Ty()));
  llvm::Type* const element = v->getType()->getScalarType();
  llvm::Value* const room = x_.new_variable(v->getType());
  b_.CreateStore(v, room);
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  llvm::Value* result = nullptr;
  if (from->getType()->isVectorTy()) {
    llvm::Value* const wide = b_.CreateZExt(from, x_.vector(b_.getInt64Ty()));
    result = b_.CreateMaskedGather(v->getType(), b_.CreateGEP(element, room, wide), align, valid,
                                   llvm::Constant::getNullValue(v->getType()));
  } else {
    llvm::Value* const lane =
        b_.CreateSelect(valid, from, llvm::Constant::getNullValue(from->getType()));
    llvm::Value* const at = b_.CreateGEP(element, room, b_.CreateZExt(lane, b_.getInt64Ty()));
    result = b_.CreateSelect(valid, b_.CreateAlignedLoad(element, at, align),
                             llvm::Constant::getNullValue(element));
  }
  if (is_bool) result = b_.CreateICmpNE(result, llvm::Constant::getNullValue(result->getType()));
  return result;
}

Val SubgroupEmitter::subgroup(const Subgroup& e) {
  VYRE_CHECK(x_.options.shape.packed);
  const Type type = x_.type_of_expr(e.value);
  llvm::Value* const v = math_.splat(e_.values.value(e.value));
  const Val operand = e.lane.valid() ? e_.values.value(e.lane) : Val{};
  if (e.op == SubgroupOp::Ballot || e.op == SubgroupOp::Any) {
    llvm::Value* const set = x_.mask_bits(x_.mask != nullptr ? b_.CreateAnd(x_.mask, v) : v);
    if (e.op == SubgroupOp::Any)
      return {b_.CreateICmpNE(set, llvm::Constant::getNullValue(set->getType())), false};
    return {b_.CreateZExtOrTrunc(set, b_.getInt32Ty()), false};
  }
  if (e.op == SubgroupOp::All)
    return {x_.every(x_.mask != nullptr ? b_.CreateOr(v, b_.CreateNot(x_.mask)) : v), false};
  if (is_reduction(e.op)) {
    llvm::Value* const present =
        x_.mask != nullptr ? b_.CreateSelect(x_.mask, v, identity(e.op, type)) : v;
    return {butterfly(e.op, type, present), false};
  }
  if (e.op == SubgroupOp::InclusiveAdd || e.op == SubgroupOp::ExclusiveAdd) {
    llvm::Value* const present =
        x_.mask != nullptr ? b_.CreateSelect(x_.mask, v, identity(SubgroupOp::Add, type)) : v;
    return {scanned(type, present, e.op == SubgroupOp::ExclusiveAdd), true};
  }

  llvm::Value* const present =
      x_.mask != nullptr ? b_.CreateSelect(x_.mask, v, llvm::Constant::getNullValue(v->getType()))
                         : v;
  llvm::Type* const word = operand.v->getType()->getScalarType();
  if (e.op == SubgroupOp::Broadcast) {
    llvm::Value* from = operand.v;
    if (operand.varying) {  // the same in all lanes that are there
      llvm::Value* const bits = x_.mask_bits(x_.mask_or_all());
      llvm::Value* const first =
          b_.CreateAnd(b_.CreateZExtOrTrunc(
                           b_.CreateIntrinsic(in::cttz, {bits->getType()}, {bits, b_.getFalse()}),
                           b_.getInt32Ty()),
                       b_.getInt32(x_.lanes() - 1));
      from = b_.CreateExtractElement(operand.v, first);
    }
    llvm::Value* const valid = b_.CreateICmpULT(from, llvm::ConstantInt::get(word, x_.lanes()));
    return {shuffled(type, present, from, valid), false};
  }
  llvm::Value* const by = math_.splat(operand);
  llvm::Value* const self = x_.iota(word);
  llvm::Constant* const size = llvm::ConstantInt::get(x_.vector(word), x_.lanes());
  llvm::Value* from = by;
  llvm::Value* valid = nullptr;
  switch (e.op) {
    case SubgroupOp::ShuffleXor: from = b_.CreateXor(self, by); break;
    case SubgroupOp::ShuffleUp:
      from = b_.CreateSub(self, by);
      valid = b_.CreateICmpULE(by, self);
      break;
    case SubgroupOp::ShuffleDown:
      from = b_.CreateAdd(self, by);
      valid = b_.CreateAnd(b_.CreateICmpULT(by, size), b_.CreateICmpULT(from, size));
      break;
    default: break;
  }
  if (valid == nullptr) valid = b_.CreateICmpULT(from, size);
  return {shuffled(type, present, from, valid), true};
}

}  // namespace vyre::codegen
