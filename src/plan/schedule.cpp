// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/schedule.hpp"

#include "base/match.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::plan {

namespace {

void drop_positions(Steps& steps) {
  for (Step& step : steps)
    match(
        step.node, [](LaunchStep&) {}, [](PhaseStep&) {},
        [](BranchStep& x) {
          x.at = {};
          drop_positions(x.then_steps);
          drop_positions(x.else_steps);
        },
        [](LoopStep& x) {
          x.at = {};
          drop_positions(x.condition);
          drop_positions(x.body);
        },
        [](FixpointStep& x) { drop_positions(x.body); }, [](ResumeStep&) {},
        [](CollectiveStep& x) { x.at = {}; }, [](CopyStep& x) { x.at = {}; },
        [](SwapStep& x) { x.at = {}; });
}

}  // namespace

std::optional<uint32_t> Outline::find_hidden(Hidden::Kind kind) const {
  for (uint32_t i = 0; i < hidden.size(); ++i)
    if (hidden[i].kind == kind) return i;
  return std::nullopt;
}

Schedule schedule_of(const Plan& plan) {
  Schedule schedule{plan, {plan.segments.begin(), plan.segments.end()}};
  drop_positions(schedule.steps);
  for (FixpointInfo& info : schedule.fixpoints) {
    info.at = {};
    for (FixpointBuffer& buffer : info.buffers) buffer.why.clear();
  }
  for (ResumeInfo& resume : schedule.resumes) resume.at = {};
  for (Site& site : schedule.sites) site.at = {};
  return schedule;
}

}  // namespace vyre::plan
