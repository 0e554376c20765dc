// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <algorithm>
#include <iterator>

namespace vyre::base {
namespace {

struct Interval {
  char32_t first, last;
};

constexpr Interval kZeroWidth[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},
    {0x064B, 0x065F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D},
    {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
};
constexpr Interval kWide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE4F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};
constexpr Interval kUnprintable[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200E, 0x200F},
    {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF},
};

template <size_t N>
bool is_in(const Interval (&sorted)[N], char32_t value) {
  const auto* found = std::lower_bound(std::begin(sorted), std::end(sorted), value,
                                       [](const Interval& i, char32_t v) { return i.last < v; });
  return found != std::end(sorted) && found->first <= value;
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

CodePoint code_point_at(std::string_view text, size_t offset) {
  const auto lead = static_cast<unsigned char>(text[offset]);
  if (lead < 0x80) return {lead, 1};
  size_t bytes = 0;
  char32_t value = 0;
  char32_t smallest = 0;  // anything below has a shorter encoding
  if (lead >= 0xC2 && lead <= 0xDF) {
    bytes = 2, value = lead & 0x1FU, smallest = 0x80;
  } else if ((lead & 0xF0) == 0xE0) {
    bytes = 3, value = lead & 0x0FU, smallest = 0x800;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    bytes = 4, value = lead & 0x07U, smallest = 0x10000;
  } else {
    return {};
  }
  if (text.size() - offset < bytes) return {};
  for (size_t i = 1; i < bytes; ++i) {
    const char c = text[offset + i];
    if (!is_continuation(c)) return {};
    value = value << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < smallest || value > 0x10FFFF || surrogate) return {};
  return {value, bytes};
}

size_t previous_code_point(std::string_view text, size_t offset) {
  for (size_t back = 2; back <= 4 && back <= offset; ++back) {
    if (!is_continuation(text[offset - back + 1])) break;
    if (code_point_at(text, offset - back).bytes == back) return offset - back;
  }
  return offset - 1;
}

void append_utf8(std::string& out, char32_t value) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | value >> 6), put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | value >> 12), put(0x80 | (value >> 6 & 0x3F)), put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | value >> 18), put(0x80 | (value >> 12 & 0x3F));
    put(0x80 | (value >> 6 & 0x3F)), put(0x80 | (value & 0x3F));
  }
}

size_t display_width(char32_t value) {
  if (value < 0x300) return 1;
  if (is_in(kZeroWidth, value)) return 0;
  return is_in(kWide, value) ? 2 : 1;
}

char32_t printable(char32_t value) {
  return is_in(kUnprintable, value) ? kReplacement : value;
}

std::string printable_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const bool keep = point.value == '\n' || point.value == '\t';
    append_utf8(out, keep ? point.value : printable(point.value));
    at += point.bytes;
  }
  return out;
}

}  // namespace vyre::base
