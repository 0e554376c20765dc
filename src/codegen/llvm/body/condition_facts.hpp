// SPDX-License-Identifier: Apache-2.0
// What conditions say of differences: behind `lane >= distance` the difference of the two does not
// wrap. LLVM knows how large a lane's number is, and then needs no test of the bounds.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "vyre/check/check.hpp"

namespace vyre::codegen {

// Of one lane, and of one program or function at a time.
class ConditionFacts {
 public:
  // A condition that holds, or not, in all of the block.
  void learn(const check::CheckedProgram& program, ir::ExprId condition, bool holds,
             ir::Block block);
  // Whether `large` is known not to be less than `small`.
  [[nodiscard]] bool at_least(const ir::Program& program, ir::ExprId large, ir::ExprId small) const;

  // Scopes: what was learned after count() was read is forgotten.
  [[nodiscard]] size_t count() const { return facts_.size(); }
  void forget_from(size_t count) { facts_.resize(count); }

 private:
  std::vector<std::pair<ir::ExprId, ir::ExprId>> facts_;  // the first is not less than the second
};

}  // namespace vyre::codegen
