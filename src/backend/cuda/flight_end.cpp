// SPDX-License-Identifier: Apache-2.0
// What became of a submission: waiting for it, its stops and its times.
#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "backend/cuda/flight.hpp"
#include "base/errors.hpp"
#include "device/host_steps.hpp"

namespace vyre::backend::cuda {

using namespace device;

namespace {

uint64_t ns_of(Clock::time_point time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

}  // namespace

Result<Completion> Flights::wait(Ticket ticket, Deadline deadline) {
  const Clock::time_point begin = Clock::now();
  Flight* flight = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    flight = find(ticket);
  }
  if (flight == nullptr)
    return std::unexpected(error(ErrorCode::Internal,
                                 fmt::format("ticket {} is waited for, but there is no such work. "
                                             "Fix: report this as a bug of the driver",
                                             ticket.value)));
  Result<Completion> result;
  if (flight->submitted) {
    const auto done =
        wait_for(flight->done, deadline, flight->replay ? flight->replay->mark : nullptr);
    if (done && !*done)
      return std::unexpected(
          error(ErrorCode::Timeout, fmt::format("the work of ticket {} on device `{}` is not done "
                                                "yet. Fix: wait for it again, or longer",
                                                ticket.value, gpu_.info.id)));
    if (done) {
      result = finish(*flight);
    } else if (gpu_.hung) {
      return std::unexpected(hung_error(*flight));  // the flight keeps what it has
    } else {
      // Nobody is to free what the work still uses.
      std::ignore = settle(Clock::now() + grace_);
      blame_launch(*flight);
      result = std::unexpected(done.error());
    }
  } else {
    // Nothing tells when it is over but its stream.
    if (!await_stream(*flight)) return std::unexpected(hung_error(*flight));
    result = std::unexpected(std::move(*flight->error));
  }
  const bool reuse = flight->submitted && (result || result.error().code != ErrorCode::DeviceLost);
  retire(*flight, reuse);
  if (result) result->timings.wait_ns = ns_of(Clock::now()) - ns_of(begin);
  return result;
}

bool Flights::is_done(Ticket ticket) {
  const std::scoped_lock lock(mutex_);
  const Flight* const flight = find(ticket);
  if (flight == nullptr || !flight->submitted) return true;
  uint32_t* const mark = flight->replay ? flight->replay->mark : nullptr;
  if (mark != nullptr && std::atomic_ref(*mark).load(std::memory_order_acquire) != 0) return true;
  return gpu_.driver.event_query(flight->done).status != status::kNotReady;
}

// Calls tell of errors that are not their own. Of several launches nobody knows which one it was.
void Flights::blame_launch(const Flight& flight) {
  if (flight.failed_step != nullptr && flight.launches.size() == 1)
    *flight.failed_step = flight.launches[0].step;
}

void Flights::drop(Flight& flight) {
  blame_launch(flight);
  retire(flight, false);
}

Result<Completion> Flights::finish(Flight& flight) {
  if (flight.error) return std::unexpected(std::move(*flight.error));
  const bool stopped = flight.end.load(std::memory_order_acquire) != Flight::End::None;
  std::vector<KernelStop> stops;
  if (!flight.launches.empty() && (stopped || flight.checked)) {
    VYRE_TRY_ASSIGN(auto read, read_stops(flight));
    stops = std::move(read);
  }
  if (stopped) return std::unexpected(stopped_error(flight, stops));
  VYRE_TRY(take_stops(flight, stops));
  for (const Flight::HostCopy& copy : flight.to_host) std::memcpy(copy.to, copy.from, copy.bytes);
  VYRE_TRY(take_times(flight));
  return std::move(flight.completion);
}

Result<std::vector<KernelStop>> Flights::read_stops(const Flight& flight) {
  constexpr std::string_view kDoing = "reading a control block";
  std::vector<GpuControl> controls(flight.launches.size());
  if (flight.replay && flight.replay->stops != nullptr) {
    std::memcpy(controls.data(), flight.replay->stops, controls.size() * sizeof(GpuControl));
  } else {
    GpuControl* to = controls.data();
    for (const Controls& area : Flights::controls(flight)) {
      if (auto ok =
              gpu_.check(gpu_.driver.copy_to_host(to, area.first, area.count * sizeof(GpuControl),
                                                  control_stream_),
                         kDoing);
          !ok)
        return std::unexpected(std::move(ok.error()));
      to += area.count;
    }
    VYRE_TRY(gpu_.check(gpu_.driver.stream_synchronize(control_stream_), kDoing));
  }
  std::vector<KernelStop> stops;
  stops.reserve(controls.size());
  for (const GpuControl& control : controls) stops.push_back(control.stop);
  return stops;
}

// The first launch that was given up is the one that ran; those behind it did not get far.
Error Flights::stopped_error(Flight& flight, std::span<const KernelStop> stops) {
  uint32_t step = flight.step;
  std::optional<Error> why;
  for (size_t i = 0; i < stops.size() && !why; ++i) {
    if (stops[i].kind != KernelStop::Kind::Loop) continue;
    const Flight::Launched& launch = flight.launches[i];
    step = launch.step;
    if (!launch.code->explain) break;
    why = launch.code->explain(launch.entry, stops[i]);
  }
  if (flight.failed_step != nullptr) *flight.failed_step = step;
  if (why) return std::move(*why);
  return flight.end.load(std::memory_order_relaxed) == Flight::End::Cancelled
             ? cancelled_error()
             : out_of_time_error(step, flight.steps);
}

Result<void> Flights::take_stops(Flight& flight, std::span<const KernelStop> stops) {
  auto& first = flight.completion.lane_stop;
  for (size_t i = 0; i < stops.size(); ++i) {
    const KernelStop& stop = stops[i];
    if (stop.kind == KernelStop::Kind::None) continue;
    const Flight::Launched& launch = flight.launches[i];
    const Entry& entry = launch.code->kernels[launch.entry].entry;
    if (!entry.whole && first && first->lane <= stop.lane) continue;
    Error why = explain_stop(launch.code->explain, entry, launch.entry, stop);
    if (entry.whole) {
      if (flight.failed_step != nullptr) *flight.failed_step = launch.step;
      return std::unexpected(std::move(why));
    }
    first = {.lane = stop.lane, .error = std::move(why)};
  }
  return {};
}

// ---- times

// The first timer is the one all others are measured from; it has happened when this returns.
Result<void> Flights::start_clock(Flight& flight) {
  VYRE_TRY_ASSIGN(const auto first, timer(flight, control_stream_));
  VYRE_TRY(gpu_.check(gpu_.driver.event_synchronize(first), "reading the clock"));
  flight.base_ns = ns_of(Clock::now());
  return {};
}

Result<EventHandle> Flights::timer(Flight& flight, StreamHandle stream) {
  if (flight.timers_used == flight.timers.size()) {
    EventHandle made = nullptr;
    VYRE_TRY(gpu_.check(gpu_.driver.event_create(&made, kEventDefault), "making a timer"));
    flight.timers.push_back(made);
  }
  const EventHandle timer = flight.timers[flight.timers_used++];
  VYRE_TRY(gpu_.check(gpu_.driver.event_record(timer, stream), "recording a timer"));
  return timer;
}

Result<void> Flights::take_times(Flight& flight) {
  if (!flight.timing) return {};
  uint64_t device_ns = 0;
  for (const Flight::StepEvents& step : flight.times) {
    float begin_ms = 0;
    float end_ms = 0;
    for (const auto& [to, event] : {std::pair{&begin_ms, step.begin}, {&end_ms, step.end}})
      if (auto ok =
              gpu_.check(gpu_.driver.event_elapsed(to, flight.timers[0], event), "reading a timer");
          !ok)
        return ok;
    const auto at = [&](float ms) {
      return flight.base_ns + static_cast<uint64_t>(std::max(static_cast<double>(ms), 0.0) * 1e6);
    };
    flight.completion.steps.push_back({.step = step.step,
                                       .begin_ns = at(begin_ms),
                                       .end_ns = std::max(at(end_ms), at(begin_ms))});
    if (step.launch)
      device_ns += flight.completion.steps.back().end_ns - flight.completion.steps.back().begin_ns;
  }
  flight.completion.timings.device_ns = device_ns;
  return {};
}

}  // namespace vyre::backend::cuda
