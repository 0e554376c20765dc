// SPDX-License-Identifier: Apache-2.0
#include "plan/segments.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/match.hpp"
#include "ir/properties.hpp"
#include "plan/extract.hpp"
#include "plan/fold.hpp"
#include "plan/live_across.hpp"
#include "plan/mutation.hpp"
#include "plan/native.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

class SegmentMaker {
 public:
  SegmentMaker(Draft& d, Tree& tree, const CutPoints& cuts, const PlanOptions& options,
               const NativeState* native, Plan& plan)
      : d_(d),
        tree_(tree),
        cuts_(cuts),
        options_(options),
        native_state_(native),
        plan_(plan),
        homes_(assign_homes(d, tree, cuts)),
        edges_(d, tree, cuts, options, homes_, h_),
        locals_(static_cast<uint32_t>(d.p.locals.size())) {}

  Made run(BufferId control) {
    h_.control = control;
    number_resumes(tree_.nodes);
    plan_.control.resumes = static_cast<uint32_t>(plan_.resumes.size());
    plan_.control.fixpoints = static_cast<uint32_t>(d_.fixpoints.size());
    declare_hidden();
    for (const Piece& piece : tree_.pieces) {
      segment_of_.push_back(static_cast<uint32_t>(plan_.segments.size()));
      if (!piece.items.empty()) make(piece);
      if (not_folded_) return Made::NotFolded;
      if (nodes_ > kMostNodes) return Made::TooLarge;
    }
    plan_.steps = steps(tree_.nodes);
    plan_.fixpoints = d_.fixpoints;
    declare_snapshots();
    plan_.hidden = d_.hidden;
    plan_.frame_words = homes_.frame_words;
    return Made::All;
  }

 private:
  // ---- hidden buffers

  BufferId hide(Hidden::Kind kind, std::string name, Type element, Hidden::Extent extent,
                uint32_t count = 1, bool two_halves = false, BufferKind as = BufferKind::InOut) {
    Hidden hidden;
    hidden.kind = kind;
    hidden.name = std::move(name);
    hidden.element = element;
    hidden.extent = extent;
    hidden.count = count;
    hidden.two_halves = two_halves;
    return d_.add_hidden(std::move(hidden), as);
  }

  void declare_hidden() {
    using Kind = Hidden::Kind;
    using Extent = Hidden::Extent;
    d_.hidden[d_.arguments[h_.control.index()].index].count = plan_.control.count();
    const auto out_half = [&](BufferId in) {
      return d_.out_half.at(d_.arguments[in.index()].index);
    };
    if (homes_.frame_words != 0) {
      h_.frame = hide(Kind::Frame, "frame", Type::U32, Extent::Once, homes_.frame_words, true);
      h_.next_frame = mutated(Mutation::FrameInPlace) ? h_.frame : out_half(h_.frame);
    }
    for (const uint32_t words : homes_.group_rows) {
      const BufferId in =
          hide(Kind::GroupFrame, "group_frame", Type::U32, Extent::PerWorkgroup, words, true);
      plan_.group_frame_words += words;
      h_.group_frame.push_back(in);
      h_.next_group_frame.push_back(mutated(Mutation::GroupFrameInPlace) ? in : out_half(in));
    }
    for (size_t k = 0; k < homes_.slots.size(); ++k) {
      const Homes::Slot& slot = homes_.slots[k];
      h_.slots.push_back(hide(Kind::Slot, fmt::format("slot_{}", k), slot.type, Extent::PerLane,
                              std::max(1U, slot.elements)));
    }
    ends_lanes_ = tree_.ends_lanes || options_.checked;
    if (ends_lanes_) h_.mask = hide(Kind::Mask, "mask", Type::U32, Extent::PerLane);
    bool traps = false;
    bool asks = false;
    for (const Piece& piece : tree_.pieces)
      for (const Piece::Item& item : piece.items) {
        traps |= any_stmt_below(d_.p, item.stmt,
                                [&](StmtId s) { return std::holds_alternative<Trap>(d_.p[s]); });
        asks |= any_expr_below(d_.p, item.stmt, [&](ExprId e) { return asks_fixpoint(e); });
      }
    if (traps) {
      h_.report_value = hide(Kind::ReportValue, "trap_value", Type::U32, Extent::PerLane);
      h_.report_site = hide(Kind::ReportSite, "trap_site", Type::U32, Extent::PerLane);
    }
    if (cuts_.scope == Scope::Grid && (asks || !d_.fixpoints.empty()))
      h_.fixpoint = hide(Kind::Fixpoint, "fixpoint_result", Type::U32, Extent::Once, 2, false,
                         cuts_.native ? BufferKind::InOut : BufferKind::In);
    if (cuts_.scope == Scope::Grid) declare_shared();
  }

