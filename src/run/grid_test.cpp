// SPDX-License-Identifier: Apache-2.0
// Grid barriers as the driver runs them: launches that a fake device sees, and bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using backend::NullCall;
using backend::NullLaunch;
using testing::ElementsAre;
using testing::HasSubstr;

uint32_t increment(uint32_t word) {
  return word + 1;
}

std::vector<uint32_t> run_words(const Pipeline& pipeline, const std::vector<uint32_t>& input,
                                const DispatchConfig& config = {}) {
  const auto result = pipeline.dispatch({input}, config);
  EXPECT_TRUE(result) << to_string(result.error());
  return result ? words(result->outputs[0]) : std::vector<uint32_t>();
}

// D-GRID.10: two launches, the second fed by the first.
TEST(GridBarriers, WithoutABarrierOfTheDeviceThereIsOneLaunchPerSegment) {
  auto options = split_options();
  std::vector<uint32_t> seen;
  options.on_launch = [&](const NullLaunch& launch) -> Result<void> {
    seen.push_back(words(launch.arguments[0])[0]);
    return on_word(increment)(launch);
  };
  Fake fake(options);
  const Pipeline two = compile(fake.device, kTwoSegments);
  EXPECT_THAT(run_words(two, {40}), ElementsAre(42));
  EXPECT_THAT(seen, ElementsAre(40, 41));
  EXPECT_EQ(fake.backend->launches(), 2U);
}

// D-GRID.10
TEST(GridBarriers, ANativeDeviceGetsOneLaunchWithTheBarrierInside) {
  backend::NullOptions options;
  bool inside = false;
  options.on_launch = [&](const NullLaunch& launch) -> Result<void> {
    inside = launch.entry.barriers_inside && launch.launch.cooperative;
    return {};
  };
  Fake fake(options);
  const auto result = compile(fake.device, kTwoSegments).dispatch({std::vector<uint32_t>{1}});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(fake.backend->launches(), 1U);
  EXPECT_TRUE(inside);
  EXPECT_EQ(result->report.route, plan::Route::Native);
}

// D-GRID.10, D-GRID.2
TEST(GridBarriers, ABackendThatOptsOutIsNeverSplit) {
  auto options = split_options();
  options.info.capabilities.host_split = false;
  Fake fake(options);
  const auto compiled = fake.device.compile(program(kTwoSegments));
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(compiled.error().message, HasSubstr("Fix:"));
  EXPECT_EQ(fake.backend->launches(), 0U);
}

// D-GRID.9, D-GRID.10: passes over the whole program.
TEST(GridBarriers, TheWholeProgramRepeatsUntilNothingChanges) {
  for (const bool loops : {false, true}) {
    SCOPED_TRACE(loops ? "loops on the device" : "loops on the host");
    auto options = split_options();
    options.info.capabilities.device_loops = loops;
    options.on_launch = on_word(increment);
    {
      Fake fake(options);
      EXPECT_THAT(run_words(compile(fake.device, kTwoSegments), {0}), ElementsAre(2));
      EXPECT_EQ(fake.backend->launches(), 2U);
    }
    {
      Fake fake(options);
      EXPECT_THAT(run_words(compile(fake.device, kTwoSegments), {0}, {.fixpoint_iterations = 3}),
                  ElementsAre(6));
      EXPECT_EQ(fake.backend->launches(), 6U);
    }
    {
      Fake fake(options);
      EXPECT_THAT(run_words(compile(fake.device, kTwoSegments), {0}, {.fixpoint_iterations = 4}),
                  ElementsAre(8));
      EXPECT_EQ(fake.backend->launches(), 8U);
    }
    options.on_launch = on_word([](uint32_t word) { return std::min(word + 1, 3U); });
    Fake fake(options);
    const auto result = compile(fake.device, kTwoSegments)
                            .dispatch({std::vector<uint32_t>{0}}, {.fixpoint_iterations = 10});
    ASSERT_TRUE(result) << to_string(result.error());
    // 0 -> 2 -> 3 -> 3: the third pass leaves everything as it was.
    EXPECT_THAT(words(result->outputs[0]), ElementsAre(3));
    EXPECT_EQ(fake.backend->launches(), 6U);
    EXPECT_EQ(result->report.iterations, 3U);
    EXPECT_TRUE(result->report.converged);
    EXPECT_EQ(fake.device.telemetry().fixpoint_passes, 3U);
    EXPECT_EQ(fake.device.telemetry().fixpoint_early_exits, 1U);
  }
}

