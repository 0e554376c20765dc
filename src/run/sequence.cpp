// SPDX-License-Identifier: Apache-2.0
// Several dispatches as one piece of work for the device.
#include <list>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/errors.hpp"
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
  DispatchConfig config;
  std::unique_ptr<Dispatch> dispatch;
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

// A sequence while it runs.
class Sequence {
 public:
  Sequence(DeviceState& device, std::span<const SequenceItem> items, uint32_t repeats)
      : device_(device), items_(items), repeats_(repeats) {}

  // The items with their configs, as far as nothing has to be locked.
  Result<void> take_items(std::span<const std::shared_ptr<PipelineState>> pipelines) {
    for (size_t i = 0; i < items_.size(); ++i) {
      Item item;
      item.pipeline = pipelines[i];
      if (!item.pipeline || item.pipeline->device.get() != &device_)
        return std::unexpected(
            of_item(fail(ErrorCode::StaleHandle,
                         fmt::format("a pipeline of another device is used with device `{}` "
                                     "(instance {}). Fix: compile it on this device",
                                     device_.backend->info().id, device_.backend->instance()))
                        .error(),
                    i));
      item.config = merge(item.pipeline->config, items_[i].config);
      if (auto ok = check_config(item.config); !ok) return std::unexpected(of_item(ok.error(), i));
      if (auto ok = check_inputs(*item.pipeline->source.program, items_[i].arguments); !ok)
        return std::unexpected(of_item(ok.error(), i));
      list_.push_back(std::move(item));
    }
    return {};
  }

  // Everything else that can be refused.
  Result<void> prepare() {
    for (size_t i = 0; i < list_.size(); ++i) {
      list_[i].dispatch = std::make_unique<Dispatch>(*list_[i].pipeline, list_[i].config);
      if (auto ok = list_[i].dispatch->prepare(items_[i].arguments); !ok) {
        complete_error(*device_.backend, {"dispatching program", name_of_item(i)}, ok.error());
        return std::unexpected(of_item(std::move(ok.error()), i));
      }
      // A submission for all items could not stop just this one, and is in one queue.
      deferrable_ = deferrable_ && !list_[i].config.cancel && queue_of(i) == queue_of(0) &&
                    list_[i].dispatch->deferrable();
    }
    return {};
  }

  // Of all items, each in its own; in the order of their numbers, as recover() takes them.
  [[nodiscard]] std::list<Queue::Lock> lock_queues() const {
    std::set<uint32_t> numbers;
    for (size_t i = 0; i < list_.size(); ++i) numbers.insert(queue_of(i));
    std::list<Queue::Lock> locks;
    for (const uint32_t number : numbers) locks.emplace_back(device_.queues[number]);
    return locks;
  }

  Result<SequenceReport> run(std::chrono::steady_clock::time_point start) {
    return deferrable_ && !list_.empty() ? run_deferred(start) : run_items();
  }

 private:
  // Steps from here on, up to the next mark, belong to the item.
  struct Mark {
    uint32_t first = 0;
    size_t item = 0;
  };

  Error of_item(Error error, size_t item) const {
    error.context.push_back(fmt::format("item {} of {} of the sequence", item, items_.size()));
    return error;
  }
  uint32_t queue_of(size_t item) const { return list_[item].config.queue.value_or(0); }
  const std::string& name_of_item(size_t item) const {
    return list_[item].pipeline->source.program->program.name;
  }

  // One after the other, each with all that a dispatch does.
  Result<SequenceReport> run_items() {
    SequenceReport report;
    TimeSum times;
    for (uint32_t n = 0; n < repeats_; ++n) {
      for (size_t i = 0; i < list_.size(); ++i) {
        // Arguments are taken once; the work of a dispatch can be done again.
        auto ran = list_[i].dispatch->run(nullptr);
        if (!ran) return std::unexpected(of_item(std::move(ran.error()), i));
        report.launches += ran->launches;
        report.submissions += list_[i].dispatch->workspace().recorder.submissions();
        VYRE_TRY(times.add(ran->timings));
      }
    }
    report.timings = times.times;
    return report;
  }

