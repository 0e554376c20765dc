// SPDX-License-Identifier: Apache-2.0
#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace vyre::base {

void check_failed(const char* file, int line, const char* condition) {
  // No allocation and no formatting library: memory may be the thing that is broken.
  std::fflush(stdout);
  std::fprintf(stderr, "vyre: internal bug at %s:%d: %s does not hold\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace vyre::base
