// SPDX-License-Identifier: Apache-2.0
#include "cli/values_number.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "base/utf8.hpp"
#include "cli/values_decimal.hpp"

namespace vyre::cli {
namespace {

using Bits = std::expected<uint64_t, NumberError>;

std::unexpected<NumberError> fail(std::string message, std::string fix) {
  return std::unexpected(NumberError{std::move(message), std::move(fix)});
}

std::unexpected<NumberError> not_a_number(std::string_view text) {
  if (text.empty()) return fail("a number is missing", "write a number");
  return fail(fmt::format("{} is not a number", quoted_value(text)),
              "write numbers such as 7, -3, 0x1F, 0.5 or 1e-3");
}

std::string range_text(ir::Type element) {
  const IntegerRange range = integer_range(element);
  return fmt::format("{} to {}", whole_text(range.low), whole_text(range.high));
}

std::unexpected<NumberError> does_not_fit(ir::Type element, std::string_view text) {
  return fail(fmt::format("{} does not fit {}, which holds {}", quoted_value(text),
                          ir::name_of(element), range_text(element)),
              "use a number in that range");
}

std::unexpected<NumberError> not_whole(ir::Type element, std::string_view text) {
  return fail(fmt::format("{} is not a whole number, and {} holds whole numbers ({})",
                          quoted_value(text), ir::name_of(element), range_text(element)),
              "round it, or use a buffer of a float type");
}

std::unexpected<NumberError> too_large(ir::Type element, std::string_view text) {
  const FloatFormat format = float_format(element);
  const double largest =
      std::ldexp(2.0 - std::ldexp(1.0, 1 - format.precision), format.max_exponent);
  return fail(fmt::format("{} is too large for {}, whose largest value is {}", quoted_value(text),
                          ir::name_of(element), bits_text(element, float_bits(element, largest))),
              "use a smaller number, or write inf");
}

bool same_word(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                    [](char a, char b) { return (a | 0x20) == b; });
}

Bits parse_bool(std::string_view text) {
  if (same_word(text, "true") || text == "1") return 1;
  if (same_word(text, "false") || text == "0") return 0;
  return fail(fmt::format("{} is not a bool", quoted_value(text)),
              "write true or false (or 1 or 0)");
}

uint64_t low_bits(WideInteger value, ir::Type element) {
  const auto bits = static_cast<uint64_t>(value);
  return ir::bits_of(element) == 64 ? bits : bits & ((uint64_t{1} << ir::bits_of(element)) - 1);
}

Bits parse_integer(ir::Type element, std::string_view text) {
  VYRE_TRY_ASSIGN(const auto value, parse_whole(element, text));
  const IntegerRange range = integer_range(element);
  if (value < range.low || value > range.high) return does_not_fit(element, text);
  return low_bits(value, element);
}

// inf and nan, with a sign or without.
std::optional<double> parse_special(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  if (same_word(text, "nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (same_word(text, "inf") || same_word(text, "infinity")) {
    value = std::numeric_limits<double>::infinity();
  } else {
    return std::nullopt;
  }
  return std::copysign(value, negative ? -1.0 : 1.0);
}

// Most numbers need no more than this; nullopt leaves a text to the careful way.
template <typename T>
std::optional<T> quick_value(std::string_view text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value == 0 || std::isinf(value)) return std::nullopt;
  return value;
}

Bits parse_float(ir::Type element, std::string_view text) {
  if (element == ir::Type::F32)
    if (const auto value = quick_value<float>(text)) return std::bit_cast<uint32_t>(*value);
  if (element == ir::Type::F64)
    if (const auto value = quick_value<double>(text)) return std::bit_cast<uint64_t>(*value);
  if (const std::optional<double> special = parse_special(text))
    return float_bits(element, *special);
  const std::optional<Decimal> decimal = parse_decimal(text);
  if (!decimal) return not_a_number(text);
  if (decimal->over_64_bits)
    return fail(fmt::format("{} has more than 64 bits", quoted_value(text)),
                "write such a number as a decimal");
  const std::optional<uint64_t> bits = nearest_float(element, *decimal);
  if (!bits) return too_large(element, text);
  return *bits;
}

}  // namespace

bool is_float_element(ir::Type element) {
  return ir::is_float(ir::widened(element));
}

IntegerRange integer_range(ir::Type element) {
  if (element == ir::Type::Bool) return {0, 1};
  const WideInteger size = WideInteger{1} << ir::bits_of(element);
  if (ir::is_signed(ir::widened(element))) return {-size / 2, size / 2 - 1};
  return {0, size - 1};
}

FloatFormat float_format(ir::Type element) {
  if (element == ir::Type::F64) return {53, -1022, 1023};
  if (element == ir::Type::F32) return {24, -126, 127};
  if (element == ir::Type::F16) return {11, -14, 15};
  VYRE_CHECK(element == ir::Type::BF16);
  return {8, -126, 127};
}

