// SPDX-License-Identifier: Apache-2.0
// Every invariant of the planner, broken by hand: what is found names it.
#include "plan/validate.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/lower.hpp"
#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

using namespace ir;
using testing::HasSubstr;

constexpr std::string_view kLoop = R"(program p {
  workgroup 4; inout a : u32[]; in n : u32[1];
  let x = a[gid.x];
  let y = a[gid.x + 1];
  for k in 0 .. n[0] { a[gid.x] += x; barrier grid; a[gid.x] += y; }
})";
constexpr std::string_view kFixpoint = R"(program p {
  workgroup 4; inout a : u32[]; in n : u32[1];
  fixpoint max 10 over (a) { atomic_max(a[gid.x], 1); }
  barrier grid;
  a[gid.x] += 1;
})";
constexpr std::string_view kReturns = R"(program p {
  workgroup 4; inout a : u32[];
  if a[gid.x] == 1 { return; }
  barrier grid;
  a[gid.x] += 1;
})";

PassInfo pass_named(std::string_view name) {
  const std::vector<PassInfo> all = passes();
  const auto found = std::ranges::find(all, name, &PassInfo::name);
  EXPECT_NE(found, all.end()) << name;
  return *found;
}

Lowering lowered(std::string_view source, std::string_view pass, Target target = Target::Split) {
  PlanOptions options;
  if (target == Target::Native) options.variant.route = Route::Native;
  if (target == Target::Persistent) options.variant.route = Route::Persistent;
  return lower_up_to(checked_text(source), options, target, pass);
}

std::string broken(const Lowering& l, std::string_view pass) {
  return find_broken({.pass = pass_named(pass), .lowering = l});
}
std::string broken(const Lowering& l, std::string_view pass, const SegmentBody& s) {
  return find_broken({.pass = pass_named(pass), .lowering = l, .segment = &s});
}

// The first statement of this kind, at any depth.
template <class Kind>
StmtId first(const Lowering& l) {
  StmtId found;
  for (const StmtId top : l.d.p.items(l.d.p.body))
    for_each_stmt(l.d.p, top, [&](StmtId s) {
      if (!found.valid() && std::holds_alternative<Kind>(l.d.p[s])) found = s;
    });
  EXPECT_TRUE(found.valid());
  return found;
}

void append(Lowering& l, StmtId added) {
  const auto items = l.d.p.items(l.d.p.body);
  StmtList list(items.begin(), items.end());
  list.push_back(added);
  l.d.p.body = l.d.block(list);
}

TEST(Validate, NothingIsBrokenByThePlannerItself) {
  for (const std::string_view source : {kLoop, kFixpoint, kReturns})
    for (const Target target : {Target::Split, Target::Native, Target::Persistent}) {
      const auto check = [&](const AfterPass& after) {
        EXPECT_EQ(find_broken(after), "") << after.pass.name;
      };
      PlanOptions options;
      if (target == Target::Persistent) options.variant = {.route = Route::Persistent};
      EXPECT_TRUE(lower(checked_text(source), options, target, check).has_value());
    }
}

// ---- the program

TEST(Validate, FactsOfNodes) {
  Lowering l = lowered(kLoop, "inline-calls");
  EXPECT_EQ(broken(l, "inline-calls"), "");
  l.d.c.expr_types.pop_back();
  EXPECT_EQ(broken(l, "inline-calls"), "an expression has no type or no bounds proof");
  l = lowered(kLoop, "inline-calls");
  l.d.p.locals[0].name = l.d.p.locals[1].name;
  EXPECT_EQ(broken(l, "inline-calls"), "two locals are called `y`");
  l = lowered(kLoop, "inline-calls");
  append(l, first<Let>(l));
  EXPECT_EQ(broken(l, "inline-calls"), "an expression has two uses (line 3)");
  l = lowered(kLoop, "inline-calls");
  append(l, l.d.let(LocalId{0}, l.d.number(1)));
  EXPECT_EQ(broken(l, "inline-calls"), "`x` is declared twice");
}

TEST(Validate, BarriersInFunctions) {
  Lowering l(checked_text(R"(program p {
    workgroup 4; inout a : u32[];
    fn wait_for(k : u32) -> u32 { barrier grid; return k; }
    let x = wait_for(1); a[gid.x] = x;
  })"),
             {}, Target::Split);
  EXPECT_EQ(broken(l, "inline-calls"),
            "the function `wait_for`, which is called, synchronises or stops lanes (line 4)");
}

TEST(Validate, Prints) {
  Lowering l = lowered(kLoop, "lower-prints");
  EXPECT_EQ(broken(l, "lower-prints"), "");
  append(l, l.d.stmt(Print{"left", {}}));
  EXPECT_EQ(broken(l, "lower-prints"), "a print or an assert is left");
}

