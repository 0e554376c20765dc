// SPDX-License-Identifier: Apache-2.0
// What is known of measured strategies: for which dispatches a measurement counts, and what came of
// it. Plain values; nothing is measured here. docs/design/tuning.md has the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vyre/check/check.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/plan/strategy.hpp"

namespace vyre::plan {

// Dispatches of one class are assumed to be fast with the same strategy: the same workgroup, and
// sizes within a power of two. Whether a variant is sound never follows from the class: decide()
// looks at the launch itself.
struct ShapeClass {
  check::Axes workgroup = {1, 1, 1};
  bool is_1d = false;
  uint32_t workgroups_log2 = 0;  // bits of the number of workgroups
  uint32_t bytes_log2 = 0;       // bits of the bytes of all buffers together, shared memory aside
  friend bool operator==(const ShapeClass&, const ShapeClass&) = default;
};
// `launch` has the elements of all buffers.
ShapeClass shape_class_of(const check::CheckedProgram& checked, const check::Launch& launch);
// "4 to 7 workgroups of 64x1x1, 1024 to 2047 bytes"
std::string to_string(const ShapeClass& shape);

// What measurements of one program, shape class and device have come to.
struct TuningRecord {
  std::optional<RouteVariant> adopted{};  // nothing: no other strategy was faster
  uint64_t default_ns = 0;                // medians of the last comparison
  uint64_t adopted_ns = 0;                // 0: nothing is adopted
  uint32_t runs = 0;                      // dispatches that were measured
  uint32_t candidates = 0;
  friend bool operator==(const TuningRecord&, const TuningRecord&) = default;

  // For decide(); nothing if the default stays.
  [[nodiscard]] std::optional<TunedVariant> request() const;
};

// What a variant has that the other lacks: "interleave 4", "route resident".
std::string difference(const RouteVariant& variant, const RouteVariant& from);

}  // namespace vyre::plan
