// SPDX-License-Identifier: Apache-2.0
// What lives where: spans in which lanes may wait for a resume, liveness of locals and of shared
// memory, values that can be recomputed.
#include <algorithm>
#include <unordered_map>

#include "base/match.hpp"
#include "ir/maths.hpp"
#include "ir/properties.hpp"
#include "plan/cut.hpp"
#include "plan/mutation.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

class Analysis {
 public:
  Analysis(const Draft& d, Tree& tree, bool checked)
      : d_(d),
        tree_(tree),
        checked_(checked),
        shared_(static_cast<uint32_t>(d.p.locals.size())),
        empty_(d.p.locals.size() + d.p.buffers.size()) {
    heads_.assign(tree.loops, empty_);
  }

  void run() {
    for (RawSegment& raw : tree_.segments) {
      raw.live_in = raw.live_out = raw.maybe_in = raw.maybe_out = raw.defined = empty_;
      for (const RawSegment::Item& item : raw.items) note_definitions(item.stmt, raw.defined);
    }
    tree_.words = empty_;
    find_traps();
    find_words(tree_.nodes);
    find_open(tree_.nodes);
    find_live();
    LiveSet maybe = empty_;
    while (maybe_written(tree_.nodes, maybe)) maybe = empty_;
    bool ended = false;
    mark_ended(tree_.nodes, ended);
    find_recomputed();
  }

 private:
  uint32_t shared_number(Memory m) const { return shared_ + m.index; }

  // ---- traps and the spans in which their lanes wait

  void find_traps() {
    uint32_t order = 0;
    walk_order(tree_.nodes, order);
    for (const auto& [trap, at] : trap_order_) {
      const uint16_t tag = std::get<Trap>(d_.p[StmtId{trap}]).tag;
      const auto [it, fresh] = first_trap_.try_emplace(tag, at);
      if (!fresh) it->second = std::min(it->second, at);
    }
    for (const auto& [tag, at] : resume_order_) tree_.live_at_resume.emplace(tag, empty_);
  }

  void walk_order(const Nodes& nodes, uint32_t& order) {
    for (const Node& n : nodes)
      match(
          n.node,
          [&](const SegmentNode& x) {
            for (const RawSegment::Item& item : tree_.segments[x.segment].items)
              for_each_stmt(d_.p, item.stmt, [&](StmtId s) {
                if (std::holds_alternative<Trap>(d_.p[s])) trap_order_[s.value] = order++;
                tree_.ends_lanes |= d_.ends_lane(s);
              });
          },
          [&](const BranchNode& x) {
            walk_order(x.then_nodes, order);
            walk_order(x.else_nodes, order);
          },
          [&](const LoopNode& x) {
            walk_order(x.condition, order);
            walk_order(x.body, order);
          },
          [&](const FixpointNode& x) { walk_order(x.body, order); },
          [&](const ResumeNode& x) { resume_order_[x.tag] = order++; },
          [](const CollectiveNode&) {}, [](const CopyNode&) {}, [](const SwapNode&) {});
  }

  [[nodiscard]] bool matched(uint16_t tag) const { return resume_order_.contains(tag); }

  [[nodiscard]] bool traps_below(const Node& n, uint16_t tag) const {
    bool found = false;
    for_each_segment(n, [&](uint32_t raw) {
      for (const RawSegment::Item& item : tree_.segments[raw].items)
        found = found || any_stmt_below(d_.p, item.stmt, [&](StmtId s) {
                  const auto* trap = std::get_if<Trap>(&d_.p[s]);
                  return trap != nullptr && trap->tag == tag;
                });
    });
    return found;
  }

  template <class Visit>
  static void for_each_segment(const Node& n, const Visit& visit) {
    const auto all = [&](const Nodes& nodes) {
      for (const Node& inner : nodes) for_each_segment(inner, visit);
    };
    match(
        n.node, [&](const SegmentNode& x) { visit(x.segment); },
        [&](const BranchNode& x) {
          all(x.then_nodes);
          all(x.else_nodes);
        },
        [&](const LoopNode& x) {
          all(x.condition);
          all(x.body);
        },
        [&](const FixpointNode& x) { all(x.body); }, [](const ResumeNode&) {},
        [](const CollectiveNode&) {}, [](const CopyNode&) {}, [](const SwapNode&) {});
  }

