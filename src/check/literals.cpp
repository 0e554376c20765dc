// SPDX-License-Identifier: Apache-2.0
// Literals in a type: whole numbers must fit exactly, decimals are rounded once from their digits.
#include <bit>
#include <charconv>
#include <cmath>
#include <string>

#include "check/constants.hpp"

namespace vyre::check {

using namespace ir;

namespace {

uint64_t mask_of(Type type) {
  return bits_of(type) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits_of(type)) - 1;
}

std::optional<Constant> integer_in(const IntLiteral& literal, Type type) {
  const uint64_t m = literal.magnitude;
  if (is_float(type)) {
    const int significand = type == Type::F32 ? 24 : 53;
    if (m != 0 && 64 - std::countl_zero(m) - std::countr_zero(m) > significand) return std::nullopt;
    const double value = static_cast<double>(m);  // exact: at most 53 significant bits are left
    return make_float(type, literal.negative ? -value : value);
  }
  if (!is_integer(type)) return std::nullopt;
  const uint64_t limit = !is_signed(type) ? (literal.negative ? 0 : mask_of(type))
                                          : (mask_of(type) >> 1) + (literal.negative ? 1 : 0);
  if (m > limit) return std::nullopt;
  return Constant{type, (literal.negative ? ~m + 1 : m) & mask_of(type)};
}

std::optional<Constant> decimal_in(const FloatLiteral& literal, Type type) {
  if (!is_float(type)) return std::nullopt;
  std::string text = literal.negative ? "-0." : "0.";
  text += literal.digits.empty() ? "0" : literal.digits;
  text += 'e' + std::to_string(literal.exponent);
  const char* end = text.data() + text.size();
  // from_chars reports overflow and underflow alike; what rounds to zero is a fine decimal.
  const auto read = [&]<class T>(T zero) -> std::optional<T> {
    T value = zero;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc::result_out_of_range)
      return literal.exponent < 0 ? std::optional(literal.negative ? -zero : zero) : std::nullopt;
    if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
    return value;
  };
  if (type == Type::F32) {
    const auto value = read(0.0F);
    if (!value) return std::nullopt;
    return Constant{type, std::bit_cast<uint32_t>(*value)};
  }
  const auto value = read(0.0);
  if (!value) return std::nullopt;
  return Constant{type, std::bit_cast<uint64_t>(*value)};
}

}  // namespace

std::optional<Constant> literal_in_type(const Expr& literal, Type type) {
  if (const auto* whole = std::get_if<IntLiteral>(&literal)) return integer_in(*whole, type);
  if (const auto* decimal = std::get_if<FloatLiteral>(&literal)) return decimal_in(*decimal, type);
  if (const auto* truth = std::get_if<BoolLiteral>(&literal))
    return type == Type::Bool ? std::optional(Constant{type, truth->value ? 1U : 0U})
                              : std::nullopt;
  return std::nullopt;
}

}  // namespace vyre::check
