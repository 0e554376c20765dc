// SPDX-License-Identifier: Apache-2.0
// What stands in an artifact of Format::Program instead of code, for backends that interpret
// programs. Others do not include this.
#pragma once

#include <memory>
#include <vector>

#include "vyre/check/check.hpp"

namespace vyre::device {

struct InterpretedProgram {
  // The program of the entry, shared with the plan that it is a part of.
  std::shared_ptr<const check::CheckedProgram> program = {};
  // Valid: a local that is false in inactive lanes, which only execute uniform code up to barriers.
  ir::LocalId live = {};
  // By argument, may be empty: lanes that store to one element have to store the same value. The
  // interpreter checks it.
  std::vector<bool> agreed = {};
};

}  // namespace vyre::device
