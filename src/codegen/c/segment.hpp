// SPDX-License-Identifier: Apache-2.0
// A segment as C: its phases, and vyre_entry_<number>(), which runs some workgroups of a grid one
// after the other (device/kernel.hpp says how it is called).
#pragma once

#include <cstddef>
#include <optional>

#include "codegen/c/library.hpp"
#include "codegen/c/sites.hpp"
#include "codegen/c/writer.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen::c {

struct Options {
  uint32_t subgroup_size = 0;
  bool checked = false;
  std::optional<std::byte> poison = {};  // what scratch memory holds that is not cleared
};

struct SegmentText {
  std::string code;
  uint64_t scratch_bytes = 0;
};

// `library` and `sites` get what the segment uses and where it stops.
Result<SegmentText> print_segment(const plan::Segment& segment, uint32_t number,
                                  const Options& options, Library& library, Sites& sites);

}  // namespace vyre::codegen::c
