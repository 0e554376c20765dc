// SPDX-License-Identifier: Apache-2.0
// Subgroup operations: a block of lanes is one subgroup, and its values are the elements of one
// vector. Lanes that have ended or never were stand for what changes nothing.
#pragma once

#include "codegen/llvm/body/emitter.hpp"

namespace vyre::codegen {

class SubgroupEmitter : Emitter {
 public:
  SubgroupEmitter(BodyContext& context, Emitters& emitters) : Emitter(context, emitters) {}

  Val subgroup(const ir::Subgroup& e);

  // One step of a reduction or scan, and what changes nothing in it.
  llvm::Value* joined(ir::SubgroupOp op, ir::Type type, llvm::Value* a, llvm::Value* b);
  llvm::Constant* identity(ir::SubgroupOp op, ir::Type type);

 private:
  llvm::Value* butterfly(ir::SubgroupOp op, ir::Type type, llvm::Value* v);
  llvm::Value* scanned(ir::Type type, llvm::Value* v, bool exclusive);
  llvm::Value* shuffled(ir::Type type, llvm::Value* v, llvm::Value* from, llvm::Value* valid);
};

}  // namespace vyre::codegen
