// SPDX-License-Identifier: Apache-2.0
// Whose time the time of a segment is. A device measures launches, and a launch runs one segment,
// so what is known of a region or a fixpoint is the time of the segments that run nothing else.
// What the segments take that run statements of it among others bounds the rest from above.
//
// What a segment does for the plan (restoring and saving what lives across its ends) is a part of
// it, and so of the region that all of its statements are in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vyre/plan/plan.hpp"

namespace vyre::plan {

// Numbers of segments, ascending, each in one list at most.
struct SegmentShares {
  std::vector<uint32_t> whole;   // every statement of the source is of it
  std::vector<uint32_t> shared;  // some may be
  friend bool operator==(const SegmentShares&, const SegmentShares&) = default;
};
struct RegionShares {
  std::string name;  // of all regions called so
  SegmentShares segments;
  friend bool operator==(const RegionShares&, const RegionShares&) = default;
};
struct FixpointShares {
  Position at;
  bool is_step = false;  // of the tree, so that its passes are counted; else a launch repeats it
  SegmentShares segments;
  friend bool operator==(const FixpointShares&, const FixpointShares&) = default;
};
struct Attribution {
  std::vector<RegionShares> regions;      // in the order of the segments that name them first
  std::vector<FixpointShares> fixpoints;  // by number; of a whole program, by position
};

Attribution attribute_segments(const Plan& plan);

}  // namespace vyre::plan
