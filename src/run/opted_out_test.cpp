// SPDX-License-Identifier: Apache-2.0
// A device with barriers over the grid that does not allow to split programs there: whatever does
// not run in one launch is Unsupported, on every path, and no part of it is launched.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using backend::NullCall;
using testing::HasSubstr;

constexpr uint32_t kFits = 2;  // workgroups with the barrier inside

// Blocks that run several workgroups do not fit at all.
backend::NullOptions opted_out() {
  backend::NullOptions options;
  options.info.capabilities.host_split = false;
  options.resident_of = [](const device::Entry& entry) -> uint64_t {
    return entry.workgroup[0] == 1 ? kFits : 0;
  };
  return options;
}

// A copy that is under way belongs to a workgroup, so that blocks cannot alternate.
constexpr std::string_view kNotPersistent = R"(program copies {
  workgroup 1;
  over 1;
  inout a : u32[];
  shared s : u32[1];
  async copy(1, s, 0, a, 0, 1);
  wait(1);
  barrier grid;
  a[gid.x] += s[0];
})";
constexpr std::string_view kResumes = R"(program resumes {
  workgroup 1;
  over 1;
  inout a : u32[];
  if a[gid.x] == 7 { trap(1, 1); }
  resume(1);
  a[gid.x] += 1;
})";
constexpr std::string_view kCollects = R"(program collects {
  workgroup 1;
  over 1;
  inout a : u32[];
  barrier grid;
  all_reduce(a, add);
  a[gid.x] += 1;
})";

class OptedOut : public testing::Test {
 protected:
  // Every way to dispatch `text` with this config is refused, and so is compiling for it. Nothing
  // of it reaches the device; without the config it runs there in one launch, if `may_run`.
  void expect_refused(std::string_view text, const DispatchConfig& config, std::string_view why,
                      bool may_run = true) {
    SCOPED_TRACE(why);
    const auto refused = [&](std::string_view path, const auto& result) {
      ASSERT_FALSE(result.has_value()) << path;
      EXPECT_EQ(result.error().code, ErrorCode::Unsupported) << path;
      EXPECT_THAT(result.error().message, HasSubstr(std::string(why))) << path;
      EXPECT_THAT(result.error().message, HasSubstr("Fix:")) << path;
    };
    Fake fake(opted_out());
    refused("compile", fake.device.compile(program(text), config));
    const auto shared =
        std::make_shared<const check::CheckedProgram>(*check::check_valid(program(text)));
    refused("prewarm", fake.device.prewarm(shared, config));
    const auto compiled = fake.device.compile(program(text));
    if (!may_run) return refused("compile for any grid", compiled);
    ASSERT_TRUE(compiled) << to_string(compiled.error());
    const Pipeline& pipeline = compiled->pipeline;
    const Buffer buffer = *fake.device.upload(bytes_of_words({1, 2, 3, 4}));
    const std::vector<Argument> inputs = {buffer};
    const Arguments arguments = {.inputs = inputs};
    Outputs slots;
    std::vector<Outputs> rows;
    const std::vector<SequenceItem> items = {{pipeline, arguments, config}};
    refused("dispatch", pipeline.dispatch(arguments, config));
    refused("into", pipeline.dispatch_into(arguments, slots, config));
    refused("async", pipeline.dispatch_async(arguments, config));
    refused("batch", pipeline.dispatch_batch({&arguments, 1}, rows, config));
    refused("sequence", fake.device.run_sequence(items, 2));
    EXPECT_EQ(fake.backend->launches(), 0U);
    EXPECT_EQ(std::ranges::count(fake.backend->record(), NullCall::Kind::Submit, &NullCall::kind),
              0);
    const auto fits = pipeline.dispatch(arguments, {.grid = check::Axes{kFits, 1, 1}});
    ASSERT_TRUE(fits) << to_string(fits.error());
    EXPECT_EQ(fits->report.route, plan::Route::Native);
    EXPECT_EQ(fake.backend->launches(), 1U);
  }
};

DispatchConfig with_grid(uint32_t groups) {
  return {.grid = check::Axes{groups, 1, 1}};
}

