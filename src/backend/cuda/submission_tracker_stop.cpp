// SPDX-License-Identifier: Apache-2.0
// Waiting, while the waiter checks all time limits, and what it does about work that exceeds them.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "backend/cuda/submission_tracker.hpp"
#include "base/errors.hpp"
#include "device/host_steps.hpp"

namespace vyre::backend::cuda {

using namespace device;
using namespace std::chrono_literals;

namespace {

// A short kernel is over before a sleep would be.
constexpr auto kSpin = 4ms;
constexpr auto kWatchInterval = 20us;  // between two checks of the time limits
constexpr auto kQueryInterval = 5us;   // between two questions for an event where there is a mark
constexpr auto kShortSleep = 20us;
constexpr auto kLongSleep = 500us;
// Submissions that have not begun are held back when exclusive() has waited so long.
constexpr auto kPatience = 20ms;
// What is only faster with an exclusive moment waits for one so long, and then not for a while.
constexpr auto kMoment = 2ms;
constexpr auto kNextTry = 100ms;
// A batch of calls that takes longer is too much to have ahead of a stop.
constexpr auto kLongBatch = 50ms;
constexpr auto kShortBatch = 5ms;

std::chrono::milliseconds time_of_environment(const char* variable,
                                              std::chrono::milliseconds usual) {
  const char* const text = std::getenv(variable);
  uint32_t number = 0;
  if (text == nullptr) return usual;
  const char* const end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, number);
  return error == std::errc() && at == end ? std::chrono::milliseconds(number) : usual;
}

std::string kernels_of(const InFlightSubmission& in_flight) {
  const auto name = [](const InFlightSubmission::Launched& launch) -> const std::string& {
    return launch.code->kernels[launch.entry].entry.name;
  };
  const auto& launches = in_flight.launches;
  if (launches.empty()) return "work";
  if (launches.size() == 1) return fmt::format("the kernel of `{}`", name(launches[0]));
  return fmt::format("one of {} kernels, from `{}` to `{}`,", launches.size(), name(launches[0]),
                     name(launches.back()));
}

}  // namespace

SubmissionTracker::SubmissionTracker(const Gpu& gpu, SubmissionResources& resources)
    : gpu_(gpu),
      resources_(resources),
      grace_(time_of_environment(kGraceVariable, kGrace)),
      moment_(time_of_environment(kMomentVariable, kMoment)) {}

// ---- time limits

void SubmissionTracker::watch(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  if (gpu_.hung) return;
  for (const auto& in_flight : submissions_) {
    const auto end = in_flight->end.load(std::memory_order_relaxed);
    if (in_flight->ticket == Ticket{} || end == InFlightSubmission::End::Over) continue;
    if (end == InFlightSubmission::End::None) {
      if (in_flight->cancel != nullptr && in_flight->cancel->load(std::memory_order_relaxed))
        stop(*in_flight, InFlightSubmission::End::Cancelled);
      else if (now >= in_flight->deadline)
        stop(*in_flight, InFlightSubmission::End::OutOfTime);
    }
    if (in_flight->stop_requested_at == InFlightSubmission::kNever || !resources_.runs(*in_flight))
      continue;
    // What has not begun cannot end: its time starts anew when it does.
    if (is_behind_other(*in_flight))
      in_flight->stop_requested_at = now;
    else if (now >= in_flight->stop_requested_at + grace_)
      return abandon(*in_flight);
  }
}

// What cannot be stored is stored at the next check, unless the device is lost; the waiter gets
// that error.
void SubmissionTracker::stop(InFlightSubmission& in_flight, InFlightSubmission::End end) {
  if (in_flight.end.load(std::memory_order_relaxed) != InFlightSubmission::End::None) return;
  if (in_flight.submitted && gpu_.driver.event_query(in_flight.done).ok())
    return;  // it is over already
  if (in_flight.stop_requested_at == InFlightSubmission::kNever)
    in_flight.stop_requested_at = Clock::now();
  if (!resources_.cancel(in_flight)) return;
  in_flight.end.store(end, std::memory_order_release);
}

