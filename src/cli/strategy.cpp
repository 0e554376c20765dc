// SPDX-License-Identifier: Apache-2.0
#include "cli/strategy.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "check/prints.hpp"
#include "pipeline/artifact_image.hpp"
#include "pipeline/choose_strategy.hpp"

namespace vyre::cli {

pipeline::CompileLimits limits_of(const Prepared& prepared) {
  return prepared.untrusted ? pipeline::CompileLimits::untrusted() : pipeline::CompileLimits();
}

bool reads_tuning(const std::string& tune, const std::string& route, const KnownLaunch& known) {
  return tune == "read" && route.empty() && known.grid_known &&
         std::ranges::all_of(known.count_needs, [](const auto& needs) { return needs.empty(); });
}

namespace {

// The device that answers what facts do not; opened once.
class Opened {
 public:
  explicit Opened(const StrategyQuestion& question) : question_(question) {}
  Result<const run::Device*> get() {
    if (question_.opened != nullptr) return question_.opened;
    if (!device_.valid()) {
      VYRE_TRY_ASSIGN(device_, run::Device::open(question_.device.id));
    }
    return &device_;
  }

 private:
  const StrategyQuestion& question_;
  run::Device device_;
};

// As `vyre run` has it on the device, before a strategy is chosen.
Result<pipeline::Policy> policy_of(const StrategyQuestion& question) {
  pipeline::Policy policy;
  policy.checked = question.checked;
  policy.workgroup = question.workgroup;
  policy.print = question.print && check::print_record_words(question.program) != 0;
  policy.ulp_budget = question.code.ulp_budget;
  VYRE_TRY_ASSIGN(policy.profile, pipeline::profile_of(question.code.profile));
  device::BackendInfo info;
  info.id = question.device.id;
  info.capabilities = question.device.capabilities;
  return effective_policy(std::move(policy), question.program, info);
}

// What `vyre run` finds in the cache. Only then is the device opened: its signature is a part of
// the key.
Result<std::optional<plan::TunedVariant>> tuned_of(const StrategyQuestion& question,
                                                   const pipeline::Tuned& what, Opened& opened) {
  if (!question.read_tuning || question.launch == nullptr || question.device.id.empty())
    return std::nullopt;
  const auto disk = pipeline::DiskCache::open(
      {.directory = pipeline::DiskCache::default_directory(), .create = false});
  const auto missing = disk.why(pipeline::make_tuning_key(what, {}, ""));
  if (missing != pipeline::MissReason::Runtime) return std::nullopt;
  VYRE_TRY_ASSIGN(const run::Device* const device, opened.get());
  pipeline::Compiler& compiler = device->compiler();
  const auto record = compiler.find_tuning(compiler.tuning_key(what));
  return record ? record->request() : std::nullopt;
}

}  // namespace

Result<ShownStrategy> strategy_of(const StrategyQuestion& question) {
  const check::CheckedProgram& program = question.program;
  VYRE_TRY_ASSIGN(auto policy, policy_of(question));
  pipeline::StrategyQuery query{
      .program = program, .launch = question.launch, .request = {.checked = question.checked}};
  if (!question.route.empty()) query.request.route = plan::route_from_name(question.route);

  const pipeline::Source source =
      pipeline::make_source(std::make_shared<const check::CheckedProgram>(program));
  Opened opened(question);
  if (question.launch != nullptr) {
    VYRE_TRY_ASSIGN(query.request.tuned,
                    tuned_of(question,
                             {.source = source,
                              .policy = policy,
                              .shape = plan::shape_class_of(program, *question.launch)},
                             opened));
  }

  plan::DeviceModel model{.capabilities = question.device.capabilities,
                          .profile = question.device.profile};
  pipeline::PlannedFacts planned(program, policy, model.capabilities, question.resident);
  if (question.resident && plan::contains_grid_barrier(program) && !question.checked) {
    VYRE_TRY_ASSIGN(auto native, planned.load({.route = plan::Route::Native}));
    model.add(std::move(*native));
  }
  VYRE_TRY_ASSIGN(auto chosen, pipeline::choose_strategy(query, model, planned));
  if (chosen.strategy.missing == plan::Missing::Residency && !question.device.id.empty()) {
    VYRE_TRY_ASSIGN(const run::Device* const device, opened.get());
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
  json["lanes"] = variant.lanes;
  return json;
}

}  // namespace vyre::cli
