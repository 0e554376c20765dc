// SPDX-License-Identifier: Apache-2.0
// The types of the language. Arithmetic types are values; storage types exist in buffers only and
// widen to an arithmetic type when loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vyre::ir {

enum class Type : uint8_t { Bool, U32, I32, U64, I64, F32, F64, U8, I8, U16, I16, F16, BF16 };
inline constexpr int kTypeCount = 13;

constexpr bool is_storage(Type t) {
  return t >= Type::U8;
}
constexpr bool is_integer(Type t) {
  return t >= Type::U32 && t <= Type::I64;
}
constexpr bool is_signed(Type t) {
  return t == Type::I32 || t == Type::I64;
}
constexpr bool is_float(Type t) {
  return t == Type::F32 || t == Type::F64;
}
constexpr bool is_number(Type t) {
  return is_integer(t) || is_float(t);
}

// Width of a value of an arithmetic type; 1 for bool.
constexpr uint32_t bits_of(Type t) {
  switch (t) {
    case Type::Bool: return 1;
    case Type::U8:
    case Type::I8: return 8;
    case Type::U16:
    case Type::I16:
    case Type::F16:
    case Type::BF16: return 16;
    case Type::U32:
    case Type::I32:
    case Type::F32: return 32;
    case Type::U64:
    case Type::I64:
    case Type::F64: return 64;
  }
  return 0;
}

// Size of an element in a buffer; bool takes 4 bytes there.
constexpr uint32_t bytes_of(Type t) {
  return t == Type::Bool ? 4 : bits_of(t) / 8;
}

// What a load of this element type gives and a store of it takes.
constexpr Type widened(Type t) {
  switch (t) {
    case Type::U8:
    case Type::U16: return Type::U32;
    case Type::I8:
    case Type::I16: return Type::I32;
    case Type::F16:
    case Type::BF16: return Type::F32;
    case Type::Bool:
    case Type::U32:
    case Type::I32:
    case Type::U64:
    case Type::I64:
    case Type::F32:
    case Type::F64: return t;
  }
  return t;
}

std::string_view name_of(Type type);
std::optional<Type> type_from_name(std::string_view name);

}  // namespace vyre::ir