// A stream works in order. Work without a request to stop may take as long as it likes, and what is
// behind it has not begun.
bool SubmissionTracker::is_behind_other(const InFlightSubmission& in_flight) {
  const auto number = [](const InFlightSubmission& f) { return f.ticket.value >> kSlotBits; };
  if (std::ranges::any_of(in_flight.after, [&](Ticket ticket) {
        const InFlightSubmission* const other = find(ticket);
        return other != nullptr && other->submitted && resources_.runs(*other);
      }))
    return true;
  return std::ranges::any_of(submissions_, [&](const std::unique_ptr<InFlightSubmission>& other) {
    return other->ticket != Ticket{} && other->stream == in_flight.stream &&
           number(*other) < number(in_flight) && other->submitted && resources_.runs(*other);
  });
}

// ---- work that does not stop

void SubmissionTracker::abandon(const InFlightSubmission& in_flight) {
  loss_ = {.code = ErrorCode::DeviceLost,
           .message = fmt::format(
               "{} on device `{}` did not end within {} ms of being told to stop. It may run for "
               "ever and write to memory of the device, so nothing of the device is freed. Fix: "
               "restart the process; if the program ends on device `cpu`, report this as a bug",
               kernels_of(in_flight), gpu_.info.id, grace_.count()),
           .context = {},
           .at = {},
           .diagnostics = {}};
  gpu_.hung.store(true, std::memory_order_release);
}

Error SubmissionTracker::loss() {
  const std::scoped_lock lock(mutex_);
  return loss_;
}

Error SubmissionTracker::stopped_before(const InFlightSubmission& in_flight) {
  if (gpu_.hung) return hung_error(in_flight);
  return in_flight.end.load(std::memory_order_acquire) == InFlightSubmission::End::Cancelled
             ? cancelled_error()
             : out_of_time_error(0, in_flight.steps);
}

Error SubmissionTracker::hung_error(const InFlightSubmission& in_flight) {
  Error why = loss();
  if (in_flight.failed_step != nullptr)
    *in_flight.failed_step =
        in_flight.launches.size() == 1 ? in_flight.launches[0].step : in_flight.step;
  const auto end = in_flight.end.load(std::memory_order_acquire);
  if (end == InFlightSubmission::End::None) return why;
  why.code = ErrorCode::Timeout;
  why.message =
      fmt::format("the dispatch {}, and the device is lost: {}",
                  end == InFlightSubmission::End::Cancelled ? "was cancelled"
                                                            : "ran longer than its time limit",
                  why.message);
  return why;
}

bool SubmissionTracker::has_ended() {
  const std::scoped_lock lock(mutex_);
  return std::ranges::none_of(
      submissions_, [&](const std::unique_ptr<InFlightSubmission>& in_flight) {
        return in_flight->stream != nullptr &&
               gpu_.driver.stream_query(in_flight->stream).status == status::kNotReady;
      });
}

// ---- waiting

Result<bool> SubmissionTracker::wait_for(EventHandle event, Deadline until, uint32_t* mark) {
  const Clock::time_point begin = Clock::now();
  Clock::time_point watched = begin;
  Clock::time_point next_query = mark != nullptr ? begin + kQueryInterval : begin;
  for (Clock::time_point now = begin;; now = Clock::now()) {
    if (mark != nullptr && std::atomic_ref(*mark).load(std::memory_order_acquire) != 0) return true;
    if (now >= next_query) {
      const Outcome queried = gpu_.driver.event_query(event);
      if (queried.ok()) return true;
      if (queried.status != status::kNotReady) return std::unexpected(gpu_.failed(queried, "work"));
      if (mark != nullptr) next_query = now + kQueryInterval;
    }
    if (gpu_.hung.load(std::memory_order_acquire)) return std::unexpected(loss());
    if (now >= until) return false;
    if (now - watched >= kWatchInterval) {
      watch(now);
      watched = now;
    }
    const auto waited = now - begin;
    if (waited < kSpin) continue;
    // Long enough to be cheap, and short against what it has taken so far.
    std::this_thread::sleep_for(std::min<Clock::duration>(waited / 64, kLongSleep));
  }
}

bool SubmissionTracker::settle(Deadline until) noexcept {
  const auto any_runs = [&] {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(
        submissions_, [&](const std::unique_ptr<InFlightSubmission>& in_flight) {
          return in_flight->ticket != Ticket{} && resources_.runs(*in_flight);
        });
  };
  while (any_runs()) {
    const Clock::time_point now = Clock::now();
    if (gpu_.hung || now >= until) return false;
    watch(now);
    std::this_thread::sleep_for(kShortSleep);
  }
  return true;
}

bool SubmissionTracker::await_stream(const InFlightSubmission& in_flight) {
  while (gpu_.driver.stream_query(in_flight.stream).status == status::kNotReady) {
    if (gpu_.hung) return false;
    watch(Clock::now());
    std::this_thread::sleep_for(kShortSleep);
  }
  return true;
}

