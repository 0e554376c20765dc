// SPDX-License-Identifier: Apache-2.0
// The self-test of `vyre doctor`.
#pragma once

#include <chrono>
#include <string>

#include "vyre/run/device.hpp"

namespace vyre::cli {

struct SelfTest {
  bool ok = false;
  std::string message;  // what is wrong
  uint64_t ns = 0;      // with compilation
};

// A program with a barrier over the workgroup and one over the grid, on this device and on the
// reference interpreter, which have to agree about every byte.
SelfTest self_test(const run::Device& device,
                   std::chrono::nanoseconds limit = std::chrono::seconds(1));

}  // namespace vyre::cli
