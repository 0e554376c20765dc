// SPDX-License-Identifier: Apache-2.0
// Reads the primitive values of the binary form. The first failure sticks: it is kept with its byte
// offset, and from then on every read gives zero or nothing, so that a caller needs to check only
// where it would loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "vyre/base/diagnostic.hpp"

namespace vyre::ir::binary {

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const { return !failed_; }
  [[nodiscard]] size_t offset() const { return at_; }
  [[nodiscard]] size_t remaining() const { return failed_ ? 0 : end() - at_; }
  [[nodiscard]] const Diagnostic& diagnostic() const { return diagnostic_; }

  // Records the failure unless there is one already. The message gets the offset in front.
  void fail(Code code, size_t offset, std::string_view message, std::string_view fix);
  void malformed(size_t offset, std::string_view message);

  uint8_t u8(std::string_view what);
  uint32_t u32(std::string_view what);
  // At most `max`, in the shortest form.
  uint64_t varint(uint64_t max, std::string_view what);
  // A number of things that take at least one byte each, so it cannot exceed what is left.
  uint32_t count(std::string_view what);
  int32_t zigzag32(std::string_view what);
  bool flag(std::string_view what);
  // A message (ir/message.hpp) of at most `max` bytes; longer ones fail with `too_long`.
  std::string string(size_t max, Code too_long, std::string_view what);
  // A byte below `limit`, as an enumerator.
  template <class Enum>
  Enum tag(int limit, std::string_view what) {
    const size_t start = at_;
    const uint8_t value = u8(what);
    if (value < limit) return static_cast<Enum>(value);
    unknown_tag(start, value, what);
    return Enum{};
  }
  void unknown_tag(size_t offset, uint8_t value, std::string_view what);

  // A length-delimited part: reads inside it cannot pass its end, and it must be used up.
  void enter(uint8_t section);
  void leave();

 private:
  [[nodiscard]] size_t end() const { return in_section_ ? section_end_ : bytes_.size(); }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  size_t section_end_ = 0;
  bool in_section_ = false;
  bool failed_ = false;
  Diagnostic diagnostic_;
};

}  // namespace vyre::ir::binary
