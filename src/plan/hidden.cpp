// SPDX-License-Identifier: Apache-2.0
// The hidden buffers of a plan, and the steps that run its segments.
#include <algorithm>

#include <fmt/format.h>

#include "base/match.hpp"
#include "plan/mutation.hpp"
#include "plan/segments.hpp"

namespace vyre::plan {

using namespace ir;

bool reads_fixpoint_result(const Draft& d, const CutPoints& cuts, ExprId e) {
  const auto* b = std::get_if<BuiltinRef>(&d.p[e]);
  return cuts.scope == Scope::Grid && b != nullptr && is_call(b->builtin);
}

bool saves(const Tree& tree, const RawSegment& raw, BufferId shared) {
  const uint32_t n = tree.number_of(shared);
  return raw.maybe_out.contains(n) && raw.live_out.contains(n);
}

bool restores(const Tree& tree, const RawSegment& raw, BufferId shared) {
  const uint32_t n = tree.number_of(shared);
  return raw.maybe_in.contains(n) &&
         (raw.live_in.contains(n) ||
          (raw.live_out.contains(n) && !mutated(Mutation::SharedDeadAtReturn)));
}

namespace {

class Declarer {
 public:
  explicit Declarer(Lowering& l) : l_(l) {}

  void run() {
    number_resumes(l_.tree.nodes);
    l_.plan.control.resumes = static_cast<uint32_t>(l_.plan.resumes.size());
    l_.plan.control.fixpoints = static_cast<uint32_t>(l_.d.fixpoints.size());
    l_.hidden.control = l_.control;
    l_.d.hidden[l_.d.arguments[l_.control.index()].index].count = l_.plan.control.count();
    declare_storage();
    declare_reports();
    if (l_.cuts.scope == Scope::Grid) declare_shared();
  }

 private:
  void number_resumes(const Nodes& nodes) {
    for (const Node& n : nodes)
      match(
          n.node, [](const SegmentNode&) {},
          [&](const BranchNode& x) {
            number_resumes(x.then_nodes);
            number_resumes(x.else_nodes);
          },
          [&](const LoopNode& x) {
            number_resumes(x.condition);
            number_resumes(x.body);
          },
          [&](const FixpointNode& x) { number_resumes(x.body); },
          [&](const ResumeNode& x) {
            l_.resumes[x.tag] = static_cast<uint32_t>(l_.plan.resumes.size());
            l_.plan.resumes.push_back({l_.d.source_tag(x.tag), l_.d.p.position_of(x.stmt)});
          },
          [](const CollectiveNode&) {}, [](const CopyNode&) {}, [](const SwapNode&) {});
  }

  BufferId hide(Hidden::Kind kind, std::string name, Type element, Hidden::Extent extent,
                uint32_t count = 1, bool two_halves = false, BufferKind as = BufferKind::InOut) {
    Hidden hidden;
    hidden.kind = kind;
    hidden.name = std::move(name);
    hidden.element = element;
    hidden.extent = extent;
    hidden.count = count;
    hidden.two_halves = two_halves;
    return l_.d.add_hidden(std::move(hidden), as);
  }

  void declare_storage() {
    using Kind = Hidden::Kind;
    using Extent = Hidden::Extent;
    const auto out_half = [&](BufferId in) {
      return l_.d.out_half.at(l_.d.arguments[in.index()].index);
    };
    if (l_.storage->frame_words != 0) {
      l_.hidden.frame =
          hide(Kind::Frame, "frame", Type::U32, Extent::Once, l_.storage->frame_words, true);
      l_.hidden.next_frame =
          mutated(Mutation::FrameInPlace) ? l_.hidden.frame : out_half(l_.hidden.frame);
    }
    for (const uint32_t words : l_.storage->group_rows) {
      const BufferId in =
          hide(Kind::GroupFrame, "group_frame", Type::U32, Extent::PerWorkgroup, words, true);
      l_.plan.group_frame_words += words;
      l_.hidden.group_frame.push_back(in);
      l_.hidden.next_group_frame.push_back(mutated(Mutation::GroupFrameInPlace) ? in
                                                                                : out_half(in));
    }
    for (size_t k = 0; k < l_.storage->slots.size(); ++k) {
      const Storage::Slot& slot = l_.storage->slots[k];
      l_.hidden.slots.push_back(hide(Kind::Slot, fmt::format("slot_{}", k), slot.type,
                                     Extent::PerLane, std::max(1U, slot.elements)));
    }
  }