// D-GRID.9
TEST(GridBarriers, AProgramAtItsFixpointRunsOnce) {
  auto options = split_options();
  options.on_launch = on_word([](uint32_t word) { return word; });
  Fake fake(options);
  EXPECT_THAT(run_words(compile(fake.device, kTwoSegments), {7}, {.fixpoint_iterations = 5}),
              ElementsAre(7));
  EXPECT_EQ(fake.backend->launches(), 2U);
}

// The argument of this name; a kernel that has none has nothing here.
std::span<std::byte> argument_of(const NullLaunch& launch, std::string_view name) {
  for (size_t i = 0; i < launch.arguments.size(); ++i)
    if (launch.entry.bindings[i].name == name) return launch.arguments[i];
  return {};
}
void set_word(std::span<std::byte> words, size_t index, uint32_t value) {
  if (!words.empty()) std::memcpy(words.data() + 4 * index, &value, 4);
}

// D-GRID.9: what only a persistent buffer shows counts, down to its last word, and the device
// compares.
TEST(GridBarriers, PassesGoOnWhileAPersistentBufferChanges) {
  constexpr size_t kWords = 1025;
  for (const bool loops : {false, true}) {
    SCOPED_TRACE(loops ? "loops on the device" : "loops on the host");
    auto options = split_options();
    options.info.capabilities.device_loops = loops;
    options.on_launch = [](const NullLaunch& launch) -> Result<void> {
      if (const auto kept = argument_of(launch, "kept"); launch.launch.segment == 0)
        set_word(kept, kWords - 1, std::min(words(kept)[kWords - 1] + 1, 3U));
      else
        set_word(argument_of(launch, "o"), 0, 9);
      return {};
    };
    Fake fake(options);
    const Pipeline pipeline = compile(fake.device, R"(program counts {
      workgroup 1;
      over 1;
      persistent kept : u32[];
      out o : u32[1];
      kept[len(kept) - 1] += 1;
      barrier grid;
      o[0] = 9;
    })");
    const Buffer kept = *fake.device.allocate(4 * kWords);
    const std::vector<Argument> inputs = {kept};
    fake.backend->clear_record();
    const auto result = pipeline.dispatch({.inputs = inputs}, {.fixpoint_iterations = 10});
    ASSERT_TRUE(result) << to_string(result.error());
    // `o` is the same from the first pass on; 0, 1, 2, 3, 3.
    EXPECT_EQ(result->report.iterations, 4U);
    EXPECT_TRUE(result->report.converged);
    EXPECT_EQ(fake.backend->launches(), 8U) << "each pass runs each segment once";
    EXPECT_THAT(words(result->outputs[0]), ElementsAre(9));
    uint64_t submissions = 0;
    for (const NullCall& call : fake.backend->record()) {
      submissions += call.kind == NullCall::Kind::Submit ? 1 : 0;
      EXPECT_FALSE(call.kind == NullCall::Kind::Read && call.handle == kept.handle());
    }
    // The passes, with their number, and the outputs.
    EXPECT_EQ(submissions <= 2, loops) << submissions;
    EXPECT_EQ(words(*fake.device.read(kept))[kWords - 1], 3U);
  }
}

// D-GRID.9: the same with real code, on every route that keeps buffers.
TEST(GridBarriers, APersistentBufferIsRepeatedOnEveryRoute) {
  for (int kind = 0; kind < 4; ++kind) {
    SCOPED_TRACE(kind);
    backend::ReferenceOptions options;
    options.whole_programs = kind == 0;
    options.grid_barrier = kind <= 1;
    options.device_loops = kind == 2;
    const Device device = reference(options);
    const Pipeline pipeline = compile(device, R"(program counts {
      workgroup 1;
      over 1;
      persistent kept : u32[2];
      out o : u32[1];
      kept[1] = min(kept[1] + 1, 3);
      barrier grid;
      o[0] = 9;
    })");
    const Buffer kept = *device.upload(bytes_of_words({5, 0}));
    const auto result = pipeline.dispatch({kept}, {.fixpoint_iterations = 10});
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_EQ(result->report.iterations, 4U);
    EXPECT_THAT(words(*device.read(kept)), ElementsAre(5, 3));
  }
}

