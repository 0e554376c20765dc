// SPDX-License-Identifier: Apache-2.0
#include "vyre/base/codes.hpp"

#include <array>
#include <cstddef>

#include "base/check.hpp"

namespace vyre {
namespace {

constexpr CodeInfo kCodes[] = {
#define VYRE_ROW(number, severity, name, title) {Code::name, Severity::severity, #name, title},
    VYRE_DIAGNOSTIC_CODES(VYRE_ROW)
#undef VYRE_ROW
};
constexpr size_t kCount = std::size(kCodes);
constexpr size_t kMaxNumber = 999;  // three digits in "V070"

consteval bool rows_ascend() {
  for (size_t i = 0; i + 1 < kCount; ++i)
    if (kCodes[i].code >= kCodes[i + 1].code) return false;
  return static_cast<size_t>(kCodes[kCount - 1].code) <= kMaxNumber;
}
static_assert(rows_ascend(), "rows must be in ascending order and have at most three digits");

consteval auto make_texts() {
  std::array<std::array<char, 4>, kCount> texts{};
  for (size_t i = 0; i < kCount; ++i) {
    const auto number = static_cast<unsigned>(kCodes[i].code);
    texts[i] = {'V', static_cast<char>('0' + number / 100),
                static_cast<char>('0' + number / 10 % 10), static_cast<char>('0' + number % 10)};
  }
  return texts;
}
constexpr auto kTexts = make_texts();

// kCount if there is no such row.
size_t row_of(unsigned number) {
  size_t row = 0;
  while (row < kCount && static_cast<unsigned>(kCodes[row].code) != number) ++row;
  return row;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_but_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

}  // namespace

std::span<const CodeInfo> all_codes() {
  return kCodes;
}

const CodeInfo& info_of(Code code) {
  const size_t row = row_of(static_cast<unsigned>(code));
  VYRE_CHECK(row < kCount);
  return kCodes[row];
}

std::string_view text_of(Code code) {
  const size_t row = row_of(static_cast<unsigned>(code));
  VYRE_CHECK(row < kCount);
  return {kTexts[row].data(), kTexts[row].size()};
}

std::optional<Code> code_from_text(std::string_view text) {
  for (const CodeInfo& info : kCodes)
    if (same_but_case(info.name, text)) return info.code;

  if (!text.empty() && lower(text.front()) == 'v') text.remove_prefix(1);
  if (text.empty() || text.size() > 3) return std::nullopt;
  unsigned number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  const size_t row = row_of(number);
  if (row == kCount) return std::nullopt;
  return kCodes[row].code;
}

}  // namespace vyre
