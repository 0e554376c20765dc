// SPDX-License-Identifier: Apache-2.0
// A plan for people on a terminal.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/utf8.hpp"
#include "cli/plan_view.hpp"

namespace vyre::cli {

namespace {

// Columns as wide as their widest cell; the last one is not filled up.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) : rows_{std::move(heads)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text(std::string_view indent) const {
    std::vector<size_t> widths(rows_.front().size());
    for (const auto& row : rows_)
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::string out;
    for (const auto& row : rows_) {
      std::string line(indent);
      for (size_t i = 0; i < row.size(); ++i) {
        line += row[i];
        if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

template <class Number>
std::string or_dash(const std::optional<Number>& number, std::string_view none = "-") {
  return number ? fmt::format("{}", *number) : std::string(none);
}

class TextWriter {
 public:
  TextWriter(const PlanView& view, bool color) : v_(view), color_(color) {}

  std::string run(bool segments) {
    out_ = fmt::format("{}: {}\n", bold("program " + v_.program), base::printable_text(v_.file));
    out_ += fmt::format("{}: {}\n", bold("route " + v_.route), v_.why);
    if (v_.strategy.route() == plan::Route::Persistent || v_.strategy.is_estimate() ||
        v_.strategy.tuned)
      out_ += to_string(v_.strategy) + "\n";
    if (!v_.whole) out_ += summary();
    buffers();
    launch();
    heading("steps");
    steps(v_.steps, 1);
    for (size_t i = 0; i < v_.segments.size(); ++i) segment(i, segments);
    if (!v_.whole) memory();
    fixpoints();
    stops("resumes", v_.resumes);
    stops("traps", v_.traps);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string summary() const {
    const bool inside = std::ranges::any_of(
        v_.segments, [](const PlanView::Segment& s) { return s.barriers_inside; });
    std::string text = counted(v_.segments.size(), "segment");
    if (v_.barriers != 0)
      text += fmt::format(", {} {}", counted(v_.barriers, "grid barrier"),
                          inside ? "inside the launches or between them" : "to cut at");
    if (v_.checked) text += ", checked";
    return text + "\n";
  }
  [[nodiscard]] std::string bold(const std::string& text) const {
    return color_ ? fmt::format("\x1b[1m{}\x1b[0m", text) : text;
  }
  void heading(const std::string& text) { out_ += "\n" + bold(text) + "\n"; }
  void line(size_t depth, std::string_view text) {
    out_.append(2 * depth, ' ');
    out_ += text;
    out_ += '\n';
  }

  void buffers() {
    heading("buffers");
    Table table(
        {"name", "kind", "element", "count", "access", "input", "output", "binding", "begins"});
    for (const PlanView::Buffer& b : v_.buffers)
      table.add({b.name, b.kind, b.element, PlanView::count_text(b), b.access,
                 or_dash(b.input_slot), or_dash(b.output_slot), or_dash(b.binding),
                 or_dash(b.begins, "?")});
    out_ += table.text("  ");
  }

  void launch() {
    heading("launch");
    const uint64_t lanes = uint64_t{v_.workgroup[0]} * v_.workgroup[1] * v_.workgroup[2];
    line(1,
         fmt::format("workgroup  {} ({})", fmt::join(v_.workgroup, " x "), counted(lanes, "lane")));
    if (!v_.grid)
      line(1, "grid       not known: " + v_.grid_missing);
    else if (v_.workgroups() == 0)
      line(1, "grid       empty: nothing runs");
    else
      line(1, fmt::format("grid       {} ({}, {})", fmt::join(*v_.grid, " x "),
                          counted(v_.workgroups(), "workgroup"),
                          counted(v_.workgroups() * lanes, "lane")));
  }

  void group(const PlanView::Group& group, std::string_view label, size_t depth) {
    line(depth, label);
    steps(group.steps, depth + 1);
  }

  void steps(const std::vector<PlanView::Step>& list, size_t depth) {
    using Kind = PlanView::Step::Kind;
    for (const PlanView::Step& step : list) switch (step.kind) {
        case Kind::Launch:
        case Kind::Barrier:
        case Kind::Resume:
        case Kind::Collective:
        case Kind::Copy:
        case Kind::Swap: line(depth, step.label); break;
        case Kind::Branch:
          group(step.groups[0], step.label, depth);
          if (!step.groups[1].steps.empty()) group(step.groups[1], "else", depth);
          break;
        case Kind::Loop:
          group(step.groups[0], step.label, depth);
          group(step.groups[1], step.again, depth);
          break;
        case Kind::Fixpoint:
          line(depth, step.label);
          group(step.groups[0], step.again, depth);
          break;
      }
  }

  void segment(size_t number, bool with_program) {
    const PlanView::Segment& s = v_.segments[number];
    heading(fmt::format("segment {}", number));
    if (const std::string lines = s.lines(); !lines.empty()) line(1, lines);
    if (!s.regions.empty()) line(1, regions_text(s));
    line(1, "ends with " + s.end);
    for (const std::string& note : s.notes) line(1, note);
    for (const PlanView::Shared& shared : s.shared)
      line(1, fmt::format("shared `{}` is {}", shared.name, shared_text(shared)));
    if (!s.live_across.empty()) {
      Table table({"value", "type", "level", "is", "in", "why"});
      for (const PlanView::LiveAcross& c : s.live_across)
        table.add({c.name, c.type, c.level, std::string(name_of(c.how)),
                   c.where.empty() ? "-" : c.where, c.why});
      out_ += table.text("  ");
    } else if (!v_.whole) {
      line(1, "no value crosses its end");
    }
    if (with_program) program(s.program);
  }

  void program(std::string_view text) {
    out_ += '\n';
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      if (end == 0)
        out_ += '\n';
      else
        line(2, text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void memory() {
    if (!v_.hidden.empty()) {
      heading("hidden buffers");
      Table table({"name", "holds", "elements", "per", "bytes"});
      for (const PlanView::Hidden& h : v_.hidden) {
        std::string elements = h.each == "buffer" ? fmt::format("{} as `{}`", h.element, h.like)
                                                  : fmt::format("{} x {}{}", h.count, h.element,
                                                                h.two_halves ? ", two halves" : "");
        table.add({h.name, h.kind, std::move(elements), h.each, or_dash(h.bytes, "?")});
      }
      out_ += table.text("  ");
    }
    heading("scratch");
    Table table({"per lane", fmt::format("{}", v_.lane_bytes), "bytes"});
    table.add({"per workgroup", fmt::format("{}", v_.workgroup_bytes), "bytes"});
    table.add({"fixed", fmt::format("{}", v_.fixed_bytes), "bytes"});
    table.add({"snapshots", or_dash(v_.snapshot_bytes, "?"), "bytes"});
    if (v_.total_bytes)
      table.add({"total", fmt::format("{}", *v_.total_bytes), "bytes"});
    else
      table.add({"total", "?", v_.total_missing});
    out_ += table.text("  ");
  }

  void fixpoints() {
    if (v_.fixpoints.empty()) return;
    heading("fixpoints");
    Table table({"at", "buffer", "mode", "why"});
    for (const PlanView::Fixpoint& f : v_.fixpoints)
      for (const PlanView::Fixpoint::Watched& b : f.buffers)
        table.add({f.at.line == 0 ? "-" : text_of(f.at), b.name, b.mode, b.why});
    out_ += table.text("  ");
  }

  void stops(const std::string& title, const std::vector<PlanView::Stop>& list) {
    if (list.empty()) return;
    heading(title);
    for (const PlanView::Stop& stop : list) {
      std::string text = stop.zero_passes ? "fixpoint of 0 passes"
                         : stop.assertion ? "assert"
                                          : fmt::format("tag {}", stop.tag);
      if (stop.at.line != 0) text += fmt::format(" at {}", text_of(stop.at));
      line(1, text);
    }
  }

  const PlanView& v_;
  bool color_;
  std::string out_;
};

}  // namespace

std::string plan_text(const PlanView& view, bool segments, bool color) {
  return TextWriter(view, color).run(segments);
}

}  // namespace vyre::cli
