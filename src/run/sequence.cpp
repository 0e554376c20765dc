// SPDX-License-Identifier: Apache-2.0
// Several dispatches as one piece of work for the device.
#include <memory>

#include <fmt/format.h>

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

Error of_item(Error error, size_t item, size_t items) {
  error.context.push_back(fmt::format("item {} of {} of the sequence", item, items));
  return error;
}

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

}  // namespace

Result<SequenceReport> Device::run_sequence(std::span<const SequenceItem> items, uint32_t repeats,
                                            std::span<const ReadRange> ranges,
                                            std::vector<std::vector<std::byte>>* results) const
    try {
  if (!state_) return no_device();
  const auto start = std::chrono::steady_clock::now();
  DeviceState& device = *state_;
  if (auto ok = device.check_usable(); !ok) return std::unexpected(ok.error());
  SequenceReport report;
  {
    const Queue::Turn turn(device.queues[0]);
    std::vector<Item> list;
    bool deferrable = true;
    SubmitOptions options;
    options.trace = device.trace.load();
    for (size_t i = 0; i < items.size(); ++i) {
      Item item;
      item.pipeline = items[i].pipeline.state_;
      if (!item.pipeline || item.pipeline->device != state_)
        return std::unexpected(of_item(
            fail(ErrorCode::StaleHandle,
                 fmt::format("a pipeline of another device is used with device `{}` (instance {}). "
                             "Fix: compile it on this device",
                             info().id, device.backend->instance()))
                .error(),
            i, items.size()));
      item.config = merge(item.pipeline->config, items[i].config);
      if (auto ok = check_config(item.config); !ok)
        return std::unexpected(of_item(ok.error(), i, items.size()));
      if (auto ok = check_inputs(*item.pipeline->source.program, items[i].arguments); !ok)
        return std::unexpected(of_item(ok.error(), i, items.size()));
      list.push_back(std::move(item));
    }
    for (size_t i = 0; i < list.size(); ++i) {
      list[i].dispatch = std::make_unique<Dispatch>(*list[i].pipeline, list[i].config);
      if (auto ok = list[i].dispatch->prepare(items[i].arguments); !ok)
        return std::unexpected(of_item(ok.error(), i, items.size()));
      deferrable = deferrable && list[i].dispatch->deferrable();
    }
    // What a longer timeout allows, the shortest one forbids.
    std::optional<std::chrono::nanoseconds> timeout;
    for (const Item& item : list)
      if (item.config.timeout && item.config.timeout->count() > 0 &&
          (!timeout || *item.config.timeout < *timeout))
        timeout = item.config.timeout;
    if (timeout) options.deadline = start + *timeout;

    Recorder recorder;
    recorder.begin(*device.backend, options);
    if (deferrable && !list.empty()) {
      Report unused;
      const auto flush = [&]() -> Result<void> {
        auto ok = recorder.flush();
        if (ok) return ok;
        return std::unexpected(
            list[0].dispatch->with_context(ok.error(), recorder.failed_segment().value_or(0)));
      };
      for (Item& item : list) item.dispatch->record_inputs(recorder);
      const auto record_all = [&]() -> Result<void> {
        for (Item& item : list)
          if (auto ok = item.dispatch->record_pass(recorder, unused); !ok) return ok;
        return {};
      };
      if (repeats > 1 && info().capabilities.device_loops) {
        const uint32_t at = recorder.size();
        device::Repeat repeat;
        repeat.most = repeats;
        recorder.add(repeat);
        if (auto ok = record_all(); !ok) return std::unexpected(ok.error());
        std::get<device::Repeat>(recorder.step(at)).body_steps = recorder.size() - at - 1;
      } else {
        for (uint32_t n = 0; n < repeats; ++n) {
          if (auto ok = record_all(); !ok) return std::unexpected(ok.error());
          if (recorder.size() > kMostSteps)
            if (auto ok = flush(); !ok) return std::unexpected(ok.error());
        }
      }
      if (auto ok = flush(); !ok) return std::unexpected(ok.error());
      report.launches = recorder.launches();
      report.submissions = recorder.submissions();
      report.timings = recorder.timings();
      device.telemetry.add(device::TelemetryField::Dispatches, uint64_t{repeats} * list.size());
      // Which item made how many launches is not told; the routes of a sequence are alike.
      for (size_t i = 0; i < list.size(); ++i)
        list[i].dispatch->count(repeats, i == 0 ? report.launches : 0);
    } else {
      TimeSum times;
      for (uint32_t n = 0; n < repeats; ++n) {
        for (size_t i = 0; i < list.size(); ++i) {
          // Arguments are taken once; the work of a dispatch can be done again.
          auto ran = list[i].dispatch->run(nullptr);
          if (!ran) return std::unexpected(of_item(ran.error(), i, items.size()));
          report.launches += ran->launches;
          report.submissions += list[i].dispatch->workspace().recorder.submissions();
          if (auto ok = times.add(ran->timings); !ok) return std::unexpected(ok.error());
        }
      }
      report.timings = times.times;
    }
  }
  if (results != nullptr) {
    auto read = read_ranges(ranges);
    if (!read) return std::unexpected(read.error());
    *results = std::move(*read);
  }
  report.wall_ns = static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  return report;
} catch (const std::bad_alloc&) {
  return no_host_memory("a sequence");
}

}  // namespace vyre::run
