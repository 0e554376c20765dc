// SPDX-License-Identifier: Apache-2.0
// Rotation of loops around barriers of the grid, for persistent kernels.
#pragma once

#include <set>

#include "plan/draft.hpp"

namespace vyre::plan::persistent {

// Whether a statement stands around barriers of the grid: such a one runs once for all virtual
// workgroups.
bool stands_around(const Draft& d, ir::StmtId id);

struct Rotated {
  StmtList body;
  std::set<uint32_t> loops;      // by number, inner ones first: those that were rotated
  std::set<uint32_t> invariant;  // locals that have one value for each iteration
};
// What an iteration does before its first barrier moves to the end of the iteration before it, and
// for the first one in front of the loop: between two barriers there is one loop over virtual
// workgroups and not two. Nothing of the given body changes. `among`: only of these loops; empty:
// of all.
Rotated rotate_loops(Draft& d, const StmtList& body, const std::set<uint32_t>& among = {});

}  // namespace vyre::plan::persistent
