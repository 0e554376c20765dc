// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/plan.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/errors.hpp"
#include "cli/commands.hpp"
#include "cli/devices.hpp"
#include "cli/plan_dump.hpp"
#include "cli/plan_view.hpp"
#include "cli/strategy.hpp"
#include "cli/write_file.hpp"

namespace vyre::cli {
namespace {

std::optional<Failure> misuse(const PlanOptions& options) {
  // No grid has more workgroups than there can be lanes.
  if (options.resident &&
      (*options.resident < 1 || *options.resident > static_cast<int64_t>(check::kMaxLanes)))
    return Failure{
        kExitUsage,
        fmt::format("--resident takes how many workgroups fit on a device, 1 to {}, not {}",
                    check::kMaxLanes, *options.resident),
        "--resident 132, or leave it out for a device without a grid barrier"};
  if (options.segments && (options.as == "dot" || options.as == "svg"))
    return Failure{kExitUsage, fmt::format("--segments does not go with --as {}", options.as),
                   "--as text or --as html"};
  const std::vector<std::string> passes = pass_names();
  if (!options.dump_after.empty() && std::ranges::find(passes, options.dump_after) == passes.end())
    return Failure{kExitUsage, fmt::format("there is no pass '{}'", options.dump_after),
                   fmt::format("--dump-after takes one of {}", fmt::join(passes, ", "))};
  if (!options.dump_after.empty() && (options.segments || options.as != "text"))
    return Failure{kExitUsage,
                   fmt::format("--dump-after does not go with {}",
                               options.segments ? "--segments" : "--as " + options.as),
                   "--dump-after extract shows the programs of the segments, as text"};
  if (options.output != "-" && options.dispatch.file != "-" &&
      same_file(options.dispatch.file, options.output))
    return Failure{kExitUsage,
                   fmt::format("-o would overwrite the program {}", options.dispatch.file),
                   "name another file"};
  return std::nullopt;
}

// The device that --device names, as the registry sees it; nothing is opened.
std::expected<std::optional<device::DeviceFacts>, Failure> facts_of(const PlanOptions& options) {
  if (options.device.empty()) return std::nullopt;
  VYRE_TRY_ASSIGN(auto facts,
                  usable_device(options.device, ", or describe a device: --resident N"));
  if (options.resident && !facts.capabilities.cooperative_grid_barrier)
    return std::unexpected(Failure{
        kExitUsage,
        fmt::format("--resident is about a grid barrier, and device `{}` has none", facts.id),
        "leave --resident out"});
  return facts;
}

// Without --device: one that keeps buffers between launches, and with --resident has a barrier.
device::DeviceFacts described(const PlanOptions& options) {
  device::DeviceFacts facts;
  facts.capabilities.resident_buffers = true;
  facts.capabilities.i64 = true;
  facts.capabilities.cooperative_grid_barrier = options.resident.has_value();
  return facts;
}

// A plan as it is shown, or what passes made of the program.
struct Shown {
  PlanView view;
  std::vector<PassDump> dumps;
};

Result<Shown> make_view(const PlanOptions& options, const Prepared& prepared,
                        const std::optional<device::DeviceFacts>& facts) {
  VYRE_TRY_ASSIGN(const auto known, resolve_known(prepared));
  const device::DeviceFacts device = facts.value_or(described(options));
  VYRE_TRY_ASSIGN(const auto shown,
                  strategy_of({.program = prepared.checked,
                               .workgroup = prepared.workgroup,
                               .launch = known.launch_if_known(),
                               .device = device,
                               .route = options.route,
                               .resident = options.resident,
                               .limits = limits_of(prepared),
                               .code = options.code,
                               .checked = options.checked,
                               .print = options.print,
                               .read_tuning = reads_tuning(options.tune, options.route, known)}));
  Shown result;
  if (!options.dump_after.empty()) {
    VYRE_TRY_ASSIGN(result.dumps, dump_passes(prepared.checked, shown.policy, device.capabilities,
                                              options.dump_after));
  }
  VYRE_TRY_ASSIGN(result.view, view_plan({.prepared = prepared,
                                          .plan = shown.plan,
                                          .digest = shown.digest,
                                          .known = known,
                                          .strategy = shown.strategy,
                                          .checked = options.checked}));
  return result;
}

std::string content_of(const Shown& shown, const PlanOptions& options, bool color) {
  const PlanView& view = shown.view;
  if (!options.dump_after.empty()) return text_of(shown.dumps, options.dump_after, view.route);
  if (options.as == "dot") return plan_dot(view);
  if (options.as == "svg") return plan_svg(view);
  if (options.as == "html") return plan_html(view);
  return plan_text(view, options.segments, color);
}

}  // namespace

int run_plan(App& app, const PlanOptions& options) {
  if (const auto failure = misuse(options)) return app.fail(*failure);
  const auto facts = facts_of(options);
  if (!facts) return app.fail(facts.error());
  const auto prepared = prepare(app, options.dispatch, Inputs::AsGiven);
  if (!prepared) return prepared.error();
  const auto shown = stoppable(*prepared, [&] { return make_view(options, *prepared, *facts); });
  if (!shown && InterruptGuard::interrupted()) return kExitInterrupted;
  if (!shown) return fail(app, *prepared, shown.error());

  const bool to_stdout = options.output == "-";
  if (!to_stdout) {
    if (const auto failure = write_file(options.output, content_of(*shown, options, false)))
      return app.fail(*failure);
  }
  if (app.json) {
    Json document = app.document(true);
    document.update(plan_json(shown->view));
    document["as"] = options.as;
    if (!options.dump_after.empty()) document["dumps"] = json_of(shown->dumps);
    document["output"] = to_stdout ? Json() : Json(options.output);
    if (to_stdout && options.as != "text") document["content"] = content_of(*shown, options, false);
    app.put_document(document);
  } else if (to_stdout) {
    app.put(content_of(*shown, options, app.colored(STDOUT_FILENO)));
  }
  return kExitOk;
}

}  // namespace vyre::cli
