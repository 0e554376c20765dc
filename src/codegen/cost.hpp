// SPDX-License-Identifier: Apache-2.0
// How much work it is to make code of a plan, before any of it is done. A plain function of the
// plan: no clock, no device. The unit is about one instruction for one register of lanes.
#pragma once

#include <cstdint>

#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

// Statements and expressions of all segments, each function as often as it is called, loops more
// than their bodies, operations that are done lane by lane more than others. Saturates.
uint64_t compile_cost(const plan::Plan& plan);

}  // namespace vyre::codegen
