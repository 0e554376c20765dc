// SPDX-License-Identifier: Apache-2.0
// 256-bit BLAKE2b digests (libsodium).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace vyre {

struct Digest {
  std::array<uint8_t, 32> bytes{};
  [[nodiscard]] std::string hex() const;  // 64 lowercase hex digits
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

Digest digest_of(std::span<const std::byte> bytes);

}  // namespace vyre
