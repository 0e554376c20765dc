// SPDX-License-Identifier: Apache-2.0
// Memory of the host with pages around it that nobody may touch: whoever reads or writes past the
// end of it, or before its start, ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vyre::conformance {

// Which end of the bytes lies directly at such a page.
enum class Edge : uint8_t { End, Start };

class GuardedBytes {
 public:
  // A copy of `bytes`; without memory for it the process ends.
  GuardedBytes(std::span<const std::byte> bytes, Edge edge);
  GuardedBytes(GuardedBytes&& other) noexcept;
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  GuardedBytes& operator=(GuardedBytes&&) = delete;
  ~GuardedBytes();

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  // Writes to it end the process, too.
  void make_read_only() const;

 private:
  std::byte* mapping_ = nullptr;
  size_t length_ = 0;
  std::span<std::byte> bytes_;
};

}  // namespace vyre::conformance
