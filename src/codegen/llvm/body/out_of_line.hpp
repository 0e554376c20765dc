// SPDX-License-Identifier: Apache-2.0
// Code as a function of its own, called where it would have stood. A body is emitted as anywhere
// else: it may use values of the function around it, and jump to its blocks. The values become
// further arguments; a jump becomes a number that the function returns and the call acts on.
//
// Holds: values and blocks that a body takes from around it dominate every call, and those blocks
// have no phis. The verifier of the module finds out if not.
#pragma once

#include <string>
#include <vector>

#include "codegen/llvm/body/values.hpp"

namespace vyre::codegen {

struct OutOfLine {
  llvm::Function* function = nullptr;
  std::vector<llvm::Value*> captured = {};    // passed after the arguments
  std::vector<llvm::BasicBlock*> exits = {};  // jump k is the number k + 1
  uint64_t instructions = 0;                  // with those of the functions that it calls
};

// `body` emits at the insertion point and gives the result, of type `result` (null for void); it
// leaves the insertion point where the function returns. The builder is back afterwards.
OutOfLine make_out_of_line(Builder& builder, const std::string& name,
                           llvm::ArrayRef<llvm::Type*> parameters, llvm::Type* result,
                           llvm::function_ref<llvm::Value*(llvm::Function&)> body);

// At the insertion point, which goes on behind the call; null if there is no result.
llvm::Value* call_out_of_line(Builder& builder, const OutOfLine& callee,
                              llvm::ArrayRef<llvm::Value*> arguments);

}  // namespace vyre::codegen
