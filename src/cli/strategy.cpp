// SPDX-License-Identifier: Apache-2.0
#include "cli/strategy.hpp"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "pipeline/artifact_image.hpp"
#include "pipeline/choose_strategy.hpp"

namespace vyre::cli {

pipeline::CompileLimits limits_of(const Prepared& prepared) {
  return prepared.untrusted ? pipeline::CompileLimits::untrusted() : pipeline::CompileLimits();
}

Result<ShownStrategy> strategy_of(const StrategyQuestion& question) {
  const check::CheckedProgram& program = question.program;
  pipeline::Policy policy;
  policy.checked = question.checked;
  policy.workgroup = question.workgroup;
  pipeline::StrategyQuery query{
      .program = program, .launch = question.launch, .request = {.checked = question.checked}};
  if (!question.route.empty()) query.request.route = plan::route_from_name(question.route);

  plan::DeviceModel model{.capabilities = question.device.capabilities,
                          .profile = question.device.profile};
  pipeline::PlannedFacts planned(program, policy, model.capabilities, question.resident);
  if (question.resident && plan::contains_grid_barrier(program) && !question.checked) {
    VYRE_TRY_ASSIGN(auto native, planned.load({.route = plan::Route::Native}));
    model.add(std::move(*native));
  }
  VYRE_TRY_ASSIGN(auto chosen, pipeline::choose_strategy(query, model, planned));
  if (chosen.strategy.missing == plan::Missing::Residency && !question.device.id.empty()) {
    std::optional<run::Device> device;
    if (question.opened != nullptr) {
      device = *question.opened;
    } else {
      VYRE_TRY_ASSIGN(device, run::Device::open(question.device.id));
    }
    const pipeline::Source source =
        pipeline::make_source(std::make_shared<const check::CheckedProgram>(program));
    pipeline::LoadedFacts loaded({.compiler = device->compiler(),
                                  .source = source,
                                  .policy = policy,
                                  .limits = question.limits});
    VYRE_TRY_ASSIGN(chosen, pipeline::choose_strategy(query, model, loaded));
  }
  policy.variant = chosen.strategy.variant;
  VYRE_TRY_ASSIGN(auto plan, planned.take_plan(policy.variant));
  const Digest digest = pipeline::plan_digest(plan);
  return ShownStrategy{.strategy = std::move(chosen.strategy),
                       .policy = std::move(policy),
                       .plan = std::move(plan),
                       .digest = digest};
}

Json json_of(const plan::RouteVariant& variant) {
  Json json;
  json["route"] = plan::name_of(variant.route);
  json["workgroups_per_block"] = variant.workgroups_per_block;
  json["unrolled_iterations"] = variant.unrolled_iterations;
  json["interleave"] = variant.interleave;
  json["is_1d"] = variant.is_1d;
  return json;
}

}  // namespace vyre::cli