// D-GRID.9: bits are compared, those at the end of a pass with those before it.
TEST(GridBarriers, WhatAPassUndoesIsNoChange) {
  const auto passes_of = [](const std::function<uint32_t(uint32_t)>& change) {
    auto options = split_options();
    options.on_launch = on_word(change);
    Fake fake(options);
    const auto result = compile(fake.device, kTwoSegments)
                            .dispatch({std::vector<uint32_t>{0}}, {.fixpoint_iterations = 10});
    EXPECT_TRUE(result) << to_string(result.error());
    EXPECT_EQ(fake.backend->launches(), 2U * result->report.iterations);
    return result->report.iterations;
  };
  EXPECT_EQ(passes_of([](uint32_t word) { return word ^ 1; }), 1U) << "there and back";
  EXPECT_EQ(passes_of([](uint32_t word) { return word | 0x8000'0000; }), 2U) << "a zero of floats";
}

// D-GRID.9
TEST(GridBarriers, ZeroIterationsAreRefused) {
  const Device device = reference();
  const auto result = compile(device, kTwoSegments)
                          .dispatch({std::vector<uint32_t>{7}}, {.fixpoint_iterations = 0});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(result.error().message, HasSubstr("fixpoint_iterations must be at least 1"));
}

// D-GRID.10: both writes of an output survive, on every route.
TEST(GridBarriers, AnOutputWrittenInTwoSegmentsKeepsBoth) {
  constexpr std::string_view kText = R"(program both {
    workgroup 1;
    over 1;
    out o : u32[4];
    o[0] = 0xAA;
    barrier grid;
    o[2] = 0xBB;
  })";
  for (int kind = 0; kind < 5; ++kind) {
    SCOPED_TRACE(kind);
    backend::ReferenceOptions options;
    options.whole_programs = kind == 0;
    options.grid_barrier = kind <= 1;
    options.resident_buffers = kind != 4;
    options.device_loops = kind == 2;
    const auto result = compile(reference(options), kText).dispatch({});
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_THAT(words(result->outputs[0]), ElementsAre(0xAA, 0, 0xBB, 0));
  }
}

// D-GRID.10: device memory that holds 0xFF, and nothing is left behind.
TEST(GridBarriers, FreshMemoryIsNotTrustedAndAllOfItIsFreed) {
  auto options = split_options();
  options.fresh_fill = std::byte{0xFF};
  options.on_launch = [](const NullLaunch& launch) -> Result<void> {
    launch.arguments[0][launch.launch.segment == 0 ? 0 : 2] =
        launch.launch.segment == 0 ? std::byte{0xAA} : std::byte{0xBB};
    return {};
  };
  const auto backend = backend::open_null(options);
  {
    const Device device = over(backend);
    const Pipeline pipeline = compile(device, R"(program bytes {
      workgroup 1;
      over 1;
      out o : u8[4];
      o[0] = 0xAA;
      barrier grid;
      o[2] = 0xBB;
    })");
    auto buffer = device.allocate(4);
    ASSERT_TRUE(buffer);
    const Buffer* const stays = &*buffer;
    const auto report =
        pipeline.dispatch({.inputs = {}, .outputs = {&stays, 1}}, {.fixpoint_iterations = 3});
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_THAT(*device.read(*buffer),
                ElementsAre(std::byte{0xAA}, std::byte{0}, std::byte{0xBB}, std::byte{0}));
  }
  EXPECT_EQ(backend->live_buffers(), 0U);
  EXPECT_EQ(backend->loaded(), 0U);
}

// D-GRID.10, D-GRID.5
TEST(GridBarriers, ThreeBarriersAreFourSegments) {
  auto options = split_options();
  Fake fake(options);
  const auto result = compile(fake.device, R"(program three {
    workgroup 1;
    over 1;
    inout a : u32[];
    a[0] = 1;
    barrier grid;
    a[0] = 2;
    barrier grid;
    a[0] = 3;
    barrier grid;
    a[0] = 4;
  })")
                          .dispatch({std::vector<uint32_t>{0}});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->report.segments, 4U);
  EXPECT_EQ(fake.backend->launches(), 4U);
}

