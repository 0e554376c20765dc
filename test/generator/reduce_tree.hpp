// SPDX-License-Identifier: Apache-2.0
// The tree that a reducer walks: lists of statements by their place, and all mentions of memories.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "vyre/ir/program.hpp"

namespace vyre::generator {

// All statements at any depth, a statement before those it holds; functions first.
void each_statement(const ir::Program& p, const std::function<void(ir::StmtId)>& visit);

// A list of statements: the body of the program or of a function, or a block of a statement.
struct Place {
  enum class Kind : uint8_t { Body, Fn, Stmt };
  Kind kind = Kind::Body;
  uint32_t index = 0;
  int which = 0;  // of the statement's blocks
};
std::vector<Place> places_of(const ir::Program& p);
ir::Block& block_at(ir::Program& p, const Place& place);

// Those below statements, an expression before its operands.
std::vector<ir::ExprId> live_expressions(const ir::Program& p);

// Also those that nodes nobody refers to mention.
void each_memory(ir::Program& p, const std::function<void(ir::Memory&)>& visit);

}  // namespace vyre::generator
