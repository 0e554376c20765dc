// SPDX-License-Identifier: Apache-2.0
// A submission from the moment its first step is given to the driver until a wait for it: what it
// holds on the GPU, and what became of it.
//
// A submission whose steps come again and again keeps them as a graph (Replay), with the controls
// and the staging memory that the graph has inside, and takes only submissions of the same form.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/cuda/code.hpp"
#include "backend/cuda/gpu.hpp"
#include "backend/cuda/graph.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/steps.hpp"

namespace vyre::backend::cuda {

using Clock = std::chrono::steady_clock;

struct InFlightSubmission {
  explicit InFlightSubmission(uint32_t place) : slot(place) {}

  struct Launched {
    uint32_t step = 0;
    std::shared_ptr<const Code> code;  // lives until the launch is over
    uint32_t entry = 0;
  };
  struct HostCopy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    uint64_t bytes = 0;
  };
  struct StepEvents {
    uint32_t step = 0;
    bool launch = false;
    EventHandle begin = nullptr;
    EventHandle end = nullptr;
  };
  enum class End : uint8_t { None, Cancelled, OutOfTime, Over };
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  struct Staged {
    uint32_t step = 0;
    std::byte* at = nullptr;
    uint64_t bytes = 0;
  };
  struct Replay {
    uint64_t key = 0;   // of the last submission
    uint64_t used = 0;  // when it was last
    Graph graph;
    uint64_t launches = 0;
    uint32_t runs = 0;
    bool batches_copies = false;  // short copies are one launch
    bool may_stop = false;
    // A word of pinned memory that the graph stores 1 to at its end, sooner than an event reports
    // it. Only where the host reads nothing else that the graph has written.
    uint32_t* mark = nullptr;
    std::byte* stops = nullptr;    // where it leaves the controls, if lanes may stop
    std::vector<Staged> up, down;  // transfers
  };

  const uint32_t slot;  // among all

  // What is kept for the next submission.
  EventHandle done = nullptr;
  EventHandle cleared = nullptr;  // when all controls are zeros
  bool clearing = false;          // `cleared` is recorded and may not have happened
  std::vector<DeviceAddress> areas;
  size_t used_controls = 0;      // that may not be zeros any more
  std::byte* staging = nullptr;  // pinned
  std::vector<EventHandle> timers;
  std::unique_ptr<Replay> replay;

  // Of this submission.
  device::Ticket ticket;          // 0: none
  StreamHandle stream = nullptr;  // of its queue
  std::vector<device::Ticket> after;
  Likeness like;             // stays: it is what the graph does
  bool comes_again = false;  // and is worth a graph
  device::Deadline deadline = device::kNoDeadline;
  const std::atomic<bool>* cancel = nullptr;
  uint32_t* failed_step = nullptr;
  device::Measure measure = device::Measure::Nothing;
  bool checked = false;
  bool cooperative = false;  // a launch counts blocks in its control
  bool submitted = false;    // `done` is recorded behind the last step
  std::atomic<End> end = End::None;
  Clock::time_point stop_requested_at = kNever;
  uint32_t step = 0;  // the last one begun
  uint32_t steps = 0;
  size_t staging_used = 0;
  size_t timers_used = 0;
  uint64_t base_ns = 0;            // when the first timer was recorded, on the host's clock
  std::vector<Launched> launches;  // by their controls
  size_t kept_launches = 0;        // of loops that are graphs, which go on using their controls
  std::vector<Graph> graphs;       // of loops
  std::vector<HostCopy> to_host;
  std::vector<StepEvents> times;
  device::Completion completion;
  std::optional<Error> error;
};

}  // namespace vyre::backend::cuda
