// SPDX-License-Identifier: Apache-2.0
// Goes through the program once, in order, with the guards that a lane has passed on its way.
// Functions are gone through at each call. What is not understood is a guard that no lane passes,
// so a store behind it counts for nothing; a read counts wherever it stands.
#include "vyre/check/overwritten.hpp"

#include <algorithm>

#include "base/match.hpp"
#include "check/lane_values.hpp"
#include "ir/properties.hpp"

namespace vyre::check {

using namespace ir;
using namespace cover;

namespace {

// A way out of the loop with this body that is not its end.
bool leaves_loop(const Program& p, Block body, bool inner = false) {
  return std::ranges::any_of(p.items(body), [&](StmtId id) {
    const Stmt& s = p[id];
    const StmtProperties row = properties_of(s);
    if (row.may_end_lane) return true;
    if (row.exit != Exit::None) return !inner;
    bool found = false;
    for_each_block(s, [&](Block b) { found = found || leaves_loop(p, b, inner || row.is_loop); });
    return found;
  });
}

bool always_returns(const Program& p, Block block) {
  return std::ranges::any_of(p.items(block), [&](StmtId id) {
    const Stmt& s = p[id];
    if (std::holds_alternative<Return>(s)) return true;
    if (const auto* x = std::get_if<Nested>(&s)) return always_returns(p, x->body);
    if (const auto* x = std::get_if<Region>(&s)) return always_returns(p, x->body);
    return false;
  });
}

class Walk {
 public:
  Walk(const CheckedProgram& checked, const Launch& launch,
       std::span<const std::span<const std::byte>> given)
      : c_(checked),
        p_(checked.program),
        launch_(launch),
        stages_(p_.buffers.size(), Stage::Open),
        read_(p_.buffers.size()),
        lanes_(checked, launch, given) {}

  std::vector<bool> run() {
    block(p_.body);
    std::vector<bool> all(p_.buffers.size());
    if (left_ == 0) return all;
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = p_.buffers[i].kind != BufferKind::Shared && !c_.buffers[i].input_slot &&
               stages_[i] != Stage::Open && !read_[i];
    return all;
  }

 private:
  // What is enough for any program that is worth it, so that no launch waits long for an answer.
  static constexpr uint32_t kMostStatements = 10'000;

  // Of a buffer: nothing is known; all of it is stored in this phase; likewise, but lanes may have
  // ended since, which no barrier waits for; all of it is stored and a barrier of the grid has
  // followed.
  enum class Stage : uint8_t { Open, Stored, Left, Settled };

  // ---- what happens to buffers

  void read(Memory m) {
    if (const BufferId b = lanes_.resolve(m); b.valid() && stages_[b.index()] != Stage::Settled)
      read_[b.index()] = true;
  }

  void store(const Store& s) {
    const BufferId b = lanes_.resolve(s.memory);
    if (!b.valid() || stopped_ || stages_[b.index()] != Stage::Open ||
        c_.buffers[b.index()].input_slot)
      return;
    const auto index = lanes_.value(s.index);
    if (!index || !covers(*index, highest_of(*c_.expr_types[s.index.index()]), lanes_.guards,
                          launch_, launch_.counts[b.index()]))
      return;
    // Of a loop all iterations have to be done.
    if (depth_ == 0)
      stages_[b.index()] = Stage::Stored;
    else
      pending_.push_back(b);
  }

  void settle() { std::ranges::replace(stages_, Stage::Stored, Stage::Settled); }

  // ---- expressions: what they read, and what functions in them store

  void visit(ExprId id) {
    const Expr& e = p_[id];
    for_each_evaluated(
        p_, e, [&](ExprId operand) { visit(operand); },
        [&](const LazyOperand& lazy) {
          inside([&] {
            lanes_.assume(lazy.condition, lazy.truth);
            visit(lazy.operand);
          });
        });
    if (const auto* x = std::get_if<Call>(&e)) return call(*x);
    if (properties_of(e).synchronises == Scope::Grid) settle();
    // An atomic counts as a read, whatever it does: lanes execute it in any order.
    for_each_memory(p_, e, [&](const MemoryUse& use) {
      if (use.access != Access::Length) read(use.memory);
    });
  }

  void call(const Call& e) {
    if (left_ == 0) return;
    const Fn& fn = p_[e.fn];
    const auto params = p_.params(fn.params);
    const auto arguments = p_.arguments(e.args);
    std::vector<std::optional<Form>> values;
    std::vector<BufferId> memories;
    for (const Arg& arg : arguments) {
      const auto* x = std::get_if<ExprId>(&arg);
      values.push_back(x != nullptr ? lanes_.value(*x) : std::nullopt);
      memories.push_back(x != nullptr ? BufferId{} : lanes_.resolve(std::get<Memory>(arg)));
    }
    for (size_t i = 0; i < params.size(); ++i) {
      lanes_.define(params[i], std::move(values[i]));
      lanes_.define(params[i], memories[i]);
    }
    ++calls_;
    const uint32_t before = returns_;
    inside([&] { block(fn.body); });
    returns_ = before;  // they left the function only
    --calls_;
  }

  // ---- statements

  // Something that not all lanes may come to: guards are forgotten at its end, and so is that a
  // barrier followed.
  template <class Body>
  void inside(const Body& body) {
    const size_t guards = lanes_.guards.size();
    const std::vector<Stage> before = stages_;
    const uint32_t ended = ended_;
    body();
    lanes_.guards.resize(guards);
    for (size_t i = 0; i < stages_.size(); ++i)
      if (stages_[i] == Stage::Settled && before[i] != Stage::Settled)
        stages_[i] = ended == ended_ ? Stage::Stored : Stage::Left;
  }

  void block(Block b) {
    for (const StmtId id : p_.items(b)) statement(id);
  }

