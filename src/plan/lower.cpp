// SPDX-License-Identifier: Apache-2.0
// The plan as a story: every pass of every route in the order in which it runs, and why. A pass
// takes a value and returns the next one, and makes an invariant that holds from there on; dumps
// and validation hook in at finished().
#include "plan/lower.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "check/prints.hpp"
#include "ir/properties.hpp"
#include "plan/core_forms.hpp"
#include "plan/passes.hpp"
#include "plan/validate.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

// ---- which targets a pass is for

struct Targets {
  uint8_t bits = 0;
  [[nodiscard]] constexpr bool contains(Target t) const {
    return (bits >> static_cast<unsigned>(t) & 1) != 0;
  }
};
constexpr Targets of(std::initializer_list<Target> list) {
  Targets targets;
  for (const Target t : list)
    targets.bits = static_cast<uint8_t>(targets.bits | 1U << static_cast<unsigned>(t));
  return targets;
}
using enum Target;
constexpr Targets kAll = of({Split, Native, Persistent, Phases});
constexpr Targets kGrid = of({Split, Native, Persistent});
constexpr Targets kInLaunch = of({Native, Persistent});
constexpr Targets kPersistent = of({Persistent});

// ---- passes over the program, up to the segments

// Places at which the source synchronises the grid; a load and a fixpoint have two each.
uint32_t count_barriers(const Draft& d) {
  uint32_t count = 0;
  for (const StmtId top : d.p.items(d.p.body)) {
    for_each_stmt(d.p, top, [&](StmtId s) {
      if (properties_of(d.p[s]).synchronises == Scope::Grid)
        count += std::holds_alternative<Fixpoint>(d.p[s]) ? 2 : 1;
    });
    for_each_expr_below(d.p, top, [&](ExprId e) {
      count += properties_of(d.p[e]).synchronises == Scope::Grid ? 2 : 0;
    });
  }
  return count;
}

Lowering inline_all_calls(Lowering l) {
  const bool fixpoints = std::ranges::any_of(
      l.d.p.stmts, [](const Stmt& s) { return std::holds_alternative<Fixpoint>(s); });
  const bool grid = l.cuts.scope == Scope::Grid;
  l.d = inline_calls(std::move(l.d), {.effects = grid && (l.stays_in_launch() || fixpoints),
                                      .ids = l.target == Persistent});
  if (grid) l.plan.barriers = count_barriers(l.d);
  return l;
}

Lowering lower_all_prints(Lowering l) {
  const check::PrintsKept kept{.prints = l.options.print, .asserts = l.options.checked};
  if (check::has_kept(l.d.c, kept)) {
    const uint32_t words = l.options.print ? check::print_record_words(l.d.c) : 0;
    l.d = lower_prints(std::move(l.d), l.plan, words);
  }
  return l;
}

Lowering declare_control(Lowering l) {
  l.plan.control.fixpoints = static_cast<uint32_t>(l.d.fixpoints.size());
  Hidden words;
  words.kind = Hidden::Kind::Control;
  words.name = "control";
  l.control = l.d.add_hidden(std::move(words));
  return l;
}

Lowering track_all_writes(Lowering l) {
  const auto mark = [&](Draft& d, uint32_t row) {
    if (l.native && l.native->inside[row]) return mark_changed(d, *l.native, row);
    return d.atomic(AtomicOp::Store, Memory::of(l.control), d.number(l.plan.control.changed(row)),
                    d.number(1));
  };
  l.d = track_writes(std::move(l.d), mark);
  return l;
}

Lowering cut_program(Lowering l) {
  l.tree = cut(l.d, l.cuts);
  if (!fits_analysis(l.d, l.tree)) l.refusal = Refusal::TooLarge;
  return l;
}

