// SPDX-License-Identifier: Apache-2.0
// What became of a submission: waiting for it, its stops and its times.
#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "backend/cuda/submission_tracker.hpp"
#include "base/errors.hpp"
#include "device/host_steps.hpp"

namespace vyre::backend::cuda {

using namespace device;

namespace {

// The first launch that was given up is the one that ran; those behind it did not get far.
Error stopped_error(InFlightSubmission& in_flight, std::span<const KernelStop> stops) {
  uint32_t step = in_flight.step;
  std::optional<Error> why;
  for (size_t i = 0; i < stops.size() && !why; ++i) {
    if (stops[i].kind != KernelStop::Kind::Loop) continue;
    const InFlightSubmission::Launched& launch = in_flight.launches[i];
    step = launch.step;
    if (!launch.code->explain) break;
    why = launch.code->explain(launch.entry, stops[i]);
  }
  if (in_flight.failed_step != nullptr) *in_flight.failed_step = step;
  if (why) return std::move(*why);
  return in_flight.end.load(std::memory_order_relaxed) == InFlightSubmission::End::Cancelled
             ? cancelled_error()
             : out_of_time_error(step, in_flight.steps);
}

// The error of a program without a plan, if a lane of it has stopped.
Result<void> take_stops(InFlightSubmission& in_flight, std::span<const KernelStop> stops) {
  auto& first = in_flight.completion.lane_stop;
  for (size_t i = 0; i < stops.size(); ++i) {
    const KernelStop& stop = stops[i];
    if (stop.kind == KernelStop::Kind::None) continue;
    const InFlightSubmission::Launched& launch = in_flight.launches[i];
    const Entry& entry = launch.code->kernels[launch.entry].entry;
    if (!entry.whole && first && first->lane <= stop.lane) continue;
    Error why = explain_stop(launch.code->explain, entry, launch.entry, stop);
    if (entry.whole) {
      if (in_flight.failed_step != nullptr) *in_flight.failed_step = launch.step;
      return std::unexpected(std::move(why));
    }
    first = {.lane = stop.lane, .error = std::move(why)};
  }
  return {};
}

// Calls report errors that are not their own. Among several launches it is unknown which one
// failed.
void blame_launch(const InFlightSubmission& in_flight) {
  if (in_flight.failed_step != nullptr && in_flight.launches.size() == 1)
    *in_flight.failed_step = in_flight.launches[0].step;
}

}  // namespace

Result<Completion> SubmissionTracker::wait(Ticket ticket, Deadline deadline) {
  const Clock::time_point begin = Clock::now();
  InFlightSubmission* in_flight = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    in_flight = find(ticket);
  }
  if (in_flight == nullptr)
    return std::unexpected(error(ErrorCode::Internal,
                                 fmt::format("ticket {} is waited for, but there is no such work. "
                                             "Fix: report this as a bug of the driver",
                                             ticket.value)));
  Result<Completion> result;
  if (in_flight->submitted) {
    const auto done =
        wait_for(in_flight->done, deadline, in_flight->replay ? in_flight->replay->mark : nullptr);
    if (done && !*done)
      return std::unexpected(
          error(ErrorCode::Timeout, fmt::format("the work of ticket {} on device `{}` is not done "
                                                "yet. Fix: wait for it again, or longer",
                                                ticket.value, gpu_.info.id)));
    if (done) {
      result = finish(*in_flight);
    } else if (gpu_.hung) {
      return std::unexpected(hung_error(*in_flight));  // the submission keeps what it has
    } else {
      // What the work still uses must not be freed.
      std::ignore = settle(Clock::now() + grace_);
      blame_launch(*in_flight);
      result = std::unexpected(done.error());
    }
  } else {
    // Only its stream signals when it is over.
    if (!await_stream(*in_flight)) return std::unexpected(hung_error(*in_flight));
    result = std::unexpected(std::move(*in_flight->error));
  }
  const bool reuse =
      in_flight->submitted && (result || result.error().code != ErrorCode::DeviceLost);
  retire(*in_flight, reuse);
  if (result) result->timings.wait_ns = ns_of(Clock::now()) - ns_of(begin);
  return result;
}

bool SubmissionTracker::is_done(Ticket ticket) {
  const std::scoped_lock lock(mutex_);
  const InFlightSubmission* const in_flight = find(ticket);
  if (in_flight == nullptr || !in_flight->submitted) return true;
  uint32_t* const mark = in_flight->replay ? in_flight->replay->mark : nullptr;
  if (mark != nullptr && std::atomic_ref(*mark).load(std::memory_order_acquire) != 0) return true;
  return gpu_.driver.event_query(in_flight->done).status != status::kNotReady;
}

void SubmissionTracker::drop(InFlightSubmission& in_flight) {
  blame_launch(in_flight);
  retire(in_flight, false);
}

Result<Completion> SubmissionTracker::finish(InFlightSubmission& in_flight) {
  if (in_flight.error) return std::unexpected(std::move(*in_flight.error));
  const bool stopped =
      in_flight.end.load(std::memory_order_acquire) != InFlightSubmission::End::None;
  std::vector<KernelStop> stops;
  if (!in_flight.launches.empty() && (stopped || in_flight.checked)) {
    VYRE_TRY_ASSIGN(auto read, resources_.read_stops(in_flight));
    stops = std::move(read);
  }
  if (stopped) return std::unexpected(stopped_error(in_flight, stops));
  VYRE_TRY(take_stops(in_flight, stops));
  for (const InFlightSubmission::HostCopy& copy : in_flight.to_host)
    std::memcpy(copy.to, copy.from, copy.bytes);
  VYRE_TRY(resources_.take_times(in_flight));
  return std::move(in_flight.completion);
}

// ---- times

}  // namespace vyre::backend::cuda
