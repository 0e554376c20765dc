// SPDX-License-Identifier: Apache-2.0
// The maths library as something to emit: checked once, with what varies in its functions when
// their arguments do.
#pragma once

#include "codegen/llvm/body/divergence.hpp"

namespace vyre::codegen {

struct MathsFunctions {
  check::CheckedProgram program;
  Divergence uniform;

  // For arguments that differ between lanes.
  [[nodiscard]] const Divergence& varying(BlockShape shape) const {
    return shape.lanes > 1 ? wide_ : uniform;
  }

  explicit MathsFunctions(check::CheckedProgram checked);

 private:
  Divergence wide_;
};

const MathsFunctions& maths_functions();

}  // namespace vyre::codegen
