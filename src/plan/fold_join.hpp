// SPDX-License-Identifier: Apache-2.0
// Trips of loops around barriers of the grid, for folding.
#pragma once

#include <set>

#include "plan/draft.hpp"

namespace vyre::plan {

// Whether a statement stands around barriers of the grid: such a one runs once for all turns.
bool stands_around(const Draft& d, ir::StmtId id);

struct Joined {
  StmtList body;
  std::set<uint32_t> loops;   // by number, inner ones first: those whose trips were joined
  std::set<uint32_t> steady;  // locals that have one value for each trip
};
// What a trip does before its first barrier moves to the end of the trip before it, and for the
// first trip in front of the loop: between two barriers there is one loop of turns and not two.
// Nothing of the given body changes. `among`: only of these loops; empty: of all.
Joined join_trips(Draft& d, const StmtList& body, const std::set<uint32_t>& among = {});

}  // namespace vyre::plan