  void find_open(const Nodes& nodes) {
    for (size_t r = 0; r < nodes.size(); ++r) {
      match(
          nodes[r].node, [](const SegmentNode&) {},
          [&](const BranchNode& x) {
            find_open(x.then_nodes);
            find_open(x.else_nodes);
          },
          [&](const LoopNode& x) {
            find_open(x.condition);
            find_open(x.body);
          },
          [&](const FixpointNode& x) { find_open(x.body); },
          [&](const ResumeNode& x) {
            size_t f = 0;
            while (f < r && !traps_below(nodes[f], x.tag)) ++f;
            for (; f < r; ++f)
              for_each_segment(nodes[f],
                               [&](uint32_t raw) { tree_.segments[raw].open.insert(x.tag); });
          },
          [](const CollectiveNode&) {}, [](const CopyNode&) {}, [](const SwapNode&) {});
    }
  }

  // ---- words of the plan

  void find_words(const Nodes& nodes) {
    for (const Node& n : nodes)
      match(
          n.node, [](const SegmentNode&) {},
          [&](const BranchNode& x) {
            tree_.words.insert(x.word.value);
            find_words(x.then_nodes);
            find_words(x.else_nodes);
          },
          [&](const LoopNode& x) {
            tree_.words.insert(x.word.value);
            find_words(x.condition);
            find_words(x.body);
          },
          [&](const FixpointNode& x) {
            if (!x.most) tree_.words.insert(x.word.value);
            find_words(x.body);
          },
          [](const ResumeNode&) {}, [](const CollectiveNode&) {}, [](const SwapNode&) {},
          [&](const CopyNode& x) {
            for (const LocalId l : {x.dst, x.src, x.count}) tree_.words.insert(l.value);
          });
  }

  // ---- liveness, backward over the tree until nothing changes

  void find_live() {
    do {
      grew_ = false;
      live_before(tree_.nodes, empty_);
      for (const auto& [trap, at] : trap_order_) {
        const uint16_t tag = std::get<Trap>(d_.p[StmtId{trap}]).tag;
        if (!matched(tag)) continue;
        LiveSet& park = tree_.park.try_emplace(trap, empty_).first->second;
        grew_ |= park.unite(tree_.live_at_resume.at(tag));
        if (mutated(Mutation::ParkOwnTagOnly)) continue;
        for (const auto& [other, resume_at] : resume_order_) {
          const auto first = first_trap_.find(other);
          if (first != first_trap_.end() && first->second <= at && at < resume_at)
            grew_ |= park.unite(tree_.live_at_resume.at(other));
        }
      }
    } while (grew_);
  }

  LiveSet live_before(const Nodes& nodes, LiveSet live) {
    for (size_t i = nodes.size(); i-- > 0;)
      match(
          nodes[i].node,
          [&](const SegmentNode& x) {
            RawSegment& raw = tree_.segments[x.segment];
            if (!mutated(Mutation::OpenSpansIgnored))
              for (const uint16_t tag : raw.open) live.unite(tree_.live_at_resume.at(tag));
            grew_ |= raw.live_out.unite(live);
            for (size_t k = raw.items.size(); k-- > 0;)
              live = before(raw.items[k].stmt, std::move(live), nullptr);
            grew_ |= raw.live_in.unite(live);
          },
          [&](const BranchNode& x) {
            LiveSet other = live_before(x.else_nodes, live);
            live = live_before(x.then_nodes, std::move(live));
            live.unite(other);
            live.insert(x.word.value);
          },
          [&](const LoopNode& x) {
            LiveSet after_condition = live;
            after_condition.unite(live_before(x.body, heads_[x.id]));
            after_condition.insert(x.word.value);
            LiveSet head = live_before(x.condition, std::move(after_condition));
            grew_ |= heads_[x.id].unite(head);
            live = heads_[x.id];
          },
          [&](const FixpointNode& x) {
            LiveSet after_body = heads_[x.id];
            after_body.unite(live);
            LiveSet head = live_before(x.body, std::move(after_body));
            if (!x.most) head.insert(x.word.value);
            grew_ |= heads_[x.id].unite(head);
            live = heads_[x.id];
          },
          [&](const ResumeNode& x) { grew_ |= tree_.live_at_resume.at(x.tag).unite(live); },
          [](const CollectiveNode&) {}, [](const SwapNode&) {},
          [&](const CopyNode& x) {
            const auto& copy = std::get<AsyncCopy>(d_.p[x.stmt]);
            for (const LocalId l : {x.dst, x.src, x.count}) live.insert(l.value);
            if (d_.is_shared(copy.src)) live.insert(shared_number(copy.src));
          });
    return live;
  }

