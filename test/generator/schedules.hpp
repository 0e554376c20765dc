// SPDX-License-Identifier: Apache-2.0
// A generated program on the reference interpreter: under several schedules, which must agree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/generator.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::generator {

// What the host does at a resume: it changes some buffer by what was reported.
Result<void> handle_resume(const ir::Program& program, std::span<const oracle::TrapReport> reports,
                           oracle::HandlerBuffers& buffers);

// Inputs and grid of `generated`; with the handler above unless the options have one.
Result<oracle::Outcome> run(const check::CheckedProgram& checked, const Generated& generated,
                            oracle::Options options);

// What differs between two runs, in one line; empty if nothing does. NaNs of a buffer that
// arithmetic may have reached are all equal (check::exact_nans).
std::string difference(const ir::Program& program, const Result<oracle::Outcome>& a,
                       const Result<oracle::Outcome>& b);

struct ScheduleOptions {
  uint32_t random = 2;  // how many random ones, besides forward and reversed
  uint64_t seed = 1;    // of the first of them
  uint32_t subgroup_size = 4;
  bool races = true;  // a race is a fault, too
};

enum class Fault : uint8_t { None, Invalid, Mismatch, Race, Timeout };
struct ScheduleReport {
  Fault fault = Fault::None;
  std::string message;      // what is wrong, empty if nothing
  uint64_t statements = 0;  // of the forward run
  bool failed = false;      // the dispatch ended with an error, under all schedules alike
};
ScheduleReport check_schedules(const Generated& generated, const ScheduleOptions& options = {});

}  // namespace vyre::generator
