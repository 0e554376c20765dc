// SPDX-License-Identifier: Apache-2.0
// Where the values live that virtual workgroups keep across phases: in registers of unrolled
// iterations, or in slots in memory.
#pragma once

#include <utility>

#include "plan/persistent/analyse.hpp"

namespace vyre::plan::persistent {

// Hidden buffers that all persistent kernels of a plan share.
struct KernelMemory {
  ir::BufferId votes, control;  // of the native route
  ir::BufferId grid;            // workgroups of the dispatch along each axis
  std::map<std::pair<ir::Type, uint32_t>, std::vector<ir::BufferId>> slots;  // by type and elements
  std::map<uint32_t, ir::BufferId> shared;  // by BufferId: what workgroups keep of it
};

struct SlotPlace {
  ir::BufferId buffer;
  uint32_t width = 1;  // values of a lane side by side; 0: an array, its elements apart
  uint32_t element = 0;
};

struct Placement {
  // Virtual workgroups that a block runs side by side: 1 if their lanes synchronise.
  uint32_t workgroups_per_block = 1;
  // Not 0: so many iterations are unrolled, each with registers of its own.
  uint32_t unrolled_iterations = 0;
  std::map<uint32_t, SlotPlace> slots;                     // by LocalId
  std::map<uint32_t, std::vector<ir::LocalId>> registers;  // by LocalId: one for each iteration
};

// Invariant: every local of Analysis::live_across has a slot, or a register for each iteration.
Placement place(Draft& d, KernelMemory& memory, const Analysis& a, const RouteVariant& variant);

}  // namespace vyre::plan::persistent
