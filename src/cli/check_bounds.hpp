// SPDX-License-Identifier: Apache-2.0
// Which accesses of a program are proved to stay in their memory, and what would prove the others.
// Each of the others costs a test on the device; it reads 0 or writes nothing when it fails.
#pragma once

#include <string>
#include <vector>

#include "vyre/check/check.hpp"

namespace vyre::cli {

struct AccessBounds {
  Position at;         // unknown in programs without positions
  std::string access;  // "x[i + 1]"
  bool proved = false;
  std::string reason = {};  // of the proof, or why there is none
  // Conditions of `require`, each of which would prove this access: "len(y) >= len(x)". Found by
  // trying: the checker accepts the proof with the requirement added.
  std::vector<std::string> requirements = {};
};

// In the order of the text.
std::vector<AccessBounds> bounds_of(const check::CheckedProgram& checked);

}  // namespace vyre::cli
