// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/narrow_lanes.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

namespace vyre::codegen {

namespace in = llvm::Intrinsic;

namespace {

constexpr uint64_t kMost = 0xFFFF;

class Narrower {
 public:
  bool visit(llvm::Instruction& i) {
    auto* const type = llvm::dyn_cast<llvm::FixedVectorType>(i.getType());
    if (type == nullptr || !type->getElementType()->isIntegerTy(32)) return false;
    if (auto* const select = llvm::dyn_cast<llvm::SelectInst>(&i))
      return replace(i, select->getTrueValue(), select->getFalseValue());
    if (llvm::isa<llvm::BinaryOperator>(i)) return replace(i, i.getOperand(0), i.getOperand(1));
    if (auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        call != nullptr && call->arg_size() == 2)
      return replace(i, call->getArgOperand(0), call->getArgOperand(1));
    return false;
  }

 private:
  // The largest value, if 16 bits hold it and it is at hand in no more.
  std::optional<uint64_t> bound(llvm::Value* v) const {
    if (const auto* c = llvm::dyn_cast<llvm::Constant>(v)) {
      const auto* const splat = llvm::dyn_cast_or_null<llvm::ConstantInt>(c->getSplatValue());
      if (splat != nullptr && splat->getZExtValue() <= kMost) return splat->getZExtValue();
      return std::nullopt;
    }
    const auto* const wide = llvm::dyn_cast<llvm::ZExtInst>(v);
    if (wide == nullptr) return std::nullopt;
    if (const auto known = bounds_.find(wide->getOperand(0)); known != bounds_.end())
      return known->second;
    const unsigned bits = wide->getSrcTy()->getScalarSizeInBits();
    if (bits > 16) return std::nullopt;
    return (uint64_t{1} << bits) - 1;
  }

  static std::optional<uint64_t> combined(const llvm::Instruction& i, uint64_t x, uint64_t y) {
    if (llvm::isa<llvm::SelectInst>(i)) return std::max(x, y);
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) {
      if (call->getIntrinsicID() == in::umax || call->getIntrinsicID() == in::smax)
        return std::max(x, y);
      if (call->getIntrinsicID() == in::umin || call->getIntrinsicID() == in::smin)
        return std::min(x, y);
      return std::nullopt;
    }
    switch (i.getOpcode()) {
      case llvm::Instruction::Add: return x + y;
      case llvm::Instruction::Mul: return x * y;
      case llvm::Instruction::And: return std::min(x, y);
      case llvm::Instruction::Or:
      case llvm::Instruction::Xor: return std::bit_ceil(std::max(x, y) + 1) - 1;
      default: return std::nullopt;
    }
  }

  bool replace(llvm::Instruction& i, llvm::Value* x, llvm::Value* y) {
    const auto most_x = bound(x);
    const auto most_y = bound(y);
    if (!most_x || !most_y || (llvm::isa<llvm::Constant>(x) && llvm::isa<llvm::Constant>(y)))
      return false;
    const auto most = combined(i, *most_x, *most_y);
    if (!most || *most > kMost) return false;
    llvm::IRBuilder<> b(&i);
    auto* const wide = llvm::cast<llvm::FixedVectorType>(i.getType());
    llvm::Type* const type = llvm::FixedVectorType::get(b.getInt16Ty(), wide->getNumElements());
    const auto narrow = [&](llvm::Value* v) -> llvm::Value* {
      if (auto* const zext = llvm::dyn_cast<llvm::ZExtInst>(v))
        return b.CreateZExtOrTrunc(zext->getOperand(0), type);
      return llvm::ConstantInt::get(
          type, llvm::cast<llvm::Constant>(v)->getSplatValue()->getUniqueInteger().getZExtValue());
    };
    llvm::Value* const a = narrow(x);
    llvm::Value* const c = narrow(y);
    llvm::Value* result = nullptr;
    if (auto* const select = llvm::dyn_cast<llvm::SelectInst>(&i))
      result = b.CreateSelect(select->getCondition(), a, c);
    else if (auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
      // None of them is negative in 32 bits; in 16 only the unsigned order is the same.
      result =
          b.CreateBinaryIntrinsic(call->getIntrinsicID() == in::smax   ? in::umax
                                  : call->getIntrinsicID() == in::smin ? in::umin
                                                                       : call->getIntrinsicID(),
                                  a, c);
    else
      result = b.CreateBinOp(llvm::cast<llvm::BinaryOperator>(i).getOpcode(), a, c);
    bounds_[result] = *most;
    i.replaceAllUsesWith(b.CreateZExt(result, i.getType()));
    return true;
  }

  llvm::DenseMap<const llvm::Value*, uint64_t> bounds_;
};

}  // namespace

llvm::PreservedAnalyses NarrowLanes::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  Narrower narrower;
  llvm::SmallVector<llvm::Instruction*> replaced;
  // Operands before what is computed from them.
  for (llvm::BasicBlock* const block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function))
    for (llvm::Instruction& i : *block)
      if (narrower.visit(i)) replaced.push_back(&i);
  for (llvm::Instruction* const i : replaced) i->eraseFromParent();
  if (replaced.empty()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace vyre::codegen
