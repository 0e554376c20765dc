// SPDX-License-Identifier: Apache-2.0
// Where the device's time of a dispatch went, as far as `timing` of the config asks for it. A
// device measures launches, so the time of a region is that of the launches which run nothing else,
// and of the others only the sum is known: the region took from `own` to `own` plus `shared`. Of a
// route that goes through its barriers inside one launch, all is shared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vyre/base/diagnostic.hpp"

namespace vyre::run {

// Launches, and the device's time of them; none where the device did not measure each.
struct LaunchTime {
  uint64_t launches = 0;
  std::optional<uint64_t> device_ns{};
  friend bool operator==(const LaunchTime&, const LaunchTime&) = default;
};
struct SegmentTime {
  LaunchTime time;
  std::vector<std::string> regions;  // of its statements
  friend bool operator==(const SegmentTime&, const SegmentTime&) = default;
};
struct RegionTime {
  std::string name;   // of all regions called so, with the regions inside
  LaunchTime own;     // of segments all of whose statements are of the region
  LaunchTime shared;  // of segments that have others, too
  friend bool operator==(const RegionTime&, const RegionTime&) = default;
};
struct FixpointTime {
  Position at;
  std::optional<uint64_t> passes;  // none where the device repeats it on its own
  LaunchTime own, shared;          // likewise
  friend bool operator==(const FixpointTime&, const FixpointTime&) = default;
};

struct Breakdown {
  std::vector<SegmentTime> segments;  // by number; timing `segments` and `regions`
  std::vector<RegionTime> regions;    // timing `regions`, like the next
  std::vector<FixpointTime> fixpoints;
  friend bool operator==(const Breakdown&, const Breakdown&) = default;
};

}  // namespace vyre::run
