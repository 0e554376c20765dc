// SPDX-License-Identifier: Apache-2.0
// The strategy that `vyre run` would use for what a command line says, and the plan of it, for the
// commands that show plans and code. Nothing is opened unless the choice depends on what loaded
// code shows.
#pragma once

#include <optional>
#include <string>

#include "cli/plan_launch.hpp"
#include "vyre/base/digest.hpp"
#include "vyre/device/registry.hpp"
#include "vyre/pipeline/compiler.hpp"
#include "vyre/plan/strategy.hpp"
#include "vyre/run/device.hpp"

namespace vyre::cli {

struct StrategyQuestion {
  const check::CheckedProgram& program;
  std::optional<check::Axes> workgroup;
  const check::Launch* launch = nullptr;  // null: the grid is not known
  device::DeviceFacts device;             // with an empty id: one that is only described
  const run::Device* opened = nullptr;    // null: opened by its id where the choice needs it
  std::string route = {};                 // empty: chosen
  std::optional<uint64_t> resident = {};  // workgroups that fit, whatever the code
  pipeline::CompileLimits limits = {};    // of code that is loaded for the choice
  CodeOptions code = {};
  bool checked = false;
  bool print = false;        // print() writes lines
  bool read_tuning = false;  // records of measurements; `launch` has all sizes then
};
// Whether records of measurements count for what a command shows.
bool reads_tuning(const std::string& tune, const std::string& route, const KnownLaunch& known);

struct ShownStrategy {
  plan::Strategy strategy;
  pipeline::Policy policy;  // with its variant: what the plan is made for
  plan::Plan plan;
  Digest digest;  // of the plan
};

// What code of the program may cost.
pipeline::CompileLimits limits_of(const Prepared& prepared);

Result<ShownStrategy> strategy_of(const StrategyQuestion& question);

// {"route": ..., "workgroups_per_block": ..., ...}: equal for run, plan and compile.
Json json_of(const plan::RouteVariant& variant);

}  // namespace vyre::cli
