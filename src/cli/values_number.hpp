// SPDX-License-Identifier: Apache-2.0
// One element between its text and its bits. A decimal is rounded once, to the element type: to
// nearest, ties to even.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "vyre/ir/types.hpp"

namespace vyre::cli {

// Holds every u64, every i64 and the ends of half-open ranges over them.
using WideInteger = __int128;

struct NumberError {
  std::string message;  // a clause: "`300` does not fit u8, which holds 0 to 255"
  std::string fix;
};

// The bits of the element in the low bits of the result; bool gives 0 or 1.
std::expected<uint64_t, NumberError> parse_element(ir::Type element, std::string_view text);

// Any whole number of at most 20 digits, as `1000`, `1_000`, `-0x10`, `1e3` or `2.0`. `element`
// is for the messages.
std::expected<WideInteger, NumberError> parse_whole(ir::Type element, std::string_view text);

bool is_float_element(ir::Type element);  // f32, f64, f16, bf16

// What an integer element or a bool holds.
struct IntegerRange {
  WideInteger low = 0;
  WideInteger high = 0;
};
IntegerRange integer_range(ir::Type element);

// How the bits of a floating element are made up.
struct FloatFormat {
  int precision;     // significant bits, the hidden one included
  int min_exponent;  // of the smallest normal value
  int max_exponent;  // of the largest value
};
FloatFormat float_format(ir::Type element);

// Exact for every element of 64 bits or less, NaN aside.
double float_value(ir::Type element, uint64_t bits);
// `value` must be a value of the element type.
uint64_t float_bits(ir::Type element, double value);

// Element `index` of a buffer.
uint64_t load_element(ir::Type element, std::span<const std::byte> bytes, uint64_t index);
void store_element(ir::Type element, std::span<std::byte> bytes, uint64_t index, uint64_t bits);

std::string whole_text(WideInteger value);
std::string bits_text(ir::Type element, uint64_t bits);

// In backquotes, cut if it is long.
std::string quoted_value(std::string_view text);

}  // namespace vyre::cli
