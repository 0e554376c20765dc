// SPDX-License-Identifier: Apache-2.0
// Typed ids: an index into one particular vector of a Program. Ids of different vectors do not mix.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace vyre {

template <class Tag>
struct Id {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t value = kNone;

  [[nodiscard]] constexpr bool valid() const { return value != kNone; }
  [[nodiscard]] constexpr size_t index() const { return value; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace vyre

template <class Tag>
struct std::hash<vyre::Id<Tag>> {
  size_t operator()(vyre::Id<Tag> id) const noexcept { return std::hash<uint32_t>{}(id.value); }
};
