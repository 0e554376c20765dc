// SPDX-License-Identifier: Apache-2.0
#include "ir/binary_reader.hpp"

#include <fmt/format.h>

#include "ir/message.hpp"

namespace vyre::ir::binary {

void Reader::fail(Code code, size_t offset, std::string_view message, std::string_view fix) {
  if (failed_) return;
  failed_ = true;
  diagnostic_.code = code;
  diagnostic_.severity = Severity::Error;
  diagnostic_.message = fmt::format("at byte {}: {}", offset, message);
  diagnostic_.fix = fix;
}

void Reader::malformed(size_t offset, std::string_view message) {
  fail(Code::MalformedBytes, offset, message,
       "encode the program again; these bytes were cut off, altered or not written by vyre");
}

void Reader::unknown_tag(size_t offset, uint8_t value, std::string_view what) {
  malformed(offset, fmt::format("expected {}, found the byte {}", what, value));
}

uint8_t Reader::u8(std::string_view what) {
  if (failed_) return 0;
  if (at_ >= end()) {
    malformed(at_, fmt::format("expected {}, found the end of the {}", what,
                               in_section_ ? "section" : "bytes"));
    return 0;
  }
  return static_cast<uint8_t>(bytes_[at_++]);
}

uint32_t Reader::u32(std::string_view what) {
  uint32_t value = 0;
  for (int shift = 0; shift < 32; shift += 8) value |= uint32_t{u8(what)} << shift;
  return value;
}

uint64_t Reader::varint(uint64_t max, std::string_view what) {
  const size_t start = at_;
  uint64_t value = 0;
  for (int shift = 0; ok(); shift += 7) {
    const uint8_t byte = u8(what);
    // The tenth byte holds one bit; an eleventh cannot be.
    if (shift == 63 && byte > 1) {
      malformed(start, fmt::format("expected {}, found a number of more than 64 bits", what));
      return 0;
    }
    value |= uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) != 0) continue;
    if (byte == 0 && shift != 0)
      malformed(start,
                fmt::format("expected {}, found a number that is not in its shortest form", what));
    else if (value > max)
      malformed(start, fmt::format("expected {} of at most {}, found {}", what, max, value));
    break;
  }
  return ok() ? value : 0;
}

uint32_t Reader::count(std::string_view what) {
  const size_t start = at_;
  const uint64_t value = varint(UINT32_MAX, what);
  if (value <= remaining()) return static_cast<uint32_t>(value);
  malformed(start,
            fmt::format("expected {}, found {} with only {} bytes left", what, value, remaining()));
  return 0;
}

int32_t Reader::zigzag32(std::string_view what) {
  const uint64_t value = varint(UINT32_MAX, what);
  const uint32_t half = static_cast<uint32_t>(value >> 1);
  return static_cast<int32_t>((value & 1) != 0 ? ~half : half);
}

bool Reader::flag(std::string_view what) {
  const size_t start = at_;
  const uint8_t value = u8(what);
  if (value > 1) unknown_tag(start, value, what);
  return value == 1;
}

std::string Reader::string(size_t max, Code too_long, std::string_view what) {
  const size_t start = at_;
  const uint32_t size = count(what);
  if (!ok()) return {};
  if (size > max) {
    fail(too_long, start, fmt::format("{} has {} bytes, at most {} are allowed", what, size, max),
         fmt::format("use a name of at most {} bytes", max));
    return {};
  }
  std::string text(reinterpret_cast<const char*>(bytes_.data() + at_), size);
  at_ += size;
  if (!is_message(text))
    malformed(start, fmt::format("expected {} in UTF-8 without control characters", what));
  return text;
}

void Reader::enter(uint8_t section) {
  const size_t start = at_;
  const uint8_t found = u8("a section number");
  if (found != section) {
    malformed(start, fmt::format("expected section {}, found section {}", section, found));
    return;
  }
  const uint32_t size = u32("the length of a section");
  if (size > remaining()) {
    malformed(start, fmt::format("section {} has {} bytes, but only {} are left", section, size,
                                 remaining()));
    return;
  }
  section_end_ = at_ + size;
  in_section_ = true;
}

void Reader::leave() {
  if (ok() && at_ != section_end_)
    malformed(at_, "expected the end of the section, found more bytes");
  in_section_ = false;
}

}  // namespace vyre::ir::binary