  void declare_reports() {
    using Kind = Hidden::Kind;
    using Extent = Hidden::Extent;
    if (l_.tree.ends_lanes || l_.options.checked)
      l_.hidden.mask = hide(Kind::Mask, "mask", Type::U32, Extent::PerLane);
    bool traps = false;
    bool reads_result = false;
    for (const RawSegment& raw : l_.tree.segments)
      for (const RawSegment::Item& item : raw.items) {
        traps |= any_stmt_below(l_.d.p, item.stmt,
                                [&](StmtId s) { return std::holds_alternative<Trap>(l_.d.p[s]); });
        reads_result |= any_expr_below(
            l_.d.p, item.stmt, [&](ExprId e) { return reads_fixpoint_result(l_.d, l_.cuts, e); });
      }
    if (traps) {
      l_.hidden.report_value = hide(Kind::ReportValue, "trap_value", Type::U32, Extent::PerLane);
      l_.hidden.report_site = hide(Kind::ReportSite, "trap_site", Type::U32, Extent::PerLane);
    }
    if (l_.cuts.scope == Scope::Grid && (reads_result || !l_.d.fixpoints.empty()))
      l_.hidden.fixpoint = hide(Kind::Fixpoint, "fixpoint_result", Type::U32, Extent::Once, 2,
                                false, l_.cuts.native ? BufferKind::InOut : BufferKind::In);
  }

  // One area per shared buffer that some segment saves.
  void declare_shared() {
    for (uint32_t i = 0; i < l_.d.c.buffers.size(); ++i) {
      if (l_.d.p.buffers[i].kind != BufferKind::Shared) continue;
      const bool saved = std::ranges::any_of(l_.tree.segments, [&](const RawSegment& raw) {
        return saves(l_.tree, raw, BufferId{i});
      });
      if (!saved) continue;
      Hidden hidden;
      hidden.kind = Hidden::Kind::Shared;
      hidden.name = "saved_" + l_.d.p.buffers[i].name;
      hidden.element = l_.d.p.buffers[i].element;
      hidden.extent = Hidden::Extent::PerWorkgroup;
      hidden.count = *l_.d.c.buffers[i].constant_count;
      hidden.like = BufferId{i};
      l_.hidden.shared[i] = static_cast<uint32_t>(l_.d.hidden.size());
      l_.d.hidden.push_back(std::move(hidden));
    }
  }

  Lowering& l_;
};

class StepMaker {
 public:
  explicit StepMaker(const Lowering& l) : l_(l) {}

