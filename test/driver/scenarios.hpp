// SPDX-License-Identifier: Apache-2.0
// Work that goes through every call of the driver, for tests that make calls fail.
#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string_view>

#include "driver/world.hpp"

namespace vyre::driver_test {

struct Scenario {
  std::string_view name;
  WorldOptions options = {};
  // All bytes that it sees; the same in every world of these options. It leaves nothing behind but
  // what the device caches.
  std::function<Result<Bytes>(World&)> run;
  bool drops = false;   // a dispatch nobody waits for: its error is seen by nobody
  bool varies = false;  // how many calls it makes depends on threads
};

std::span<const Scenario> scenarios();
void PrintTo(const Scenario& scenario, std::ostream* out);  // for GoogleTest

}  // namespace vyre::driver_test
