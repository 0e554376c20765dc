// SPDX-License-Identifier: Apache-2.0
// Fixpoints inside a launch, and the vote points of the native route.
#include "plan/native/native.hpp"

#include <algorithm>

#include "base/match.hpp"
#include "plan/cut.hpp"
#include "plan/hoist.hpp"
#include "plan/mutation.hpp"
#include "plan/native/ended_lanes.hpp"
#include "plan/passes.hpp"

namespace vyre::plan {

using namespace ir;

NativeState prepare_native(Draft& d, const CutPoints& cuts, BufferId control) {
  NativeState native;
  native.control = control;
  Hidden hidden;
  hidden.kind = Hidden::Kind::Votes;
  hidden.name = "meeting";
  native.words.fixpoints = static_cast<uint32_t>(d.fixpoints.size());
  hidden.count = native.words.published(0);
  native.votes = d.add_hidden(std::move(hidden));
  for (size_t row = 0; row < d.fixpoints.size(); ++row)
    native.rounds.push_back(d.local(Local::Kind::Var, "pass_round", Type::U32, Level::Grid));
  const auto variable = [&](std::string_view name, Type type, Level level) {
    return d.local(Local::Kind::Var, name, type, level);
  };
  native.live = variable("live", Type::Bool, Level::Lane);
  native.round = variable("meeting_round", Type::U32, Level::Grid);
  native.phase_round = variable("phase_round", Type::U32, Level::Grid);
  native.group_round = variable("group_round", Type::U32, Level::Workgroup);
  native.passes = variable("passes", Type::U32, Level::Grid);
  native.converged = variable("converged", Type::Bool, Level::Grid);
  for (const LocalId l : native.rounds) d.ambient.insert(l.value);
  for (const LocalId l : {native.live, native.round, native.phase_round, native.group_round,
                          native.passes, native.converged})
    d.ambient.insert(l.value);
  native.inside.resize(d.fixpoints.size());
  for (const auto& [id, row] : d.fixpoint_rows) native.inside[row] = !cuts.is_cut(d, StmtId{id});
  return native;
}

StmtId mark_changed(Draft& d, const NativeState& native, uint32_t row) {
  return d.atomic(
      AtomicOp::Store, Memory::of(native.votes),
      d.binary(BinaryOp::Add, d.number(native.words.changed(row)), d.ref(native.rounds[row])),
      d.number(1));
}

namespace {

class EffectHoister : private Hoister {
 public:
  explicit EffectHoister(Draft& d) : Hoister(d) {}
  void run() {
    for (const Expr& expr : d_.p.exprs)
      if (const auto* call = std::get_if<Call>(&expr))
        for (const Arg& arg : d_.p.arguments(call->args))
          if (const ExprId* value = std::get_if<ExprId>(&arg))
            for_each_expr(d_.p, *value, [&](ExprId e) {
              if (has_effect(e)) in_calls_.insert(e.value);
            });
    d_.p.body = d_.block(block(d_.p.body));
  }

 private:
  [[nodiscard]] bool has_effect(ExprId id) const {
    return std::holds_alternative<Atomic>(d_.p[id]) || std::holds_alternative<Subgroup>(d_.p[id]);
  }
  [[nodiscard]] bool chosen(ExprId id) const override {
    return std::holds_alternative<UniformLoad>(d_.p[id]) || in_calls_.contains(id.value);
  }
  ExprId take(ExprId id, StmtList& out) override {
    const auto* load = std::get_if<UniformLoad>(&d_.p[id]);
    if (load == nullptr) return d_.ref(d_.capture(id, "effect", Level::Lane, out));
    return d_.ref(
        d_.capture(id, "loaded", load->scope == Scope::Grid ? Level::Grid : Level::Workgroup, out));
  }
  StmtList block(Block b) {
    const auto items = d_.p.items(b);
    StmtList out;
    for (const StmtId id : StmtList(items.begin(), items.end())) statement(id, out);
    return out;
  }
  void statement(StmtId id, StmtList& out) {
    const Stmt s = d_.p[id];
    const StmtId own = d_.map_blocks(id, [&](Block b) { return block(b); });
    if (const auto* let = std::get_if<Let>(&s);
        let != nullptr && std::holds_alternative<UniformLoad>(d_.p[let->value]) &&
        !contains(d_.operands(let->value).front())) {
      out.push_back(own);
      return;
    }
    hoist_statement(own, out);
  }

