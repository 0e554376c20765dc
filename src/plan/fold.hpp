// SPDX-License-Identifier: Apache-2.0
// Folding: a segment with barriers of the grid inside, for a launch of fewer workgroups than the
// dispatch has. Between two barriers every block runs all its workgroups of the dispatch, one after
// the other (a turn each); the control flow around barriers is the same for all of them and runs
// once. What a lane needs in a later turn of its own waits in a slot.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/properties.hpp"
#include "plan/draft.hpp"

namespace vyre::plan {

// Hidden buffers that all folded segments of a plan share.
struct FoldMemory {
  ir::BufferId meeting, control;  // of the native route
  ir::BufferId grid;              // workgroups of the dispatch along each axis
  std::map<std::pair<ir::Type, uint32_t>, std::vector<ir::BufferId>> slots;  // by type and elements
  std::map<uint32_t, ir::BufferId> shared;  // by BufferId: what workgroups keep of it
};

// Whether the value of a node is the same in all virtual workgroups of a block, if its operands
// are. `of_local`, `of_memory` and `of_call` answer for a local, a memory and a function that it
// names.
template <class OfLocal, class OfMemory, class OfCall>
bool is_same_in_workgroups(const ir::Program& p, const ir::Expr& e, const OfLocal& of_local,
                           const OfMemory& of_memory, const OfCall& of_call) {
  bool same = false;
  switch (ir::properties_of(e).uniformity) {
    case ir::UniformityRule::Operands: return true;
    case ir::UniformityRule::Local:
      ir::for_each_local(e, [&](ir::LocalId local, ir::LocalAccess) { same = of_local(local); });
      return same;
    case ir::UniformityRule::Memory:
      ir::for_each_memory(p, e, [&](const ir::MemoryUse& use) { same = of_memory(use.memory); });
      return same;
    case ir::UniformityRule::Function: return of_call();
    // Of what is given, only the sizes of the launch are read without another barrier or lane.
    case ir::UniformityRule::Given: {
      const auto* ref = std::get_if<ir::BuiltinRef>(&e);
      return ref != nullptr && (ref->builtin == ir::Builtin::NumWorkgroups ||
                                ref->builtin == ir::Builtin::WorkgroupSize);
    }
  }
  return false;
}

class Folder {
 public:
  // `lane`: the local that holds d.lane_id(), if there is one. `live`: of lanes that go on.
  Folder(Draft& d, FoldMemory& memory, ir::LocalId lane, ir::LocalId live,
         const PlanOptions& options);

  // Whether lanes of the grid meet in the body.
  [[nodiscard]] static bool has_barrier(const Draft& d, const StmtList& body);
  // False: the segment cannot be folded.
  bool accepts(const StmtList& body);
  // Workgroups that a block runs side by side: 1 if their lanes meet.
  [[nodiscard]] uint32_t together() const { return together_; }
  // Not 0: so many are written out one after the other, each with its own registers.
  [[nodiscard]] uint32_t written_turns() const { return written_turns_; }
  // Of a body that was accepted.
  StmtList run();

 private:
  // A statement around barriers, or all that stands between two of them.
  struct Part {
    ir::StmtId stmt;  // not valid: a piece
    StmtList items;   // of a piece
    uint32_t piece = 0;
    std::vector<std::vector<Part>> blocks;
  };
  enum class Home : uint8_t {
    Inside,   // of one piece
    Loop,     // the variable of a loop around barriers
    Uniform,  // the same in all lanes: one for all turns
    Again,    // computed anew in every piece that needs it
    Slot,
  };
  struct LocalUse {
    std::set<uint32_t> pieces;  // that mention it; kAround: statements around barriers
    uint32_t lets = 0;
    uint32_t assigns = 0;
    bool by_some = false;  // written where not all lanes come
    ir::ExprId value;      // of its last `let`
    Home home = Home::Inside;
  };
  static constexpr uint32_t kAround = ~uint32_t{0};

  // Loads between barriers as what they are.
  StmtList lower_loads(std::span<const ir::StmtId> list);

