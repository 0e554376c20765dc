// SPDX-License-Identifier: Apache-2.0
// The modules that every text can use, as texts: `use vyre.tile;`.
#pragma once

#include <span>
#include <string_view>

namespace vyre::text {

struct BuiltinModule {
  std::string_view name;  // "vyre.tile"
  std::string_view text;
};
std::span<const BuiltinModule> builtin_modules();

}  // namespace vyre::text
