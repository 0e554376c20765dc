// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/strategy.hpp"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/plan/plan.hpp"
#include "vyre/text/text.hpp"

namespace vyre::plan {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kLoop =
    "for i in 0 .. 3 { a[gid.x] += a[0]; barrier grid; a[gid.x] += 1; barrier grid; }";
// A lane keeps `x`.
constexpr std::string_view kState =
    "let x = a[gid.x]; for i in 0 .. 3 { a[gid.x] += x; barrier grid; }";

check::CheckedProgram checked_program(std::string_view body, std::string_view workgroup = "4") {
  const std::string text = "program p { workgroup " + std::string(workgroup) +
                           "; inout a : u32[]; shared s : u32[8]; " + std::string(body) + " }";
  auto checked = check::check_valid(text::parse(text, "p.vyre").program);
  EXPECT_TRUE(checked.has_value()) << (checked ? "" : to_string(checked.error()));
  return std::move(*checked);
}

check::Launch launch_of(const check::CheckedProgram& checked, const check::Axes& grid) {
  return {.workgroup = checked.workgroup, .grid = grid, .counts = {}};
}

// A device whose facts come from plans and from one residency for all code.
class Device {
 public:
  DeviceModel model;
  std::vector<RouteVariant> planned, loaded;  // in the order in which decide() asked for them
  uint64_t resident = 8;
  std::optional<uint64_t> resident_persistent = {};  // of persistent kernels, if that differs

  Device() {
    model.capabilities.cooperative_grid_barrier = true;
    model.capabilities.resident_buffers = true;
    model.capabilities.max_invocations_per_workgroup = 1024;
  }

