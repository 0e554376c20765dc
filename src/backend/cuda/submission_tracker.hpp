// SPDX-License-Identifier: Apache-2.0
// All submissions in flight: in which order they go on, how they are stopped, and their errors.
//
// A waiting thread enforces the time limits of all submissions, not only of the one it waits for: a
// queue may stand still because of another.
//
// Every wait ends. A submission that has to stop, by its deadline or by its cancel flag, has
// half a second; if it still runs then, it is abandoned: Gpu::hung, and every wait returns at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/cuda/gpu.hpp"
#include "backend/cuda/in_flight.hpp"
#include "backend/cuda/replay_cache.hpp"
#include "backend/cuda/submission_resources.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/steps.hpp"

namespace vyre::backend::cuda {

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

class SubmissionTracker {
 public:
  // How long work may go on after a request to stop, unless the environment says otherwise.
  static constexpr auto kGrace = std::chrono::milliseconds(500);
  static constexpr unsigned kSlotBits = 24;  // of a ticket

  SubmissionTracker(const Gpu& gpu, SubmissionResources& resources);

  // The context is current in all that follows. Stops what still runs and frees everything, unless
  // that hangs. No thread waits any more.
  void close() noexcept;

  // Timeout if the submission's time is over before it may begin. Otherwise submitted() follows.
  Result<InFlightSubmission*> begin(const device::Submission& submission, StreamHandle stream);
  // Of a submission that was refused because the device is lost.
  void drop(InFlightSubmission& in_flight);
  // Its stream goes on when they are done; those that were waited for are.
  Result<void> after(InFlightSubmission& in_flight, std::span<const device::Ticket> tickets);

  // For one launch. 0: the submission was stopped, and there are to be no more.
  Result<DeviceAddress> control(InFlightSubmission& in_flight,
                                const InFlightSubmission::Launched& launch, bool cooperative);
  // All launches so far are over, and their controls may serve others.
  void recycle(InFlightSubmission& in_flight);
  // Until all that was given to the stream is done. False: the submission was stopped.
  Result<bool> reach(InFlightSubmission& in_flight, StreamHandle stream);
  // True: its time is over or it is cancelled, and it is being stopped.
  bool poll_stop(InFlightSubmission& in_flight);
  // Before a call that goes to the stream of the submission. False: the submission was stopped.
  Result<bool> make_room(InFlightSubmission& in_flight, Pace& pace) {
    if (++pace.calls < pace.batch) return true;
    return keep_pace(in_flight, pace);
  }
  // The steps of the submission are kept as a graph, and those that were used least
  // lately go. Nothing: it could not be made one, and there is no further attempt with steps of
  // this form.
  void keep(InFlightSubmission& in_flight, std::unique_ptr<InFlightSubmission::Replay> replay);
  // The submission has none any more, and what it was made of has to come twice again.
  void forget_replay(InFlightSubmission& in_flight);
  // What has been prepared for launches that there will not be.
  void forget_launches(InFlightSubmission& in_flight, size_t down_to);

  // After the last step. The submission may be waited for.
  void submitted(InFlightSubmission& in_flight);

  // No submission is in flight, and none begins as long as this lives.
  class Exclusive {
   public:
    explicit Exclusive(SubmissionTracker& submissions) : submissions_(&submissions) {}
    Exclusive(Exclusive&& other) noexcept
        : submissions_(std::exchange(other.submissions_, nullptr)) {}
    Exclusive& operator=(Exclusive&&) = delete;
    ~Exclusive() {
      if (submissions_ != nullptr) submissions_->end_exclusive();
    }

   private:
    SubmissionTracker* submissions_;
  };
  // Waits for what is in flight and enforces time limits. After a while submissions that have
  // not begun wait, too.
  Result<Exclusive> exclusive();
  // The same for a submission that has begun and whose stream is idle; none: other work takes
  // longer than a moment.
  std::optional<Exclusive> try_exclusive(const InFlightSubmission& inside);
  // What waits in Gpu::deferred, if nothing is in flight.
  void free_deferred() noexcept;

  // After Gpu::hung: whether what was abandoned has ended by itself.
  bool has_ended();
  // Why the device is lost.
  Error loss();
  // Of a submission that was stopped before its first step.
  Error stopped_before(const InFlightSubmission& in_flight);
  // For a submission that was abandoned: Timeout if its own time is over.
  Error hung_error(const InFlightSubmission& in_flight);

  // Stops what is over its time, and abandons what does not stop.
  void watch(Clock::time_point now);

  Result<device::Completion> wait(device::Ticket ticket, device::Deadline deadline);
  bool is_done(device::Ticket ticket);

 private:
  // Under the lock.
  InFlightSubmission* find(device::Ticket ticket);
  InFlightSubmission& take(const device::Submission& submission);
  void destroy(InFlightSubmission& in_flight) noexcept;

  // Until the event has happened or, if there is one, the mark is set. False: `until` came first.
  // The loss, if work was abandoned meanwhile.
  Result<bool> wait_for(EventHandle event, device::Deadline until, uint32_t* mark = nullptr);
  Result<bool> keep_pace(InFlightSubmission& in_flight, Pace& pace);
  // Until nothing runs. False: something was abandoned, or `until` came first.
  bool settle(device::Deadline until) noexcept;
  // The same for one stream, without a limit.
  bool await_stream(const InFlightSubmission& in_flight);
  void end_exclusive() noexcept;
  // Under the lock.
  void stop(InFlightSubmission& in_flight, InFlightSubmission::End end);
  bool is_behind_other(const InFlightSubmission& in_flight);
  void abandon(const InFlightSubmission& in_flight);
  bool is_idle(const InFlightSubmission* inside) const;
  Result<void> await_entry(std::unique_lock<std::mutex>& lock,
                           const device::Submission& submission);

  Result<device::Completion> finish(InFlightSubmission& in_flight);
  // Ends the submission; what it holds serves the next one unless something is wrong with it.
  void retire(InFlightSubmission& in_flight, bool reuse);

  const Gpu& gpu_;
  SubmissionResources& resources_;
  const std::chrono::milliseconds grace_;
  const std::chrono::milliseconds moment_;

  std::mutex mutex_;  // of what follows, of InFlightSubmission::ticket, and of stopping
  uint64_t next_ticket_ = 1;
  uint32_t issuing_ = 0;  // submissions that begin() has let in
  uint32_t wanting_ = 0;  // who waits for exclusive() and keeps others out
  bool exclusive_ = false;
  Clock::time_point next_try_{};  // of try_exclusive
  Error loss_;
  std::vector<std::unique_ptr<InFlightSubmission>> submissions_;  // a ticket says which
  ReplayCache replays_;
};

}  // namespace vyre::backend::cuda
