// SPDX-License-Identifier: Apache-2.0
// Random programs for property tests. They have every kind of node and field and keep all
// structural rules (names are declared before use and never shadow, limits hold, the top level
// stands), so that text and bytes can hold them. They do not keep the rules of types and
// uniformity. The same seed gives the same program everywhere.
#pragma once

#include <cstdint>

#include "vyre/ir/program.hpp"

namespace vyre::property {

struct GenOptions {
  uint32_t statements = 24;  // about how many, in all bodies together
  uint32_t block_depth = 6;  // blocks within blocks, at most ir::kMaxNesting
  uint32_t expr_depth = 7;   // at most ir::kMaxExprDepth
};

ir::Program random_program(uint64_t seed, GenOptions options = {});

// Changes one thing about the program that its bytes must show.
void mutate(ir::Program& program, uint64_t seed);

}  // namespace vyre::property