  Steps steps(const Nodes& nodes) {
    Steps out;
    for (const Node& n : nodes)
      match(
          n.node,
          [&](const SegmentNode& x) {
            const RawSegment& raw = l_.tree.segments[x.segment];
            if (!raw.items.empty())
              out.push_back({LaunchStep{l_.segment_of[x.segment]}});
            else if (raw.ends_phase)
              out.push_back({PhaseStep{}});
          },
          [&](const BranchNode& x) {
            out.push_back(
                {BranchStep{word(x.word), steps(x.then_nodes), steps(x.else_nodes), x.at}});
          },
          [&](const LoopNode& x) {
            out.push_back({LoopStep{steps(x.condition), word(x.word), steps(x.body), x.at}});
          },
          [&](const FixpointNode& x) {
            out.push_back({FixpointStep{x.row, x.most, x.most ? 0 : word(x.word), steps(x.body)}});
          },
          [&](const ResumeNode& x) { out.push_back({ResumeStep{l_.resumes.at(x.tag)}}); },
          [&](const CollectiveNode& x) {
            const auto& s = std::get<Collective>(l_.d.p[x.stmt]);
            CollectiveStep step;
            step.op = s.op;
            step.reduce = s.reduce;
            const auto constant = [&](ExprId e) {
              const auto value = e.valid() ? check::evaluate_constant(l_.d.c, e) : std::nullopt;
              return value ? static_cast<uint32_t>(value->bits) : 0;
            };
            step.root = constant(s.root);
            step.group = constant(s.group);
            step.src = s.src.buffer();
            if (s.dst.valid()) step.dst = s.dst.buffer();
            step.at = l_.d.p.position_of(x.stmt);
            step.unconditional = l_.d.unconditional_collectives.contains(x.stmt.value);
            out.push_back({step});
          },
          [&](const CopyNode& x) {
            const auto& s = std::get<AsyncCopy>(l_.d.p[x.stmt]);
            CopyStep step;
            step.dst = s.dst.buffer();
            step.src = s.src.buffer();
            step.dst_word = word(x.dst);
            step.src_word = word(x.src);
            step.count_word = word(x.count);
            step.dst_type = l_.d.type_of(x.dst);
            step.src_type = l_.d.type_of(x.src);
            step.count_type = l_.d.type_of(x.count);
            step.at = l_.d.p.position_of(x.stmt);
            out.push_back({step});
          },
          [&](const SwapNode& x) {
            const auto& s = std::get<Swap>(l_.d.p[x.stmt]);
            if (!mutated(Mutation::SwapLeftOut))
              out.push_back({SwapStep{s.a.buffer(), s.b.buffer(), l_.d.p.position_of(x.stmt)}});
          });
    return out;
  }

 private:
  [[nodiscard]] uint32_t word(LocalId local) const { return l_.storage->frame.at(local.value); }

  const Lowering& l_;
};

// Rows of the fixpoints that the host runs.
void note_fixpoints(const Nodes& nodes, std::vector<bool>& seen) {
  for (const Node& n : nodes) {
    if (const auto* x = std::get_if<FixpointNode>(&n.node)) {
      seen[x->row] = true;
      note_fixpoints(x->body, seen);
    }
    if (const auto* x = std::get_if<BranchNode>(&n.node)) {
      note_fixpoints(x->then_nodes, seen);
      note_fixpoints(x->else_nodes, seen);
    }
    if (const auto* x = std::get_if<LoopNode>(&n.node)) {
      note_fixpoints(x->condition, seen);
      note_fixpoints(x->body, seen);
    }
  }
}

// Fixpoints that the host runs keep what their buffers were before a pass.
void declare_snapshots(Lowering& l) {
  if (l.plan.scope == Scope::Workgroup) return;
  std::vector<bool> in_tree(l.d.fixpoints.size());
  note_fixpoints(l.tree.nodes, in_tree);
  for (size_t row = 0; row < l.plan.fixpoints.size(); ++row) {
    if (!in_tree[row]) continue;
    for (FixpointBuffer& b : l.plan.fixpoints[row].buffers) {
      if (b.mode != FixpointMode::Snapshot) continue;
      b.snapshot = static_cast<uint32_t>(l.d.hidden.size());
      l.d.hidden.push_back(l.d.snapshot_of(b.buffer));
    }
  }
}

}  // namespace

Lowering declare_hidden(Lowering l) {
  Declarer(l).run();
  return l;
}

Lowering make_steps(Lowering l) {
  l.plan.steps = StepMaker(l).steps(l.tree.nodes);
  l.plan.fixpoints = l.d.fixpoints;
  declare_snapshots(l);
  l.plan.hidden = l.d.hidden;
  l.plan.frame_words = l.storage->frame_words;
  return l;
}

}  // namespace vyre::plan
