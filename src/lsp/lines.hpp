// SPDX-License-Identifier: Apache-2.0
// Places in a text, in the three ways that are in use: byte offsets (here), line and column in code
// points with lines that end at \n (diagnostics and tokens), and line and character of the
// protocol, whose lines also end at \r and whose characters are UTF-16 units or bytes. Everything
// outside the text is taken as its nearest place inside, so no number of a client can lead out of
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "vyre/base/diagnostic.hpp"

namespace vyre::lsp {

enum class Encoding : uint8_t { Utf16, Utf8 };

// A place as the protocol gives it; both count from 0.
struct Place {
  uint64_t line = 0;
  uint64_t character = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// Bytes of the text: first <= byte < last.
struct Span {
  size_t first = 0;
  size_t last = 0;
  [[nodiscard]] bool holds(size_t offset) const { return first <= offset && offset <= last; }
  friend bool operator==(const Span&, const Span&) = default;
};

// What replaces a part of a text.
struct Edit {
  Span span;
  std::string text;
  friend bool operator==(const Edit&, const Edit&) = default;
};

// The text must outlive it and stay where it is.
class Lines {
 public:
  Lines() = default;
  explicit Lines(std::string_view text);

  [[nodiscard]] size_t offset_of(Place place, Encoding encoding) const;
  [[nodiscard]] Place place_of(size_t offset, Encoding encoding) const;
  // Where a diagnostic points; an unknown position is the start of the text.
  [[nodiscard]] Span span_of(const Position& position) const;

 private:
  std::string_view text_;
  std::vector<size_t> protocol_ = {0};  // where lines start that end at \n, \r\n or \r
  std::vector<size_t> language_ = {0};  // where lines start that end at \n
};

// The text with all edits done; they must not overlap.
std::string edited(std::string_view text, std::vector<Edit> edits);

}  // namespace vyre::lsp
