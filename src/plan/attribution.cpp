// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/attribution.hpp"

#include <algorithm>
#include <tuple>

#include "base/match.hpp"
#include "plan/enclosing.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

// ---- the regions that all statements of a segment are in

class Enclosing {
 public:
  explicit Enclosing(const Program& program) : p_(program) {}

  // A statement that stands in the regions of `names`. Only regions and blocks are looked into:
  // whatever else stands around a statement belongs to the segment as well.
  void statement(StmtId id, std::vector<std::string>& names) {
    if (const auto* region = std::get_if<ir::Region>(&p_[id])) {
      names.push_back(region->name);
      block(region->body, names);
      names.pop_back();
    } else if (const auto* nested = std::get_if<Nested>(&p_[id])) {
      block(nested->body, names);
    } else if (!any_) {
      any_ = true;
      for (const std::string& name : names)
        if (std::ranges::find(common_, name) == common_.end()) common_.push_back(name);
    } else {
      std::erase_if(common_, [&](const std::string& name) {
        return std::ranges::find(names, name) == names.end();
      });
    }
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(common_); }

 private:
  void block(Block body, std::vector<std::string>& names) {
    for (const StmtId id : p_.items(body)) statement(id, names);
  }

  const Program& p_;
  bool any_ = false;  // a statement
  std::vector<std::string> common_;
};

// ---- fixpoints

// Where the tree launches each segment.
class FixpointLaunches {
 public:
  explicit FixpointLaunches(const Plan& plan)
      : launches_(plan.segments.size()),
        inside_(plan.fixpoints.size(), std::vector<uint32_t>(plan.segments.size())),
        in_tree_(plan.fixpoints.size()) {
    walk(plan.steps);
  }

  // The tree has no step for a fixpoint that stays in a launch, as barriers do.
  [[nodiscard]] bool is_step(uint32_t fixpoint) const { return in_tree_[fixpoint]; }
  [[nodiscard]] SegmentShares shares(const Plan& plan, uint32_t fixpoint) const {
    SegmentShares shares;
    for (uint32_t s = 0; s < plan.segments.size(); ++s) {
      const uint32_t inside = inside_[fixpoint][s];
      if (!in_tree_[fixpoint] ? plan.segments[s].barriers_inside
                              : inside != 0 && inside < launches_[s])
        shares.shared.push_back(s);
      else if (inside != 0)
        shares.whole.push_back(s);
    }
    return shares;
  }

 private:
  void walk(const Steps& steps) {
    for (const Step& step : steps)
      match(
          step.node, [&](const LaunchStep& x) { launch(x.segment); }, [](const PhaseStep&) {},
          [&](const BranchStep& x) {
            walk(x.then_steps);
            walk(x.else_steps);
          },
          [&](const LoopStep& x) {
            walk(x.condition);
            walk(x.body);
          },
          [&](const FixpointStep& x) {
            in_tree_[x.fixpoint] = true;
            around_.push_back(x.fixpoint);
            walk(x.body);
            around_.pop_back();
          },
          [](const ResumeStep&) {}, [](const CollectiveStep&) {}, [](const CopyStep&) {},
          [](const SwapStep&) {});
  }
  void launch(uint32_t segment) {
    ++launches_[segment];
    for (const uint32_t fixpoint : around_) ++inside_[fixpoint][segment];
  }

  std::vector<uint32_t> launches_;             // by segment: places in the tree
  std::vector<std::vector<uint32_t>> inside_;  // by fixpoint and segment: those inside
  std::vector<bool> in_tree_;
  std::vector<uint32_t> around_;
};

std::vector<FixpointShares> fixpoints_of_program(const Program& program) {
  // By place, and by number where there are no places.
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> order;
  for (uint32_t i = 0; i < program.stmts.size(); ++i) {
    if (!std::holds_alternative<Fixpoint>(program.stmts[i])) continue;
    const Position at = program.position_of(StmtId{i});
    order.emplace_back(at.line, at.column, i);
  }
  std::ranges::sort(order);
  std::vector<FixpointShares> found;
  for (const auto& [line, column, i] : order)
    found.push_back(
        {.at = program.position_of(StmtId{i}), .segments = {.whole = {}, .shared = {0}}});
  return found;
}

}  // namespace

std::vector<std::string> enclosing_regions(const Program& program, std::span<const Placed> items) {
  Enclosing enclosing(program);
  for (const Placed& item : items) {
    std::vector<std::string> names = item.regions;
    enclosing.statement(item.stmt, names);
  }
  return enclosing.take();
}

Attribution attribute_segments(const Plan& plan) {
  Attribution all;
  for (uint32_t s = 0; s < plan.segments.size(); ++s) {
    const Segment& segment = plan.segments[s];
    for (const std::string& name : segment.regions) {
      auto row = std::ranges::find(all.regions, name, &RegionShares::name);
      if (row == all.regions.end())
        row = all.regions.insert(row, RegionShares{.name = name, .segments = {}});
      const bool whole = std::ranges::find(segment.enclosing, name) != segment.enclosing.end();
      (whole ? row->segments.whole : row->segments.shared).push_back(s);
    }
  }
  if (plan.whole) {
    all.fixpoints = fixpoints_of_program(plan.segments[0].program.program);
    return all;
  }
  const FixpointLaunches launches(plan);
  for (uint32_t i = 0; i < plan.fixpoints.size(); ++i)
    all.fixpoints.push_back({.at = plan.fixpoints[i].at,
                             .is_step = launches.is_step(i),
                             .segments = launches.shares(plan, i)});
  return all;
}

}  // namespace vyre::plan
