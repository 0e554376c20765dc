// SPDX-License-Identifier: Apache-2.0
// Several dispatches as one piece of work for the device.
#include <algorithm>
#include <list>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "run/break_down.hpp"
#include "run/entry.hpp"
#include "run/errors.hpp"
#include "run/state.hpp"

namespace vyre::run {

namespace {

// A list of steps is handed over at this length, so that many repeats on a device without loops do
// not take memory without end.
constexpr uint32_t kMostSteps = 1 << 16;

struct Item {
  std::shared_ptr<PipelineState> pipeline;
  const Arguments* arguments = nullptr;
  DispatchConfig config;
  std::unique_ptr<Dispatch> dispatch;
  uint64_t begun = 0;  // dispatches
  uint64_t done = 0;
  PartTotals totals;  // of those
  std::optional<uint64_t> passes_of_whole;
};

// What comes from the host is uploaded once; a buffer that is written would have to start anew.
Result<void> check_inputs(const check::CheckedProgram& checked, const Arguments& arguments) {
  for (size_t i = 0; i < checked.buffers.size(); ++i) {
    const check::BufferFacts& facts = checked.buffers[i];
    const std::string& name = checked.program.buffers[i].name;
    if (facts.role == check::Role::InputOutput && facts.input_slot &&
        *facts.input_slot < arguments.inputs.size() &&
        arguments.inputs[*facts.input_slot].buffer() == nullptr)
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("`{}` is changed by the sequence, so it has to be a buffer on the "
                              "device. Fix: upload it first",
                              name));
    if (facts.role == check::Role::Output && facts.output_slot &&
        (arguments.outputs.size() <= *facts.output_slot ||
         arguments.outputs[*facts.output_slot] == nullptr))
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("the output `{}` of a sequence has to stay on the device. Fix: give "
                              "a buffer for it, and read ranges of that",
                              name));
  }
  return {};
}

// A sequence while it runs. Its items are numbered through: prefix, repeated ones, suffix.
class SequenceRun {
 public:
  using Time = std::chrono::steady_clock::time_point;
  SequenceRun(DeviceState& device, const Sequence& sequence)
      : device_(device),
        sequence_(sequence),
        repeated_(sequence.prefix.size()),
        suffix_(repeated_ + sequence.repeated.size()) {}

  // The items with their configs, as far as nothing has to be locked.
  Result<void> take_items(std::span<const std::shared_ptr<PipelineState>> pipelines) {
    for (const auto& part : {sequence_.prefix, sequence_.repeated, sequence_.suffix})
      for (const SequenceItem& item : part) {
        Item& taken = list_.emplace_back();
        taken.pipeline = pipelines[list_.size() - 1];
        taken.arguments = &item.arguments;
        taken.config = item.config;
      }
    for (size_t i = 0; i < list_.size(); ++i)
      if (auto ok = take(list_[i]); !ok) return std::unexpected(of_item(std::move(ok.error()), i));
    return {};
  }

  // Everything else that can be refused.
  Result<void> prepare() {
    for (size_t i = 0; i < list_.size(); ++i) {
      Item& item = list_[i];
      item.dispatch = std::make_unique<Dispatch>(
          *item.pipeline, item.config, std::chrono::steady_clock::now(),
          Dispatch::Results{Dispatch::Slots::Callers, Dispatch::Reports::NoBreakdown});
      if (auto ok = item.dispatch->prepare(*item.arguments); !ok) {
        complete_error(*device_.backend, {"dispatching program", name_of(item)}, ok.error());
        return std::unexpected(of_item(std::move(ok.error()), i));
      }
      // A submission for all items could not stop just this one, and is in one queue.
      deferrable_ = deferrable_ && !item.config.cancel && queue_of(item) == queue_of(list_[0]) &&
                    item.dispatch->deferrable();
    }
    return {};
  }

  // Of all items, each in its own; in the order of their numbers, as recover() takes them.
  [[nodiscard]] std::list<Queue::Lock> lock_queues() const {
    std::set<uint32_t> numbers;
    for (const Item& item : list_) numbers.insert(queue_of(item));
    std::list<Queue::Lock> locks;
    for (const uint32_t number : numbers) locks.emplace_back(device_.queues[number]);
    return locks;
  }

  Result<void> run(Time start) {
    if (!deferrable_ || list_.empty()) return run_items();
    auto ran = run_deferred(start);
    for (const Item& item : list_)
      item.dispatch->count(item.begun, item.done, item.totals.launches);
    if (!ran) device_.count(ran.error());
    return ran;
  }