struct ProgramPass {
  PassInfo info;
  Targets targets;
  Lowering (*run)(Lowering);
  Invariant invariant;
};
constexpr auto kOfProgram = std::to_array<ProgramPass>({
    {{"inline-calls", "every barrier, trap and resume stands in the one body that is cut"},
     kAll,
     inline_all_calls,
     invariant::barriers_in_the_body},
    {{"lower-prints", "a line that is printed is a record in memory, a failed assert is a trap"},
     kGrid,
     lower_all_prints,
     invariant::prints_lowered},
    {{"lower-axes", "what is left of axes are expressions, which every later pass knows"},
     kAll,
     [](Lowering l) {
       l.d = lower_axes(std::move(l.d));
       return l;
     },
     invariant::axes_lowered},
    {{"guard-zero-passes", "a fixpoint of at most 0 passes stops all lanes before it starts"},
     kGrid,
     [](Lowering l) {
       l.d = guard_zero_passes(std::move(l.d));
       return l;
     },
     invariant::zero_passes_guarded},
    {{"find-fixpoint-modes",
      "how each buffer of a fixpoint notices a change decides what is added"},
     kGrid,
     [](Lowering l) {
       l.d = find_fixpoint_modes(std::move(l.d), l.options.checked);
       return l;
     },
     invariant::fixpoints_have_modes},
    {{"declare-control", "segments report to the host in words of their own"},
     kAll,
     declare_control,
     invariant::control_declared},
    {{"declare-votes",
      "votes of lanes that stay in a launch need words, and locals of their round"},
     kInLaunch,
     [](Lowering l) {
       l.native = prepare_native(l.d, l.cuts, l.control);
       return l;
     },
     invariant::votes_declared},
    {{"separate-effects", "inactive lanes execute uniform code, which must have no effect"},
     kInLaunch,
     [](Lowering l) {
       l.d = separate_effects(std::move(l.d));
       return l;
     },
     invariant::effects_separated},
    // After separate-effects, which would take the added accesses for those of the source.
    {{"track-writes", "a write that changes a buffer of a fixpoint says so"},
     kGrid,
     track_all_writes,
     invariant::writes_tracked},
    {{"normalise", "branches and loops around a cut decide on locals, which the plan can read"},
     kAll,
     [](Lowering l) {
       l.d = normalise(std::move(l.d), l.cuts);
       return l;
     },
     invariant::normal_form},
});

// ---- passes over the tree of segments

constexpr auto kOfTree = std::to_array<ProgramPass>({
    {{"cut", "what stands between two cuts becomes a segment"},
     kAll,
     cut_program,
     invariant::segments_without_cuts},
    {{"find-live-values", "only what is read after a cut has to outlive it"},
     kAll,
     [](Lowering l) {
       l.tree = analyse(l.d, std::move(l.tree), l.options.checked);
       return l;
     },
     invariant::live_values_have_definitions},
    {{"assign-storage", "each such value gets a frame word or a slot, or is computed again"},
     kAll,
     [](Lowering l) {
       l.storage = assign_storage(l.d, l.tree, l.cuts);
       return l;
     },
     invariant::storage_disjoint},
    {{"declare-hidden", "storage, masks and reports are buffers that no source names"},
     kAll,
     declare_hidden,
     invariant::hidden_declared},
});

// ---- passes over each segment

struct SegmentPass {
  PassInfo info;
  Targets targets;
  SegmentBody (SegmentMaker::*run)(SegmentBody);
  SegmentInvariant invariant;
};
constexpr auto kOfSegments = std::to_array<SegmentPass>({
    {{"save-and-restore", "a segment loads what it needs and stores what others need"},
     kAll,
     &SegmentMaker::save_and_restore,
     invariant::edges_lowered},
    {{"lower-fixpoints", "a fixpoint that stays in a launch is a loop around a vote of the grid"},
     kInLaunch,
     &SegmentMaker::lower_fixpoints,
     invariant::fixpoints_lowered},
    {{"lower-ended-lanes", "every lane reaches every barrier, also one that has ended"},
     kInLaunch,
     &SegmentMaker::lower_ended_lanes,
     invariant::ended_lanes_lowered},
    // After all passes that ask for the lane's number.
    {{"number-lanes", "a segment computes the numbers of the lane and the workgroup once"},
     kAll,
     &SegmentMaker::number_lanes,
     invariant::locals_declared},
    {{"make-persistent", "blocks iterate over virtual workgroups between two barriers"},
     kPersistent,
     &SegmentMaker::make_persistent,
     invariant::ids_are_virtual},
    {{"extract", "a segment is a program of its own, with what it uses"},
     kAll,
     &SegmentMaker::extract,
     invariant::segment_complete},
});

// ---- what needs all segments

constexpr auto kOfPlan = std::to_array<ProgramPass>({
    {{"make-steps", "the tree of steps says in which order the host launches segments"},
     kAll,
     make_steps,
     invariant::steps_complete},
});

// The first invariant among those of passes up to this one that is broken.
template <class List, class Check>
std::string broken_up_to(const List& list, std::string_view pass, Target target,
                         const Check& check) {
  std::string broken;
  for (const auto& row : list) {
    if (row.targets.contains(target)) broken = check(row);
    if (!broken.empty() || row.info.name == pass) break;
  }
  return broken;
}

void finished(const AfterPass& after, const Observer& observer) {
  if constexpr (kValidates)
    if (const std::string broken = find_broken(after); !broken.empty())
      report_broken(after.pass.name, broken);
  if (observer) observer(after);
}

