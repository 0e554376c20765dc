// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nan_bits.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

namespace vyre::codegen {

namespace in = llvm::Intrinsic;
namespace match = llvm::PatternMatch;

namespace {

using Seen = llvm::SmallPtrSet<const llvm::Value*, 8>;
constexpr size_t kMaxSeen = 32;

bool is_float_function(in::ID id) {
  switch (id) {
    case in::fma:
    case in::sqrt:
    case in::floor:
    case in::ceil:
    case in::trunc:
    case in::round:
    case in::roundeven: return true;
    default: return false;
  }
}

bool is_half(const llvm::Type* type) {
  return type->getScalarType()->isHalfTy();
}

bool is_arithmetic(const llvm::Value* value, Seen& seen) {
  if (!seen.insert(value).second) return true;  // what decides is elsewhere on the cycle
  if (seen.size() > kMaxSeen) return false;
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value))
    return is_float_function(call->getIntrinsicID());
  if (llvm::isa<llvm::Constant>(value)) return match::match(value, match::m_NonNaN());
  const auto* const i = llvm::dyn_cast<llvm::Instruction>(value);
  if (i == nullptr) return false;
  switch (i->getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP: return true;
    case llvm::Instruction::FPTrunc: return !is_half(i->getType());
    case llvm::Instruction::PHI:
      return llvm::all_of(llvm::cast<llvm::PHINode>(i)->incoming_values(),
                          [&](const llvm::Use& use) { return is_arithmetic(use.get(), seen); });
    case llvm::Instruction::Select:
      return is_arithmetic(i->getOperand(1), seen) && is_arithmetic(i->getOperand(2), seen);
    default: return false;
  }
}

// All that happens to `value` comes out the same whichever NaN it is, but for NaNs that arithmetic
// gives.
bool goes_into_arithmetic(const llvm::Value* value, uint32_t depth = 0) {
  return llvm::all_of(value->users(), [&](const llvm::User* user) {
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user)) {
      const in::ID id = call->getIntrinsicID();
      if (id == in::fabs) return depth < 2 && goes_into_arithmetic(user, depth + 1);
      return is_float_function(id) || id == in::fptosi_sat || id == in::fptoui_sat;
    }
    const auto* const i = llvm::dyn_cast<llvm::Instruction>(user);
    if (i == nullptr) return false;
    switch (i->getOpcode()) {
      case llvm::Instruction::FAdd:
      case llvm::Instruction::FSub:
      case llvm::Instruction::FMul:
      case llvm::Instruction::FDiv:
      case llvm::Instruction::FCmp:
      case llvm::Instruction::FPExt: return true;
      case llvm::Instruction::FNeg:
      case llvm::Instruction::ExtractElement:
      case llvm::Instruction::ShuffleVector:
        return depth < 2 && goes_into_arithmetic(user, depth + 1);
      default: return false;
    }
  });
}

// What a select of NaN bits has for other values: a conversion from or to f16. Null: no such
// select.
llvm::Value* conversion_beside(llvm::SelectInst& select) {
  llvm::Value* tested = nullptr;
  llvm::Value* nan = select.getTrueValue();
  llvm::Value* number = select.getFalseValue();
  llvm::FCmpInst::Predicate predicate{};
  if (!match::match(select.getCondition(),
                    match::m_FCmp(predicate, match::m_Value(tested), match::m_Value())))
    return nullptr;
  const auto* const compare = llvm::cast<llvm::FCmpInst>(select.getCondition());
  // "Is it a NaN" compares with the value itself or with a constant that is none.
  if (compare->getOperand(1) != tested &&
      !match::match(compare->getOperand(1), match::m_AnyZeroFP()))
    return nullptr;
  if (predicate == llvm::FCmpInst::FCMP_ORD)
    std::swap(nan, number);
  else if (predicate != llvm::FCmpInst::FCMP_UNO)
    return nullptr;
  // A load: the NaN is the value tested.
  if (llvm::isa<llvm::FPExtInst>(number) && nan == tested &&
      is_half(llvm::cast<llvm::FPExtInst>(number)->getSrcTy()))
    return goes_into_arithmetic(&select) ? number : nullptr;
  // A store: the value tested is the one converted.
  llvm::Value* converted = nullptr;
  if (match::match(number, match::m_BitCast(match::m_FPTrunc(match::m_Value(converted)))) &&
      converted == tested && select.getType()->getScalarType()->isIntegerTy(16))
    return is_made_by_arithmetic(tested) ? number : nullptr;
  return nullptr;
}

in::ID intrinsic_of(const llvm::Instruction& i) {
  const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return call != nullptr ? call->getIntrinsicID() : in::not_intrinsic;
}

bool is_of_the_sign(const llvm::Instruction& i) {
  const llvm::Type* const type = i.getType()->getScalarType();
  if (!type->isFloatTy() && !type->isDoubleTy()) return false;
  const in::ID id = intrinsic_of(i);
  return i.getOpcode() == llvm::Instruction::FNeg || id == in::fabs || id == in::copysign;
}

// The same as an operation on integers.
llvm::Value* in_integers(llvm::Instruction& i) {
  llvm::Type* const type = i.getType();
  const auto bits = static_cast<unsigned>(type->getScalarSizeInBits());
  llvm::IRBuilder<> b(&i);
  llvm::Type* word = b.getIntNTy(bits);
  if (const auto* vector = llvm::dyn_cast<llvm::VectorType>(type))
    word = llvm::VectorType::get(word, vector->getElementCount());
  llvm::Constant* const sign = llvm::ConstantInt::get(word, llvm::APInt::getSignMask(bits));
  llvm::Value* const x = b.CreateBitCast(i.getOperand(0), word);
  if (i.getOpcode() == llvm::Instruction::FNeg) return b.CreateBitCast(b.CreateXor(x, sign), type);
  llvm::Value* result = b.CreateAnd(x, llvm::ConstantExpr::getNot(sign));
  if (intrinsic_of(i) == in::copysign)
    result = b.CreateOr(result, b.CreateAnd(b.CreateBitCast(i.getOperand(1), word), sign));
  return b.CreateBitCast(result, type);
}

}  // namespace

llvm::PreservedAnalyses SignBits::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::Instruction*> replaced;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    if (!is_of_the_sign(i) || goes_into_arithmetic(&i)) continue;
    i.replaceAllUsesWith(in_integers(i));
    replaced.push_back(&i);
  }
  for (llvm::Instruction* const i : replaced) i->eraseFromParent();
  if (replaced.empty()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

bool is_made_by_arithmetic(const llvm::Value* value) {
  Seen seen;
  return is_arithmetic(value, seen);
}

llvm::PreservedAnalyses NanBits::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::WeakTrackingVH> replaced;
  for (llvm::Instruction& i : llvm::instructions(function))
    if (auto* const select = llvm::dyn_cast<llvm::SelectInst>(&i))
      if (llvm::Value* const number = conversion_beside(*select)) {
        select->replaceAllUsesWith(number);
        replaced.emplace_back(select);
      }
  if (replaced.empty()) return llvm::PreservedAnalyses::all();
  llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced);
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace vyre::codegen
