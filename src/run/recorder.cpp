// SPDX-License-Identifier: Apache-2.0
#include "run/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.hpp"
#include "device/host_steps.hpp"

namespace vyre::run {

using namespace device;

namespace {

// All lists of a process: many recorders may submit to a device.
std::atomic<uint64_t> g_next_key = 1;

}  // namespace

void Recorder::begin(Backend& backend, const SubmitOptions& options) {
  backend_ = &backend;
  options_ = options;
  spent_ = true;
  forget_spent();
  forget_results();
}

void Recorder::forget_results() {
  completion_ = {};
  launches_ = 0;
  submissions_ = 0;
  times_ = {};
  parts_.clear();
  failed_segment_.reset();
  failed_step_.reset();
}

void Recorder::launch(const Launch& launch, std::span<const Region> arguments, const Entry* entry) {
  forget_spent();
  pending_.push_back({size(), static_cast<uint32_t>(regions_.size()),
                      static_cast<uint32_t>(arguments.size()), entry});
  regions_.insert(regions_.end(), arguments.begin(), arguments.end());
  steps_.emplace_back(launch);
}

void Recorder::begin_part(uint32_t part) {
  forget_spent();
  parts_begun_.push_back({size(), part});
}

void Recorder::note_fixpoint(uint32_t fixpoint) {
  fixpoints_.push_back({size() - 1, fixpoint});
}

void Recorder::add_passes(uint32_t fixpoint, uint64_t passes) {
  if (!by_part()) return;
  std::vector<uint64_t>& all = part(0).passes;
  if (all.size() <= fixpoint) all.resize(fixpoint + 1);
  all[fixpoint] += passes;
}

// Only now does nothing move any more.
void Recorder::seal() {
  for (const Pending& p : pending_)
    std::get<Launch>(steps_[p.step]).arguments =
        std::span(regions_).subspan(p.first_argument, p.arguments);
  spent_ = true;
  replay_key_ = g_next_key.fetch_add(1, std::memory_order_relaxed);
}

Result<void> Recorder::flush() {
  if (empty()) return {};
  seal();
  return take(backend_->run(submission()));
}

Result<void> Recorder::flush_again(const SubmitOptions& options) {
  options_ = options;
  forget_results();
  return take(backend_->run(submission()));
}

Result<void> Recorder::start() {
  if (!empty()) seal();
  auto ticket = backend_->submit(submission());
  if (!ticket) return take(std::unexpected(std::move(ticket.error())));
  ticket_ = *ticket;
  return {};
}

Result<void> Recorder::start_again(const SubmitOptions& options) {
  options_ = options;
  forget_results();
  return start();
}

Result<void> Recorder::finish() {
  return take(backend_->wait(ticket_));
}

size_t Recorder::transfers(Transfer::Direction direction) const {
  return static_cast<size_t>(std::ranges::count_if(steps_, [&](const Step& step) {
    const auto* const transfer = std::get_if<Transfer>(&step);
    return transfer != nullptr && transfer->direction == direction;
  }));
}

void Recorder::rebind(Transfer::Direction direction, std::span<std::byte* const> hosts) {
  if (hosts.empty()) return;
  size_t next = 0;
  for (Step& step : steps_)
    if (auto* const transfer = std::get_if<Transfer>(&step);
        transfer != nullptr && transfer->direction == direction) {
      VYRE_CHECK(next < hosts.size());
      transfer->host = hosts[next++];
    }
  VYRE_CHECK(next == hosts.size());
}

Submission Recorder::submission() {
  failed_ = ~uint32_t{0};  // none
  Submission submission;
  submission.steps = steps_;
  submission.queue = options_.queue;
  if (options_.trace != nullptr || options_.timing >= Timing::Segments)
    submission.measure = Measure::Steps;
  else if (options_.timing == Timing::Dispatch)
    submission.measure = Measure::Launches;
  submission.checked = options_.checked;
  submission.replay_key = replay_key_;
  submission.host = options_.host;
  submission.deadline = options_.deadline;
  submission.cancel = options_.cancel;
  submission.failed_step = &failed_;
  counts_.clear();
  if (by_part()) {
    counts_.resize(steps_.size());
    submission.counts = counts_;
  }
  ++submissions_;
  return submission;
}

Result<void> Recorder::take(Result<Completion> done) {
  if (!done) {
    completion_ = {};
    if (failed_ < steps_.size()) {
      failed_step_ = failed_;
      if (const auto* launch = std::get_if<Launch>(&steps_[failed_]))
        failed_segment_ = launch->segment;
    }
    return std::unexpected(std::move(done.error()));
  }
  completion_ = std::move(*done);
  launches_ += completion_.launches;
  if (by_part()) take_counts();
  if (options_.trace != nullptr) trace();
  return completion_.launches == 0 ? Result<void>() : times_.add(completion_.timings);
}

LaunchTotals operator+(const LaunchTotals& a, const LaunchTotals& b) {
  return {.launches = a.launches + b.launches, .timed = a.timed + b.timed, .ns = a.ns + b.ns};
}

PartTotals& Recorder::part(uint32_t number) {
  if (parts_.size() <= number) parts_.resize(number + 1);
  return parts_[number];
}

// Times of steps come in the order in which they ran, and a step may have run often.
void Recorder::take_counts() {
  std::vector<LaunchTotals> totals(steps_.size());
  for (const StepTime& time : completion_.steps) {
    if (counts_[time.step] == 0) continue;  // a launch of no workgroup, or no launch
    ++totals[time.step].timed;
    totals[time.step].ns += time.end_ns - time.begin_ns;
  }
  size_t next = 0;
  uint32_t number = 0;
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    for (; next < parts_begun_.size() && parts_begun_[next].step <= i; ++next)
      number = parts_begun_[next].what;
    const auto* const launch = std::get_if<Launch>(&steps_[i]);
    if (launch == nullptr || counts_[i] == 0) continue;
    totals[i].launches = counts_[i];
    PartTotals& of = part(number);
    of.launches += counts_[i];
    if (options_.timing < Timing::Segments) continue;
    if (of.segments.size() <= launch->segment) of.segments.resize(launch->segment + 1);
    of.segments[launch->segment] = of.segments[launch->segment] + totals[i];
  }
  for (const Mark& fixpoint : fixpoints_) {
    uint32_t of = 0;
    for (const Mark& begun : parts_begun_)
      if (begun.step <= fixpoint.step) of = begun.what;
    std::vector<uint64_t>& all = part(of).passes;
    if (all.size() <= fixpoint.what) all.resize(fixpoint.what + 1);
    all[fixpoint.what] += counts_[fixpoint.step];
  }
}

