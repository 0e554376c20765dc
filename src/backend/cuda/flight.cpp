// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/flight.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "device/host_steps.hpp"

namespace vyre::backend::cuda {

using namespace device;
using namespace std::chrono_literals;

namespace {

// A short kernel is over before a sleep would be.
constexpr auto kSpin = 50us;
constexpr auto kShortSleep = 20us;
constexpr auto kLongSleep = 200us;
constexpr uint64_t kStagingAlign = 16;

Error error(ErrorCode code, std::string message) {
  return {.code = code, .message = std::move(message), .context = {}, .at = {}, .diagnostics = {}};
}

uint64_t ns_of(Clock::time_point time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

}  // namespace

// ---- what there is for all

Result<void> Flights::open() {
  if (auto ok = gpu_.check(gpu_.driver.stream_create(&control_stream_, kStreamNonBlocking),
                           "making a stream");
      !ok)
    return ok;
  void* zeros = nullptr;
  if (const Outcome got = gpu_.driver.host_allocate(&zeros, kAreaBytes, kHostAllocPortable);
      !got.ok())
    return std::unexpected(gpu_.allocation_failed(got, kAreaBytes));
  zeros_ = static_cast<std::byte*>(zeros);
  std::memset(zeros_, 0, kAreaBytes);
  return {};
}

void Flights::close() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& flight : flights_)
      if (flight->ticket != Ticket{}) stop(*flight, Flight::End::Cancelled);
  }
  std::ignore = gpu_.driver.context_synchronize();
  for (const auto& flight : flights_) destroy(*flight);
  flights_.clear();
  if (zeros_ != nullptr) std::ignore = gpu_.driver.host_free(zeros_);
  if (control_stream_ != nullptr) std::ignore = gpu_.driver.stream_destroy(control_stream_);
  zeros_ = nullptr;
  control_stream_ = nullptr;
}

Result<void> Flights::make(Flight& flight) {
  for (EventHandle* event : {&flight.done, &flight.cleared})
    if (*event == nullptr)
      if (auto ok =
              gpu_.check(gpu_.driver.event_create(event, kEventDisableTiming), "making an event");
          !ok)
        return ok;
  return {};
}

void Flights::destroy(Flight& flight) noexcept {
  for (EventHandle* event : {&flight.done, &flight.cleared})
    if (*event != nullptr) std::ignore = gpu_.driver.event_destroy(std::exchange(*event, nullptr));
  for (EventHandle timer : flight.timers) std::ignore = gpu_.driver.event_destroy(timer);
  for (const DeviceAddress area : flight.areas) std::ignore = gpu_.driver.memory_free(area);
  if (flight.staging != nullptr)
    std::ignore = gpu_.driver.host_free(std::exchange(flight.staging, nullptr));
  flight.timers.clear();
  flight.areas.clear();
  flight.clearing = false;
}

// ---- giving steps to the driver

Result<Flight*> Flights::begin(const Submission& submission) {
  Flight* flight = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    const auto free = std::ranges::find_if(
        flights_, [](const std::unique_ptr<Flight>& f) { return f->ticket == Ticket{}; });
    flight = free != flights_.end() ? free->get()
                                    : flights_.emplace_back(std::make_unique<Flight>()).get();
    flight->deadline = submission.deadline;
    flight->cancel = submission.cancel;
    flight->failed_step = submission.failed_step;
    flight->timing = submission.timing;
    flight->checked = submission.checked;
    flight->steps = static_cast<uint32_t>(submission.steps.size());
    flight->ticket = {next_ticket_++};
  }
  auto ready = make(*flight);
  if (ready && flight->timing) ready = start_clock(*flight);
  if (ready) return flight;
  retire(*flight, false);
  return std::unexpected(std::move(ready.error()));
}

Result<void> Flights::after(StreamHandle stream, std::span<const Ticket> tickets) {
  // Under the lock, so that nobody takes the event for another submission meanwhile.
  const std::scoped_lock lock(mutex_);
  for (const Ticket ticket : tickets)
    for (const auto& other : flights_)
      if (other->ticket == ticket && other->submitted)
        if (auto ok = gpu_.check(gpu_.driver.stream_wait(stream, other->done, 0),
                                 "waiting for other work");
            !ok)
          return ok;
  return {};
}

