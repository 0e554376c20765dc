// SPDX-License-Identifier: Apache-2.0
// CHECK(condition): a broken invariant of ours, not a mistake of the user. It ends the process with
// the place and the condition, in release builds too, because going on would corrupt results
// silently.
#pragma once

namespace vyre::base {
[[noreturn]] void check_failed(const char* file, int line, const char* condition);
}  // namespace vyre::base

#define VYRE_CHECK(condition)                                     \
  do {                                                            \
    if (!(condition)) [[unlikely]]                                \
      ::vyre::base::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
