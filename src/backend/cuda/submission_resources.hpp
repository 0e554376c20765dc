// SPDX-License-Identifier: Apache-2.0
// What submissions hold on the GPU and in pinned memory: events, control blocks, staging memory,
// marks and timers.
//
// Every launch has a GpuControl of its own, so that a stop is known to be that of one launch. They
// are zeros before they are given out; they are cleared, and `cancel` is stored, on one stream of
// their own that no kernel runs on, in the order of the calls. Both are done by the copy engine or
// the front end of the GPU: they do not wait for a place among kernels that never end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cuda/gpu.hpp"
#include "backend/cuda/in_flight.hpp"
#include "device/gpu_kernel.hpp"
#include "vyre/base/result.hpp"

namespace vyre::backend::cuda {

class SubmissionResources {
 public:
  static constexpr uint32_t kAreaControls = 64;
  static constexpr uint64_t kAreaBytes = kAreaControls * sizeof(device::GpuControl);
  static constexpr uint64_t kStagingBytes = 256U << 10;
  static constexpr uint32_t kMarks = 256;  // for the first submissions
  static constexpr uint64_t kMarkBytes = 64;

  explicit SubmissionResources(const Gpu& gpu) : gpu_(gpu) {}

  // The context is current in all that follows.
  Result<void> open();
  // No kernel runs any more.
  void close() noexcept;

  // Makes the events of a submission, unless it has them.
  Result<void> prepare(InFlightSubmission& in_flight);
  // Frees all that a submission holds, but for its graphs.
  void release(InFlightSubmission& in_flight) noexcept;

  // Control blocks for kAreaControls launches more.
  Result<DeviceAddress> new_area(InFlightSubmission& in_flight);
  static DeviceAddress control(const InFlightSubmission& in_flight, size_t launch);
  // `stream` goes on when the controls are zeros: before launches on it.
  Result<void> await_cleared(InFlightSubmission& in_flight, StreamHandle stream);
  Result<void> clear_controls(InFlightSubmission& in_flight);
  // Stores `cancel` for all launches. False: the device is lost, or it has to be tried again.
  bool cancel(const InFlightSubmission& in_flight);
  Result<std::vector<device::KernelStop>> read_stops(const InFlightSubmission& in_flight);
  // Those of all launches, one area after the other.
  struct Controls {
    DeviceAddress first = 0;
    size_t count = 0;
  };
  static std::vector<Controls> controls(const InFlightSubmission& in_flight);

  struct Mark {
    uint32_t* host = nullptr;  // null: there is none for this one
    DeviceAddress address = 0;
  };
  [[nodiscard]] Mark mark(const InFlightSubmission& in_flight) const;
  // Pinned bytes that live as long as the submission; null: they do not fit.
  Result<std::byte*> stage(InFlightSubmission& in_flight, uint64_t bytes);

  // A timer recorded now; only in submissions that measure.
  Result<EventHandle> timer(InFlightSubmission& in_flight, StreamHandle stream);
  Result<void> start_clock(InFlightSubmission& in_flight);
  // Of the steps since the last call, all of which are over; their timers are used again.
  Result<void> take_times(InFlightSubmission& in_flight);

  // Whether the stream of the submission, or its last step once that is recorded, still runs.
  [[nodiscard]] bool runs(const InFlightSubmission& in_flight) const;

 private:
  const Gpu& gpu_;
  StreamHandle control_stream_ = nullptr;
  std::byte* zeros_ = nullptr;  // an area full, pinned; marks are behind it
  DeviceAddress marks_ = 0;
};

uint64_t ns_of(Clock::time_point time);

}  // namespace vyre::backend::cuda
