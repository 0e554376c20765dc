// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ir/properties.hpp"
#include "plan/segments.hpp"

namespace vyre::plan {

using namespace ir;

std::string_view name_of(Route route) {
  switch (route) {
    case Route::Native: return "native";
    case Route::Persistent: return "persistent";
    case Route::Resident: return "resident";
    case Route::Host: return "host";
  }
  return "?";
}

std::optional<Route> route_from_name(std::string_view name) {
  for (const Route route : {Route::Native, Route::Persistent, Route::Resident, Route::Host})
    if (name_of(route) == name) return route;
  return std::nullopt;
}

std::string_view name_of(Hidden::Kind kind) {
  switch (kind) {
    case Hidden::Kind::Frame: return "frame";
    case Hidden::Kind::GroupFrame: return "workgroup frame";
    case Hidden::Kind::Slot: return "slot";
    case Hidden::Kind::Shared: return "shared memory";
    case Hidden::Kind::Mask: return "lane mask";
    case Hidden::Kind::Control: return "control";
    case Hidden::Kind::Fixpoint: return "fixpoint result";
    case Hidden::Kind::ReportValue: return "trap value";
    case Hidden::Kind::ReportSite: return "trap site";
    case Hidden::Kind::Snapshot: return "snapshot";
    case Hidden::Kind::Meeting: return "meeting";
    case Hidden::Kind::Grid: return "grid";
  }
  return "?";
}

std::string_view name_of(LiveAcross::How how) {
  switch (how) {
    case LiveAcross::How::Saved: return "saved";
    case LiveAcross::How::Kept: return "kept";
    case LiveAcross::How::Recomputed: return "recomputed";
  }
  return "?";
}

std::string_view name_of(FixpointMode mode) {
  switch (mode) {
    case FixpointMode::Tracked: return "tracked";
    case FixpointMode::TrackedStore: return "tracked store";
    case FixpointMode::Snapshot: return "snapshot";
  }
  return "?";
}

namespace {

Plan whole_program(const check::CheckedProgram& checked, Route route) {
  Plan plan;
  plan.route = route;
  plan.whole = true;
  Segment segment;
  segment.program = checked;
  for (uint32_t i = 0; i < checked.program.buffers.size(); ++i)
    segment.arguments.push_back({Argument::Kind::Source, i});
  for (const Stmt& s : checked.program.stmts)
    if (const auto* region = std::get_if<Region>(&s))
      if (std::ranges::find(segment.regions, region->name) == segment.regions.end())
        segment.regions.push_back(region->name);
  plan.segments.push_back(std::move(segment));
  plan.steps.push_back({LaunchStep{0}});
  return plan;
}

}  // namespace

Plan whole_plan(const check::CheckedProgram& checked) {
  return whole_program(checked, Route::Native);
}

namespace {

// Places at which the source meets over the grid; a load and a fixpoint have two each.
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

// A fixpoint that may be asked for 0 passes stops all lanes before it starts.
void guard_zero_passes(Draft& d) {
  const auto guard = [&](const auto& self, Block block) -> StmtList {
    const auto given = d.p.items(block);
    StmtList out;
    for (const StmtId id : StmtList(given.begin(), given.end())) {
      const Stmt s = d.p[id];
      StmtId own = d.map_blocks(id, [&](Block b) { return self(self, b); });
      if (const auto* fixpoint = std::get_if<Fixpoint>(&s)) {
        const auto constant = check::evaluate_constant(d.c, fixpoint->max_passes);
        if (!constant || constant->bits == 0) {
          if (!d.zero_passes_tag) d.zero_passes_tag = d.fresh_tag();
          const LocalId most = d.capture(fixpoint->max_passes, "most", Level::Grid, out);
          const StmtId trap =
              d.stmt(Trap{*d.zero_passes_tag, d.number(0)}, d.p.loc(id), Level::Grid);
          out.push_back(d.when(d.binary(BinaryOp::Eq, d.ref(most), d.number(0)), {trap}));
          own = d.with_operands(own, {d.ref(most)});
        }
      }
      out.push_back(own);
    }
    return out;
  };
  d.p.body = d.block(guard(guard, d.p.body));
}

// Workgroups of another size, as the caller wants it.
void set_workgroup(Draft& d, const check::Axes& workgroup) {
  d.c.workgroup = workgroup;
  d.c.workgroup_axes = workgroup[2] != 1 ? 3 : workgroup[1] != 1 ? 2 : 1;
}

Error too_large(size_t segments) {
  return {.code = ErrorCode::LimitExceeded,
          .message = fmt::format(
              "the plan is too large: its first {} segments alone have more statements, "
              "expressions and values kept between them than four of the largest programs. Fix: "
              "use fewer barriers, keep fewer locals alive across them, or use smaller constant "
              "tables",
              segments),
          .context = {},
          .at = {},
          .diagnostics = {}};
}

Error unsupported_checked() {
  return {.code = ErrorCode::Unsupported,
          .message =
              "checked mode stops lanes in the middle of a statement, which the native route "
              "cannot do. Fix: use the persistent route",
          .context = {},
          .at = {},
          .diagnostics = {}};
}

}  // namespace

namespace {

// `folded`: of the persistent route. NotFolded: it cannot be.
enum class Refusal : uint8_t { TooLarge, NotFolded };
std::expected<Plan, std::pair<Refusal, size_t>> plan_of(const check::CheckedProgram& checked,
                                                        const PlanOptions& options, bool folded) {
  const bool native = options.variant.route == Route::Native || folded;
  Draft d(checked);
  d.checked = options.checked;
  if (options.workgroup) set_workgroup(d, *options.workgroup);

  const bool fixpoints = std::ranges::any_of(
      d.p.stmts, [](const Stmt& s) { return std::holds_alternative<Fixpoint>(s); });
  inline_calls(d, {.effects = native || fixpoints, .ids = folded});
  guard_zero_passes(d);
  find_fixpoint_modes(d, options.checked);
  const CutPoints cuts{Scope::Grid, native};

  Plan plan;
  plan.route = options.variant.route;
  plan.wide_index = options.wide_index;
  plan.control.fixpoints = static_cast<uint32_t>(d.fixpoints.size());
  Hidden control_words;
  control_words.kind = Hidden::Kind::Control;
  control_words.name = "control";
  const BufferId control = d.add_hidden(std::move(control_words));
  std::optional<NativeState> state;
  std::vector<bool> inside(d.fixpoints.size());  // stays in a launch
  if (native) {
    state = prepare_native(d, control);
    for (const auto& [id, row] : d.fixpoint_rows) inside[row] = !cuts.is_cut(d, StmtId{id});
    separate_effects(d);
  }
  track_writes(d, [&](uint32_t row) {
    if (inside[row]) return mark_changed(d, *state, row);
    return d.atomic(AtomicOp::Store, Memory::of(control), d.number(plan.control.changed(row)),
                    d.number(1));
  });
  plan.barriers = count_barriers(d);
  normalise(d, cuts);
  Tree tree = cut(d, cuts);
  if (!fits_analysis(d, tree))
    return std::unexpected(std::pair(Refusal::TooLarge, tree.pieces.size()));
  analyse(d, tree, options.checked);
  switch (make_segments(d, tree, cuts, options, control, state ? &*state : nullptr, plan)) {
    case Made::All: return plan;
    case Made::NotFolded: return std::unexpected(std::pair(Refusal::NotFolded, size_t{0}));
    case Made::TooLarge: break;
  }
  return std::unexpected(std::pair(Refusal::TooLarge, plan.segments.size()));
}

}  // namespace

Result<Plan> make_plan(const check::CheckedProgram& checked, const PlanOptions& options) {
  if (!checked.has_grid_barrier && !options.workgroup)
    return whole_program(checked, options.variant.route);
  if (options.variant.route == Route::Native && options.checked)
    return std::unexpected(unsupported_checked());
  const bool persistent = options.variant.route == Route::Persistent;
  auto plan = plan_of(checked, options, persistent && !options.checked);
  std::string not_persistent;
  if (persistent && options.checked)
    not_persistent =
        "checked mode stops lanes in the middle of a statement, so their state is saved at "
        "barriers";
  if (!plan && plan.error().first == Refusal::NotFolded) {
    not_persistent =
        "the program cannot be made persistent (asynchronous copies, subgroup operations beside "
        "lanes that have ended, and shared memory that is handed over at a resume keep it from "
        "that)";
    plan = plan_of(checked, options, false);
  }
  if (!plan) return std::unexpected(too_large(plan.error().second));
  if (!not_persistent.empty()) plan->route = Route::Resident;
  plan->not_persistent = std::move(not_persistent);
  return std::move(*plan);
}

Result<Plan> cut_workgroup(const check::CheckedProgram& checked, bool accesses_end_lanes) {
  Draft d(checked);
  d.checked = accesses_end_lanes;
  const CutPoints cuts{Scope::Workgroup, false};
  Plan plan;
  plan.scope = Scope::Workgroup;
  inline_calls(d, {});
  Hidden control_words;
  control_words.kind = Hidden::Kind::Control;
  control_words.name = "control";
  const BufferId control = d.add_hidden(std::move(control_words));
  normalise(d, cuts);
  Tree tree = cut(d, cuts);
  if (!fits_analysis(d, tree)) return std::unexpected(too_large(tree.pieces.size()));
  analyse(d, tree, accesses_end_lanes);
  PlanOptions options;
  options.checked = accesses_end_lanes;
  if (make_segments(d, tree, cuts, options, control, nullptr, plan) != Made::All)
    return std::unexpected(too_large(plan.segments.size()));
  return plan;
}

}  // namespace vyre::plan
