// SPDX-License-Identifier: Apache-2.0
// Which lanes of a phase make a difference. A program that is cut at its barriers leaves phases in
// which all lanes of a workgroup do the same (count a loop, keep a value for later), or in which
// all do the same but for one `if` (a step of a tree): the others need not be run.
#pragma once

#include "vyre/check/check.hpp"

namespace vyre::codegen {

struct DemandedLanes {
  bool one = false;      // any lane will do
  ir::StmtId test = {};  // valid: any lane will do besides those for which this `if` holds
};
DemandedLanes demanded_lanes(const check::CheckedProgram& phase);

}  // namespace vyre::codegen
