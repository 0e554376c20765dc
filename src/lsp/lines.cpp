// SPDX-License-Identifier: Apache-2.0
#include "lsp/lines.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/utf8.hpp"

namespace vyre::lsp {

namespace {

constexpr char32_t kFirstOfTwoUnits = 0x10000;

size_t units_of(base::CodePoint point, Encoding encoding) {
  if (encoding == Encoding::Utf8) return point.bytes;
  return point.value >= kFirstOfTwoUnits ? 2 : 1;
}

}  // namespace

Lines::Lines(std::string_view text) : text_(text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') language_.push_back(i + 1);
    const bool ends = c == '\n' || (c == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'));
    if (ends) protocol_.push_back(i + 1);
  }
}

size_t Lines::offset_of(Place place, Encoding encoding) const {
  if (place.line >= protocol_.size()) return text_.size();
  size_t offset = protocol_[place.line];
  size_t end = place.line + 1 < protocol_.size() ? protocol_[place.line + 1] : text_.size();
  while (end > offset && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  uint64_t left = place.character;
  while (offset < end) {
    const base::CodePoint point = base::code_point_at(text_, offset);
    const size_t units = units_of(point, encoding);
    // The middle of a character is its start.
    if (left < units) break;
    left -= units;
    offset += point.bytes;
  }
  return std::min(offset, end);
}

Place Lines::place_of(size_t offset, Encoding encoding) const {
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(protocol_.begin(), protocol_.end(), offset);
  const auto line = static_cast<size_t>(after - protocol_.begin()) - 1;
  Place place{line, 0};
  for (size_t i = protocol_[line]; i < offset;) {
    const base::CodePoint point = base::code_point_at(text_, i);
    place.character += units_of(point, encoding);
    i += point.bytes;
  }
  return place;
}

Span Lines::span_of(const Position& position) const {
  if (!position.known() || position.line > language_.size()) return {};
  const size_t start = language_[position.line - 1];
  const size_t end = position.line < language_.size() ? language_[position.line] : text_.size();
  const auto forward = [&](size_t offset, uint32_t points) {
    for (; points > 0 && offset < end && text_[offset] != '\n'; --points)
      offset += base::code_point_at(text_, offset).bytes;
    return std::min(offset, end);
  };
  const size_t first = forward(start, position.column > 0 ? position.column - 1 : 0);
  return {first, forward(first, position.length)};
}

std::string edited(std::string_view text, std::vector<Edit> edits) {
  std::ranges::sort(edits, {}, [](const Edit& e) { return std::pair(e.span.first, e.span.last); });
  std::string result;
  size_t at = 0;
  for (const Edit& edit : edits) {
    if (edit.span.first < at) continue;
    result += text.substr(at, edit.span.first - at);
    result += edit.text;
    at = edit.span.last;
  }
  result += text.substr(at);
  return result;
}

}  // namespace vyre::lsp
