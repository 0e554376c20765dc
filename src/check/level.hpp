// SPDX-License-Identifier: Apache-2.0
// Scopes of the language as levels of uniformity.
#pragma once

#include <optional>

#include "vyre/check/check.hpp"

namespace vyre::check {

// Of what is the same over a scope; nothing: it differs per lane.
constexpr Level level_over(std::optional<ir::Scope> scope) {
  if (!scope) return Level::Lane;
  switch (*scope) {
    case ir::Scope::Grid: return Level::Grid;
    case ir::Scope::Workgroup: return Level::Workgroup;
    case ir::Scope::Subgroup: return Level::Subgroup;
  }
  return Level::Lane;
}

}  // namespace vyre::check