  // One area per shared buffer that some segment saves.
  void declare_shared() {
    for (uint32_t i = 0; i < d_.c.buffers.size(); ++i) {
      if (d_.p.buffers[i].kind != BufferKind::Shared) continue;
      const bool saved = std::ranges::any_of(
          tree_.pieces, [&](const Piece& piece) { return saves(piece, BufferId{i}); });
      if (!saved) continue;
      Hidden hidden;
      hidden.kind = Hidden::Kind::Shared;
      hidden.name = "saved_" + d_.p.buffers[i].name;
      hidden.element = d_.p.buffers[i].element;
      hidden.extent = Hidden::Extent::PerWorkgroup;
      hidden.count = *d_.c.buffers[i].constant_count;
      hidden.like = BufferId{i};
      h_.shared[i] = static_cast<uint32_t>(d_.hidden.size());
      d_.hidden.push_back(std::move(hidden));
    }
  }
  [[nodiscard]] bool saves(const Piece& piece, BufferId shared) const {
    const uint32_t n = locals_ + shared.value;
    return piece.maybe_out.contains(n) && piece.live_out.contains(n);
  }
  [[nodiscard]] bool restores(const Piece& piece, BufferId shared) const {
    const uint32_t n = locals_ + shared.value;
    return piece.maybe_in.contains(n) &&
           (piece.live_in.contains(n) ||
            (piece.live_out.contains(n) && !mutated(Mutation::SharedDeadAtReturn)));
  }

  void declare_snapshots() {
    if (plan_.scope == Scope::Workgroup) return;
    std::vector<bool> in_tree(d_.fixpoints.size());
    note_fixpoints(tree_.nodes, in_tree);
    for (size_t row = 0; row < plan_.fixpoints.size(); ++row) {
      if (!in_tree[row]) continue;
      for (FixpointBuffer& b : plan_.fixpoints[row].buffers) {
        if (b.mode != FixpointMode::Snapshot) continue;
        b.snapshot = static_cast<uint32_t>(d_.hidden.size());
        d_.hidden.push_back(d_.snapshot_of(b.buffer));
      }
    }
  }
  void note_fixpoints(const Nodes& nodes, std::vector<bool>& seen) const {
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

  void number_resumes(const Nodes& nodes) {
    for (const Node& n : nodes)
      match(
          n.node, [](const PieceNode&) {},
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
            resumes_[x.tag] = static_cast<uint32_t>(plan_.resumes.size());
            plan_.resumes.push_back({d_.source_tag(x.tag), d_.p.position_of(x.stmt)});
          },
          [](const CollectiveNode&) {}, [](const CopyNode&) {});
  }

  // ---- one segment

