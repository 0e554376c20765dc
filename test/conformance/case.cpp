// SPDX-License-Identifier: Apache-2.0
#include "conformance/case.hpp"

#include <algorithm>
#include <iterator>
#include <random>

namespace vyre::conformance {

using ir::Type;

std::string fill(std::string_view text,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string result(text);
  for (const auto& [name, value] : values)
    for (size_t at = 0; (at = result.find(name, at)) != std::string::npos; at += value.size())
      result.replace(at, name.size(), value);
  return result;
}

std::vector<uint64_t> corner_values(Type type) {
  switch (type) {
    case Type::Bool: return {0, 1};
    case Type::U32:
    case Type::I32:
      return {0,           1,           2,           3,           7,           31,
              32,          33,          64,          0x7F,        0xFF,        0x100,
              0xFFFF,      0x1'0000,    0x00FF'FFFF, 0x0100'0001, 0x7FFF'FFFE, 0x7FFF'FFFF,
              0x8000'0000, 0x8000'0001, 0xFFFF'FF80, 0xFFFF'FFFD, 0xFFFF'FFFE, 0xFFFF'FFFF,
              0x1234'5678, 0xDEAD'BEEF};
    case Type::U64:
    case Type::I64:
      return {0,
              1,
              2,
              7,
              31,
              63,
              64,
              65,
              0xFF,
              0x7FFF'FFFF,
              0x8000'0000,
              0xFFFF'FFFF,
              0x1'0000'0000,
              0x001F'FFFF'FFFF'FFFF,
              0x0020'0000'0000'0001,
              0x7FFF'FFFF'FFFF'FFFE,
              0x7FFF'FFFF'FFFF'FFFF,
              0x8000'0000'0000'0000,
              0x8000'0000'0000'0001,
              0xFFFF'FFFF'8000'0000,
              0xFFFF'FFFF'FFFF'FFFE,
              0xFFFF'FFFF'FFFF'FFFF,
              0x0123'4567'89AB'CDEF,
              0xFFFF'FF80'0000'0001};
    case Type::F32:
      return {0x0000'0000, 0x8000'0000, 0x0000'0001, 0x8000'0001, 0x007F'FFFF, 0x0080'0000,
              0x8080'0000, 0x3F80'0000, 0xBF80'0000, 0x3F80'0001, 0x3F7F'FFFF, 0x3F00'0000,
              0x3F00'0001, 0xBF00'0000, 0x4020'0000, 0xC020'0000, 0x3FC0'0000, 0x4B00'0000,
              0x4B80'0001, 0x4EFF'FFFF, 0x4F00'0000, 0xCF00'0000, 0x4F7F'FFFF, 0x4F80'0000,
              0x5F00'0000, 0xDF00'0000, 0x5F80'0000, 0x7F7F'FFFF, 0xFF7F'FFFF, 0x7F80'0000,
              0xFF80'0000, 0x7FC0'0000, 0xFFC0'1234, 0x7F80'0001, 0x4048'F5C3};
    case Type::F64:
      return {0x0000'0000'0000'0000, 0x8000'0000'0000'0000, 0x0000'0000'0000'0001,
              0x800F'FFFF'FFFF'FFFF, 0x0010'0000'0000'0000, 0x3FF0'0000'0000'0000,
              0xBFF0'0000'0000'0000, 0x3FF0'0000'0000'0001, 0x3FE0'0000'0000'0000,
              0xBFE0'0000'0000'0000, 0x4004'0000'0000'0000, 0x3FF8'0000'0000'0000,
              0x36A0'0000'0000'0000, 0x3690'0000'0000'0000, 0x3810'0000'0000'0000,
              0x47EF'FFFF'E000'0000, 0x47EF'FFFF'F000'0000, 0x3FF0'0000'1000'0000,
              0x3FF0'0000'3000'0000, 0x41E0'0000'0000'0000, 0x41EF'FFFF'FFE0'0000,
              0xC1E0'0000'0000'0000, 0x41F0'0000'0000'0000, 0x43E0'0000'0000'0000,
              0xC3E0'0000'0000'0000, 0x43F0'0000'0000'0000, 0x4340'0000'0000'0001,
              0x7FEF'FFFF'FFFF'FFFF, 0xFFEF'FFFF'FFFF'FFFF, 0x7FF0'0000'0000'0000,
              0xFFF0'0000'0000'0000, 0x7FF8'0000'0000'0000, 0x7FF0'0000'0000'0001};
    case Type::U8:
    case Type::I8: return {0, 1, 0x7F, 0x80, 0xFF};
    case Type::U16:
    case Type::I16: return {0, 1, 0x7FFF, 0x8000, 0xFFFF};
    case Type::F16: return {0, 0x8000, 1, 0x3C00, 0x7BFF, 0x7C00, 0x7E00, 0x7D01, 0xFC01, 0xFE55};
    case Type::BF16: return {0, 0x8000, 1, 0x3F80, 0x7F7F, 0x7F80, 0x7FC0, 0x7FA1, 0xFF81, 0xFFD5};
  }
  return {};
}

Bytes elements(Type type, std::span<const uint64_t> patterns) {
  const uint32_t size = ir::bytes_of(type);
  Bytes bytes(patterns.size() * size);
  for (size_t i = 0; i < patterns.size(); ++i)
    for (uint32_t k = 0; k < size; ++k)
      bytes[i * size + k] = static_cast<std::byte>(patterns[i] >> (8 * k));
  return bytes;
}

std::pair<std::vector<uint64_t>, std::vector<uint64_t>> pairs(std::span<const uint64_t> first,
                                                              std::span<const uint64_t> second) {
  std::pair<std::vector<uint64_t>, std::vector<uint64_t>> both;
  for (const uint64_t a : first)
    for (const uint64_t b : second) {
      both.first.push_back(a);
      both.second.push_back(b);
    }
  return both;
}

std::vector<uint64_t> random_values(Type type, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t mask = type == Type::Bool ? 1 : ~uint64_t{0} >> (64 - ir::bits_of(type));
  std::vector<uint64_t> values(count);
  for (uint64_t& value : values) value = random() & mask;
  return values;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto part :
       {file_cases, operator_cases, maths_cases, storage_cases, nan_bits_cases, atomic_cases,
        subgroup_cases, bounds_cases, checked_cases, loop_cases, grid_cases})
    std::ranges::move(part(), std::back_inserter(all));
  return all;
}

}  // namespace vyre::conformance