// D-GRID.12, D-GRID.2: a cooperative device on which the workgroups do not fit.
TEST_F(OptedOut, AResidencyThatIsTooSmallIsRefused) {
  expect_refused(kTwoSegments, with_grid(kFits + 1), "too many for the blocks that fit");
}

// D-GRID.12
TEST_F(OptedOut, CodeThatCannotBeMadePersistentIsRefused) {
  expect_refused(kNotPersistent, with_grid(kFits + 1), "cannot be made persistent");
}

// D-GRID.12: checked mode stops lanes between barriers. That is one launch or an error.
TEST_F(OptedOut, CheckedModeOfACallIsNotSplit) {
  Fake fake(opted_out());
  const Pipeline two = compile(fake.device, kTwoSegments);
  const std::vector<uint32_t> input = {1};
  const std::vector<Argument> inputs = {input};
  uint64_t ran = 0;
  const auto expect_whole = [&](const auto& result) {
    ran += result ? 1 : 0;
    EXPECT_TRUE(result || result.error().code == ErrorCode::Unsupported);
    EXPECT_EQ(fake.backend->launches(), ran);
    EXPECT_EQ(fake.device.telemetry().grid_sync_splits, 0U);
  };
  expect_whole(two.dispatch({.inputs = inputs}, {.checked = true}));
  auto pending = two.dispatch_async({.inputs = inputs}, {.checked = true});
  if (pending) {
    expect_whole(pending->wait());
  } else {
    expect_whole(pending);
  }
  const Buffer buffer = *fake.device.upload(bytes_of_words({1}));
  const std::vector<Argument> resident = {buffer};
  const std::vector<SequenceItem> items = {{two, {.inputs = resident}, {.checked = true}}};
  expect_whole(fake.device.run_sequence(items, 1));
}

// D-GRID.12: they end a launch also where barriers stay inside.
TEST_F(OptedOut, WhatComesBackToTheHostIsRefused) {
  expect_refused(kResumes, with_grid(1), "the host takes part", false);
  expect_refused(kCollects, with_grid(1), "the host takes part", false);
}

// D-GRID.12: a grid that only the device knows is refused when it is read.
TEST_F(OptedOut, AGridFromABufferIsRefused) {
  Fake fake(opted_out());
  const Pipeline two = compile(fake.device, kTwoSegments);
  const Buffer grid = *fake.device.upload(bytes_of_words({kFits + 1, 1, 1, kFits, 1, 1}));
  const std::vector<uint32_t> input = {1, 2, 3};
  const auto refused = two.dispatch({input}, {.grid_from = GridFrom{&grid, 0}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("too many for the blocks that fit"));
  EXPECT_EQ(fake.backend->launches(), 0U);
  const auto fits = two.dispatch({input}, {.grid_from = GridFrom{&grid, 12}});
  ASSERT_TRUE(fits) << to_string(fits.error());
  EXPECT_EQ(fits->report.route, plan::Route::Native);
  EXPECT_EQ(fake.backend->launches(), 1U);
}

// D-GRID.12: without the refusal the same device would split each of them.
TEST_F(OptedOut, ADeviceThatAllowsItSplitsTheSame) {
  const auto report = [](std::string_view text, const DispatchConfig& config) {
    auto options = opted_out();
    options.info.capabilities.host_split = true;
    Fake fake(options);
    const auto done =
        compile(fake.device, text).dispatch({std::vector<uint32_t>{1, 2, 3, 4}}, config);
    EXPECT_TRUE(done) << to_string(done.error());
    return done ? done->report : Report();
  };
  EXPECT_EQ(report(kTwoSegments, with_grid(kFits + 1)).route, plan::Route::Resident);
  EXPECT_EQ(report(kNotPersistent, with_grid(kFits + 1)).route, plan::Route::Resident);
  EXPECT_GT(report(kCollects, with_grid(1)).launches, 1U);
  EXPECT_GT(report(kResumes, with_grid(1)).segments, 1U);
}

}  // namespace
}  // namespace vyre::run
