// SPDX-License-Identifier: Apache-2.0
// Which way a dispatch takes through its grid barriers, and the code for it.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "run/errors.hpp"
#include "run/state.hpp"

namespace vyre::run {

using plan::Route;

Result<Route> Dispatch::choose_route() {
  const device::Capabilities& can = device_.backend->info().capabilities;
  const check::CheckedProgram& checked = *p_.source.program;
  if (!plan::contains_grid_barrier(checked)) return Route::Native;
  if (can.whole_programs && can.cooperative_grid_barrier) return Route::Native;
  plan::RouteRequest request;
  request.capabilities = can;
  request.require_cooperative = lease_->wanted.cooperative;
  request.checked = lease_->wanted.checked;
  if (can.cooperative_grid_barrier && !request.checked && !request.require_cooperative) {
    const Result<bool> folds = folds_well();
    if (!folds) return std::unexpected(folds.error());
    if (*folds) return Route::Persistent;
  }
  if (can.cooperative_grid_barrier) {
    // How many workgroups fit is known of loaded code only.
    VYRE_TRY_ASSIGN(const auto loaded,
                    variant(request.checked ? Route::Persistent : Route::Native));
    request.resident_workgroups = loaded->max_resident_groups();
  }
  auto choice = plan::choose_route(checked, lease_->launch, request);
  if (!choice) {
    Error error = choice.error();
    error.context.push_back(fmt::format("device `{}`", device_.backend->info().id));
    return std::unexpected(std::move(error));
  }
  return choice->route;
}

// The plan says what of a wish can be had: without state there is no need to know the turns. It is
// asked once for each wish.
Result<Folding> Dispatch::folding() {
  Folding folding{.wanted = fold(), .policy = {}, .well = false};
  {
    const std::scoped_lock lock(p_.mutex);
    for (const Folding& known : p_.foldings)
      if (known.wanted == folding.wanted) return known;
  }
  const auto plan = device_.compiler.schedule(p_.source, folding.wanted, device_.trace.load(),
                                              compile_limits(config_));
  if (!plan) return std::unexpected(plan.error());
  folding.policy = folding.wanted;
  const auto written = [](const plan::SegmentLaunch& s) { return s.unrolled_iterations != 0; };
  if (std::ranges::none_of(plan->segments, written)) folding.policy.variant.unrolled_iterations = 0;
  const auto put_together = [](const plan::SegmentLaunch& s) {
    return !s.barriers_inside || s.workgroups_per_block > 1;
  };
  const auto in_memory = [](const plan::Hidden& h) { return h.kind == plan::Hidden::Kind::Slot; };
  folding.well = std::ranges::any_of(plan->segments, &plan::SegmentLaunch::barriers_inside) &&
                 std::ranges::all_of(plan->segments, put_together) &&
                 std::ranges::none_of(plan->hidden, in_memory);
  const std::scoped_lock lock(p_.mutex);
  p_.foldings.push_back(folding);
  return folding;
}

// On a GPU a barrier of few large blocks costs less than one of many small ones, even if all of
// these fit; so workgroups are put together where that costs no memory.
Result<bool> Dispatch::folds_well() {
  const device::BackendInfo& info = device_.backend->info();
  constexpr uint64_t kFewPerUnit = 2;
  if (info.kind != device::Kind::Gpu ||
      lease_->launch.workgroups() <= kFewPerUnit * info.profile.compute_units)
    return false;
  VYRE_TRY_ASSIGN(const auto found, folding());
  return found.well;
}

// Whether all segments can be launched: the device has code for each, also for those in which lanes
// do not wait for all others, and those whose blocks take turns at workgroups have enough of them.
bool Dispatch::can_fold(const pipeline::Variant& variant) const {
  const uint64_t groups = lease_->launch.workgroups();
  for (uint32_t i = 0; i < variant.schedule.segments.size(); ++i) {
    const plan::SegmentLaunch& segment = variant.schedule.segments[i];
    const uint64_t resident = variant.loaded.max_resident_groups(i);
    if (resident == 0 ||
        (segment.workgroups_per_block != 0 && plan::blocks_of(segment, groups, resident) == 0))
      return false;
  }
  return true;
}

// First with state in memory, then with a launch for each segment.
Result<std::shared_ptr<const pipeline::Variant>> Dispatch::unfolded(
    const pipeline::Variant& folded) {
  pipeline::Policy policy = folded.policy;
  policy.variant.unrolled_iterations = 0;
  if (policy != folded.policy) {
    auto found = variant(policy);
    if (!found || can_fold(**found)) return found;
  }
  return variant(Route::Resident);
}

// How workgroups are spread over fewer blocks: those are as large as the device has them, because
// barriers cost by the number of blocks, but all units have some. The state of a few turns may stay
// in registers, of which a thread has enough if one block of that size is on each unit.
pipeline::Policy Dispatch::fold() const {
  constexpr uint32_t kMostTurns = 8;
  constexpr uint32_t kInterleave = 8;
  constexpr uint64_t kLanesOfUnit = 1024;
  pipeline::Policy policy = policy_of(config_, Route::Persistent);
  const device::BackendInfo& info = device_.backend->info();
  const check::Launch& launch = lease_->launch;
  const uint64_t groups = launch.workgroups();
  const uint64_t lanes = std::max<uint64_t>(1, launch.lanes_per_workgroup());
  const uint64_t units = std::max(info.profile.compute_units, 1U);
  const uint64_t most = info.capabilities.max_invocations_per_workgroup / lanes;
  policy.variant.interleave = kInterleave;
  policy.variant.is_1d = launch.grid[1] == 1 && launch.grid[2] == 1;
  policy.variant.workgroups_per_block =
      static_cast<uint32_t>(std::bit_floor(std::max<uint64_t>(1, std::min(most, groups / units))));
  const uint64_t block = policy.variant.workgroups_per_block * lanes;
  const uint64_t at_once =
      units * std::max<uint64_t>(1, kLanesOfUnit / block) * policy.variant.workgroups_per_block;
  const uint64_t turns = (groups + at_once - 1) / at_once;
  if (turns <= kMostTurns) policy.variant.unrolled_iterations = static_cast<uint32_t>(turns);
  return policy;
}

Result<std::shared_ptr<const pipeline::Variant>> Dispatch::variant(Route route) {
  if (route != Route::Persistent || lease_->wanted.checked || lease_->wanted.unknown_grid)
    return variant(policy_of(config_, route));
  VYRE_TRY_ASSIGN(const auto found, folding());
  return variant(found.policy);
}

Result<std::shared_ptr<const pipeline::Variant>> Dispatch::variant(const pipeline::Policy& policy) {
  {
    const std::scoped_lock lock(p_.mutex);
    for (const auto& known : p_.variants)
      if (known->policy == policy) return known;
  }
  auto found =
      device_.compiler.get(p_.source, policy, device_.trace.load(), compile_limits(config_));
  if (!found) return std::unexpected(found.error());
  const std::scoped_lock lock(p_.mutex);
  for (const auto& known : p_.variants)
    if (known->policy == policy) return known;
  p_.variants.push_back(found->variant);
  return found->variant;
}

}  // namespace vyre::run