  // ---- what the body is like
  bool look(const StmtList& body);
  void join(const StmtList& body);
  bool build(std::span<const ir::StmtId> list, std::vector<Part>& parts);
  bool build_around(ir::StmtId id, Part& part);
  // Whether all lanes of the grid come to the same value.
  [[nodiscard]] bool is_uniform(ir::ExprId id) const;
  void scan(ir::StmtId id, uint32_t piece, bool by_all);
  void scan(ir::ExprId id, uint32_t piece);
  void note_memory(ir::Memory memory, uint32_t piece);
  void mention(ir::LocalId local, uint32_t piece) { view_.uses[local.value].pieces.insert(piece); }
  void write(ir::LocalId local, uint32_t piece, bool by_all);
  void settle_homes();
  // Whether the turns can be written out.
  [[nodiscard]] bool fits_registers() const;
  // What has to wait for a later piece, and after which ones.
  void find_waiting();
  void note_values(const Part& part);
  using Locals = std::set<uint32_t>;  // by LocalId
  // Locals in slots that a piece gives a value to, and such of which it needs the one they have.
  struct Values {
    Locals set, read;
  };
  struct Exits {
    const Locals* after_loop = nullptr;
    const Locals* next_trip = nullptr;
  };
  // Locals that are needed where the parts begin, if `live` are where they end.
  Locals needed_before(const std::vector<Part>& parts, Locals live, const Exits& exits);
  Locals needed_before(const Part& loop, const Locals& after);
  bool can_compute_again(ir::LocalId local, uint32_t& nodes) const;

  // ---- the new body
  StmtList around(const std::vector<Part>& parts);
  void piece(const Part& part, StmtList& out);
  // Whether a statement of a piece may run once for all turns. `seen`: locals of the piece that are
  // declared outside of the turns.
  [[nodiscard]] bool runs_once(ir::StmtId id, std::set<uint32_t>& seen) const;
  [[nodiscard]] bool reads_once(ir::ExprId id, const std::set<uint32_t>& seen) const;
  [[nodiscard]] bool is_of_first_lane(const ir::If& s) const;
  void once(ir::StmtId id, StmtList& out);
  void turns(uint32_t piece, std::span<const ir::StmtId> items, StmtList& out);
  void declare_again(ir::LocalId local, std::set<uint32_t>& declared, StmtList& out);
  [[nodiscard]] LocalUse& use(ir::LocalId local) { return view_.uses[local.value]; }
  [[nodiscard]] Home home(ir::LocalId local) const;
  // What statements do with locals from outside, and which shared memory they use.
  struct Mentioned {
    struct Use {
      bool written = false;
      bool declared = false;
    };
    std::map<uint32_t, Use> locals;
    std::set<uint32_t> shared;
  };
  Mentioned mentioned_in(std::span<const ir::StmtId> items) const;
  // What belongs to a turn.
  struct Axis {
    ir::LocalId local;
    bool used = false;
  };
  struct Turn {
    std::array<Axis, 3> wid, gid, lid;
    ir::LocalId turn, group, lane, in_group;
    ir::LocalId active;                     // of one among several: whether there is such a turn
    std::map<uint32_t, ir::LocalId> names;  // by LocalId
    std::map<uint32_t, ir::LocalId> early;  // by ExprId: loads that are done already
    bool uses_lane = false;
  };
  // One turn: that of the loop, or the one of this number. `before`: uniform locals as they were.
  void turn(uint32_t piece, std::span<const ir::StmtId> items, std::optional<uint32_t> written,
            std::map<uint32_t, ir::LocalId>& before, StmtList& outside, StmtList& out);

  // ---- several turns, statement by statement
  struct Early {
    ir::ExprId load;
    bool guessed = false;  // the lane might not come to it
  };
  // How many of them: 1 if there is nothing to gain.
  [[nodiscard]] uint32_t width_of(std::span<const ir::StmtId> items) const;
  [[nodiscard]] bool gains(std::span<const ir::StmtId> items) const;
  [[nodiscard]] bool is_same(const ir::If& s) const;
  [[nodiscard]] bool is_guard(ir::ExprId id) const;
  [[nodiscard]] bool has_effect(ir::ExprId id) const;
  [[nodiscard]] std::vector<Early> early_loads(ir::StmtId id) const;
  void early_loads(ir::ExprId id, bool guessed, std::vector<Early>& out) const;
  void many_turns(uint32_t piece, std::span<const ir::StmtId> items, uint32_t width, StmtList& out);
  // Which turns: from this one on, or written ones from this number on.
  struct Some {
    ir::LocalId base = {};
    uint32_t number = 0;
    bool all = false;  // there are so many
  };
  StmtList interleave(uint32_t piece, std::span<const ir::StmtId> items, uint32_t width,
                      const Some& some, std::map<uint32_t, ir::LocalId>& before, StmtList& outside);
  void name_waiting(uint32_t piece, const Mentioned& mentioned, std::optional<uint32_t> written,
                    std::map<uint32_t, ir::LocalId>& before, StmtList& outside, StmtList& restored,
                    StmtList& saved);
  // `all`: every one of the turns exists and comes here.
  void side_by_side(std::span<const ir::StmtId> items, std::vector<Turn>& turns, bool all,
                    StmtList& out);
  void guarded(ir::StmtId id, std::vector<Turn>& turns, bool all, StmtList& out);
  void one_by_one(ir::StmtId id, std::vector<Turn>& turns, bool all, StmtList& out);

