// SPDX-License-Identifier: Apache-2.0
// Which way a dispatch takes through its grid barriers. Chosen anew for each one: it depends on the
// grid and on how many workgroups the loaded code can keep on the device.
#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::plan {

uint64_t blocks_of(const SegmentLaunch& segment, uint64_t workgroups, uint64_t resident) {
  const uint64_t folds = segment.workgroups_per_block;
  const uint64_t most = std::min(resident, workgroups / folds);
  if (segment.unrolled_iterations == 0) return most;
  const uint64_t needed = (workgroups + folds * segment.unrolled_iterations - 1) /
                          (folds * segment.unrolled_iterations);
  return needed <= most ? needed : 0;
}

Result<RouteChoice> choose_route(const check::CheckedProgram& checked, const check::Launch& launch,
                                 const RouteRequest& request) {
  const device::Capabilities& device = request.capabilities;
  const uint64_t groups = launch.workgroups();
  if (!contains_grid_barrier(checked))
    return RouteChoice{Route::Native, "no grid barrier: one launch of the program itself"};
  if (device.cooperative_grid_barrier) {
    const bool fits = groups <= request.resident_workgroups;
    if (fits && !request.checked)
      return RouteChoice{Route::Native,
                         fmt::format("all {} workgroups fit on the device at once ({} can)", groups,
                                     request.resident_workgroups)};
    if (request.require_cooperative && !fits)
      return std::unexpected(error(
          ErrorCode::CooperativeResidencyExceeded,
          fmt::format("a cooperative launch of {} workgroups is required, but the device keeps {} "
                      "of this program at once. Fix: use a smaller grid or larger workgroups, or "
                      "let the route be chosen (cooperative: auto)",
                      groups, request.resident_workgroups)));
    if (request.resident_workgroups != 0)
      return RouteChoice{
          Route::Persistent,
          request.checked
              ? std::string("checked mode stops lanes in the middle of a statement, so their state "
                            "is saved at barriers")
              : fmt::format("{} workgroups, but {} fit on the device at once: each block runs "
                            "several",
                            groups, request.resident_workgroups)};
  }
  if (request.require_cooperative)
    return std::unexpected(error(
        ErrorCode::Unsupported,
        "a cooperative launch is required, but the device has no barrier over the grid. Fix: let "
        "the route be chosen (cooperative: auto), or use another device"));
  if (device.resident_buffers)
    return RouteChoice{Route::Resident,
                       "the device has no barrier over the grid: one launch per segment"};
  if (device.host_split)
    return RouteChoice{Route::Host,
                       "the device keeps no buffers between launches: they go through the host"};
  return std::unexpected(error(
      ErrorCode::Unsupported,
      "the program has a barrier over the grid, and the device has neither such a barrier nor "
      "allows to split the program at it. Fix: use another device"));
}

}  // namespace vyre::plan