  struct Loop {
    const LiveSet* after_break = nullptr;
    const LiveSet* after_continue = nullptr;
  };

  LiveSet before(Block b, LiveSet live, const Loop* loop) {
    const auto items = d_.p.items(b);
    for (size_t k = items.size(); k-- > 0;) live = before(items[k], std::move(live), loop);
    return live;
  }

  LiveSet before(StmtId id, LiveSet live, const Loop* loop) {
    const Stmt& s = d_.p[id];
    match(
        s,
        [&](const Let& x) {
          live.erase(x.local.value);
          use(x.value, live);
        },
        [&](const DeclareArray& x) { live.erase(x.local.value); },
        [&](const Assign& x) {
          if (!x.op) live.erase(x.local.value);
          if (x.op) live.insert(x.local.value);
          use(x.value, live);
        },
        [&](const Store& x) {
          // Part of a private array stays as it was; shared memory that no lane reads does not
          // matter.
          if (x.memory.kind == Memory::Kind::Local) live.insert(x.memory.index);
          if (x.op && d_.is_shared(x.memory)) live.insert(shared_number(x.memory));
          use(x.index, live);
          use(x.value, live);
        },
        [&](const Eval& x) { use(x.value, live); },
        [&](const If& x) {
          LiveSet other = before(x.else_block, live, loop);
          live = before(x.then_block, std::move(live), loop);
          live.unite(other);
          use(x.condition, live);
        },
        [&](const For& x) {
          LiveSet& head = statement_head(id);
          LiveSet next = head;
          next.unite(live);
          const Loop inner{&live, &next};
          LiveSet body = before(x.body, next, &inner);
          body.erase(x.variable.value);
          body.unite(live);
          grew_ |= head.unite(body);
          live = head;
          use(x.first, live);
          use(x.last, live);
        },
        [&](const While& x) {
          LiveSet& head = statement_head(id);
          const LiveSet again = head;
          const Loop inner{&live, &again};
          LiveSet body = before(x.body, again, &inner);
          body.unite(live);
          use(x.condition, body);
          grew_ |= head.unite(body);
          live = head;
        },
        [&](const Break&) { live = *loop->after_break; },
        [&](const Continue&) { live = *loop->after_continue; },
        [&](const Return&) { live = empty_; },
        [&](const Nested& x) { live = before(x.body, std::move(live), loop); },
        [&](const Region& x) { live = before(x.body, std::move(live), loop); },
        [&](const Fixpoint& x) {  // native: it stays in its segment
          LiveSet& head = statement_head(id);
          LiveSet after = head;
          after.unite(live);
          LiveSet body = before(x.body, std::move(after), nullptr);
          grew_ |= head.unite(body);
          live.unite(head);
          use(x.max_passes, live);
        },
        [&](const AsyncCopy& x) {
          if (d_.is_shared(x.src)) live.insert(shared_number(x.src));
          for_each_operand(d_.p, s, [&](ExprId e) { use(e, live); });
        },
        [&](const Trap& x) {
          live = empty_;
          if (matched(x.tag)) live.unite(tree_.park.try_emplace(id.value, empty_).first->second);
          use(x.value, live);
        },
        [](const Barrier&) {}, [](const Wait&) {}, [](const Resume&) {}, [](const Collective&) {},
        [](const Swap&) {}, [](const Print&) {}, [](const Assert&) {});
    return live;
  }

  LiveSet& statement_head(StmtId id) {
    return statement_heads_.try_emplace(id.value, empty_).first->second;
  }

