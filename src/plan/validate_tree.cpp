// SPDX-License-Identifier: Apache-2.0
// Invariants of the tree, of segments and of the plan.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "base/match.hpp"
#include "ir/properties.hpp"
#include "plan/validate.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

void collect_segments(const Nodes& nodes, std::vector<uint32_t>& out) {
  for (const Node& n : nodes)
    match(
        n.node, [&](const SegmentNode& x) { out.push_back(x.segment); },
        [&](const BranchNode& x) {
          collect_segments(x.then_nodes, out);
          collect_segments(x.else_nodes, out);
        },
        [&](const LoopNode& x) {
          collect_segments(x.condition, out);
          collect_segments(x.body, out);
        },
        [&](const FixpointNode& x) { collect_segments(x.body, out); }, [](const ResumeNode&) {},
        [](const CollectiveNode&) {}, [](const CopyNode&) {}, [](const SwapNode&) {});
}

std::string at(const Position& position) {
  return position.line == 0 ? std::string() : fmt::format(" (line {})", position.line);
}

bool is_grid_return(const Draft& d, StmtId id) {
  return d.c.flow_levels[id.index()] == Level::Grid;
}

// Declarations of a segment, in the order in which its statements run.
class Declarations {
 public:
  explicit Declarations(const Draft& d) : d_(d), state_(d.p.locals.size(), State::Unknown) {}

  std::string list(const StmtList& items) { return in_block(items); }

 private:
  enum class State : uint8_t { Unknown, Visible, Gone };

  std::string in_block(std::span<const StmtId> items) {
    std::vector<LocalId> here;
    std::string broken;
    for (const StmtId id : items) {
      broken = statement(id, here);
      if (!broken.empty()) break;
    }
    for (const LocalId local : here) state_[local.index()] = State::Gone;
    return broken;
  }

  std::string statement(StmtId id, std::vector<LocalId>& here) {
    const Stmt& s = d_.p[id];
    std::string broken;
    const auto use = [&](LocalId local) {
      if (broken.empty() && state_[local.index()] != State::Visible) broken = unknown(local, id);
    };
    const auto memory = [&](const MemoryUse& m) {
      if (m.memory.kind == Memory::Kind::Local && m.memory.valid()) use(m.memory.local());
    };
    for_each_operand(d_.p, s, [&](ExprId top) {
      for_each_expr(d_.p, top, [&](ExprId e) {
        for_each_local(d_.p[e], [&](LocalId local, LocalAccess) { use(local); });
        for_each_memory(d_.p, d_.p[e], memory);
      });
    });
    for_each_memory(d_.p, s, memory);
    std::vector<LocalId> inside;
    for_each_local(s, [&](LocalId local, LocalAccess access) {
      if (access == LocalAccess::Assign || access == LocalAccess::Read) return use(local);
      if (broken.empty() && state_[local.index()] != State::Unknown)
        broken =
            fmt::format("`{}` is declared twice{}", d_.p[local].name, at(d_.p.position_of(id)));
      state_[local.index()] = State::Visible;
      (access == LocalAccess::Iterate ? inside : here).push_back(local);
    });
    for_each_block(s, [&](Block b) {
      if (broken.empty()) broken = in_block(d_.p.items(b));
    });
    for (const LocalId local : inside) state_[local.index()] = State::Gone;
    return broken;
  }
  [[nodiscard]] std::string unknown(LocalId local, StmtId id) const {
    return fmt::format("`{}` is used where it is not declared{}", d_.p[local].name,
                       at(d_.p.position_of(id)));
  }

  const Draft& d_;
  std::vector<State> state_;
};

// What an expression or statement of a segment must not be.
template <class OfStmt, class OfExpr>
std::string first_left(const Draft& d, const SegmentBody& s, const OfStmt& of_stmt,
                       const OfExpr& of_expr) {
  std::string broken;
  for (const StmtId top : s.all())
    for_each_stmt(d.p, top, [&](StmtId id) {
      if (!broken.empty()) return;
      broken = of_stmt(id);
      for_each_operand(d.p, d.p[id], [&](ExprId operand) {
        for_each_expr(d.p, operand, [&](ExprId e) {
          if (broken.empty()) broken = of_expr(e);
        });
      });
      if (!broken.empty()) broken += at(d.p.position_of(id));
    });
  return broken;
}

