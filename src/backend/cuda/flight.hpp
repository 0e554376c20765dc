// SPDX-License-Identifier: Apache-2.0
// Submissions from the moment their first step is given to the driver until somebody has waited for
// them: what they hold, how they are stopped, and what became of them.
//
// Every launch has a GpuControl of its own, so that a stop is known to be that of one launch. They
// are zeros before they are given out; they are cleared, and `cancel` is stored, on one stream of
// their own that no kernel runs on, in the order of the calls. Both are done by the copy engine or
// the front end of the GPU: they do not wait for a place among kernels that never end.
//
// A flight whose steps come again and again keeps them as a graph (Replay), with the controls and
// the staging memory that the graph has inside, and takes only submissions of the same form.
//
// Whoever waits looks after the time limits of all submissions, not only of the one it waits for: a
// queue may stand still because of another.
//
// Every wait ends. A submission that is told to stop, by its deadline or by its cancel flag, has
// half a second; if it still runs then, it is abandoned: Gpu::hung, and every wait returns at once.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/cuda/code.hpp"
#include "backend/cuda/gpu.hpp"
#include "backend/cuda/graph.hpp"
#include "device/gpu_kernel.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/steps.hpp"

namespace vyre::backend::cuda {

using Clock = std::chrono::steady_clock;

struct Flight {
  explicit Flight(uint32_t place) : slot(place) {}

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
    bool moves = false;  // short copies are one launch
    bool may_stop = false;
    // A word of pinned memory that the graph stores 1 to at its end, sooner than an event tells of
    // it. Only where the host reads nothing else that the graph has written.
    uint32_t* mark = nullptr;
    std::byte* stops = nullptr;    // where it leaves the controls, if lanes may stop
    std::vector<Staged> up, down;  // transfers
  };

  const uint32_t slot;  // among all

  // What the flight keeps for the next submission.
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
  bool timing = false;
  bool checked = false;
  bool cooperative = false;  // a launch counts blocks in its control
  bool submitted = false;    // `done` is recorded behind the last step
  std::atomic<End> end = End::None;
  Clock::time_point told_to_stop = kNever;
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

// What a stream was given of late. The driver takes about 1020 calls ahead of a kernel; the thread
// that comes with one more does not return before there is room, whatever the time limits. The
// shorter the calls take, the more of them may be ahead.
struct Pace {
  static constexpr uint32_t kFirst = 16;
  static constexpr uint32_t kMost = 192;
  static constexpr uint32_t kLeast = 2;
  uint32_t calls = 0;       // since the last event
  uint32_t batch = kFirst;  // calls between two events
  uint32_t next = 0;
  EventHandle events[2] = {};
};

class Flights {
 public:
  // How long work may go on after it was told to stop, unless the environment says otherwise.
  static constexpr auto kGrace = std::chrono::milliseconds(500);
  static constexpr uint32_t kAreaControls = 64;
  static constexpr uint64_t kAreaBytes = kAreaControls * sizeof(device::GpuControl);
  static constexpr uint64_t kStagingBytes = 256U << 10;
  static constexpr size_t kMostReplays = 64;
  static constexpr size_t kMostAlike = 4;  // of one form
  static constexpr uint32_t kMarks = 256;  // for the first flights
  static constexpr uint64_t kMarkBytes = 64;
  static constexpr unsigned kSlotBits = 24;  // of a ticket

  explicit Flights(const Gpu& gpu);

  // The context is current in all that follows.
  Result<void> open();
  // Stops what still runs and frees everything, unless that hangs. Nobody waits any more.
  void close() noexcept;

  // Timeout if the submission's time is over before it may begin. Otherwise submitted() follows.
  Result<Flight*> begin(const device::Submission& submission, StreamHandle stream);
  // Of a submission that was refused because the device is lost.
  void drop(Flight& flight);
  // Its stream goes on when they are done; those that were waited for are.
  Result<void> after(Flight& flight, std::span<const device::Ticket> tickets);

  // For one launch. 0: the submission was stopped, and there are to be no more.
  Result<DeviceAddress> control(Flight& flight, const Flight::Launched& launch, bool cooperative);
  // `stream` goes on when the controls are zeros: before launches on it.
  Result<void> await_cleared(Flight& flight, StreamHandle stream);
  // Those of all launches, one area after the other.
  struct Controls {
    DeviceAddress first = 0;
    size_t count = 0;
  };
  static std::vector<Controls> controls(const Flight& flight);
  struct Mark {
    uint32_t* host = nullptr;  // null: there is none for this one
    DeviceAddress address = 0;
  };
  [[nodiscard]] Mark mark(const Flight& flight) const;
  // All launches so far are over, and their controls may serve others.
  void recycle(Flight& flight);
  // Pinned bytes that live as long as the submission; null: there are not so many.
  Result<std::byte*> stage(Flight& flight, uint64_t bytes);
  // Until all that was given to the stream is done. False: the submission was stopped.
  Result<bool> reach(Flight& flight, StreamHandle stream);
  // True: its time is over or somebody has cancelled it, and it is being stopped.
  bool look_at(Flight& flight);
  // Before a call that goes to the stream of the flight. False: the submission was stopped.
  Result<bool> make_room(Flight& flight, Pace& pace) {
    if (++pace.calls < pace.batch) return true;
    return keep_pace(flight, pace);
  }
  // A timer recorded now; only in submissions with timing.
  Result<EventHandle> timer(Flight& flight, StreamHandle stream);

