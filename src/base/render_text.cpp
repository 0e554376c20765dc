// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.hpp"
#include "vyre/base/diagnostic.hpp"

namespace vyre {
namespace {

using base::code_point_at;
using base::CodePoint;

constexpr size_t kMaxOutputBytes = size_t{1} << 20;
// A diagnostic or note is only begun while so much is left; none is larger (see the limits below).
constexpr size_t kReserveBytes = size_t{128} << 10;
constexpr size_t kMaxMessageBytes = size_t{8} << 10;
constexpr size_t kMaxFileBytes = size_t{4} << 10;

constexpr size_t kMaxColumns = 160;
constexpr size_t kMaxCodePoints = 4 * kMaxColumns;  // combining marks have no width
constexpr size_t kColumnsBefore = 80;               // kept before the caret of a clipped line
constexpr size_t kTabWidth = 4;

// The line that a position is on and where in it the position is.
struct Spot {
  std::string_view line;  // without its line ending
  size_t byte = 0;
};
using Spots = std::map<std::pair<uint32_t, uint32_t>, Spot>;  // by line and column

// Fills in all spots in one pass over the text: 16 MiB may have a hundred positions, and may be
// one line.
void resolve(std::string_view text, Spots& spots) {
  uint32_t line_number = 0;
  std::string_view line;
  std::string_view rest = text;
  bool more = true;
  uint32_t column = 1;
  size_t byte = 0;
  for (auto& [where, spot] : spots) {
    while (line_number < where.first && more) {
      const size_t end = rest.find('\n');
      line = rest.substr(0, end);
      more = end != std::string_view::npos;
      rest.remove_prefix(more ? end + 1 : rest.size());
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++line_number;
      column = 1;
      byte = 0;
    }
    if (line_number < where.first) return;  // past the end; no line to show
    for (; column < where.second && byte < line.size(); ++column)
      byte += code_point_at(line, byte).bytes;
    spot = {line, byte};
  }
}

class Renderer {
 public:
  Renderer(const std::vector<SourceText>& sources, bool color) : sources_(sources), color_(color) {}

  std::string render(const Diagnostics& diagnostics) {
    for (const Diagnostic& d : diagnostics.list()) find_spots(d.at, d.notes);
    resolve_spots();
    size_t errors = 0;
    size_t warnings = 0;
    size_t not_shown = diagnostics.dropped();
    for (const Diagnostic& d : diagnostics.list()) {
      if (!has_room()) {
        ++not_shown;
        continue;
      }
      ++(d.severity == Severity::Error ? errors : warnings);
      if (!out_.empty()) out_ += '\n';
      render(d);
    }
    summary(errors, warnings, not_shown);
    return std::move(out_);
  }

