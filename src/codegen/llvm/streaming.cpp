// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/streaming.hpp"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>
#include <llvm/Transforms/Vectorize/LoadStoreVectorizer.h>

namespace vyre::codegen {

namespace {

constexpr unsigned kGlobalSpace = 1;

bool is_streaming(const llvm::Instruction& access) {
  const llvm::MDNode* const scopes = access.getMetadata(llvm::LLVMContext::MD_alias_scope);
  if (scopes == nullptr || scopes->getNumOperands() == 0) return false;
  return llvm::all_of(scopes->operands(), [](const llvm::MDOperand& scope) {
    const auto* const node = llvm::dyn_cast<llvm::MDNode>(scope);
    return node != nullptr && llvm::AliasScopeNode(node).getName() == kStreamingScope;
  });
}

// An access as PTX has it: a number of elements of one width.
struct Shape {
  unsigned count = 1;
  unsigned bits = 0;

  [[nodiscard]] char constraint() const { return bits == 64 ? 'l' : (bits == 32 ? 'r' : 'h'); }
  // Bytes are in registers of 16 bits.
  [[nodiscard]] llvm::Type* of_register(llvm::LLVMContext& context) const {
    return llvm::IntegerType::get(context, bits == 8 ? 16 : bits);
  }
  [[nodiscard]] llvm::Type* of_element(llvm::LLVMContext& context) const {
    return llvm::IntegerType::get(context, bits);
  }
  // "{$1, $2}"
  [[nodiscard]] std::string registers(unsigned first) const {
    if (count == 1) return fmt::format("${}", first);
    std::string list;
    for (unsigned i = 0; i < count; ++i)
      list += fmt::format("{}${}", i == 0 ? "{" : ", ", first + i);
    return list + "}";
  }
  [[nodiscard]] std::string suffix() const {
    return count == 1 ? fmt::format("b{}", bits) : fmt::format("v{}.b{}", count, bits);
  }
};

// Nothing for what PTX cannot access at once: that stays as it is.
std::optional<Shape> shape_of(llvm::Type* type, llvm::Align align) {
  Shape shape{.bits = type->getScalarSizeInBits()};
  if (const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    shape.count = vector->getNumElements();
  const unsigned bytes = shape.count * shape.bits / 8;
  const bool element = shape.bits == 8 || shape.bits == 16 || shape.bits == 32 || shape.bits == 64;
  const bool count = shape.count == 1 || shape.count == 2 || shape.count == 4;
  if (!element || !count || bytes > 16 || align.value() < bytes) return std::nullopt;
  return shape;
}

void write_load(llvm::LoadInst& load, const Shape& shape) {
  llvm::IRBuilder<> b(&load);
  llvm::Type* const in_register = shape.of_register(b.getContext());
  llvm::Type* result = in_register;
  if (shape.count != 1)
    result =
        llvm::StructType::get(b.getContext(), std::vector<llvm::Type*>(shape.count, in_register));
  std::string constraints;
  for (unsigned i = 0; i < shape.count; ++i) constraints += fmt::format("={},", shape.constraint());
  constraints += "l";
  // What no lane writes may be loaded at any time.
  const bool invariant = load.hasMetadata(llvm::LLVMContext::MD_invariant_load);
  if (!invariant) constraints += ",~{memory}";
  llvm::FunctionType* const type =
      llvm::FunctionType::get(result, {load.getPointerOperandType()}, false);
  const std::string text =
      fmt::format("ld.global.cs.{} {}, [${}];", shape.suffix(), shape.registers(0), shape.count);
  llvm::Value* const got = b.CreateCall(
      type, llvm::InlineAsm::get(type, text, constraints, !invariant), {load.getPointerOperand()});
  llvm::Type* const element = shape.of_element(b.getContext());
  llvm::Value* all = nullptr;
  if (shape.count == 1) {
    all = b.CreateTrunc(got, element);
  } else {
    all = llvm::PoisonValue::get(llvm::FixedVectorType::get(element, shape.count));
    for (unsigned i = 0; i < shape.count; ++i)
      all = b.CreateInsertElement(all, b.CreateTrunc(b.CreateExtractValue(got, i), element), i);
  }
  load.replaceAllUsesWith(b.CreateBitCast(all, load.getType()));
  load.eraseFromParent();
}

void write_store(llvm::StoreInst& store, const Shape& shape) {
  llvm::IRBuilder<> b(&store);
  llvm::Type* const element = shape.of_element(b.getContext());
  llvm::Type* const plain =
      shape.count == 1 ? element
                       : static_cast<llvm::Type*>(llvm::FixedVectorType::get(element, shape.count));
  llvm::Value* const all = b.CreateBitCast(store.getValueOperand(), plain);
  std::vector<llvm::Value*> operands = {store.getPointerOperand()};
  std::string constraints = "l";
  for (unsigned i = 0; i < shape.count; ++i) {
    llvm::Value* const one = shape.count == 1 ? all : b.CreateExtractElement(all, i);
    operands.push_back(b.CreateZExt(one, shape.of_register(b.getContext())));
    constraints += fmt::format(",{}", shape.constraint());
  }
  constraints += ",~{memory}";
  std::vector<llvm::Type*> types;
  for (const llvm::Value* const operand : operands) types.push_back(operand->getType());
  llvm::FunctionType* const type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  const std::string text =
      fmt::format("st.global.cs.{} [$0], {};", shape.suffix(), shape.registers(1));
  b.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), operands);
  store.eraseFromParent();
}

bool is_plain(const llvm::Instruction& i) {
  if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&i))
    return load->isSimple() && load->getPointerAddressSpace() == kGlobalSpace;
  const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&i);
  return store != nullptr && store->isSimple() && store->getPointerAddressSpace() == kGlobalSpace;
}

std::vector<llvm::Instruction*> accesses_of(llvm::Function& function) {
  std::vector<llvm::Instruction*> found;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block)
      if (is_plain(i) && is_streaming(i)) found.push_back(&i);
  return found;
}

}  // namespace

llvm::PreservedAnalyses StreamingAccesses::run(llvm::Function& function,
                                               llvm::FunctionAnalysisManager& analyses) {
  if (accesses_of(function).empty()) return llvm::PreservedAnalyses::all();
  llvm::LoadStoreVectorizerPass().run(function, analyses);
  for (llvm::Instruction* const access : accesses_of(function)) {
    if (auto* const load = llvm::dyn_cast<llvm::LoadInst>(access)) {
      if (const auto shape = shape_of(load->getType(), load->getAlign())) write_load(*load, *shape);
    } else {
      auto* const store = llvm::cast<llvm::StoreInst>(access);
      if (const auto shape = shape_of(store->getValueOperand()->getType(), store->getAlign()))
        write_store(*store, *shape);
    }
  }
  return llvm::PreservedAnalyses::none();
}

}  // namespace vyre::codegen
