// SPDX-License-Identifier: Apache-2.0
// A plan's loops and branches as steps of the device.
#include "base/errors.hpp"
#include "base/match.hpp"
#include "run/plan_runner.hpp"

namespace vyre::run {

using namespace plan;
using device::Exit;

void PlanRunner::exit_if(uint32_t control_word, bool equal, uint32_t value) {
  const uint32_t control = *plan_.find_hidden(Hidden::Kind::Control);
  recorder_.add(Exit{m_.hidden_word(control, control_word), equal, value});
}

Result<void> PlanRunner::record(const Steps& list) {
  for (const Step& step : list) {
    const Result<void> recorded = match(
        step.node, [&](const LaunchStep& x) { return record_launch(x.segment); },
        [&](const PhaseStep&) -> Result<void> {
          if (can_stop()) exit_if(ControlWords::kStop, false, kNoLane);
          return {};
        },
        [&](const BranchStep& x) -> Result<void> {
          const uint32_t row = *plan_.find_hidden(Hidden::Kind::Frame);
          const uint32_t at = recorder_.size();
          recorder_.add(device::Branch{0, 0, m_.hidden_word(row, x.word)});
          VYRE_TRY(record(x.then_steps));
          const uint32_t then_end = recorder_.size();
          VYRE_TRY(record(x.else_steps));
          auto& branch = std::get<device::Branch>(recorder_.step(at));
          branch.then_steps = then_end - at - 1;
          branch.else_steps = recorder_.size() - then_end;
          return {};
        },
        [&](const LoopStep& x) -> Result<void> {
          const uint32_t row = *plan_.find_hidden(Hidden::Kind::Frame);
          const uint32_t at = recorder_.size();
          recorder_.add(device::While{0, 0, m_.hidden_word(row, x.word)});
          VYRE_TRY(record(x.condition));
          const uint32_t condition_end = recorder_.size();
          VYRE_TRY(record(x.body));
          auto& loop = std::get<device::While>(recorder_.step(at));
          loop.condition_steps = condition_end - at - 1;
          loop.body_steps = recorder_.size() - condition_end;
          return {};
        },
        [&](const FixpointStep& x) { return record_fixpoint(x); },
        [](const ResumeStep&) -> Result<void> { return {}; },  // such plans are not recorded
        [](const CollectiveStep&) -> Result<void> { return {}; },
        [](const CopyStep&) -> Result<void> { return {}; },
        [](const SwapStep&) -> Result<void> { return {}; });
    if (!recorded) return recorded;
  }
  return {};
}

Result<void> PlanRunner::record_launch(uint32_t index) {
  const SegmentLaunch& segment = plan_.segments[index];
  VYRE_TRY(add_launch(index));
  if (segment.barriers_inside && can_stop()) exit_if(ControlWords::kStopped, false, 0);
  if (segment.ends_phase && can_stop()) exit_if(ControlWords::kStop, false, kNoLane);
  if (segment.reports_live) exit_if(ControlWords::kLive, true, 0);
  // The halves cannot change their roles in a list of fixed steps.
  if (segment.swaps_frame) m_.carry(Hidden::Kind::Frame);
  if (segment.swaps_group_frame) m_.carry(Hidden::Kind::GroupFrame);
  return {};
}

Result<void> PlanRunner::record_fixpoint(const FixpointStep& x) {
  const FixpointInfo& info = plan_.fixpoints[x.fixpoint];
  const uint32_t control = *plan_.find_hidden(Hidden::Kind::Control);
  const uint32_t changed = plan_.control.changed(x.fixpoint);
  const uint32_t at = recorder_.size();
  device::Repeat repeat;
  repeat.most = x.most.value_or(0);
  if (!x.most) repeat.most_from = m_.hidden_word(*plan_.find_hidden(Hidden::Kind::Frame), x.word);
  repeat.until_zero = m_.hidden_word(control, changed);
  repeat.result = m_.driver_word(DriverWords::result(x.fixpoint));
  repeat.total = m_.driver_word(DriverWords::total(x.fixpoint));
  recorder_.add(repeat);
  recorder_.note_fixpoint(x.fixpoint);
  for (const FixpointBuffer& b : info.buffers)
    if (b.snapshot) m_.take_snapshot(*b.snapshot, b.buffer);
  m_.set_hidden_word(control, changed, 0);
  VYRE_TRY(record(x.body));
  for (const FixpointBuffer& b : info.buffers)
    if (b.snapshot) m_.compare_snapshot(*b.snapshot, b.buffer, changed);
  std::get<device::Repeat>(recorder_.step(at)).body_steps = recorder_.size() - at - 1;
  if (const auto row = plan_.find_hidden(Hidden::Kind::Fixpoint)) {
    const device::Word to = m_.hidden_word(*row, 0);
    recorder_.add(
        device::Copy{{to.buffer, to.offset, 8}, {repeat.result->buffer, repeat.result->offset, 8}});
  }
  return {};
}

}  // namespace vyre::run
