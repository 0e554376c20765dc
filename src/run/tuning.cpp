// SPDX-License-Identifier: Apache-2.0
#include "run/tuning.hpp"

#include <algorithm>
#include <utility>

#include "run/state.hpp"

namespace vyre::run {

using device::TelemetryField;

namespace {

using Clock = std::chrono::steady_clock;

// A dispatch with a time limit is measured only if so much of it is left, since a candidate may be
// slower than the default.
constexpr std::chrono::seconds kLeastTimeLeft{1};
constexpr uint64_t kLeastRunsLeft = 20;  // of the default

}  // namespace

// Of a call whose launch is not known to the host there is no shape class, and a cooperative launch
// that is required leaves nothing to choose.
bool DispatchTuning::is_tuned() const {
  return config_.tune.value_or(Tune::Off) != Tune::Off && !w_.wanted.unknown_grid &&
         config_.cooperative != Cooperative::Require;
}

// Other times than those of the program count in dispatches with a handler or with ranks.
bool DispatchTuning::may_measure() const {
  if (!may_try_ || config_.tune != Tune::On || config_.trap_handler || config_.communicator ||
      config_.untrusted.value_or(false))
    return false;
  const device::Deadline deadline = deadline_of(config_, start_);
  if (deadline == device::kNoDeadline) return true;
  const uint64_t expected = has_tuner() ? w_.suggestion.tuner->default_ns() : 0;
  const std::chrono::nanoseconds left = deadline - Clock::now();
  return left >= kLeastTimeLeft && static_cast<uint64_t>(left.count()) / kLeastRunsLeft >= expected;
}

bool DispatchTuning::has_tuner() const {
  return w_.suggestion.tuner != nullptr;
}

uint64_t DispatchTuning::now() const {
  return p_.device->tuning_clock();
}

std::optional<plan::TunedVariant> DispatchTuning::choose() {
  Suggestion& suggestion = w_.suggestion;
  trial_.reset();
  suggestion.by_record = false;
  if (!is_tuned()) {
    suggestion.tuner.reset();
    return std::nullopt;
  }
  DeviceState& device = *p_.device;
  if (!suggestion.tuner) {
    const pipeline::CacheKey key =
        device.compiler.tuning_key({.source = p_.source,
                                    .policy = w_.wanted.policy,
                                    .shape = plan::shape_class_of(*p_.source.program, w_.launch)});
    suggestion.tuner = device.tuners.find(
        key, [&] { return device.fresh_tuning ? std::nullopt : device.compiler.find_tuning(key); });
    const std::scoped_lock lock(p_.mutex);
    p_.tuner = suggestion.tuner;
  }
  suggestion.state = suggestion.tuner->state();
  Tuner::Choice choice = suggestion.tuner->choose(may_measure());
  suggestion.by_record = choice.tuned && !choice.trial;
  if (choice.trial) trial_.emplace(std::move(*choice.trial));
  return std::move(choice.tuned);
}

bool DispatchTuning::is_settled() const {
  const Suggestion& suggestion = w_.suggestion;
  return !suggestion.tuner || suggestion.tuner->is_settled(suggestion.state, may_measure());
}

bool DispatchTuning::needs_candidates() const {
  return has_tuner() && may_measure() && w_.suggestion.tuner->needs_candidates();
}

void DispatchTuning::offer_candidates(const plan::DeviceModel& model,
                                      const plan::Strategy& chosen) {
  if (chosen.tuned || !needs_candidates()) return;
  w_.suggestion.tuner->start(chosen.variant, plan::candidates(*p_.source.program, w_.launch, model,
                                                              strategy_request(config_)));
}

StopCondition DispatchTuning::compile_stop() const {
  StopCondition stop = stop_condition(config_, start_);
  const Clock::time_point now = Clock::now();
  if (stop.deadline != StopCondition::Time::max()) stop.deadline = now + (stop.deadline - now) / 2;
  return stop;
}

void DispatchTuning::refuse(std::string why) {
  if (trial_) trial_->drop(std::move(why));
  trial_.reset();
  w_.suggestion.by_record = false;
}

void DispatchTuning::check_code() {
  const pipeline::Variant& made = *w_.variant;
  if (trial_ && !trial_->accept_code({made.plan_digest, made.code_digest})) trial_.reset();
}

void DispatchTuning::finish(Result<Report>& report, uint64_t start) {
  if (trial_ && report) {
    report->trial = trial_->text();
    trial_->finish(now() - start);
    p_.device->telemetry.add(TelemetryField::TuningTrials);
  } else if (trial_ && trial_->is_of_candidate() &&
             (report.error().code == ErrorCode::DeviceLost ||
              report.error().code == ErrorCode::Timeout)) {
    trial_->drop("a dispatch with it has lost the device, or run out of time");
  }
  trial_.reset();
  keep_measurements();
}

void DispatchTuning::keep_measurements() {
  Tuner& tuner = *w_.suggestion.tuner;
  const auto record = tuner.take_unsaved();
  if (!record) return;
  DeviceState& device = *p_.device;
  if (record->adopted) device.telemetry.add(TelemetryField::TuningAdopted);
  device.compiler.store_tuning(tuner.key(), *record, p_.source.program->program.name);
  // Code that lost the comparison is not needed again soon; the compiler may still have it.
  const std::vector<Trials::Row> rows = tuner.view().rows;
  const auto has_lost = [&](const std::shared_ptr<const pipeline::Variant>& known) {
    const plan::RouteVariant& variant = known->policy.variant;
    return variant != rows.front().variant && variant != record->adopted &&
           std::ranges::find(rows, variant, &Trials::Row::variant) != rows.end();
  };
  const std::scoped_lock lock(p_.mutex);
  std::erase_if(p_.variants, has_lost);
}

// ---- what a caller sees

std::optional<TuningView> Pipeline::tuning() const {
  if (!state_ || state_->device->backend->is_of_parent()) return std::nullopt;
  std::shared_ptr<Tuner> tuner;
  {
    const std::scoped_lock lock(state_->mutex);
    tuner = state_->tuner;
  }
  if (!tuner) return std::nullopt;
  const Tuner::View known = tuner->view();
  TuningView view{
      .rows = {}, .record = known.record, .runs = known.runs, .most_runs = known.most_runs};
  for (const Trials::Row& row : known.rows) {
    TuningView::Row shown{.variant = row.variant,
                          .what = plan::difference(row.variant, known.rows.front().variant),
                          .pairs = static_cast<uint32_t>(row.own_ns.size()),
                          .dropped = row.dropped};
    if (!row.own_ns.empty()) {
      shown.default_ns = median_of(row.default_ns);
      shown.own_ns = median_of(row.own_ns);
    }
    view.rows.push_back(std::move(shown));
  }
  return view;
}

}  // namespace vyre::run
