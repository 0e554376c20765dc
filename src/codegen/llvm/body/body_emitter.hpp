// SPDX-License-Identifier: Apache-2.0
// The statements of a program, for one block of lanes, as LLVM IR. What is the same for every
// target is here; what differs is behind the interfaces of lowering.hpp.
#pragma once

#include "codegen/llvm/body/emitters.hpp"

namespace vyre::codegen {

class BodyEmitter {
 public:
  BodyEmitter(Builder& builder, const Lowering& lowering, const check::CheckedProgram& program,
              const Divergence& divergence, const BodyOptions& options)
      : context_(builder, lowering, program, divergence, options), emitters_(context_) {}

  // All statements, at the insertion point; afterwards the insertion point is where lanes that
  // reach the end arrive. `mask`: the lanes there are; null: all.
  void emit(llvm::Value* mask);

 private:
  BodyContext context_;
  Emitters emitters_;
};

}  // namespace vyre::codegen
