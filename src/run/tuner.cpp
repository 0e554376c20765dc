// SPDX-License-Identifier: Apache-2.0
#include "run/tuner.hpp"

#include <new>

#include <fmt/format.h>

namespace vyre::run {

// ---- a trial

Trial::~Trial() {
  if (!tuner_) return;
  try {
    tuner_->abandon();
  } catch (const std::bad_alloc&) {
    // It is abandoned all the same; only what follows from it is not worked out.
  }
}

bool Trial::accept_code(const std::pair<Digest, Digest>& plan_and_code) {
  if (tuner_->accept_code(run_, plan_and_code)) return true;
  drop("the code is that of the default");
  return false;
}

void Trial::finish(uint64_t ns) {
  std::exchange(tuner_, nullptr)->finish(ns);
}

void Trial::drop(std::string why) {
  std::exchange(tuner_, nullptr)->drop(std::move(why));
}

// ---- the tuner

Tuner::Choice Tuner::choose(bool may_measure) {
  const std::scoped_lock lock(mutex_);
  if (record_) return {.tuned = record_->request()};
  if (!may_measure || !trials_ || busy_) return {};
  const auto run = trials_->next();
  if (!run) return {};
  const plan::RouteVariant& variant = trials_->rows()[run->row].variant;
  std::string text = fmt::format("trial {} of {}: {}", trials_->runs() + 1, trials_->most_runs(),
                                 plan::difference(variant, trials_->rows().front().variant));
  Choice choice;
  if (run->row != 0) choice.tuned = plan::TunedVariant{variant, text};
  choice.trial.emplace(shared_from_this(), *run, std::move(text));
  busy_ = true;
  return choice;
}

bool Tuner::needs_candidates() const {
  const std::scoped_lock lock(mutex_);
  return !record_ && !trials_;
}

void Tuner::start(const plan::RouteVariant& chosen,
                  const std::vector<plan::RouteVariant>& candidates) {
  const std::scoped_lock lock(mutex_);
  if (record_ || trials_) return;
  trials_.emplace(chosen, candidates);
  if (!candidates.empty()) return;
  // Known without a measurement, in this process and in any other.
  record_ = trials_->record();
  state_.store((state_.load(std::memory_order_relaxed) + kVersion) & ~kMeasuring,
               std::memory_order_release);
}

bool Tuner::accept_code(const Trials::Run& run, const std::pair<Digest, Digest>& code) {
  const std::scoped_lock lock(mutex_);
  if (run.row == 0) {
    default_code_ = code;
    return true;
  }
  return default_code_ != code;
}

void Tuner::finish(uint64_t ns) {
  const std::scoped_lock lock(mutex_);
  busy_ = false;
  trials_->add(ns);
  end_if_over();
}

void Tuner::drop(std::string why) {
  const std::scoped_lock lock(mutex_);
  busy_ = false;
  trials_->drop(std::move(why));
  end_if_over();
}

void Tuner::abandon() {
  const std::scoped_lock lock(mutex_);
  busy_ = false;
  const auto run = trials_->next();
  if (!run || run->row == 0) return;
  if (std::exchange(abandoned_row_, run->row) != run->row) abandoned_ = 0;
  if (++abandoned_ < kMostAbandoned) return;
  trials_->drop("dispatches with it fail");
  end_if_over();
}

void Tuner::end_if_over() {
  if (!trials_->is_over()) return;
  record_ = trials_->record();
  unsaved_ = true;
  state_.store((state_.load(std::memory_order_relaxed) + kVersion) & ~kMeasuring,
               std::memory_order_release);
}

std::optional<plan::TuningRecord> Tuner::take_unsaved() {
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(unsaved_, false)) return std::nullopt;
  return record_;
}

uint64_t Tuner::default_ns() const {
  const std::scoped_lock lock(mutex_);
  return trials_ ? trials_->default_ns().value_or(0) : 0;
}

Tuner::View Tuner::view() const {
  const std::scoped_lock lock(mutex_);
  View view{.rows = {}, .record = record_};
  if (!trials_) return view;
  view.rows = trials_->rows();
  view.runs = trials_->runs();
  view.most_runs = trials_->most_runs();
  return view;
}

}  // namespace vyre::run