// D-GRID.10, D-GRID.7: slots keep their addresses, and the second dispatch allocates nothing on the
// device and plans nothing. Within a dispatch, segments share what the first one allocated.
TEST(GridBarriers, TheSecondDispatchReusesEverything) {
  for (const bool resident : {true, false}) {
    SCOPED_TRACE(resident ? "resident" : "host");
    auto options = split_options();
    options.info.capabilities.resident_buffers = resident;
    options.on_launch = on_word(increment);
    Fake fake(options);
    const Pipeline two = compile(fake.device, kTwoSegments);
    Outputs slots;
    slots.emplace_back().reserve(64);
    const std::byte* const slot = slots[0].data();
    const std::vector<uint32_t> input = {5};
    const std::vector<Argument> inputs = {input};
    for (int i = 0; i < 3; ++i) {
      fake.backend->clear_record();
      const uint64_t planned = fake.device.telemetry().planned;
      ASSERT_TRUE(two.dispatch_into({.inputs = inputs}, slots));
      EXPECT_THAT(words(slots[0]), ElementsAre(7));
      EXPECT_EQ(slots[0].data(), slot);
      const auto count = [&](NullCall::Kind kind) {
        return std::ranges::count(fake.backend->record(), kind, &NullCall::kind);
      };
      EXPECT_EQ(count(NullCall::Kind::Allocate), i == 0 ? 1 : 0);
      EXPECT_EQ(count(NullCall::Kind::Launch), 2);
      if (i == 0) continue;
      EXPECT_EQ(count(NullCall::Kind::Load), 0);
      EXPECT_EQ(fake.device.telemetry().planned, planned);
    }
    EXPECT_THAT(input, ElementsAre(5)) << "the caller's bytes stay as they are";
  }
}

constexpr std::string_view kWritesLate = R"(program late {
  workgroup 1;
  over 1;
  inout a : u32[];
  out o : u32[3];
  o[0] = a[0];
  barrier grid;
  o[1] = a[0];
  barrier grid;
  a[0] = 7;
  barrier grid;
  o[2] = a[0];
})";

// D-GRID.7: where data goes through the host, the bytes that a segment gets are those of the
// caller, not of a copy, until a segment has written them. So what the caller's memory holds
// meanwhile can be seen, and from then on no more.
TEST(GridBarriers, NoCopyIsMadeBeforeAWrite) {
  auto options = split_options();
  options.info.capabilities.resident_buffers = false;
  std::vector<uint32_t> input = {40};
  std::vector<uint32_t> seen;
  options.on_launch = [&](const NullLaunch& launch) -> Result<void> {
    const auto a = argument_of(launch, "a");
    seen.push_back(words(a)[0]);
    if (launch.launch.segment == 2) set_word(a, 0, 7);
    input[0] += 10;
    return {};
  };
  Fake fake(options);
  const auto result = compile(fake.device, kWritesLate).dispatch({input});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->report.route, plan::Route::Host);
  EXPECT_THAT(seen, ElementsAre(40, 50, 60, 7));
  EXPECT_THAT(words(result->outputs[0]), ElementsAre(7));
  EXPECT_THAT(input, ElementsAre(80)) << "nor are they written";
}

// D-GRID.7: on a device that keeps buffers they go there once, and stay in one place.
TEST(GridBarriers, BytesOfTheCallerGoToTheDeviceOnce) {
  constexpr uint64_t kBytes = 4 * 777;
  auto options = split_options();
  std::vector<const void*> places;
  options.on_launch = [&](const NullLaunch& launch) -> Result<void> {
    places.push_back(argument_of(launch, "a").data());
    return {};
  };
  Fake fake(options);
  const Pipeline late = compile(fake.device, kWritesLate);
  fake.backend->clear_record();
  const auto result = late.dispatch({std::vector<uint32_t>(kBytes / 4, 40)});
  ASSERT_TRUE(result) << to_string(result.error());
  uint64_t written = 0;
  for (const NullCall& call : fake.backend->record()) {
    written += call.kind == NullCall::Kind::Write && call.bytes == kBytes ? 1 : 0;
    EXPECT_NE(call.kind, NullCall::Kind::Copy);
  }
  EXPECT_EQ(written, 1U);
  EXPECT_THAT(places, ElementsAre(places[0], places[0], places[0], places[0]));
}

