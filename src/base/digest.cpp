// SPDX-License-Identifier: Apache-2.0
#include "vyre/base/digest.hpp"

#include <sodium.h>

#include "base/check.hpp"
#include "base/fork.hpp"

namespace vyre {

std::string Digest::hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Digest digest_of(std::span<const std::byte> bytes) {
  static const bool ready = sodium_init() >= 0;
  VYRE_CHECK(ready);
  Digest digest;
  static_assert(sizeof(digest.bytes) == crypto_generichash_BYTES);
  const int failed = crypto_generichash(digest.bytes.data(), digest.bytes.size(),
                                        reinterpret_cast<const unsigned char*>(bytes.data()),
                                        bytes.size(), nullptr, 0);
  VYRE_CHECK(failed == 0);
  return digest;
}

namespace {
const base::CalledAtLoad kSodium([] { return digest_of({}); });
}  // namespace

}  // namespace vyre
