// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "cli/commands.hpp"
#include "cli/devices.hpp"
#include "cli/open_device.hpp"
#include "cli/profile_view.hpp"
#include "cli/strategy.hpp"
#include "cli/write_file.hpp"
#include "vyre/base/trace.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::cli {

namespace {

class ProfileCommand {
 public:
  ProfileCommand(App& app, const ProfileOptions& options) : app_(app), options_(options) {
    trace_.name_thread("vyre profile");
  }

  int run() {
    DeviceChoice choice;
    choice.id = options_.device;
    choice.options.trace = &trace_;
    choice.options.warn = warn;
    if (options_.no_cache) choice.options.cache_directory.clear();
    if (const auto code = refuse_device(app_, choice)) return *code;
    auto prepared = prepare(app_, options_.dispatch, Inputs::All, &trace_);
    if (!prepared) return prepared.error();
    prepared_ = std::move(*prepared);
    auto device = open_device(app_, std::move(choice));
    if (!device) return device.error();
    device_ = std::move(*device);
    const Result<void> ran = dispatch();
    app_.device_lost = device_.is_lost();
    if (!ran && InterruptGuard::interrupted()) return kExitInterrupted;
    if (!ran) return fail(app_, prepared_, ran.error());
    const auto view = stoppable(prepared_, [&] { return make_view(); });
    if (!view && InterruptGuard::interrupted()) return kExitInterrupted;
    if (!view) return fail(app_, prepared_, view.error());
    return show(*view);
  }

 private:
  Result<void> dispatch() {
    ProgressBar bar(prepared_.checked.program.name);
    const InterruptGuard interrupt;
    const std::vector<std::span<const std::byte>> inputs = prepared_.input_views();
    VYRE_TRY_ASSIGN(
        launch_, check::resolve_launch(
                     prepared_.checked,
                     {.inputs = inputs, .grid = prepared_.grid, .workgroup = prepared_.workgroup}));
    run::DispatchConfig config;
    config.grid = launch_.grid;
    config.workgroup = prepared_.workgroup;
    config.fixpoint_iterations = options_.iterations;
    config.checked = options_.checked;
    config.tune = run::tune_from_name(options_.tune);
    config.timing = run::Timing::Regions;
    set(config, options_.code);
    config.cancel = &InterruptGuard::interrupted();
    config.untrusted = prepared_.untrusted;
    if (prepared_.timeout.count() > 0) config.timeout = prepared_.time_left();
    config.progress = std::make_shared<const run::ProgressFunction>(
        [&](uint64_t done, uint64_t of) { bar.show(done, of); });
    VYRE_TRY_ASSIGN(
        const auto compiled,
        device_.compile(std::make_shared<const check::CheckedProgram>(prepared_.checked), config));
    VYRE_TRY_ASSIGN(const auto arguments, make_arguments(prepared_, device_));
    run::Outputs results;
    for (uint32_t i = 0; i < options_.repeat; ++i) {
      run::DispatchConfig over;
      if (prepared_.timeout.count() > 0)
        over.timeout = i == 0 ? prepared_.time_left() : prepared_.timeout;
      VYRE_TRY_ASSIGN(auto report,
                      compiled.pipeline.dispatch_into(
                          {.inputs = arguments.arguments, .outputs = {}}, results, over));
      measured_.add(report);
      reports_.push_back(std::move(report));
    }
    return {};
  }

  // The plan of what ran, if it is the one that the command line stands for.
  Result<std::optional<ShownStrategy>> shown(const KnownLaunch& known) {
    VYRE_TRY_ASSIGN(const auto facts, facts_of_device());
    if (!facts) return std::optional<ShownStrategy>();
    VYRE_TRY_ASSIGN(auto strategy,
                    strategy_of({.program = prepared_.checked,
                                 .workgroup = prepared_.workgroup,
                                 .launch = known.launch_if_known(),
                                 .device = *facts,
                                 .opened = &device_,
                                 .limits = limits_of(prepared_),
                                 .code = options_.code,
                                 .checked = options_.checked,
                                 .read_tuning = reads_tuning(options_.tune, "", known)}));
    if (strategy.digest != reports_.back().plan) return std::optional<ShownStrategy>();
    return std::optional(std::move(strategy));
  }
  Result<std::optional<device::DeviceFacts>> facts_of_device() {
    const auto facts = usable_device(device_.info().id);
    return facts ? std::optional(*facts) : std::nullopt;
  }

