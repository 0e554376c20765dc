// SPDX-License-Identifier: Apache-2.0
// Where the boxes of a drawn plan lie: steps from top to bottom, the sides of a branch next to each
// other, loops and fixpoints around their steps. Whole pixels, relative to the box around; every
// box lies inside it, and no two boxes in one overlap.
#pragma once

#include "cli/plan_view.hpp"

namespace vyre::cli {

struct LayoutBox {
  enum class Kind : uint8_t {
    Card,   // a segment
    Event,  // a step without a launch
    Frame,  // a branch, loop or fixpoint
    Group,  // steps under a heading in a frame
    Root,
  };
  Kind kind = Kind::Card;
  uint32_t x = 0, y = 0, width = 0, height = 0;
  std::vector<CardLine> titles;
  std::vector<CardLine> lines;
  std::optional<uint32_t> segment;
  std::vector<LayoutBox> children;
  bool flows = true;  // an arrow leads from each child to the next
};

inline constexpr uint32_t kLayoutPadding = 12;
inline constexpr uint32_t kLayoutLine = 16;        // height of a line of text
inline constexpr uint32_t kLayoutGap = 24;         // between steps, for an arrow
inline constexpr uint32_t kLayoutMaxLines = 24;    // of a card
inline constexpr uint32_t kLayoutMaxColumns = 64;  // of a line

LayoutBox layout_plan(const PlanView& view);

}  // namespace vyre::cli
