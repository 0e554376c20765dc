// SPDX-License-Identifier: Apache-2.0
// From the statements of a normalised program to raw segments between cuts.
#include "plan/cut.hpp"

#include "base/check.hpp"
#include "base/match.hpp"
#include "plan/mutation.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

class Cutter {
 public:
  Cutter(Draft& d, const CutPoints& cuts) : d_(d), cuts_(cuts) {}

  Tree run() {
    Nodes nodes;
    list(d_.p.items(d_.p.body), nodes);
    close(false, {}, nodes);
    tree_.nodes = std::move(nodes);
    return std::move(tree_);
  }

 private:
  // Ends the segment at hand. Without statements there is nothing to launch; a phase ends anyway.
  void close(bool ends_phase, Position at, Nodes& out) {
    if (ends_phase && mutated(Mutation::DropBarrier) && ++dropped_ % 2 == 0 && !items_.empty())
      return;
    if (items_.empty() && !ends_phase) return;
    RawSegment raw;
    raw.items = std::move(items_);
    raw.ends_phase = ends_phase;
    raw.barrier = std::move(at);
    items_.clear();
    out.push_back({SegmentNode{static_cast<uint32_t>(tree_.segments.size())}});
    tree_.segments.push_back(std::move(raw));
  }

  // The cut before a branch, loop or fixpoint is not one of the source: no phase ends.
  void close_before_construct(Position at, Nodes& out) {
    close(mutated(Mutation::PhaseAtEveryCut), std::move(at), out);
  }

  void list(std::span<const StmtId> given, Nodes& out) {
    const StmtList items(given.begin(), given.end());
    for (const StmtId id : items) statement(id, out);
  }

  static void refuse_plain() { VYRE_CHECK(!"the normaliser left a cut inside a plain statement"); }

  void statement(StmtId id, Nodes& out) {
    if (!cuts_.below(d_, id)) {
      items_.push_back({id, region_});
      return;
    }
    const Position at = d_.p.position_of(id);
    match(
        d_.p[id], [&](const Barrier&) { close(true, at, out); },
        [&](const Let&) {
          // A load between two barriers.
          close(true, at, out);
          items_.push_back({id, region_});
          close(true, at, out);
        },
        [&](const If&) { branch(id, at, out); }, [&](const While&) { loop(id, at, out); },
        [&](const Fixpoint&) { fixpoint(id, at, out); },
        [&](const Nested& s) { list(d_.p.items(s.body), out); },
        [&](const Region& s) {
          const uint32_t outer = region_;
          tree_.regions.push_back({s.name, outer, d_.p.loc(id)});
          region_ = static_cast<uint32_t>(tree_.regions.size()) - 1;
          list(d_.p.items(s.body), out);
          region_ = outer;
        },
        [&](const Resume& s) {
          const uint16_t tag = s.tag;
          close_before_construct(at, out);
          out.push_back({ResumeNode{tag, id}});
        },
        [&](const Collective&) {
          close_before_construct(at, out);
          out.push_back({CollectiveNode{id}});
        },
        [&](const AsyncCopy& s) {
          start_copy(id, s);
          if (!d_.checked) return;
          // Lanes stop where the copy starts if it leaves its memory, so it is done there.
          close(false, at, out);
          out.push_back({copies_.back().second});
          copies_.pop_back();
        },
        [&](const Wait& s) {
          close(true, at, out);
          for (const auto& [tag, copy] : copies_)
            if (tag == s.tag) out.push_back({copy});
          std::erase_if(copies_, [&](const auto& c) { return c.first == s.tag; });
        },
        [&](const DeclareArray&) { refuse_plain(); }, [&](const Assign&) { refuse_plain(); },
        [&](const Store&) { refuse_plain(); }, [&](const Eval&) { refuse_plain(); },
        [&](const For&) { refuse_plain(); }, [&](const Break&) { refuse_plain(); },
        [&](const Continue&) { refuse_plain(); }, [&](const Return&) { refuse_plain(); },
        [&](const Trap&) { refuse_plain(); },
        [&](const Swap&) {
          close(!mutated(Mutation::SwapEndsNoPhase), at, out);
          out.push_back({SwapNode{id}});
        },
        [&](const Print&) { refuse_plain(); }, [&](const Assert&) { refuse_plain(); });
  }

  void branch(StmtId id, const Position& at, Nodes& out) {
    const If copy = std::get<If>(d_.p[id]);
    close_before_construct(at, out);
    BranchNode node;
    node.word = d_.branch_words.at(id.value);
    node.at = at;
    list(d_.p.items(copy.then_block), node.then_nodes);
    close(false, {}, node.then_nodes);
    list(d_.p.items(copy.else_block), node.else_nodes);
    close(false, {}, node.else_nodes);
    out.push_back({std::move(node)});
  }

  void loop(StmtId id, const Position& at, Nodes& out) {
    const auto body = d_.p.items(std::get<While>(d_.p[id]).body);
    const StmtList all(body.begin(), body.end());
    const Draft::LoopForm form = d_.loop_forms.at(id.value);
    close_before_construct(at, out);
    LoopNode node;
    node.word = form.word;
    node.at = at;
    node.id = tree_.loops++;
    list(std::span(all).first(form.condition_items), node.condition);
    close(false, {}, node.condition);
    list(std::span(all).subspan(form.condition_items + 1), node.body);
    close(false, {}, node.body);
    out.push_back({std::move(node)});
  }

  void fixpoint(StmtId id, const Position& at, Nodes& out) {
    const Fixpoint s = std::get<Fixpoint>(d_.p[id]);
    const auto body = d_.p.items(s.body);
    const StmtList all(body.begin(), body.end());
    if (mutated(Mutation::NoEntryBarrier))
      close(false, {}, out);
    else
      close(true, at, out);
    FixpointNode node;
    node.row = d_.fixpoint_rows.at(id.value);
    if (const auto word = d_.branch_words.find(id.value); word != d_.branch_words.end())
      node.word = word->second;
    else
      node.most = static_cast<uint32_t>(check::evaluate_constant(d_.c, s.max_passes)->bits);
    node.id = tree_.loops++;
    list(all, node.body);
    close(true, at, node.body);
    out.push_back({std::move(node)});
  }

  // Done at the wait, unless lanes may stop: nothing may touch either side in between.
  void start_copy(StmtId id, AsyncCopy s) {
    const auto word = [&](ExprId value) {
      StmtList out;
      const LocalId l = d_.capture(value, "copy_word", Level::Workgroup, out);
      items_.push_back({out.front(), region_});
      return l;
    };
    CopyNode node;
    node.stmt = id;
    node.dst = word(s.dst_index);
    node.src = word(s.src_index);
    node.count = word(s.count);
    copies_.emplace_back(s.tag, node);
  }

  Draft& d_;
  const CutPoints& cuts_;
  Tree tree_;
  std::vector<RawSegment::Item> items_;
  std::vector<std::pair<uint16_t, CopyNode>> copies_;
  uint32_t region_ = 0;
  uint32_t dropped_ = 0;
};

}  // namespace

Tree cut(Draft& d, const CutPoints& cuts) {
  return Cutter(d, cuts).run();
}

}  // namespace vyre::plan
