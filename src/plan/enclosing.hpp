// SPDX-License-Identifier: Apache-2.0
// The regions that all statements of a segment are in.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "vyre/ir/program.hpp"

namespace vyre::plan {

// A statement, and the names of the regions around it.
struct Placed {
  ir::StmtId stmt;
  std::vector<std::string> regions = {};
};

// Outermost first. Names that some statement is in a region of and another is not are left out.
std::vector<std::string> enclosing_regions(const ir::Program& program,
                                           std::span<const Placed> items);

}  // namespace vyre::plan
