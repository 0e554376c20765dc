// SPDX-License-Identifier: Apache-2.0
#include "cli/values_decimal.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "cli/values_number.hpp"

namespace vyre::cli {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex_digit(char c) {
  return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

// Without `_`, each of which must stand between two digits.
std::optional<std::string> without_separators(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      result += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_hex_digit(text[i - 1]) ||
               !is_hex_digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return result;
}

// The exponent behind an `e`, saturated so that sums with it cannot overflow.
std::optional<int64_t> read_exponent(std::string_view text) {
  constexpr int64_t kFar = int64_t{1} << 40;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  int64_t value = 0;
  for (const char c : text) value = std::min(kFar, value * 10 + (c - '0'));
  return negative ? -value : value;
}

void trim_zeros(Decimal& decimal) {
  std::string& digits = decimal.digits;
  const size_t first = std::min(digits.find_first_not_of('0'), digits.size());
  digits.erase(0, first);
  decimal.exponent -= static_cast<int64_t>(first);
  digits.erase(digits.find_last_not_of('0') + 1);  // npos + 1 is 0
  if (digits.empty()) decimal.exponent = 0;
}

std::optional<Decimal> read_plain(std::string text) {
  Decimal decimal;
  decimal.text = std::move(text);
  std::string_view rest = decimal.text;
  const size_t e = rest.find_first_of("eE");
  if (e != std::string_view::npos) {
    const std::optional<int64_t> exponent = read_exponent(rest.substr(e + 1));
    if (!exponent) return std::nullopt;
    decimal.exponent = *exponent;
    rest = rest.substr(0, e);
  }
  const size_t point = std::min(rest.find('.'), rest.size());
  decimal.exponent += static_cast<int64_t>(point);
  decimal.digits = rest.substr(0, point);
  if (point < rest.size()) decimal.digits += rest.substr(point + 1);
  if (decimal.digits.empty()) return std::nullopt;
  if (!std::all_of(decimal.digits.begin(), decimal.digits.end(), is_digit)) return std::nullopt;
  trim_zeros(decimal);
  return decimal;
}

// The digits behind 0x or 0b.
std::optional<Decimal> read_in_base(int base, std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return read_plain(fmt::format("{}", value));
  Decimal decimal;
  decimal.over_64_bits = true;
  return decimal;
}

// The magnitude rounded to a format of at most 16 bits; nullopt if that gives an infinity.
std::optional<uint64_t> round_magnitude(const FloatFormat& format, double magnitude,
                                        const Decimal& exact) {
  if (magnitude == 0) return 0;
  const int exponent = std::max(std::ilogb(magnitude), format.min_exponent);
  const double scaled = std::ldexp(magnitude, format.precision - 1 - exponent);  // exact
  const double below = std::floor(scaled);
  auto significand = static_cast<uint64_t>(below);
  // The double has been rounded once already. Where it lies off the middle of two neighbours that
  // changes nothing: the middle is itself a double, and rounding never carries a number past one.
  // In the middle the decimal decides; only if it is the middle exactly the tie goes to even.
  const double rest = scaled - below;
  if (rest == 0.5) {
    const int side = compare_magnitude(exact, magnitude);
    if (side > 0 || (side == 0 && significand % 2 == 1)) ++significand;
  } else if (rest > 0.5) {
    ++significand;
  }
  // A significand below the hidden bit is subnormal; one that has grown past it carries into the
  // exponent, as the encoding requires it.
  const int field_bits = format.precision - 1;
  const uint64_t bits =
      (static_cast<uint64_t>(exponent - format.min_exponent) << field_bits) + significand;
  const auto infinity = static_cast<uint64_t>(format.max_exponent - format.min_exponent + 2)
                        << field_bits;
  if (bits >= infinity) return std::nullopt;
  return bits;
}

// The nearest value; infinite if the decimal is too large. from_chars does not say on which side
// it ran out of range.
template <typename T>
T nearest_value(const Decimal& decimal) {
  T value = 0;
  const auto [end, error] =
      std::from_chars(decimal.text.data(), decimal.text.data() + decimal.text.size(), value);
  VYRE_CHECK(end == decimal.text.data() + decimal.text.size());
  if (error == std::errc()) return value;
  if (decimal.digits.empty() || decimal.exponent <= 0) return 0;
  return std::numeric_limits<T>::infinity();
}

// "d.ddde+xx" taken apart.
struct Scientific {
  std::string digits;
  int exponent = 0;
};

Scientific take_apart(std::string_view text) {
  const size_t e = text.find('e');
  VYRE_CHECK(e != std::string_view::npos);
  Scientific result;
  for (const char c : text.substr(0, e))
    if (is_digit(c)) result.digits += c;
  std::string_view exponent = text.substr(e + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), result.exponent);
  return result;
}

template <typename... Precision>
Scientific scientific(auto value, Precision... precision) {
  std::array<char, 800> text{};  // a double has at most 767 digits
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::scientific, precision...);
  VYRE_CHECK(error == std::errc());
  return take_apart({text.data(), static_cast<size_t>(end - text.data())});
}

