// SPDX-License-Identifier: Apache-2.0
// From the raw segments of a cut to programs with hidden buffers, and the steps that run them.
#pragma once

#include "plan/lowering.hpp"
#include "plan/persistent/place.hpp"

namespace vyre::plan {

// Whether an expression is the result of the last fixpoint, which the host or a launch keeps.
bool reads_fixpoint_result(const Draft& d, const CutPoints& cuts, ir::ExprId e);
// Whether a segment stores shared memory at its end, and loads it at its start.
bool saves(const Tree& tree, const RawSegment& raw, ir::BufferId shared);
bool restores(const Tree& tree, const RawSegment& raw, ir::BufferId shared);

// ---- passes over the tree

// Buffers for all that the storage and the statements of the segments need.
Lowering declare_hidden(Lowering l);
// Needs all segments: the steps, and what the host knows of fixpoints and hidden buffers.
Lowering make_steps(Lowering l);

// ---- passes over one segment

// A segment on its way: statements of the draft, which run in this order.
struct SegmentBody {
  const RawSegment* raw = nullptr;
  StmtList carried, prologue, body, epilogue;
  ir::LocalId live = {};  // see Segment::live
  uint32_t workgroups_per_block = 0;
  uint32_t unrolled_iterations = 0;

  [[nodiscard]] StmtList all() const;
};

// The passes in their order, for one segment after the other: each returns the next body, and the
// last one leaves a segment in the plan.
class SegmentMaker {
 public:
  explicit SegmentMaker(Lowering& l);

  SegmentBody save_and_restore(SegmentBody s);
  SegmentBody lower_fixpoints(SegmentBody s);
  SegmentBody lower_ended_lanes(SegmentBody s);
  SegmentBody number_lanes(SegmentBody s);
  SegmentBody make_persistent(SegmentBody s);
  SegmentBody extract(SegmentBody s);

 private:
  void begin_native(StmtList& prologue);
  StmtList wrap_regions();
  StmtList wrap_region(uint32_t region, size_t& next);
  [[nodiscard]] bool reads_fixpoint_result(ir::ExprId e) const;
  [[nodiscard]] bool needs_rewriting(ir::StmtId id) const;
  ir::ExprId rewrite(ir::ExprId id);
  void rewrite(ir::StmtId id, StmtList& out);
  void rewrite_trap(ir::StmtId id, const ir::Trap& trap, ir::ExprId value, StmtList& out);

  Lowering& l_;
  Draft& d_;
  const Tree& tree_;
  const CutPoints& cuts_;
  const PlanOptions& options_;
  const HiddenBuffers& h_;
  Plan& plan_;
  Spiller spiller_;
  persistent::KernelMemory kernel_memory_;
  size_t nodes_ = 0;

  // Of the segment at hand.
  const RawSegment* raw_ = nullptr;
  std::optional<NativeSegment> native_;
};

}  // namespace vyre::plan
