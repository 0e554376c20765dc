// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_layout.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "vyre/text/text.hpp"

namespace vyre::cli {
namespace {

PlanView view_of(std::string_view text, plan::Route route) {
  text::Parsed parsed = text::parse(text, "t.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors());
  Prepared prepared;
  prepared.checked = check::check_valid(std::move(parsed.program)).value();
  for (uint32_t i = 0; i < prepared.checked.buffers.size(); ++i)
    if (prepared.checked.buffers[i].input_slot) prepared.missing.push_back(ir::BufferId{i});
  prepared.inputs.resize(prepared.missing.size());
  const KnownLaunch known = resolve_known(prepared).value();
  const plan::Plan plan = plan::make_plan(prepared.checked, {.variant = {.route = route}}).value();
  return view_plan({.prepared = prepared,
                    .plan = plan,
                    .digest = {},
                    .known = known,
                    .strategy = {.variant = {.route = route}, .why = "why"}})
      .value();
}

bool apart(const LayoutBox& a, const LayoutBox& b) {
  return a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y ||
         b.y + b.height <= a.y;
}

void expect_sound(const LayoutBox& box, uint32_t& cards) {
  cards += box.segment ? 1 : 0;
  EXPECT_GT(box.width, 2 * kLayoutPadding);
  const auto texts = static_cast<uint32_t>(box.titles.size() + box.lines.size());
  EXPECT_GE(box.height, 2 * kLayoutPadding + kLayoutLine * texts);
  for (size_t i = 0; i < box.children.size(); ++i) {
    const LayoutBox& child = box.children[i];
    EXPECT_GE(child.x, kLayoutPadding);
    EXPECT_GE(child.y, kLayoutPadding + kLayoutLine * texts);
    EXPECT_LE(child.x + child.width + kLayoutPadding, box.width);
    EXPECT_LE(child.y + child.height + kLayoutPadding, box.height);
    for (size_t k = 0; k < i; ++k) EXPECT_TRUE(apart(box.children[k], child));
    expect_sound(child, cards);
  }
}

TEST(PlanLayout, BoxesLieInsideEachOtherAndApart) {
  const std::filesystem::path folder =
      std::filesystem::path(VYRE_SOURCE_DIR) / "test" / "plan" / "programs";
  uint32_t programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".vyre") continue;
    SCOPED_TRACE(entry.path().string());
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    for (const plan::Route route : {plan::Route::Resident, plan::Route::Native}) {
      const PlanView view = view_of(text.str(), route);
      uint32_t cards = 0;
      expect_sound(layout_plan(view), cards);
      EXPECT_EQ(cards, view.segments.size());
    }
    ++programs;
  }
  EXPECT_GT(programs, 0U);
}

TEST(PlanLayout, LongListsAndNamesAreCut) {
  PlanView view;
  PlanView::Segment segment;
  PlanView::LiveAcross value;
  value.name = std::string(100, 'x');
  segment.live_across.assign(100, value);
  view.segments.push_back(segment);
  PlanView::Step step;
  step.segment = 0;
  view.steps.push_back(step);
  const LayoutBox root = layout_plan(view);
  ASSERT_EQ(root.children.size(), 1U);
  EXPECT_EQ(root.children[0].lines.size(), kLayoutMaxLines);
  EXPECT_EQ(root.children[0].lines.back().text, "and 78 more");
  EXPECT_LT(root.width, 600U);
}

}  // namespace
}  // namespace vyre::cli