// The fewest digits for a type that std::to_chars does not know. For each number of digits the
// decimal nearest to the value is tried and then its neighbours: below a power of two the values
// lie closer, so that a decimal farther away but on the other side can still read back.
Scientific shortest_narrow(ir::Type element, uint64_t bits) {
  const double value = float_value(element, bits);
  for (int digits = 1;; ++digits) {
    const Scientific nearest = scientific(value, digits - 1);
    int64_t number = 0;
    std::from_chars(nearest.digits.data(), nearest.digits.data() + nearest.digits.size(), number);
    for (const int64_t step : {0, 1, -1}) {
      const std::string text = fmt::format("{}e{}", number + step, nearest.exponent - (digits - 1));
      if (nearest_float(element, *parse_decimal(text)) != bits) continue;
      double found = 0;
      std::from_chars(text.data(), text.data() + text.size(), found);
      return scientific(found);
    }
  }
}

}  // namespace

std::optional<Decimal> parse_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::optional<std::string> plain = without_separators(text);
  if (!plain || plain->empty()) return std::nullopt;
  std::optional<Decimal> decimal;
  if (plain->starts_with("0x") || plain->starts_with("0X")) {
    decimal = read_in_base(16, std::string_view(*plain).substr(2));
  } else if (plain->starts_with("0b") || plain->starts_with("0B")) {
    decimal = read_in_base(2, std::string_view(*plain).substr(2));
  } else {
    decimal = read_plain(std::move(*plain));
  }
  if (decimal) decimal->negative = negative;
  return decimal;
}

int compare_magnitude(const Decimal& decimal, double value) {
  Decimal other;
  if (value != 0) {
    Scientific exact = scientific(value, 766);
    other.digits = std::move(exact.digits);
    other.exponent = exact.exponent + 1;
    trim_zeros(other);
  }
  if (decimal.digits.empty() || other.digits.empty())
    return static_cast<int>(other.digits.empty()) - static_cast<int>(decimal.digits.empty());
  if (decimal.exponent != other.exponent) return decimal.exponent < other.exponent ? -1 : 1;
  const int order = decimal.digits.compare(other.digits);
  return order < 0 ? -1 : static_cast<int>(order > 0);
}

std::optional<uint64_t> nearest_float(ir::Type element, const Decimal& decimal) {
  const uint64_t sign = decimal.negative ? uint64_t{1} << (ir::bits_of(element) - 1) : 0;
  if (element == ir::Type::F32) {
    const auto value = nearest_value<float>(decimal);
    if (std::isinf(value)) return std::nullopt;
    return sign | std::bit_cast<uint32_t>(value);
  }
  const auto value = nearest_value<double>(decimal);
  if (std::isinf(value)) return std::nullopt;
  if (element == ir::Type::F64) return sign | std::bit_cast<uint64_t>(value);
  const std::optional<uint64_t> bits = round_magnitude(float_format(element), value, decimal);
  if (!bits) return std::nullopt;
  return sign | *bits;
}

std::string float_text(ir::Type element, uint64_t bits) {
  const double value = float_value(element, bits);
  if (std::isnan(value)) return "nan";
  const char* sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) return fmt::format("{}inf", sign);
  const uint64_t magnitude = bits & ~(uint64_t{1} << (ir::bits_of(element) - 1));
  if (magnitude == 0) return fmt::format("{}0", sign);
  Scientific shortest;
  if (element == ir::Type::F64) {
    shortest = scientific(std::fabs(value));
  } else if (element == ir::Type::F32) {
    shortest = scientific(std::bit_cast<float>(static_cast<uint32_t>(magnitude)));
  } else {
    shortest = shortest_narrow(element, magnitude);
  }
  const std::string& digits = shortest.digits;
  const int exponent = shortest.exponent;
  if (exponent < -4 || exponent > 15) {
    const std::string_view rest = std::string_view(digits).substr(1);
    return fmt::format("{}{}{}{}e{:+}", sign, digits[0], rest.empty() ? "" : ".", rest, exponent);
  }
  if (exponent < 0)
    return fmt::format("{}0.{}{}", sign, std::string(static_cast<size_t>(-exponent - 1), '0'),
                       digits);
  const size_t whole = static_cast<size_t>(exponent) + 1;
  // The digits behind the last one that is needed are free: the exact ones are no longer than
  // zeros.
  if (digits.size() <= whole)
    return fmt::format("{}{}", sign, static_cast<uint64_t>(std::fabs(value)));
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace vyre::cli
