// SPDX-License-Identifier: Apache-2.0
// What a running program reports: traps of lanes, and the passes of fixpoints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// What one execution of print() has written.
struct PrintLine {
  uint64_t phase = 0;  // grid barriers of the source that were executed before it, in its pass
  uint32_t lane = 0;   // global lane id
  Position at;
  std::string text;
  friend bool operator==(const PrintLine&, const PrintLine&) = default;
};
// What the lanes of a dispatch have printed: sorted by phase, then lane, then order of execution.
struct PrintReport {
  std::vector<PrintLine> lines;
  uint64_t dropped = 0;  // lines that did not fit in the buffer
  friend bool operator==(const PrintReport&, const PrintReport&) = default;
};

}  // namespace vyre
