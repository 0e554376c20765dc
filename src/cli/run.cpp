// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "cli/commands.hpp"
#include "cli/nearest.hpp"
#include "cli/open_device.hpp"
#include "cli/run_report.hpp"
#include "cli/values.hpp"
#include "cli/write_file.hpp"
#include "vyre/base/digest.hpp"
#include "vyre/base/trace.hpp"
#include "vyre/run/device.hpp"

namespace vyre::cli {

using namespace ir;

namespace {

// What the caller gets back, in the order of the output slots.
struct Output {
  BufferId buffer;
  std::optional<Shape> shape;
  std::string path;  // empty: print it
};

constexpr uint64_t kMaxJsonValues = 1024;

std::vector<Output> outputs_of(const check::CheckedProgram& checked) {
  std::vector<Output> outputs;
  for (uint32_t i = 0; i < checked.buffers.size(); ++i)
    if (checked.buffers[i].output_slot) outputs.push_back({BufferId{i}, {}, {}});
  return outputs;
}

// The output a name of --out or --shape means.
std::expected<Output*, Failure> find_output(std::vector<Output>& outputs, const Program& p,
                                            std::string_view option, const std::string& name) {
  std::vector<std::string> known;
  for (Output& output : outputs) {
    if (p[output.buffer].name == name) return &output;
    known.push_back(p[output.buffer].name);
  }
  Failure failure{kExitInvalidArgument,
                  fmt::format("{}: program `{}` has no output named `{}`", option, p.name, name),
                  ""};
  const std::string meant = nearest(name, known);
  if (!meant.empty())
    failure.fix = fmt::format("did you mean `{}`?", meant);
  else if (known.empty())
    failure.fix = "the program has no outputs";
  else
    failure.fix = fmt::format("its outputs are {}", fmt::join(known, ", "));
  return std::unexpected(std::move(failure));
}

std::expected<std::vector<Output>, Failure> parse_outputs(const RunOptions& options,
                                                          const check::CheckedProgram& checked) {
  const Program& p = checked.program;
  std::vector<Output> outputs = outputs_of(checked);
  for (const std::string& text : options.shape) {
    VYRE_TRY_ASSIGN(const auto named, parse_shape(text));
    VYRE_TRY_ASSIGN(const auto output, find_output(outputs, p, "--shape", named.name));
    output->shape = named.shape;
  }
  for (const std::string& text : options.out) {
    VYRE_TRY_ASSIGN(const auto assignment, parse_assignment("--out", text));
    VYRE_TRY_ASSIGN(const auto output, find_output(outputs, p, "--out", assignment.name));
    if (!output->path.empty())
      return std::unexpected(Failure{
          kExitUsage, fmt::format("--out {} is given twice", assignment.name), "give it once"});
    output->path = assignment.value;
  }
  for (const Output& output : outputs) {
    if (output.path.empty()) continue;
    const auto& facts = checked.buffers[output.buffer.index()];
    if (auto failure =
            check_output({.name = p[output.buffer].name,
                          .element = p[output.buffer].element,
                          .count = facts.range_bytes ? std::nullopt : facts.constant_count},
                         output.shape, output.path))
      return std::unexpected(*failure);
  }
  return outputs;
}

std::string digest_text(std::span<const std::byte> bytes) {
  return digest_of(bytes).hex();
}

void print_output(App& app, const ArrayView& array) {
  app.put(fmt::format("{} : {}[{}], digest {}\n  {}\n", array.name, name_of(array.element),
                      array.count(), digest_text(array.bytes).substr(0, 16), preview(array)));
}

// Numbers as numbers where JSON has them, else as text.
Json json_values(const ArrayView& array) {
  Json values = Json::array();
  for (uint64_t i = 0; i < array.count(); ++i) {
    const std::string text = element_text(array.element, array.bytes, i);
    Json value = Json::parse(text, nullptr, false);
    values.push_back(value.is_discarded() ? Json(text) : std::move(value));
  }
  return values;
}

Json json_of(const ArrayView& array, const Output& output) {
  Json json;
  json["name"] = array.name;
  json["type"] = name_of(array.element);
  json["count"] = array.count();
  json["digest"] = digest_text(array.bytes);
  if (array.count() <= kMaxJsonValues) json["values"] = json_values(array);
  if (!output.path.empty()) json["file"] = output.path;
  return json;
}

// Everything of a run, so that what it did can be reported however it ends.
class RunCommand {
 public:
  RunCommand(App& app, const RunOptions& options, Trace* trace)
      : app_(app), options_(options), trace_(trace) {}