  void make(const Piece& piece) {
    piece_ = &piece;
    edges_.begin(piece);
    StmtList prologue;
    StmtList carried;
    // Lanes of a dead workgroup wait for what its other half would lose.
    if (edges_.swaps_group_frame() && !piece.open.empty() &&
        !mutated(Mutation::GroupFrameNotCarried))
      edges_.carry_group_frame(carried);
    if (cuts_.native) begin_native(prologue);
    if (piece.ended_in && !cuts_.native && !mutated(Mutation::SkipEndedMask))
      prologue.push_back(
          d_.when(d_.binary(BinaryOp::Ne, d_.load(Memory::of(h_.mask), edges_.lane(), true),
                            d_.number(kLive)),
                  {d_.stmt(Return{})}));
    if (options_.checked)
      prologue.push_back(d_.store(Memory::of(h_.mask), edges_.lane(), d_.number(kEnded)));
    edges_.restore(prologue);
    if (mutated(Mutation::SaveBeforeBody)) edges_.save(piece.live_out, prologue);

    StmtList body = wrap_regions();
    StmtList epilogue;
    if (!mutated(Mutation::SaveBeforeBody)) edges_.save(piece.live_out, epilogue);
    if (piece.ended_out)
      epilogue.push_back(d_.atomic(AtomicOp::Store, Memory::of(h_.control),
                                   d_.number(ControlWords::kLive), d_.number(1)));
    if (options_.checked)
      epilogue.push_back(d_.store(Memory::of(h_.mask), edges_.lane(), d_.number(kLive)));

    LocalId live;
    if (cuts_.native)
      live = native_->finish(body, epilogue);
    else
      body.insert(body.end(), epilogue.begin(), epilogue.end());

    StmtList all = edges_.ids();
    for (const StmtList* part : {&carried, &prologue, &body})
      all.insert(all.end(), part->begin(), part->end());
    const Folded folded =
        cuts_.native && options_.variant.route == Route::Persistent ? fold(all, live) : Folded{};
    if (!not_folded_) finish(piece, all, live, folded);
  }

  struct Folded {
    uint32_t workgroups_per_block = 0;
    uint32_t unrolled_iterations = 0;
  };
  Folded fold(StmtList& all, LocalId live) {
    if (!Folder::has_barrier(d_, all)) return {};
    fold_memory_.meeting = native_state_->meeting;
    fold_memory_.control = h_.control;
    Folder folder(d_, fold_memory_, edges_.lane_local(), live, options_);
    // What launches hand over of shared memory, blocks have no room for.
    not_folded_ = !h_.shared.empty() || !folder.accepts(all);
    if (not_folded_) return {};
    all = folder.run();
    return {folder.together(), folder.written_turns()};
  }

  void finish(const Piece& piece, const StmtList& all, LocalId live, const Folded& folded) {
    Segment segment;
    segment.workgroups_per_block = folded.workgroups_per_block;
    segment.unrolled_iterations = folded.unrolled_iterations;
    Extractor extractor(d_, fmt::format("{}_{}", d_.p.name, plan_.segments.size()),
                        cuts_.scope == Scope::Workgroup);
    if (folded.workgroups_per_block > 1)
      extractor.set_row_workgroup(folded.workgroups_per_block * d_.lanes_per_group());
    Extractor::Extracted extracted = extractor.run(all, live);
    segment.program = std::move(extracted.program);
    nodes_ += segment.program.program.exprs.size() + segment.program.program.stmts.size();
    segment.arguments = std::move(extracted.arguments);
    segment.live = extracted.live;
    segment.swaps_frame = edges_.swaps_frame() && !mutated(Mutation::FrameInPlace);
    segment.swaps_group_frame = edges_.swaps_group_frame() && !mutated(Mutation::GroupFrameInPlace);
    segment.carries_group_frame = edges_.swaps_group_frame() && !piece.open.empty();
    segment.reports_live = piece.ended_out && !mutated(Mutation::NoLiveWord);
    segment.ends_phase = piece.ends_phase;
    segment.barriers_inside = segment.program.has_grid_barrier;
    segment.barrier = piece.barrier;
    for (const auto& [buffer, hidden] : h_.shared) {
      SharedUse use;
      use.hidden = hidden;
      use.restore = restores(piece, BufferId{buffer}) && !mutated(Mutation::NoSharedRestore);
      use.save = saves(piece, BufferId{buffer}) && !mutated(Mutation::NoSharedSave);
      // A buffer that this segment does not touch keeps its area as it is.
      const auto mapped = extractor.buffer(BufferId{buffer});
      if (!mapped || (!use.restore && !use.save)) continue;
      use.buffer = *mapped;
      segment.shared.push_back(use);
    }
    for (const Piece::Item& item : piece.items) {
      std::vector<std::string> names;
      for (uint32_t r = item.region; r != 0; r = tree_.regions[r].outer)
        names.insert(names.begin(), tree_.regions[r].name);
      for_each_stmt(d_.p, item.stmt, [&](StmtId s) {
        if (const auto* region = std::get_if<Region>(&d_.p[s])) names.push_back(region->name);
        const Position at = d_.p.position_of(s);
        if (at.line == 0) return;
        segment.first_line =
            segment.first_line == 0 ? at.line : std::min(segment.first_line, at.line);
        segment.last_line = std::max(segment.last_line, at.line);
      });
      for (const std::string& name : names)
        if (std::ranges::find(segment.regions, name) == segment.regions.end())
          segment.regions.push_back(name);
    }
    // Nobody asks what a worker keeps of its own workgroup.
    if (cuts_.scope == Scope::Grid)
      segment.live_across = describe_live_across(d_, tree_, piece, homes_, edges_.swaps_frame(),
                                                 edges_.swaps_group_frame());
    nodes_ += segment.live_across.size() * kNodesPerLiveAcross;
    plan_.segments.push_back(std::move(segment));
  }

