// SPDX-License-Identifier: Apache-2.0
// The checker for a program that is being written: what it found out stays, also with errors.
#pragma once

#include "vyre/check/check.hpp"

namespace vyre::check {

// check(), with `facts` as it learnt them. With errors the program and its types are there, as far
// as they are known, and nothing else of it is to be relied on.
Diagnostics check_and_learn(ir::Program program, bool text_had_errors, CheckedProgram& facts);

}  // namespace vyre::check
