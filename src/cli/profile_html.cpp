// SPDX-License-Identifier: Apache-2.0
// A profile as one page: the tables, a timeline from the trace, and the source beside the plan.
// Nothing is loaded from elsewhere, nothing runs.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/profile_view.hpp"

namespace vyre::cli {

namespace {

constexpr std::string_view kStyle = R"(
.table { max-width: 100%; overflow-x: auto; }
td.number, th.number { text-align: right; padding: .2rem 0 .2rem 1.6rem; white-space: nowrap; }
tr:hover td { background: var(--panel); }
.bar { background: linear-gradient(90deg, color-mix(in srgb, var(--accent) 35%, transparent) var(--share), transparent 0); }
td.bar { background-clip: content-box; background-origin: content-box; min-width: 6rem; }
.unknown { color: var(--soft); }
.timeline { max-width: 100%; overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; background: var(--panel); margin: .5rem 0 1rem; }
.timeline text { font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink); }
.timeline .axis { stroke: var(--line); }
.timeline .soft { fill: var(--soft); }
.key { display: inline-flex; align-items: center; gap: .35rem; margin-right: 1rem; font-size: 12px; }
.key i { width: .8rem; height: .8rem; border-radius: 2px; display: inline-block; }
ul { padding-left: 1.2rem; }
)";

// The kinds of spans that a trace has most of, each with a colour that is readable on both grounds.
struct Colour {
  std::string_view category;
  std::string_view fill;
};
constexpr std::array kColours = std::to_array<Colour>({{"parse", "#8250df"},
                                                       {"check", "#bf3989"},
                                                       {"plan", "#9a6700"},
                                                       {"compile", "#bc4c00"},
                                                       {"cache", "#57606a"},
                                                       {"dispatch", "#8c959f"},
                                                       {"upload", "#1a7f37"},
                                                       {"launch", "#0969da"},
                                                       {"segment", "#218bff"},
                                                       {"barrier", "#cf222e"},
                                                       {"readback", "#2da44e"}});
constexpr std::string_view kOther = "#6e7781";

std::string_view colour_of(std::string_view category) {
  for (const Colour& colour : kColours)
    if (colour.category == category) return colour.fill;
  return kOther;
}

// ---- timeline

class Timeline {
 public:
  // The spans that lie inside the two times.
  Timeline(const std::vector<ProfileSpan>& spans, uint64_t first, uint64_t last)
      : first_(first), last_(std::max(last, first + 1)) {
    for (const ProfileSpan& span : spans)
      if (span.start_ns >= first && span.start_ns + span.duration_ns <= last)
        spans_.push_back(&span);
    // Longer ones first, then as they were given: they lie in one vector.
    std::ranges::sort(spans_, [](const ProfileSpan* a, const ProfileSpan* b) {
      return std::tuple(a->start_ns, b->duration_ns, a) <
             std::tuple(b->start_ns, a->duration_ns, b);
    });
  }

  std::string svg() {
    place();
    const double height = kTop + (rows_ * kRow) + kBottom;
    std::string out = fmt::format(
        "<div class=\"timeline\"><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
        "height=\"{1:.0f}\" viewBox=\"0 0 {0} {1:.0f}\" role=\"img\">\n",
        kWidth, height);
    out += axis(height);
    for (const auto& [track, row] : track_rows_)
      out += fmt::format("<text x=\"8\" y=\"{:.1f}\">{}</text>\n", y_of(row) + kText,
                         escape_markup(cut(track, kLeft - 12)));
    size_t drawn = 0;
    for (size_t i = 0; i < spans_.size() && drawn < kMostSpans; ++i) {
      out += rect(*spans_[i], row_of_[i]);
      ++drawn;
    }
    out += "</svg></div>\n";
    if (drawn < spans_.size())
      out +=
          fmt::format("<p class=\"soft\">{} more spans are not drawn</p>\n", spans_.size() - drawn);
    return out;
  }

  [[nodiscard]] bool empty() const { return spans_.empty(); }

 private:
  static constexpr double kWidth = 1200;
  static constexpr double kLeft = 150;
  static constexpr double kRight = 20;
  static constexpr double kTop = 26;
  static constexpr double kBottom = 8;
  static constexpr double kRow = 20;
  static constexpr double kBar = 16;
  static constexpr double kText = 12;
  static constexpr double kLetter = 6.7;
  static constexpr double kLeastBar = 0.6;
  static constexpr size_t kMostSpans = 4000;

