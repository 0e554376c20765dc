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
  submission.timing = options_.trace != nullptr;
  submission.checked = options_.checked;
  submission.replay_key = replay_key_;
  submission.host = options_.host;
  submission.deadline = options_.deadline;
  submission.cancel = options_.cancel;
  submission.failed_step = &failed_;
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
  if (options_.trace != nullptr) trace();
  return completion_.launches == 0 ? Result<void>() : times_.add(completion_.timings);
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
