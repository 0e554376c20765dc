// SPDX-License-Identifier: Apache-2.0
// What differs between the lanes of one block. Narrower than the levels of the checker: a value is
// "varying" only if two lanes of a block can have different ones, so that a load at an index that
// is the same for all of them is not, whatever it is loaded from.
#pragma once

#include <vector>

#include "vyre/check/check.hpp"

namespace vyre::codegen {

// How the lanes of a workgroup are dealt into blocks.
struct BlockShape {
  uint32_t lanes = 1;
  // By their number in the workgroup, whatever its rows are, so that a block is a subgroup;
  // otherwise a block is part of a row along an axis.
  bool packed = false;
  uint32_t axis = 0;
};
// The axis along which neighbouring lanes should lie: the @coalesce of the first buffer that has
// one; 0, which is x, if none has.
uint32_t coalesced_axis(const ir::Program& program);

class Divergence {
 public:
  struct Options {
    bool params_vary = false;   // for a program whose functions are called from outside
    bool accesses_end = false;  // checked mode: every access may end a lane
  };
  Divergence(const check::CheckedProgram& checked, BlockShape shape, Options options);

  [[nodiscard]] bool varies(ir::LocalId local) const { return local_[local.index()]; }
  [[nodiscard]] bool varies(ir::ExprId expr) const;
  // Lanes leave the loop in different iterations, or skip parts of one.
  [[nodiscard]] bool diverges(ir::StmtId loop) const { return loop_[loop.index()]; }
  // Some lanes return from the function before others do.
  [[nodiscard]] bool diverges(ir::FnId fn) const { return fn_returns_[fn.index()]; }
  [[nodiscard]] bool result_varies(ir::FnId fn) const { return fn_result_[fn.index()]; }
  // Some lanes of a block end while others go on.
  [[nodiscard]] bool ends_lanes() const { return ends_lanes_; }
  [[nodiscard]] bool ends_lanes(ir::FnId fn) const { return fn_ends_[fn.index()]; }
  // Divergent loops in which lanes stay convergent but for the last iterations: from a lane's
  // number on to the same end, in the same steps.
  [[nodiscard]] bool stays_convergent(const ir::For& loop) const;
  // A lane's number along x and something that is the same for all lanes.
  [[nodiscard]] bool counts_lanes(ir::ExprId id) const;
  // Lanes may jump out of it, or end in it.
  [[nodiscard]] bool may_leave(ir::Block block) const;
  struct LoopKinds {
    bool convergent = false;
    bool divergent = false;  // lanes with few iterations wait for those with many
  };
  // Of all loops but those that are left out, by statement; an empty list leaves out none.
  [[nodiscard]] LoopKinds loop_kinds(const std::vector<bool>& left_out = {}) const;

 private:
  void visit(ir::Block block, uint32_t depth);
  void visit(ir::StmtId id, uint32_t depth);
  void calls_in(ir::ExprId expr, uint32_t depth);
  void assume_worst();
  void vary(ir::LocalId local);
  void set(std::vector<bool>& flags, size_t index);
  void end_lanes(bool some);
  void assign(ir::LocalId local, bool value_varies, uint32_t depth);
  [[nodiscard]] bool varies_when_loaded(ir::Memory memory, ir::ExprId index) const;

  const check::CheckedProgram& c_;
  const ir::Program& p_;
  BlockShape shape_;
  std::vector<bool> local_, loop_, fn_returns_, fn_result_;
  std::vector<bool> fn_diverges_;      // called in divergent flow
  std::vector<bool> fn_ends_;          // has a trap
  std::vector<uint32_t> declared_at_;  // by local: divergent constructs around its declaration
  struct Loop {
    ir::StmtId id;
    uint32_t depth = 0;  // of its body
  };
  std::vector<Loop> loops_;  // around the current statement
  ir::FnId fn_ = {};
  uint32_t fn_depth_ = 0;
  bool ends_lanes_ = false;
  bool changed_ = false;
};

}  // namespace vyre::codegen
