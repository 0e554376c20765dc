// SPDX-License-Identifier: Apache-2.0
#include "plan/segments.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ir/properties.hpp"
#include "plan/enclosing.hpp"
#include "plan/extract.hpp"
#include "plan/live_across.hpp"
#include "plan/mutation.hpp"
#include "plan/persistent/emit.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

void append(StmtList& out, const StmtList& list) {
  out.insert(out.end(), list.begin(), list.end());
}

// A program of kMaxNodes whose state lives across every one of thousands of barriers would fill any
// memory.
constexpr size_t kMostNodes = kMaxNodes * 4;
constexpr size_t kNodesPerLiveAcross = 4;  // in memory

}  // namespace

StmtList SegmentBody::all() const {
  StmtList list;
  for (const StmtList* part : {&carried, &prologue, &body, &epilogue}) append(list, *part);
  return list;
}

SegmentMaker::SegmentMaker(Lowering& l)
    : l_(l),
      d_(l.d),
      tree_(l.tree),
      cuts_(l.cuts),
      options_(l.options),
      h_(l.hidden),
      plan_(l.plan),
      spiller_(l.d, l.tree, l.cuts, l.options, *l.storage, l.hidden) {}

// ---- the passes

SegmentBody SegmentMaker::save_and_restore(SegmentBody s) {
  const RawSegment& raw = *s.raw;
  raw_ = s.raw;
  spiller_.begin(raw);
  // Lanes of a dead workgroup wait for what its other half would lose.
  if (spiller_.swaps_group_frame() && !raw.open.empty() && !mutated(Mutation::GroupFrameNotCarried))
    spiller_.carry_group_frame(s.carried);
  if (cuts_.native) begin_native(s.prologue);
  if (raw.ended_in && !cuts_.native && !mutated(Mutation::SkipEndedMask))
    s.prologue.push_back(
        d_.when(d_.binary(BinaryOp::Ne, d_.load(Memory::of(h_.mask), spiller_.lane(), true),
                          d_.number(kLive)),
                {d_.stmt(Return{})}));
  if (options_.checked)
    s.prologue.push_back(d_.store(Memory::of(h_.mask), spiller_.lane(), d_.number(kEnded)));
  spiller_.restore(s.prologue);
  if (mutated(Mutation::SaveBeforeBody)) spiller_.save(raw.live_out, s.prologue);

  s.body = wrap_regions();
  if (!mutated(Mutation::SaveBeforeBody)) spiller_.save(raw.live_out, s.epilogue);
  if (raw.ended_out)
    s.epilogue.push_back(d_.atomic(AtomicOp::Store, Memory::of(h_.control),
                                   d_.number(ControlWords::kLive), d_.number(1)));
  if (options_.checked)
    s.epilogue.push_back(d_.store(Memory::of(h_.mask), spiller_.lane(), d_.number(kLive)));
  return s;
}

SegmentBody SegmentMaker::lower_fixpoints(SegmentBody s) {
  s.body = native_->lower_fixpoints(s.body);
  return s;
}

SegmentBody SegmentMaker::lower_ended_lanes(SegmentBody s) {
  s.live = native_->lower_ended_lanes(s.body, s.epilogue);
  s.epilogue.clear();
  return s;
}

SegmentBody SegmentMaker::number_lanes(SegmentBody s) {
  StmtList all = spiller_.ids();
  append(all, s.all());
  for (StmtList* part : {&s.carried, &s.prologue, &s.epilogue}) part->clear();
  s.body = std::move(all);
  return s;
}

SegmentBody SegmentMaker::make_persistent(SegmentBody s) {
  if (!persistent::has_grid_barrier(d_, s.body)) return s;
  // What launches hand over of shared memory, blocks have no room for.
  std::optional<persistent::Analysis> analysis;
  if (h_.shared.empty()) analysis = persistent::analyse(d_, s.body, s.live);
  if (!analysis) {
    l_.refusal = Refusal::NotPersistent;
    return s;
  }
  kernel_memory_.votes = l_.native->votes;
  kernel_memory_.control = h_.control;
  const persistent::Placement placement =
      persistent::place(d_, kernel_memory_, *analysis, options_.variant);
  s.body = persistent::emit({.d = d_,
                             .memory = kernel_memory_,
                             .analysis = *analysis,
                             .placement = placement,
                             .lane = spiller_.lane_local(),
                             .live = s.live,
                             .interleave = options_.variant.interleave,
                             .wide_index = options_.wide_index,
                             .is_1d = options_.variant.is_1d});
  s.workgroups_per_block = placement.workgroups_per_block;
  s.unrolled_iterations = placement.unrolled_iterations;
  return s;
}

