// SPDX-License-Identifier: Apache-2.0
// Lanes that ended, in the native route. Statements between synchronisation points run under `if
// live`; barriers, uniform assignments and the control flow around them run in every lane.
#pragma once

#include "plan/exits.hpp"
#include "plan/native/native.hpp"

namespace vyre::plan {

class NativeSegment::EndedLanes : private ExitRewriter {
 public:
  explicit EndedLanes(NativeSegment& native) : ExitRewriter(native.d_), n_(native) {}

  StmtList run(const StmtList& items);

 private:
  // ---- ExitRewriter: statements of live lanes only
  [[nodiscard]] bool is_exit(ir::StmtId id) const override;
  void exit(ir::StmtId id, bool needs_flag, StmtList& out) override;
  ir::ExprId going_on() override;

  // Must every lane run this, ended or not? `in_loop`: its jumps belong to a loop that all walk.
  [[nodiscard]] bool walks(ir::StmtId id, bool in_loop) const;
  [[nodiscard]] bool synchronises(ir::StmtId id, ir::Scope least) const;
  [[nodiscard]] ir::ExprId grid_load_of(ir::StmtId id) const;
  [[nodiscard]] bool jumps(ir::StmtId id) const;
  [[nodiscard]] bool ends(ir::StmtId id) const;
  // Uniform locals from outside that a statement assigns, up to this level.
  [[nodiscard]] std::vector<ir::LocalId> assigned_outside(ir::StmtId id, Level level) const;
  // A grid barrier in every iteration, whatever the body does before it.
  [[nodiscard]] bool synchronises_every_iteration(std::span<const ir::StmtId> items,
                                                  bool& stop) const;

  StmtList list(std::span<const ir::StmtId> given, bool in_loop);
  void flush(StmtList& guarded, StmtList& out);
  void walk(ir::StmtId id, bool in_loop, StmtList& out);
  void walk_while(ir::StmtId id, StmtList& out);
  void resync(const std::vector<ir::LocalId>& locals, StmtList& out);

  NativeSegment& n_;
};

}  // namespace vyre::plan
