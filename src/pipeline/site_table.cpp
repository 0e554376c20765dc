// SPDX-License-Identifier: Apache-2.0
#include "pipeline/site_table.hpp"

#include <algorithm>

#include "base/match.hpp"
#include "base/stop.hpp"
#include "codegen/codegen.hpp"

namespace vyre::pipeline {

namespace {

// In the order of the tree.
void collect(const plan::Steps& steps, std::vector<const plan::CollectiveStep*>& found) {
  for (const plan::Step& step : steps)
    match(
        step.node, [](const plan::LaunchStep&) {}, [](const plan::PhaseStep&) {},
        [&](const plan::BranchStep& x) {
          collect(x.then_steps, found);
          collect(x.else_steps, found);
        },
        [&](const plan::LoopStep& x) {
          collect(x.condition, found);
          collect(x.body, found);
        },
        [&](const plan::FixpointStep& x) { collect(x.body, found); },
        [](const plan::ResumeStep&) {}, [&](const plan::CollectiveStep& x) { found.push_back(&x); },
        [](const plan::CopyStep&) {}, [](const plan::SwapStep&) {});
}

}  // namespace

Result<std::shared_ptr<const plan::Plan>> SiteTable::plan() const {
  const std::scoped_lock lock(mutex_);
  if (plan_) return plan_;
  // The deadline that ended the work must not end its report.
  const StopPause pause;
  auto made = make_plan(*origin_.program, origin_.policy, origin_.capabilities);
  if (!made) return std::unexpected(std::move(made.error()));
  plan_ = std::make_shared<const plan::Plan>(std::move(*made));
  return plan_;
}

Position SiteTable::site(uint32_t number) const {
  const auto found = plan();
  return found && number < (*found)->sites.size() ? (*found)->sites[number].at : Position{};
}

Position SiteTable::print(uint32_t number) const {
  const auto found = plan();
  return found && number < (*found)->prints.size() ? (*found)->prints[number].at : Position{};
}

Position SiteTable::collective(const plan::Schedule& schedule,
                               const plan::CollectiveStep& step) const {
  const auto found = plan();
  if (!found) return {};
  std::vector<const plan::CollectiveStep*> ours;
  std::vector<const plan::CollectiveStep*> planned;
  collect(schedule.steps, ours);
  collect((*found)->steps, planned);
  const auto at = static_cast<size_t>(std::ranges::find(ours, &step) - ours.begin());
  return at < planned.size() ? planned[at]->at : Position{};
}

Error SiteTable::explain(uint32_t entry, const device::KernelStop& stop) const {
  const auto found = plan();
  if (!found) return found.error();
  const StopPause pause;
  return codegen::explain(**found, origin_.format, origin_.policy.checked, entry, stop);
}

}  // namespace vyre::pipeline
