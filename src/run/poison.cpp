// SPDX-License-Identifier: Apache-2.0
#include "run/poison.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "run/errors.hpp"

namespace vyre::run {

Result<std::optional<std::byte>> poison_of_environment() {
  const char* const value = std::getenv(kPoisonVariable);
  const std::string_view text = value != nullptr ? value : "";
  if (text.empty()) return std::optional<std::byte>();
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hex ? text.substr(2) : text;
  uint8_t byte = 0;
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), byte, hex ? 16 : 10);
  if (failed != std::errc() || end != digits.data() + digits.size())
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("{} is `{}`, which is no byte. Fix: use a number from 0 to 255, such as "
                    "165 or 0xA5, or unset it",
                    kPoisonVariable, text));
  return std::optional(std::byte{byte});
}

}  // namespace vyre::run
