// SPDX-License-Identifier: Apache-2.0
// Every segment of every directed program is a program in its own right: it has a text that reads
// back and checks, has no barrier of the grid, and comes out the same whenever it is made.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/programs.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/ir/semantics.hpp"
#include "vyre/plan/plan.hpp"
#include "vyre/text/text.hpp"

namespace vyre::plan_test {
namespace {

using plan::Plan;
using plan::Route;
using plan::Segment;

const std::vector<plan::PlanOptions>& all_options() {
  static const std::vector<plan::PlanOptions> kOptions = {
      {.variant = {.route = Route::Native}},
      {.variant = {.route = Route::Persistent}},
      {.variant = {.route = Route::Resident}},
      {.variant = {.route = Route::Host}},
      {.variant = {.route = Route::Persistent}, .checked = true},
      {.variant = {.route = Route::Persistent, .workgroups_per_block = 4, .unrolled_iterations = 2},
       .wide_index = false},
      {.variant = {.route = Route::Resident}, .wide_index = false}};
  return kOptions;
}

size_t bindings_of(const Segment& segment) {
  return static_cast<size_t>(std::ranges::count_if(
      segment.program.buffers, [](const auto& b) { return b.binding.has_value(); }));
}

// The segment's text reads back as the same program.
ir::Program expect_reads_back(const Segment& segment) {
  const std::string text = text::print(segment.program.program);
  text::Parsed parsed = text::parse(text, "segment.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors()) << render_text(parsed.diagnostics, {}) << text;
  EXPECT_TRUE(parsed.program == segment.program.program) << text;
  return std::move(parsed.program);
}

// An index by axes that are not all proved goes with the lengths of its axes, for which the
// language has no words: in a segment the buffer has no axes of its own.
bool has_lengths_of_axes(const Segment& segment) {
  return std::ranges::any_of(segment.program.program.exprs, [](const ir::Expr& e) {
    const auto* at = std::get_if<ir::AxisIndex>(&e);
    return at != nullptr && !at->lengths.empty();
  });
}

// And checks.
void expect_checks(const Segment& segment) {
  if (has_lengths_of_axes(segment)) return;
  ir::Program program = expect_reads_back(segment);
  // Hidden buffers come on top of those of the source, and the limit is one of the language.
  if (bindings_of(segment) > ir::kMaxBindings) return;
  const check::Checked checked = check::check(std::move(program));
  ASSERT_TRUE(checked.program.has_value())
      << render_text(checked.diagnostics, {}) << text::print(segment.program.program);
  EXPECT_EQ(checked.program->workgroup, segment.program.workgroup);
  EXPECT_EQ(checked.program->has_grid_barrier, segment.program.has_grid_barrier);
}

class Segments : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    directed_ = load_directed(GetParam());
    auto checked = check::check_valid(directed_.program);
    ASSERT_TRUE(checked.has_value());
    checked_ = std::move(*checked);
  }
  Directed directed_;
  check::CheckedProgram checked_;
};

TEST_P(Segments, HaveNoGridBarrierAndCheck) {
  for (const plan::PlanOptions& options : all_options()) {
    SCOPED_TRACE(
        fmt::format("{}{}", name_of(options.variant.route), options.checked ? ", checked" : ""));
    const auto plan = plan::make_plan(checked_, options);
    ASSERT_TRUE(plan.has_value());
    const bool inside = options.variant.route == Route::Native ||
                        std::ranges::any_of(plan->segments, [](const Segment& s) {
                          return s.workgroups_per_block != 0;
                        });
    for (const Segment& segment : plan->segments) {
      // These keep barriers inside, under conditions that are uniform because lanes have agreed on
      // them in memory, which the checker cannot know.
      if (inside) {
        if (!has_lengths_of_axes(segment)) expect_reads_back(segment);
        continue;
      }
      EXPECT_FALSE(segment.program.has_grid_barrier);
      EXPECT_FALSE(segment.barriers_inside);
      EXPECT_EQ(segment.program.workgroup, checked_.workgroup);
      expect_checks(segment);
      const Plan phases = *plan::cut_workgroup(segment.program);
      for (const Segment& phase : phases.segments) {
        EXPECT_EQ(phase.program.workgroup, checked_.workgroup);
        expect_checks(phase);
      }
    }
  }
}

// The same program gives the same plan, down to the names.
TEST_P(Segments, AreTheSameEachTime) {
  for (const plan::PlanOptions& options : all_options()) {
    SCOPED_TRACE(name_of(options.variant.route));
    const auto first = plan::make_plan(checked_, options);
    const auto second = plan::make_plan(*check::check_valid(directed_.program), options);
    ASSERT_EQ(first.has_value(), second.has_value());
    if (!first) continue;
    ASSERT_EQ(first->segments.size(), second->segments.size());
    for (size_t i = 0; i < first->segments.size(); ++i) {
      const Segment& a = first->segments[i];
      const Segment& b = second->segments[i];
      EXPECT_EQ(text::print(a.program.program), text::print(b.program.program));
      EXPECT_EQ(ir::digest_of(a.program.program), ir::digest_of(b.program.program));
      EXPECT_EQ(a.arguments, b.arguments);
    }
    ASSERT_EQ(first->hidden.size(), second->hidden.size());
    for (size_t i = 0; i < first->hidden.size(); ++i)
      EXPECT_EQ(first->hidden[i].name, second->hidden[i].name);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Segments, ::testing::ValuesIn(directed_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace vyre::plan_test