TEST(Validate, FixpointsOfZeroPasses) {
  Lowering l = lowered(kFixpoint, "guard-zero-passes");
  EXPECT_EQ(broken(l, "guard-zero-passes"), "");
  Fixpoint& fixpoint = std::get<Fixpoint>(l.d.p.stmts[first<Fixpoint>(l).index()]);
  fixpoint.max_passes = l.d.load(Memory::of(BufferId{1}), l.d.number(0));
  EXPECT_EQ(broken(l, "guard-zero-passes"), "a fixpoint may be entered for 0 passes (line 3)");
}

TEST(Validate, FixpointsWithoutModes) {
  Lowering l = lowered(kFixpoint, "find-fixpoint-modes");
  l.d.fixpoints[0].buffers.clear();
  EXPECT_EQ(broken(l, "find-fixpoint-modes"), "a fixpoint has no modes for its buffers (line 3)");
}

TEST(Validate, ControlWordsAndVotes) {
  Lowering l = lowered(kFixpoint, "declare-votes", Target::Native);
  EXPECT_EQ(broken(l, "declare-votes"), "");
  l.native->rounds.clear();
  EXPECT_EQ(broken(l, "declare-votes"), "a fixpoint has no local for the round of its votes");
  l.native.reset();
  EXPECT_EQ(broken(l, "declare-votes"), "votes of the grid have no words");
  l.control = BufferId{0};
  EXPECT_EQ(broken(l, "declare-control"), "the control words are no hidden buffer");
}

TEST(Validate, EffectsInLargerValues) {
  Lowering l = lowered(kLoop, "separate-effects", Target::Native);
  EXPECT_EQ(broken(l, "separate-effects"), "");
  const ExprId load =
      l.d.expr(UniformLoad{Scope::Grid, Memory::of(BufferId{0}), l.d.number(0)}, Type::U32);
  append(l, l.d.store(Memory::of(BufferId{0}), l.d.number(0), load));
  EXPECT_EQ(broken(l, "separate-effects"), "a load with barriers is part of a larger value");
}

TEST(Validate, WritesThatAreNotTracked) {
  Lowering l = lowered(kFixpoint, "find-fixpoint-modes");
  EXPECT_EQ(broken(l, "track-writes"), "the control words are no hidden buffer");
  l = lowered(kFixpoint, "declare-control");
  EXPECT_EQ(broken(l, "track-writes"),
            "a write to a tracked buffer of a fixpoint is not marked (line 3)");
}

TEST(Validate, ControlFlowAroundCuts) {
  Lowering l = lowered(kLoop, "track-writes");
  EXPECT_EQ(broken(l, "normalise"), "a `for` is left around a cut (line 5)");
  l = lowered(kLoop, "normalise");
  EXPECT_EQ(broken(l, "normalise"), "");
  const StmtId loop = first<While>(l);
  const Draft::LoopForm form = l.d.loop_forms.at(loop.value);
  l.d.loop_forms.clear();
  EXPECT_THAT(broken(l, "normalise"),
              HasSubstr("a loop around a cut has no word that says whether it goes on"));
  l.d.loop_forms[loop.value] = form;
  const auto items = l.d.p.items(std::get<While>(l.d.p[loop]).body);
  StmtList body(items.begin(), items.end());
  body.push_back(l.d.when(l.d.boolean(true), {l.d.stmt(Break{})}));
  std::get<While>(l.d.p.stmts[loop.index()]).body = l.d.block(body);
  EXPECT_EQ(broken(l, "normalise"), "a jump crosses a cut");
}

// ---- the tree

TEST(Validate, RawSegmentsWithCuts) {
  Lowering l = lowered(kLoop, "cut");
  EXPECT_EQ(broken(l, "cut"), "");
  l.tree.segments.front().items.push_back({first<While>(l)});
  EXPECT_EQ(broken(l, "cut"), "a cut stands inside of a segment (line 5)");
  l = lowered(kLoop, "cut");
  l.tree.nodes.pop_back();
  EXPECT_THAT(broken(l, "cut"), HasSubstr("does not stand once in the tree, in source order"));
}

TEST(Validate, ValuesThatLiveAcross) {
  Lowering l = lowered(kLoop, "assign-storage");
  EXPECT_EQ(broken(l, "assign-storage"), "");
  ASSERT_EQ(l.storage->slot.size(), 2U);
  l.storage->slot.begin()->second = l.storage->slot.rbegin()->second;
  EXPECT_EQ(broken(l, "assign-storage"),
            "`y` shares slot 1 with a value that lives at the same time");
  l.storage->slot.clear();
  EXPECT_EQ(broken(l, "assign-storage"), "`y` lives across a cut and has 0 places");
  l.tree.segments.front().live_in.insert(0);
  EXPECT_EQ(broken(l, "find-live-values"), "`x` is live where the program begins");
}

