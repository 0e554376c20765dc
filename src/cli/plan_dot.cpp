// SPDX-License-Identifier: Apache-2.0
// A plan as a Graphviz graph. Segments are boxes; loops, branches and fixpoints are clusters with a
// diamond for what decides.
#include <fmt/format.h>

#include "base/utf8.hpp"
#include "cli/plan_view.hpp"

namespace vyre::cli {

namespace {

// In quotes; lines end with \l, which sets them flush left.
std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : base::printable_text(text)) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\l";
    else
      out += c;
  }
  return out + "\"";
}

class DotWriter {
 public:
  explicit DotWriter(const PlanView& view) : v_(view) {}

  std::string run() {
    out_ = fmt::format("digraph {} {{\n", dot_string(v_.program));
    line(1, "rankdir=TB; compound=true; labelloc=t; labeljust=l;");
    line(1, "fontname=\"monospace\";");
    line(1, "node [fontname=\"monospace\", fontsize=10, shape=box];");
    line(1, "edge [fontname=\"monospace\", fontsize=9];");
    line(1, fmt::format("label={};", dot_string(fmt::format("{}\nroute {}: {}\n", v_.program,
                                                            v_.route, v_.why))));
    const std::string start = node("shape=circle, width=0.15, label=\"\"");
    const std::string end = node("shape=doublecircle, width=0.12, label=\"\"");
    const Ends all = chain(v_.steps, 1);
    if (all.first.empty()) {
      edge(start, end, "", 1);
    } else {
      edge(start, all.first, "", 1);
      edge(all.last, end, "", 1);
    }
    return out_ + "}\n";
  }

 private:
  // Where edges enter and leave; empty if there is nothing.
  struct Ends {
    std::string first, last;
  };

  void line(size_t depth, std::string_view text) {
    out_.append(2 * depth, ' ');
    out_ += text;
    out_ += '\n';
  }
  std::string node(std::string_view attributes, size_t depth = 1) {
    std::string name = fmt::format("n{}", nodes_++);
    line(depth, fmt::format("{} [{}];", name, attributes));
    return name;
  }
  void edge(std::string_view from, std::string_view to, std::string_view label, size_t depth) {
    line(depth, label.empty() ? fmt::format("{} -> {};", from, to)
                              : fmt::format("{} -> {} [label={}];", from, to, dot_string(label)));
  }
  std::string decision(std::string_view label, size_t depth) {
    return node(fmt::format("shape=diamond, label={}", dot_string(label)), depth);
  }

  Ends chain(const std::vector<PlanView::Step>& steps, size_t depth) {
    Ends ends;
    for (const PlanView::Step& s : steps) {
      const Ends next = step(s, depth);
      if (ends.first.empty())
        ends.first = next.first;
      else
        edge(ends.last, next.first, "", depth);
      ends.last = next.last;
    }
    return ends;
  }

  Ends step(const PlanView::Step& s, size_t depth) {
    using Kind = PlanView::Step::Kind;
    switch (s.kind) {
      case Kind::Launch: return segment(*s.segment, depth);
      case Kind::Barrier:
      case Kind::Resume:
      case Kind::Collective:
      case Kind::Copy:
      case Kind::Swap: {
        const std::string name =
            node(fmt::format("style=dashed, label={}", dot_string(s.label)), depth);
        return {name, name};
      }
      case Kind::Branch:
      case Kind::Loop:
      case Kind::Fixpoint: return cluster(s, depth);
    }
    return {};
  }

  Ends segment(uint32_t number, size_t depth) {
    std::string label = fmt::format("segment {}\n", number);
    for (const CardLine& text : card_lines(v_.segments[number])) label += text.text + "\n";
    const std::string name = node(fmt::format("label={}", dot_string(label)), depth);
    return {name, name};
  }

  Ends cluster(const PlanView::Step& s, size_t depth) {
    line(depth, fmt::format("subgraph cluster_{} {{", clusters_++));
    line(depth + 1, "style=rounded;");
    const bool branches = s.kind == PlanView::Step::Kind::Branch;
    line(depth + 1, fmt::format("label={};", branches ? "\"branch\"" : dot_string(s.label)));
    const Ends ends = branches ? branch(s, depth + 1) : repeated(s, depth + 1);
    line(depth, "}");
    return ends;
  }

  Ends branch(const PlanView::Step& s, size_t depth) {
    const std::string decide = decision(s.label, depth);
    const std::string join = node("shape=point", depth);
    for (const PlanView::Group& group : s.groups) {
      const Ends inside = chain(group.steps, depth);
      edge(decide, inside.first.empty() ? join : inside.first, group.label, depth);
      if (!inside.first.empty()) edge(inside.last, join, "", depth);
    }
    return {decide, join};
  }

  // A loop decides before its body, a fixpoint after it.
  Ends repeated(const PlanView::Step& s, size_t depth) {
    const bool loop = s.kind == PlanView::Step::Kind::Loop;
    const Ends before = chain(s.groups[0].steps, depth);
    const std::string decide = decision(s.again, depth);
    if (!before.first.empty()) edge(before.last, decide, "", depth);
    const std::string first = before.first.empty() ? decide : before.first;
    const Ends after = loop ? chain(s.groups[1].steps, depth) : Ends{};
    if (!after.first.empty()) edge(decide, after.first, "body", depth);
    edge(after.first.empty() ? decide : after.last, first, "again", depth);
    return {first, decide};
  }

  const PlanView& v_;
  std::string out_;
  uint32_t nodes_ = 0;
  uint32_t clusters_ = 0;
};

}  // namespace

std::string plan_dot(const PlanView& view) {
  return DotWriter(view).run();
}

}  // namespace vyre::cli