  void use(ExprId id, LiveSet& live) const {
    for_each_expr(d_.p, id, [&](ExprId e) {
      const auto touch = [&](Memory m) {
        if (m.kind == Memory::Kind::Local) live.insert(m.index);
        if (d_.is_shared(m)) live.insert(shared_number(m));
      };
      const Expr& x = d_.p[e];
      if (const auto* r = std::get_if<LocalRef>(&x);
          r != nullptr && !d_.ambient.contains(r->local.value))
        live.insert(r->local.value);
      for_each_memory(d_.p, x, [&](const MemoryUse& use) {
        if (use.access != Access::Length) touch(use.memory);
      });
    });
  }

  void note_definitions(StmtId id, LiveSet& defined) const {
    for_each_stmt(d_.p, id, [&](StmtId s) {
      const auto write = [&](const MemoryUse& use) {
        if (writes(use.access) && use.memory.kind == Memory::Kind::Local)
          defined.insert(use.memory.index);
      };
      for_each_local(d_.p[s], [&](LocalId local, LocalAccess) { defined.insert(local.value); });
      for_each_memory(d_.p, d_.p[s], write);
      for_each_operand(d_.p, d_.p[s], [&](ExprId top) {
        for_each_expr(d_.p, top, [&](ExprId e) { for_each_memory(d_.p, d_.p[e], write); });
      });
    });
  }

  // ---- shared memory, forward

  void written_shared(StmtId id, LiveSet& written) const {
    const auto touch = [&](const MemoryUse& use) {
      if ((writes(use.access) || use.atomic) && use.memory.valid() && d_.is_shared(use.memory))
        written.insert(shared_number(use.memory));
    };
    for_each_stmt(d_.p, id, [&](StmtId s) { for_each_memory(d_.p, d_.p[s], touch); });
    for_each_expr_below(d_.p, id, [&](ExprId e) { for_each_memory(d_.p, d_.p[e], touch); });
  }

  // True if some set grew: loops need another round.
  bool maybe_written(const Nodes& nodes, LiveSet& maybe) {
    bool grew = false;
    for (const Node& n : nodes)
      match(
          n.node,
          [&](const SegmentNode& x) {
            RawSegment& raw = tree_.segments[x.segment];
            grew |= raw.maybe_in.unite(maybe);
            maybe = raw.maybe_in;
            for (const RawSegment::Item& item : raw.items) written_shared(item.stmt, maybe);
            grew |= raw.maybe_out.unite(maybe);
          },
          [&](const BranchNode& x) {
            LiveSet other = maybe;
            grew |= maybe_written(x.then_nodes, maybe);
            grew |= maybe_written(x.else_nodes, other);
            maybe.unite(other);
          },
          [&](const LoopNode& x) { grew |= maybe_written_in_loop(x.condition, &x.body, maybe); },
          [&](const FixpointNode& x) { grew |= maybe_written_in_loop(x.body, nullptr, maybe); },
          [](const ResumeNode&) {}, [](const CollectiveNode&) {}, [](const SwapNode&) {},
          [&](const CopyNode& x) {
            const auto& copy = std::get<AsyncCopy>(d_.p[x.stmt]);
            if (d_.is_shared(copy.dst)) maybe.insert(shared_number(copy.dst));
          });
    return grew;
  }
  bool maybe_written_in_loop(const Nodes& first, const Nodes* second, LiveSet& maybe) {
    bool grew = false;
    do {
      LiveSet around = maybe;
      grew |= maybe_written(first, around);
      if (second != nullptr) grew |= maybe_written(*second, around);
      if (!maybe.unite(around)) return grew;
    } while (true);
  }

  // ---- lanes that ended or wait

