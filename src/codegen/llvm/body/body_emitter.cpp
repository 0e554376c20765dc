// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/body_emitter.hpp"

namespace vyre::codegen {

void BodyEmitter::emit(llvm::Value* mask) {
  BodyContext& x = context_;
  x.mask = mask;
  if (x.wide() && (x.d().ends_lanes() || x.options.checked)) {
    x.live = x.new_variable(x.vector(x.builder.getInt1Ty()));
    x.builder.CreateStore(x.mask_or_all(), x.live);
  }
  emitters_.statements.emit_program();
}

}  // namespace vyre::codegen
