// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace vyre::codegen {

// Elements of 8 and 16 bits are values of 32 bits to a program, and a block of lanes needs four
// registers of AVX2 for what would fit into two. Where sums and the like of such elements cannot
// reach 2^16, this pass computes them in 16 bits.
struct NarrowLanes : llvm::PassInfoMixin<NarrowLanes> {
  static constexpr const char* kName = "vyre-narrow-lanes";
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace vyre::codegen