  void mark_ended(const Nodes& nodes, bool& ended) {
    for (const Node& n : nodes) {
      if (std::holds_alternative<LoopNode>(n.node) || std::holds_alternative<FixpointNode>(n.node))
        for_each_segment(n, [&](uint32_t raw) { ended |= ends_inside(tree_.segments[raw]); });
      match(
          n.node,
          [&](const SegmentNode& x) {
            RawSegment& raw = tree_.segments[x.segment];
            raw.ended_in = ended;
            ended |= ends_inside(raw);
            raw.ended_out = ended;
          },
          [&](const BranchNode& x) {
            bool other = ended;
            mark_ended(x.then_nodes, ended);
            mark_ended(x.else_nodes, other);
            ended |= other;
          },
          [&](const LoopNode& x) {
            mark_ended(x.condition, ended);
            mark_ended(x.body, ended);
          },
          [&](const FixpointNode& x) { mark_ended(x.body, ended); }, [](const ResumeNode&) {},
          [](const CollectiveNode&) {}, [](const CopyNode&) {}, [](const SwapNode&) {});
    }
  }
  [[nodiscard]] bool ends_inside(const RawSegment& raw) const {
    if (checked_ && !raw.items.empty()) return true;
    return std::ranges::any_of(raw.items, [&](const RawSegment::Item& item) {
      return any_stmt_below(d_.p, item.stmt, [&](StmtId s) { return d_.ends_lane(s); });
    });
  }

  // ---- values that can be computed again

  void find_recomputed() {
    tree_.values.assign(d_.p.locals.size(), ExprId{});
    tree_.recomputed.assign(d_.p.locals.size(), false);
    for (const RawSegment& raw : tree_.segments)
      for (const RawSegment::Item& item : raw.items)
        for_each_stmt(d_.p, item.stmt, [&](StmtId s) {
          const auto* let = std::get_if<Let>(&d_.p[s]);
          if (let == nullptr) return;
          if (d_.p[let->local].kind == Local::Kind::Let || mutated(Mutation::RecomputeVariables))
            tree_.values[let->local.index()] = let->value;
        });
    costs_.assign(d_.p.locals.size(), kUnknown);
    for (uint32_t i = 0; i < d_.p.locals.size(); ++i)
      tree_.recomputed[i] = cost_of(LocalId{i}) <= kMostNodes &&
                            (!tree_.words.contains(i) || mutated(Mutation::RecomputeWords));
  }

  // Nodes that would have to be evaluated again; more than that are saved instead.
  static constexpr uint32_t kMostNodes = 24;
  static constexpr uint32_t kNever = 1'000'000;
  static constexpr uint32_t kUnknown = ~uint32_t{0};

  uint32_t cost_of(LocalId local) {
    if (costs_[local.index()] != kUnknown) return costs_[local.index()];
    costs_[local.index()] = kNever;  // also cuts circles, which immutable locals cannot have
    const ExprId value = tree_.values[local.index()];
    uint32_t cost = kNever;
    if (value.valid()) {
      cost = 0;
      for_each_expr(d_.p, value, [&](ExprId e) { cost = std::min(kNever, cost + node_cost(e)); });
    }
    costs_[local.index()] = cost;
    return cost;
  }
  uint32_t node_cost(ExprId id) {
    const Expr& e = d_.p[id];
    if (const auto* ref = std::get_if<LocalRef>(&e)) return cost_of(ref->local);
    if (std::holds_alternative<BuiltinRef>(e) && mutated(Mutation::RecomputeFixpointResult))
      return 1;
    switch (properties_of(e).rematerialise) {
      case Rematerialise::Always: {
        const auto* call = std::get_if<IntrinsicCall>(&e);
        return call != nullptr && is_maths(call->op) ? kNever : 1;
      }
      case Rematerialise::WhileMemoryUnchanged: {
        bool unchanged = true;
        for_each_memory(d_.p, e, [&](const MemoryUse& use) {
          const BufferId buffer = use.memory.buffer();
          unchanged = unchanged && buffer.valid() &&
                      (is_read_only(d_.p[buffer].kind) || mutated(Mutation::RecomputeLoads));
        });
        return unchanged ? 4 : kNever;
      }
      case Rematerialise::Never: return kNever;
    }
    return kNever;
  }

  const Draft& d_;
  Tree& tree_;
  bool checked_;
  uint32_t shared_;
  LiveSet empty_;
  std::vector<LiveSet> heads_;  // by id of a loop or fixpoint
  std::unordered_map<uint32_t, LiveSet> statement_heads_;
  std::map<uint32_t, uint32_t> trap_order_;    // by StmtId
  std::map<uint16_t, uint32_t> first_trap_;    // by tag
  std::map<uint16_t, uint32_t> resume_order_;  // by tag
  std::vector<uint32_t> costs_;
  bool grew_ = false;
};

}  // namespace

