// SPDX-License-Identifier: Apache-2.0
// Finds the fastest strategy of a program at once: the dispatches that `tune: on` measures one by
// one, one after the other.
#include <charconv>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "cli/commands.hpp"
#include "cli/open_device.hpp"
#include "cli/run_report.hpp"
#include "cli/strategy.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/run/device.hpp"

namespace vyre::cli {

namespace {

using Clock = std::chrono::steady_clock;

std::expected<std::chrono::nanoseconds, Failure> parse_budget(const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr double kMost = 86'400;
  if (error != std::errc() || end != text.data() + text.size() || !(seconds > 0) || seconds > kMost)
    return std::unexpected(
        Failure{kExitUsage, fmt::format("--budget takes seconds, up to a day, not '{}'", text),
                "--budget 30"});
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

double ratio_of(const run::TuningView::Row& row) {
  return static_cast<double>(*row.own_ns) /
         static_cast<double>(std::max<uint64_t>(1, *row.default_ns));
}

class TuneCommand {
 public:
  TuneCommand(App& app, const TuneOptions& options) : app_(app), options_(options) {}

  int run() {
    const auto budget = parse_budget(options_.budget);
    if (!budget) return app_.fail(budget.error());
    DeviceChoice choice;
    choice.id = options_.device;
    choice.options.warn = warn;
    choice.options.fresh_tuning = true;
    if (const auto code = refuse_device(app_, choice)) return *code;
    auto prepared = prepare(app_, options_.dispatch);
    if (!prepared) return prepared.error();
    prepared_ = std::move(*prepared);
    auto device = open_device(app_, std::move(choice));
    if (!device) return device.error();
    device_ = std::move(*device);
    const auto measured = measure(*budget);
    app_.device_lost = device_.is_lost();
    if (!measured && InterruptGuard::interrupted()) return kExitInterrupted;
    if (!measured) return fail(app_, prepared_, measured.error());
    show();
    if (view_.record) return kExitOk;
    return app_.report(
        {exit_code_of(ErrorCode::Timeout),
         fmt::format("--budget {} is over after {} of at most {} runs, and nothing is kept",
                     options_.budget, view_.runs, view_.most_runs),
         "a longer --budget (and --timeout), or smaller inputs"});
  }

 private:
  Result<void> measure(std::chrono::nanoseconds budget) {
    const InterruptGuard interrupt;
    run::DispatchConfig config;
    config.grid = prepared_.grid;
    config.workgroup = prepared_.workgroup;
    config.checked = options_.checked;
    config.fixpoint_iterations = options_.iterations;
    config.tune = run::Tune::On;
    set(config, options_.code);
    config.cancel = &InterruptGuard::interrupted();
    if (prepared_.timeout.count() > 0) config.timeout = prepared_.time_left();
    VYRE_TRY_ASSIGN(
        const auto compiled,
        device_.compile(std::make_shared<const check::CheckedProgram>(prepared_.checked), config));
    VYRE_TRY_ASSIGN(const auto inputs, make_arguments(prepared_, device_));
    run::Outputs results;
    const Clock::time_point start = Clock::now();
    do {
      run::DispatchConfig over;
      if (prepared_.timeout.count() > 0) over.timeout = prepared_.time_left();
      VYRE_TRY_ASSIGN(report_, compiled.pipeline.dispatch_into(
                                   {.inputs = inputs.arguments, .outputs = {}}, results, over));
      view_ = compiled.pipeline.tuning().value_or(run::TuningView());
    } while (!view_.record && Clock::now() - start < budget);
    took_ = Clock::now() - start;
    return {};
  }

  [[nodiscard]] bool is_adopted(const run::TuningView::Row& row) const {
    return view_.record && view_.record->adopted == row.variant;
  }

  void show() {
    if (app_.json) return put_json();
    app_.put(fmt::format("{} on {}, grid {}x{}x{}: {} runs in {:.1f} s\n",
                         prepared_.checked.program.name, device_.info().id, report_.grid[0],
                         report_.grid[1], report_.grid[2], view_.runs, took_.count()));
    if (view_.rows.size() < 2) {
      app_.put("  there is no other strategy to try\n");
      return;
    }
    app_.put(fmt::format("  {:<32} {:>12} {:>12} {:>7}\n", "candidate", "default", "candidate",
                         "ratio"));
    for (size_t i = 1; i < view_.rows.size(); ++i) {
      const run::TuningView::Row& row = view_.rows[i];
      std::string line = fmt::format("  {:<32} {:>12} {:>12} ", row.what,
                                     duration_text(row.default_ns), duration_text(row.own_ns));
      line += row.own_ns ? fmt::format("{:>7.3f}", ratio_of(row)) : fmt::format("{:>7}", "-");
      if (is_adopted(row)) line += "  adopted";
      if (!row.dropped.empty()) line += "  " + row.dropped;
      app_.put(line + "\n");
    }
    if (view_.record && !view_.record->adopted)
      app_.put("  the default stays: nothing else is at least 5 % faster each time\n");
  }

  void put_json() {
    Json document = app_.document(view_.record.has_value());
    document["program"] = prepared_.checked.program.name;
    document["digest"] = ir::digest_of(prepared_.checked.program).hex();
    document["device"] = device_.info().id;
    document["grid"] = report_.grid;
    document["workgroup"] = report_.workgroup;
    document["runs"] = view_.runs;
    document["most_runs"] = view_.most_runs;
    document["over"] = view_.record.has_value();
    document["adopted"] =
        view_.record && view_.record->adopted ? json_of(*view_.record->adopted) : Json();
    document["candidates"] = Json::array();
    for (size_t i = 1; i < view_.rows.size(); ++i) {
      const run::TuningView::Row& row = view_.rows[i];
      Json json;
      json["what"] = row.what;
      json["strategy"] = json_of(row.variant);
      json["pairs"] = row.pairs;
      json["default_ns"] = row.default_ns ? Json(*row.default_ns) : Json();
      json["candidate_ns"] = row.own_ns ? Json(*row.own_ns) : Json();
      json["ratio"] = row.own_ns ? Json(ratio_of(row)) : Json();
      json["adopted"] = is_adopted(row);
      json["dropped"] = row.dropped.empty() ? Json() : Json(row.dropped);
      document["candidates"].push_back(std::move(json));
    }
    app_.put_document(document);
  }

  App& app_;
  const TuneOptions& options_;
  Prepared prepared_;
  run::Device device_;
  run::Report report_;
  run::TuningView view_;
  std::chrono::duration<double> took_{};
};

}  // namespace

int run_tune(App& app, const TuneOptions& options) {
  return TuneCommand(app, options).run();
}

}  // namespace vyre::cli
