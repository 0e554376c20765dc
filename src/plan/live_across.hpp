// SPDX-License-Identifier: Apache-2.0
// What lives across the end of a segment, in words for people.
#pragma once

#include "plan/cut.hpp"

namespace vyre::plan {

std::vector<LiveAcross> describe_live_across(const Draft& d, const Tree& tree,
                                             const RawSegment& raw, const Storage& storage,
                                             bool swaps_frame, bool swaps_group_frame);

}  // namespace vyre::plan