bool fits_analysis(const Draft& d, const Tree& tree) {
  constexpr uint64_t kMostBytes = uint64_t{256} << 20;
  constexpr uint64_t kMostPairs = uint64_t{1} << 22;
  uint64_t traps = 0;
  uint64_t resumes = 0;
  for (const Stmt& s : d.p.stmts) {
    traps += std::holds_alternative<Trap>(s) ? 1 : 0;
    resumes += std::holds_alternative<Resume>(s) ? 1 : 0;
  }
  // A segment has five sets; a lane that waits and a resume have one each.
  const uint64_t set_bytes = (d.p.locals.size() + d.p.buffers.size()) / 8 + 1;
  const uint64_t sets =
      5 * tree.segments.size() + tree.loops + (resumes != 0 ? traps : 0) + resumes;
  return sets * set_bytes <= kMostBytes && resumes * (traps + tree.segments.size()) <= kMostPairs;
}

Tree analyse(const Draft& d, Tree tree, bool checked) {
  Analysis(d, tree, checked).run();
  return tree;
}

Storage assign_storage(const Draft& d, const Tree& tree, const CutPoints& cuts) {
  Storage storage;
  const auto locals = static_cast<uint32_t>(d.p.locals.size());
  // Sets of values that have to exist at the same time.
  std::vector<const LiveSet*> alive_at_once;
  alive_at_once.reserve(tree.segments.size() + tree.live_at_resume.size() + tree.park.size());
  for (const RawSegment& raw : tree.segments) alive_at_once.push_back(&raw.live_out);
  for (const auto& [tag, set] : tree.live_at_resume) alive_at_once.push_back(&set);
  for (const auto& [trap, set] : tree.park) alive_at_once.push_back(&set);
  std::vector<std::vector<uint32_t>> sets_of(locals);
  for (uint32_t k = 0; k < alive_at_once.size(); ++k)
    alive_at_once[k]->for_each([&](uint32_t i) {
      if (i < locals) sets_of[i].push_back(k);
    });

  std::vector<LiveSet> taken(alive_at_once.size(), LiveSet(locals));  // slots, by set
  // To find a slot that is free everywhere takes a look at all sets; past that many words of them
  // a value gets a slot of its own.
  constexpr uint64_t kMostProbes = uint64_t{1} << 30;
  uint64_t probes = 0;
  for (uint32_t i = 0; i < locals; ++i) {
    if (sets_of[i].empty() || (tree.recomputed[i] && !tree.words.contains(i))) continue;
    const LocalId local{i};
    const Type type = d.type_of(local);
    const uint32_t elements = d.c.array_counts[i];
    const Level level = d.level_of(local);
    // An array counts as all its elements.
    const uint32_t words = words_of(type) * std::max(1U, elements);
    if (level == Level::Grid || (level == Level::Workgroup && cuts.scope == Scope::Workgroup)) {
      storage.frame[i] = storage.frame_words;
      storage.frame_words += words;
      continue;
    }
    if (level == Level::Workgroup) {
      storage.group_frame[i] = static_cast<uint32_t>(storage.group_rows.size());
      storage.group_rows.push_back(words);
      continue;
    }
    probes += sets_of[i].size() * (locals / 64 + 1);
    LiveSet occupied(locals);
    if (!mutated(Mutation::ReuseSlot) && probes <= kMostProbes)
      for (const uint32_t k : sets_of[i]) occupied.unite(taken[k]);
    const auto fits = [&](uint32_t slot) {
      return !occupied.contains(slot) && storage.slots[slot].type == type &&
             storage.slots[slot].elements == elements;
    };
    uint32_t slot = probes <= kMostProbes ? 0 : static_cast<uint32_t>(storage.slots.size());
    while (slot < storage.slots.size() && !fits(slot)) ++slot;
    if (slot == storage.slots.size()) storage.slots.push_back({type, elements});
    storage.slot[i] = slot;
    for (const uint32_t k : sets_of[i]) taken[k].insert(slot);
  }
  return storage;
}

}  // namespace vyre::plan
