// SPDX-License-Identifier: Apache-2.0
// Waiting, with a look at all time limits, and what is done about work that goes on after them.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "backend/cuda/flight.hpp"
#include "base/errors.hpp"
#include "device/host_steps.hpp"

namespace vyre::backend::cuda {

using namespace device;
using namespace std::chrono_literals;

namespace {

// A short kernel is over before a sleep would be.
constexpr auto kSpin = 4ms;
constexpr auto kLook = 20us;  // between two looks at the time limits
constexpr auto kAsk = 5us;    // between two questions for an event where there is a mark
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

std::string kernels_of(const Flight& flight) {
  const auto name = [](const Flight::Launched& launch) -> const std::string& {
    return launch.code->kernels[launch.entry].entry.name;
  };
  const auto& launches = flight.launches;
  if (launches.empty()) return "work";
  if (launches.size() == 1) return fmt::format("the kernel of `{}`", name(launches[0]));
  return fmt::format("one of {} kernels, from `{}` to `{}`,", launches.size(), name(launches[0]),
                     name(launches.back()));
}

}  // namespace

Flights::Flights(const Gpu& gpu)
    : gpu_(gpu),
      grace_(time_of_environment(kGraceVariable, kGrace)),
      moment_(time_of_environment(kMomentVariable, kMoment)) {}

// ---- time limits

void Flights::watch(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  if (gpu_.hung) return;
  for (const auto& flight : flights_) {
    const auto end = flight->end.load(std::memory_order_relaxed);
    if (flight->ticket == Ticket{} || end == Flight::End::Over) continue;
    if (end == Flight::End::None) {
      if (flight->cancel != nullptr && flight->cancel->load(std::memory_order_relaxed))
        stop(*flight, Flight::End::Cancelled);
      else if (now >= flight->deadline)
        stop(*flight, Flight::End::OutOfTime);
    }
    if (flight->told_to_stop == Flight::kNever || !runs(*flight)) continue;
    // What has not begun cannot end: its time starts anew when it does.
    if (is_behind_other(*flight))
      flight->told_to_stop = now;
    else if (now >= flight->told_to_stop + grace_)
      return abandon(*flight);
  }
}

// What cannot be stored is stored at the next look, unless the device is lost, which whoever waits
// is told.
void Flights::stop(Flight& flight, Flight::End end) {
  if (flight.end.load(std::memory_order_relaxed) != Flight::End::None) return;
  if (flight.submitted && gpu_.driver.event_query(flight.done).ok()) return;  // it is over already
  if (flight.told_to_stop == Flight::kNever) flight.told_to_stop = Clock::now();
  for (size_t i = 0; i < flight.launches.size(); ++i) {
    const DeviceAddress control =
        flight.areas[i / kAreaControls] + i % kAreaControls * sizeof(GpuControl);
    if (!gpu_.driver.set_words(control + offsetof(GpuControl, cancel), 1, 1, control_stream_).ok())
      return;
  }
  flight.end.store(end, std::memory_order_release);
}

bool Flights::runs(const Flight& flight) const {
  const Outcome asked = flight.submitted ? gpu_.driver.event_query(flight.done)
                                         : gpu_.driver.stream_query(flight.stream);
  return asked.status == status::kNotReady;
}

// A stream works in order. Work that nobody told to stop may take as long as it likes, and what is
// behind it has not begun.
bool Flights::is_behind_other(const Flight& flight) {
  const auto number = [](const Flight& f) { return f.ticket.value >> kSlotBits; };
  if (std::ranges::any_of(flight.after, [&](Ticket ticket) {
        const Flight* const other = find(ticket);
        return other != nullptr && other->submitted && runs(*other);
      }))
    return true;
  return std::ranges::any_of(flights_, [&](const std::unique_ptr<Flight>& other) {
    return other->ticket != Ticket{} && other->stream == flight.stream &&
           number(*other) < number(flight) && other->submitted && runs(*other);
  });
}

// ---- work that does not stop

void Flights::abandon(const Flight& flight) {
  loss_ = {.code = ErrorCode::DeviceLost,
           .message = fmt::format(
               "{} on device `{}` did not end within {} ms of being told to stop. It may run for "
               "ever and write to memory of the device, so nothing of the device is freed. Fix: "
               "restart the process; if the program ends on device `cpu`, report this as a bug",
               kernels_of(flight), gpu_.info.id, grace_.count()),
           .context = {},
           .at = {},
           .diagnostics = {}};
  gpu_.hung.store(true, std::memory_order_release);
}

Error Flights::loss() {
  const std::scoped_lock lock(mutex_);
  return loss_;
}

Error Flights::stopped_before(const Flight& flight) {
  if (gpu_.hung) return hung_error(flight);
  return flight.end.load(std::memory_order_acquire) == Flight::End::Cancelled
             ? cancelled_error()
             : out_of_time_error(0, flight.steps);
}

Error Flights::hung_error(const Flight& flight) {
  Error why = loss();
  if (flight.failed_step != nullptr)
    *flight.failed_step = flight.launches.size() == 1 ? flight.launches[0].step : flight.step;
  const auto end = flight.end.load(std::memory_order_acquire);
  if (end == Flight::End::None) return why;
  why.code = ErrorCode::Timeout;
  why.message = fmt::format(
      "the dispatch {}, and the device is lost: {}",
      end == Flight::End::Cancelled ? "was cancelled" : "ran longer than its time limit",
      why.message);
  return why;
}

bool Flights::has_ended() {
  const std::scoped_lock lock(mutex_);
  return std::ranges::none_of(flights_, [&](const std::unique_ptr<Flight>& flight) {
    return flight->stream != nullptr &&
           gpu_.driver.stream_query(flight->stream).status == status::kNotReady;
  });
}

// ---- waiting

Result<bool> Flights::wait_for(EventHandle event, Deadline until, uint32_t* mark) {
  const Clock::time_point begin = Clock::now();
  Clock::time_point looked = begin;
  Clock::time_point ask = mark != nullptr ? begin + kAsk : begin;
  for (Clock::time_point now = begin;; now = Clock::now()) {
    if (mark != nullptr && std::atomic_ref(*mark).load(std::memory_order_acquire) != 0) return true;
    if (now >= ask) {
      const Outcome asked = gpu_.driver.event_query(event);
      if (asked.ok()) return true;
      if (asked.status != status::kNotReady) return std::unexpected(gpu_.failed(asked, "work"));
      if (mark != nullptr) ask = now + kAsk;
    }
    if (gpu_.hung.load(std::memory_order_acquire)) return std::unexpected(loss());
    if (now >= until) return false;
    if (now - looked >= kLook) {
      watch(now);
      looked = now;
    }
    const auto waited = now - begin;
    if (waited < kSpin) continue;
    // Long enough to be cheap, and short against what it has taken so far.
    std::this_thread::sleep_for(std::min<Clock::duration>(waited / 64, kLongSleep));
  }
}

bool Flights::settle(Deadline until) noexcept {
  const auto any_runs = [&] {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(flights_, [&](const std::unique_ptr<Flight>& flight) {
      return flight->ticket != Ticket{} && runs(*flight);
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

bool Flights::await_stream(const Flight& flight) {
  while (gpu_.driver.stream_query(flight.stream).status == status::kNotReady) {
    if (gpu_.hung) return false;
    watch(Clock::now());
    std::this_thread::sleep_for(kShortSleep);
  }
  return true;
}

Result<bool> Flights::keep_pace(Flight& flight, Pace& pace) {
  constexpr std::string_view kDoing = "marking work";
  pace.calls = 0;
  EventHandle& here = pace.events[pace.next];
  pace.next ^= 1;
  const EventHandle before = pace.events[pace.next];
  if (here == nullptr)
    VYRE_TRY(gpu_.check(gpu_.driver.event_create(&here, kEventDisableTiming), kDoing));
  VYRE_TRY(gpu_.check(gpu_.driver.event_record(here, flight.stream), kDoing));
  if (before == nullptr) return true;
  const Clock::time_point begin = Clock::now();
  for (bool room = false; !room;) {
    auto done = wait_for(before, Clock::now() + kShortBatch);
    if (!done) return std::unexpected(gpu_.hung ? hung_error(flight) : std::move(done.error()));
    room = *done;
    if (!room && look_at(flight)) return false;
  }
  const auto took = Clock::now() - begin;
  if (took > kLongBatch) pace.batch = std::max(pace.batch / 4, Pace::kLeast);
  if (took < kShortBatch) pace.batch = std::min(pace.batch * 2, Pace::kMost);
  return true;
}

// ---- moments without work

bool Flights::is_idle(const Flight* inside) const {
  if (exclusive_ || issuing_ != (inside != nullptr ? 1U : 0U)) return false;
  return std::ranges::none_of(flights_, [&](const std::unique_ptr<Flight>& flight) {
    return flight->ticket != Ticket{} && runs(*flight);
  });
}

Result<Flights::Exclusive> Flights::exclusive() {
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

std::optional<Flights::Exclusive> Flights::try_exclusive(const Flight& inside) {
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

void Flights::end_exclusive() noexcept {
  const std::scoped_lock lock(mutex_);
  exclusive_ = false;
}

void Flights::free_deferred() noexcept {
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

Result<void> Flights::await_entry(std::unique_lock<std::mutex>& lock,
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
