// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace vyre::base {
namespace {

TEST(Utf8, RoundTripsEveryLength) {
  for (const char32_t value : {U'a', U'\x7F', U'\x80', U'é', U'\x7FF', U'\x800', U'漢', U'\xFFFF',
                               U'\U00010000', U'\U0010FFFF'}) {
    std::string text;
    append_utf8(text, value);
    const CodePoint point = code_point_at(text, 0);
    EXPECT_EQ(point.value, value);
    EXPECT_EQ(point.bytes, text.size());
    EXPECT_EQ(previous_code_point(text, text.size()), 0U);
  }
}

TEST(Utf8, InvalidBytesCountOneEach) {
  // Stray continuation, overlong slash, surrogate, above U+10FFFF, cut off, never valid.
  for (const std::string_view text :
       {"\x80", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE6\xBC", "\xFF",
        "\xF8\x88\x80\x80\x80"}) {
    size_t points = 0;
    for (size_t at = 0; at < text.size(); ++points) {
      const CodePoint point = code_point_at(text, at);
      EXPECT_EQ(point.value, kReplacement);
      at += point.bytes;
    }
    EXPECT_EQ(points, text.size());
    size_t back = 0;
    for (size_t at = text.size(); at > 0; ++back) at = previous_code_point(text, at);
    EXPECT_EQ(back, text.size());
  }
}

TEST(Utf8, Widths) {
  EXPECT_EQ(display_width(U'a'), 1U);
  EXPECT_EQ(display_width(U'é'), 1U);
  EXPECT_EQ(display_width(U'漢'), 2U);
  EXPECT_EQ(display_width(U'\U0001F600'), 2U);
  EXPECT_EQ(display_width(U'\x301'), 0U);
}

TEST(Utf8, NothingThatCommandsATerminalIsPrintable) {
  EXPECT_EQ(printable_text("a\x1b[2Jb\rc\x07"), "a\uFFFD[2Jb\uFFFDc\uFFFD");
  EXPECT_EQ(printable_text("\u202Egnp.exe\u2066"), "\uFFFDgnp.exe\uFFFD");
  EXPECT_EQ(printable_text("two\nlines\té漢"), "two\nlines\té漢");
  EXPECT_EQ(printable_text("\xC3("), "\uFFFD(");
}

}  // namespace
}  // namespace vyre::base