Result<void> Flights::add_area(Flight& flight) {
  constexpr std::string_view kDoing = "clearing a control block";
  DeviceAddress area = 0;
  if (const Outcome got = gpu_.driver.memory_allocate(&area, kAreaBytes); !got.ok())
    return std::unexpected(gpu_.allocation_failed(got, kAreaBytes));
  auto cleared =
      gpu_.check(gpu_.driver.copy_to_device(area, zeros_, kAreaBytes, control_stream_), kDoing);
  if (cleared)
    cleared = gpu_.check(gpu_.driver.event_record(flight.cleared, control_stream_), kDoing);
  if (!cleared) {
    std::ignore = gpu_.driver.memory_free(area);
    return cleared;
  }
  flight.clearing = true;
  const std::scoped_lock lock(mutex_);
  flight.areas.push_back(area);
  return {};
}

Result<DeviceAddress> Flights::control(Flight& flight, StreamHandle stream,
                                       const Flight::Launched& launch, bool cooperative) {
  const size_t index = flight.launches.size();
  if (index / kAreaControls == flight.areas.size())
    if (auto ok = add_area(flight); !ok) return std::unexpected(std::move(ok.error()));
  if (flight.clearing) {
    Outcome cleared = gpu_.driver.event_query(flight.cleared);
    if (cleared.status == status::kNotReady)
      cleared = gpu_.driver.stream_wait(stream, flight.cleared, 0);
    if (auto ok = gpu_.check(cleared, "waiting for a control block"); !ok)
      return std::unexpected(std::move(ok.error()));
    flight.clearing = false;
  }
  // Whoever stops the flight later finds this control among those in use.
  const std::scoped_lock lock(mutex_);
  if (flight.end.load(std::memory_order_relaxed) != Flight::End::None) return DeviceAddress{0};
  flight.launches.push_back(launch);
  flight.cooperative = flight.cooperative || cooperative;
  return flight.areas[index / kAreaControls] + index % kAreaControls * sizeof(GpuControl);
}

Result<std::byte*> Flights::stage(Flight& flight, uint64_t bytes) {
  if (flight.staging == nullptr) {
    void* staging = nullptr;
    if (const Outcome got = gpu_.driver.host_allocate(&staging, kStagingBytes, kHostAllocPortable);
        !got.ok())
      return std::unexpected(gpu_.allocation_failed(got, kStagingBytes));
    flight.staging = static_cast<std::byte*>(staging);
  }
  if (bytes > kStagingBytes - flight.staging_used) return nullptr;
  std::byte* const at = flight.staging + flight.staging_used;
  flight.staging_used =
      std::min((flight.staging_used + bytes + kStagingAlign - 1) / kStagingAlign * kStagingAlign,
               kStagingBytes);
  return at;
}

Result<bool> Flights::reach(Flight& flight, StreamHandle stream) {
  if (auto ok = gpu_.check(gpu_.driver.event_record(flight.done, stream), "marking work"); !ok)
    return std::unexpected(std::move(ok.error()));
  if (auto done = wait_for(flight.done, kNoDeadline); !done)
    return std::unexpected(std::move(done.error()));
  return flight.end.load(std::memory_order_acquire) == Flight::End::None;
}

bool Flights::look_at(Flight& flight) {
  if (flight.end.load(std::memory_order_acquire) != Flight::End::None) return true;
  const bool cancelled = flight.cancel != nullptr && flight.cancel->load(std::memory_order_relaxed);
  if (!cancelled && (flight.deadline == kNoDeadline || Clock::now() < flight.deadline))
    return false;
  const std::scoped_lock lock(mutex_);
  stop(flight, cancelled ? Flight::End::Cancelled : Flight::End::OutOfTime);
  return flight.end.load(std::memory_order_relaxed) != Flight::End::None;
}

void Flights::submitted(Flight& flight, StreamHandle stream) {
  const Outcome marked = gpu_.driver.event_record(flight.done, stream);
  const std::scoped_lock lock(mutex_);
  if (marked.ok())
    flight.submitted = true;
  else if (!flight.error)
    flight.error = gpu_.failed(marked, "marking work");
}

// ---- stopping

void Flights::watch(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  for (const auto& flight : flights_) {
    if (flight->ticket == Ticket{} ||
        flight->end.load(std::memory_order_relaxed) != Flight::End::None)
      continue;
    if (flight->cancel != nullptr && flight->cancel->load(std::memory_order_relaxed))
      stop(*flight, Flight::End::Cancelled);
    else if (now >= flight->deadline)
      stop(*flight, Flight::End::OutOfTime);
  }
}

