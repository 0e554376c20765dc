// SPDX-License-Identifier: Apache-2.0
// What a running program reports: traps of lanes, and the passes of fixpoints.
#pragma once

#include <cstdint>

#include "vyre/base/diagnostic.hpp"

namespace vyre {

// What trap() reported: sorted by lane wherever there are several.
struct TrapReport {
  uint16_t tag = 0;
  uint32_t value = 0;
  uint32_t lane = 0;  // global lane id
  Position at;
  friend bool operator==(const TrapReport&, const TrapReport&) = default;
};

struct FixpointReport {
  uint32_t passes = 0;
  bool converged = false;
  friend bool operator==(const FixpointReport&, const FixpointReport&) = default;
};

}  // namespace vyre
