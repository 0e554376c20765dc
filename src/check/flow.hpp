// SPDX-License-Identifier: Apache-2.0
// How control can leave a statement. Shared by the passes that ask whether what follows can be
// reached.
#pragma once

#include "check/state.hpp"

namespace vyre::check {

// True if no lane goes on after the statement: it returns, traps, jumps, or loops for ever.
bool never_falls_through(const ir::Program& p, ir::StmtId id);
bool never_falls_through(const ir::Program& p, ir::Block block);

// True if the block holds a `break` of the loop that has it as its body.
bool breaks_out(const ir::Program& p, ir::Block body);

}  // namespace vyre::check
