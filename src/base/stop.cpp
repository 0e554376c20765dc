// SPDX-License-Identifier: Apache-2.0
#include "base/stop.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace vyre {

constinit thread_local StopState stop_state;

std::string_view text_of(Stage stage) {
  switch (stage) {
    case Stage::Prepare: return "preparing the program";
    case Stage::Parse: return "parsing the program";
    case Stage::Check: return "checking the program";
    case Stage::Plan: return "planning the program";
    case Stage::Generate: return "generating code";
    case Stage::Load: return "loading code on the device";
  }
  return "?";
}

Error error_of(const Stopped& stopped) {
  Error error;
  error.code = ErrorCode::Timeout;
  error.message =
      stopped.cancelled
          ? fmt::format("cancelled while {}. Fix: let it finish", text_of(stopped.stage))
          : fmt::format(
                "the time limit was reached while {}. Fix: allow more time, or use a "
                "smaller program",
                text_of(stopped.stage));
  return error;
}

StopScope::StopScope(const StopCondition& condition)
    : condition_(condition), outer_(stop_state.scope) {
  stop_state.scope = this;
}

StopScope::~StopScope() {
  stop_state.scope = outer_;
}

StopCondition::Time StopScope::deadline() {
  StopCondition::Time earliest = StopCondition::Time::max();
  for (const StopScope* s = stop_state.scope; s != nullptr; s = s->outer_)
    earliest = std::min(earliest, s->condition_.deadline);
  return earliest;
}

bool StopScope::active() {
  return stop_state.scope != nullptr;
}

StageScope::StageScope(Stage stage) : outer_(stop_state.stage) {
  stop_state.stage = stage;
}

StageScope::~StageScope() {
  stop_state.stage = outer_;
}

bool StopState::poll(Stopped& stopped) const {
  if (scope == nullptr) return false;
  stopped.stage = stage;
  const StopCondition::Time now = std::chrono::steady_clock::now();
  for (const StopScope* s = scope; s != nullptr; s = s->outer_) {
    const StopCondition& condition = s->condition_;
    if (condition.cancel != nullptr && condition.cancel->load(std::memory_order_relaxed)) {
      stopped.cancelled = true;
      return true;
    }
    if (now >= condition.deadline) return true;
  }
  return false;
}

bool stop_requested() {
  Stopped stopped;
  return stop_state.poll(stopped);
}

void poll_stop_now() {
  stop_state.countdown = StopState::kPollEvery;
  Stopped stopped;
  if (stop_state.poll(stopped)) throw stopped;
}

}  // namespace vyre
