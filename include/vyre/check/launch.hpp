// SPDX-License-Identifier: Apache-2.0
// What is settled on the host before a dispatch: how many elements every buffer has, whether each
// `require` holds, and the grid. All from the caller's bytes; nothing runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/check/check.hpp"

namespace vyre::check {

using Axes = std::array<uint32_t, 3>;

struct LaunchRequest {
  std::span<const std::span<const std::byte>> inputs = {};  // by input slot
  std::optional<Axes> grid = {};       // workgroups per axis, instead of `over`
  std::optional<Axes> workgroup = {};  // instead of the program's
};

struct Launch {
  Axes workgroup = {1, 1, 1};
  Axes grid = {0, 0, 0};         // workgroups; any 0: nothing runs
  std::vector<uint64_t> counts;  // elements, by BufferId
  // By BufferId: the lengths of the axes of buffers that have several.
  std::vector<std::vector<uint64_t>> axes = {};

  [[nodiscard]] uint32_t lanes_per_workgroup() const {
    return workgroup[0] * workgroup[1] * workgroup[2];
  }
  [[nodiscard]] uint64_t workgroups() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }
};

inline constexpr uint64_t kMaxWorkgroupsPerAxis = 0x7FFF'FFFF;
inline constexpr uint64_t kMaxLanes = 0xFFFF'FFFF;
inline constexpr uint64_t kMaxElements = 0xFFFF'FFFF;

// Errors: InvalidArgument (number or length of inputs, a `require` that does not hold),
// LimitExceeded (overflow in a host expression, too many elements, workgroups or lanes).
Result<Launch> resolve_launch(const CheckedProgram& checked, const LaunchRequest& request);

// The bytes of a buffer that the caller gets back: all, or what @range says, clamped.
std::span<const std::byte> returned_bytes(const CheckedProgram& checked, ir::BufferId buffer,
                                          std::span<const std::byte> contents);

// The same as an offset and a length, for a buffer of `bytes` bytes.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};
ByteRange returned_range(const CheckedProgram& checked, ir::BufferId buffer, uint64_t bytes);

// By BufferId: whether a host expression (`over`, `@count`, `require`) reads its contents, so that
// they have to be the caller's bytes.
std::vector<bool> read_by_host(const CheckedProgram& checked);

}  // namespace vyre::check