constexpr auto kNothingOfExpr = [](ExprId) { return std::string(); };

}  // namespace

namespace invariant {

// ---- of the tree

std::string segments_without_cuts(const Lowering& l) {
  std::vector<uint32_t> order;
  collect_segments(l.tree.nodes, order);
  for (uint32_t i = 0; i < std::max(order.size(), l.tree.segments.size()); ++i)
    if (i >= order.size() || order[i] != i || i >= l.tree.segments.size())
      return fmt::format("segment {} does not stand once in the tree, in source order", i);
  for (const RawSegment& raw : l.tree.segments)
    for (const RawSegment::Item& item : raw.items) {
      const bool load = std::holds_alternative<Let>(l.d.p[item.stmt]);
      if (!load && l.cuts.below(l.d, item.stmt))
        return "a cut stands inside of a segment" + at(l.d.p.position_of(item.stmt));
    }
  return {};
}

std::string live_values_have_definitions(const Lowering& l) {
  std::string broken;
  const auto locals = static_cast<uint32_t>(l.tree.recomputed.size());
  if (locals != l.d.p.locals.size()) return "a local was added after the analysis";
  if (l.tree.segments.empty()) return broken;
  l.tree.segments.front().live_in.for_each([&](uint32_t i) {
    if (i < locals)
      broken = fmt::format("`{}` is live where the program begins", l.d.p.locals[i].name);
  });
  return broken;
}

std::string storage_disjoint(const Lowering& l) {
  const Storage& storage = *l.storage;
  const auto locals = static_cast<uint32_t>(l.tree.recomputed.size());
  std::string broken;
  const auto check = [&](const LiveSet& alive) {
    std::unordered_set<uint32_t> slots;
    alive.for_each([&](uint32_t i) {
      if (i >= locals || (l.tree.recomputed[i] && !l.tree.words.contains(i))) return;
      const auto slot = storage.slot.find(i);
      const size_t places = storage.frame.count(i) + storage.group_frame.count(i) +
                            (slot != storage.slot.end() ? 1 : 0);
      if (places != 1)
        broken =
            fmt::format("`{}` lives across a cut and has {} places", l.d.p.locals[i].name, places);
      else if (slot != storage.slot.end() && !slots.insert(slot->second).second)
        broken = fmt::format("`{}` shares slot {} with a value that lives at the same time",
                             l.d.p.locals[i].name, slot->second);
    });
  };
  for (const RawSegment& raw : l.tree.segments) check(raw.live_out);
  for (const auto& [tag, set] : l.tree.live_at_resume) check(set);
  for (const auto& [trap, set] : l.tree.park) check(set);
  return broken;
}

std::string hidden_declared(const Lowering& l) {
  if (l.hidden.slots.size() != l.storage->slots.size() ||
      l.hidden.group_frame.size() != l.storage->group_rows.size() ||
      (l.storage->frame_words != 0) != l.hidden.frame.valid())
    return "storage has no hidden buffer";
  if (l.d.arguments.size() != l.d.p.buffers.size()) return "a buffer stands for nothing";
  for (const Argument& argument : l.d.arguments)
    if (argument.kind != Argument::Kind::Source && argument.index >= l.d.hidden.size())
      return "a buffer stands for hidden memory that is not there";
  return {};
}

// ---- of a segment on its way

std::string edges_lowered(const Lowering& l, const SegmentBody& s) {
  const Draft& d = l.d;
  return first_left(
      d, s,
      [&](StmtId id) -> std::string {
        if (properties_of(d.p[id]).exit == Exit::Trap) return "a trap is left";
        if (std::holds_alternative<Resume>(d.p[id])) return "a resume is left";
        return l.cuts.is_cut(d, id) ? "a cut is left" : "";
      },
      [&](ExprId e) -> std::string {
        if (l.cuts.is_cut(d, e)) return "a load with barriers is left";
        return reads_fixpoint_result(d, l.cuts, e) ? "a read of a fixpoint's result is left" : "";
      });
}

std::string fixpoints_lowered(const Lowering& l, const SegmentBody& s) {
  return first_left(
      l.d, s,
      [&](StmtId id) {
        return std::string(std::holds_alternative<Fixpoint>(l.d.p[id]) ? "a fixpoint is left" : "");
      },
      kNothingOfExpr);
}

std::string ended_lanes_lowered(const Lowering& l, const SegmentBody& s) {
  return first_left(
      l.d, s,
      [&](StmtId id) {
        return std::string(std::holds_alternative<Return>(l.d.p[id]) && !is_grid_return(l.d, id)
                               ? "a lane leaves without the others"
                               : "");
      },
      kNothingOfExpr);
}

std::string locals_declared(const Lowering& l, const SegmentBody& s) {
  return Declarations(l.d).list(s.all());
}

std::string ids_are_virtual(const Lowering& l, const SegmentBody& s) {
  if (s.workgroups_per_block == 0) return {};
  return first_left(
      l.d, s, [](StmtId) { return std::string(); },
      [&](ExprId e) {
        const auto* ref = std::get_if<BuiltinRef>(&l.d.p[e]);
        return std::string(ref != nullptr && ref->builtin == Builtin::Gid
                               ? "a persistent kernel reads `gid` of the launch"
                               : "");
      });
}

std::string segment_complete(const Lowering& l, const SegmentBody&) {
  const Segment& segment = l.plan.segments.back();
  const check::CheckedProgram& c = segment.program;
  if (segment.arguments.size() != c.program.buffers.size() ||
      c.buffers.size() != c.program.buffers.size())
    return "a buffer of the segment stands for nothing";
  for (const Argument& argument : segment.arguments)
    if (argument.kind != Argument::Kind::Source && argument.index >= l.d.hidden.size() &&
        argument.index != ~uint32_t{0})
      return "a buffer of the segment stands for hidden memory that is not there";
  if (c.has_grid_barrier && !l.stays_in_launch()) return "a barrier of the grid is left";
  for (const SharedUse& use : segment.shared)
    if (use.hidden >= l.d.hidden.size()) return "shared memory has no area";
  return {};
}

// ---- of the plan

namespace {

class StepChecker {
 public:
  explicit StepChecker(const Plan& plan) : plan_(plan), launches_(plan.segments.size()) {}

