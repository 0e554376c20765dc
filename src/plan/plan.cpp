// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "check/prints.hpp"
#include "plan/enclosing.hpp"
#include "plan/lower.hpp"
#include "plan/passes.hpp"

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
    case Hidden::Kind::Votes: return "meeting";
    case Hidden::Kind::Grid: return "grid";
    case Hidden::Kind::Print: return "printed lines";
    case Hidden::Kind::Asserted: return "failed asserts";
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

// Who executes programs knows no axes.
check::CheckedProgram without_axes(const check::CheckedProgram& checked) {
  const bool has_axes = std::ranges::any_of(checked.program.exprs, [](const Expr& e) {
    return std::holds_alternative<AxisIndex>(e) || std::holds_alternative<AxisLen>(e);
  });
  if (!has_axes) return checked;
  Draft d = lower_axes(inline_calls(Draft(checked), {.only_axes = true}));
  return std::move(d.c);
}

Plan whole_program(const check::CheckedProgram& source, const PlanOptions& options, Route route) {
  Plan plan;
  plan.route = route;
  plan.whole = true;
  Segment segment;
  segment.program = without_axes(planned_program(source, options));
  const check::CheckedProgram& checked = segment.program;
  for (uint32_t i = 0; i < checked.program.buffers.size(); ++i)
    segment.arguments.push_back({Argument::Kind::Source, i});
  for (const Stmt& s : checked.program.stmts)
    if (const auto* region = std::get_if<Region>(&s))
      if (std::ranges::find(segment.regions, region->name) == segment.regions.end())
        segment.regions.push_back(region->name);
  std::vector<Placed> items;
  for (const StmtId id : checked.program.items(checked.program.body)) items.push_back({id});
  segment.enclosing = enclosing_regions(checked.program, items);
  plan.segments.push_back(std::move(segment));
  plan.steps.push_back({LaunchStep{0}});
  return plan;
}

}  // namespace

Plan whole_plan(const check::CheckedProgram& checked, const PlanOptions& options) {
  return whole_program(checked, options, Route::Native);
}

namespace {

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

Result<Plan> make_plan(const check::CheckedProgram& checked, const PlanOptions& options) {
  return make_plan(checked, options, {});
}

Result<Plan> make_plan(const check::CheckedProgram& checked, const PlanOptions& options,
                       const Observer& observer) {
  const Route route = options.variant.route;
  // What is printed needs memory of the plan; there is nothing to be cut.
  const bool prints =
      check::has_kept(checked, {.prints = options.print, .asserts = options.checked});
  if (!checked.has_grid_barrier && !options.workgroup && !prints)
    return whole_program(checked, options, route);
  if (!checked.has_grid_barrier && prints) {
    auto plan = lower(checked, options, Target::Split, observer);
    if (!plan) return std::unexpected(too_large(plan.error().segments));
    return std::move(*plan);
  }
  if (route == Route::Native && options.checked) return std::unexpected(unsupported_checked());
  std::string not_persistent;
  auto target = route == Route::Native ? Target::Native : Target::Split;
  if (route == Route::Persistent && options.checked)
    not_persistent =
        "checked mode stops lanes in the middle of a statement, so their state is saved at "
        "barriers";
  else if (route == Route::Persistent)
    target = Target::Persistent;
  auto plan = lower(checked, options, target, observer);
  if (!plan && plan.error().refusal == Refusal::NotPersistent) {
    not_persistent =
        "the program cannot be made persistent (asynchronous copies, subgroup operations beside "
        "lanes that have ended, and shared memory that is handed over at a resume keep it from "
        "that)";
    plan = lower(checked, options, Target::Split, observer);
  }
  if (!plan) return std::unexpected(too_large(plan.error().segments));
  if (!not_persistent.empty()) plan->route = Route::Resident;
  plan->not_persistent = std::move(not_persistent);
  return std::move(*plan);
}

Result<Plan> cut_workgroup(const check::CheckedProgram& checked, bool accesses_end_lanes) {
  PlanOptions options;
  options.checked = accesses_end_lanes;
  auto plan = lower(checked, options, Target::Phases);
  if (!plan) return std::unexpected(too_large(plan.error().segments));
  return std::move(*plan);
}

}  // namespace vyre::plan