  Result<SequenceReport> report() {
    SequenceReport report;
    report.submissions = submissions_;
    report.timings = times_.times;
    for (const Item& item : list_) {
      SequenceItemReport& row = report.items.emplace_back();
      row.dispatches = item.done;
      row.launches = item.totals.launches;
      // There is none where the grid is read at the start, and nothing has started.
      if (const auto& variant = item.dispatch->workspace().variant) {
        VYRE_TRY_ASSIGN(row.breakdown, break_down(item.totals, *variant, timing_of(item.config),
                                                  item.passes_of_whole));
      }
      report.launches += row.launches;
    }
    return report;
  }

 private:
  // Steps from here on, up to the next mark, are a dispatch of the item, or all of its dispatches
  // in that Repeat.
  struct Mark {
    uint32_t first = 0;
    size_t item = 0;
    std::optional<uint32_t> repeat = {};
  };

  Result<void> take(Item& item) const {
    if (!item.pipeline || item.pipeline->device.get() != &device_)
      return fail(ErrorCode::StaleHandle,
                  fmt::format("a pipeline of another device is used with device `{}` "
                              "(instance {}). Fix: compile it on this device",
                              device_.backend->info().id, device_.backend->instance()));
    item.config = merge(item.pipeline->config, item.config);
    VYRE_TRY(check_config(item.config));
    return check_inputs(*item.pipeline->source.program, *item.arguments);
  }

  Error of_item(Error error, size_t item) const {
    error.context.push_back(fmt::format("item {} of {} of the sequence", item, list_.size()));
    return error;
  }
  static uint32_t queue_of(const Item& item) { return item.config.queue.value_or(0); }
  static const std::string& name_of(const Item& item) {
    return item.pipeline->source.program->program.name;
  }

  // ---- one after the other, each with all that a dispatch does

