// SPDX-License-Identifier: Apache-2.0
#include "codegen/c/words.hpp"

#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace vyre::codegen::c {

using ir::Type;

std::string_view value_type(Type type) {
  switch (ir::widened(type)) {
    case Type::Bool: return "bool";
    case Type::U32: return "uint32_t";
    case Type::I32: return "int32_t";
    case Type::U64: return "uint64_t";
    case Type::I64: return "int64_t";
    case Type::F32: return "float";
    case Type::F64: return "double";
    case Type::U8:
    case Type::I8:
    case Type::U16:
    case Type::I16:
    case Type::F16:
    case Type::BF16: break;  // never what a type is widened to
  }
  return "void";
}

std::string_view element_type(Type type) {
  switch (type) {
    case Type::Bool: return "uint32_t";
    case Type::U8: return "uint8_t";
    case Type::I8: return "int8_t";
    case Type::I16: return "int16_t";
    case Type::U16:
    case Type::F16:
    case Type::BF16: return "uint16_t";
    case Type::U32:
    case Type::I32:
    case Type::U64:
    case Type::I64:
    case Type::F32:
    case Type::F64: return value_type(type);
  }
  return "void";
}

namespace {

std::string signed_constant(int64_t value, int64_t least, std::string_view name_of_least,
                            std::string_view suffix) {
  if (value == least) return std::string(name_of_least);
  return value < 0 ? fmt::format("(-{}{})", -value, suffix) : fmt::format("{}{}", value, suffix);
}

// Hexadecimal, so that no reader rounds. Infinities and NaNs are given by their bits.
std::string float_constant(double value, std::string_view suffix, std::string bits) {
  if (!std::isfinite(value)) return bits;
  return std::signbit(value) ? fmt::format("({:a}{})", value, suffix)
                             : fmt::format("{:a}{}", value, suffix);
}

}  // namespace

std::string number(uint64_t value) {
  return value <= UINT32_MAX ? fmt::format("{}u", value) : fmt::format("UINT64_C({})", value);
}

std::string constant(Type type, uint64_t bits) {
  switch (ir::widened(type)) {
    case Type::Bool: return bits != 0 ? "true" : "false";
    case Type::U32: return number(bits & UINT32_MAX);
    case Type::I32:
      return signed_constant(static_cast<int32_t>(static_cast<uint32_t>(bits)), INT32_MIN,
                             "INT32_MIN", "");
    case Type::U64: return fmt::format("UINT64_C({})", bits);
    case Type::I64: {
      const auto value = static_cast<int64_t>(bits);
      if (value == INT64_MIN) return "INT64_MIN";
      return value < 0 ? fmt::format("(-INT64_C({}))", -value) : fmt::format("INT64_C({})", value);
    }
    case Type::F32: {
      const auto word = static_cast<uint32_t>(bits);
      return float_constant(static_cast<double>(std::bit_cast<float>(word)), "f",
                            fmt::format("f32_of_bits({:#010x}u)", word));
    }
    case Type::F64:
      return float_constant(std::bit_cast<double>(bits), "",
                            fmt::format("f64_of_bits(UINT64_C({:#018x}))", bits));
    case Type::U8:
    case Type::I8:
    case Type::U16:
    case Type::I16:
    case Type::F16:
    case Type::BF16: break;
  }
  return "0";
}

std::string identifier(std::string_view name, char kind, uint64_t index) {
  std::string text;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    text += plain ? c : '_';
  }
  // Those that begin with an underscore are the compiler's.
  if (text.empty() || text.front() == '_' || (text.front() >= '0' && text.front() <= '9'))
    text.insert(text.begin(), 'u');
  return fmt::format("{}_{}{}", text, kind, index);
}

std::string_view bare(std::string_view text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
  int depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text;  // it ends before the text does
  }
  return text.substr(1, text.size() - 2);
}

}  // namespace vyre::codegen::c
