// SPDX-License-Identifier: Apache-2.0
// A plan as a picture: no scripts, no fonts or files from elsewhere, and colours for light and dark
// surroundings.
#include <fmt/format.h>

#include "base/utf8.hpp"
#include "cli/plan_layout.hpp"

namespace vyre::cli {

namespace {

// The names start with vp- because a page shares them with the picture in it.
constexpr std::string_view kStyle = R"(
.vp-back { fill: #ffffff; }
.vp-text { fill: #1f2328; font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }
.vp-title { font-weight: bold; }
.vp-saved { fill: #0b5cad; }
.vp-kept { fill: #57606a; }
.vp-recomputed { fill: #1a7f37; }
.vp-card { fill: #f6f8fa; stroke: #57606a; }
.vp-event { fill: #fff8c5; stroke: #9a6700; stroke-dasharray: 4 3; }
.vp-frame { fill: none; stroke: #0b5cad; }
.vp-group { fill: none; stroke: #57606a; stroke-dasharray: 2 3; }
.vp-arrow { fill: #57606a; stroke: #57606a; }
@media (prefers-color-scheme: dark) {
  .vp-back { fill: #0d1117; }
  .vp-text { fill: #e6edf3; }
  .vp-saved { fill: #79b8ff; }
  .vp-kept { fill: #9da7b3; }
  .vp-recomputed { fill: #56d364; }
  .vp-card { fill: #161b22; stroke: #9da7b3; }
  .vp-event { fill: #2d2508; stroke: #d29922; }
  .vp-frame { stroke: #79b8ff; }
  .vp-group { stroke: #9da7b3; }
  .vp-arrow { fill: #9da7b3; stroke: #9da7b3; }
}
)";

std::string_view class_of(LayoutBox::Kind kind) {
  switch (kind) {
    case LayoutBox::Kind::Card: return "vp-card";
    case LayoutBox::Kind::Event: return "vp-event";
    case LayoutBox::Kind::Frame: return "vp-frame";
    case LayoutBox::Kind::Group: return "vp-group";
    case LayoutBox::Kind::Root: return "vp-back";
  }
  return "";
}

std::string_view class_of(CardLine::Kind kind) {
  switch (kind) {
    case CardLine::Kind::Plain: return "";
    case CardLine::Kind::Saved: return " vp-saved";
    case CardLine::Kind::Kept: return " vp-kept";
    case CardLine::Kind::Recomputed: return " vp-recomputed";
  }
  return "";
}

class SvgWriter {
 public:
  explicit SvgWriter(SvgOptions options) : options_(options) {}

  std::string run(const PlanView& view) {
    const LayoutBox root = layout_plan(view);
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\">\n",
        root.width, root.height);
    out_ += fmt::format("<title>{}</title>\n<style>{}</style>\n",
                        escape_markup("Plan of program " + view.program), kStyle);
    box(root);
    return out_ + "</svg>\n";
  }

 private:
  void box(const LayoutBox& b) {
    const bool linked = options_.links && b.segment;
    if (linked) out_ += fmt::format("<a href=\"#segment-{}\">\n", *b.segment);
    out_ += fmt::format("<g transform=\"translate({} {})\">\n", b.x, b.y);
    out_ += fmt::format(R"(<rect class="{}" width="{}" height="{}" rx="{}"/>)", class_of(b.kind),
                        b.width, b.height, b.kind == LayoutBox::Kind::Root ? 0 : 6);
    out_ += '\n';
    uint32_t y = kLayoutPadding;
    for (const CardLine& title : b.titles) text(title, " vp-title", y);
    for (const CardLine& line : b.lines) text(line, "", y);
    for (size_t i = 0; i < b.children.size(); ++i) {
      if (i != 0 && b.flows) arrow(b.children[i - 1], b.children[i]);
      box(b.children[i]);
    }
    out_ += "</g>\n";
    if (linked) out_ += "</a>\n";
  }

  void text(const CardLine& line, std::string_view extra, uint32_t& y) {
    y += kLayoutLine;
    out_ += fmt::format("<text class=\"vp-text{}{}\" x=\"{}\" y=\"{}\">{}</text>\n", extra,
                        class_of(line.kind), kLayoutPadding, y - 4, escape_markup(line.text));
  }

  // Both have the same middle, up to a pixel.
  void arrow(const LayoutBox& from, const LayoutBox& to) {
    const uint32_t x = to.x + to.width / 2;
    const uint32_t start = from.y + from.height;
    out_ += fmt::format("<path class=\"vp-arrow\" d=\"M {0} {1} V {2} l -4 -7 h 8 l -4 7\"/>\n", x,
                        start, to.y - 1);
  }

  SvgOptions options_;
  std::string out_;
};

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : base::printable_text(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c; break;
    }
  }
  return out;
}

std::string plan_svg(const PlanView& view, SvgOptions options) {
  return SvgWriter(options).run(view);
}

}  // namespace vyre::cli
