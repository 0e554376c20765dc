// SPDX-License-Identifier: Apache-2.0
// How much code a program becomes, estimated before any is made, and what is done about it.
// Compilers take more than twice as long for twice the code, so there are steps:
//   - functions and maths functions are inlined as long as all of it is small; past that budget
//     those that stand for much code are compiled once and called;
//   - code that is still large is made for one lane at a time, then with little optimisation;
//   - what would be too large even so is refused before LLVM starts.
// A size counts about one LLVM instruction of one lane as 1. The same program always has the same
// size, on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/check/check.hpp"

namespace vyre::codegen {

// Sizes up to which something is done; all of a module together.
struct CodeBudget {
  uint64_t inlined = 3'000;     // calls are inlined
  uint64_t vectors = 3'000;     // lanes are compiled as vectors
  uint64_t optimised = 20'000;  // with all passes
  uint64_t most = 800'000;      // at all, in about 5 s and 1 GiB
  bool every_call = false;      // past `inlined` also those that make no difference
};
// For tests, to get the ways of large programs with small ones: calls are never inlined, with
// vectors or in the cheapest way.
inline constexpr CodeBudget kCalledBudget = {.inlined = 0, .every_call = true};
inline constexpr CodeBudget kCheapBudget = {
    .inlined = 0, .vectors = 0, .optimised = 0, .every_call = true};

enum class Effort : uint8_t {
  Full,    // lanes as vectors, all passes
  Scalar,  // one lane after the other, all passes
  Cheap,   // one lane after the other, few passes that take linear time
};

// Of one program or phase.
struct CodeSize {
  uint64_t size = 0;
  std::vector<bool> called = {};  // by FnId: compiled as a function of its own; empty: none
  bool maths_called = false;      // the same for functions of the maths library
};

// With every call inlined, or with those called for which it makes a difference.
CodeSize inlined_size(const check::CheckedProgram& program);
CodeSize called_size(const check::CheckedProgram& program, bool every_call = false);

// What is to be done with all programs of a module.
struct CodePlan {
  Effort effort = Effort::Full;
  std::vector<CodeSize> programs = {};  // in the order in which they were given
};
// LimitExceeded: `what` names the module in the message.
Result<CodePlan> plan_code(const std::vector<const check::CheckedProgram*>& programs,
                           const CodeBudget& budget);

}  // namespace vyre::codegen