  [[nodiscard]] double x_of(uint64_t ns) const {
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(ns - first_) /
                       static_cast<double>(last_ - first_);
  }
  static double y_of(uint32_t row) { return kTop + (row * kRow); }

  static std::string cut(std::string_view text, double width) {
    const auto most = static_cast<size_t>(std::max(0.0, width / kLetter));
    if (text.size() <= most) return std::string(text);
    return most < 3 ? "" : std::string(text.substr(0, most - 1)) + "…";
  }

  // Rows of a track by how deep spans nest in each other.
  void place() {
    std::map<std::string, std::vector<std::pair<size_t, uint32_t>>> tracks;
    std::vector<std::string> order;
    for (size_t i = 0; i < spans_.size(); ++i) {
      auto& list = tracks[spans_[i]->track];
      if (list.empty()) order.push_back(spans_[i]->track);
      list.emplace_back(i, 0);
    }
    row_of_.resize(spans_.size());
    for (const std::string& track : order) {
      std::vector<uint64_t> ends;
      uint32_t deepest = 0;
      for (auto& [index, depth] : tracks[track]) {
        const ProfileSpan& span = *spans_[index];
        while (!ends.empty() && ends.back() <= span.start_ns) ends.pop_back();
        depth = static_cast<uint32_t>(ends.size());
        ends.push_back(span.start_ns + span.duration_ns);
        deepest = std::max(deepest, depth);
        row_of_[index] = rows_ + depth;
      }
      track_rows_.emplace_back(track, rows_);
      rows_ += deepest + 1;
    }
  }

  [[nodiscard]] std::string axis(double height) const {
    constexpr int kTicks = 6;
    std::string out;
    for (int i = 0; i <= kTicks; ++i) {
      const uint64_t ns = first_ + (last_ - first_) * static_cast<uint64_t>(i) / kTicks;
      const char* anchor = i == 0 ? "start" : i == kTicks ? "end" : "middle";
      out += fmt::format(
          "<line class=\"axis\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\"/>"
          "<text class=\"soft\" x=\"{0:.1f}\" y=\"14\" text-anchor=\"{3}\">{4}</text>\n",
          x_of(ns), kTop - 6, height - 4, anchor, duration_text(ns - first_));
    }
    return out;
  }

  [[nodiscard]] std::string rect(const ProfileSpan& span, uint32_t row) const {
    const double x = x_of(span.start_ns);
    const double width = std::max(kLeastBar, x_of(span.start_ns + span.duration_ns) - x);
    std::string out = fmt::format(
        "<g><title>{}: {}, {}</title><rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" "
        "height=\"{}\" rx=\"2\" fill=\"{}\"/>",
        escape_markup(span.name), escape_markup(span.category), duration_text(span.duration_ns), x,
        y_of(row), width, kBar, colour_of(span.category));
    const std::string label = cut(span.name, width - 8);
    if (!label.empty())
      out += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" style=\"fill:#ffffff\">{}</text>", x + 4,
                         y_of(row) + kText, escape_markup(label));
    return out + "</g>\n";
  }

  uint64_t first_, last_;
  std::vector<const ProfileSpan*> spans_;
  std::vector<uint32_t> row_of_;  // by span
  std::vector<std::pair<std::string, uint32_t>> track_rows_;
  uint32_t rows_ = 0;
};

// ---- the page

std::string spread_cells(std::string_view name, const std::optional<Spread>& spread) {
  std::string row = fmt::format("<tr><td>{}</td>", name);
  for (const auto part : {&Spread::median, &Spread::min, &Spread::max})
    row += fmt::format("<td class=\"number\">{}</td>",
                       spread ? duration_text((*spread).*part) : "unknown");
  return row + "</tr>\n";
}