  // ---- the statements of the piece

  StmtList wrap_regions() {
    size_t next = 0;
    return wrap_region(0, next);
  }
  // Items from `next` on that stand in this region or further in.
  StmtList wrap_region(uint32_t region, size_t& next) {
    StmtList out;
    while (next < piece_->items.size()) {
      const Piece::Item& item = piece_->items[next];
      uint32_t inner = item.region;
      while (inner != region && inner != 0 && tree_.regions[inner].outer != region)
        inner = tree_.regions[inner].outer;
      if (inner == 0 && region != 0) return out;  // not in this region
      if (item.region == region) {
        rewrite(item.stmt, out);
        ++next;
        continue;
      }
      const StmtList body = wrap_region(inner, next);
      out.push_back(d_.stmt(Region{tree_.regions[inner].name, d_.block(body)},
                            tree_.regions[inner].loc, Level::Grid));
    }
    return out;
  }

  static bool asks_fixpoint(const Draft& d, ExprId e) {
    const auto* b = std::get_if<BuiltinRef>(&d.p[e]);
    return b != nullptr && is_call(b->builtin);
  }
  [[nodiscard]] bool asks_fixpoint(ExprId e) const {
    return cuts_.scope == Scope::Grid && asks_fixpoint(d_, e);
  }

  [[nodiscard]] bool needs_rewriting(StmtId id) const {
    return any_stmt_below(d_.p, id,
                          [&](StmtId s) {
                            bool needed = properties_of(d_.p[s]).may_end_lane;
                            for_each_local(d_.p[s], [&](LocalId local, LocalAccess access) {
                              needed |=
                                  access == LocalAccess::Declare && edges_.declared_early(local);
                            });
                            return needed;
                          }) ||
           any_expr_below(d_.p, id,
                          [&](ExprId e) { return asks_fixpoint(e) || cuts_.is_cut(d_, e); });
  }