  std::string run() {
    list(plan_.steps);
    for (size_t i = 0; i < launches_.size(); ++i)
      if (broken_.empty() && launches_[i] != 1)
        broken_ = fmt::format("segment {} has {} launch steps", i, launches_[i]);
    return broken_;
  }

 private:
  void word(uint32_t number) {
    if (broken_.empty() && number >= plan_.frame_words)
      broken_ = fmt::format("a step decides on word {} of {}", number, plan_.frame_words);
  }
  void list(const Steps& steps) {
    for (const Step& step : steps)
      match(
          step.node,
          [&](const LaunchStep& x) {
            if (x.segment < launches_.size())
              ++launches_[x.segment];
            else
              broken_ = fmt::format("a step launches segment {}, which is not there", x.segment);
          },
          [](const PhaseStep&) {},
          [&](const BranchStep& x) {
            word(x.word);
            list(x.then_steps);
            list(x.else_steps);
          },
          [&](const LoopStep& x) {
            word(x.word);
            list(x.condition);
            list(x.body);
          },
          [&](const FixpointStep& x) {
            if (x.fixpoint >= plan_.fixpoints.size()) broken_ = "a step runs no fixpoint";
            if (!x.most) word(x.word);
            list(x.body);
          },
          [&](const ResumeStep& x) {
            if (x.resume >= plan_.resumes.size()) broken_ = "a step resumes at no place";
          },
          [](const CollectiveStep&) {},
          [&](const CopyStep& x) {
            for (const uint32_t number : {x.dst_word, x.src_word, x.count_word}) word(number);
          },
          [&](const SwapStep& x) {
            if (!x.a.valid() || !x.b.valid() || x.a == x.b) broken_ = "a step swaps no two buffers";
          });
  }

  const Plan& plan_;
  std::vector<uint32_t> launches_;
  std::string broken_;
};

}  // namespace

std::string steps_complete(const Lowering& l) {
  return StepChecker(l.plan).run();
}

}  // namespace invariant

}  // namespace vyre::plan
