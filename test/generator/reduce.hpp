// SPDX-License-Identifier: Apache-2.0
// Making a program that shows a fault small enough to look at.
#pragma once

#include <chrono>
#include <functional>

#include "generator/generator.hpp"

namespace vyre::generator {

struct ReduceOptions {
  std::chrono::milliseconds most{60'000};  // the best so far is returned when they are over
};

// Removes, unwraps and simplifies, keeping every step that leaves a valid program for which
// `still_fails` holds, until none is left. `still_fails` must hold for `from`. It sees programs
// that may have races: one that looks for wrong results has to rule them out itself.
Generated reduce(const Generated& from, const std::function<bool(const Generated&)>& still_fails,
                 const ReduceOptions& options = {});

// Statements at any depth, functions included.
size_t statement_count(const ir::Program& program);

}  // namespace vyre::generator