  ExprId rewrite(ExprId id) {
    if (asks_fixpoint(id)) {
      if (cuts_.native) return native_->fixpoint_result(std::get<BuiltinRef>(d_.p[id]).builtin);
      const bool passes = std::get<BuiltinRef>(d_.p[id]).builtin == Builtin::FixpointPasses;
      const ExprId word = d_.load(Memory::of(h_.fixpoint), d_.number(passes ? 0 : 1), true);
      return passes ? word : d_.cast(Type::Bool, word);
    }
    if (cuts_.is_cut(d_, id)) {
      // The barriers around it are cuts.
      const auto load = std::get<UniformLoad>(d_.p[id]);
      const ExprId plain =
          d_.expr(Load{load.memory, rewrite(load.index)}, d_.type_of(id), d_.p.loc(id));
      d_.c.expr_proofs[plain.index()] = d_.c.expr_proofs[id.index()];
      return plain;
    }
    std::vector<ExprId> operands = d_.operands(id);
    bool changed = false;
    for (ExprId& e : operands) {
      const ExprId before = e;
      e = rewrite(e);
      changed |= !(e == before);
    }
    return changed ? d_.with_operands(id, operands) : id;
  }

  void rewrite(StmtId id, StmtList& out) {
    if (!needs_rewriting(id)) {
      out.push_back(id);
      return;
    }
    const Stmt s = d_.p[id];
    std::vector<ExprId> operands;
    for (const ExprId e : d_.operands(id)) operands.push_back(rewrite(e));
    if (const auto* array = std::get_if<DeclareArray>(&s);
        array != nullptr && edges_.declared_early(array->local))
      return;
    if (const auto* let = std::get_if<Let>(&s);
        let != nullptr && edges_.declared_early(let->local)) {
      out.push_back(d_.stmt(Assign{let->local, std::nullopt, operands[0]}, d_.p.loc(id),
                            d_.c.flow_levels[id.index()]));
      return;
    }
    if (std::holds_alternative<Return>(s)) {
      if (h_.mask.valid() && !mutated(Mutation::ReturnKeepsLane))
        out.push_back(d_.store(Memory::of(h_.mask), edges_.lane(), d_.number(kEnded)));
      out.push_back(id);
      return;
    }
    if (const auto* trap = std::get_if<Trap>(&s)) {
      rewrite_trap(id, *trap, operands[0], out);
      return;
    }
    const StmtId copy = operands.empty() ? id : d_.with_operands(id, operands);
    out.push_back(d_.map_blocks(copy, [&](Block b) {
      StmtList list;
      const auto items = d_.p.items(b);
      for (const StmtId inner : StmtList(items.begin(), items.end())) rewrite(inner, list);
      return list;
    }));
  }

  void rewrite_trap(StmtId id, const Trap& trap, ExprId value, StmtList& out) {
    uint32_t site = static_cast<uint32_t>(plan_.sites.size());
    const bool zero = trap.tag == d_.zero_passes_tag;
    plan_.sites.push_back(
        {zero ? uint16_t{0} : d_.source_tag(trap.tag), zero, d_.p.position_of(id)});
    if (mutated(Mutation::TrapSiteOfOther)) site = site == 0 ? 1 : 0;
    const auto resume = resumes_.find(trap.tag);
    out.push_back(d_.store(Memory::of(h_.report_value), edges_.lane(), value));
    out.push_back(d_.store(Memory::of(h_.report_site), edges_.lane(), d_.number(site)));
    if (resume == resumes_.end()) {
      if (!zero) out.push_back(d_.store(Memory::of(h_.mask), edges_.lane(), d_.number(kEnded)));
      if (cuts_.native)
        native_->stop(out);
      else
        out.push_back(d_.atomic(AtomicOp::Min, Memory::of(h_.control),
                                d_.number(ControlWords::kStop), edges_.lane()));
    } else {
      if (!mutated(Mutation::ParkedNotSaved)) edges_.save(tree_.park.at(id.value), out);
      out.push_back(
          d_.store(Memory::of(h_.mask), edges_.lane(), d_.number(kParked + resume->second)));
      out.push_back(d_.atomic(AtomicOp::Store, Memory::of(h_.control),
                              d_.number(plan_.control.parked(resume->second)), d_.number(1)));
    }
    if (zero && cuts_.native) {
      // Said by the lanes that are live: if none is, nobody has asked for 0 passes.
      out.push_back(d_.atomic(AtomicOp::Store, Memory::of(h_.control),
                              d_.number(ControlWords::kStopped), d_.number(1)));
      out.push_back(native_->leave_together());
    } else
      out.push_back(d_.stmt(Return{}, d_.p.loc(id), d_.c.flow_levels[id.index()]));
  }

