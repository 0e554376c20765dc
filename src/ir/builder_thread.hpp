// SPDX-License-Identifier: Apache-2.0
// What a thread knows about its builders.
#pragma once

#include <vector>

#include "vyre/base/diagnostic.hpp"

namespace vyre::build {

class Core;

struct ThreadState {
  std::vector<Core*> stack;  // made and not yet finished; the last one is current
  Diagnostics orphans;       // misuse while there was none, until a finish() reports it
};

ThreadState& thread_state();

}  // namespace vyre::build
