// SPDX-License-Identifier: Apache-2.0
// From what a recorder has counted and measured to the breakdown of a report.
#pragma once

#include "run/recorder.hpp"
#include "vyre/base/reports.hpp"
#include "vyre/pipeline/compiler.hpp"
#include "vyre/run/breakdown.hpp"

namespace vyre::run {

// `passes_of_whole`: of all fixpoints of a whole program together, which no plan counts. May plan
// the program once more, if its code came from the cache.
Result<Breakdown> break_down(const PartTotals& part, const pipeline::Variant& variant,
                             Timing timing, std::optional<uint64_t> passes_of_whole);

void add(PartTotals& sum, const PartTotals& more);
// Of a report of a whole program.
std::optional<uint64_t> passes_of(std::span<const FixpointReport> ended);

}  // namespace vyre::run