  // ---- native route

  void begin_native(StmtList& prologue) {
    native_.emplace(d_, *native_state_, h_.fixpoint, [this] { return edges_.lane(); });
    native_->begin(prologue, piece_->ended_in || piece_->ended_out,
                   piece_->ended_in ? d_.load(Memory::of(h_.mask), edges_.lane(), true) : ExprId{},
                   h_.report_site.valid());
  }

  // ---- steps

  Steps steps(const Nodes& nodes) {
    Steps out;
    for (const Node& n : nodes)
      match(
          n.node,
          [&](const PieceNode& x) {
            const Piece& piece = tree_.pieces[x.piece];
            if (!piece.items.empty())
              out.push_back({LaunchStep{segment_of_[x.piece]}});
            else if (piece.ends_phase)
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
          [&](const ResumeNode& x) { out.push_back({ResumeStep{resumes_.at(x.tag)}}); },
          [&](const CollectiveNode& x) {
            const auto& s = std::get<Collective>(d_.p[x.stmt]);
            CollectiveStep step;
            step.op = s.op;
            step.reduce = s.reduce;
            const auto constant = [&](ExprId e) {
              const auto value = e.valid() ? check::evaluate_constant(d_.c, e) : std::nullopt;
              return value ? static_cast<uint32_t>(value->bits) : 0;
            };
            step.root = constant(s.root);
            step.group = constant(s.group);
            step.src = s.src.buffer();
            if (s.dst.valid()) step.dst = s.dst.buffer();
            step.at = d_.p.position_of(x.stmt);
            step.unconditional = d_.unconditional_collectives.contains(x.stmt.value);
            out.push_back({step});
          },
          [&](const CopyNode& x) {
            const auto& s = std::get<AsyncCopy>(d_.p[x.stmt]);
            CopyStep step;
            step.dst = s.dst.buffer();
            step.src = s.src.buffer();
            step.dst_word = word(x.dst);
            step.src_word = word(x.src);
            step.count_word = word(x.count);
            step.dst_type = d_.type_of(x.dst);
            step.src_type = d_.type_of(x.src);
            step.count_type = d_.type_of(x.count);
            step.at = d_.p.position_of(x.stmt);
            out.push_back({step});
          });
    return out;
  }
  [[nodiscard]] uint32_t word(LocalId local) const { return homes_.frame.at(local.value); }

  Draft& d_;
  Tree& tree_;
  const CutPoints& cuts_;
  const PlanOptions& options_;
  const NativeState* native_state_;
  Plan& plan_;
  Homes homes_;
  HiddenBuffers h_;
  Edges edges_;
  uint32_t locals_;  // before any segment added its own
  bool ends_lanes_ = false;
  std::map<uint16_t, uint32_t> resumes_;  // by tag
  std::vector<uint32_t> segment_of_;      // by piece

  // A program of kMaxNodes whose state crosses every one of thousands of barriers would fill any
  // memory.
  static constexpr size_t kMostNodes = kMaxNodes * 4;
  static constexpr size_t kNodesPerLiveAcross = 4;  // in memory
  size_t nodes_ = 0;

  const Piece* piece_ = nullptr;
  std::optional<NativeSegment> native_;
  FoldMemory fold_memory_;
  bool not_folded_ = false;
};

}  // namespace

Made make_segments(Draft& d, Tree& tree, const CutPoints& cuts, const PlanOptions& options,
                   BufferId control, const NativeState* native, Plan& plan) {
  return SegmentMaker(d, tree, cuts, options, native, plan).run(control);
}

}  // namespace vyre::plan
