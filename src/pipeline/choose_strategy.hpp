// SPDX-License-Identifier: Apache-2.0
// plan::decide() with the facts that it requires. Where facts come from differs: an open device
// plans, loads and measures; a tool without one plans, and estimates the rest.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "vyre/pipeline/compiler.hpp"
#include "vyre/plan/strategy.hpp"

namespace vyre::pipeline {

class FactSource {
 public:
  virtual ~FactSource() = default;
  virtual Result<plan::VariantFacts> plan(const plan::RouteVariant& variant) = 0;
  // Nothing if the code cannot be loaded here.
  virtual Result<std::optional<plan::VariantFacts>> load(const plan::RouteVariant& variant) = 0;
};

struct StrategyQuery {
  const check::CheckedProgram& program;
  const check::Launch* launch = nullptr;  // null: the grid is not known
  plan::StrategyRequest request = {};
};

struct ChosenStrategy {
  plan::Strategy strategy;
  // Loaded for this decision, and not what was chosen: its residency disagreed.
  uint32_t rejected = 0;
  // Why a variant that measurements suggest was not taken; empty: it was, or none was suggested.
  std::string not_tuned{};
};
// What becomes known on the way is added to the model. Errors of a variant that measurements
// suggest end that suggestion.
Result<ChosenStrategy> choose_strategy(const StrategyQuery& query, plan::DeviceModel& model,
                                       FactSource& source);

// Plans alone. `resident`: assumed for all code.
class PlannedFacts final : public FactSource {
 public:
  PlannedFacts(const check::CheckedProgram& program, Policy policy,
               const device::Capabilities& capabilities, std::optional<uint64_t> resident)
      : program_(program),
        policy_(std::move(policy)),
        capabilities_(capabilities),
        resident_(resident) {}
  Result<plan::VariantFacts> plan(const plan::RouteVariant& variant) override;
  Result<std::optional<plan::VariantFacts>> load(const plan::RouteVariant& variant) override;
  // The plan of a variant, made once.
  Result<plan::Plan> take_plan(const plan::RouteVariant& variant);

 private:
  struct Made {
    plan::RouteVariant variant;
    plan::Plan plan;
  };
  Result<const plan::Plan*> plan_of(const plan::RouteVariant& variant);

  const check::CheckedProgram& program_;
  Policy policy_;  // but for its variant
  const device::Capabilities& capabilities_;
  std::optional<uint64_t> resident_;
  std::deque<Made> made_;
};

// What an open device finds out.
class LoadedFacts final : public FactSource {
 public:
  struct Setup {
    Compiler& compiler;
    const Source& source;
    Policy policy;  // but for its variant
    CompileLimits limits = {};
    Trace* trace = nullptr;
  };
  explicit LoadedFacts(Setup setup) : s_(std::move(setup)) {}
  Result<plan::VariantFacts> plan(const plan::RouteVariant& variant) override;
  Result<std::optional<plan::VariantFacts>> load(const plan::RouteVariant& variant) override;
  // Code of a variant, and whether the cache had it when it was loaded for this decision.
  Result<Compiler::Found> get(const plan::RouteVariant& variant);
  // All that was loaded, in this order.
  [[nodiscard]] std::vector<Compiler::Found> take_loaded() { return std::move(loaded_); }

 private:
  [[nodiscard]] Policy policy(const plan::RouteVariant& variant) const;

  Setup s_;
  std::vector<Compiler::Found> loaded_;
};

}  // namespace vyre::pipeline
