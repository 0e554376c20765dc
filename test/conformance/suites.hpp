// SPDX-License-Identifier: Apache-2.0
// Tests of a device that are no comparison of one case. `devices` must outlive them.
#pragma once

#include <string>
#include <vector>

#include "conformance/judge.hpp"

namespace vyre::conformance {

// "reference_1" for reference:1.
std::string suite_name(const Subject& subject);

// Programs that do not end or ask for too much.
void register_hostile(const std::vector<Subject>& devices);
// Random programs. VYRE_CONFORMANCE_PROGRAMS says how many.
void register_random(const std::vector<Subject>& devices);

}  // namespace vyre::conformance