  // All in one list of steps.
  Result<SequenceReport> run_deferred(std::chrono::steady_clock::time_point start) {
    SubmitOptions options;
    options.queue = queue_of(0);
    options.trace = device_.trace.load();
    // What a longer timeout allows, the shortest one forbids.
    std::optional<std::chrono::nanoseconds> timeout;
    for (const Item& item : list_)
      if (item.config.timeout && item.config.timeout->count() > 0 &&
          (!timeout || *item.config.timeout < *timeout))
        timeout = item.config.timeout;
    if (timeout) options.deadline = start + *timeout;
    recorder_.begin(*device_.backend, options);
    for (Item& item : list_) item.dispatch->record_inputs(recorder_);
    VYRE_TRY(record_repeats());
    VYRE_TRY(flush());
    SequenceReport report;
    report.launches = recorder_.launches();
    report.submissions = recorder_.submissions();
    report.timings = recorder_.timings();
    device_.telemetry.add(device::TelemetryField::Dispatches, uint64_t{repeats_} * list_.size());
    // Launches are not reported by item; the routes of a sequence are alike.
    for (size_t i = 0; i < list_.size(); ++i)
      list_[i].dispatch->count(repeats_, i == 0 ? report.launches : 0);
    return report;
  }

  Result<void> record_repeats() {
    if (repeats_ > 1 && device_.backend->info().capabilities.device_loops) {
      const uint32_t at = recorder_.size();
      device::Repeat repeat;
      repeat.most = repeats_;
      recorder_.add(repeat);
      VYRE_TRY(record_items());
      std::get<device::Repeat>(recorder_.step(at)).body_steps = recorder_.size() - at - 1;
      return {};
    }
    for (uint32_t n = 0; n < repeats_; ++n) {
      VYRE_TRY(record_items());
      if (recorder_.size() > kMostSteps) VYRE_TRY(flush());
    }
    return {};
  }

  Result<void> record_items() {
    Report unused;
    for (size_t i = 0; i < list_.size(); ++i) {
      marks_.push_back({recorder_.size(), i});
      VYRE_TRY(list_[i].dispatch->record_pass(recorder_, unused));
    }
    return {};
  }

  Result<void> flush() {
    auto ok = recorder_.flush();
    if (!ok) {
      size_t item = 0;  // if it is not known
      for (const Mark& mark : marks_)
        if (recorder_.failed_step() && mark.first <= *recorder_.failed_step()) item = mark.item;
      ok = std::unexpected(of_item(
          list_[item].dispatch->with_context(ok.error(), recorder_.failed_segment().value_or(0)),
          item));
    }
    marks_.clear();
    return ok;
  }

  DeviceState& device_;
  std::span<const SequenceItem> items_;
  uint32_t repeats_;
  std::vector<Item> list_;
  bool deferrable_ = true;
  Recorder recorder_;
  std::vector<Mark> marks_;
};

}  // namespace

Result<SequenceReport> Device::run_sequence(std::span<const SequenceItem> items, uint32_t repeats,
                                            std::span<const ReadRange> ranges,
                                            std::vector<std::vector<std::byte>>* results) const {
  const auto start = std::chrono::steady_clock::now();
  if (!state_) return no_device();
  DeviceState& device = *state_;
  const Doing doing{"running a sequence"};
  return enter(*device.backend, doing, [&]() -> Result<SequenceReport> {
    VYRE_TRY(device.check_usable());
    Result<SequenceReport> report;
    {
      std::vector<std::shared_ptr<PipelineState>> pipelines;
      for (const SequenceItem& item : items) pipelines.push_back(item.pipeline.state_);
      Sequence sequence(device, items, repeats);
      VYRE_TRY(sequence.take_items(pipelines));
      const auto locks = sequence.lock_queues();
      VYRE_TRY(sequence.prepare());
      report = sequence.run(start);
      if (!report) return report;
    }
    if (results != nullptr) {
      VYRE_TRY_ASSIGN(auto read, read_ranges(ranges));
      *results = std::move(read);
    }
    report->wall_ns = static_cast<uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
    return report;
  });
}

}  // namespace vyre::run