TEST(Validate, StorageWithoutBuffers) {
  Lowering l = lowered(kLoop, "declare-hidden");
  EXPECT_EQ(broken(l, "declare-hidden"), "");
  l.hidden.slots.pop_back();
  EXPECT_EQ(broken(l, "declare-hidden"), "storage has no hidden buffer");
  l = lowered(kLoop, "declare-hidden");
  l.d.arguments.back().index = 99;
  EXPECT_EQ(broken(l, "declare-hidden"), "a buffer stands for hidden memory that is not there");
}

// ---- segments

TEST(Validate, SegmentsWithCuts) {
  Lowering l = lowered(kReturns, "declare-hidden");
  SegmentMaker maker(l);
  SegmentBody s;
  s.raw = &l.tree.segments.front();
  s = maker.save_and_restore(std::move(s));
  EXPECT_EQ(broken(l, "save-and-restore", s), "");
  s.body.push_back(l.d.barrier(Scope::Grid));
  EXPECT_EQ(broken(l, "save-and-restore", s), "a cut is left");
  s.body.back() = l.d.stmt(Trap{1, l.d.number(0)});
  EXPECT_EQ(broken(l, "save-and-restore", s), "a trap is left");
}

TEST(Validate, SegmentsInALaunch) {
  Lowering l = lowered(kFixpoint, "declare-hidden", Target::Native);
  SegmentMaker maker(l);
  SegmentBody s;
  s.raw = &l.tree.segments.front();
  s = maker.save_and_restore(std::move(s));
  EXPECT_EQ(broken(l, "lower-fixpoints", s), "a fixpoint is left (line 3)");
  s = maker.lower_fixpoints(std::move(s));
  EXPECT_EQ(broken(l, "lower-fixpoints", s), "");
  s = maker.lower_ended_lanes(std::move(s));
  EXPECT_EQ(broken(l, "lower-ended-lanes", s), "");
  EXPECT_THAT(broken(l, "number-lanes", s), HasSubstr("`lane` is used where it is not declared"));
  s = maker.number_lanes(std::move(s));
  EXPECT_EQ(broken(l, "number-lanes", s), "");
  s.body.push_back(l.d.stmt(Return{}));
  EXPECT_EQ(broken(l, "number-lanes", s), "a lane leaves without the others");
}

TEST(Validate, PersistentKernels) {
  Lowering l = lowered(kFixpoint, "declare-hidden", Target::Persistent);
  SegmentMaker maker(l);
  SegmentBody s;
  s.raw = &l.tree.segments.front();
  s = maker.save_and_restore(std::move(s));
  s = maker.lower_fixpoints(std::move(s));
  s = maker.lower_ended_lanes(std::move(s));
  s = maker.number_lanes(std::move(s));
  s.workgroups_per_block = 1;
  EXPECT_EQ(broken(l, "make-persistent", s),
            "a persistent kernel reads `gid` of the launch (line 3)");
  s = maker.make_persistent(std::move(s));
  EXPECT_FALSE(l.refusal);
  EXPECT_EQ(broken(l, "make-persistent", s), "");
  s = maker.extract(std::move(s));
  EXPECT_EQ(broken(l, "extract", s), "");
  l.plan.segments.back().arguments.pop_back();
  EXPECT_EQ(broken(l, "extract", s), "a buffer of the segment stands for nothing");
}

// ---- the plan

TEST(Validate, Steps) {
  const auto plan_with = [](const Step& step) {
    Lowering l = lowered(kLoop, "declare-hidden");
    l.plan.steps = {step};
    l.plan.segments.resize(1);
    return broken(l, "make-steps");
  };
  EXPECT_EQ(plan_with({LaunchStep{0}}), "");
  EXPECT_EQ(plan_with({LaunchStep{1}}), "a step launches segment 1, which is not there");
  EXPECT_EQ(plan_with({PhaseStep{}}), "segment 0 has 0 launch steps");
  EXPECT_EQ(plan_with({LoopStep{{}, 7, {}, {}}}), "a step decides on word 7 of 0");
  EXPECT_EQ(plan_with({ResumeStep{0}}), "a step resumes at no place");
  EXPECT_EQ(plan_with({FixpointStep{0, 1, 0, {}}}), "a step runs no fixpoint");
}

TEST(ValidateDeathTest, EndsTheProcessWithThePass) {
  EXPECT_DEATH(
      report_broken("normalise", "a `for` is left around a cut (line 5)"),
      "after the pass `normalise` of the planner, a `for` is left around a cut \\(line 5\\)");
}

}  // namespace
}  // namespace vyre::plan