Result<void> TimeSum::add(const Timings& more) {
  if (std::exchange(any, true)) return add_times(times, more);
  times = more;
  return {};
}

void Recorder::trace() const {
  const std::string track = fmt::format("{} queue {}", backend_->info().id, options_.queue);
  for (const StepTime& time : completion_.steps) {
    TraceEvent event;
    const Step& step = steps_[time.step];
    if (const auto* launch = std::get_if<Launch>(&step)) {
      event.category = TraceCategory::Launch;
      for (const Pending& p : pending_)
        if (p.step == time.step) {
          event.name = p.entry->name;
          if (!p.entry->regions.empty())
            event.args.push_back({"regions", fmt::format("{}", fmt::join(p.entry->regions, ", "))});
        }
      event.args.push_back({"segment", uint64_t{launch->segment}});
      event.args.push_back(
          {"workgroups", uint64_t{launch->grid[0]} * launch->grid[1] * launch->grid[2]});
    } else if (const auto* transfer = std::get_if<Transfer>(&step)) {
      const bool up = transfer->direction == Transfer::Direction::ToDevice;
      event.category = up ? TraceCategory::Upload : TraceCategory::Readback;
      event.name = up ? "upload" : "readback";
      event.args.push_back({"bytes", transfer->device.bytes});
    } else {
      event.category = TraceCategory::Barrier;
      event.name = std::holds_alternative<Compare>(step) ? "compare" : "between segments";
    }
    const auto at = [&](uint64_t ns) {
      return options_.trace->ns_at(
          std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns)));
    };
    event.start_ns = at(time.begin_ns);
    event.duration_ns = at(time.end_ns) - event.start_ns;
    event.track = track;
    options_.trace->add(std::move(event));
  }
}

}  // namespace vyre::run