  void load_slot(ir::LocalId local, std::optional<uint32_t> written, StmtList& out);
  void save_slot(ir::LocalId local, std::optional<uint32_t> written, StmtList& out);
  void copy_shared(ir::BufferId buffer, bool save, StmtList& out);
  struct SlotPlace {
    ir::BufferId buffer;
    uint32_t width = 1;  // values of a lane side by side; 0: an array, its elements apart
    uint32_t element = 0;
  };
  void find_slots();
  ir::BufferId slot_buffer(ir::Type type, uint32_t elements);
  ir::ExprId slot_index(const SlotPlace& slot, ir::LocalId element);
  ir::ExprId in_slot(ir::LocalId local, ir::LocalId element = {});
  ir::StmtId to_slot(ir::LocalId local, ir::ExprId value, ir::LocalId element = {});
  StmtList ids();
  StmtList start();
  void name_ids();
  ir::StmtId name_group(ir::ExprId number);
  // What a local is called in this turn. Every declaration has a local of its own.
  [[nodiscard]] ir::LocalId named(ir::LocalId local) const;
  [[nodiscard]] ir::Memory named(ir::Memory memory) const;
  void declare(ir::LocalId local);
  // A vote of many lanes: who sees that it is cast need not cast it again.
  [[nodiscard]] bool is_vote(const ir::Stmt& s) const;
  void rewrite(ir::StmtId id, StmtList& out);
  ir::ExprId rewrite(ir::ExprId id);

  Draft& d_;
  FoldMemory& memory_;
  const ir::LocalId lane_of_source_, live_;
  uint32_t together_;
  uint32_t written_turns_;
  const uint32_t interleaved_;
  const bool wide_index_;
  const bool row_;
  const std::array<uint32_t, 3> size_;  // of a workgroup of the dispatch

  // What a body is like.
  struct View {
    std::vector<Part> parts;
    uint32_t pieces = 0;
    bool meets_in_group = false;
    bool in_subgroup = false;
    bool refused = false;
    std::map<uint32_t, LocalUse> uses;        // by LocalId
    std::set<uint32_t> steady;                // locals that have one value for each trip of a loop
    std::map<uint32_t, Values> values;        // by piece
    std::map<uint32_t, Locals> needed_after;  // by piece
    Locals waits;                             // locals that are needed after some piece
    uint32_t words = 0;                       // of these
    bool has_arrays = false;                  // among these
    uint32_t statements = 0;
  };
  View view_;
  std::map<std::pair<ir::Type, uint32_t>, size_t> slots_taken_;  // of memory_.slots
  std::map<uint32_t, SlotPlace> slots_;                          // by LocalId
  std::map<uint32_t, std::vector<ir::LocalId>> kept_;  // by LocalId: one for each written turn
  // Of the launch.
  ir::LocalId first_, stride_, groups_, turns_, is_row_;
  ir::LocalId first_lane_;  // whether this lane stands for the first one of the dispatch
  ir::LocalId backwards_;   // whether the next loop of turns begins with the last one
  ir::LocalId from_, by_;   // of this loop: its first workgroup, and the way to the next
  uint32_t loops_ = 0;      // around the piece
  std::array<ir::LocalId, 3> num_ = {};
  std::set<uint32_t> declared_;  // locals that some turn has declared under their own name
  Turn now_;
  bool in_turn_ = false;
};

}  // namespace vyre::plan
