// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>

#include "codegen/llvm/llvm_ir.hpp"

namespace vyre::codegen {

// Computes again, before a loop, what the loop computes anew in each iteration from values that do
// not change in it.
class Hoister {
 public:
  // To the end of a block, which comes before all blocks that are made from now on.
  Hoister(llvm::BasicBlock* to, llvm::Function& function) : to_(to) {
    for (llvm::BasicBlock& block : function) outside_.insert(&block);
  }

  // Null if it cannot be known there.
  llvm::Value* hoist(llvm::Value* v, uint32_t depth = 0);

 private:
  llvm::BasicBlock* to_;
  llvm::SmallPtrSet<llvm::BasicBlock*, 32> outside_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> done_;
};

// By sums, products and the like.
bool computed_from(const llvm::Value* v, const llvm::Value* number, uint32_t depth = 0);

}  // namespace vyre::codegen