  int run() {
    DeviceChoice choice = device_choice();
    if (const auto code = refuse_device(app_, choice)) return *code;
    auto prepared = prepare(app_, options_.dispatch, Inputs::All, trace_);
    if (!prepared) return prepared.error();
    prepared_ = std::move(*prepared);
    auto outputs = parse_outputs(options_, prepared_.checked);
    if (!outputs) return app_.fail(outputs.error());
    outputs_ = std::move(*outputs);
    if (app_.json && std::ranges::any_of(outputs_, [](const Output& o) { return o.path == "-"; }))
      return app_.fail({kExitUsage, "--json and --out NAME=- both claim stdout",
                        "write the output to a file; the document holds small ones anyway"});
    auto device = open_device(app_, std::move(choice));
    if (!device) return device.error();
    device_ = std::move(*device);
    const Result<void> ran = dispatch();
    app_.device_lost = device_.is_lost();
    if (!ran && InterruptGuard::interrupted()) return kExitInterrupted;
    if (!ran) {
      const Json lines = printed();
      return fail(app_, prepared_, ran.error(), &lines);
    }
    return finish();
  }

  // The counters of the device, as far as one was opened, in the format of the file.
  [[nodiscard]] std::string metrics() const {
    const std::string& device = device_.info().id;
    if (options_.metrics.ends_with(".json")) return to_json(device_.telemetry(), device) + "\n";
    return device_.valid() ? to_prometheus(device_.telemetry(), device) : "";
  }

 private:
  [[nodiscard]] DeviceChoice device_choice() const {
    DeviceChoice choice;
    choice.id = options_.device;
    choice.allow_cpu = !options_.no_fallback;
    choice.schedule = options_.schedule;
    choice.subgroup_size = options_.subgroup_size;
    choice.seed = options_.dispatch.seed;
    if (!cached()) choice.options.cache_directory.clear();
    choice.options.trace = trace_;
    choice.options.warn = warn;
    return choice;
  }
  [[nodiscard]] bool cached() const {
    return !options_.no_cache && !pipeline::DiskCache::default_directory().empty();
  }

  // Known before the program is compiled, so that no code is made for other grids.
  [[nodiscard]] std::optional<check::Axes> grid() const {
    const std::vector<std::span<const std::byte>> inputs = prepared_.input_views();
    const auto launch = check::resolve_launch(
        prepared_.checked,
        {.inputs = inputs, .grid = prepared_.grid, .workgroup = prepared_.workgroup});
    // What is wrong with them is said by the dispatch.
    return launch ? std::optional(launch->grid) : prepared_.grid;
  }

  [[nodiscard]] run::DispatchConfig config() {
    run::DispatchConfig config;
    config.grid = grid();
    config.workgroup = prepared_.workgroup;
    config.fixpoint_iterations = options_.iterations;
    config.checked = options_.checked;
    if (options_.print) {
      config.print = true;
      config.print_to = std::make_shared<const run::PrintFunction>(
          [this](const PrintReport& report) { show(report); });
    }
    config.tune = run::tune_from_name(options_.tune);
    set(config, options_.code);
    config.cancel = &InterruptGuard::interrupted();
    config.untrusted = prepared_.untrusted;
    if (options_.time) config.timing = run::Timing::Regions;
    // The first repetition ends with everything before it, each of the others by itself.
    if (prepared_.timeout.count() > 0) config.timeout = prepared_.time_left();
    return config;
  }

  // The lines of print(), each with its place.
  void show(const PrintReport& report) {
    std::string text;
    for (const PrintLine& line : report.lines)
      text += fmt::format("{}:{}:{}: {}\n", line.at.file.empty() ? prepared_.name : line.at.file,
                          line.at.line, line.at.column, line.text);
    if (report.dropped != 0)
      text += fmt::format("{} more line{} of print() did not fit\n", report.dropped,
                          report.dropped == 1 ? "" : "s");
    bar_->clear();
    App::talk(text);
    printed_.dropped += report.dropped;
    if (app_.json)
      printed_.lines.insert(printed_.lines.end(), report.lines.begin(), report.lines.end());
  }

  // For the document, of all repetitions.
  [[nodiscard]] Json printed() const {
    Json json = Json::object();
    if (!options_.print || !app_.json) return json;
    json["printed"] = Json::array();
    for (const PrintLine& line : printed_.lines) {
      Json row;
      row["phase"] = line.phase;
      row["lane"] = line.lane;
      row["file"] = line.at.file.empty() ? prepared_.name : line.at.file;
      row["line"] = line.at.line;
      row["column"] = line.at.column;
      row["text"] = line.text;
      json["printed"].push_back(std::move(row));
    }
    json["printed_dropped"] = printed_.dropped;
    return json;
  }

