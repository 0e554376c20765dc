// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/out_of_line.hpp"

#include <llvm/ADT/SetVector.h>

#include "base/check.hpp"

namespace vyre::codegen {

namespace {

// What the instructions of a function take from another one.
struct Foreign {
  llvm::SetVector<llvm::Value*> values;
  llvm::SetVector<llvm::BasicBlock*> blocks;

  explicit Foreign(llvm::Function& own) {
    for (llvm::BasicBlock& block : own)
      for (llvm::Instruction& i : block)
        for (llvm::Value* const operand : i.operands()) {
          if (const auto* def = llvm::dyn_cast<llvm::Instruction>(operand)) {
            if (def->getFunction() != &own) values.insert(operand);
          } else if (const auto* arg = llvm::dyn_cast<llvm::Argument>(operand)) {
            if (arg->getParent() != &own) values.insert(operand);
          } else if (auto* const target = llvm::dyn_cast<llvm::BasicBlock>(operand)) {
            if (target->getParent() != &own) blocks.insert(target);
          }
        }
  }
};

llvm::Function* new_function(llvm::Module& module, const std::string& name, llvm::Type* result,
                             llvm::ArrayRef<llvm::Type*> parameters) {
  llvm::Function* const made =
      llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                             llvm::GlobalValue::InternalLinkage, name, module);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  made->addFnAttr(llvm::Attribute::NoInline);
  return made;
}

// From a function with exits: the number of one, or 0 and `value` (null: none).
void return_number(Builder& b, llvm::Type* type, llvm::Value* value, uint32_t exit) {
  llvm::Value* const number = b.getInt32(exit);
  if (!type->isStructTy()) {
    b.CreateRet(number);
    return;
  }
  llvm::Value* both = llvm::Constant::getNullValue(type);
  if (value != nullptr) both = b.CreateInsertValue(both, value, 0);
  b.CreateRet(b.CreateInsertValue(both, number, 1));
}

}  // namespace

OutOfLine make_out_of_line(Builder& b, const std::string& name,
                           llvm::ArrayRef<llvm::Type*> parameters, llvm::Type* result,
                           llvm::function_ref<llvm::Value*(llvm::Function&)> body) {
  const Builder::InsertPointGuard guard(b);
  llvm::LLVMContext& context = b.getContext();
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  // Its signature is known when its body is: what the body captures comes behind its parameters.
  llvm::Function* const draft = new_function(module, "draft", b.getVoidTy(), parameters);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", draft));
  llvm::Value* const value = body(*draft);
  llvm::BasicBlock* const end = b.GetInsertBlock();
  VYRE_CHECK(end->getParent() == draft && end->getTerminator() == nullptr);
  VYRE_CHECK((value == nullptr) == (result == nullptr));
  llvm::ReturnInst* const back = value != nullptr ? b.CreateRet(value) : b.CreateRetVoid();

  const Foreign foreign(*draft);
  OutOfLine made;
  made.captured.assign(foreign.values.begin(), foreign.values.end());
  made.exits.assign(foreign.blocks.begin(), foreign.blocks.end());
  const bool exits = !made.exits.empty();
  llvm::Type* type = result != nullptr ? result : b.getVoidTy();
  if (exits)
    type = result != nullptr
               ? static_cast<llvm::Type*>(llvm::StructType::get(context, {result, b.getInt32Ty()}))
               : b.getInt32Ty();
  std::vector<llvm::Type*> all(parameters.begin(), parameters.end());
  for (const llvm::Value* const v : made.captured) all.push_back(v->getType());
  made.function = new_function(module, name, type, all);
  made.function->splice(made.function->end(), draft);

  llvm::DenseMap<llvm::Value*, llvm::Value*> instead;
  auto argument = made.function->arg_begin();
  for (llvm::Argument& old : draft->args()) old.replaceAllUsesWith(&*argument++);
  for (llvm::Value* const v : made.captured) instead[v] = &*argument++;
  for (uint32_t k = 0; k < made.exits.size(); ++k) {
    llvm::BasicBlock* const leave = llvm::BasicBlock::Create(context, "leave", made.function);
    b.SetInsertPoint(leave);
    return_number(b, type, nullptr, k + 1);
    instead[made.exits[k]] = leave;
  }
  for (llvm::BasicBlock& block : *made.function)
    for (llvm::Instruction& i : block)
      for (llvm::Use& use : i.operands())
        if (const auto found = instead.find(use.get()); found != instead.end())
          use.set(found->second);
  if (exits) {
    b.SetInsertPoint(back);
    return_number(b, type, back->getReturnValue(), 0);
    back->eraseFromParent();
  }
  draft->eraseFromParent();
  return made;
}

llvm::Value* call_out_of_line(Builder& b, const OutOfLine& callee,
                              llvm::ArrayRef<llvm::Value*> arguments) {
  std::vector<llvm::Value*> all(arguments.begin(), arguments.end());
  all.insert(all.end(), callee.captured.begin(), callee.captured.end());
  llvm::Value* const returned = b.CreateCall(callee.function, all);
  llvm::Type* const type = returned->getType();
  if (callee.exits.empty()) return type->isVoidTy() ? nullptr : returned;
  llvm::Value* const result = type->isStructTy() ? b.CreateExtractValue(returned, 0) : nullptr;
  llvm::Value* const number = type->isStructTy() ? b.CreateExtractValue(returned, 1) : returned;
  llvm::BasicBlock* const after =
      llvm::BasicBlock::Create(b.getContext(), "called", b.GetInsertBlock()->getParent());
  llvm::SwitchInst* const go =
      b.CreateSwitch(number, after, static_cast<unsigned>(callee.exits.size()));
  for (uint32_t k = 0; k < callee.exits.size(); ++k)
    go->addCase(b.getInt32(k + 1), callee.exits[k]);
  b.SetInsertPoint(after);
  return result;
}

}  // namespace vyre::codegen
