// SPDX-License-Identifier: Apache-2.0
// From the pieces of a cut to segments: programs with hidden buffers, and the steps that run them.
#pragma once

#include "plan/edges.hpp"
#include "plan/native.hpp"

namespace vyre::plan {

enum class Made : uint8_t {
  All,
  TooLarge,   // for any memory
  NotFolded,  // persistent route: what has to be folded cannot be
};
// Fills steps, segments, hidden buffers and everything else of a plan but scope and route.
// `control`: the buffer of the control words. `native`: of a route with barriers inside launches.
Made make_segments(Draft& d, Tree& tree, const CutPoints& cuts, const PlanOptions& options,
                   ir::BufferId control, const NativeState* native, Plan& plan);

}  // namespace vyre::plan
