// SPDX-License-Identifier: Apache-2.0
#include "run/break_down.hpp"

#include "base/errors.hpp"
#include "pipeline/site_table.hpp"
#include "vyre/plan/attribution.hpp"

namespace vyre::run {

namespace {

LaunchTime time_of(const LaunchTotals& totals) {
  return {.launches = totals.launches, .device_ns = totals.device_ns()};
}

LaunchTotals of_segment(const PartTotals& part, uint32_t segment) {
  return segment < part.segments.size() ? part.segments[segment] : LaunchTotals();
}

LaunchTime sum_of(const PartTotals& part, std::span<const uint32_t> segments) {
  LaunchTotals sum;
  for (const uint32_t segment : segments) sum = sum + of_segment(part, segment);
  return time_of(sum);
}

}  // namespace

void add(PartTotals& sum, const PartTotals& more) {
  sum.launches += more.launches;
  if (sum.segments.size() < more.segments.size()) sum.segments.resize(more.segments.size());
  for (size_t i = 0; i < more.segments.size(); ++i)
    sum.segments[i] = sum.segments[i] + more.segments[i];
  if (sum.passes.size() < more.passes.size()) sum.passes.resize(more.passes.size());
  for (size_t i = 0; i < more.passes.size(); ++i) sum.passes[i] += more.passes[i];
}

std::optional<uint64_t> passes_of(std::span<const FixpointReport> ended) {
  if (ended.empty()) return std::nullopt;
  uint64_t passes = 0;
  for (const FixpointReport& fixpoint : ended) passes += fixpoint.passes;
  return passes;
}

Result<Breakdown> break_down(const PartTotals& part, const pipeline::Variant& variant,
                             Timing timing, std::optional<uint64_t> passes_of_whole) {
  Breakdown result;
  if (timing < Timing::Segments) return result;
  for (uint32_t s = 0; s < variant.entries.size(); ++s)
    result.segments.push_back(
        {.time = time_of(of_segment(part, s)), .regions = variant.entries[s].regions});
  if (timing < Timing::Regions) return result;
  VYRE_TRY_ASSIGN(const auto plan, variant.sites->plan());
  const plan::Attribution attribution = plan::attribute_segments(*plan);
  for (const plan::RegionShares& region : attribution.regions)
    result.regions.push_back({.name = region.name,
                              .own = sum_of(part, region.segments.whole),
                              .shared = sum_of(part, region.segments.shared)});
  for (uint32_t i = 0; i < attribution.fixpoints.size(); ++i) {
    const plan::FixpointShares& fixpoint = attribution.fixpoints[i];
    FixpointTime& row = result.fixpoints.emplace_back();
    row.at = fixpoint.at;
    row.own = sum_of(part, fixpoint.segments.whole);
    row.shared = sum_of(part, fixpoint.segments.shared);
    if (fixpoint.is_step) {
      row.passes = i < part.passes.size() ? part.passes[i] : 0;
    } else if (attribution.fixpoints.size() == 1 && variant.schedule.whole) {
      row.passes = passes_of_whole;
    }
  }
  return result;
}

}  // namespace vyre::run
