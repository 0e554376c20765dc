// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/submission_tracker.hpp"

#include <algorithm>
#include <utility>

#include "base/errors.hpp"

namespace vyre::backend::cuda {

using namespace device;

void SubmissionTracker::close() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& in_flight : submissions_) {
      if (in_flight->ticket == Ticket{}) continue;
      in_flight->cancel = nullptr;  // it may be gone
      stop(*in_flight, InFlightSubmission::End::Cancelled);
    }
  }
  // What does not stop on request is abandoned after a while; work that cannot be stopped ends
  // here.
  if (!settle(Clock::now() + 2 * grace_) && !gpu_.hung) {
    const std::scoped_lock lock(mutex_);
    const auto running = std::ranges::find_if(
        submissions_, [&](const std::unique_ptr<InFlightSubmission>& in_flight) {
          return in_flight->ticket != Ticket{} && resources_.runs(*in_flight);
        });
    if (running != submissions_.end()) abandon(**running);
  }
  if (gpu_.hung) return;
  for (const auto& in_flight : submissions_) destroy(*in_flight);
  replays_.clear();
  submissions_.clear();
  gpu_.in_flight_count = 0;
  loss_ = {};
  resources_.close();
}

void SubmissionTracker::destroy(InFlightSubmission& in_flight) noexcept {
  in_flight.graphs.clear();
  if (in_flight.replay) {
    const std::scoped_lock lock(mutex_);
    replays_.drop(in_flight);
  }
  resources_.release(in_flight);
}

// ---- giving steps to the driver

InFlightSubmission* SubmissionTracker::find(Ticket ticket) {
  const size_t slot = ticket.value & ((uint64_t{1} << kSlotBits) - 1);
  if (ticket == Ticket{} || slot >= submissions_.size()) return nullptr;
  return submissions_[slot]->ticket == ticket ? submissions_[slot].get() : nullptr;
}

InFlightSubmission& SubmissionTracker::take(const Submission& submission) {
  bool comes_again = false;
  Likeness like;
  if (submission.replay_key != 0 && submission.measure == Measure::Nothing && !submission.checked) {
    if (auto* const same = replays_.find(submission.replay_key); same != nullptr) return *same;
    like = likeness_of(submission);
    if (like.form != 0)
      if (InFlightSubmission* const in_flight = replays_.find(like, comes_again);
          in_flight != nullptr) {
        in_flight->like = like;
        return *in_flight;
      }
  }
  auto free = std::ranges::find_if(submissions_, [](const std::unique_ptr<InFlightSubmission>& f) {
    return f->ticket == Ticket{} && !f->replay;
  });
  if (free == submissions_.end())
    free = submissions_.insert(submissions_.end(), std::make_unique<InFlightSubmission>(
                                                       static_cast<uint32_t>(submissions_.size())));
  (*free)->like = like;
  (*free)->comes_again = comes_again;
  return **free;
}

Result<InFlightSubmission*> SubmissionTracker::begin(const Submission& submission,
                                                     StreamHandle stream) {
  InFlightSubmission* in_flight = nullptr;
  {
    std::unique_lock lock(mutex_);
    if (exclusive_ || wanting_ != 0 || gpu_.hung) [[unlikely]]
      VYRE_TRY(await_entry(lock, submission));
    in_flight = &take(submission);
    ++issuing_;
    in_flight->stream = stream;
    in_flight->deadline = submission.deadline;
    in_flight->cancel = submission.cancel;
    in_flight->failed_step = submission.failed_step;
    in_flight->measure = submission.measure;
    in_flight->checked = submission.checked || (in_flight->replay && in_flight->replay->may_stop);
    in_flight->steps = static_cast<uint32_t>(submission.steps.size());
    in_flight->ticket = {next_ticket_++ << kSlotBits | in_flight->slot};
    ++gpu_.in_flight_count;
    if (in_flight->replay) in_flight->replay->used = in_flight->ticket.value;
  }
  auto ready = resources_.prepare(*in_flight);
  // Earlier launches, which did not check for stops, may have left some.
  if (ready && submission.checked) ready = resources_.clear_controls(*in_flight);
  if (ready && in_flight->measure != Measure::Nothing) ready = resources_.start_clock(*in_flight);
  if (ready) return in_flight;
  retire(*in_flight, false);
  const std::scoped_lock lock(mutex_);
  --issuing_;
  return std::unexpected(std::move(ready.error()));
}

Result<void> SubmissionTracker::after(InFlightSubmission& in_flight,
                                      std::span<const Ticket> tickets) {
  // Under the lock, so that no other submission takes the event meanwhile.
  const std::scoped_lock lock(mutex_);
  in_flight.after.assign(tickets.begin(), tickets.end());
  for (const Ticket ticket : tickets) {
    const InFlightSubmission* const other = find(ticket);
    if (other == nullptr) continue;
    if (other->submitted) {
      VYRE_TRY(gpu_.check(gpu_.driver.stream_wait(in_flight.stream, other->done, 0),
                          "waiting for other work"));
    } else if (other->end.load(std::memory_order_relaxed) != InFlightSubmission::End::Over &&
               other->error) {
      return std::unexpected(*other->error);  // nothing signals when it is over
    }
  }
  return {};
}

