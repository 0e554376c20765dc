// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/maths_functions.hpp"

#include "base/check.hpp"
#include "ir/maths.hpp"

namespace vyre::codegen {

// What varies does not depend on how many lanes there are, as long as there are several.
MathsFunctions::MathsFunctions(check::CheckedProgram checked)
    : program(std::move(checked)),
      uniform(program, {.lanes = 1}, {}),
      wide_(program, {.lanes = 2}, {.params_vary = true}) {}

const MathsFunctions& maths_functions() {
  static const MathsFunctions kFunctions = [] {
    auto checked = check::check_valid(ir::maths_library().program);
    VYRE_CHECK(checked.has_value());
    return MathsFunctions(std::move(*checked));
  }();
  return kFunctions;
}

}  // namespace vyre::codegen
