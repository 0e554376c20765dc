// SPDX-License-Identifier: Apache-2.0
// Collects steps and hands them to the device when the host needs an answer, so that work which
// needs none travels in one submission. Memory is kept between uses.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/base/trace.hpp"
#include "vyre/device/backend.hpp"
#include "vyre/device/steps.hpp"
#include "vyre/run/config.hpp"

namespace vyre::run {

// What all submissions of a call share.
struct SubmitOptions {
  uint32_t queue = 0;
  bool checked = false;
  device::HostServices* host = nullptr;
  device::Deadline deadline = device::kNoDeadline;
  const std::atomic<bool>* cancel = nullptr;
  Trace* trace = nullptr;
  Timing timing = Timing::None;
  bool by_part = false;  // Recorder::parts() is wanted, also without times
};

// Sums; a time that one launch does not report is not known of the sum.
struct TimeSum {
  bool any = false;
  device::Timings times;
  Result<void> add(const device::Timings& more);  // LimitExceeded beyond 2^64-1
};

// What one segment, or one part of the work, has cost so far.
struct LaunchTotals {
  uint64_t launches = 0;
  uint64_t timed = 0;  // those of them whose time is known
  uint64_t ns = 0;
  [[nodiscard]] std::optional<uint64_t> device_ns() const {
    return timed == launches ? std::optional(ns) : std::nullopt;
  }
};
LaunchTotals operator+(const LaunchTotals& a, const LaunchTotals& b);

// A dispatch, or one item of a sequence. Vectors end where all that follows is nothing.
struct PartTotals {
  uint64_t launches = 0;
  std::vector<LaunchTotals> segments;  // by number
  std::vector<uint64_t> passes;        // by fixpoint of the plan
};

class Recorder {
 public:
  // Forgets what an earlier call left, keeps the memory.
  void begin(device::Backend& backend, const SubmitOptions& options);
  void set_host(device::HostServices* host) { options_.host = host; }

  void add(const device::Step& step) {
    forget_spent();
    steps_.push_back(step);
  }
  // The arguments are copied. `entry` is for traces and must outlive the flush.
  void launch(const device::Launch& launch, std::span<const device::Region> arguments,
              const device::Entry* entry);
  // What is added from here on, up to the next call, belongs to that part; without a call to part
  // 0.
  void begin_part(uint32_t part);
  // The step added last repeats the body of that fixpoint of the plan.
  void note_fixpoint(uint32_t fixpoint);
  // Passes of a fixpoint that the host has repeated.
  void add_passes(uint32_t fixpoint, uint64_t passes);
  // For loops, whose length is known when their body has been added.
  [[nodiscard]] uint32_t size() const { return spent_ ? 0 : static_cast<uint32_t>(steps_.size()); }
  device::Step& step(uint32_t index) { return steps_[index]; }
  [[nodiscard]] bool empty() const { return size() == 0; }

  // Submits what there is and waits for it. An error names the segment, if a launch failed.
  Result<void> flush();
  // The same in two parts. In between, nothing else is done with the recorder.
  Result<void> start();
  Result<void> finish();
  [[nodiscard]] bool is_done() const { return backend_->is_done(ticket_); }
  // What the only flush since begin() has submitted once more, as if it had been recorded again.
  [[nodiscard]] bool can_flush_again() const { return spent_ && submissions_ == 1; }
  Result<void> flush_again(const SubmitOptions& options);
  Result<void> start_again(const SubmitOptions& options);
  // Before that: where the bytes of its transfers() are this time, in the order of the steps.
  [[nodiscard]] size_t transfers(device::Transfer::Direction direction) const;
  void rebind(device::Transfer::Direction direction, std::span<std::byte* const> hosts);
  // Of the last flush.
  [[nodiscard]] const device::Completion& completion() const { return completion_; }
  device::Completion& completion() { return completion_; }

  // Over all flushes since begin().
  [[nodiscard]] uint64_t launches() const { return launches_; }
  [[nodiscard]] uint64_t submissions() const { return submissions_; }
  [[nodiscard]] const device::Timings& timings() const { return times_.times; }
  // By part, where wanted or measured; up to the last one with anything.
  [[nodiscard]] std::span<const PartTotals> parts() const { return parts_; }
  // The segment that failed, if one did, and the step of that flush.
  [[nodiscard]] std::optional<uint32_t> failed_segment() const { return failed_segment_; }
  [[nodiscard]] std::optional<uint32_t> failed_step() const { return failed_step_; }
  // By step of the last flush, as the device has counted them.
  [[nodiscard]] std::span<const uint64_t> counts() const { return counts_; }

 private:
  struct Pending {
    uint32_t step = 0;
    uint32_t first_argument = 0;
    uint32_t arguments = 0;
    const device::Entry* entry = nullptr;
  };
  // What a step stands for, from that step on or of it alone.
  struct Mark {
    uint32_t step = 0;
    uint32_t what = 0;
  };
  [[nodiscard]] bool by_part() const {
    return options_.by_part || options_.timing >= Timing::Segments;
  }
  PartTotals& part(uint32_t number);
  void take_counts();
  void trace() const;
  void seal();
  device::Submission submission();
  Result<void> take(Result<device::Completion> done);
  void forget_results();
  void forget_spent() {
    if (!spent_) return;
    steps_.clear();
    regions_.clear();
    pending_.clear();
    parts_begun_.clear();
    fixpoints_.clear();
    spent_ = false;
  }

  device::Backend* backend_ = nullptr;
  SubmitOptions options_;
  std::vector<device::Step> steps_;
  std::vector<device::Region> regions_;
  std::vector<Pending> pending_;
  std::vector<Mark> parts_begun_;  // in order
  std::vector<Mark> fixpoints_;
  std::vector<uint64_t> counts_;
  bool spent_ = false;       // they were submitted, and go when others come
  uint64_t replay_key_ = 0;  // of these steps
  device::Ticket ticket_;    // between start() and finish()
  uint32_t failed_ = 0;      // step, as the device reports it
  device::Completion completion_;
  uint64_t launches_ = 0;
  uint64_t submissions_ = 0;
  TimeSum times_;
  std::vector<PartTotals> parts_;
  std::optional<uint32_t> failed_segment_, failed_step_;
};

}  // namespace vyre::run
