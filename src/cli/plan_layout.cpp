// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_layout.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace vyre::cli {

namespace {

// At a font size of 12 pixels the characters of common monospaced fonts are 7.2 wide.
constexpr uint32_t kColumnTenths = 74;

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const base::CodePoint c = base::code_point_at(text, at);
    columns += base::display_width(c.value);
    at += c.bytes;
  }
  return columns;
}

std::string shortened(std::string text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const base::CodePoint c = base::code_point_at(text, at);
    columns += base::display_width(c.value);
    if (columns > kLayoutMaxColumns) return text.substr(0, at) + "\u2026";
    at += c.bytes;
  }
  return text;
}

void add_title(LayoutBox& box, std::string text) {
  box.titles.push_back({shortened(std::move(text))});
}

uint32_t text_height(const LayoutBox& box) {
  return kLayoutLine * static_cast<uint32_t>(box.titles.size() + box.lines.size());
}

uint32_t text_width(const LayoutBox& box) {
  size_t columns = 0;
  for (const auto* list : {&box.titles, &box.lines})
    for (const CardLine& line : *list) columns = std::max(columns, columns_of(line.text));
  return static_cast<uint32_t>(columns * kColumnTenths / 10 + 1);
}

// Children below each other, centred.
void stack(LayoutBox& box) {
  uint32_t inner = text_width(box);
  for (const LayoutBox& child : box.children) inner = std::max(inner, child.width);
  uint32_t y = kLayoutPadding + text_height(box);
  for (LayoutBox& child : box.children) {
    y += &child == box.children.data() ? kLayoutPadding / 2 : kLayoutGap;
    child.x = kLayoutPadding + (inner - child.width) / 2;
    child.y = y;
    y += child.height;
  }
  box.width = inner + 2 * kLayoutPadding;
  box.height = y + kLayoutPadding;
}

// Children next to each other.
void line_up(LayoutBox& box) {
  box.flows = false;
  const uint32_t y = kLayoutPadding + text_height(box) + kLayoutPadding / 2;
  uint32_t x = kLayoutPadding;
  uint32_t tallest = 0;
  for (LayoutBox& child : box.children) {
    child.x = x;
    child.y = y;
    x += child.width + kLayoutPadding;
    tallest = std::max(tallest, child.height);
  }
  for (LayoutBox& child : box.children) child.height = tallest;
  box.width = std::max(x, text_width(box) + 2 * kLayoutPadding);
  box.height = y + tallest + kLayoutPadding;
}

class Layouter {
 public:
  explicit Layouter(const PlanView& view) : v_(view) {}

  LayoutBox run() {
    LayoutBox root;
    root.kind = LayoutBox::Kind::Root;
    add_title(root, "program " + v_.program);
    add_title(root, fmt::format("route {}", v_.route));
    root.titles.push_back({v_.why});  // a sentence: not shortened
    add_steps(v_.steps, root);
    stack(root);
    return root;
  }

 private:
  void add_steps(const std::vector<PlanView::Step>& steps, LayoutBox& box) {
    for (const PlanView::Step& step : steps) box.children.push_back(box_of(step));
  }

  LayoutBox box_of(const PlanView::Step& step) {
    using Kind = PlanView::Step::Kind;
    switch (step.kind) {
      case Kind::Launch: return card(*step.segment);
      case Kind::Barrier:
      case Kind::Resume:
      case Kind::Collective:
      case Kind::Copy:
      case Kind::Swap: break;
      case Kind::Branch:
      case Kind::Loop:
      case Kind::Fixpoint: return frame(step);
    }
    LayoutBox box;
    box.kind = LayoutBox::Kind::Event;
    add_title(box, step.label);
    stack(box);
    return box;
  }

  LayoutBox card(uint32_t number) {
    LayoutBox box;
    box.kind = LayoutBox::Kind::Card;
    box.segment = number;
    add_title(box, fmt::format("segment {}", number));
    for (CardLine& line : card_lines(v_.segments[number]))
      box.lines.push_back({shortened(std::move(line.text)), line.kind});
    if (box.lines.size() > kLayoutMaxLines) {
      const size_t more = box.lines.size() - kLayoutMaxLines + 1;
      box.lines.resize(kLayoutMaxLines - 1);
      box.lines.push_back({fmt::format("and {} more", more)});
    }
    stack(box);
    return box;
  }

  LayoutBox frame(const PlanView::Step& step) {
    LayoutBox box;
    box.kind = LayoutBox::Kind::Frame;
    add_title(box, step.label);
    switch (step.kind) {
      case PlanView::Step::Kind::Branch:
        for (const PlanView::Group& g : step.groups) box.children.push_back(group(g, g.label));
        line_up(box);
        return box;
      case PlanView::Step::Kind::Loop:
        if (!step.groups[0].steps.empty())
          box.children.push_back(group(step.groups[0], step.groups[0].label));
        box.children.push_back(group(step.groups[1], step.again));
        break;
      case PlanView::Step::Kind::Fixpoint:
      case PlanView::Step::Kind::Launch:
      case PlanView::Step::Kind::Barrier:
      case PlanView::Step::Kind::Resume:
      case PlanView::Step::Kind::Collective:
      case PlanView::Step::Kind::Copy:
      case PlanView::Step::Kind::Swap:
        add_title(box, step.again);
        add_steps(step.groups[0].steps, box);
        break;
    }
    stack(box);
    return box;
  }

  LayoutBox group(const PlanView::Group& group, const std::string& label) {
    LayoutBox box;
    box.kind = LayoutBox::Kind::Group;
    add_title(box, label);
    add_steps(group.steps, box);
    if (group.steps.empty()) box.lines.push_back({"nothing"});
    stack(box);
    return box;
  }

  const PlanView& v_;
};

}  // namespace

LayoutBox layout_plan(const PlanView& view) {
  return Layouter(view).run();
}

}  // namespace vyre::cli
