// SPDX-License-Identifier: Apache-2.0
// How a dispatch runs: the route through its grid barriers, and the variant of the code on that
// route. One pure function decides; run, prewarm, `vyre plan`, `vyre compile` and the benchmarks
// call it, so that what is shown is what runs.
//
// What only a plan or loaded code tells is part of the model of the device. Where a decision
// depends on a fact that the model lacks, the strategy names it; the caller finds it out, adds it
// and asks again, or shows the strategy as an estimate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/check/check.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/device/capabilities.hpp"
#include "vyre/plan/schedule.hpp"

namespace vyre::plan {

// What is known of one variant of a program on one device. No sizes of a dispatch are in it.
struct VariantFacts {
  struct Segment {
    bool barriers_inside = false;
    uint32_t workgroups_per_block = 0;  // as in SegmentLaunch
    uint32_t unrolled_iterations = 0;
    friend bool operator==(const Segment&, const Segment&) = default;
  };
  RouteVariant variant;      // that was asked for
  Route route = {};          // that the plan has; Resident where no persistent kernel can be made
  std::string refusal = {};  // then: why not
  std::vector<Segment> segments = {};
  bool state_in_memory = false;  // lanes keep values in slots across barriers
  bool host_takes_part = false;  // a resume, collective or swap ends a launch, on any route
  bool is_loaded = false;
  std::vector<uint64_t> resident = {};  // then, by segment: workgroups on the device at once
  friend bool operator==(const VariantFacts&, const VariantFacts&) = default;

  [[nodiscard]] uint64_t least_resident() const;
};
VariantFacts facts_of(const RouteVariant& variant, const Schedule& schedule);

// A device, as far as it decides how programs run.
struct DeviceModel {
  device::Capabilities capabilities = {};
  device::DeviceProfile profile = {};
  std::vector<VariantFacts> variants = {};  // of this program, in the order they became known

  [[nodiscard]] const VariantFacts* find(const RouteVariant& variant) const;
  // In place of what was known of that variant.
  void add(VariantFacts facts);
};

// A variant that measurements suggest (vyre/plan/tuning.hpp). Where it is not sound for the launch
// and the device, the choice is made as without it.
struct TunedVariant {
  RouteVariant variant = {};
  std::string why = {};  // of a strategy with this variant
  friend bool operator==(const TunedVariant&, const TunedVariant&) = default;
};

struct StrategyRequest {
  bool checked = false;              // accesses out of bounds stop a lane
  bool require_cooperative = false;  // a native launch or an error
  std::optional<Route> route = {};   // of a caller that takes the choice upon itself
  std::optional<TunedVariant> tuned = {};
};

// A fact that a strategy depends on and the model lacks.
enum class Missing : uint8_t {
  Nothing,
  Plan,       // of Strategy::variant
  Residency,  // of its code, when it is loaded
  Grid,       // of the dispatch
};

struct Strategy {
  RouteVariant variant = {};
  // Persistent route: how often a block iterates over virtual workgroups, at most. 0 elsewhere, and
  // until it is known how many blocks are resident.
  uint64_t iterations = 0;
  Missing missing = Missing::Nothing;
  std::string why = {};
  bool tuned = false;  // StrategyRequest::tuned was taken
  friend bool operator==(const Strategy&, const Strategy&) = default;

  [[nodiscard]] Route route() const { return variant.route; }
  [[nodiscard]] bool is_estimate() const { return missing != Missing::Nothing; }
};
// "persistent, 8 workgroups per block, 2 iterations in registers (estimated: ...)"
std::string to_string(const Strategy& strategy);

// `launch`: null if the grid is not known. Unsupported: no way through, or a cooperative launch is
// required where there is none. CooperativeResidencyExceeded: it is required and the grid does not
// fit.
Result<Strategy> decide(const check::CheckedProgram& checked, const check::Launch* launch,
                        const DeviceModel& model, const StrategyRequest& request);

// The variants besides the one that decide() chooses by facts which it would take as
// StrategyRequest::tuned, and which may be faster. The most promising first, and not many; none
// where the choice is an estimate.
inline constexpr size_t kMostCandidates = 8;
std::vector<RouteVariant> candidates(const check::CheckedProgram& checked,
                                     const check::Launch& launch, const DeviceModel& model,
                                     const StrategyRequest& request);

bool contains_grid_barrier(const check::CheckedProgram& checked);

// How many blocks a segment is launched with that runs `workgroups` as virtual workgroups, of which
// `resident` blocks can be on the device at once. 0: they are not enough.
uint64_t blocks_of(const SegmentLaunch& segment, uint64_t workgroups, uint64_t resident);
uint64_t blocks_of(const VariantFacts::Segment& segment, uint64_t workgroups, uint64_t resident);

}  // namespace vyre::plan
