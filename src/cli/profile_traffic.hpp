// SPDX-License-Identifier: Apache-2.0
// How many bytes a launch of a program asks the device's memory for: its loads, stores and atomics
// of buffers outside of workgroups, each as often as a lane executes it. Worked out from the
// program and the launch, nothing runs. What cannot be known for certain (a condition on data, a
// loop whose length is data, an access that may be out of bounds) is left out of `at_least`, and
// then the number is not exact. What caches hold is counted all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vyre/check/check.hpp"
#include "vyre/check/launch.hpp"

namespace vyre::cli {

struct Traffic {
  uint64_t at_least = 0;  // bytes
  bool exact = true;
  uint64_t lanes = 0;         // of the launch
  uint64_t active_lanes = 0;  // at least so many execute some access of buffers
};

// `launch.counts` by BufferId of the program; the grid must not be empty. `given` by BufferId: the
// caller's bytes, of which uniforms are read; empty where they are not known.
Traffic traffic_of(const check::CheckedProgram& program, const check::Launch& launch,
                   std::span<const std::span<const std::byte>> given);

}  // namespace vyre::cli