// D-GRID.8
TEST(GridBarriers, ErrorsNameTheirSegment) {
  auto options = split_options();
  Fake fake(options);
  const Pipeline two = compile(fake.device, kTwoSegments);
  ASSERT_TRUE(two.dispatch({std::vector<uint32_t>{0}}));
  fake.backend->fail_calls_like(NullCall::Kind::Launch, 1,
                                Error{.code = ErrorCode::DispatchFailed,
                                      .message = "code 719. Fix: none",
                                      .context = {},
                                      .at = {},
                                      .diagnostics = {}});
  const auto result = two.dispatch({std::vector<uint32_t>{0}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::DispatchFailed);
  EXPECT_THAT(result.error().context, testing::Contains("segment 1 of 2"));
  EXPECT_THAT(to_string(result.error()), HasSubstr("program `two`"));
}

// D-GRID.2
TEST(GridBarriers, ARequiredCooperativeLaunchIsNeverReplaced) {
  {
    Fake fake(split_options());
    const auto compiled =
        fake.device.compile(program(kTwoSegments), {.cooperative = Cooperative::Require});
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().code, ErrorCode::Unsupported);
  }
  backend::NullOptions options;
  options.resident_groups = 2;
  Fake fake(options);
  const Pipeline two = compile(fake.device, kTwoSegments);
  const std::vector<uint32_t> input = {0};
  const auto larger =
      two.dispatch({input}, {.grid = check::Axes{3, 1, 1}, .cooperative = Cooperative::Require});
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code, ErrorCode::CooperativeResidencyExceeded);
  const auto chosen = two.dispatch({input}, {.grid = check::Axes{3, 1, 1}});
  ASSERT_TRUE(chosen) << to_string(chosen.error());
  EXPECT_EQ(chosen->report.route, plan::Route::Persistent);
  const auto fits =
      two.dispatch({input}, {.grid = check::Axes{2, 1, 1}, .cooperative = Cooperative::Require});
  ASSERT_TRUE(fits) << to_string(fits.error());
  EXPECT_EQ(fits->report.route, plan::Route::Native);
}

// A block has as many workgroups side by side as it has room for, unless that leaves units idle.
TEST(GridBarriers, AGpuGetsFewLargeBlocks) {
  constexpr const char* kPasses = R"(program passes {
    workgroup 64;
    inout a : u32[];
    for i in 0 .. 3 { a[gid.x] += a[0]; barrier grid; }
  })";
  backend::NullOptions options;
  options.info.kind = device::Kind::Gpu;
  options.info.profile.compute_units = 4;
  options.info.profile.barrier_blocks_per_compute_unit = 2;
  options.resident_groups = 1000;
  device::Axes grid = {};
  device::Axes workgroup = {};
  options.on_launch = [&](const NullLaunch& launch) -> Result<void> {
    grid = launch.grid;
    workgroup = launch.launch.workgroup;
    return {};
  };
  Fake fake(options);
  const Pipeline pipeline = compile(fake.device, kPasses);
  const std::vector<uint32_t> input(8192, 1);
  const auto route = [&](uint32_t groups, Cooperative cooperative = Cooperative::Auto) {
    const auto result =
        pipeline.dispatch({input}, {.grid = check::Axes{groups, 1, 1}, .cooperative = cooperative});
    EXPECT_TRUE(result) << to_string(result.error());
    EXPECT_EQ(result->report.launches, 1U);
    return result->report.route;
  };
  EXPECT_EQ(route(8), plan::Route::Native);
  EXPECT_EQ(workgroup, (device::Axes{64, 1, 1}));
  EXPECT_EQ(route(9), plan::Route::Persistent);
  EXPECT_EQ(workgroup, (device::Axes{128, 1, 1}));
  EXPECT_EQ(grid, (device::Axes{4, 1, 1}));
  EXPECT_EQ(route(128), plan::Route::Persistent);
  EXPECT_EQ(workgroup, (device::Axes{1024, 1, 1}));
  EXPECT_EQ(grid, (device::Axes{8, 1, 1}));
  EXPECT_EQ(route(128, Cooperative::Require), plan::Route::Native);
  EXPECT_EQ(grid, (device::Axes{128, 1, 1}));
  // Without state the number of turns does not matter: one code for both.
  EXPECT_EQ(route(100), plan::Route::Persistent);
  EXPECT_EQ(std::ranges::count(fake.backend->record(), NullCall::Kind::Load, &NullCall::kind), 3);
}