Result<bool> SubmissionTracker::keep_pace(InFlightSubmission& in_flight, Pace& pace) {
  constexpr std::string_view kDoing = "marking work";
  pace.calls = 0;
  EventHandle& here = pace.events[pace.next];
  pace.next ^= 1;
  const EventHandle before = pace.events[pace.next];
  if (here == nullptr)
    VYRE_TRY(gpu_.check(gpu_.driver.event_create(&here, kEventDisableTiming), kDoing));
  VYRE_TRY(gpu_.check(gpu_.driver.event_record(here, in_flight.stream), kDoing));
  if (before == nullptr) return true;
  const Clock::time_point begin = Clock::now();
  for (bool room = false; !room;) {
    auto done = wait_for(before, Clock::now() + kShortBatch);
    if (!done) return std::unexpected(gpu_.hung ? hung_error(in_flight) : std::move(done.error()));
    room = *done;
    if (!room && poll_stop(in_flight)) return false;
  }
  const auto took = Clock::now() - begin;
  if (took > kLongBatch) pace.batch = std::max(pace.batch / 4, Pace::kLeast);
  if (took < kShortBatch) pace.batch = std::min(pace.batch * 2, Pace::kMost);
  return true;
}

// ---- moments without work

bool SubmissionTracker::is_idle(const InFlightSubmission* inside) const {
  if (exclusive_ || issuing_ != (inside != nullptr ? 1U : 0U)) return false;
  return std::ranges::none_of(submissions_,
                              [&](const std::unique_ptr<InFlightSubmission>& in_flight) {
                                return in_flight->ticket != Ticket{} && resources_.runs(*in_flight);
                              });
}

Result<SubmissionTracker::Exclusive> SubmissionTracker::exclusive() {
  const Clock::time_point begin = Clock::now();
  bool wanting = false;
  for (;;) {
    const Clock::time_point now = Clock::now();
    {
      const std::scoped_lock lock(mutex_);
      const bool idle = !gpu_.hung && is_idle(nullptr);
      if (idle || gpu_.hung) {
        if (wanting) --wanting_;
        if (!idle) return std::unexpected(loss_);
        exclusive_ = true;
        break;
      }
      if (!wanting && now - begin >= kPatience) {
        wanting = true;
        ++wanting_;
      }
    }
    watch(now);
    std::this_thread::sleep_for(kShortSleep);
  }
  gpu_.deferred.run(gpu_.driver);
  return Exclusive(*this);
}

std::optional<SubmissionTracker::Exclusive> SubmissionTracker::try_exclusive(
    const InFlightSubmission& inside) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const Clock::time_point now = Clock::now();
    const std::scoped_lock lock(mutex_);
    if (gpu_.hung || wanting_ != 0 || now < next_try_) return std::nullopt;
    if (is_idle(&inside)) {
      exclusive_ = true;
      return std::optional<Exclusive>(std::in_place, *this);
    }
    if (now - begin < moment_) continue;
    next_try_ = now + kNextTry;
    return std::nullopt;
  }
}

void SubmissionTracker::end_exclusive() noexcept {
  const std::scoped_lock lock(mutex_);
  exclusive_ = false;
}

void SubmissionTracker::free_deferred() noexcept {
  if (gpu_.deferred.empty() || gpu_.hung) return;
  if (gpu_.deferred.many()) {
    const auto moment = exclusive();  // frees
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    if (wanting_ != 0 || !is_idle(nullptr)) return;
    exclusive_ = true;
  }
  const Exclusive moment(*this);
  gpu_.deferred.run(gpu_.driver);
}

Result<void> SubmissionTracker::await_entry(std::unique_lock<std::mutex>& lock,
                                            const Submission& submission) {
  while (exclusive_ || wanting_ != 0 || gpu_.hung) {
    if (gpu_.hung) return std::unexpected(loss_);
    lock.unlock();
    const Clock::time_point now = Clock::now();
    if (submission.cancel != nullptr && submission.cancel->load(std::memory_order_relaxed))
      return std::unexpected(cancelled_error());
    if (now >= submission.deadline)
      return std::unexpected(out_of_time_error(0, submission.steps.size()));
    watch(now);
    std::this_thread::sleep_for(kShortSleep);
    lock.lock();
  }
  return {};
}

}  // namespace vyre::backend::cuda