  Result<void> dispatch() {
    ProgressBar bar(prepared_.checked.program.name);
    bar_ = &bar;
    const InterruptGuard interrupt;
    run::DispatchConfig config = this->config();
    config.progress = std::make_shared<const run::ProgressFunction>(
        [&](uint64_t done, uint64_t of) { bar.show(done, of); });
    const auto compiled =
        device_.compile(std::make_shared<const check::CheckedProgram>(prepared_.checked), config);
    if (!compiled) return std::unexpected(compiled.error());
    VYRE_TRY_ASSIGN(const auto inputs, make_arguments(prepared_, device_));
    for (uint32_t i = 0; i < options_.repeat; ++i) {
      run::DispatchConfig over;
      if (prepared_.timeout.count() > 0)
        over.timeout = i == 0 ? prepared_.time_left() : prepared_.timeout;
      VYRE_TRY_ASSIGN(auto report,
                      compiled->pipeline.dispatch_into({.inputs = inputs.arguments, .outputs = {}},
                                                       results_, over));
      measured_.add(std::move(report));
    }
    measured_.why = compiled->pipeline.strategy().why;
    return {};
  }

  int finish() {
    const Program& p = prepared_.checked.program;
    Json document = app_.json ? app_.document(true) : Json();
    if (app_.json) {
      document.update(json_of(prepared_, device_.info().id, measured_, cached()));
      document["outputs"] = Json::array();
      document.update(printed());
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Output& output = outputs_[i];
      const ArrayView array{.name = p[output.buffer].name,
                            .element = p[output.buffer].element,
                            .bytes = results_[i],
                            .shape = output.shape};
      if (!output.path.empty()) {
        if (const auto failure = write_value(app_, array, output.path)) return app_.fail(*failure);
      } else if (!app_.json) {
        print_output(app_, array);
      }
      if (app_.json) document["outputs"].push_back(json_of(array, output));
    }
    if (options_.time)
      App::talk(
          time_text(device_.info().id, route_name(prepared_.checked, measured_.last), measured_));
    if (app_.json) {
      app_.put_document(document);
      return kExitOk;
    }
    for (const TrapReport& report : measured_.last.resumed)
      App::talk(fmt::format("trap: tag {}, value {}, lane {}, line {}; resumed\n", report.tag,
                            report.value, report.lane, report.at.line));
    return kExitOk;
  }

  App& app_;
  const RunOptions& options_;
  Trace* trace_;
  Prepared prepared_;
  std::vector<Output> outputs_;
  run::Device device_;
  run::Outputs results_;  // by output slot
  Measured measured_;
  ProgressBar* bar_ = nullptr;  // while dispatches run
  PrintReport printed_;         // the lines with --json only
};

// Files that would take each other's place, and numbers that make no sense.
std::optional<Failure> misuse(const RunOptions& options, bool json) {
  if (options.repeat == 0)
    return Failure{kExitUsage, "--repeat takes how often to run, from 1 on, not 0",
                   "leave it out to run once"};
  for (const std::string* file : {&options.trace, &options.metrics})
    if (!file->empty() && options.dispatch.file != "-" && same_file(options.dispatch.file, *file))
      return Failure{
          kExitUsage,
          fmt::format("{} would overwrite the program {}",
                      file == &options.trace ? "--trace" : "--metrics", options.dispatch.file),
          "name another file"};
  if (options.metrics == "-" && json)
    return Failure{kExitUsage, "--json and --metrics - both claim stdout",
                   "write the counters to a file"};
  return std::nullopt;
}

}  // namespace

int run_run(App& app, const RunOptions& options) {
  if (const auto failure = misuse(options, app.json)) return app.fail(*failure);
  std::optional<Trace> trace;
  if (!options.trace.empty()) {
    trace.emplace();
    trace->name_thread("vyre run");
  }
  RunCommand command(app, options, trace ? &*trace : nullptr);
  int code = command.run();
  // Also of runs that failed: that is when it is read.
  const auto keep = [&](const std::string& path, const std::string& content) {
    if (path.empty()) return;
    const auto failure = write_file(path, content);
    if (failure && code == kExitOk) code = failure->exit_code;
    if (failure) app.report(*failure);
  };
  if (trace) keep(options.trace, trace->write_json());
  if (options.metrics == "-")
    app.put(command.metrics());
  else
    keep(options.metrics, command.metrics());
  return code;
}

}  // namespace vyre::cli
