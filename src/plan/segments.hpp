// SPDX-License-Identifier: Apache-2.0
// From the pieces of a cut to segments: programs with hidden buffers, and the steps that run them.
#pragma once

#include "plan/edges.hpp"
#include "plan/native.hpp"

namespace vyre::plan {

// False if they would be too large for any memory. Fills steps, segments, hidden buffers and
// everything else of a plan but scope and route. `control`: the buffer of the control words.
// `native`: of the native route.
bool make_segments(Draft& d, Tree& tree, const CutPoints& cuts, const PlanOptions& options,
                   ir::BufferId control, const NativeState* native, Plan& plan);

}  // namespace vyre::plan
