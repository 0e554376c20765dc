// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/body_context.hpp"

#include "base/check.hpp"

namespace vyre::codegen {

using namespace ir;

BodyContext::BodyContext(Builder& at, const Lowering& given, const check::CheckedProgram& program,
                         const Divergence& divergence, const BodyOptions& chosen)
    : builder(at),
      lowering(given),
      target(given.target),
      rows(given.rows),
      options(chosen),
      math(at, chosen.shape.lanes, chosen.half_conversions) {
  Frame main;
  main.c = &program;
  main.d = &divergence;
  main.slots = Slots(0, program.program.locals.size());
  frames.push_back(std::move(main));
}

CoreLowering& BodyContext::core() {
  VYRE_CHECK(lowering.core != nullptr && "lanes are threads of their own here");
  return *lowering.core;
}

ThreadLowering& BodyContext::threads() {
  VYRE_CHECK(lowering.threads != nullptr && "barriers and copies are cut by the plan");
  return *lowering.threads;
}

llvm::Type* BodyContext::shaped(Type type, bool varying) {
  llvm::Type* const scalar = type_of(type, builder.getContext());
  return varying ? vector(scalar) : scalar;
}

Val BodyContext::constant(Type type, uint64_t bits) {
  llvm::Type* const t = type_of(type, builder.getContext());
  if (!is_float(type)) return {llvm::ConstantInt::get(t, bits), false};
  const llvm::fltSemantics& kind =
      type == Type::F32 ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble();
  return {llvm::ConstantFP::get(t, llvm::APFloat(kind, llvm::APInt(bits_of(type), bits))), false};
}

llvm::Value* BodyContext::iota(llvm::Type* element) {
  std::vector<llvm::Constant*> numbers;
  for (uint32_t i = 0; i < lanes(); ++i) numbers.push_back(llvm::ConstantInt::get(element, i));
  return llvm::ConstantVector::get(numbers);
}

llvm::Value* BodyContext::new_variable(llvm::Type* type) {
  llvm::BasicBlock& entry = builder.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at(&entry, entry.begin());
  return at.CreateAlloca(type);
}

llvm::BasicBlock* BodyContext::new_block(const char* name) {
  return llvm::BasicBlock::Create(builder.getContext(), name,
                                  builder.GetInsertBlock()->getParent());
}

bool BodyContext::terminated() const {
  return builder.GetInsertBlock()->getTerminator() != nullptr;
}

void BodyContext::branch_to(llvm::BasicBlock* block) {
  if (!terminated()) builder.CreateBr(block);
}

llvm::Value* BodyContext::all_lanes() {
  return llvm::Constant::getAllOnesValue(vector(builder.getInt1Ty()));
}
llvm::Value* BodyContext::no_lanes() {
  return llvm::Constant::getNullValue(vector(builder.getInt1Ty()));
}
llvm::Value* BodyContext::mask_bits(llvm::Value* lanes_in) {
  return builder.CreateBitCast(lanes_in, builder.getIntNTy(lanes()));
}
llvm::Value* BodyContext::any(llvm::Value* lanes_in) {
  return builder.CreateICmpNE(mask_bits(lanes_in),
                              llvm::ConstantInt::get(builder.getIntNTy(lanes()), 0));
}
llvm::Value* BodyContext::every(llvm::Value* lanes_in) {
  return builder.CreateICmpEQ(mask_bits(lanes_in),
                              llvm::Constant::getAllOnesValue(builder.getIntNTy(lanes())));
}

llvm::Value* BodyContext::first_lane(llvm::Value* lanes_in) {
  llvm::Value* const bits = mask_bits(lanes_in);
  return builder.CreateZExtOrTrunc(
      builder.CreateIntrinsic(llvm::Intrinsic::cttz, {bits->getType()}, {bits, builder.getTrue()}),
      builder.getInt32Ty());
}

llvm::Value* BodyContext::merged_mask(llvm::Value* a, llvm::BasicBlock* from_a, llvm::Value* b,
                                      llvm::BasicBlock* from_b) {
  if (a == b) return a;
  llvm::PHINode* const phi = builder.CreatePHI(vector(builder.getInt1Ty()), 2);
  phi->addIncoming(a != nullptr ? a : all_lanes(), from_a);
  phi->addIncoming(b != nullptr ? b : all_lanes(), from_b);
  return phi;
}

}  // namespace vyre::codegen