  Result<ProfileView> make_view() {
    const run::Report& last = reports_.back();
    VYRE_TRY_ASSIGN(const auto known, resolve_known(prepared_));
    VYRE_TRY_ASSIGN(const auto strategy, shown(known));
    ProfileView view;
    view.file = prepared_.name;
    view.program = prepared_.checked.program.name;
    view.digest = ir::digest_of(prepared_.checked.program).hex();
    view.device = device_.info().id;
    view.device_name = device_.info().profile.name;
    view.route = route_name(prepared_.checked, last);
    view.grid = last.grid;
    view.workgroup = last.workgroup;
    view.repeats = static_cast<uint32_t>(reports_.size());
    view.launches = last.launches;
    view.wall_ns = wall_spread(measured_);
    view.device_ns = spread_of(measured_.device_ns);
    view.peak_bandwidth = device_.info().profile.memory_bandwidth_bytes_per_second;
    view.rows = profile_rows({.prepared = prepared_,
                              .launch = launch_,
                              .reports = reports_,
                              .plan = strategy ? &strategy->plan : nullptr},
                             view.device_ns ? view.device_ns->median : 0);
    if (strategy) {
      VYRE_TRY_ASSIGN(view.plan, view_plan({.prepared = prepared_,
                                            .plan = strategy->plan,
                                            .digest = strategy->digest,
                                            .known = known,
                                            .strategy = strategy->strategy,
                                            .checked = options_.checked}));
    }
    view.spans = spans();
    return view;
  }

  // As the document of the trace has them, which is how everybody else sees them.
  [[nodiscard]] std::vector<ProfileSpan> spans() const {
    constexpr double kMicrosecond = 1e3;
    std::vector<ProfileSpan> list;
    std::map<int64_t, std::string> tracks;
    const Json document = Json::parse(trace_.write_json(), nullptr, false);
    if (!document.is_object() || !document.contains("traceEvents")) return list;
    for (const Json& event : document["traceEvents"])
      if (event.value("name", "") == "thread_name")
        tracks[event.value("tid", int64_t{0})] = event["args"].value("name", "");
    for (const Json& event : document["traceEvents"]) {
      if (event.value("ph", "") != "X") continue;
      const auto ns = [&](const char* field) {
        return static_cast<uint64_t>(event.value(field, 0.0) * kMicrosecond);
      };
      list.push_back({.name = event.value("name", ""),
                      .category = event.value("cat", ""),
                      .track = tracks[event.value("tid", int64_t{0})],
                      .start_ns = ns("ts"),
                      .duration_ns = ns("dur")});
    }
    return list;
  }

  [[nodiscard]] std::string content_of(const ProfileView& view) {
    if (options_.as == "html") return profile_html(view);
    if (options_.as == "text") return profile_text(view);
    Json document = app_.document(true);
    document.update(profile_json(view));
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  int show(const ProfileView& view) {
    const bool to_stdout = options_.output == "-";
    if (!to_stdout)
      if (const auto failure = write_file(options_.output, content_of(view)))
        return app_.fail(*failure);
    if (app_.json) {
      Json document = app_.document(true);
      document.update(profile_json(view));
      document["output"] = to_stdout ? Json() : Json(options_.output);
      if (to_stdout && options_.as == "html") document["content"] = profile_html(view);
      app_.put_document(document);
    } else if (to_stdout) {
      app_.put(content_of(view));
    }
    return kExitOk;
  }

  App& app_;
  const ProfileOptions& options_;
  Trace trace_;
  Prepared prepared_;
  check::Launch launch_;
  run::Device device_;
  std::vector<run::Report> reports_;
  Measured measured_;
};

}  // namespace

int run_profile(App& app, const ProfileOptions& options) {
  if (options.repeat == 0)
    return app.fail({kExitUsage, "--repeat takes how often to run, from 1 on, not 0",
                     "leave it out to run five times"});
  if (options.output != "-" && options.dispatch.file != "-" &&
      same_file(options.dispatch.file, options.output))
    return app.fail({kExitUsage,
                     fmt::format("-o would overwrite the program {}", options.dispatch.file),
                     "name another file"});
  return ProfileCommand(app, options).run();
}

}  // namespace vyre::cli
