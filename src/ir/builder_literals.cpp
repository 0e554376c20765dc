// SPDX-License-Identifier: Apache-2.0
// Literals of the builder: C++ numbers in the decimal form of the IR.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "ir/builder_core.hpp"

namespace vyre::build {

namespace {

using Kind = detail::Handle::Kind;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes leading digits off the text.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

// "-1", "2.50", "1.5e-07": the literal without zeros at the ends; nothing if it is written
// otherwise.
std::optional<ir::FloatLiteral> read_decimal(std::string_view text) {
  ir::FloatLiteral literal;
  literal.negative = text.starts_with('-');
  if (literal.negative) text.remove_prefix(1);
  const std::string_view whole = take_digits(text);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take_digits(text);
    if (fraction.empty()) return std::nullopt;
  }
  int32_t written = 0;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto end = std::from_chars(text.data(), text.data() + text.size(), written);
    if (end.ec != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end.ptr - text.data()));
  }
  if (whole.empty() || !text.empty()) return std::nullopt;

  literal.digits = std::string(whole) + std::string(fraction);
  const size_t first = std::min(literal.digits.find_first_not_of('0'), literal.digits.size());
  literal.digits.erase(0, first);
  if (literal.digits.empty()) return literal;
  literal.digits.erase(literal.digits.find_last_not_of('0') + 1);
  const int64_t exponent =
      int64_t{written} + static_cast<int64_t>(whole.size()) - static_cast<int64_t>(first);
  if (exponent < INT32_MIN || exponent > INT32_MAX) return std::nullopt;
  literal.exponent = static_cast<int32_t>(exponent);
  return literal;
}

// The fewest digits that give the same number back.
template <class T>
ir::FloatLiteral shortest(T number) {
  std::array<char, 64> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::scientific);
  return read_decimal({text.data(), static_cast<size_t>(end.ptr - text.data())})
      .value_or(ir::FloatLiteral{});
}

}  // namespace

bool Core::suffix_fits(std::optional<ir::Type> suffix, bool is_decimal, const Where& where) {
  if (!suffix || (is_decimal ? ir::is_float(*suffix) : ir::is_number(*suffix))) return true;
  report(Code::BuilderMisuse, where,
         fmt::format("a {} cannot have the type {}", is_decimal ? "decimal" : "whole number",
                     ir::name_of(*suffix)),
         is_decimal ? "use f32 or f64" : "use one of u32 i32 u64 i64 f32 f64");
  return false;
}

ir::ExprId Core::use_real(const detail::Handle& handle, const Where& where) {
  if (!suffix_fits(handle.suffix, true, where)) return add_poison(loc(where));
  const bool single = handle.kind == Kind::Float;
  const auto narrow = std::bit_cast<float>(static_cast<uint32_t>(handle.payload));
  const double wide = single ? static_cast<double>(narrow) : std::bit_cast<double>(handle.payload);
  if (std::isfinite(wide)) {
    ir::FloatLiteral literal = single ? shortest(narrow) : shortest(wide);
    literal.suffix = handle.suffix;
    return add_node(std::move(literal), loc(where));
  }
  // The text has no word for these, so they are written as bits.
  const ir::Type type = handle.suffix.value_or(single ? ir::Type::F32 : ir::Type::F64);
  const bool to_single = type == ir::Type::F32;
  const uint64_t bits =
      to_single ? (single ? handle.payload : std::bit_cast<uint32_t>(static_cast<float>(wide)))
                : std::bit_cast<uint64_t>(wide);
  const ir::ExprId word =
      add_node(ir::IntLiteral{bits, false, to_single ? ir::Type::U32 : ir::Type::U64}, loc(where));
  return add_node(ir::Bitcast{type, word}, loc(where));
}

Value Core::decimal(std::string_view text, std::optional<ir::Type> suffix, const Where& where) {
  if (!suffix_fits(suffix, true, where)) return poison();
  std::optional<ir::FloatLiteral> literal = read_decimal(text);
  if (!literal) {
    report(Code::BadNumber, where, fmt::format("`{}` is no decimal number", text.substr(0, 40)),
           "write it like 12.5 or -3.0e-7");
    return poison();
  }
  literal->suffix = suffix;
  return make(std::move(*literal), where);
}

}  // namespace vyre::build
