// SPDX-License-Identifier: Apache-2.0
#include "c/show.hpp"

#include <utility>

#include "cli/dispatch.hpp"
#include "cli/plan_launch.hpp"
#include "cli/plan_view.hpp"
#include "cli/run_report.hpp"
#include "cli/strategy.hpp"
#include "vyre/run/config.hpp"

namespace vyre::c {

namespace {

// What the tool makes of a command line. The program is copied, which only this page pays for.
cli::Prepared prepared_of(const vyre_pipeline& pipeline) {
  cli::Prepared prepared;
  prepared.name = pipeline.source->file;
  prepared.text = pipeline.source->text;
  prepared.checked = *pipeline.source->checked;
  return prepared;
}

Json or_null(const std::optional<uint64_t>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

Json report_json(const vyre_pipeline& pipeline, run::Report report) {
  cli::Measured measured;
  measured.why = pipeline.pipeline.strategy().why;
  measured.add(std::move(report));
  return cli::json_of(prepared_of(pipeline), pipeline.device->device.info().id, measured, true);
}

Json report_json(const run::SequenceReport& report) {
  Json json;
  json["launches"] = report.launches;
  json["submissions"] = report.submissions;
  json["wall_ns"] = report.wall_ns;
  json["device_ns"] = or_null(report.timings.device_ns);
  json["enqueue_ns"] = or_null(report.timings.enqueue_ns);
  json["wait_ns"] = or_null(report.timings.wait_ns);
  json["items"] = Json::array();
  for (const run::SequenceItemReport& item : report.items) {
    Json row;
    row["dispatches"] = item.dispatches;
    row["launches"] = item.launches;
    json["items"].push_back(std::move(row));
  }
  return json;
}

Result<Json> plan_json(const vyre_pipeline& pipeline, const std::vector<run::Argument>& inputs,
                       const Config& config) {
  const run::DispatchConfig merged = run::merge(pipeline.config.dispatch, config.dispatch);
  const run::Device& device = pipeline.device->device;
  VYRE_TRY(device.backend().check_process());
  cli::Prepared prepared = prepared_of(pipeline);
  prepared.grid = merged.grid;
  prepared.workgroup = merged.workgroup;
  prepared.untrusted = merged.untrusted.value_or(false);
  prepared.inputs.resize(pipeline.inputs.size());
  if (inputs.empty()) prepared.missing = pipeline.inputs;
  for (size_t slot = 0; slot < inputs.size(); ++slot) {
    if (inputs[slot].buffer() == nullptr) {
      prepared.inputs[slot].assign(inputs[slot].bytes().begin(), inputs[slot].bytes().end());
      continue;
    }
    VYRE_TRY_ASSIGN(prepared.inputs[slot], device.read(*inputs[slot].buffer()));
  }
  VYRE_TRY_ASSIGN(const auto known, cli::resolve_known(prepared));
  const device::BackendInfo& info = device.info();
  const bool checked = merged.checked.value_or(false);
  const bool tuned = merged.tune.value_or(run::Tune::Off) != run::Tune::Off;
  VYRE_TRY_ASSIGN(
      const auto shown,
      cli::strategy_of({.program = prepared.checked,
                        .workgroup = prepared.workgroup,
                        .launch = known.launch_if_known(),
                        .device = {.id = info.id,
                                   .capabilities = info.capabilities,
                                   .profile = info.profile,
                                   .architecture = info.architecture},
                        .opened = &device,
                        .limits = cli::limits_of(prepared),
                        .checked = checked,
                        .read_tuning = cli::reads_tuning(tuned ? "read" : "", "", known)}));
  VYRE_TRY_ASSIGN(const auto view, cli::view_plan({.prepared = prepared,
                                                   .plan = shown.plan,
                                                   .digest = shown.digest,
                                                   .known = known,
                                                   .strategy = shown.strategy,
                                                   .checked = checked}));
  return cli::plan_json(view);
}

}  // namespace vyre::c
