// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/submission_resources.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/errors.hpp"

namespace vyre::backend::cuda {

using namespace device;

namespace {

constexpr uint64_t kStagingAlign = 16;
// Zeros to clear an area with, and marks.
constexpr uint64_t kBytes =
    SubmissionResources::kAreaBytes + SubmissionResources::kMarks * SubmissionResources::kMarkBytes;

}  // namespace

uint64_t ns_of(Clock::time_point time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

Result<void> SubmissionResources::open() {
  VYRE_TRY(gpu_.check(gpu_.driver.stream_create(&control_stream_, kStreamNonBlocking),
                      "making a stream"));
  void* zeros = nullptr;
  if (const Outcome got =
          gpu_.driver.host_allocate(&zeros, kBytes, kHostAllocPortable | kHostAllocDeviceMap);
      !got.ok())
    return std::unexpected(gpu_.allocation_failed(got, kBytes));
  zeros_ = static_cast<std::byte*>(zeros);
  gpu_.counters.staging_bytes.fetch_add(kBytes, std::memory_order_relaxed);
  std::memset(zeros_, 0, kBytes);
  DeviceAddress address = 0;
  VYRE_TRY(gpu_.check(gpu_.driver.host_address(&address, zeros_, 0), "finding pinned memory"));
  marks_ = address + kAreaBytes;
  return {};
}

void SubmissionResources::close() noexcept {
  if (zeros_ != nullptr) {
    gpu_.deferred.pinned(zeros_, kBytes);
    gpu_.counters.staging_bytes.fetch_sub(kBytes, std::memory_order_relaxed);
  }
  if (control_stream_ != nullptr) std::ignore = gpu_.driver.stream_destroy(control_stream_);
  zeros_ = nullptr;
  control_stream_ = nullptr;
}

Result<void> SubmissionResources::prepare(InFlightSubmission& in_flight) {
  for (EventHandle* event : {&in_flight.done, &in_flight.cleared})
    if (*event == nullptr)
      if (auto ok =
              gpu_.check(gpu_.driver.event_create(event, kEventDisableTiming), "making an event");
          !ok)
        return ok;
  return {};
}

void SubmissionResources::release(InFlightSubmission& in_flight) noexcept {
  for (EventHandle* event : {&in_flight.done, &in_flight.cleared})
    if (*event != nullptr) std::ignore = gpu_.driver.event_destroy(std::exchange(*event, nullptr));
  for (EventHandle timer : in_flight.timers) std::ignore = gpu_.driver.event_destroy(timer);
  for (const DeviceAddress area : in_flight.areas) gpu_.deferred.memory(area, kAreaBytes);
  if (in_flight.staging != nullptr) {
    gpu_.deferred.pinned(std::exchange(in_flight.staging, nullptr), kStagingBytes);
    gpu_.counters.staging_bytes.fetch_sub(kStagingBytes, std::memory_order_relaxed);
  }
  in_flight.timers.clear();
  in_flight.areas.clear();
  in_flight.used_controls = 0;
  in_flight.clearing = false;
}

// ---- control blocks

Result<DeviceAddress> SubmissionResources::new_area(InFlightSubmission& in_flight) {
  constexpr std::string_view kDoing = "clearing a control block";
  DeviceAddress area = 0;
  if (const Outcome got = gpu_.driver.memory_allocate(&area, kAreaBytes); !got.ok())
    return std::unexpected(gpu_.allocation_failed(got, kAreaBytes));
  auto cleared =
      gpu_.check(gpu_.driver.copy_to_device(area, zeros_, kAreaBytes, control_stream_), kDoing);
  if (cleared)
    cleared = gpu_.check(gpu_.driver.event_record(in_flight.cleared, control_stream_), kDoing);
  if (!cleared) {
    gpu_.deferred.memory(area, kAreaBytes);
    return std::unexpected(std::move(cleared.error()));
  }
  in_flight.clearing = true;
  return area;
}

DeviceAddress SubmissionResources::control(const InFlightSubmission& in_flight, size_t launch) {
  return in_flight.areas[launch / kAreaControls] + launch % kAreaControls * sizeof(GpuControl);
}

Result<void> SubmissionResources::await_cleared(InFlightSubmission& in_flight,
                                                StreamHandle stream) {
  if (!in_flight.clearing) return {};
  Outcome cleared = gpu_.driver.event_query(in_flight.cleared);
  if (cleared.status == status::kNotReady)
    cleared = gpu_.driver.stream_wait(stream, in_flight.cleared, 0);
  VYRE_TRY(gpu_.check(cleared, "waiting for a control block"));
  in_flight.clearing = false;
  return {};
}

Result<void> SubmissionResources::clear_controls(InFlightSubmission& in_flight) {
  constexpr std::string_view kDoing = "clearing a control block";
  const size_t used = std::exchange(in_flight.used_controls, 0);
  if (used == 0) return {};
  for (size_t first = 0; first < used; first += kAreaControls) {
    const size_t count = std::min<size_t>(used - first, kAreaControls);
    if (auto ok =
            gpu_.check(gpu_.driver.copy_to_device(in_flight.areas[first / kAreaControls], zeros_,
                                                  count * sizeof(GpuControl), control_stream_),
                       kDoing);
        !ok)
      return ok;
  }
  VYRE_TRY(gpu_.check(gpu_.driver.event_record(in_flight.cleared, control_stream_), kDoing));
  in_flight.clearing = true;
  return {};
}

bool SubmissionResources::cancel(const InFlightSubmission& in_flight) {
  for (size_t i = 0; i < in_flight.launches.size(); ++i)
    if (!gpu_.driver
             .set_words(control(in_flight, i) + offsetof(GpuControl, cancel), 1, 1, control_stream_)
             .ok())
      return false;
  return true;
}

Result<std::vector<KernelStop>> SubmissionResources::read_stops(
    const InFlightSubmission& in_flight) {
  constexpr std::string_view kDoing = "reading a control block";
  std::vector<GpuControl> controls(in_flight.launches.size());
  if (in_flight.replay && in_flight.replay->stops != nullptr) {
    std::memcpy(controls.data(), in_flight.replay->stops, controls.size() * sizeof(GpuControl));
  } else {
    GpuControl* to = controls.data();
    for (const Controls& area : SubmissionResources::controls(in_flight)) {
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

std::vector<SubmissionResources::Controls> SubmissionResources::controls(
    const InFlightSubmission& in_flight) {
  std::vector<Controls> areas;
  for (size_t first = 0; first < in_flight.launches.size(); first += kAreaControls)
    areas.push_back({.first = in_flight.areas[first / kAreaControls],
                     .count = std::min<size_t>(in_flight.launches.size() - first, kAreaControls)});
  return areas;
}

// ---- pinned memory

SubmissionResources::Mark SubmissionResources::mark(const InFlightSubmission& in_flight) const {
  if (in_flight.slot >= kMarks) return {};
  const uint64_t at = in_flight.slot * kMarkBytes;
  return {.host = reinterpret_cast<uint32_t*>(zeros_ + kAreaBytes + at), .address = marks_ + at};
}

Result<std::byte*> SubmissionResources::stage(InFlightSubmission& in_flight, uint64_t bytes) {
  if (in_flight.staging == nullptr) {
    void* staging = nullptr;
    if (const Outcome got = gpu_.driver.host_allocate(&staging, kStagingBytes, kHostAllocPortable);
        !got.ok())
      return std::unexpected(gpu_.allocation_failed(got, kStagingBytes));
    in_flight.staging = static_cast<std::byte*>(staging);
    gpu_.counters.staging_bytes.fetch_add(kStagingBytes, std::memory_order_relaxed);
  }
  if (bytes > kStagingBytes - in_flight.staging_used) return nullptr;
  std::byte* const at = in_flight.staging + in_flight.staging_used;
  in_flight.staging_used =
      std::min((in_flight.staging_used + bytes + kStagingAlign - 1) / kStagingAlign * kStagingAlign,
               kStagingBytes);
  return at;
}

// ---- times

Result<EventHandle> SubmissionResources::timer(InFlightSubmission& in_flight, StreamHandle stream) {
  if (in_flight.timers_used == in_flight.timers.size()) {
    EventHandle made = nullptr;
    VYRE_TRY(gpu_.check(gpu_.driver.event_create(&made, kEventDefault), "making a timer"));
    in_flight.timers.push_back(made);
  }
  const EventHandle timer = in_flight.timers[in_flight.timers_used++];
  VYRE_TRY(gpu_.check(gpu_.driver.event_record(timer, stream), "recording a timer"));
  return timer;
}

// The first timer is the one all others are measured from; it has happened when this returns.
Result<void> SubmissionResources::start_clock(InFlightSubmission& in_flight) {
  VYRE_TRY_ASSIGN(const auto first, timer(in_flight, control_stream_));
  VYRE_TRY(gpu_.check(gpu_.driver.event_synchronize(first), "reading the clock"));
  in_flight.base_ns = ns_of(Clock::now());
  return {};
}

// The driver counts milliseconds in floats, so durations are measured from the begin of their step
// and not from the first timer, which may be long ago.
Result<void> SubmissionResources::take_times(InFlightSubmission& in_flight) {
  if (in_flight.measure == Measure::Nothing) return {};
  const auto elapsed = [&](EventHandle from, EventHandle to) -> Result<uint64_t> {
    float ms = 0;
    VYRE_TRY(gpu_.check(gpu_.driver.event_elapsed(&ms, from, to), "reading a timer"));
    return static_cast<uint64_t>(std::max(static_cast<double>(ms), 0.0) * 1e6);
  };
  uint64_t device_ns = in_flight.completion.timings.device_ns.value_or(0);
  for (const InFlightSubmission::StepEvents& step : in_flight.times) {
    VYRE_TRY_ASSIGN(const auto took, elapsed(step.begin, step.end));
    if (step.launch) device_ns += took;
    if (in_flight.measure != Measure::Steps) continue;
    VYRE_TRY_ASSIGN(const auto since, elapsed(in_flight.timers[0], step.begin));
    const uint64_t begin_ns = in_flight.base_ns + since;
    in_flight.completion.steps.push_back(
        {.step = step.step, .begin_ns = begin_ns, .end_ns = begin_ns + took});
  }
  in_flight.times.clear();
  in_flight.timers_used = 1;
  in_flight.completion.timings.device_ns = device_ns;
  return {};
}

bool SubmissionResources::runs(const InFlightSubmission& in_flight) const {
  const Outcome queried = in_flight.submitted ? gpu_.driver.event_query(in_flight.done)
                                              : gpu_.driver.stream_query(in_flight.stream);
  return queried.status == status::kNotReady;
}

}  // namespace vyre::backend::cuda
