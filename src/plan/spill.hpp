// SPDX-License-Identifier: Apache-2.0
// Spill and reload at segment boundaries: how values come in at the start of a segment, and how
// they are kept at its end or where a lane begins to wait.
#pragma once

#include <functional>
#include <unordered_set>
#include <utility>

#include "plan/cut.hpp"

namespace vyre::plan {

// The hidden buffers of a plan in its Draft.
struct HiddenBuffers {
  ir::BufferId frame, next_frame;
  std::vector<ir::BufferId> group_frame, next_group_frame;  // by row of Storage::group_rows
  std::vector<ir::BufferId> slots;
  ir::BufferId mask, control, fixpoint, report_value, report_site;
  std::map<uint32_t, uint32_t> shared;  // by BufferId: row of Plan::hidden
};

class Spiller {
 public:
  Spiller(Draft& d, const Tree& tree, const CutPoints& cuts, const PlanOptions& options,
          const Storage& storage, const HiddenBuffers& hidden);

  // What follows is about this segment.
  void begin(const RawSegment& raw);
  // The frames' halves change their roles because the segment changes a value that lives on.
  [[nodiscard]] bool swaps_frame() const { return swaps_frame_; }
  [[nodiscard]] bool swaps_group_frame() const { return swaps_group_frame_; }

  // This lane's number (of the grid, or of the workgroup at that scope), its workgroup's.
  ir::ExprId lane();
  ir::ExprId group();
  // Holds lane(), once a statement reads it.
  [[nodiscard]] ir::LocalId lane_local() const { return lane_; }
  // Declares those that are read.
  StmtList ids();

  // Everything the segment uses that comes from before.
  void restore(StmtList& out);
  // Locals that are declared at the start now, so that the end sees them: what was their
  // declaration is an assignment.
  [[nodiscard]] bool declared_early(ir::LocalId local) const {
    return early_.contains(local.value);
  }
  void save(const LiveSet& values, StmtList& out);
  // The other half starts as a copy, for workgroups all of whose lanes wait.
  void carry_group_frame(StmtList& out);

 private:
  using Place = std::pair<ir::BufferId, ir::ExprId>;  // a buffer and an index
  // Word `w` of a value in a frame; of element `k` if it is an array.
  Place word_place(ir::LocalId local, ir::LocalId k, uint32_t w, bool next);
  ir::ExprId load_words(ir::LocalId local, ir::LocalId k);
  void store_words(ir::LocalId local, ir::LocalId k, StmtList& out);
  ir::ExprId slot_index(ir::LocalId k);

  [[nodiscard]] bool writes(const std::map<uint32_t, uint32_t>& kept) const;
  [[nodiscard]] bool needs(uint32_t i) const;  // the local of that number
  void find_mentioned();
  void restore(ir::LocalId local, StmtList& out);
  void declare_for_all(ir::LocalId local, StmtList& out);
  void declare_early(StmtList& out);
  void save_to_slot(ir::LocalId local, ir::BufferId slot, uint32_t& dropped, StmtList& out);

  Draft& d_;
  const Tree& tree_;
  const CutPoints& cuts_;
  const PlanOptions& options_;
  const Storage& storage_;
  const HiddenBuffers& h_;
  const uint32_t locals_;  // before any segment added its own

  const RawSegment* raw_ = nullptr;
  ir::LocalId lane_, group_;
  bool uses_lane_ = false;
  bool uses_group_ = false;
  bool swaps_frame_ = false;
  bool swaps_group_frame_ = false;
  std::unordered_set<uint32_t> declared_, early_;
  std::unordered_set<uint32_t> inside_;  // locals the segment declares
  std::vector<ir::LocalId> mentioned_;   // locals it uses or assigns
  std::unordered_set<uint32_t> mentioned_set_;
};

}  // namespace vyre::plan
