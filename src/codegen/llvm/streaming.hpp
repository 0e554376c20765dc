// SPDX-License-Identifier: Apache-2.0
// PTX accesses that caches give up first (`.cs`), for buffers with @locality(streaming). LLVM has
// no such accesses and combines what a thread accesses in a row only as long as they are plain. So
// code is made as ever, and the last pass puts accesses together as LLVM would later, and then
// writes those of such buffers as PTX.
#pragma once

#include <llvm/IR/PassManager.h>

namespace vyre::codegen {

// The name of the alias scopes of such buffers, by which their accesses are known.
inline constexpr const char* kStreamingScope = "vyre.streaming";

struct StreamingAccesses : llvm::PassInfoMixin<StreamingAccesses> {
  static constexpr const char* kName = "vyre-streaming";
  static llvm::PreservedAnalyses run(llvm::Function& function,
                                     llvm::FunctionAnalysisManager& analyses);
};

}  // namespace vyre::codegen
