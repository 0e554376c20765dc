// SPDX-License-Identifier: Apache-2.0
// A pass of LLVM for PTX: tests of induction variables that may wrap, in a form that ptxas keeps.
//
// ptxas (CUDA 12 and 13, -O1 and up) rewrites `i < C` before `i += s` into `i < C + s` after it, to
// need `i` no longer. It does so for every relational test of an induction variable against a
// constant, whether or not `i + s` wraps; where it does wrap, the loop never ends. PTX has no flag
// that says so, and wrapping is defined here. In `(i ^ sign bit) < C ^ sign bit` of the other
// signedness, which is the same, it does not see the induction variable.
//
// It also counts the iterations of a loop that a float comparison with the bits of an induction
// variable ends, `bitcast<f32>(i) <= 1.5`, as if the bits were the number i. There the bits go
// through assembly.
//
// What enters: optimised IR. What leaves: the same program, with each relational test against a
// constant rewritten whose operand is an affine recurrence that is not known to stay inside its
// type for one step more. Tests for equality hold modulo the type and stay.
#pragma once

#include <llvm/IR/PassManager.h>

namespace vyre::codegen {

class WrappingTests : public llvm::PassInfoMixin<WrappingTests> {
 public:
  static constexpr const char* kName = "vyre-wrapping-tests";
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace vyre::codegen
