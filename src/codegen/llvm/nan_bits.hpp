// SPDX-License-Identifier: Apache-2.0
// The bits of NaNs that nothing depends on. Loads and stores of f16 keep the bits of NaNs by a
// select beside the target's conversion (storage_floats.cpp). The bits of a NaN that arithmetic
// gives are unspecified, so the conversion alone will do for what is loaded only to compute with,
// and for computed values that are stored.
#pragma once

#include <llvm/IR/PassManager.h>
#include <llvm/IR/Value.h>

namespace vyre::codegen {

// The value of a float operation: if it is a NaN, its bits are unspecified. Negation and absolute
// value do not count: they are changes of one bit.
bool is_made_by_arithmetic(const llvm::Value* value);

// Removes selects of NaN bits where arithmetic takes or gives the value. After the values of locals
// are known, else it finds nothing.
struct NanBits : llvm::PassInfoMixin<NanBits> {
  static constexpr const char* kName = "vyre-nan-bits";
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

// For targets whose neg, abs and copysign leave the bits of NaNs open (PTX): does them in integers
// unless only arithmetic takes the result. LLVM makes such operations of programs that change the
// sign bit of an integer. The last pass, because others turn it back.
struct SignBits : llvm::PassInfoMixin<SignBits> {
  static constexpr const char* kName = "vyre-sign-bits";
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace vyre::codegen
