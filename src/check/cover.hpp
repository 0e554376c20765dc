// SPDX-License-Identifier: Apache-2.0
// Numbers that differ from lane to lane, and which elements of a buffer they reach.
//
// A form is a sum of unknowns, each times a factor, and an offset: the ids of a lane and the
// iterations of the loops around it. Forms are mathematical integers; a program computes them
// modulo 2^width, so a value of it is the form wherever the form lies in the range of the type.
// Guards say that, as they say which lanes pass a condition.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vyre/check/launch.hpp"

namespace vyre::check::cover {

using Wide = __int128;

// Factors, offsets and bounds beyond this are not worth a thought; sums of them fit in a Wide.
inline constexpr Wide kHuge = Wide{1} << 72;

// Unknowns by number: x, y, z of gid, then of lid, then of wid, then iterations of loops by depth.
inline constexpr uint32_t kGid = 0;
inline constexpr uint32_t kLid = 3;
inline constexpr uint32_t kWid = 6;
inline constexpr uint32_t kFirstIteration = 9;

struct Form {
  std::vector<Wide> factors;  // by unknown; the last one is not 0
  Wide offset = 0;

  static Form of(Wide value) { return {{}, value}; }
  static Form of_unknown(uint32_t unknown);
  [[nodiscard]] bool constant() const { return factors.empty(); }
  [[nodiscard]] Wide factor(uint32_t unknown) const {
    return unknown < factors.size() ? factors[unknown] : 0;
  }
};
// None if it grows beyond all bounds.
std::optional<Form> add(const Form& a, const Form& b, Wide times = 1);
std::optional<Form> scale(const Form& a, Wide times);

// The form lies between the two, which count.
struct Guard {
  Form form;
  Wide low = -kHuge;
  Wide high = kHuge;
};
// What no lane passes.
inline Guard never() {
  return {Form{}, 1, 0};
}

// Whether for every one of the elements some lane that passes all guards has the form as its index.
// `highest` is the largest value of the index' type. Iterations of loops begin at 0 and have no end
// but what guards say. The grid must not be empty.
bool covers(const Form& index, Wide highest, std::span<const Guard> guards, const Launch& launch,
            uint64_t count);

}  // namespace vyre::check::cover
