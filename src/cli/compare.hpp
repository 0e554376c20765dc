// SPDX-License-Identifier: Apache-2.0
// Whether two devices gave the same bytes for a buffer, and how far apart they are if not. Floats
// are compared bit for bit, but for NaNs that arithmetic may have given: their bits are
// unspecified, so all are equal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "vyre/check/check.hpp"
#include "vyre/ir/types.hpp"

namespace vyre::cli {

// How many floats of that type lie between two, counted over zero; -0 and +0 are one apart. None
// for integers and NaNs.
std::optional<uint64_t> ulp_distance(ir::Type element, std::span<const std::byte> a,
                                     std::span<const std::byte> b);

struct Difference {
  uint64_t count = 0;         // elements that differ; 0: only the lengths do
  uint64_t element = 0;       // the first of them
  std::string wanted, given;  // as text, with the bits where those alone differ
  std::optional<uint64_t> ulps;
  std::optional<uint64_t> most_ulps;  // of all elements that differ
};
enum class Nans : uint8_t { AllEqual, Exact };
// None if both are the same. Bytes past the shorter one are no elements that differ. NaNs are exact
// in a buffer that only copies reach (check::exact_nans).
std::optional<Difference> find_difference(ir::Type element, std::span<const std::byte> wanted,
                                          std::span<const std::byte> given,
                                          Nans nans = Nans::AllEqual);

// The global lane that alone can have written an element: known where every store to the buffer
// goes to `gid.x` and the grid has one axis.
std::optional<uint64_t> writer_of(const check::CheckedProgram& checked, ir::BufferId buffer,
                                  uint64_t element);

}  // namespace vyre::cli
