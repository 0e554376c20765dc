// SPDX-License-Identifier: Apache-2.0
// The body of a persistent kernel. A launch has fewer workgroups than the dispatch: in every phase
// each block iterates over its virtual workgroups; the control flow around barriers is the same for
// all of them and runs once. What a lane reads in a later phase waits in a slot or in a register.
#pragma once

#include <array>

#include "plan/persistent/place.hpp"

namespace vyre::plan::persistent {

struct EmitInput {
  Draft& d;
  KernelMemory& memory;
  const Analysis& analysis;
  const Placement& placement;
  ir::LocalId lane;  // holds lane_id(d), if there is one
  ir::LocalId live;  // of lanes that are active
  uint32_t interleave = 1;
  bool wide_index = true;
  bool is_1d = false;
};

// Invariant: no statement reads the ids of the launch but at the start, where they become those of
// virtual workgroups.
StmtList emit(const EmitInput& input);

}  // namespace vyre::plan::persistent
