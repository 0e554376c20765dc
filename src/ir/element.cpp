// SPDX-License-Identifier: Apache-2.0
// Elements in memory: storage types, their widening and rounding.
#include <bit>
#include <cstring>

#include "ir/scalar.hpp"

namespace vyre::ir {

namespace {

Bits bits_of_value(int32_t value) {
  return std::bit_cast<uint32_t>(value);
}
Bits bits_of_value(float value) {
  return std::bit_cast<uint32_t>(value);
}
float as_float(Bits bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void write(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// What a narrower NaN keeps of a payload: its top bits as they are, signalling or not. A payload
// that lies in the dropped bits alone becomes the quiet bit, because all zeros would be infinity.
uint32_t kept_payload(uint32_t top, uint32_t quiet) {
  return top != 0 ? top : quiet;
}

static_assert(std::endian::native == std::endian::little, "memory of programs is little-endian");

}  // namespace

Bits load_element(Type element, const std::byte* at) {
  switch (element) {
    case Type::Bool: return read<uint32_t>(at) != 0 ? 1 : 0;
    case Type::U8: return read<uint8_t>(at);
    case Type::I8: return bits_of_value(int32_t{read<int8_t>(at)});
    case Type::U16: return read<uint16_t>(at);
    case Type::I16: return bits_of_value(int32_t{read<int16_t>(at)});
    case Type::F16: return bits_of_value(float_from_half(read<uint16_t>(at)));
    case Type::BF16: return bits_of_value(float_from_bfloat(read<uint16_t>(at)));
    case Type::U32:
    case Type::I32:
    case Type::F32: return read<uint32_t>(at);
    case Type::U64:
    case Type::I64:
    case Type::F64: return read<uint64_t>(at);
  }
  return 0;
}

void store_element(Type element, std::byte* at, Bits value) {
  switch (element) {
    case Type::U8:
    case Type::I8: return write(at, static_cast<uint8_t>(value));
    case Type::U16:
    case Type::I16: return write(at, static_cast<uint16_t>(value));
    case Type::F16: return write(at, half_from_float(as_float(value)));
    case Type::BF16: return write(at, bfloat_from_float(as_float(value)));
    case Type::Bool:
    case Type::U32:
    case Type::I32:
    case Type::F32: return write(at, static_cast<uint32_t>(value));
    case Type::U64:
    case Type::I64:
    case Type::F64: return write(at, value);
  }
}

float float_from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1FU;
  const uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F80'0000U | (fraction << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;  // subnormal or zero: exact
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

uint16_t half_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFF'FFFFU;
  if (magnitude > 0x7F80'0000U)  // NaN
    return static_cast<uint16_t>(sign | 0x7C00U | kept_payload((magnitude >> 13) & 0x3FFU, 0x200U));
  if (magnitude >= 0x4780'0000U) return static_cast<uint16_t>(sign | 0x7C00U);  // 65536 and more
  uint32_t kept = 0;
  uint32_t dropped = 0;  // what falls off, as a fraction of `half_step` * 2
  uint32_t half_step = 0;
  if (magnitude >= 0x3880'0000U) {  // normal, from 2^-14
    kept = (magnitude - 0x3800'0000U) >> 13;
    dropped = magnitude & 0x1FFFU;
    half_step = 0x1000U;
  } else {
    const uint32_t shift = 126 - (magnitude >> 23);  // 14 bits are lost at 2^-15, 24 at 2^-25
    if (shift > 24) return static_cast<uint16_t>(sign);
    const uint32_t significand = (magnitude & 0x7F'FFFFU) | 0x80'0000U;
    kept = significand >> shift;
    dropped = significand & ((1U << shift) - 1);
    half_step = 1U << (shift - 1);
  }
  if (dropped > half_step || (dropped == half_step && (kept & 1U) != 0))
    ++kept;  // may carry into the exponent, up to infinity: the encoding is made for it
  return static_cast<uint16_t>(sign | kept);
}

float float_from_bfloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t bfloat_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFF'FFFFU) > 0x7F80'0000U)  // NaN
    return static_cast<uint16_t>(((bits >> 16) & 0xFF80U) |
                                 kept_payload((bits >> 16) & 0x7FU, 0x40U));
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace vyre::ir
