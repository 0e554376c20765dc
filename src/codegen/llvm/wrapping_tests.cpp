// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/wrapping_tests.hpp"

#include <optional>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace vyre::codegen {

namespace {

// Whether it is what the next iteration begins with: then ptxas has no later value to test instead.
bool is_next(const llvm::Value& value, const llvm::Loop& loop) {
  return llvm::any_of(value.users(), [&](const llvm::User* user) {
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    return phi != nullptr && phi->getParent() == loop.getHeader();
  });
}

// The step of a value that changes by a constant in each iteration of a loop around the test.
std::optional<llvm::APInt> step_of(llvm::Value* value, llvm::ScalarEvolution& evolution,
                                   const llvm::Loop* around) {
  const auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(value));
  if (recurrence == nullptr || !recurrence->isAffine()) return std::nullopt;
  if (!recurrence->getLoop()->contains(around) || is_next(*value, *recurrence->getLoop()))
    return std::nullopt;
  const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(recurrence->getStepRecurrence(evolution));
  if (step == nullptr) return std::nullopt;
  return step->getAPInt();
}

// Whether the value of the next iteration is a number of the type, in the signedness of the test.
bool stays_inside(llvm::Value* value, const llvm::APInt& step, bool is_signed,
                  llvm::ScalarEvolution& evolution) {
  const llvm::SCEV* const expression = evolution.getSCEV(value);
  using Overflow = llvm::ConstantRange::OverflowResult;
  Overflow overflow = Overflow::MayOverflow;
  if (is_signed)
    overflow = evolution.getSignedRange(expression).signedAddMayOverflow(llvm::ConstantRange(step));
  else if (step.isNegative())
    overflow =
        evolution.getUnsignedRange(expression).unsignedSubMayOverflow(llvm::ConstantRange(-step));
  else
    overflow =
        evolution.getUnsignedRange(expression).unsignedAddMayOverflow(llvm::ConstantRange(step));
  return overflow == Overflow::NeverOverflows;
}

// Assembly, because LLVM adds the sign bit to the start of the recurrence instead, and tests that.
void flip_sign(llvm::ICmpInst& test) {
  llvm::IRBuilder<> builder(&test);
  llvm::Type* const type = test.getOperand(0)->getType();
  const unsigned bits = type->getIntegerBitWidth();
  llvm::Constant* const sign = llvm::ConstantInt::get(type, llvm::APInt::getSignMask(bits));
  auto* const flip = llvm::FunctionType::get(type, {type}, false);
  const llvm::StringRef text =
      bits == 64 ? "xor.b64 $0, $1, 0x8000000000000000;" : "xor.b32 $0, $1, 0x80000000;";
  for (const unsigned i : {0U, 1U}) {
    llvm::Value* const operand = test.getOperand(i);
    if (llvm::isa<llvm::ConstantInt>(operand))
      test.setOperand(i, builder.CreateXor(operand, sign));
    else
      test.setOperand(
          i, builder.CreateCall(
                 flip, llvm::InlineAsm::get(flip, text, bits == 64 ? "=l,l" : "=r,r", false),
                 operand));
  }
  test.setPredicate(test.getFlippedSignednessPredicate());
}

// Whether ptxas could take it for a number that grows by a constant: the bits of a recurrence.
bool is_bits_of_recurrence(llvm::Value* value, llvm::ScalarEvolution& evolution,
                           const llvm::LoopInfo& loops, const llvm::Loop* around) {
  const auto* const bits = llvm::dyn_cast<llvm::BitCastInst>(value);
  if (bits == nullptr || !bits->getSrcTy()->isIntegerTy()) return false;
  const auto* const recurrence =
      llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(bits->getOperand(0)));
  return recurrence != nullptr && (recurrence->getLoop()->contains(around) ||
                                   loops.getLoopFor(bits->getParent()) != nullptr);
}

// The same bits, flipped twice: assembly that ptxas does not look through.
void hide_bits(llvm::Instruction& test, unsigned operand) {
  auto* const bits = llvm::cast<llvm::BitCastInst>(test.getOperand(operand));
  llvm::IRBuilder<> builder(&test);
  llvm::Type* const type = bits->getSrcTy();
  auto* const hide = llvm::FunctionType::get(type, {type}, false);
  const bool wide = type->getIntegerBitWidth() == 64;
  const llvm::StringRef text = wide
                                   ? "{ .reg .b64 flipped; xor.b64 flipped, $1, 0x8000000000000000;"
                                     " xor.b64 $0, flipped, 0x8000000000000000; }"
                                   : "{ .reg .b32 flipped; xor.b32 flipped, $1, 0x80000000;"
                                     " xor.b32 $0, flipped, 0x80000000; }";
  llvm::Value* const hidden = builder.CreateCall(
      hide, llvm::InlineAsm::get(hide, text, wide ? "=l,l" : "=r,r", false), bits->getOperand(0));
  test.setOperand(operand, builder.CreateBitCast(hidden, bits->getType()));
}

}  // namespace

llvm::PreservedAnalyses WrappingTests::run(llvm::Function& function,
                                           llvm::FunctionAnalysisManager& analyses) {
  const llvm::LoopInfo& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  if (loops.empty()) return llvm::PreservedAnalyses::all();
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);

  llvm::SmallVector<llvm::ICmpInst*> found;
  llvm::SmallVector<std::pair<llvm::FCmpInst*, unsigned>> of_bits;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* const test = llvm::dyn_cast<llvm::FCmpInst>(&instruction)) {
      const llvm::Loop* const around = loops.getLoopFor(test->getParent());
      for (const unsigned i : {0U, 1U})
        if (around != nullptr &&
            is_bits_of_recurrence(test->getOperand(i), evolution, loops, around))
          of_bits.emplace_back(test, i);
      continue;
    }
    auto* const test = llvm::dyn_cast<llvm::ICmpInst>(&instruction);
    if (test == nullptr || !test->isRelational() ||
        (!test->getOperand(0)->getType()->isIntegerTy(32) &&
         !test->getOperand(0)->getType()->isIntegerTy(64)))
      continue;
    const llvm::Loop* const around = loops.getLoopFor(test->getParent());
    if (around == nullptr) continue;
    const unsigned constant = llvm::isa<llvm::ConstantInt>(test->getOperand(1)) ? 1 : 0;
    if (!llvm::isa<llvm::ConstantInt>(test->getOperand(constant))) continue;
    llvm::Value* const value = test->getOperand(1 - constant);
    const auto step = step_of(value, evolution, around);
    if (step && !stays_inside(value, *step, test->isSigned(), evolution)) found.push_back(test);
  }
  for (llvm::ICmpInst* const test : found) flip_sign(*test);
  for (const auto& [test, operand] : of_bits) hide_bits(*test, operand);
  if (found.empty() && of_bits.empty()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace vyre::codegen