  // The flight keeps the steps of its submission as a graph, and those that were used least lately
  // go. Nothing: it could not be made one, and nobody is to try again with steps of this form.
  void keep(Flight& flight, std::unique_ptr<Flight::Replay> replay);
  // The flight has none any more, and what it was made of has to come twice again.
  void forget_replay(Flight& flight);
  // What has been prepared for launches that there will not be.
  void forget_launches(Flight& flight, size_t down_to);

  // After the last step. The flight may be waited for.
  void submitted(Flight& flight);

  // No submission is in flight, and none begins as long as this lives.
  class Exclusive {
   public:
    explicit Exclusive(Flights& flights) : flights_(&flights) {}
    Exclusive(Exclusive&& other) noexcept : flights_(std::exchange(other.flights_, nullptr)) {}
    Exclusive& operator=(Exclusive&&) = delete;
    ~Exclusive() {
      if (flights_ != nullptr) flights_->end_exclusive();
    }

   private:
    Flights* flights_;
  };
  // Waits for what is in flight and looks after time limits. After a while submissions that have
  // not begun wait, too.
  Result<Exclusive> exclusive();
  // The same for a submission that has begun and whose stream is idle; none: other work takes
  // longer than a moment.
  std::optional<Exclusive> try_exclusive(const Flight& inside);
  // What waits in Gpu::deferred, if nothing is in flight.
  void free_deferred() noexcept;

  // After Gpu::hung: whether what was abandoned has ended by itself.
  bool has_ended();
  // Why the device is lost.
  Error loss();
  // Of a submission that was stopped before its first step.
  Error stopped_before(const Flight& flight);
  // For a submission that was abandoned: Timeout if its own time is over.
  Error hung_error(const Flight& flight);

  // Stops what is over its time, and abandons what does not stop.
  void watch(Clock::time_point now);

  Result<device::Completion> wait(device::Ticket ticket, device::Deadline deadline);
  bool is_done(device::Ticket ticket);

 private:
  struct Form {
    uint64_t form = 0;
    bool refused = false;
  };
  // Under the lock.
  Flight* find(device::Ticket ticket);
  Flight& take(const device::Submission& submission);
  Flight* take_replay(const Likeness& like, bool& comes_again);
  void drop_replay(Flight& flight) noexcept;
  Form& form_of(const Likeness& like) { return forms_[like.form % forms_.size()]; }

  Result<void> make(Flight& flight);
  void destroy(Flight& flight) noexcept;
  Result<void> add_area(Flight& flight);
  Result<void> start_clock(Flight& flight);

  // Until the event has happened or, if there is one, the mark is set. False: `until` came first.
  // The loss, if work was abandoned meanwhile.
  Result<bool> wait_for(EventHandle event, device::Deadline until, uint32_t* mark = nullptr);
  Result<bool> keep_pace(Flight& flight, Pace& pace);
  // Until nothing runs. False: something was abandoned, or `until` came first.
  bool settle(device::Deadline until) noexcept;
  // The same for one stream, without a limit.
  bool await_stream(const Flight& flight);
  void end_exclusive() noexcept;
  // Under the lock.
  void stop(Flight& flight, Flight::End end);
  bool runs(const Flight& flight) const;
  bool is_behind_other(const Flight& flight);
  void abandon(const Flight& flight);
  bool is_idle(const Flight* inside) const;
  Result<void> await_entry(std::unique_lock<std::mutex>& lock,
                           const device::Submission& submission);

  Result<device::Completion> finish(Flight& flight);
  Result<std::vector<device::KernelStop>> read_stops(const Flight& flight);
  Error stopped_error(Flight& flight, std::span<const device::KernelStop> stops);
  // The error of a program that no plan looks after, if a lane of it has stopped.
  static Result<void> take_stops(Flight& flight, std::span<const device::KernelStop> stops);
  // Which step has lost the device, if there is no doubt.
  static void blame_launch(const Flight& flight);
  Result<void> take_times(Flight& flight);
  // Ends the flight; what it holds serves the next one unless something is wrong with it.
  void retire(Flight& flight, bool reuse);
  Result<void> clear_controls(Flight& flight);

  const Gpu& gpu_;
  const std::chrono::milliseconds grace_;
  const std::chrono::milliseconds moment_;
  StreamHandle control_stream_ = nullptr;
  std::byte* zeros_ = nullptr;  // an area full, pinned; marks are behind it
  DeviceAddress marks_ = 0;

  std::mutex mutex_;  // of what follows, of Flight::ticket, and of stopping
  uint64_t next_ticket_ = 1;
  uint32_t issuing_ = 0;  // submissions that begin() has let in
  uint32_t wanting_ = 0;  // who waits for exclusive() and keeps others out
  bool exclusive_ = false;
  Clock::time_point next_try_{};  // of try_exclusive
  Error loss_;
  std::vector<std::unique_ptr<Flight>> flights_;  // a ticket says which
  std::vector<Flight*> replays_;
  // Submissions of late, at the last digits of a hash.
  std::array<Form, 256> forms_ = {};
  std::array<uint64_t, 256> wholes_ = {};
};

}  // namespace vyre::backend::cuda