namespace {

// Lines and regions of the statements.
void note_source(const Draft& d, const Tree& tree, const RawSegment& raw, Segment& segment) {
  std::vector<Placed> items;
  for (const RawSegment::Item& item : raw.items) {
    std::vector<std::string> names;
    for (uint32_t r = item.region; r != 0; r = tree.regions[r].outer)
      names.insert(names.begin(), tree.regions[r].name);
    items.push_back({item.stmt, names});
    for_each_stmt(d.p, item.stmt, [&](StmtId s) {
      if (const auto* region = std::get_if<Region>(&d.p[s])) names.push_back(region->name);
      const Position at = d.p.position_of(s);
      if (at.line == 0) return;
      segment.first_line =
          segment.first_line == 0 ? at.line : std::min(segment.first_line, at.line);
      segment.last_line = std::max(segment.last_line, at.line);
    });
    for (const std::string& name : names)
      if (std::ranges::find(segment.regions, name) == segment.regions.end())
        segment.regions.push_back(name);
  }
  segment.enclosing = enclosing_regions(d.p, items);
}

}  // namespace

SegmentBody SegmentMaker::extract(SegmentBody s) {
  const RawSegment& raw = *s.raw;
  Segment segment;
  segment.workgroups_per_block = s.workgroups_per_block;
  segment.unrolled_iterations = s.unrolled_iterations;
  Extractor extractor(d_, fmt::format("{}_{}", d_.p.name, plan_.segments.size()),
                      cuts_.scope == Scope::Workgroup);
  if (s.workgroups_per_block > 1)
    extractor.set_row_workgroup(s.workgroups_per_block * d_.lanes_per_group());
  Extractor::Extracted extracted = extractor.run(s.body, s.live);
  segment.program = std::move(extracted.program);
  nodes_ += segment.program.program.exprs.size() + segment.program.program.stmts.size();
  segment.arguments = std::move(extracted.arguments);
  segment.live = extracted.live;
  segment.swaps_frame = spiller_.swaps_frame() && !mutated(Mutation::FrameInPlace);
  segment.swaps_group_frame = spiller_.swaps_group_frame() && !mutated(Mutation::GroupFrameInPlace);
  segment.carries_group_frame = spiller_.swaps_group_frame() && !raw.open.empty();
  segment.reports_live = raw.ended_out && !mutated(Mutation::NoLiveWord);
  segment.ends_phase = raw.ends_phase;
  segment.barriers_inside = segment.program.has_grid_barrier;
  segment.barrier = raw.barrier;
  for (const auto& [buffer, hidden] : h_.shared) {
    SharedUse use;
    use.hidden = hidden;
    use.restore = restores(tree_, raw, BufferId{buffer}) && !mutated(Mutation::NoSharedRestore);
    use.save = saves(tree_, raw, BufferId{buffer}) && !mutated(Mutation::NoSharedSave);
    // A buffer that this segment does not touch keeps its area as it is.
    const auto mapped = extractor.buffer(BufferId{buffer});
    if (!mapped || (!use.restore && !use.save)) continue;
    use.buffer = *mapped;
    segment.shared.push_back(use);
  }
  note_source(d_, tree_, raw, segment);
  // A worker reports nothing of its own workgroup.
  if (cuts_.scope == Scope::Grid)
    segment.live_across = describe_live_across(d_, tree_, raw, *l_.storage, spiller_.swaps_frame(),
                                               spiller_.swaps_group_frame());
  nodes_ += segment.live_across.size() * kNodesPerLiveAcross;
  plan_.segments.push_back(std::move(segment));
  if (nodes_ > kMostNodes) l_.refusal = Refusal::TooLarge;
  return s;
}

// ---- the statements of the segment

void SegmentMaker::begin_native(StmtList& prologue) {
  native_.emplace(d_, *l_.native, h_.fixpoint, [this] { return spiller_.lane(); });
  native_->begin(prologue, raw_->ended_in || raw_->ended_out,
                 raw_->ended_in ? d_.load(Memory::of(h_.mask), spiller_.lane(), true) : ExprId{},
                 h_.report_site.valid());
}

