// SPDX-License-Identifier: Apache-2.0
// The shape of a dispatch as far as it follows from the inputs that are given. What hangs on a
// missing one is unknown, not wrong.
#pragma once

#include <vector>

#include "cli/dispatch.hpp"

namespace vyre::cli {

struct KnownLaunch {
  check::Launch launch;  // `workgroup` is always right
  bool grid_known = false;
  bool grid_needed = false;                            // nothing but --grid can say it
  std::vector<ir::BufferId> grid_needs;                // inputs that decide the grid
  std::vector<std::vector<ir::BufferId>> count_needs;  // by BufferId: and its number of elements

  // Null: what is missing decides about the grid.
  [[nodiscard]] const check::Launch* launch_if_known() const {
    return grid_known ? &launch : nullptr;
  }
  [[nodiscard]] bool count_known(ir::BufferId buffer) const {
    return count_needs[buffer.index()].empty();
  }
};

// Errors as of check::resolve_launch, about what was given.
Result<KnownLaunch> resolve_known(const Prepared& prepared);

}  // namespace vyre::cli
