// SPDX-License-Identifier: Apache-2.0
// What a program contains, by name: for counting what a set of programs covers.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "generator/generator.hpp"

namespace vyre::generator {

// "statement If", "operator <<", "intrinsic fma", "atomic atomic_nand shared", "shape while-true",
// ... The program must be valid.
std::set<std::string> features_of(const Generated& generated);

// Every name that features_of() can give and that programs with all switches on should show.
std::vector<std::string> all_features();

}  // namespace vyre::generator