StmtList SegmentMaker::wrap_regions() {
  size_t next = 0;
  return wrap_region(0, next);
}
// Items from `next` on that stand in this region or further in.
StmtList SegmentMaker::wrap_region(uint32_t region, size_t& next) {
  StmtList out;
  while (next < raw_->items.size()) {
    const RawSegment::Item& item = raw_->items[next];
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

bool SegmentMaker::reads_fixpoint_result(ExprId e) const {
  return plan::reads_fixpoint_result(d_, cuts_, e);
}

bool SegmentMaker::needs_rewriting(StmtId id) const {
  return any_stmt_below(d_.p, id,
                        [&](StmtId s) {
                          bool needed = properties_of(d_.p[s]).may_end_lane;
                          for_each_local(d_.p[s], [&](LocalId local, LocalAccess access) {
                            needed |=
                                access == LocalAccess::Declare && spiller_.declared_early(local);
                          });
                          return needed;
                        }) ||
         any_expr_below(d_.p, id,
                        [&](ExprId e) { return reads_fixpoint_result(e) || cuts_.is_cut(d_, e); });
}

ExprId SegmentMaker::rewrite(ExprId id) {
  if (reads_fixpoint_result(id)) {
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

void SegmentMaker::rewrite(StmtId id, StmtList& out) {
  if (!needs_rewriting(id)) {
    out.push_back(id);
    return;
  }
  const Stmt s = d_.p[id];
  std::vector<ExprId> operands;
  for (const ExprId e : d_.operands(id)) operands.push_back(rewrite(e));
  if (const auto* array = std::get_if<DeclareArray>(&s);
      array != nullptr && spiller_.declared_early(array->local))
    return;
  if (const auto* let = std::get_if<Let>(&s);
      let != nullptr && spiller_.declared_early(let->local)) {
    out.push_back(d_.stmt(Assign{let->local, std::nullopt, operands[0]}, d_.p.loc(id),
                          d_.c.flow_levels[id.index()]));
    return;
  }
  if (std::holds_alternative<Return>(s)) {
    if (h_.mask.valid() && !mutated(Mutation::ReturnKeepsLane))
      out.push_back(d_.store(Memory::of(h_.mask), spiller_.lane(), d_.number(kEnded)));
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

void SegmentMaker::rewrite_trap(StmtId id, const Trap& trap, ExprId value, StmtList& out) {
  uint32_t site = static_cast<uint32_t>(plan_.sites.size());
  const bool zero = trap.tag == d_.zero_passes_tag;
  plan_.sites.push_back({zero ? uint16_t{0} : d_.source_tag(trap.tag), zero, d_.p.position_of(id),
                         trap.tag == d_.assert_tag});
  if (mutated(Mutation::TrapSiteOfOther)) site = site == 0 ? 1 : 0;
  const auto resume = l_.resumes.find(trap.tag);
  out.push_back(d_.store(Memory::of(h_.report_value), spiller_.lane(), value));
  out.push_back(d_.store(Memory::of(h_.report_site), spiller_.lane(), d_.number(site)));
  if (resume == l_.resumes.end()) {
    if (!zero) out.push_back(d_.store(Memory::of(h_.mask), spiller_.lane(), d_.number(kEnded)));
    if (cuts_.native)
      native_->stop(out);
    else
      out.push_back(d_.atomic(AtomicOp::Min, Memory::of(h_.control), d_.number(ControlWords::kStop),
                              spiller_.lane()));
  } else {
    if (!mutated(Mutation::ParkedNotSaved)) spiller_.save(tree_.park.at(id.value), out);
    out.push_back(
        d_.store(Memory::of(h_.mask), spiller_.lane(), d_.number(kParked + resume->second)));
    out.push_back(d_.atomic(AtomicOp::Store, Memory::of(h_.control),
                            d_.number(plan_.control.parked(resume->second)), d_.number(1)));
  }
  if (zero && cuts_.native) {
    // Reported by active lanes: without one, no lane has requested 0 passes.
    out.push_back(d_.atomic(AtomicOp::Store, Memory::of(h_.control),
                            d_.number(ControlWords::kStopped), d_.number(1)));
    out.push_back(native_->leave_uniformly());
  } else
    out.push_back(d_.stmt(Return{}, d_.p.loc(id), d_.c.flow_levels[id.index()]));
}

}  // namespace vyre::plan
