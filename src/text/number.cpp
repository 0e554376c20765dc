// SPDX-License-Identifier: Apache-2.0
#include "text/number.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "text/habits.hpp"
#include "text/lexer.hpp"

namespace vyre::text {

namespace {

using Failure = std::unexpected<NumberError>;

Failure fail(std::string message, std::string fix) {
  return Failure(NumberError{std::move(message), std::move(fix)});
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

bool well_spaced(std::string_view digits) {
  return !digits.empty() && digits.front() != '_' && digits.back() != '_' &&
         digits.find("__") == std::string_view::npos;
}

std::string_view take_digits(std::string_view& rest, int base) {
  size_t count = 0;
  while (count < rest.size() && (rest[count] == '_' || digit_value(rest[count]) < base)) ++count;
  const std::string_view digits = rest.substr(0, count);
  rest.remove_prefix(count);
  return digits;
}

Failure bad_digits(std::string_view spelling) {
  return fail(fmt::format("{} has no digit, or a `_` that does not stand between two digits",
                          quoted(spelling)),
              "write digits, with single `_` only between them");
}

std::expected<std::optional<ir::Type>, NumberError> read_suffix(std::string_view suffix,
                                                                std::string_view spelling,
                                                                bool decimal) {
  if (suffix.empty()) return std::optional<ir::Type>{};
  const std::optional<ir::Type> type = ir::type_from_name(suffix);
  if (type && ir::is_number(*type)) {
    if (!decimal || ir::is_float(*type)) return type;
    return fail(fmt::format("the decimal {} has the integer suffix `{}`", quoted(spelling), suffix),
                "use the suffix f32 or f64, or write a whole number");
  }
  if (!decimal && (suffix[0] == 'e' || suffix[0] == 'E')) {
    return fail(fmt::format("{} has an exponent but no decimal point", quoted(spelling)),
                "write digits on both sides of a point before the exponent, as in `1.0e5`");
  }
  if (const std::string_view meant = suffix_of_habit(suffix, decimal); !meant.empty())
    return fail(fmt::format("the number {} has the suffix {} of another language", quoted(spelling),
                            quoted(suffix)),
                fmt::format("write `{}{}`, or leave the suffix out where the type is known",
                            spelling.substr(0, spelling.size() - suffix.size()), meant));
  return fail(fmt::format("{} is glued to the number {}", quoted(suffix), quoted(spelling)),
              "leave a space, or use one of the suffixes u32 i32 u64 i64 f32 f64");
}

std::expected<Number, NumberError> read_integer(std::string_view spelling) {
  std::string_view rest = spelling;
  int base = 10;
  if (rest.starts_with("0x") || rest.starts_with("0b")) {
    base = rest[1] == 'x' ? 16 : 2;
    rest.remove_prefix(2);
  }
  const std::string_view digits = take_digits(rest, base);
  const auto suffix = read_suffix(rest, spelling, false);
  if (!suffix) return Failure(suffix.error());
  if (!well_spaced(digits)) return bad_digits(spelling);
  Number number;
  number.suffix = *suffix;
  for (const char c : digits) {
    if (c == '_') continue;
    if (__builtin_mul_overflow(number.magnitude, static_cast<uint64_t>(base), &number.magnitude) ||
        __builtin_add_overflow(number.magnitude, static_cast<uint64_t>(digit_value(c)),
                               &number.magnitude)) {
      return fail(
          fmt::format("{} is above the largest integer, 18446744073709551615", quoted(spelling)),
          "write a smaller number, or a decimal such as `1.0e20`");
    }
  }
  return number;
}

// Reads `e+12`; the value is clamped far outside what an exponent may be.
std::expected<int64_t, NumberError> take_exponent(std::string_view& rest,
                                                  std::string_view spelling) {
  if (rest.empty() || (rest[0] != 'e' && rest[0] != 'E')) return 0;
  rest.remove_prefix(1);
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const std::string_view digits = take_digits(rest, 10);
  if (!well_spaced(digits)) return bad_digits(spelling);
  static constexpr int64_t kClamp = 1'000'000'000'000;
  int64_t value = 0;
  for (const char c : digits)
    if (c != '_') value = std::min(value * 10 + digit_value(c), kClamp);
  return negative ? -value : value;
}

std::expected<Number, NumberError> read_decimal(std::string_view spelling) {
  std::string_view rest = spelling;
  const std::string_view whole = take_digits(rest, 10);
  rest.remove_prefix(1);  // the point
  const std::string_view fraction = take_digits(rest, 10);
  if (whole.empty() || fraction.empty()) {
    return fail(
        fmt::format("the decimal {} lacks digits on one side of its point", quoted(spelling)),
        "write digits on both sides, as in `0.5` or `1.0`");
  }
  if (!well_spaced(whole) || !well_spaced(fraction)) return bad_digits(spelling);
  const auto written_exponent = take_exponent(rest, spelling);
  if (!written_exponent) return Failure(written_exponent.error());
  const auto suffix = read_suffix(rest, spelling, true);
  if (!suffix) return Failure(suffix.error());

  Number number;
  number.decimal = true;
  number.suffix = *suffix;
  std::copy_if(whole.begin(), whole.end(), std::back_inserter(number.digits),
               [](char c) { return c != '_'; });
  int64_t exponent = static_cast<int64_t>(number.digits.size()) + *written_exponent;
  std::copy_if(fraction.begin(), fraction.end(), std::back_inserter(number.digits),
               [](char c) { return c != '_'; });
  const size_t first = number.digits.find_first_not_of('0');
  if (first == std::string::npos) {
    number.digits.clear();
    return number;
  }
  number.digits.erase(0, first);
  number.digits.erase(number.digits.find_last_not_of('0') + 1);
  exponent -= static_cast<int64_t>(first);
  if (exponent < INT32_MIN || exponent > INT32_MAX) {
    return fail(fmt::format("the exponent of {} is out of range", quoted(spelling)),
                "write an exponent that f64 can hold, from -324 to 308");
  }
  number.exponent = static_cast<int32_t>(exponent);
  return number;
}

std::string_view suffix_text(std::optional<ir::Type> suffix) {
  return suffix ? ir::name_of(*suffix) : std::string_view();
}

}  // namespace

std::expected<Number, NumberError> read_number(std::string_view spelling) {
  return spelling.find('.') == std::string_view::npos ? read_integer(spelling)
                                                      : read_decimal(spelling);
}

std::string write_number(const ir::IntLiteral& literal) {
  return fmt::format("{}{}{}", literal.negative ? "-" : "", literal.magnitude,
                     suffix_text(literal.suffix));
}

std::string write_number(const ir::FloatLiteral& literal) {
  const std::string& digits = literal.digits;
  const int64_t exponent = literal.exponent;
  std::string body;
  if (digits.empty()) {
    body = "0.0";
  } else if (exponent < -3 || exponent > 17) {
    body = fmt::format("{}.{}e{}", digits.substr(0, 1), digits.size() > 1 ? digits.substr(1) : "0",
                       exponent - 1);
  } else if (exponent <= 0) {
    body = "0." + std::string(static_cast<size_t>(-exponent), '0') + digits;
  } else if (const auto point = static_cast<size_t>(exponent); point >= digits.size()) {
    body = digits + std::string(point - digits.size(), '0') + ".0";
  } else {
    body = digits.substr(0, point) + "." + digits.substr(point);
  }
  return fmt::format("{}{}{}", literal.negative ? "-" : "", body, suffix_text(literal.suffix));
}

}  // namespace vyre::text