  std::string render(std::span<const Finding> findings) {
    for (const Finding& f : findings) find_spots(f.at, f.notes);
    resolve_spots();
    for (const Finding& f : findings) {
      if (!has_room()) break;
      if (!out_.empty()) out_ += '\n';
      render("1;31", f);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool has_room() const { return out_.size() + kReserveBytes <= kMaxOutputBytes; }

  void find_spots(const Position& at, std::span<const Note> notes) {
    const auto want = [&](const Position& where) {
      if (where.known() && source_of(where.file)) spots_[where.file][{where.line, where.column}];
    };
    want(at);
    for (const Note& note : notes) want(note.at);
  }
  void resolve_spots() {
    for (auto& [file, spots] : spots_) resolve(source_of(file)->text, spots);
  }

  [[nodiscard]] const SourceText* source_of(const std::string& file) const {
    const auto found = std::find_if(sources_.begin(), sources_.end(),
                                    [&](const SourceText& source) { return source.file == file; });
    return found == sources_.end() ? nullptr : &*found;
  }

  void render(const Diagnostic& d) {
    const bool error = d.severity == Severity::Error;
    render(error ? "1;31" : "1;35",
           {.label = fmt::format("{}[{}]", error ? "error" : "warning", text_of(d.code)),
            .at = d.at,
            .message = d.message,
            .fix = d.fix,
            .notes = d.notes});
  }

  void render(std::string_view style, const Finding& f) {
    place(f.at);
    styled(style, f.label + ": ");
    styled("1", message(f.message));
    out_ += '\n';
    source_line(f.at);
    for (const Note& note : f.notes) {
      if (!has_room()) break;
      place(note.at);
      styled("1;36", "note: ");
      out_ += message(note.message) + '\n';
      source_line(note.at);
    }
    if (f.fix.empty()) return;
    out_ += "  ";
    styled("1;32", "Fix: ");
    out_ += message(f.fix) + '\n';
  }

  void place(const Position& at) {
    std::string text = base::printable_text(std::string_view(at.file).substr(0, kMaxFileBytes));
    if (at.known()) text += fmt::format("{}{}", text.empty() ? "line " : ":", at.line);
    if (at.known() && at.column != 0) text += fmt::format(":{}", at.column);
    if (!text.empty()) styled("1", text + ": ");
  }

  static std::string message(std::string_view text) {
    const bool cut = text.size() > kMaxMessageBytes;
    std::string shown = base::printable_text(text.substr(0, kMaxMessageBytes));
    if (cut) shown += "...";
    for (size_t at = shown.find('\n'); at != std::string::npos; at = shown.find('\n', at + 1))
      shown.insert(at + 1, "    ");
    return shown;
  }

  void source_line(const Position& at) {
    const auto in_file = spots_.find(at.file);
    if (!at.known() || in_file == spots_.end()) return;
    const Spot& spot = in_file->second.at({at.line, at.column});
    if (spot.line.data() == nullptr) return;

    std::string shown;
    std::string carets;
    draw(spot, at.length, shown, carets);
    const std::string number = fmt::format("{:>5}", at.line);
    styled("2", number + " | ");
    out_ += shown + '\n';
    if (at.column == 0) return;
    styled("2", std::string(number.size(), ' ') + " | ");
    const size_t caret = carets.find('^');
    out_.append(carets, 0, caret);
    styled("1;32", std::string_view(carets).substr(caret));
    out_ += '\n';
  }

  // Where to begin so that the spot is in view: 0 unless the line is too long.
  static size_t first_shown(const Spot& spot) {
    size_t column = 0;
    size_t at = 0;
    for (size_t count = 0; at < spot.line.size() && fits(column, count); ++count) {
      const CodePoint point = code_point_at(spot.line, at);
      column += width_at(column, point.value);
      at += point.bytes;
    }
    if (fits(column, 0) && at == spot.line.size()) return 0;

    size_t begin = spot.byte;
    column = 0;
    for (size_t count = 0; begin > 0 && column < kColumnsBefore && count < kColumnsBefore;
         ++count) {
      begin = base::previous_code_point(spot.line, begin);
      column += width_at(0, code_point_at(spot.line, begin).value);
    }
    return begin;
  }

  static bool fits(size_t column, size_t count) {
    return column <= kMaxColumns && count < kMaxCodePoints;
  }

  static size_t width_at(size_t column, char32_t value) {
    if (value == '\t') return kTabWidth - column % kTabWidth;
    return base::display_width(base::printable(value));
  }

  // The part of the line around the spot, and the line of carets below it.
  static void draw(const Spot& spot, uint32_t length, std::string& shown, std::string& carets) {
    size_t at = first_shown(spot);
    if (at > 0) shown = "...";
    size_t column = shown.size();
    carets.resize(column, ' ');
    size_t marked = 0;
    for (size_t count = 0; at < spot.line.size() && fits(column, count); ++count) {
      const CodePoint point = code_point_at(spot.line, at);
      const size_t width = width_at(column, point.value);
      column += width;
      if (point.value == '\t') {
        shown.append(width, ' ');
      } else {
        base::append_utf8(shown, base::printable(point.value));
      }
      const bool mark = at >= spot.byte && marked < std::max<uint32_t>(length, 1);
      if (mark) ++marked;
      if (mark || at < spot.byte) carets.resize(column, mark ? '^' : ' ');
      at += point.bytes;
    }
    if (at < spot.line.size()) shown += "...";
    if (carets.find('^') == std::string::npos) carets += '^';  // at the end, or of no width
  }

  void summary(size_t errors, size_t warnings, size_t not_shown) {
    if (errors + warnings + not_shown == 0) return;
    std::string text;
    const auto count = [&](size_t n, std::string_view what) {
      if (n == 0) return;
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", n, what, n == 1 ? "" : "s");
    };
    count(errors, "error");
    count(warnings, "warning");
    if (not_shown != 0)
      text += fmt::format("{}{} more not shown", text.empty() ? "" : ", ", not_shown);
    out_ += '\n' + text + '\n';
  }

  void styled(std::string_view style, std::string_view text) {
    if (color_) out_.append("\x1b[").append(style).append("m");
    out_ += text;
    if (color_) out_ += "\x1b[0m";
  }

  const std::vector<SourceText>& sources_;
  bool color_;
  std::map<std::string, Spots> spots_;
  std::string out_;
};

}  // namespace

std::string render_text(const Diagnostics& diagnostics, const std::vector<SourceText>& sources,
                        RenderOptions options) {
  return Renderer(sources, options.color).render(diagnostics);
}

std::string render_findings(std::span<const Finding> findings,
                            const std::vector<SourceText>& sources, RenderOptions options) {
  std::vector<Finding> shown(findings.begin(), findings.end());
  for (Finding& finding : shown)
    for (const Position& use : finding.at.used_at)
      finding.notes.push_back({use, "expanded for this use"});
  return Renderer(sources, options.color).render(shown);
}

}  // namespace vyre