// A segment without barriers may be one that the device has no code for, as where lanes that have
// ended would have to come to subgroup operations.
TEST(GridBarriers, WithoutCodeForTheDeviceTheRouteIsResident) {
  backend::NullOptions options;
  options.info.kind = device::Kind::Gpu;
  options.info.profile.compute_units = 1;
  options.info.profile.barrier_blocks_per_compute_unit = 2;
  bool can = true;
  options.resident_of = [&](const device::Entry& entry) {
    return uint64_t{entry.barriers_inside || can ? 1000U : 0U};
  };
  const auto route = [&] {
    Fake fake(options);
    const Pipeline pipeline = compile(fake.device, R"(program parts {
      workgroup 64;
      inout a : u32[];
      a[gid.x] += a[0];
      barrier grid;
      if a[gid.x] == 7 { trap(0, 1); }
      resume(0);
      a[gid.x] += 1;
    })");
    const std::vector<uint32_t> input(8192, 1);
    const auto result = pipeline.dispatch({input}, {.grid = check::Axes{100, 1, 1}});
    EXPECT_TRUE(result) << to_string(result.error());
    return result ? result->report.route : plan::Route::Native;
  };
  EXPECT_EQ(route(), plan::Route::Persistent);
  can = false;
  EXPECT_EQ(route(), plan::Route::Resident);
}

TEST(GridBarriers, StateBeyondTheLimitIsRefused) {
  backend::ReferenceOptions options;
  options.whole_programs = false;
  options.grid_barrier = false;
  const Pipeline pipeline = compile(reference(options), R"(program keeps {
    workgroup 64;
    inout a : u32[];
    let x = a[gid.x];
    a[gid.x] = 0;
    barrier grid;
    a[gid.x] = x;
  })");
  const std::vector<uint32_t> input(1000, 3);
  const auto result = pipeline.dispatch({input}, {.max_state_bytes = 100});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(result.error().message, HasSubstr("`x`"));
  EXPECT_TRUE(pipeline.dispatch({input}));
}

// The grid is read from a buffer, by the device or by the driver.
TEST(GridBarriers, TheGridMayComeFromABuffer) {
  constexpr std::string_view kText = R"(program count {
    workgroup 2;
    inout n : u32[1];
    atomic_add(n[0], 1);
  })";
  for (const bool whole : {true, false}) {
    backend::ReferenceOptions options;
    options.whole_programs = whole;
    const Device device = reference(options);
    const Pipeline pipeline = compile(device, kText);
    const auto grid = device.upload(bytes_of_words({9, 3, 2, 1}));
    ASSERT_TRUE(grid);
    const std::vector<uint32_t> zero = {0};
    const auto result = pipeline.dispatch({zero}, {.grid_from = GridFrom{&*grid, 4}});
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_THAT(words(result->outputs[0]), ElementsAre(12));
    const auto odd = pipeline.dispatch({zero}, {.grid_from = GridFrom{&*grid, 2}});
    ASSERT_FALSE(odd);
    EXPECT_EQ(odd.error().code, ErrorCode::InvalidArgument);
    const auto outside = pipeline.dispatch({zero}, {.grid_from = GridFrom{&*grid, 8}});
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().code, ErrorCode::InvalidArgument);
    const auto two =
        pipeline.dispatch({zero}, {.grid = check::Axes{1, 1, 1}, .grid_from = GridFrom{&*grid, 4}});
    ASSERT_FALSE(two);
    EXPECT_EQ(two.error().code, ErrorCode::InvalidArgument);
  }
}

}  // namespace
}  // namespace vyre::run