  void statement(StmtId id) {
    if (left_ == 0) return;
    --left_;
    const Stmt& s = p_[id];
    for_each_operand(p_, s, [&](ExprId e) { visit(e); });
    match(
        s, [&](const Let& x) { lanes_.define(x); }, [](const DeclareArray&) {},
        [](const Assign&) {}, [&](const Store& x) { x.op ? read(x.memory) : store(x); },
        [](const Eval&) {}, [&](const If& x) { branch(x); }, [&](const For& x) { loop(x); },
        [&](const While& x) { unknown_times(x.body); }, [](const Break&) {}, [](const Continue&) {},
        [&](const Return&) { leave(); }, [&](const Nested& x) { block(x.body); },
        [&](const Region& x) { block(x.body); },
        [&](const Barrier& x) {
          if (x.scope == Scope::Grid) settle();
        },
        [&](const Fixpoint& x) { fixpoint(x); }, [&](const AsyncCopy& x) { read(x.src); },
        [](const Wait&) {}, [](const Trap&) {}, [](const Resume&) {}, [](const Collective&) {},
        [&](const Swap& x) {
          // Contents that are not all stored by now are seen under the other name.
          settle();
          read(x.a);
          read(x.b);
        },
        [](const Print&) {}, [](const Assert&) {});
  }

  void leave() {
    ++returns_;
    lanes_.guards.push_back(never());  // for what stands behind it
    if (calls_ != 0) return;
    ++ended_;
    std::ranges::replace(stages_, Stage::Stored, Stage::Left);
  }

  void branch(const If& x) {
    const auto took = [&](Block b, bool truth) {
      const uint32_t before = returns_;
      inside([&] {
        lanes_.assume(x.condition, truth);
        block(b);
      });
      return returns_ != before;
    };
    const bool then_left = took(x.then_block, true);
    const bool else_left = took(x.else_block, false);
    if (!then_left && !else_left) return;
    // Who goes on: to say it, all lanes of one side and none of the other must have left.
    if (then_left && !else_left && always_returns(p_, x.then_block))
      lanes_.assume(x.condition, false);
    else if (else_left && !then_left && always_returns(p_, x.else_block))
      lanes_.assume(x.condition, true);
    else
      lanes_.guards.push_back(never());
  }

  void loop(const For& x) {
    const auto first = lanes_.value(x.first);
    const auto last = lanes_.value(x.last);
    const auto step = x.step.valid() ? lanes_.value(x.step) : Form::of(1);
    const uint32_t before = returns_;
    inside([&] {
      std::optional<Form> at;
      if (first && last && last->constant() && step && step->constant() && step->offset > 0)
        at = add(*first, Form::of_unknown(kFirstIteration + depth_), step->offset);
      lanes_.define(x.variable, at);
      if (at && !leaves_loop(p_, x.body)) {
        const Type type = *c_.expr_types[x.first.index()];
        lanes_.guards.push_back({*first, lowest_of(type), highest_of(type)});
        lanes_.guards.push_back({*at, -kHuge, last->offset - 1});  // it never passes its type
      } else {
        lanes_.guards.push_back(never());
      }
      ++depth_;
      block(x.body);
      --depth_;
    });
    if (returns_ != before) lanes_.guards.push_back(never());
    if (depth_ != 0) return;
    for (const BufferId b : pending_)  // unless one of the iterations was the last for all
      if (!stopped_ && stages_[b.index()] == Stage::Open) stages_[b.index()] = Stage::Stored;
    pending_.clear();
  }

  void unknown_times(Block body) {
    const uint32_t before = returns_;
    inside([&] {
      lanes_.guards.push_back(never());
      block(body);
    });
    if (returns_ != before) lanes_.guards.push_back(never());
  }

  void fixpoint(const Fixpoint& x) {
    settle();
    for (const Memory m : p_.memories(x.buffers)) read(m);  // passes are compared
    unknown_times(x.body);
    const auto most = lanes_.value(x.max_passes);
    if (!most || !most->constant() || most->offset <= 0) stopped_ = true;
  }

  const CheckedProgram& c_;
  const Program& p_;
  const Launch& launch_;
  std::vector<Stage> stages_;  // by BufferId
  std::vector<bool> read_;     // by BufferId: before it was settled
  LaneValues lanes_;
  std::vector<BufferId> pending_;  // stored by the loop around
  uint32_t depth_ = 0;             // of loops
  uint32_t calls_ = 0;             // around this place
  uint32_t returns_ = 0;           // seen so far, of this function
  uint32_t ended_ = 0;             // those of them that end lanes
  bool stopped_ = false;           // the program may have been
  uint32_t left_ = kMostStatements;
};

}  // namespace

std::vector<bool> overwritten(const CheckedProgram& checked, const Launch& launch,
                              std::span<const std::span<const std::byte>> given) {
  const Program& p = checked.program;
  const auto stops = [&](const Stmt& s) {
    // Without an iteration a loop asks nothing of its step.
    if (const auto* loop = std::get_if<For>(&s))
      return loop->step.valid() && !evaluate_constant(checked, loop->step) &&
             !checked.positive_steps[static_cast<size_t>(&s - p.stmts.data())];
    return std::holds_alternative<Trap>(s) || std::holds_alternative<Resume>(s) ||
           std::holds_alternative<Collective>(s) || std::holds_alternative<Assert>(s);
  };
  const auto is_output = [](const BufferFacts& b) {
    return b.role != Role::Shared && !b.input_slot;
  };
  if (launch.workgroups() == 0 || std::ranges::none_of(checked.buffers, is_output) ||
      std::ranges::any_of(p.stmts, stops))
    return std::vector<bool>(p.buffers.size());
  return Walk(checked, launch, given).run();
}

}  // namespace vyre::check
