// SPDX-License-Identifier: Apache-2.0
// What a segment does with its buffers, as far as another way to memory depends on it.
#pragma once

#include <optional>
#include <vector>

#include "vyre/check/check.hpp"

namespace vyre::codegen {

struct BufferUse {
  // All accesses are this relaxed atomic operation, and no result is used: every worker may
  // combine values in a copy of its own.
  std::optional<ir::AtomicOp> combines;
  // All accesses are one store.
  bool stored_once = false;
};

// Values can be combined in any order and in any groups.
bool combines(ir::AtomicOp op);

// By buffer.
std::vector<BufferUse> buffer_uses(const check::CheckedProgram& segment);

// Whether a lane can run twice and leave what it leaves when it runs once: it reads nothing that
// the phase writes.
bool repeatable(const check::CheckedProgram& phase);

// Whether the lanes of a workgroup write all of a shared buffer in the phase and read nothing
// that was in it before.
bool overwrites(const check::CheckedProgram& phase, ir::BufferId shared);

}  // namespace vyre::codegen
