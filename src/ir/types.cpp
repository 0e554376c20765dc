// SPDX-License-Identifier: Apache-2.0
#include "vyre/ir/types.hpp"

#include <array>

namespace vyre::ir {

namespace {
constexpr std::array<std::string_view, kTypeCount> kNames = {
    "bool", "u32", "i32", "u64", "i64", "f32", "f64", "u8", "i8", "u16", "i16", "f16", "bf16"};
}  // namespace

std::string_view name_of(Type type) {
  return kNames[static_cast<size_t>(type)];
}

std::optional<Type> type_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Type>(i);
  return std::nullopt;
}

}  // namespace vyre::ir
