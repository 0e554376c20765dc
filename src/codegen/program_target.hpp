// SPDX-License-Identifier: Apache-2.0
// For devices that interpret programs: their code is the segments of the plan themselves.
#pragma once

#include <memory>
#include <vector>

#include "codegen/target.hpp"
#include "vyre/device/interpreted.hpp"

namespace vyre::codegen {

extern const TargetDescriptor kProgramTarget;

// What an interpreter runs. Shares the plan.
std::vector<std::shared_ptr<const device::InterpretedProgram>> programs_of(
    const std::shared_ptr<const plan::Plan>& plan);

}  // namespace vyre::codegen
