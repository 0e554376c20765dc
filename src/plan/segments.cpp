// SPDX-License-Identifier: Apache-2.0
#include "plan/segments.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/match.hpp"
#include "plan/crossings.hpp"
#include "plan/extract.hpp"
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
        locals_(static_cast<uint32_t>(d.p.locals.size())) {}

  // False: the segments together are too large.
  bool run(BufferId control) {
    h_.control = control;
    number_resumes(tree_.nodes);
    plan_.control.resumes = static_cast<uint32_t>(plan_.resumes.size());
    plan_.control.fixpoints = static_cast<uint32_t>(d_.fixpoints.size());
    declare_hidden();
    for (const Piece& piece : tree_.pieces) {
      segment_of_.push_back(static_cast<uint32_t>(plan_.segments.size()));
      if (!piece.items.empty()) make(piece);
      if (nodes_ > kMostNodes) return false;
    }
    plan_.steps = steps(tree_.nodes);
    plan_.fixpoints = d_.fixpoints;
    declare_snapshots();
    plan_.hidden = d_.hidden;
    plan_.frame_words = homes_.frame_words;
    plan_.group_frame_words = homes_.group_words;
    plan_.barriers = tree_.barriers;
    return true;
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
    for (uint32_t k = 0; k < homes_.group_words; ++k) {
      const BufferId in =
          hide(Kind::GroupFrame, "group_frame", Type::U32, Extent::PerWorkgroup, 1, true);
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
        Hidden hidden;
        hidden.kind = Hidden::Kind::Snapshot;
        hidden.name = "before_" + d_.p[b.buffer].name;
        hidden.element = d_.p[b.buffer].element;
        hidden.extent = Hidden::Extent::LikeBuffer;
        hidden.like = b.buffer;
        b.snapshot = static_cast<uint32_t>(d_.hidden.size());
        d_.hidden.push_back(std::move(hidden));
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
    uses_lane_ = uses_group_ = false;
    declared_.clear();
    swaps_frame_ = writes(homes_.frame);
    swaps_group_frame_ = writes(homes_.group_frame);
    StmtList prologue;
    StmtList carried;
    // Lanes of a dead workgroup wait for what its other half would lose.
    if (swaps_group_frame_ && !piece.open.empty() && !mutated(Mutation::GroupFrameNotCarried))
      carry_group_frame(carried);
    if (cuts_.native) begin_native(prologue);
    if (piece.ended_in && !cuts_.native && !mutated(Mutation::SkipEndedMask))
      prologue.push_back(d_.when(
          d_.binary(BinaryOp::Ne, d_.load(Memory::of(h_.mask), lane(), true), d_.number(kLive)),
          {d_.stmt(Return{})}));
    if (options_.checked)
      prologue.push_back(d_.store(Memory::of(h_.mask), lane(), d_.number(kEnded)));
    piece.live_in.for_each([&](uint32_t i) {
      if (i < locals_) restore(LocalId{i}, prologue);
    });
    predeclare(prologue);
    if (mutated(Mutation::SaveBeforeBody)) save(piece.live_out, prologue);

    StmtList body = wrap_regions();
    StmtList epilogue;
    if (!mutated(Mutation::SaveBeforeBody)) save(piece.live_out, epilogue);
    if (piece.ended_out)
      epilogue.push_back(d_.atomic(AtomicOp::Store, Memory::of(h_.control),
                                   d_.number(ControlWords::kLive), d_.number(1)));
    if (options_.checked)
      epilogue.push_back(d_.store(Memory::of(h_.mask), lane(), d_.number(kLive)));

    LocalId live;
    if (cuts_.native)
      live = native_->finish(body, epilogue);
    else
      body.insert(body.end(), epilogue.begin(), epilogue.end());

    StmtList all;
    if (uses_group_) all.push_back(d_.let(group_, d_.group_id()));
    if (uses_lane_)
      all.push_back(d_.let(lane_, cuts_.scope == Scope::Grid ? d_.lane_id() : d_.lane_in_group()));
    for (const StmtList* part : {&carried, &prologue, &body})
      all.insert(all.end(), part->begin(), part->end());
    finish(piece, all, live);
  }

  void finish(const Piece& piece, const StmtList& all, LocalId live) {
    Segment segment;
    Extractor extractor(d_, fmt::format("{}_{}", d_.p.name, plan_.segments.size()),
                        cuts_.scope == Scope::Workgroup);
    Extractor::Extracted extracted = extractor.run(all, live);
    segment.program = std::move(extracted.program);
    nodes_ += segment.program.program.exprs.size() + segment.program.program.stmts.size();
    segment.arguments = std::move(extracted.arguments);
    segment.live = extracted.live;
    segment.swaps_frame = swaps_frame_ && !mutated(Mutation::FrameInPlace);
    segment.swaps_group_frame = swaps_group_frame_ && !mutated(Mutation::GroupFrameInPlace);
    segment.carries_group_frame = swaps_group_frame_ && !piece.open.empty();
    segment.tells_live = piece.ended_out && !mutated(Mutation::NoLiveWord);
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
    segment.crossings =
        describe_crossings(d_, tree_, piece, homes_, swaps_frame_, swaps_group_frame_);
    plan_.segments.push_back(std::move(segment));
  }

  // Does the piece change a value of that frame that lives on?
  [[nodiscard]] bool writes(const std::map<uint32_t, uint32_t>& frame) const {
    return std::ranges::any_of(frame, [&](const auto& home) {
      return piece_->live_out.contains(home.first) && piece_->defined.contains(home.first) &&
             !tree_.recomputed[home.first];
    });
  }

  ExprId lane() {
    uses_lane_ = true;
    if (!lane_.valid()) lane_ = d_.local(Local::Kind::Let, "lane", Type::U32, Level::Lane);
    return d_.ref(lane_);
  }
  ExprId group() {
    uses_group_ = true;
    if (!group_.valid()) group_ = d_.local(Local::Kind::Let, "group", Type::U32, Level::Workgroup);
    return d_.ref(group_);
  }

  void carry_group_frame(StmtList& out) {
    for (size_t k = 0; k < h_.group_frame.size(); ++k)
      out.push_back(d_.when(d_.binary(BinaryOp::Eq, d_.lane_in_group(), d_.number(0)),
                            {d_.atomic(AtomicOp::Store, Memory::of(h_.next_group_frame[k]), group(),
                                       d_.load(Memory::of(h_.group_frame[k]), group(), true))}));
    out.push_back(d_.barrier(Scope::Workgroup));
  }

  // ---- values at the start

  // `first + k * lanes`, for element k of an array in a slot.
  ExprId slot_index(LocalId k) {
    if (cuts_.scope == Scope::Workgroup)
      return d_.binary(BinaryOp::Add,
                       d_.binary(BinaryOp::Mul, d_.ref(k), d_.number(d_.lanes_per_group())),
                       lane());
    const Type type = options_.wide_index ? Type::U64 : Type::U32;
    return d_.binary(
        BinaryOp::Add,
        d_.binary(BinaryOp::Mul, d_.cast(type, d_.ref(k)), d_.cast(type, d_.lane_count())),
        d_.cast(type, lane()));
  }

  StmtId over_array(LocalId array, const std::function<StmtId(LocalId)>& each) {
    const LocalId k = d_.local(Local::Kind::For, "k", Type::U32, Level::Grid);
    For loop;
    loop.variable = k;
    loop.first = d_.number(0);
    loop.last = d_.number(d_.c.array_counts[array.index()]);
    loop.body = d_.block({each(k)});
    return d_.stmt(loop, {}, Level::Grid);
  }

  ExprId word_from(const std::function<ExprId(uint32_t)>& word, uint32_t first, Type type) {
    if (words_of(type) == 1) return d_.from_bits(word(first), type);
    const ExprId high =
        d_.binary(BinaryOp::Shl, d_.cast(Type::U64, word(first + 1)), d_.number(32, Type::U32));
    return d_.from_bits(d_.binary(BinaryOp::Or, d_.cast(Type::U64, word(first)), high), type);
  }

  void restore(LocalId local, StmtList& out) {
    if (!declared_.insert(local.value).second) return;
    const uint32_t i = local.value;
    if (tree_.recomputed[i]) {
      const ExprId value = d_.clone(tree_.values[i]);
      for_each_expr(d_.p, value, [&](ExprId e) {
        if (const auto* r = std::get_if<LocalRef>(&d_.p[e])) needs_.push_back(r->local);
      });
      while (!needs_.empty()) {
        const LocalId next = needs_.back();
        needs_.pop_back();
        restore(next, out);
      }
      out.push_back(d_.stmt(Let{local, value}, d_.p.loc(local), d_.level_of(local)));
      return;
    }
    const Type type = d_.type_of(local);
    if (const auto slot = homes_.slot.find(i); slot != homes_.slot.end()) {
      const Memory memory = Memory::of(h_.slots[slot->second]);
      if (d_.c.array_counts[i] == 0) {
        out.push_back(d_.stmt(Let{local, d_.load(memory, lane(), true)}, d_.p.loc(local)));
        return;
      }
      out.push_back(d_.stmt(DeclareArray{local}, d_.p.loc(local)));
      out.push_back(over_array(local, [&](LocalId k) {
        return d_.store(Memory::of(local), d_.ref(k), d_.load(memory, slot_index(k), true));
      }));
      return;
    }
    const auto in_frame = homes_.frame.find(i);
    const ExprId value =
        in_frame != homes_.frame.end()
            ? word_from(
                  [&](uint32_t w) { return d_.load(Memory::of(h_.frame), d_.number(w), true); },
                  in_frame->second, type)
            : word_from(
                  [&](uint32_t w) { return d_.load(Memory::of(h_.group_frame[w]), group(), true); },
                  homes_.group_frame.at(i), type);
    out.push_back(d_.stmt(Let{local, value}, d_.p.loc(local), d_.level_of(local)));
  }

  void declare_for_all(LocalId local, StmtList& out) {
    if (!declared_.insert(local.value).second) return;
    if (d_.c.array_counts[local.index()] != 0) {
      out.push_back(d_.stmt(DeclareArray{local}, d_.p.loc(local)));
      return;
    }
    d_.p.locals[local.index()].kind = Local::Kind::Var;
    out.push_back(
        d_.stmt(Let{local, d_.zero(d_.type_of(local))}, d_.p.loc(local), d_.level_of(local)));
  }

  // Locals that are declared inside a region and saved after it, and those that were declared
  // before this piece and get a new value here.
  void predeclare(StmtList& out) {
    predeclared_.clear();
    std::unordered_set<uint32_t> inside;
    std::vector<LocalId> mentioned;
    for (const Piece::Item& item : piece_->items) {
      for_each_stmt(d_.p, item.stmt, [&](StmtId s) {
        if (const auto* let = std::get_if<Let>(&d_.p[s])) inside.insert(let->local.value);
        if (const auto* array = std::get_if<DeclareArray>(&d_.p[s]))
          inside.insert(array->local.value);
        if (const auto* loop = std::get_if<For>(&d_.p[s])) inside.insert(loop->variable.value);
        if (const auto* assign = std::get_if<Assign>(&d_.p[s])) mentioned.push_back(assign->local);
        if (const auto* store = std::get_if<Store>(&d_.p[s]);
            store != nullptr && store->memory.kind == Memory::Kind::Local)
          mentioned.push_back(store->memory.local());
      });
      // Statements that are never reached may read what does not live.
      for_each_expr_below(d_.p, item.stmt, [&](ExprId e) {
        if (const auto* ref = std::get_if<LocalRef>(&d_.p[e])) mentioned.push_back(ref->local);
        if (const auto* load = std::get_if<Load>(&d_.p[e]);
            load != nullptr && load->memory.kind == Memory::Kind::Local)
          mentioned.push_back(load->memory.local());
      });
    }
    for (const LocalId local : mentioned)
      if (!inside.contains(local.value) && !d_.ambient.contains(local.value))
        declare_for_all(local, out);
    for (const Piece::Item& item : piece_->items) {
      LocalId local;
      if (const auto* let = std::get_if<Let>(&d_.p[item.stmt])) local = let->local;
      if (const auto* array = std::get_if<DeclareArray>(&d_.p[item.stmt])) local = array->local;
      if (!local.valid() || !piece_->live_out.contains(local.value) ||
          tree_.recomputed[local.index()])
        continue;
      if (item.region == 0 && !cuts_.native) continue;
      predeclared_.insert(local.value);
      declare_for_all(local, out);
    }
  }

  // ---- values at the end, or where a lane starts to wait

  void save(const LiveSet& values, StmtList& out) {
    uint32_t dropped = 0;
    values.for_each([&](uint32_t i) {
      if (i >= locals_ || tree_.recomputed[i]) return;
      const LocalId local{i};
      if (const auto slot = homes_.slot.find(i); slot != homes_.slot.end()) {
        // What this piece does not change is in its slot already.
        if (!piece_->defined.contains(i)) return;
        save_to_slot(local, Memory::of(h_.slots[slot->second]), dropped, out);
        return;
      }
      if (const auto home = homes_.frame.find(i); home != homes_.frame.end()) {
        if (!swaps_frame_) return;
        StmtList stores;
        save_words(
            local,
            [&](uint32_t w) { return std::pair(h_.next_frame, d_.number(home->second + w)); },
            stores);
        if (mutated(Mutation::FrameByFirstLane))
          stores = {d_.when(d_.binary(BinaryOp::Eq, lane(), d_.number(0)), stores)};
        out.insert(out.end(), stores.begin(), stores.end());
        return;
      }
      if (!swaps_group_frame_) return;
      const uint32_t home = homes_.group_frame.at(i);
      save_words(
          local, [&](uint32_t w) { return std::pair(h_.next_group_frame[home + w], group()); },
          out);
    });
  }

  void save_to_slot(LocalId local, Memory memory, uint32_t& dropped, StmtList& out) {
    if (d_.c.array_counts[local.index()] == 0) {
      if (mutated(Mutation::DropSavedValue) && dropped++ == 0) return;
      out.push_back(d_.store(memory, lane(), d_.ref(local)));
      return;
    }
    if (mutated(Mutation::DropArray)) return;
    out.push_back(over_array(local, [&](LocalId k) {
      return d_.store(memory, slot_index(k), d_.load(Memory::of(local), d_.ref(k), true));
    }));
  }

  // All live lanes of the scope store the same.
  void save_words(LocalId local, const std::function<std::pair<BufferId, ExprId>(uint32_t)>& at,
                  StmtList& out) {
    const Type type = d_.type_of(local);
    for (uint32_t w = 0; w < words_of(type); ++w) {
      if (w == 1 && mutated(Mutation::SaveOnlyHalfOfWide)) break;
      ExprId word = d_.bits(d_.ref(local));
      if (w == 1) word = d_.binary(BinaryOp::Shr, word, d_.number(32, Type::U32));
      const auto [buffer, index] = at(w);
      out.push_back(
          d_.atomic(AtomicOp::Store, Memory::of(buffer), index, d_.cast(Type::U32, word)));
    }
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
                            if (const auto* let = std::get_if<Let>(&d_.p[s]))
                              if (predeclared_.contains(let->local.value)) return true;
                            if (const auto* array = std::get_if<DeclareArray>(&d_.p[s]))
                              if (predeclared_.contains(array->local.value)) return true;
                            return std::holds_alternative<Return>(d_.p[s]) ||
                                   std::holds_alternative<Trap>(d_.p[s]);
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
        array != nullptr && predeclared_.contains(array->local.value))
      return;
    if (const auto* let = std::get_if<Let>(&s);
        let != nullptr && predeclared_.contains(let->local.value)) {
      out.push_back(d_.stmt(Assign{let->local, std::nullopt, operands[0]}, d_.p.loc(id),
                            d_.c.flow_levels[id.index()]));
      return;
    }
    if (std::holds_alternative<Return>(s)) {
      if (h_.mask.valid() && !mutated(Mutation::ReturnKeepsLane))
        out.push_back(d_.store(Memory::of(h_.mask), lane(), d_.number(kEnded)));
      out.push_back(id);
      return;
    }
    if (const auto* trap = std::get_if<Trap>(&s)) {
      rewrite_trap(id, *trap, operands[0], out);
      return;
    }
    StmtId copy = operands.empty() ? id : d_.with_operands(id, operands);
    std::vector<StmtList> blocks;
    for_each_block(s, [&](Block b) {
      StmtList& list = blocks.emplace_back();
      const auto items = d_.p.items(b);
      for (const StmtId inner : StmtList(items.begin(), items.end())) rewrite(inner, list);
    });
    if (!blocks.empty()) copy = d_.with_blocks(copy, blocks);
    out.push_back(copy);
  }

  void rewrite_trap(StmtId id, const Trap& trap, ExprId value, StmtList& out) {
    uint32_t site = static_cast<uint32_t>(plan_.sites.size());
    const bool zero = trap.tag == d_.zero_passes_tag;
    plan_.sites.push_back(
        {zero ? uint16_t{0} : d_.source_tag(trap.tag), zero, d_.p.position_of(id)});
    if (mutated(Mutation::TrapSiteOfOther)) site = site == 0 ? 1 : 0;
    const auto resume = resumes_.find(trap.tag);
    out.push_back(d_.store(Memory::of(h_.report_value), lane(), value));
    out.push_back(d_.store(Memory::of(h_.report_site), lane(), d_.number(site)));
    if (resume == resumes_.end()) {
      if (!zero) out.push_back(d_.store(Memory::of(h_.mask), lane(), d_.number(kEnded)));
      if (cuts_.native)
        native_->stop(out);
      else
        out.push_back(d_.atomic(AtomicOp::Min, Memory::of(h_.control),
                                d_.number(ControlWords::kStop), lane()));
    } else {
      if (!mutated(Mutation::ParkedNotSaved)) save(tree_.park.at(id.value), out);
      out.push_back(d_.store(Memory::of(h_.mask), lane(), d_.number(kParked + resume->second)));
      out.push_back(d_.atomic(AtomicOp::Store, Memory::of(h_.control),
                              d_.number(plan_.control.parked(resume->second)), d_.number(1)));
    }
    if (zero && cuts_.native)
      out.push_back(native_->leave_together());
    else
      out.push_back(d_.stmt(Return{}, d_.p.loc(id), d_.c.flow_levels[id.index()]));
  }

  // ---- native route

  void begin_native(StmtList& prologue) {
    native_.emplace(d_, *native_state_, h_.fixpoint, [this] { return lane(); });
    native_->begin(prologue, piece_->ended_in || piece_->ended_out,
                   piece_->ended_in ? d_.load(Memory::of(h_.mask), lane(), true) : ExprId{});
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
            out.push_back({BranchStep{word(x.word), steps(x.then_nodes), steps(x.else_nodes)}});
          },
          [&](const LoopNode& x) {
            out.push_back({LoopStep{steps(x.condition), word(x.word), steps(x.body)}});
          },
          [&](const FixpointNode& x) {
            out.push_back({FixpointStep{x.row, word(x.word), steps(x.body)}});
          },
          [&](const ResumeNode& x) { out.push_back({ResumeStep{resumes_.at(x.tag)}}); },
          [&](const CollectiveNode& x) {
            const auto& s = std::get<Collective>(d_.p[x.stmt]);
            CollectiveStep step;
            step.op = s.op;
            step.src = s.src.buffer();
            if (s.dst.valid()) step.dst = s.dst.buffer();
            step.at = d_.p.position_of(x.stmt);
            step.sure = d_.sure_collectives.contains(x.stmt.value);
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
  uint32_t locals_;  // before any segment added its own
  HiddenBuffers h_;
  bool ends_lanes_ = false;
  std::map<uint16_t, uint32_t> resumes_;  // by tag
  std::vector<uint32_t> segment_of_;      // by piece

  // A program of kMaxNodes whose state crosses every one of thousands of barriers would fill any
  // memory.
  static constexpr size_t kMostNodes = kMaxNodes * 4;
  size_t nodes_ = 0;

  const Piece* piece_ = nullptr;
  LocalId lane_, group_;
  bool uses_lane_ = false;
  bool uses_group_ = false;
  std::unordered_set<uint32_t> declared_, predeclared_;
  std::vector<LocalId> needs_;
  bool swaps_frame_ = false;
  bool swaps_group_frame_ = false;
  std::optional<NativeSegment> native_;
};

}  // namespace

bool make_segments(Draft& d, Tree& tree, const CutPoints& cuts, const PlanOptions& options,
                   BufferId control, const NativeState* native, Plan& plan) {
  return SegmentMaker(d, tree, cuts, options, native, plan).run(control);
}

}  // namespace vyre::plan
