// SPDX-License-Identifier: Apache-2.0
// Random programs about one thing: which elements of an output are stored, by whom and when.
// General random programs hardly ever store a whole buffer.
#pragma once

#include "generator/generator.hpp"

namespace vyre::plan_test {

// `y` is the output that it is about. What lanes store to an element between two barriers is equal,
// and reads stand between barriers, so that results do not depend on the order of lanes.
generator::Generated random_stores(uint64_t seed);

}  // namespace vyre::plan_test
