// SPDX-License-Identifier: Apache-2.0
// How a dispatch runs: plan::decide() over what this pipeline knows of its device.
#include <algorithm>

#include <fmt/format.h>

#include "pipeline/choose_strategy.hpp"
#include "run/errors.hpp"
#include "run/state.hpp"

namespace vyre::run {

namespace {

bool is_same_but_for_variant(pipeline::Policy a, const pipeline::Policy& b) {
  a.variant = b.variant;
  return a == b;
}

}  // namespace

plan::StrategyRequest strategy_request(const DispatchConfig& config) {
  return {.checked = config.checked.value_or(false),
          .require_cooperative = config.cooperative == Cooperative::Require};
}

plan::DeviceModel PipelineState::device_model(const pipeline::Policy& wanted) {
  const device::BackendInfo& info = device->backend->info();
  plan::DeviceModel model{.capabilities = info.capabilities, .profile = info.profile};
  const std::scoped_lock lock(mutex);
  for (const PlannedVariant& known : planned)
    if (is_same_but_for_variant(wanted, known.policy)) model.variants.push_back(known.facts);
  // Later, since loaded code says more.
  for (const auto& loaded : variants)
    if (is_same_but_for_variant(wanted, loaded->policy)) model.add(facts_of(*loaded));
  return model;
}

// What was planned only: facts of code come from the code, which a recovery can take away.
void PipelineState::keep_facts(const plan::DeviceModel& model, const pipeline::Policy& of) {
  const std::scoped_lock lock(mutex);
  for (const plan::VariantFacts& facts : model.variants) {
    if (facts.is_loaded) continue;
    pipeline::Policy its = of;
    its.variant = facts.variant;
    if (std::ranges::find(planned, its, &PlannedVariant::policy) == planned.end())
      planned.push_back({std::move(its), facts});
  }
}

Result<void> Dispatch::settle_strategy(const std::optional<plan::TunedVariant>& tuned) {
  Workspace& w = *lease_;
  pipeline::Policy policy = w.wanted.policy;
  plan::DeviceModel model = p_.device_model(policy);
  pipeline::LoadedFacts source({.compiler = device_.compiler,
                                .source = p_.source,
                                .policy = policy,
                                .limits = compile_limits(config_),
                                .trace = device_.trace.load()});
  plan::StrategyRequest request = strategy_request(config_);
  request.tuned = tuned;
  auto chosen = pipeline::choose_strategy(
      {.program = *p_.source.program, .launch = &w.launch, .request = request}, model, source);
  p_.keep_facts(model, policy);
  for (const auto& loaded : source.take_loaded()) p_.keep_variant(loaded.variant);
  if (!chosen) {
    Error error = std::move(chosen.error());
    error.context.push_back(fmt::format("device `{}`", device_.backend->info().id));
    return std::unexpected(std::move(error));
  }
  device_.telemetry.add(device::TelemetryField::StrategiesRevised, chosen->rejected);
  if (!chosen->not_tuned.empty()) return fail(ErrorCode::Unsupported, chosen->not_tuned);
  if (tuning_.trial() != nullptr && tuned && chosen->strategy.variant != tuned->variant)
    return fail(ErrorCode::Unsupported, "it needs more iterations than it has in registers");
  policy.variant = chosen->strategy.variant;
  VYRE_TRY_ASSIGN(w.variant, variant(policy));
  w.suggestion.taken = chosen->strategy.tuned;
  tuning_.offer_candidates(model, chosen->strategy);
  const std::scoped_lock lock(p_.mutex);
  p_.strategy = std::move(chosen->strategy);
  return {};
}

Result<std::shared_ptr<const pipeline::Variant>> Dispatch::variant(const pipeline::Policy& policy) {
  {
    const std::scoped_lock lock(p_.mutex);
    for (const auto& known : p_.variants)
      if (known->policy == policy) return known;
  }
  VYRE_TRY_ASSIGN(const auto found, device_.compiler.get(p_.source, policy, device_.trace.load(),
                                                         compile_limits(config_)));
  return p_.keep_variant(found.variant);
}

std::shared_ptr<const pipeline::Variant> PipelineState::keep_variant(
    const std::shared_ptr<const pipeline::Variant>& variant) {
  const std::scoped_lock lock(mutex);
  for (const auto& known : variants)
    if (known->policy == variant->policy) return known;
  variants.push_back(variant);
  return variant;
}

}  // namespace vyre::run