Result<DeviceAddress> SubmissionTracker::control(InFlightSubmission& in_flight,
                                                 const InFlightSubmission::Launched& launch,
                                                 bool cooperative) {
  const size_t index = in_flight.launches.size();
  if (index / SubmissionResources::kAreaControls == in_flight.areas.size()) {
    VYRE_TRY_ASSIGN(const auto area, resources_.new_area(in_flight));
    const std::scoped_lock lock(mutex_);
    in_flight.areas.push_back(area);
  }
  // A later stop of the submission finds this control among those in use.
  const std::scoped_lock lock(mutex_);
  if (in_flight.end.load(std::memory_order_relaxed) != InFlightSubmission::End::None)
    return DeviceAddress{0};
  in_flight.launches.push_back(launch);
  in_flight.cooperative = in_flight.cooperative || cooperative;
  return SubmissionResources::control(in_flight, index);
}

void SubmissionTracker::recycle(InFlightSubmission& in_flight) {
  // Who stops the submission counts on them.
  const std::scoped_lock lock(mutex_);
  if (in_flight.checked || in_flight.cooperative ||
      in_flight.end.load(std::memory_order_relaxed) != InFlightSubmission::End::None)
    return;
  in_flight.used_controls = std::max(in_flight.used_controls, in_flight.launches.size());
  in_flight.launches.resize(in_flight.kept_launches);
}

void SubmissionTracker::forget_launches(InFlightSubmission& in_flight, size_t down_to) {
  const std::scoped_lock lock(mutex_);
  in_flight.used_controls = std::max(in_flight.used_controls, in_flight.launches.size());
  in_flight.launches.resize(down_to);
}

// ---- submissions that come again

void SubmissionTracker::keep(InFlightSubmission& in_flight,
                             std::unique_ptr<InFlightSubmission::Replay> replay) {
  const std::scoped_lock lock(mutex_);
  replays_.keep(in_flight, std::move(replay));
}

void SubmissionTracker::forget_replay(InFlightSubmission& in_flight) {
  const std::scoped_lock lock(mutex_);
  replays_.forget(in_flight);
}

Result<bool> SubmissionTracker::reach(InFlightSubmission& in_flight, StreamHandle stream) {
  VYRE_TRY(gpu_.check(gpu_.driver.event_record(in_flight.done, stream), "marking work"));
  if (auto done = wait_for(in_flight.done, kNoDeadline); !done)
    return std::unexpected(gpu_.hung ? hung_error(in_flight) : std::move(done.error()));
  return in_flight.end.load(std::memory_order_acquire) == InFlightSubmission::End::None;
}

bool SubmissionTracker::poll_stop(InFlightSubmission& in_flight) {
  if (in_flight.end.load(std::memory_order_acquire) != InFlightSubmission::End::None || gpu_.hung)
    return true;
  const bool cancelled =
      in_flight.cancel != nullptr && in_flight.cancel->load(std::memory_order_relaxed);
  if (!cancelled && (in_flight.deadline == kNoDeadline || Clock::now() < in_flight.deadline))
    return false;
  const std::scoped_lock lock(mutex_);
  stop(in_flight,
       cancelled ? InFlightSubmission::End::Cancelled : InFlightSubmission::End::OutOfTime);
  return in_flight.end.load(std::memory_order_relaxed) != InFlightSubmission::End::None;
}

void SubmissionTracker::submitted(InFlightSubmission& in_flight) {
  const Outcome marked = gpu_.driver.event_record(in_flight.done, in_flight.stream);
  const std::scoped_lock lock(mutex_);
  --issuing_;
  if (marked.ok())
    in_flight.submitted = true;
  else if (!in_flight.error)
    in_flight.error = gpu_.failed(marked, "marking work");
}

// ---- afterwards

void SubmissionTracker::retire(InFlightSubmission& in_flight, bool reuse) {
  bool dirty = false;  // the others write nothing that an unchecked launch would mind
  {
    // From here on no other thread touches the submission.
    const std::scoped_lock lock(mutex_);
    const auto end =
        in_flight.end.exchange(InFlightSubmission::End::Over, std::memory_order_relaxed);
    // A graph leaves its controls as it has found them.
    dirty = end != InFlightSubmission::End::None ||
            (!in_flight.replay && (in_flight.checked || in_flight.cooperative));
    in_flight.submitted = false;
  }
  in_flight.used_controls = std::max(in_flight.used_controls, in_flight.launches.size());
  in_flight.graphs.clear();
  if (reuse && dirty) reuse = resources_.clear_controls(in_flight).has_value();
  if (!reuse) destroy(in_flight);
  const std::scoped_lock lock(mutex_);
  in_flight.cancel = nullptr;
  in_flight.failed_step = nullptr;
  in_flight.deadline = kNoDeadline;
  in_flight.measure = Measure::Nothing;
  in_flight.checked = in_flight.cooperative = in_flight.comes_again = false;
  in_flight.end.store(InFlightSubmission::End::None, std::memory_order_relaxed);
  in_flight.stop_requested_at = InFlightSubmission::kNever;
  in_flight.step = in_flight.steps = 0;
  in_flight.staging_used = in_flight.timers_used = 0;
  in_flight.kept_launches = 0;
  if (!in_flight.replay) in_flight.launches.clear();
  in_flight.to_host.clear();
  in_flight.times.clear();
  in_flight.after.clear();
  in_flight.completion = {};
  in_flight.error.reset();
  in_flight.ticket = {};
  --gpu_.in_flight_count;
}

}  // namespace vyre::backend::cuda
