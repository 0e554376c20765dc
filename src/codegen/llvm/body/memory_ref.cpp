// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/memory_ref.hpp"

namespace vyre::codegen {

using namespace ir;
namespace in = llvm::Intrinsic;

uint16_t argument_number(Memory memory) {
  const uint32_t first = memory.kind == Memory::Kind::Table ? kTableArguments : 1;
  const uint32_t most = memory.kind == Memory::Kind::Table ? 0xFFFF : kTableArguments - 1;
  // More than that many are never passed; a site alone would then speak of the parameter.
  return memory.index <= most - first ? static_cast<uint16_t>(first + memory.index) : uint16_t{0};
}

llvm::Constant* neutral_operand(AtomicOp op, Type type, llvm::Type* t) {
  if (is_float(type)) return nullptr;
  const unsigned width = t->getScalarSizeInBits();
  switch (op) {
    case AtomicOp::Add:
    case AtomicOp::Sub:
    case AtomicOp::Or:
    case AtomicOp::Xor: return llvm::Constant::getNullValue(t);
    case AtomicOp::And: return llvm::Constant::getAllOnesValue(t);
    case AtomicOp::Min:
      return llvm::ConstantInt::get(t, is_signed(type) ? llvm::APInt::getSignedMaxValue(width)
                                                       : llvm::APInt::getMaxValue(width));
    case AtomicOp::Max:
      return llvm::ConstantInt::get(t, is_signed(type) ? llvm::APInt::getSignedMinValue(width)
                                                       : llvm::APInt::getMinValue(width));
    default: return nullptr;
  }
}

OutsideCopy outside_copy(Builder& b, llvm::Value* first, llvm::Value* count, llvm::Value* length) {
  llvm::Constant* const zero = llvm::ConstantInt::get(first->getType(), 0);
  llvm::Value* const below = b.CreateICmpSLT(first, zero);
  llvm::Value* const leaves = b.CreateOr(below, b.CreateICmpSGT(b.CreateAdd(first, count), length));
  llvm::Value* const said =
      b.CreateSelect(below, first, b.CreateBinaryIntrinsic(in::smax, first, length));
  return {b.CreateAnd(b.CreateICmpNE(count, zero), leaves),
          b.CreateSExtOrTrunc(said, b.getInt64Ty())};
}

llvm::GlobalVariable* new_constant(llvm::Module& module, const std::string& name,
                                   llvm::Constant* value) {
  std::string unique = name;
  while (module.getNamedValue(unique) != nullptr) unique += '.';
  auto* const global =
      llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal(unique, value->getType()));
  global->setInitializer(value);
  global->setConstant(true);
  global->setLinkage(llvm::GlobalValue::InternalLinkage);
  global->setAlignment(llvm::Align(64));
  return global;
}

llvm::Value* zero_global(llvm::Module& module) {
  if (llvm::GlobalVariable* const found = module.getNamedGlobal("vyre.zero")) return found;
  llvm::Type* const type = llvm::Type::getInt64Ty(module.getContext());
  return new_constant(module, "vyre.zero", llvm::Constant::getNullValue(type));
}

}  // namespace vyre::codegen