  Result<void> run_items() {
    VYRE_TRY(run_items(0, repeated_));
    for (uint32_t n = 0; n < sequence_.repeats; ++n) VYRE_TRY(run_items(repeated_, suffix_));
    return run_items(suffix_, list_.size());
  }
  Result<void> run_items(size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      Item& item = list_[i];
      // Arguments are taken once; the work of a dispatch can be done again.
      auto ran = item.dispatch->run(nullptr);
      if (!ran) return std::unexpected(of_item(std::move(ran.error()), i));
      ++item.done;
      PartTotals totals = totals_of(item.dispatch->workspace());
      totals.launches = ran->launches;  // also where nothing is measured
      add(item.totals, totals);
      if (const auto passes = passes_of(ran->fixpoints))
        item.passes_of_whole = item.passes_of_whole.value_or(0) + *passes;
      submissions_ += item.dispatch->workspace().recorder.submissions();
      if (ran->launches != 0) VYRE_TRY(times_.add(ran->timings));
    }
    return {};
  }

  // ---- all in one list of steps

  Result<void> run_deferred(Time start) {
    SubmitOptions options;
    options.queue = queue_of(list_[0]);
    options.trace = device_.trace.load();
    options.by_part = true;
    // What a longer timeout allows, the shortest one forbids.
    std::optional<std::chrono::nanoseconds> timeout;
    for (const Item& item : list_) {
      options.timing = std::max(options.timing, timing_of(item.config));
      if (item.config.timeout && item.config.timeout->count() > 0 &&
          (!timeout || *item.config.timeout < *timeout))
        timeout = item.config.timeout;
    }
    if (timeout) options.deadline = start + *timeout;
    recorder_.begin(*device_.backend, options);
    for (Item& item : list_) item.dispatch->record_inputs(recorder_);
    auto ran = record();
    if (ran) ran = flush();
    submissions_ = recorder_.submissions();
    if (ran) ran = times_.add(recorder_.timings());
    const auto parts = recorder_.parts();
    for (size_t i = 0; i < parts.size(); ++i) add(list_[i].totals, parts[i]);
    return ran;
  }

  Result<void> record() {
    VYRE_TRY(record_items(0, repeated_));
    VYRE_TRY(record_repeated());
    return record_items(suffix_, list_.size());
  }

  Result<void> record_repeated() {
    if (repeated_ == suffix_) return {};
    if (sequence_.repeats > 1 && device_.backend->info().capabilities.device_loops) {
      const uint32_t at = recorder_.size();
      device::Repeat repeat;
      repeat.most = sequence_.repeats;
      recorder_.add(repeat);
      VYRE_TRY(record_items(repeated_, suffix_, at));
      std::get<device::Repeat>(recorder_.step(at)).body_steps = recorder_.size() - at - 1;
      return {};
    }
    for (uint32_t n = 0; n < sequence_.repeats; ++n) {
      VYRE_TRY(record_items(repeated_, suffix_));
      if (recorder_.size() > kMostSteps) VYRE_TRY(flush());
    }
    return {};
  }

  Result<void> record_items(size_t first, size_t last, std::optional<uint32_t> repeat = {}) {
    Report unused;
    for (size_t i = first; i < last; ++i) {
      marks_.push_back({recorder_.size(), i, repeat});
      recorder_.begin_part(static_cast<uint32_t>(i));
      VYRE_TRY(list_[i].dispatch->record_pass(recorder_, unused));
    }
    return {};
  }

  Result<void> flush() {
    auto ok = recorder_.flush();
    if (ok) {
      for (const Mark& mark : marks_) {
        const uint64_t dispatches = mark.repeat ? sequence_.repeats : 1;
        list_[mark.item].begun += dispatches;
        list_[mark.item].done += dispatches;
      }
      if (const auto& whole = recorder_.completion().whole; whole && !whole->resumed.empty())
        device_.telemetry.add(device::TelemetryField::Traps, whole->resumed.size());
    } else if (!marks_.empty()) {
      const size_t failed = failed_mark();
      count_until(failed);
      const size_t item = marks_[failed].item;
      ok = std::unexpected(of_item(
          list_[item].dispatch->with_context(ok.error(), recorder_.failed_segment().value_or(0)),
          item));
    }
    marks_.clear();
    return ok;
  }

  // The first one if it is not known.
  [[nodiscard]] size_t failed_mark() const {
    size_t failed = 0;
    for (size_t m = 0; m < marks_.size(); ++m)
      if (recorder_.failed_step() && marks_[m].first <= *recorder_.failed_step()) failed = m;
    return failed;
  }

  // What was done before a submission failed, as single dispatches would have counted it: those
  // that ended with their launches, and that the one began that failed.
  void count_until(size_t failed) {
    const std::span<const uint64_t> counts = recorder_.counts();
    const auto passes_of_repeat = [&](const Mark& mark) {
      return mark.repeat && *mark.repeat < counts.size() ? counts[*mark.repeat] : uint64_t{1};
    };
    const std::optional<uint32_t> around = marks_[failed].repeat;
    for (size_t m = 0; m < marks_.size(); ++m) {
      const Mark& mark = marks_[m];
      if (m > failed && (!around || mark.repeat != around)) break;
      const uint64_t passes = std::max<uint64_t>(passes_of_repeat(mark), 1);
      Item& item = list_[mark.item];
      const uint64_t done = m < failed ? passes : passes - 1;
      item.begun += m == failed ? passes : done;
      item.done += done;
      const auto end =
          static_cast<uint32_t>(m + 1 < marks_.size() ? marks_[m + 1].first : counts.size());
      for (uint32_t step = mark.first; step < std::min<size_t>(end, counts.size()); ++step)
        if (std::holds_alternative<device::Launch>(recorder_.step(step)))
          item.totals.launches += m == failed ? std::min(counts[step], done) : counts[step];
    }
  }

  DeviceState& device_;
  const Sequence& sequence_;
  const size_t repeated_;  // where these items begin
  const size_t suffix_;
  std::vector<Item> list_;
  bool deferrable_ = true;
  Recorder recorder_;
  std::vector<Mark> marks_;
  uint64_t submissions_ = 0;
  TimeSum times_;
};

}  // namespace

Result<SequenceReport> Device::run_sequence(std::span<const SequenceItem> items,
                                            uint32_t repeats) const {
  return run_sequence({.repeated = items, .repeats = repeats});
}

Result<SequenceReport> Device::run_sequence(const Sequence& sequence, Outputs* results) const {
  const auto start = std::chrono::steady_clock::now();
  if (!state_) return no_device();
  DeviceState& device = *state_;
  const Doing doing{"running a sequence"};
  return enter(*device.backend, doing, [&]() -> Result<SequenceReport> {
    VYRE_TRY(device.check_usable());
    std::vector<std::shared_ptr<PipelineState>> pipelines;
    for (const auto& part : {sequence.prefix, sequence.repeated, sequence.suffix})
      for (const SequenceItem& item : part) pipelines.push_back(item.pipeline.state_);
    SequenceRun run(device, sequence);
    VYRE_TRY(run.take_items(pipelines));
    {
      const auto locks = run.lock_queues();
      VYRE_TRY(run.prepare());
      VYRE_TRY(run.run(start));
    }
    if (results != nullptr) {
      VYRE_TRY_ASSIGN(const auto stats, read_into(device, sequence.ranges, *results));
      device.telemetry.add(device::TelemetryField::OutputBytes, stats.bytes_incoming);
      record(device.telemetry, stats);
    }
    const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - start;
    VYRE_TRY_ASSIGN(auto report, run.report());
    report.wall_ns = static_cast<uint64_t>(wall.count());
    return report;
  });
}

}  // namespace vyre::run
