// SPDX-License-Identifier: Apache-2.0
// Numbers between their spelling and the literals of the IR. Integers become 64-bit magnitudes,
// decimals keep all their digits: they are rounded once, by the checker, to the type that the
// context gives them.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "vyre/ir/program.hpp"

namespace vyre::text {

struct Number {
  bool decimal = false;    // has a point
  uint64_t magnitude = 0;  // without one
  std::string digits;      // with one, as in ir::FloatLiteral
  int32_t exponent = 0;
  std::optional<ir::Type> suffix;
};

struct NumberError {
  std::string message;
  std::string fix;
};

// The spelling as the lexer cuts it: a digit or a point first, then all that is glued to it.
std::expected<Number, NumberError> read_number(std::string_view spelling);

// What print() writes, suffix included; a negative literal starts with `-`.
std::string write_number(const ir::IntLiteral& literal);
std::string write_number(const ir::FloatLiteral& literal);

}  // namespace vyre::text
