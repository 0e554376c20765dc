// SPDX-License-Identifier: Apache-2.0
// How much memory the process may still take, and the rule for taking it: what is about to be
// allocated at once may be at most 80 % of what is free. Linux grants more than there is and ends a
// process that then uses it; tested before, it is an error that names both numbers.
//
// The figures come from /proc/meminfo and from the limits of the control groups (v1 and v2, nested)
// that the process is in. Files are read only where memory grows, so work that uses its memory
// again reads none; what grows by a little again and again (results that the caller takes away)
// shares a reading: each is good for a second and a sixteenth of what it allows. Any thread may
// call anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vyre/base/result.hpp"

namespace vyre {

struct FreeMemory {
  uint64_t bytes = 0;
  std::string where;  // for people: what the figure is of
};
// None if the system does not report it. `root` stands before every path.
std::optional<FreeMemory> free_memory(const std::string& root = "");

inline constexpr uint64_t kCheckedGrowth = uint64_t{1} << 20;
inline constexpr uint64_t kGrowthPercent = 80;

// HostOutOfMemory if `bytes` more are over the limit. `what` is the subject of the message:
// "buffer `x`".
Result<void> check_memory_growth(uint64_t bytes, std::string_view what);
// The same as a yes or no, where nothing may be thrown.
bool may_grow_memory(uint64_t bytes) noexcept;

// Bytes that check_memory_growth() has let this thread take so far: what lies between two calls was
// granted, and maybe not used yet, so that it still counts as free.
uint64_t granted_memory_bytes();

// For tests: where the files are looked for ("", the start, for those of the system), and how often
// they were read. $VYRE_MEMORY_ROOT does the same for a process.
void set_memory_root(std::string root);
uint64_t memory_readings();

}  // namespace vyre