std::string table(const ProfileView& view, ProfileRow::Kind kind) {
  std::string rows;
  const std::vector<std::string> heads = profile_heads(kind);
  for (const ProfileRow& row : view.rows) {
    if (row.kind != kind) continue;
    const std::vector<std::string> cells = profile_cells(view, row);
    rows += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      const bool bar = heads[i] == "share" && row.share;
      rows += fmt::format(
          "<td class=\"{}{}{}\"{}>{}</td>", i == 0 ? "" : "number",
          cells[i] == "unknown" || cells[i] == "-" ? " unknown" : "", bar ? " bar" : "",
          bar ? fmt::format(" style=\"--share: {:.1f}%\"", std::min(100.0, 100 * *row.share)) : "",
          escape_markup(cells[i]));
    }
    rows += "</tr>\n";
  }
  if (rows.empty()) return "";
  std::string head = "<tr>";
  for (size_t i = 0; i < heads.size(); ++i)
    head += fmt::format("<th class=\"{}\">{}</th>", i == 0 ? "" : "number", heads[i]);
  return fmt::format("<div class=\"table\"><table>\n{}</tr>\n{}</table></div>\n", head, rows);
}

std::string keys(const std::vector<ProfileSpan>& spans) {
  std::string out = "<p>";
  for (const Colour& colour : kColours)
    if (std::ranges::any_of(spans,
                            [&](const ProfileSpan& s) { return s.category == colour.category; }))
      out += fmt::format("<span class=\"key\"><i style=\"background:{}\"></i>{}</span>",
                         colour.fill, colour.category);
  return out + "</p>\n";
}

std::string timelines(const ProfileView& view) {
  if (view.spans.empty()) return "";
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;
  const ProfileSpan* repetition = nullptr;
  for (const ProfileSpan& span : view.spans) {
    first = std::min(first, span.start_ns);
    last = std::max(last, span.start_ns + span.duration_ns);
    if (span.category == "dispatch" &&
        (repetition == nullptr || span.start_ns >= repetition->start_ns))
      repetition = &span;
  }
  std::string out = "<h2>Timeline</h2>\n" + keys(view.spans);
  if (repetition != nullptr) {
    Timeline part(view.spans, repetition->start_ns, repetition->start_ns + repetition->duration_ns);
    out += "<p class=\"soft\">The last repetition</p>\n" + part.svg();
  }
  Timeline whole(view.spans, first, last);
  return out + "<p class=\"soft\">The whole command, from reading the program on</p>\n" +
         whole.svg();
}

}  // namespace

std::string profile_html(const ProfileView& view) {
  const std::string title = escape_markup(fmt::format("Profile of {}", view.program));
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}{2}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      title, page_style(), kStyle);
  out += fmt::format(
      "<p><span class=\"soft\">{}</span><br>device <b>{}</b>{}, route <b>{}</b>, grid {} of {} "
      "lanes, {} launch{}</p>\n",
      escape_markup(view.file), escape_markup(view.device),
      view.device_name.empty() ? "" : escape_markup(fmt::format(" ({})", view.device_name)),
      escape_markup(view.route), fmt::join(view.grid, " x "), fmt::join(view.workgroup, " x "),
      view.launches, view.launches == 1 ? "" : "es");
  out += fmt::format(
      "<table>\n<tr><th>{}</th><th class=\"number\">median</th><th "
      "class=\"number\">least</th><th class=\"number\">most</th></tr>\n",
      counted(view.repeats, "repetition"));
  out += spread_cells("wall", view.wall_ns) + spread_cells("device", view.device_ns) + "</table>\n";
  for (const auto& [name, kind] : {std::pair("Segments", ProfileRow::Kind::Segment),
                                   std::pair("Regions", ProfileRow::Kind::Region),
                                   std::pair("Fixpoints", ProfileRow::Kind::Fixpoint)})
    if (const std::string rows = table(view, kind); !rows.empty())
      out += fmt::format("<h2>{}</h2>\n{}", name, rows);
  out += "<ul class=\"soft\">\n";
  for (const std::string& note : profile_notes(view))
    out += fmt::format("<li>{}</li>\n", escape_markup(note));
  out += "</ul>\n" + timelines(view);
  if (view.plan)
    out += fmt::format(
        "<h2>Plan</h2>\n<p>route <b>{}</b>: {}</p>\n<div class=\"side\">\n{}<div>\n"
        "{}</div>\n</div>\n",
        escape_markup(view.plan->route), escape_markup(view.plan->why), source_html(*view.plan),
        plan_svg(*view.plan));
  return out + "</body>\n</html>\n";
}

}  // namespace vyre::cli
