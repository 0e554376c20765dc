// SPDX-License-Identifier: Apache-2.0
// Decimals with all their digits, for the places where a double is not exact enough, and the
// shortest text of a float.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vyre/ir/types.hpp"

namespace vyre::cli {

// 0.DIGITS * 10^exponent; no digits: zero.
struct Decimal {
  bool negative = false;
  std::string digits;  // neither starts nor ends with 0
  int64_t exponent = 0;
  std::string text;           // the magnitude as std::from_chars reads it
  bool over_64_bits = false;  // a hexadecimal or binary number that long; nothing else is kept
};

// `7`, `-3`, `+1_000`, `0x1F`, `0b101`, `.5`, `1.`, `1e-3`; nullopt for anything else. The exponent
// of the result saturates far outside of what any type holds.
std::optional<Decimal> parse_decimal(std::string_view text);

// Below, at or above `value`: -1, 0, 1, signs aside; exact. `value` is finite and not negative.
int compare_magnitude(const Decimal& decimal, double value);

// The bits of the nearest value of a float element, ties to even; nullopt if that is infinite.
std::optional<uint64_t> nearest_float(ir::Type element, const Decimal& decimal);

// The fewest digits that parse_element() turns into the same bits. Fixed notation for exponents
// from -4 to 15, else scientific (1e+16).
std::string float_text(ir::Type element, uint64_t bits);

}  // namespace vyre::cli