  Result<Strategy> choose(const check::CheckedProgram& checked, const check::Axes& grid,
                          const StrategyRequest& request = {}) {
    const check::Launch launch = launch_of(checked, grid);
    for (int i = 0; i < 12; ++i) {
      auto strategy = decide(checked, &launch, model, request);
      if (!strategy || !strategy->is_estimate()) return strategy;
      VariantFacts facts = facts_of(strategy->variant,
                                    schedule_of(*make_plan(checked, {.variant = strategy->variant,
                                                                     .checked = request.checked})));
      if (strategy->missing == Missing::Residency) {
        loaded.push_back(strategy->variant);
        facts.is_loaded = true;
        const bool persistent = strategy->route() == Route::Persistent;
        facts.resident.assign(facts.segments.size(),
                              persistent ? resident_persistent.value_or(resident) : resident);
      } else {
        planned.push_back(strategy->variant);
      }
      model.add(std::move(facts));
    }
    ADD_FAILURE() << "decide() never settles";
    return Strategy{};
  }
};

TEST(Strategy, WithoutBarrierOneLaunch) {
  Device device;
  const auto strategy = device.choose(checked_program("a[gid.x] = 1;"), {1000, 1, 1});
  EXPECT_EQ(strategy->route(), Route::Native);
  EXPECT_THAT(strategy->why, HasSubstr("no grid barrier"));
  EXPECT_TRUE(device.planned.empty() && device.loaded.empty());
}

TEST(Strategy, AllFitOrBlocksIterate) {
  const auto checked = checked_program(kLoop);
  Device device;
  const auto fits = device.choose(checked, {8, 1, 1});
  EXPECT_EQ(fits->route(), Route::Native);
  EXPECT_THAT(fits->why, HasSubstr("all 8 workgroups fit"));
  const auto larger = device.choose(checked, {2, 5, 1});
  EXPECT_EQ(larger->route(), Route::Persistent);
  EXPECT_THAT(larger->why, HasSubstr("10 workgroups, but 8 fit"));
  EXPECT_FALSE(larger->variant.is_1d);
  EXPECT_TRUE(device.choose(checked, {10, 1, 1})->variant.is_1d);
}

// D-GRID.13: facts decide, so that the second decision requests nothing.
TEST(Strategy, IsTheSameOnceAllIsKnown) {
  const auto checked = checked_program(kState);
  Device device;
  for (const uint32_t groups : {8U, 9U, 64U, 100'000U}) {
    const auto first = device.choose(checked, {groups, 1, 1});
    device.planned.clear();
    device.loaded.clear();
    const auto second = device.choose(checked, {groups, 1, 1});
    EXPECT_EQ(*first, *second) << groups;
    EXPECT_TRUE(device.planned.empty() && device.loaded.empty()) << groups;
  }
}

TEST(Strategy, DevicesWithoutABarrierSplit) {
  const auto checked = checked_program(kLoop);
  Device device;
  device.model.capabilities.cooperative_grid_barrier = false;
  EXPECT_EQ(device.choose(checked, {8, 1, 1})->route(), Route::Resident);
  device.model.capabilities.resident_buffers = false;
  EXPECT_EQ(device.choose(checked, {8, 1, 1})->route(), Route::Host);
  EXPECT_TRUE(device.planned.empty() && device.loaded.empty());
}

// D-GRID.12: however it comes to a split.
TEST(Strategy, ADeviceThatOptsOutIsNeverSplit) {
  const auto refused = [](Device device, const check::CheckedProgram& checked,
                          const StrategyRequest& request, std::string_view reason) {
    device.model.capabilities.host_split = false;
    const auto strategy = device.choose(checked, {100, 1, 1}, request);
    ASSERT_FALSE(strategy.has_value()) << to_string(*strategy);
    EXPECT_EQ(strategy.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(strategy.error().message, HasSubstr(std::string(reason)));
    EXPECT_THAT(strategy.error().message, HasSubstr("Fix:"));
  };
  Device none;
  none.model.capabilities.cooperative_grid_barrier = false;
  refused(none, checked_program(kLoop), {}, "no barrier over the grid");
  refused(Device(), checked_program(kLoop), {.checked = true}, "checked mode");
  Device empty;
  empty.resident = 0;
  refused(empty, checked_program(kLoop), {}, "no code with the barrier inside");
  // Lanes that have ended do not come to subgroup operations.
  refused(Device(),
          checked_program("if gid.x > 7 { return; } a[gid.x] = 1; barrier grid; "
                          "a[gid.x] += subgroup_add(a[gid.x]);",
                          "64"),
          {}, "cannot be made persistent");
  // Eight workgroups fit, and no block of a persistent kernel.
  Device small;
  small.resident_persistent = 0;
  refused(small, checked_program(kLoop), {}, "too many for the blocks that fit");
  refused(small, checked_program(kState), {}, "too many for the blocks that fit");
  // What comes after a resume or a collective is a launch of its own, also where barriers are not.
  refused(Device(), checked_program("if a[gid.x] == 7 { trap(1, 1); } resume(1); a[gid.x] = 1;"),
          {}, "the host takes part");
  refused(Device(), checked_program("barrier grid; all_reduce(a, add);"), {},
          "the host takes part");
  refused(Device(), checked_program("for i in 0 .. 3 { a[gid.x] += 1; all_reduce(a, add); }"), {},
          "the host takes part");
  for (const Route route : {Route::Resident, Route::Host})
    refused(Device(), checked_program(kLoop), {.route = route}, "was asked for");
  // A device that splits takes the same programs.
  Device splits;
  EXPECT_EQ(splits.choose(checked_program(kLoop), {100, 1, 1}, {.checked = true})->route(),
            Route::Resident);
}

// D-GRID.12: few large blocks are a matter of speed. Where they do not fit, and the device may not
// split, the blocks that fit are launched.
TEST(Strategy, ADeviceThatOptsOutRunsWhatFits) {
  const auto checked = checked_program(kLoop, "64");
  Device device;
  device.resident = 1000;
  device.resident_persistent = 0;
  device.model.profile = {.compute_units = 4, .barrier_blocks_per_compute_unit = 2};
  EXPECT_EQ(device.choose(checked, {9, 1, 1})->route(), Route::Resident);
  device.model.capabilities.host_split = false;
  const auto fits = device.choose(checked, {9, 1, 1});
  ASSERT_TRUE(fits.has_value()) << to_string(fits.error());
  EXPECT_EQ(fits->route(), Route::Native);
  EXPECT_FALSE(device.choose(checked, {1001, 1, 1}).has_value());
}

TEST(Strategy, ARequiredCooperativeLaunchIsNativeOrAnError) {
  const auto checked = checked_program(kLoop);
  Device device;
  device.model.profile = {.compute_units = 1, .barrier_blocks_per_compute_unit = 2};
  const StrategyRequest require{.require_cooperative = true};
  EXPECT_EQ(device.choose(checked, {8, 1, 1}, require)->route(), Route::Native);
  const auto larger = device.choose(checked, {9, 1, 1}, require);
  EXPECT_EQ(larger.error().code, ErrorCode::CooperativeResidencyExceeded);
  EXPECT_THAT(larger.error().message, HasSubstr("Fix:"));
  EXPECT_EQ(device.choose(checked, {1, 1, 1}, {.checked = true, .require_cooperative = true})
                .error()
                .code,
            ErrorCode::Unsupported);
  device.model.capabilities.cooperative_grid_barrier = false;
  EXPECT_EQ(device.choose(checked, {8, 1, 1}, require).error().code, ErrorCode::Unsupported);
}

// Code is made only for the variant that is used.
TEST(Strategy, GridsThatCannotFitLoadNoNativeCode) {
  const auto checked = checked_program(kState);
  Device device;
  device.model.profile = {.compute_units = 2, .lanes_per_compute_unit = 16};  // 8 workgroups of 4
  device.resident = 2;
  EXPECT_EQ(device.choose(checked, {16, 1, 1})->route(), Route::Persistent);
  ASSERT_EQ(device.loaded.size(), 1U);
  EXPECT_EQ(device.loaded[0].route, Route::Persistent);
}

TEST(Strategy, FewLargeBlocksWhereBarriersCostByBlocks) {
  const auto checked = checked_program(kLoop, "64");
  Device device;
  device.resident = 1000;
  device.model.profile = {.compute_units = 4, .barrier_blocks_per_compute_unit = 2};
  EXPECT_EQ(device.choose(checked, {8, 1, 1})->route(), Route::Native);
  const auto nine = device.choose(checked, {9, 1, 1});
  EXPECT_EQ(nine->route(), Route::Persistent);
  EXPECT_EQ(nine->variant.workgroups_per_block, 2U);
  EXPECT_EQ(nine->iterations, 2U);
  EXPECT_EQ(nine->variant.interleave, 2U);
  EXPECT_EQ(device.choose(checked, {128, 1, 1})->variant.workgroups_per_block, 16U);
  // As many iterations are interleaved as there are, up to eight: two, three, eight and more.
  for (const auto& [groups, width] : {std::pair{128U, 2U}, {192U, 2U}, {512U, 8U}, {4096U, 8U}})
    EXPECT_EQ(device.choose(checked, {groups, 1, 1})->variant.interleave, width) << groups;
  // Or as the device prefers, within reason.
  for (const auto& [preferred, width] : {std::pair{1U, 1U}, {6U, 4U}, {16U, 16U}, {~0U, 16U}}) {
    device.model.profile.preferred_unroll = preferred;
    EXPECT_EQ(device.choose(checked, {4096, 1, 1})->variant.interleave, width) << preferred;
  }
  // State in memory would cost more than it saves.
  Device other;  // what a model knows is of one program
  other.resident = device.resident;
  other.model.profile = device.model.profile;
  EXPECT_EQ(other
                .choose(checked_program("var v : u32[9]; v[gid.x % 9] = a[gid.x]; barrier grid; "
                                        "a[gid.x] = v[a[0] % 9];",
                                        "64"),
                        {128, 1, 1})
                ->route(),
            Route::Native);
}

// Registers first, then memory, then a launch per segment.
TEST(Strategy, ResidencyThatDisagreesIsFollowed) {
  const auto checked = checked_program(kState, "64");
  Device device;
  device.model.profile = {.compute_units = 4};
  device.resident = 4;
  const auto registers = device.choose(checked, {32, 1, 1});
  EXPECT_EQ(registers->route(), Route::Persistent);
  EXPECT_EQ(registers->variant.unrolled_iterations, 1U);
  // Half of the registers hold the state of fewer workgroups at once.
  for (const auto& [registers_of_unit, iterations] : {std::pair{65536U, 1U}, {32768U, 2U}}) {
    Device other;
    other.model.profile = {.compute_units = 4, .registers_per_compute_unit = registers_of_unit};
    other.resident = 8;
    other.model.profile.lanes_per_compute_unit = 64;  // not natively
    EXPECT_EQ(other.choose(checked, {40, 1, 1})->variant.unrolled_iterations, iterations);
  }
  Device small;
  small.model.profile = {.compute_units = 4};
  small.resident = 1;
  const auto memory = small.choose(checked, {32, 1, 1});
  EXPECT_EQ(memory->route(), Route::Persistent);
  EXPECT_EQ(memory->variant.unrolled_iterations, 0U);
  EXPECT_EQ(memory->iterations, 4U);
}

TEST(Strategy, ACallerMayTakeAnyRoute) {
  const auto checked = checked_program(kLoop);
  Device device;
  for (const Route route : {Route::Native, Route::Persistent, Route::Resident, Route::Host})
    EXPECT_EQ(device.choose(checked, {100, 1, 1}, {.route = route})->route(), route);
  const auto checked_mode =
      device.choose(checked, {100, 1, 1}, {.checked = true, .route = Route::Resident});
  EXPECT_EQ(checked_mode->route(), Route::Resident);
}

TEST(Strategy, BeforeAGridIsKnownItIsAnEstimate) {
  const auto checked = checked_program(kLoop);
  Device device;
  const auto strategy = decide(checked, nullptr, device.model, {});
  EXPECT_EQ(strategy->route(), Route::Native);
  EXPECT_EQ(strategy->missing, Missing::Grid);
  EXPECT_THAT(to_string(*strategy), HasSubstr("estimated"));
}

// ---- what measurements suggest (D-MODE.3)

StrategyRequest suggesting(const RouteVariant& variant, StrategyRequest request = {}) {
  request.tuned = TunedVariant{variant, "measured"};
  return request;
}

// Without barriers, and on devices that split, what is left is how many lanes a thread runs.
TEST(Tuned, LanesThatTheDeviceNames) {
  for (const bool barriers : {false, true}) {
    const auto checked = checked_program(barriers ? kLoop : "a[gid.x] = 1;");
    const check::Launch launch = launch_of(checked, {100, 1, 1});
    Device device;
    device.model.capabilities.cooperative_grid_barrier = false;
    const auto chosen = device.choose(checked, {100, 1, 1});
    EXPECT_TRUE(candidates(checked, launch, device.model, {}).empty());
    device.model.profile.code_lanes = 1 + 8 + 64;
    const auto all = candidates(checked, launch, device.model, {});
    ASSERT_EQ(all.size(), 3u);
    for (const RouteVariant& variant : all) {
      const auto strategy = device.choose(checked, {100, 1, 1}, suggesting(variant));
      EXPECT_TRUE(strategy->tuned);
      EXPECT_EQ(strategy->variant, variant);
      EXPECT_EQ(strategy->why, "measured");
      EXPECT_EQ(variant.route, chosen->route());
    }
    RouteVariant other = chosen->variant;
    for (const uint32_t lanes : {0U, 3U, 9U, 16U, 128U, 73U}) {
      other.lanes = lanes;
      EXPECT_EQ(*device.choose(checked, {100, 1, 1}, suggesting(other)), *chosen) << lanes;
    }
    other.lanes = 8;
    other.route = barriers ? Route::Native : Route::Resident;
    EXPECT_EQ(*device.choose(checked, {100, 1, 1}, suggesting(other)), *chosen);
    other = chosen->variant;
    other.lanes = 8;
    other.interleave = 2;
    EXPECT_EQ(*device.choose(checked, {100, 1, 1}, suggesting(other)), *chosen);
  }
}

// Every candidate can be had or is refused for what its code is, never an error.
TEST(Tuned, RoutesAndShapesOfPersistentBlocks) {
  const auto checked = checked_program(kLoop);
  for (const check::Axes grid : {check::Axes{64, 1, 1}, {16, 16, 1}, {100'000, 1, 1}, {1, 1, 1}}) {
    for (const uint64_t resident : {1U, 8U, 100U, 1'000'000U}) {
      Device device;
      device.model.profile = {.compute_units = 4};
      device.resident = resident;
      const auto chosen = device.choose(checked, grid);
      const auto all = candidates(checked, launch_of(checked, grid), device.model, {});
      EXPECT_LE(all.size(), kMostCandidates);
      EXPECT_FALSE(all.empty());
      for (const RouteVariant& variant : all) {
        EXPECT_NE(variant, chosen->variant);
        const auto strategy = device.choose(checked, grid, suggesting(variant));
        ASSERT_TRUE(strategy) << to_string(strategy.error());
        RouteVariant in_memory = variant;
        in_memory.unrolled_iterations = 0;
        if (strategy->tuned)
          EXPECT_TRUE(strategy->variant == variant || strategy->variant == in_memory);
        else
          EXPECT_EQ(*strategy, *chosen);
      }
    }
  }
}

TEST(Tuned, WhatIsNotSoundIsLeftOut) {
  const auto checked = checked_program(kLoop);
  Device device;
  device.model.profile = {.compute_units = 4, .code_lanes = 0xFF};
  const check::Axes grid = {10, 10, 1};
  const auto chosen = device.choose(checked, grid);
  const auto left_out = [&](const RouteVariant& variant, const StrategyRequest& request = {}) {
    const auto plain = device.choose(checked, grid, request);
    EXPECT_EQ(device.choose(checked, grid, suggesting(variant, request)).value_or(Strategy()),
              plain.value_or(Strategy()))
        << to_string(Strategy{.variant = variant});
  };
  const RouteVariant sound = {.route = Route::Persistent, .workgroups_per_block = 2};
  EXPECT_TRUE(device.choose(checked, grid, suggesting(sound))->tuned);
  RouteVariant wrong = sound;
  wrong.is_1d = true;  // the grid has two axes
  left_out(wrong);
  wrong = sound;
  wrong.workgroups_per_block = 512;  // 2048 lanes
  left_out(wrong);
  wrong.workgroups_per_block = 128;  // more than there are
  left_out(wrong);
  wrong.workgroups_per_block = 3;
  left_out(wrong);
  wrong.workgroups_per_block = 0;
  left_out(wrong);
  wrong = sound;
  wrong.interleave = 16;
  left_out(wrong);
  wrong.interleave = 0;
  left_out(wrong);
  wrong = sound;
  wrong.unrolled_iterations = 1000;
  left_out(wrong);
  wrong = sound;
  wrong.lanes = 8;
  left_out(wrong);
  left_out({.route = Route::Host});
  left_out({.route = Route::Native});  // 100 workgroups, of which 8 fit
  left_out({.route = Route::Resident, .interleave = 2});
  // The caller has chosen, or there is no choice.
  left_out({.route = Route::Resident}, {.route = Route::Native});
  left_out({.route = Route::Resident}, {.require_cooperative = true});
  left_out(sound, {.checked = true});
  // A device that must not be split.
  device.model.capabilities.host_split = false;
  left_out({.route = Route::Resident});
  EXPECT_TRUE(candidates(checked, launch_of(checked, grid), device.model, {}).empty());
  EXPECT_FALSE(decide(checked, nullptr, device.model, suggesting(sound))->tuned);
}

// State in registers for fewer iterations than this grid takes: then it is in memory.
TEST(Tuned, OneRecordIsForAllSizesOfItsClass) {
  const auto checked = checked_program(kState);
  Device device;
  device.model.profile = {.compute_units = 4};
  const RouteVariant two = {.route = Route::Persistent,
                            .workgroups_per_block = 1,
                            .unrolled_iterations = 2,
                            .is_1d = true};
  EXPECT_EQ(device.choose(checked, {16, 1, 1}, suggesting(two))->variant, two);
  RouteVariant in_memory = two;
  in_memory.unrolled_iterations = 0;
  const auto larger = device.choose(checked, {17, 1, 1}, suggesting(two));
  EXPECT_TRUE(larger->tuned);
  EXPECT_EQ(larger->variant, in_memory);
  EXPECT_EQ(larger->iterations, 3u);
  device.model.variants.clear();
  device.resident = 0;
  EXPECT_FALSE(device.choose(checked, {17, 1, 1}, suggesting(two))->tuned);
}

TEST(Strategy, Prints) {
  EXPECT_EQ(to_string(Strategy{.variant = {.route = Route::Persistent,
                                           .workgroups_per_block = 8,
                                           .unrolled_iterations = 2},
                               .iterations = 2}),
            "persistent, 8 workgroups per block, 2 iterations with state in registers");
  EXPECT_EQ(to_string(Strategy{.variant = {.route = Route::Resident}}), "resident");
}

}  // namespace
}  // namespace vyre::plan
