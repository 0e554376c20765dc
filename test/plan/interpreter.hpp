// SPDX-License-Identifier: Apache-2.0
// Runs a plan with the reference interpreter, one launch per segment: what a driver and a device do
// together, in the plainest form. oracle(program) == interpret(plan(program, route)) is what the
// tests of the planner are about.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vyre/oracle/oracle.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::plan_test {

struct RunOptions {
  oracle::Schedule schedule = oracle::Schedule::Forward;
  uint64_t seed = 0;
  uint32_t subgroup_size = 4;
  bool checked = false;
  // Lanes of a workgroup are not suspended at workgroup barriers: the segment is cut there, too.
  bool workgroup_phases = false;
  uint32_t resident_blocks = 2;  // of the persistent route
  std::optional<check::Axes> grid = {};
  std::optional<check::Axes> workgroup = {};  // instead of the program's; as in PlanOptions
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  uint64_t max_launches = 200'000;
  // Of the driver: what memory holds that need not be cleared.
  std::optional<std::byte> poison = {};
};

// A dispatch, whether it ended well or not.
struct Ran {
  std::optional<Error> error;
  std::vector<std::vector<std::byte>> buffers;  // by BufferId of the source; also after an error
  std::vector<oracle::TrapReport> resumed;
  std::vector<oracle::FixpointReport> fixpoints;
  uint64_t phases = 0;
  uint64_t launches = 0;
  // The native route counts its phases and fixpoints on the device, and tells nobody.
  bool counted = true;
};

// The program itself, on the oracle.
Ran run_source(const check::CheckedProgram& source, std::span<const std::vector<std::byte>> inputs,
               const RunOptions& options);
Ran interpret(const check::CheckedProgram& source, const plan::Plan& plan,
              std::span<const std::vector<std::byte>> inputs, const RunOptions& options);

// What differs, in one line; empty if nothing does.
// `unknown_buffers`: nobody can tell what they hold after the error.
std::string difference(const ir::Program& program, const Ran& source, const Ran& plan,
                       bool unknown_buffers = false);

}  // namespace vyre::plan_test