// Under the lock. What cannot be stored is stored at the next look, unless the device is lost,
// which whoever waits is told.
void Flights::stop(Flight& flight, Flight::End end) {
  if (flight.end.load(std::memory_order_relaxed) != Flight::End::None) return;
  if (flight.submitted && gpu_.driver.event_query(flight.done).ok()) return;  // it is over already
  for (size_t i = 0; i < flight.launches.size(); ++i) {
    const DeviceAddress control =
        flight.areas[i / kAreaControls] + i % kAreaControls * sizeof(GpuControl);
    if (!gpu_.driver.set_words(control + offsetof(GpuControl, cancel), 1, 1, control_stream_).ok())
      return;
  }
  flight.end.store(end, std::memory_order_release);
}

Result<bool> Flights::wait_for(EventHandle event, Deadline until) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const Outcome asked = gpu_.driver.event_query(event);
    if (asked.ok()) return true;
    if (asked.status != status::kNotReady) return std::unexpected(gpu_.failed(asked, "work"));
    const Clock::time_point now = Clock::now();
    if (now >= until) return false;
    watch(now);
    if (now - begin < kSpin) continue;
    std::this_thread::sleep_for(now - begin < 20 * kSpin ? kShortSleep : kLongSleep);
  }
}

void Flights::settle() noexcept {
  const auto runs = [&] {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(flights_, [&](const std::unique_ptr<Flight>& flight) {
      return flight->submitted && gpu_.driver.event_query(flight->done).status == status::kNotReady;
    });
  };
  while (runs()) {
    watch(Clock::now());
    std::this_thread::sleep_for(kShortSleep);
  }
}

// ---- the end

Result<Completion> Flights::wait(Ticket ticket, Deadline deadline) {
  const Clock::time_point begin = Clock::now();
  Flight* flight = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& f : flights_)
      if (ticket != Ticket{} && f->ticket == ticket) flight = f.get();
  }
  if (flight == nullptr)
    return std::unexpected(error(ErrorCode::Internal,
                                 fmt::format("ticket {} is waited for, but there is no such work. "
                                             "Fix: report this as a bug of the driver",
                                             ticket.value)));
  Result<Completion> result;
  if (flight->submitted) {
    const auto done = wait_for(flight->done, deadline);
    if (done && !*done)
      return std::unexpected(
          error(ErrorCode::Timeout, fmt::format("the work of ticket {} on device `{}` is not done "
                                                "yet. Fix: wait for it again, or longer",
                                                ticket.value, gpu_.info.id)));
    if (done) {
      result = finish(*flight);
    } else {
      // Of several launches nobody knows which one it was.
      if (flight->failed_step != nullptr && flight->launches.size() == 1)
        *flight->failed_step = flight->launches[0].step;
      result = std::unexpected(done.error());
    }
  } else {
    // Nothing tells when it is over but the whole device.
    std::ignore = gpu_.driver.context_synchronize();
    result = std::unexpected(std::move(*flight->error));
  }
  const bool reuse = flight->submitted && (result || result.error().code != ErrorCode::DeviceLost);
  retire(*flight, reuse);
  if (result) result->timings.wait_ns = ns_of(Clock::now()) - ns_of(begin);
  return result;
}

Result<Completion> Flights::finish(Flight& flight) {
  if (flight.error) return std::unexpected(std::move(*flight.error));
  const bool stopped = flight.end.load(std::memory_order_acquire) != Flight::End::None;
  std::vector<KernelStop> stops;
  if (!flight.launches.empty() && (stopped || flight.checked)) {
    auto read = read_stops(flight);
    if (!read) return std::unexpected(std::move(read.error()));
    stops = std::move(*read);
  }
  if (stopped) return std::unexpected(stopped_error(flight, stops));
  if (auto ok = take_stops(flight, stops); !ok) return std::unexpected(std::move(ok.error()));
  for (const Flight::HostCopy& copy : flight.to_host) std::memcpy(copy.to, copy.from, copy.bytes);
  if (auto ok = take_times(flight); !ok) return std::unexpected(std::move(ok.error()));
  return std::move(flight.completion);
}

