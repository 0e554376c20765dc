// SPDX-License-Identifier: Apache-2.0
#include "pipeline/choose_strategy.hpp"

#include <algorithm>
#include <utility>

#include "base/errors.hpp"

namespace vyre::pipeline {

Result<ChosenStrategy> choose_strategy(const StrategyQuery& query, plan::DeviceModel& model,
                                       FactSource& source) {
  ChosenStrategy chosen;
  plan::StrategyRequest request = query.request;
  const auto give_up_tuned = [&](const Error& why) {
    if (!chosen.strategy.tuned) return false;
    chosen.not_tuned = why.message;
    request.tuned.reset();
    return true;
  };
  // Native, persistent in registers, persistent in memory, and what measurements suggest; each is
  // planned and loaded at most once.
  constexpr int kMostQuestions = 12;
  for (int i = 0; i < kMostQuestions; ++i) {
    VYRE_TRY_ASSIGN(chosen.strategy, plan::decide(query.program, query.launch, model, request));
    const plan::RouteVariant& variant = chosen.strategy.variant;
    switch (chosen.strategy.missing) {
      case plan::Missing::Plan: {
        auto facts = source.plan(variant);
        if (!facts && give_up_tuned(facts.error())) continue;
        if (!facts) return std::unexpected(std::move(facts.error()));
        model.add(std::move(*facts));
        continue;
      }
      case plan::Missing::Residency: {
        auto facts = source.load(variant);
        if (!facts && give_up_tuned(facts.error())) continue;
        if (!facts) return std::unexpected(std::move(facts.error()));
        if (!*facts) return chosen;
        model.add(std::move(**facts));
        ++chosen.rejected;
        continue;
      }
      case plan::Missing::Nothing:
      case plan::Missing::Grid: break;
    }
    // The one that was loaded last is the choice, unless that is a route that requires no
    // residency.
    if (query.request.tuned && !chosen.strategy.tuned && chosen.not_tuned.empty())
      chosen.not_tuned = "it does not fit this launch on this device";
    const plan::VariantFacts* const known = model.find(variant);
    if (chosen.rejected != 0 && known != nullptr && known->is_loaded) --chosen.rejected;
    return chosen;
  }
  return std::unexpected(error(ErrorCode::Internal,
                               "no strategy is found for the facts that are known. Fix: report "
                               "this as a bug of Vyre"));
}

Result<const plan::Plan*> PlannedFacts::plan_of(const plan::RouteVariant& variant) {
  const auto known = std::ranges::find(made_, variant, &Made::variant);
  if (known != made_.end()) return &known->plan;
  Policy policy = policy_;
  policy.variant = variant;
  VYRE_TRY_ASSIGN(auto made, make_plan(program_, policy, capabilities_));
  made_.push_back({.variant = variant, .plan = std::move(made)});
  return &made_.back().plan;
}

Result<plan::VariantFacts> PlannedFacts::plan(const plan::RouteVariant& variant) {
  VYRE_TRY_ASSIGN(const plan::Plan* const made, plan_of(variant));
  return plan::facts_of(variant, plan::schedule_of(*made));
}

Result<plan::Plan> PlannedFacts::take_plan(const plan::RouteVariant& variant) {
  VYRE_TRY(plan_of(variant));
  const auto made = std::ranges::find(made_, variant, &Made::variant);
  plan::Plan plan = std::move(made->plan);
  made_.erase(made);
  return plan;
}

Result<std::optional<plan::VariantFacts>> PlannedFacts::load(const plan::RouteVariant& variant) {
  if (!resident_) return std::nullopt;
  VYRE_TRY_ASSIGN(auto facts, plan(variant));
  facts.is_loaded = true;
  facts.resident.assign(facts.segments.size(), *resident_);
  return facts;
}

Policy LoadedFacts::policy(const plan::RouteVariant& variant) const {
  Policy policy = s_.policy;
  policy.variant = variant;
  return policy;
}

Result<plan::VariantFacts> LoadedFacts::plan(const plan::RouteVariant& variant) {
  VYRE_TRY_ASSIGN(const auto schedule,
                  s_.compiler.schedule(s_.source, policy(variant), s_.trace, s_.limits));
  return plan::facts_of(variant, schedule);
}

Result<Compiler::Found> LoadedFacts::get(const plan::RouteVariant& variant) {
  for (const Compiler::Found& known : loaded_)
    if (known.variant->policy.variant == variant) return known;
  VYRE_TRY_ASSIGN(auto found, s_.compiler.get(s_.source, policy(variant), s_.trace, s_.limits));
  loaded_.push_back(found);
  return found;
}

Result<std::optional<plan::VariantFacts>> LoadedFacts::load(const plan::RouteVariant& variant) {
  VYRE_TRY_ASSIGN(const auto found, get(variant));
  return facts_of(*found.variant);
}

}  // namespace vyre::pipeline