Lowering run_passes(std::span<const ProgramPass> list, Lowering l, const Observer& observer,
                    std::string_view last = {}) {
  for (const ProgramPass& pass : list) {
    if (l.refusal) break;
    if (!pass.targets.contains(l.target)) continue;
    l = pass.run(std::move(l));
    if (!l.refusal) finished({.pass = pass.info, .lowering = l}, observer);
    if (pass.info.name == last) break;
  }
  return l;
}

// One segment after the other: each uses what the ones before it have declared in the draft.
Lowering run_segment_passes(Lowering l, const Observer& observer) {
  if (l.refusal) return l;
  SegmentMaker maker(l);
  for (const RawSegment& raw : l.tree.segments) {
    const auto number = static_cast<uint32_t>(l.plan.segments.size());
    l.segment_of.push_back(number);
    if (raw.items.empty()) continue;
    SegmentBody segment;
    segment.raw = &raw;
    for (const SegmentPass& pass : kOfSegments) {
      if (!pass.targets.contains(l.target)) continue;
      segment = (maker.*pass.run)(std::move(segment));
      if (l.refusal) return l;
      finished({.pass = pass.info, .lowering = l, .segment = &segment, .number = number}, observer);
    }
  }
  return l;
}

}  // namespace

check::CheckedProgram planned_program(const check::CheckedProgram& checked,
                                      const PlanOptions& options) {
  const check::PrintsKept kept{.prints = options.print, .asserts = options.checked};
  if (!check::has_dropped(checked, kept)) return core_forms(checked).value_or(checked);
  check::CheckedProgram left = check::without_dropped(checked, kept);
  auto simpler = core_forms(left);
  return simpler ? std::move(*simpler) : std::move(left);
}

Lowering::Lowering(const check::CheckedProgram& checked, const PlanOptions& how, Target to)
    : options(how),
      target(to),
      cuts{to == Phases ? Scope::Workgroup : Scope::Grid, stays_in_launch()},
      d(planned_program(checked, how)) {
  d.checked = options.checked;
  // In the memory of the other buffer, what a buffer requires of its own does not hold.
  for (const check::SwapFact& swap : checked.swaps)
    for (const BufferId b : {swap.a, swap.b}) d.c.buffers[b.index()].align = 0;
  if (options.workgroup) {
    const check::Axes& size = *options.workgroup;
    d.c.workgroup = size;
    d.c.workgroup_axes = size[2] != 1 ? 3 : size[1] != 1 ? 2 : 1;
  }
  plan.scope = cuts.scope;
  plan.route = options.variant.route;
  plan.wide_index = options.wide_index;
}

std::vector<PassInfo> passes() {
  std::vector<PassInfo> list;
  for (const ProgramPass& pass : kOfProgram) list.push_back(pass.info);
  for (const ProgramPass& pass : kOfTree) list.push_back(pass.info);
  for (const SegmentPass& pass : kOfSegments) list.push_back(pass.info);
  for (const ProgramPass& pass : kOfPlan) list.push_back(pass.info);
  return list;
}

std::string find_broken(const AfterPass& after) {
  const Lowering& l = after.lowering;
  const std::string_view pass = after.pass.name;
  const auto of_lowering = [&](const ProgramPass& row) { return row.invariant(l); };
  if (after.segment != nullptr)
    return broken_up_to(kOfSegments, pass, l.target,
                        [&](const SegmentPass& row) { return row.invariant(l, *after.segment); });
  if (!l.plan.steps.empty()) return broken_up_to(kOfPlan, pass, l.target, of_lowering);
  if (!l.tree.nodes.empty()) return broken_up_to(kOfTree, pass, l.target, of_lowering);
  std::string broken = invariant::well_formed(l);
  return broken.empty() ? broken_up_to(kOfProgram, pass, l.target, of_lowering) : broken;
}

Lowering lower_up_to(const check::CheckedProgram& checked, const PlanOptions& options,
                     Target target, std::string_view pass) {
  Lowering l = run_passes(kOfProgram, Lowering(checked, options, target), {}, pass);
  const bool early = std::ranges::any_of(
      kOfProgram, [&](const ProgramPass& row) { return row.info.name == pass; });
  return early ? std::move(l) : run_passes(kOfTree, std::move(l), {}, pass);
}

std::expected<Plan, Refused> lower(const check::CheckedProgram& checked, const PlanOptions& options,
                                   Target target, const Observer& observer) {
  Lowering l(checked, options, target);
  l = run_passes(kOfProgram, std::move(l), observer);
  l = run_passes(kOfTree, std::move(l), observer);
  l = run_segment_passes(std::move(l), observer);
  l = run_passes(kOfPlan, std::move(l), observer);
  if (l.refusal)
    return std::unexpected(Refused{
        *l.refusal, l.plan.segments.empty() ? l.tree.segments.size() : l.plan.segments.size()});
  return std::move(l.plan);
}

}  // namespace vyre::plan