Result<std::vector<KernelStop>> Flights::read_stops(const Flight& flight) {
  constexpr std::string_view kDoing = "reading a control block";
  std::vector<GpuControl> controls(flight.launches.size());
  for (size_t first = 0; first < controls.size(); first += kAreaControls) {
    const size_t count = std::min<size_t>(controls.size() - first, kAreaControls);
    if (auto ok = gpu_.check(
            gpu_.driver.copy_to_host(&controls[first], flight.areas[first / kAreaControls],
                                     count * sizeof(GpuControl), control_stream_),
            kDoing);
        !ok)
      return std::unexpected(std::move(ok.error()));
  }
  if (auto ok = gpu_.check(gpu_.driver.stream_synchronize(control_stream_), kDoing); !ok)
    return std::unexpected(std::move(ok.error()));
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
    const Entry& entry = launch.code->kernels[launch.entry].entry;
    if (!entry.explain) break;
    why = entry.explain(stops[i]);
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
    Error why = entry.explain ? entry.explain(stop) : unexplained_error(entry, stop);
    if (entry.whole) {
      if (flight.failed_step != nullptr) *flight.failed_step = launch.step;
      return std::unexpected(std::move(why));
    }
    first = {.lane = stop.lane, .error = std::move(why)};
  }
  return {};
}

void Flights::retire(Flight& flight, bool reuse) {
  bool dirty = false;  // only these ever write to a control
  {
    // From here on nobody else touches the flight.
    const std::scoped_lock lock(mutex_);
    const auto end = flight.end.exchange(Flight::End::Over, std::memory_order_relaxed);
    dirty = end != Flight::End::None || flight.checked || flight.cooperative;
    flight.submitted = false;
  }
  if (reuse && dirty && !flight.launches.empty()) reuse = clear_controls(flight).has_value();
  if (!reuse) destroy(flight);
  const std::scoped_lock lock(mutex_);
  flight.cancel = nullptr;
  flight.failed_step = nullptr;
  flight.deadline = kNoDeadline;
  flight.timing = flight.checked = flight.cooperative = false;
  flight.end.store(Flight::End::None, std::memory_order_relaxed);
  flight.step = flight.steps = 0;
  flight.staging_used = flight.timers_used = 0;
  flight.launches.clear();
  flight.to_host.clear();
  flight.times.clear();
  flight.completion = {};
  flight.error.reset();
  flight.ticket = {};
}

Result<void> Flights::clear_controls(Flight& flight) {
  constexpr std::string_view kDoing = "clearing a control block";
  const size_t used = flight.launches.size();
  for (size_t first = 0; first < used; first += kAreaControls) {
    const size_t count = std::min<size_t>(used - first, kAreaControls);
    if (auto ok =
            gpu_.check(gpu_.driver.copy_to_device(flight.areas[first / kAreaControls], zeros_,
                                                  count * sizeof(GpuControl), control_stream_),
                       kDoing);
        !ok)
      return ok;
  }
  if (auto ok = gpu_.check(gpu_.driver.event_record(flight.cleared, control_stream_), kDoing); !ok)
    return ok;
  flight.clearing = true;
  return {};
}

// ---- times

// The first timer is the one all others are measured from; it has happened when this returns.
Result<void> Flights::start_clock(Flight& flight) {
  const auto first = timer(flight, control_stream_);
  if (!first) return std::unexpected(first.error());
  if (auto ok = gpu_.check(gpu_.driver.event_synchronize(*first), "reading the clock"); !ok)
    return ok;
  flight.base_ns = ns_of(Clock::now());
  return {};
}

Result<EventHandle> Flights::timer(Flight& flight, StreamHandle stream) {
  if (flight.timers_used == flight.timers.size()) {
    EventHandle made = nullptr;
    if (auto ok = gpu_.check(gpu_.driver.event_create(&made, kEventDefault), "making a timer"); !ok)
      return std::unexpected(std::move(ok.error()));
    flight.timers.push_back(made);
  }
  const EventHandle timer = flight.timers[flight.timers_used++];
  if (auto ok = gpu_.check(gpu_.driver.event_record(timer, stream), "recording a timer"); !ok)
    return std::unexpected(std::move(ok.error()));
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
      return flight.base_ns + static_cast<uint64_t>(std::max(double{ms}, 0.0) * 1e6);
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
