// SPDX-License-Identifier: Apache-2.0
// The native route: barriers stay inside the launch, and every lane of every workgroup reaches
// every one of them. A lane that has ended is inactive: it takes part in barriers and in uniform
// control flow, and in nothing else.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "plan/passes.hpp"

namespace vyre::plan {

// Words of Hidden::Kind::Votes. Those of a kind rotate over three rounds: one is written, one was
// read in the round before, one is being cleared, and a single barrier keeps them apart.
struct VoteWords {
  static constexpr uint32_t kAlive = 0;
  // The complement of a lane's number: zero is none, and the smallest lane wins by maximum.
  static constexpr uint32_t kStop = 3;
  static constexpr uint32_t kChanged = 6;  // three per fixpoint
  uint32_t fixpoints = 0;
  [[nodiscard]] uint32_t changed(uint32_t row) const { return kChanged + 3 * row; }
  [[nodiscard]] uint32_t published(uint32_t word) const {
    return kChanged + 3 * fixpoints + 3 * word;
  }
};

// What the passes before agree on with the native lowering.
struct NativeState {
  ir::BufferId votes, control;
  VoteWords words;
  std::vector<ir::LocalId> rounds;  // by fixpoint: the round of its changed words
  std::vector<bool> inside;         // by fixpoint: whether it stays in a launch
  ir::LocalId live, round, phase_round, group_round, passes, converged;
};
NativeState prepare_native(Draft& d, const CutPoints& cuts, ir::BufferId control);
// `changed` for a fixpoint that stays in the launch.
ir::StmtId mark_changed(Draft& d, const NativeState& native, uint32_t row);
// Takes loads with barriers out of larger expressions, and effects out of the arguments of calls:
// a uniform expression can then be evaluated by lanes that have ended.
Draft separate_effects(Draft d);

class NativeSegment {
 public:
  NativeSegment(Draft& d, const NativeState& native, ir::BufferId fixpoint_result,
                std::function<ir::ExprId()> lane);

  // `ends_lanes`: some lane may have ended before or may end inside. `mask`: the lane's mask, if it
  // may have ended before.
  // `traps`: the program has some.
  void begin(StmtList& prologue, bool ends_lanes, ir::ExprId mask, bool traps);
  // What fixpoint_passes() or fixpoint_converged() is here.
  ir::ExprId fixpoint_result(ir::Builtin builtin);
  // This lane stops the dispatch at the end of the phase.
  void stop(StmtList& out);
  // A `return` of all lanes at once.
  ir::StmtId leave_uniformly();
  StmtList lower_fixpoints(std::span<const ir::StmtId> given);
  // Appends the epilogue, for live lanes. Gives the local that says who they are.
  ir::LocalId lower_ended_lanes(StmtList& body, const StmtList& epilogue);

 private:
  class EndedLanes;

  // ---- fixpoints
  void lower_fixpoint(ir::StmtId id, StmtList& out);
  ir::StmtId over_buffer(ir::BufferId buffer, const std::function<StmtList(ir::LocalId)>& each);

  // ---- synchronisation points
  // A uniform local, or an element of a uniform private array.
  struct Published {
    ir::LocalId local;
    ir::LocalId element = {};  // holds the index
    uint32_t first_word = 0;   // of the local
  };
  // Gives the number of words. Elements are gone through in a loop.
  uint32_t for_each_part(const std::vector<ir::LocalId>& locals, StmtList& out,
                         const std::function<StmtList(const Published&)>& each);
  ir::ExprId value_of(const Published& part);
  ir::StmtId set(const Published& part, ir::ExprId value);
  // Where live lanes write values for the others: three words for each one, by rounds.
  struct Board {
    ir::Memory memory;
    ir::LocalId round;
    uint32_t first = 0;
  };
  ir::ExprId word_at(const Board& board, const Published& part, uint32_t number);
  // Gives the number of words.
  uint32_t publish(const Board& board, const std::vector<ir::LocalId>& locals, StmtList& out);
  void take(const Board& board, const std::vector<ir::LocalId>& locals, ir::LocalId alive,
            StmtList& out);
  ir::ExprId word(uint32_t first, ir::LocalId round);
  ir::ExprId after_round(ir::LocalId round);
  void source_barrier(StmtList& out);
  // All lanes leave because one stopped the dispatch.
  StmtList leave_stopped();
  // All lanes of the grid; if none of them is live the launch ends.
  void grid_vote(StmtList& out, const std::vector<ir::LocalId>& locals);
  // Gives a local that says whether a lane of the workgroup is live.
  ir::LocalId group_vote(StmtList& out, const std::vector<ir::LocalId>& locals);

  Draft& d_;
  const NativeState& native_;
  ir::BufferId result_;
  std::function<ir::ExprId()> lane_;
  bool ends_lanes_ = false;
  bool traps_ = false;
  bool may_have_ended_ = false;
  const ir::LocalId live_, round_, phase_round_, group_round_, passes_, converged_;
  ir::BufferId group_words_;
  uint32_t group_published_ = 0;
  std::unordered_set<uint32_t> uniform_returns_;  // StmtIds of returns
  std::unordered_set<uint32_t> lowered_;          // StmtIds that are in their final form
};

}  // namespace vyre::plan