double float_value(ir::Type element, uint64_t bits) {
  if (element == ir::Type::F64) return std::bit_cast<double>(bits);
  const FloatFormat format = float_format(element);
  const int field_bits = format.precision - 1;
  const uint64_t fraction = bits & ((uint64_t{1} << field_bits) - 1);
  const uint64_t sign_bit = uint64_t{1} << (ir::bits_of(element) - 1);
  const auto field = static_cast<int>((bits & (sign_bit - 1)) >> field_bits);
  double value = 0;
  if (field == format.max_exponent - format.min_exponent + 2) {
    value = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                          : std::numeric_limits<double>::infinity();
  } else {
    const uint64_t hidden = field == 0 ? 0 : uint64_t{1} << field_bits;
    const int exponent = format.min_exponent + std::max(field - 1, 0) - field_bits;
    value = std::ldexp(static_cast<double>(fraction | hidden), exponent);
  }
  return (bits & sign_bit) != 0 ? -value : value;
}

uint64_t float_bits(ir::Type element, double value) {
  if (element == ir::Type::F64) return std::bit_cast<uint64_t>(value);
  const FloatFormat format = float_format(element);
  const int field_bits = format.precision - 1;
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (ir::bits_of(element) - 1) : 0;
  const auto infinity = static_cast<uint64_t>(format.max_exponent - format.min_exponent + 2)
                        << field_bits;
  if (std::isnan(value)) return sign | infinity | (uint64_t{1} << (field_bits - 1));
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  const double magnitude = std::fabs(value);
  const int exponent = std::max(std::ilogb(magnitude), format.min_exponent);
  const double scaled = std::ldexp(magnitude, field_bits - exponent);
  VYRE_CHECK(exponent <= format.max_exponent);
  VYRE_CHECK(scaled == std::floor(scaled));
  return sign | ((static_cast<uint64_t>(exponent - format.min_exponent) << field_bits) +
                 static_cast<uint64_t>(scaled));
}

std::expected<WideInteger, NumberError> parse_whole(ir::Type element, std::string_view text) {
  if (same_word(text, "true") || same_word(text, "false"))
    return fail(fmt::format("{} is a bool, not a number", quoted_value(text)), "write 1 or 0");
  if (parse_special(text)) return not_whole(element, text);
  int64_t quick = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quick);
  if (error == std::errc() && end == text.data() + text.size()) return quick;
  const std::optional<Decimal> decimal = parse_decimal(text);
  if (!decimal) return not_a_number(text);
  if (decimal->over_64_bits) return does_not_fit(element, text);
  const std::string& digits = decimal->digits;
  if (digits.empty()) return 0;
  constexpr int64_t kMostDigits = 20;  // of 2^64
  if (decimal->exponent < static_cast<int64_t>(digits.size())) return not_whole(element, text);
  if (decimal->exponent > kMostDigits) return does_not_fit(element, text);
  WideInteger value = 0;
  for (int64_t i = 0; i < decimal->exponent; ++i)
    value = value * 10 +
            (i < static_cast<int64_t>(digits.size()) ? digits[static_cast<size_t>(i)] - '0' : 0);
  return decimal->negative ? -value : value;
}

Bits parse_element(ir::Type element, std::string_view text) {
  if (element == ir::Type::Bool) return parse_bool(text);
  return is_float_element(element) ? parse_float(element, text) : parse_integer(element, text);
}

uint64_t load_element(ir::Type element, std::span<const std::byte> bytes, uint64_t index) {
  const uint64_t size = ir::bytes_of(element);
  const auto at = bytes.subspan(index * size, size);
  uint64_t bits = 0;
  for (size_t i = 0; i < size; ++i) bits |= std::to_integer<uint64_t>(at[i]) << (8 * i);
  return bits;
}

void store_element(ir::Type element, std::span<std::byte> bytes, uint64_t index, uint64_t bits) {
  const uint64_t size = ir::bytes_of(element);
  const auto at = bytes.subspan(index * size, size);
  for (size_t i = 0; i < size; ++i) at[i] = static_cast<std::byte>(bits >> (8 * i));
}

std::string whole_text(WideInteger value) {
  const bool negative = value < 0;
  std::string text;
  do {
    const auto digit = static_cast<int>(value % 10);
    text += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (negative) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

std::string bits_text(ir::Type element, uint64_t bits) {
  if (element == ir::Type::Bool) return bits != 0 ? "true" : "false";
  if (is_float_element(element)) return float_text(element, bits);
  if (!ir::is_signed(ir::widened(element))) return fmt::format("{}", bits);
  const int unused = 64 - static_cast<int>(ir::bits_of(element));
  return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
}

std::string quoted_value(std::string_view text) {
  constexpr size_t kLongest = 60;
  if (text.size() <= kLongest) return fmt::format("`{}`", text);
  size_t end = 0;
  while (end < kLongest) end += base::code_point_at(text, end).bytes;
  return fmt::format("`{}…`", text.substr(0, end));
}

}  // namespace vyre::cli
