// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/hoister.hpp"

#include <llvm/IR/IntrinsicInst.h>

#include "codegen/llvm/body/memory_ref.hpp"

namespace vyre::codegen {

namespace in = llvm::Intrinsic;

namespace {

constexpr uint32_t kMostDepth = 16;

// As Arithmetic::divide() makes divisors. What it divides does not overflow, either.
bool never_zero(const llvm::Value* divisor) {
  if (const auto* k = llvm::dyn_cast<llvm::ConstantInt>(divisor))
    return !k->isZero() && !k->isMinusOne();
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(divisor);
  return call != nullptr && call->getIntrinsicID() == in::umax;
}

bool movable(const llvm::Instruction& i) {
  if (const auto* b = llvm::dyn_cast<llvm::BinaryOperator>(&i)) {
    switch (b->getOpcode()) {
      case llvm::Instruction::UDiv:
      case llvm::Instruction::SDiv:
      case llvm::Instruction::URem:
      case llvm::Instruction::SRem: return never_zero(b->getOperand(1));
      default: return true;
    }
  }
  if (llvm::isa<llvm::CastInst, llvm::SelectInst, llvm::CmpInst, llvm::FreezeInst,
                llvm::GetElementPtrInst>(i))
    return true;
  // Addresses that a test has chosen are good everywhere, and what is never written stays the same.
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i))
    return load->hasMetadata(kPhaseInvariant) ||
           (load->hasMetadata(llvm::LLVMContext::MD_invariant_load) &&
            llvm::isa<llvm::SelectInst>(load->getPointerOperand()));
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
    return call->getIntrinsicID() == in::umin || call->getIntrinsicID() == in::umax ||
           call->getIntrinsicID() == in::smin || call->getIntrinsicID() == in::smax ||
           call->getIntrinsicID() == in::usub_sat;
  return false;
}

}  // namespace

bool computed_from(const llvm::Value* v, const llvm::Value* number, uint32_t depth) {
  constexpr uint32_t kMostLevels = 8;
  if (v == number) return true;
  const auto* const op = llvm::dyn_cast<llvm::BinaryOperator>(v);
  return op != nullptr && depth < kMostLevels &&
         (computed_from(op->getOperand(0), number, depth + 1) ||
          computed_from(op->getOperand(1), number, depth + 1));
}

llvm::Value* Hoister::hoist(llvm::Value* v, uint32_t depth) {
  auto* const i = llvm::dyn_cast<llvm::Instruction>(v);
  if (i == nullptr || outside_.contains(i->getParent())) return v;
  if (const auto found = done_.find(v); found != done_.end()) return found->second;
  if (depth > kMostDepth || !movable(*i)) return nullptr;
  llvm::SmallVector<llvm::Value*, 4> operands;
  for (llvm::Value* const operand : i->operands()) {
    llvm::Value* const there = hoist(operand, depth + 1);
    if (there == nullptr) return nullptr;
    operands.push_back(there);
  }
  llvm::Instruction* const copy = i->clone();
  for (unsigned k = 0; k < operands.size(); ++k) copy->setOperand(k, operands[k]);
  copy->insertInto(to_, to_->end());
  done_[v] = copy;
  return copy;
}

}  // namespace vyre::codegen