  std::unordered_set<uint32_t> in_calls_;
};

}  // namespace

Draft separate_effects(Draft d) {
  EffectHoister(d).run();
  return d;
}

NativeSegment::NativeSegment(Draft& d, const NativeState& native, BufferId fixpoint_result,
                             std::function<ExprId()> lane)
    : d_(d),
      native_(native),
      result_(fixpoint_result),
      lane_(std::move(lane)),
      live_(native.live),
      round_(native.round),
      phase_round_(native.phase_round),
      group_round_(native.group_round),
      passes_(native.passes),
      converged_(native.converged) {}

void NativeSegment::begin(StmtList& prologue, bool ends_lanes, ExprId mask, bool traps) {
  ends_lanes_ = ends_lanes;
  may_have_ended_ = mask.valid();
  traps_ = traps;
  const auto declare = [&](LocalId l, ExprId value) { prologue.push_back(d_.let(l, value)); };
  if (ends_lanes_) {
    declare(live_,
            mask.valid() ? d_.binary(BinaryOp::Eq, mask, d_.number(kLive)) : d_.boolean(true));
    for (const LocalId round : {round_, group_round_}) declare(round, d_.number(0));
    if (traps_) declare(phase_round_, d_.number(0));
    if (may_have_ended_ && traps_) {
      // A stop of this phase from the launch before.
      Atomic load;
      load.op = AtomicOp::Load;
      load.memory = Memory::of(native_.control);
      load.index = d_.number(ControlWords::kStop);
      const ExprId lane = d_.expr(load, Type::U32);
      prologue.push_back(
          d_.when(d_.binary(BinaryOp::Eq, lane_(), d_.number(0)),
                  {d_.atomic(AtomicOp::Max, Memory::of(native_.votes), d_.number(VoteWords::kStop),
                             d_.expr(Unary{UnaryOp::BitNot, lane}, Type::U32))}));
    }
    Buffer words;
    words.name = d_.fresh_name("group_votes");
    words.kind = BufferKind::Shared;
    group_words_ = d_.p.add(std::move(words));
    check::BufferFacts facts;
    facts.role = check::Role::Shared;
    facts.constant_count = 3;
    d_.c.buffers.push_back(facts);
    d_.arguments.push_back({Argument::Kind::Hidden, ~uint32_t{0}});
  }
  for (const LocalId round : native_.rounds) declare(round, d_.number(0));
  if (result_.valid()) {
    const auto load = [&](uint32_t w) { return d_.load(Memory::of(result_), d_.number(w), true); };
    declare(passes_, load(0));
    declare(converged_, d_.cast(Type::Bool, load(1)));
  }
}

ExprId NativeSegment::fixpoint_result(Builtin builtin) {
  return d_.ref(builtin == Builtin::FixpointPasses ? passes_ : converged_);
}

ExprId NativeSegment::word(uint32_t first, LocalId round) {
  return d_.binary(BinaryOp::Add, d_.number(first), d_.ref(round));
}

// (round + 1) % 3 without a division.
ExprId NativeSegment::after_round(LocalId round) {
  IntrinsicCall select;
  select.op = Intrinsic::Select;
  select.args = {d_.binary(BinaryOp::Eq, d_.ref(round), d_.number(2)), d_.number(0),
                 d_.binary(BinaryOp::Add, d_.ref(round), d_.number(1))};
  return d_.expr(select, Type::U32);
}

void NativeSegment::stop(StmtList& out) {
  ExprId index = d_.number(VoteWords::kStop);
  if (ends_lanes_) index = word(VoteWords::kStop, phase_round_);
  out.push_back(d_.atomic(AtomicOp::Max, Memory::of(native_.votes), index,
                          d_.expr(Unary{UnaryOp::BitNot, lane_()}, Type::U32)));
  // If the launch ends before the phase does, the next one has to know.
  out.push_back(d_.atomic(AtomicOp::Min, Memory::of(native_.control),
                          d_.number(ControlWords::kStop), lane_()));
}

StmtList NativeSegment::leave_stopped() {
  return {d_.when(d_.binary(BinaryOp::Eq, lane_(), d_.number(0)),
                  {d_.atomic(AtomicOp::Store, Memory::of(native_.control),
                             d_.number(ControlWords::kStopped), d_.number(1))}),
          leave_uniformly()};
}

StmtId NativeSegment::leave_uniformly() {
  const StmtId id = d_.stmt(Return{}, {}, Level::Grid);
  uniform_returns_.insert(id.value);
  return id;
}

// ---- fixpoints

StmtId NativeSegment::over_buffer(BufferId buffer, const std::function<StmtList(LocalId)>& each) {
  // Spread over all lanes, ended or not. The sum must not wrap, so it is not formed near the end.
  const Memory memory = Memory::of(buffer);
  const LocalId i = d_.local(Local::Kind::Var, "i", Type::U32, Level::Lane);
  StmtList body = each(i);
  body.push_back(
      d_.when(d_.binary(BinaryOp::Le, d_.binary(BinaryOp::Sub, d_.length(memory), d_.ref(i)),
                        lane_count(d_)),
              {d_.stmt(Break{})}));
  body.push_back(d_.assign(i, d_.binary(BinaryOp::Add, d_.ref(i), lane_count(d_))));
  const StmtId loop =
      d_.stmt(While{d_.binary(BinaryOp::Lt, d_.ref(i), d_.length(memory)), d_.block(body)});
  const StmtId all = d_.stmt(Nested{d_.block({d_.let(i, lane_()), loop})});
  lowered_.insert(all.value);
  return all;
}

StmtList NativeSegment::lower_fixpoints(std::span<const StmtId> given) {
  StmtList out;
  for (const StmtId id : StmtList(given.begin(), given.end())) {
    if (!any_stmt_below(d_.p, id,
                        [&](StmtId s) { return std::holds_alternative<Fixpoint>(d_.p[s]); })) {
      out.push_back(id);
      continue;
    }
    if (std::holds_alternative<Fixpoint>(d_.p[id])) {
      lower_fixpoint(id, out);
      continue;
    }
    out.push_back(d_.map_blocks(id, [&](Block b) { return lower_fixpoints(d_.p.items(b)); }));
  }
  return out;
}

void NativeSegment::lower_fixpoint(StmtId id, StmtList& out) {
  const auto s = std::get<Fixpoint>(d_.p[id]);
  const uint32_t row = d_.fixpoint_rows.at(id.value);
  const LocalId round = native_.rounds[row];
  const LocalId most = d_.capture(s.max_passes, "most", Level::Grid, out);
  const auto internal_barrier = [&](StmtList& list) {
    const StmtId b = d_.barrier(Scope::Grid);
    lowered_.insert(b.value);
    list.push_back(b);
  };
  // A barrier of the source, given its final form with all others.
  out.push_back(d_.barrier(Scope::Grid));
  const LocalId pass = d_.local(Local::Kind::Var, "pass", Type::U32, Level::Grid);
  const LocalId changed = d_.local(Local::Kind::Var, "changed", Type::Bool, Level::Grid);
  out.push_back(d_.let(pass, d_.number(0)));
  out.push_back(d_.let(changed, d_.boolean(true)));

  struct Copy {
    BufferId buffer, snapshot;
  };
  std::vector<Copy> copies;
  for (FixpointBuffer& b : d_.fixpoints[row].buffers) {
    if (b.mode != FixpointMode::Snapshot) continue;
    b.snapshot = static_cast<uint32_t>(d_.hidden.size());
    copies.push_back({b.buffer, d_.add_hidden(d_.snapshot_of(b.buffer))});
  }
  for (const Copy& copy : copies)
    out.push_back(over_buffer(copy.buffer, [&](LocalId i) {
      return StmtList{d_.store(Memory::of(copy.snapshot), d_.ref(i),
                               d_.load(Memory::of(copy.buffer), d_.ref(i), true))};
    }));
  if (!copies.empty()) internal_barrier(out);

  StmtList body;
  const StmtId clear = d_.when(
      d_.binary(BinaryOp::Eq, lane_(), d_.number(0)),
      {d_.atomic(
          AtomicOp::Store, Memory::of(native_.votes),
          d_.binary(BinaryOp::Add, d_.number(native_.words.changed(row)), after_round(round)),
          d_.number(0))});
  lowered_.insert(clear.value);
  body.push_back(clear);
  for (const StmtId item : lower_fixpoints(d_.p.items(s.body))) body.push_back(item);
  body.push_back(d_.barrier(Scope::Grid));
  for (const Copy& copy : copies)
    body.push_back(over_buffer(copy.buffer, [&](LocalId i) {
      const auto now = [&] { return d_.load(Memory::of(copy.buffer), d_.ref(i), true); };
      const ExprId before = d_.load(Memory::of(copy.snapshot), d_.ref(i), true);
      StmtList differs = {mark_changed(d_, native_, row)};
      if (!mutated(Mutation::NativeSnapshotOnce))
        differs.push_back(d_.store(Memory::of(copy.snapshot), d_.ref(i), now()));
      return StmtList{
          d_.when(d_.binary(BinaryOp::Ne, as_bits(d_, before), as_bits(d_, now())), differs)};
    }));
  if (!copies.empty()) internal_barrier(body);
  body.push_back(d_.assign(pass, d_.binary(BinaryOp::Add, d_.ref(pass), d_.number(1))));
  const ExprId word_now =
      d_.load(Memory::of(native_.votes),
              d_.binary(BinaryOp::Add, d_.number(native_.words.changed(row)), d_.ref(round)), true);
  body.push_back(d_.assign(changed, d_.cast(Type::Bool, word_now)));
  body.push_back(d_.assign(round, after_round(round)));
  const StmtId loop = d_.stmt(While{d_.binary(BinaryOp::LogicalAnd, d_.ref(changed),
                                              d_.binary(BinaryOp::Lt, d_.ref(pass), d_.ref(most))),
                                    d_.block(body)},
                              d_.p.loc(id), Level::Grid);
  out.push_back(loop);
  out.push_back(d_.assign(passes_, d_.ref(pass)));
  out.push_back(d_.assign(converged_, d_.negate(d_.ref(changed))));
  for (const uint32_t w : {0U, 1U}) {
    const StmtId report =
        d_.atomic(AtomicOp::Store, Memory::of(result_), d_.number(w),
                  w == 0 ? d_.ref(passes_) : d_.cast(Type::U32, d_.ref(converged_)));
    lowered_.insert(report.value);
    out.push_back(report);
  }
}

// ---- vote points

ExprId NativeSegment::value_of(const Published& part) {
  if (!part.element.valid()) return d_.ref(part.local);
  return d_.load(Memory::of(part.local), d_.ref(part.element), true);
}

StmtId NativeSegment::set(const Published& part, ExprId value) {
  if (!part.element.valid()) return d_.assign(part.local, value);
  return d_.store(Memory::of(part.local), d_.ref(part.element), value);
}

// Three for each word of a value, which rounds take in turn.
ExprId NativeSegment::word_at(const Board& board, const Published& part, uint32_t number) {
  const ExprId first = word(board.first + 3 * (part.first_word + number), board.round);
  if (!part.element.valid()) return first;
  const uint32_t apart = 3 * words_of(d_.type_of(part.local));
  return d_.binary(BinaryOp::Add, first,
                   d_.binary(BinaryOp::Mul, d_.ref(part.element), d_.number(apart)));
}

uint32_t NativeSegment::for_each_part(const std::vector<LocalId>& locals, StmtList& out,
                                      const std::function<StmtList(const Published&)>& each) {
  uint32_t words = 0;
  for (const LocalId local : locals) {
    const uint32_t elements = d_.c.array_counts[local.index()];
    if (elements == 0) {
      for (const StmtId s : each({local, {}, words})) out.push_back(s);
    } else {
      out.push_back(over_array(d_, local, [&](LocalId k) { return each({local, k, words}); }));
    }
    words += std::max(elements, 1U) * words_of(d_.type_of(local));
  }
  return words;
}

uint32_t NativeSegment::publish(const Board& board, const std::vector<LocalId>& locals,
                                StmtList& out) {
  return for_each_part(locals, out, [&](const Published& part) {
    StmtList list;
    for (uint32_t w = 0; w < words_of(d_.type_of(part.local)); ++w)
      list.push_back(d_.atomic(AtomicOp::Store, board.memory, word_at(board, part, w),
                               word_of(d_, value_of(part), w)));
    return list;
  });
}

void NativeSegment::take(const Board& board, const std::vector<LocalId>& locals, LocalId alive,
                         StmtList& out) {
  for_each_part(locals, out, [&](const Published& part) {
    const Type type = d_.type_of(part.local);
    ExprId value = from_words(
        d_, [&](uint32_t w) { return d_.load(board.memory, word_at(board, part, w), true); }, type);
    if (alive.valid()) {
      // Without a live lane any value will do, if only all take the same.
      IntrinsicCall select;
      select.op = Intrinsic::Select;
      select.args = {d_.ref(alive), value, d_.zero(type)};
      value = d_.expr(select, type);
    }
    return StmtList{set(part, value)};
  });
}

void NativeSegment::grid_vote(StmtList& out, const std::vector<LocalId>& locals) {
  const Board board{Memory::of(native_.votes), round_, native_.words.published(0)};
  StmtList mine;
  const uint32_t words = publish(board, locals, mine);
  mine.push_back(
      d_.atomic(AtomicOp::Store, board.memory, word(VoteWords::kAlive, round_), d_.number(1)));
  out.push_back(d_.when(d_.ref(live_), mine));
  out.push_back(d_.when(
      d_.binary(BinaryOp::Eq, lane_(), d_.number(0)),
      {d_.atomic(AtomicOp::Store, board.memory,
                 d_.binary(BinaryOp::Add, d_.number(VoteWords::kAlive), after_round(round_)),
                 d_.number(0))}));
  out.push_back(d_.barrier(Scope::Grid));
  const ExprId alive = d_.load(board.memory, word(VoteWords::kAlive, round_), true);
  out.push_back(d_.when(d_.binary(BinaryOp::Eq, alive, d_.number(0)), {leave_uniformly()}));
  if (traps_ && mutated(Mutation::NativeStopAtInternal)) {
    const ExprId stopped = d_.load(board.memory, word(VoteWords::kStop, phase_round_), true);
    out.push_back(d_.when(d_.binary(BinaryOp::Ne, stopped, d_.number(0)), leave_stopped()));
  }
  take(board, locals, {}, out);
  Hidden& hidden = d_.hidden[d_.arguments[native_.votes.index()].index];
  hidden.count = std::max(hidden.count, native_.words.published(words));
  out.push_back(d_.assign(round_, after_round(round_)));
}

void NativeSegment::source_barrier(StmtList& out) {
  if (!traps_) {
    grid_vote(out, {});
    return;
  }
  const Memory votes = Memory::of(native_.votes);
  out.push_back(d_.when(
      d_.binary(BinaryOp::Eq, lane_(), d_.number(0)),
      {d_.atomic(AtomicOp::Store, votes,
                 d_.binary(BinaryOp::Add, d_.number(VoteWords::kStop), after_round(phase_round_)),
                 d_.number(0))}));
  grid_vote(out, {});
  const ExprId stopped = d_.load(votes, word(VoteWords::kStop, phase_round_), true);
  out.push_back(d_.when(d_.binary(BinaryOp::Ne, stopped, d_.number(0)), leave_stopped()));
  out.push_back(d_.assign(phase_round_, after_round(phase_round_)));
}

LocalId NativeSegment::group_vote(StmtList& out, const std::vector<LocalId>& locals) {
  const Board board{Memory::of(group_words_), group_round_, 3};
  StmtList mine;
  const uint32_t words = publish(board, locals, mine);
  mine.push_back(d_.atomic(AtomicOp::Store, board.memory, word(0, group_round_), d_.number(1)));
  out.push_back(d_.when(d_.ref(live_), mine));
  out.push_back(
      d_.when(d_.binary(BinaryOp::Eq, lane_in_group(d_), d_.number(0)),
              {d_.atomic(AtomicOp::Store, board.memory, after_round(group_round_), d_.number(0))}));
  out.push_back(d_.barrier(Scope::Workgroup));
  const ExprId vote = d_.load(board.memory, word(0, group_round_), true);
  const LocalId alive =
      d_.capture(d_.binary(BinaryOp::Ne, vote, d_.number(0)), "alive", Level::Workgroup, out);
  take(board, locals, alive, out);
  group_published_ = std::max(group_published_, words);
  d_.c.buffers[group_words_.index()].constant_count = 3 + 3 * group_published_;
  out.push_back(d_.assign(group_round_, after_round(group_round_)));
  return alive;
}

LocalId NativeSegment::lower_ended_lanes(StmtList& body, const StmtList& epilogue) {
  if (!ends_lanes_) {
    body.insert(body.end(), epilogue.begin(), epilogue.end());
    return {};
  }
  EndedLanes lower(*this);
  body = lower.run(body);
  body.push_back(d_.when(d_.ref(live_), epilogue));
  return mutated(Mutation::NativeEndedSubgroup) ? LocalId{} : live_;
}

}  // namespace vyre::plan
