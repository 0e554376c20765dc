// SPDX-License-Identifier: Apache-2.0
// A plan as one page: the source beside the picture, and below a section per segment. Nothing is
// loaded from elsewhere, nothing runs.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/plan_view.hpp"

namespace vyre::cli {

namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --back: #ffffff; --ink: #1f2328; --soft: #57606a; --line: #d0d7de; --panel: #f6f8fa; --accent: #0b5cad; --mark: #fff8c5; }
@media (prefers-color-scheme: dark) {
  :root { --back: #0d1117; --ink: #e6edf3; --soft: #9da7b3; --line: #30363d; --panel: #161b22; --accent: #79b8ff; --mark: #2d2508; }
}
body { background: var(--back); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem; }
h1 { font-size: 1.4rem; margin: 0 0 .3rem; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .5rem; }
a { color: var(--accent); }
code, pre, table { font: 12px/1.5 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.soft { color: var(--soft); }
.side { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }
.side > * { max-width: 100%; overflow: auto; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; margin: 0; padding: .6rem; overflow: auto; }
.n { color: var(--soft); display: inline-block; min-width: 3em; padding-right: 1em; text-align: right; user-select: none; }
.barrier { background: var(--mark); }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: normal; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .6rem 0; padding: .5rem .8rem; }
details:target { border-color: var(--accent); }
summary { cursor: pointer; font-weight: 600; }
)";

// Lines that a grid barrier stands on are marked.
std::string source_of(const PlanView& view) {
  if (view.source.empty()) return "";
  std::set<uint32_t> barriers;
  for (const PlanView::Segment& s : view.segments)
    if (s.ends_phase) barriers.insert(s.barrier.line);
  std::string html = "<pre>";
  uint32_t number = 0;
  for (std::string_view rest = view.source; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    ++number;
    html += fmt::format("<span id=\"line-{}\"{}><span class=\"n\">{}</span>{}</span>\n", number,
                        barriers.contains(number) ? " class=\"barrier\"" : "", number,
                        escape_markup(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return html + "</pre>\n";
}

template <class Number>
std::string or_dash(const std::optional<Number>& number, std::string_view none = "-") {
  return number ? fmt::format("{}", *number) : std::string(none);
}

class HtmlWriter {
 public:
  explicit HtmlWriter(const PlanView& view) : v_(view) {}

  std::string run() {
    const std::string title = escape_markup(fmt::format("Plan of {}", v_.program));
    out_ = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
        title, kStyle);
    out_ += fmt::format("<p><span class=\"soft\">{}</span><br>route <b>{}</b>: {}</p>\n",
                        escape_markup(v_.file), escape_markup(v_.route), escape_markup(v_.why));
    out_ += "<div class=\"side\">\n";
    out_ += source_of(v_) + "<div>\n" + plan_svg(v_, {.links = true}) + "</div>\n</div>\n";
    heading("Segments");
    for (size_t i = 0; i < v_.segments.size(); ++i) segment(i);
    heading("Buffers");
    buffers();
    heading("Launch");
    launch();
    memory();
    fixpoints();
    stops("Resumes", v_.resumes);
    stops("Traps", v_.traps);
    return out_ + "</body>\n</html>\n";
  }

 private:
  void heading(std::string_view text) { out_ += fmt::format("<h2>{}</h2>\n", escape_markup(text)); }

  void row(std::string_view tag, const std::vector<std::string>& cells) {
    out_ += "<tr>";
    for (const std::string& cell : cells)
      out_ += fmt::format("<{0}>{1}</{0}>", tag, escape_markup(cell));
    out_ += "</tr>\n";
  }
  void begin_table(const std::vector<std::string>& heads) {
    out_ += "<table>\n";
    row("th", heads);
  }
  void end_table() { out_ += "</table>\n"; }

  void segment(size_t number) {
    const PlanView::Segment& s = v_.segments[number];
    out_ += fmt::format("<details id=\"segment-{0}\" open>\n<summary>segment {0}</summary>\n<p>",
                        number);
    if (s.first_line != 0)
      out_ += fmt::format("<a href=\"#line-{}\">{}</a>; ", s.first_line, escape_markup(s.lines()));
    if (!s.regions.empty()) out_ += escape_markup(regions_text(s)) + "; ";
    out_ += "ends with " + escape_markup(s.end);
    for (const std::string& note : s.notes) out_ += "; " + escape_markup(note);
    for (const PlanView::Shared& shared : s.shared)
      out_ += fmt::format("; shared <code>{}</code> is {}", escape_markup(shared.name),
                          shared_text(shared));
    out_ += "</p>\n";
    if (!s.live_across.empty()) {
      begin_table({"value", "type", "level", "is", "in", "why"});
      for (const PlanView::LiveAcross& c : s.live_across)
        row("td", {c.name, c.type, c.level, std::string(name_of(c.how)),
                   c.where.empty() ? "-" : c.where, c.why});
      end_table();
    } else if (!v_.whole) {
      out_ += "<p class=\"soft\">no value crosses its end</p>\n";
    }
    out_ += fmt::format("<details>\n<summary>its program</summary>\n<pre>{}</pre>\n</details>\n",
                        escape_markup(s.program));
    out_ += "</details>\n";
  }

  void buffers() {
    begin_table(
        {"name", "kind", "element", "count", "access", "input", "output", "binding", "begins"});
    for (const PlanView::Buffer& b : v_.buffers)
      row("td",
          {b.name, b.kind, b.element, PlanView::count_text(b), b.access, or_dash(b.input_slot),
           or_dash(b.output_slot), or_dash(b.binding), or_dash(b.begins, "?")});
    end_table();
  }

  void launch() {
    begin_table({"workgroup", "grid"});
    row("td", {fmt::format("{}", fmt::join(v_.workgroup, " x ")),
               v_.grid ? fmt::format("{}", fmt::join(*v_.grid, " x "))
                       : "not known: " + v_.grid_missing});
    end_table();
  }

  void memory() {
    if (v_.whole) return;
    heading("Hidden buffers");
    begin_table({"name", "holds", "element", "count", "halves", "per", "bytes"});
    for (const PlanView::Hidden& h : v_.hidden)
      row("td", {h.name, h.kind, h.element,
                 h.each == "buffer" ? "as " + h.like : fmt::format("{}", h.count),
                 h.two_halves ? "2" : "1", h.each, or_dash(h.bytes, "?")});
    end_table();
    heading("Scratch bytes");
    begin_table({"per lane", "per workgroup", "fixed", "snapshots", "total"});
    row("td", {fmt::format("{}", v_.lane_bytes), fmt::format("{}", v_.workgroup_bytes),
               fmt::format("{}", v_.fixed_bytes), or_dash(v_.snapshot_bytes, "?"),
               or_dash(v_.total_bytes, v_.total_missing)});
    end_table();
  }

  void fixpoints() {
    if (v_.fixpoints.empty()) return;
    heading("Fixpoints");
    begin_table({"at", "buffer", "mode", "why"});
    for (const PlanView::Fixpoint& f : v_.fixpoints)
      for (const PlanView::Fixpoint::Watched& b : f.buffers)
        row("td", {f.at.line == 0 ? "-" : text_of(f.at), b.name, b.mode, b.why});
    end_table();
  }

  void stops(std::string_view title, const std::vector<PlanView::Stop>& list) {
    if (list.empty()) return;
    heading(title);
    begin_table({"at", "tag"});
    for (const PlanView::Stop& stop : list)
      row("td", {stop.at.line == 0 ? "-" : text_of(stop.at),
                 stop.zero_passes ? "fixpoint of 0 passes"
                 : stop.assertion ? "assert"
                                  : fmt::format("{}", stop.tag)});
    end_table();
  }

  const PlanView& v_;
  std::string out_;
};

}  // namespace

std::string_view page_style() {
  return kStyle;
}

std::string source_html(const PlanView& view) {
  return source_of(view);
}

std::string plan_html(const PlanView& view) {
  return HtmlWriter(view).run();
}

}  // namespace vyre::cli
