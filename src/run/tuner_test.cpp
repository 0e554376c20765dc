// SPDX-License-Identifier: Apache-2.0
// Tuning on dispatches (D-MODE.3): a device that runs nothing takes as long as a test says.
#include "run/tuner.hpp"

#include <atomic>
#include <map>
#include <thread>

#include <gmock/gmock.h>

#include "pipeline/cache_test.hpp"
#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using pipeline::test::Folder;
using testing::HasSubstr;
using testing::StartsWith;

// On null with one residency for all: native, and persistent with 64, 32 or 16 workgroups per
// block, which are 1, 2 and 4 blocks.
constexpr std::string_view kShift = R"(program shift {
  workgroup 4;
  over len(a);
  inout a : u32[];
  a[gid.x] += 1;
  barrier grid;
  a[gid.x] += a[(gid.x + 1) % 256];
})";
constexpr uint32_t kWords = 256;

Error error_of(ErrorCode code, std::string message) {
  return {.code = code, .message = std::move(message), .context = {}, .at = {}, .diagnostics = {}};
}

using Costs = std::map<uint32_t, uint64_t>;  // nanoseconds by blocks; others take 1000

class Tuning : public testing::Test {
 protected:
  struct Machine {
    std::shared_ptr<std::atomic<uint64_t>> now = std::make_shared<std::atomic<uint64_t>>(0);
    std::shared_ptr<backend::NullBackend> backend;
    Device device;
  };
  Machine machine(const Costs& costs, backend::NullOptions null = {}, bool fresh = false) {
    Machine m;
    null.on_launch = [now = m.now, costs,
                      then = null.on_launch](const backend::NullLaunch& launch) -> Result<void> {
      const auto found = costs.find(launch.grid[0]);
      *now += found == costs.end() ? 1000 : found->second;
      return then ? then(launch) : Result<void>();
    };
    m.backend = backend::open_null(std::move(null));
    DeviceOptions options;
    options.cache_directory = folder_.path();
    options.tuning_clock = [now = m.now] { return now->load(); };
    options.fresh_tuning = fresh;
    m.device = Device::over(m.backend, std::move(options));
    return m;
  }
  static DispatchConfig tune(Tune how) { return {.tune = how}; }

  // Until the tuner knows all.
  static std::vector<Report> settle(const Pipeline& pipeline, const DispatchConfig& config) {
    std::vector<Report> reports;
    const std::vector<uint32_t> a(kWords);
    for (int i = 0; i < 500; ++i) {
      auto result = pipeline.dispatch({a}, config);
      EXPECT_TRUE(result) << to_string(result.error());
      if (!result) break;
      reports.push_back(std::move(result->report));
      if (const auto view = pipeline.tuning(); !view || view->record) break;
    }
    return reports;
  }
  static Result<DispatchResult> once(const Pipeline& pipeline, const DispatchConfig& config = {}) {
    return pipeline.dispatch({std::vector<uint32_t>(kWords)}, config);
  }

  Folder folder_;
};

TEST_F(Tuning, AdoptsTheFasterStrategyAndKeepsIt) {
  const Machine m = machine({{2, 700}, {4, 900}});
  const Pipeline pipeline = compile(m.device, kShift);
  const std::vector<Report> reports = settle(pipeline, tune(Tune::On));
  const auto view = pipeline.tuning();
  ASSERT_TRUE(view && view->record && view->record->adopted);
  EXPECT_EQ(view->record->adopted->route, plan::Route::Persistent);
  EXPECT_EQ(view->record->adopted->workgroups_per_block, 32u);
  EXPECT_EQ(view->record->default_ns, 1000u);
  EXPECT_EQ(view->record->adopted_ns, 700u);

  // The first dispatch finds out what there is to try; each of the others is measured.
  EXPECT_EQ(reports.front().trial, "");
  EXPECT_LE(view->runs, view->most_runs);
  EXPECT_EQ(reports.size(), view->runs + 1);
  for (size_t i = 1; i < reports.size(); ++i) {
    EXPECT_THAT(reports[i].trial, StartsWith("trial " + std::to_string(i) + " of "));
    EXPECT_FALSE(reports[i].tuned);
  }
  const auto telemetry = m.device.telemetry();
  EXPECT_EQ(telemetry.tuning_trials, view->runs);
  EXPECT_EQ(telemetry.tuning_adopted, 1u);
  EXPECT_EQ(telemetry.tuning_records_read, 0u);

  const auto after = once(pipeline, tune(Tune::On));
  EXPECT_TRUE(after->report.tuned);
  EXPECT_EQ(after->report.trial, "");
  EXPECT_EQ(after->report.variant, *view->record->adopted);
  EXPECT_THAT(pipeline.strategy().why, HasSubstr("700 ns instead of 1000 ns"));
  EXPECT_EQ(m.device.telemetry().tuning_trials, view->runs);
  // A dispatch that does not request it does not get it.
  EXPECT_EQ(once(pipeline)->report.route, plan::Route::Native);
  EXPECT_FALSE(once(pipeline, tune(Tune::Off))->report.tuned);

  // Another process: it reads, and measures nothing.
  const Machine other = machine({});
  const Pipeline again = compile(other.device, kShift);
  for (const Tune how : {Tune::Read, Tune::On}) {
    const auto report = once(again, tune(how))->report;
    EXPECT_TRUE(report.tuned);
    EXPECT_EQ(report.variant, *view->record->adopted);
    EXPECT_EQ(report.trial, "");
  }
  EXPECT_EQ(other.device.telemetry().tuning_records_read, 1u);
  EXPECT_EQ(other.device.telemetry().tuning_trials, 0u);
  EXPECT_EQ(once(again)->report.route, plan::Route::Native);
}

TEST_F(Tuning, AGainOfFourPerCentIsNone) {
  const Machine m = machine({{1, 960}, {2, 960}, {4, 960}});
  const Pipeline pipeline = compile(m.device, kShift);
  settle(pipeline, tune(Tune::On));
  const auto view = pipeline.tuning();
  ASSERT_TRUE(view && view->record);
  EXPECT_FALSE(view->record->adopted);
  EXPECT_GT(view->runs, 15u);
  EXPECT_FALSE(once(pipeline, tune(Tune::On))->report.tuned);
  EXPECT_EQ(m.device.telemetry().tuning_adopted, 0u);
  // That is known to others, too: they do not measure it again.
  const Machine other = machine({{1, 10}});
  const Pipeline again = compile(other.device, kShift);
  EXPECT_EQ(settle(again, tune(Tune::On)).size(), 1u);
  EXPECT_FALSE(again.tuning()->record->adopted);
  // Unless they are asked to.
  const Machine fresh = machine({{1, 10}}, {}, true);
  const Pipeline third = compile(fresh.device, kShift);
  EXPECT_GT(settle(third, tune(Tune::On)).size(), 10u);
  EXPECT_TRUE(third.tuning()->record->adopted);
  EXPECT_TRUE(once(compile(machine({}).device, kShift), tune(Tune::Read))->report.tuned);
}

TEST_F(Tuning, OtherShapesHaveMeasurementsOfTheirOwn) {
  const Machine m = machine({{2, 700}});
  const Pipeline pipeline = compile(m.device, kShift);
  settle(pipeline, tune(Tune::On));
  const auto of = [&](uint32_t words) {
    return pipeline.dispatch({std::vector<uint32_t>(words)}, tune(Tune::Read))->report;
  };
  EXPECT_TRUE(of(kWords).tuned);
  EXPECT_TRUE(of(kWords + 100).tuned);  // of the same class
  EXPECT_FALSE(of(2 * kWords).tuned);
  EXPECT_FALSE(of(kWords / 2).tuned);
  EXPECT_TRUE(of(kWords).tuned);
  DispatchConfig checked = tune(Tune::Read);
  checked.checked = true;
  EXPECT_FALSE(once(pipeline, checked)->report.tuned);
  DispatchConfig required = tune(Tune::Read);
  required.cooperative = Cooperative::Require;
  EXPECT_FALSE(once(pipeline, required)->report.tuned);
}

// A record says what was fast, not what is sound.
TEST_F(Tuning, ARecordThatDoesNotFitIsLeftOut) {
  {
    const Machine m = machine({{2, 700}});
    settle(compile(m.device, kShift), tune(Tune::On));
  }
  backend::NullOptions small;
  small.resident_of = [](const device::Entry&) { return uint64_t{0}; };
  const Machine m = machine({}, small);
  const Pipeline pipeline = compile(m.device, kShift);
  const auto given = once(pipeline, tune(Tune::Read));
  ASSERT_TRUE(given) << to_string(given.error());
  EXPECT_FALSE(given->report.tuned);
  EXPECT_NE(given->report.variant.workgroups_per_block, 32u);
  // It is not asked for again with each dispatch.
  const uint64_t loaded = m.backend->loaded();
  ASSERT_TRUE(once(pipeline, tune(Tune::Read)));
  EXPECT_EQ(m.backend->loaded(), loaded);
}

TEST_F(Tuning, CodeThatCannotBeLoadedIsLeftOut) {
  backend::NullOptions null;
  auto refuse = std::make_shared<std::atomic<bool>>(false);
  null.resident_of = [refuse](const device::Entry&) -> uint64_t { return *refuse ? 0 : 1000; };
  const Machine m = machine({{2, 700}}, null);
  const Pipeline pipeline = compile(m.device, kShift);
  ASSERT_TRUE(once(pipeline));
  *refuse = true;
  const auto reports = settle(pipeline, tune(Tune::On));
  const auto view = pipeline.tuning();
  ASSERT_TRUE(view && view->record);
  EXPECT_FALSE(view->record->adopted);
  for (const TuningView::Row& row : view->rows)
    if (row.variant.route == plan::Route::Persistent) {
      EXPECT_THAT(row.dropped, HasSubstr("does not fit"));
    }
  for (const Report& report : reports) EXPECT_NE(report.route, plan::Route::Persistent);

  // An error of the device while it loads.
  const Machine failing = machine({{2, 700}}, {}, true);
  const Pipeline other = compile(failing.device, kShift);
  ASSERT_TRUE(once(other, tune(Tune::On)));
  ASSERT_TRUE(once(other, tune(Tune::On)));  // the default, measured
  failing.backend->fail_calls_like(backend::NullCall::Kind::Load, 0,
                                   error_of(ErrorCode::DeviceOutOfMemory, "no memory"));
  const auto given = once(other, tune(Tune::On));
  ASSERT_TRUE(given) << to_string(given.error());
  EXPECT_EQ(given->report.route, plan::Route::Native);
  EXPECT_THAT(other.tuning()->rows[1].dropped, HasSubstr("no memory"));
}

// A dispatch with a candidate that fails is an error as with the default, and does not go on for
// ever.
TEST_F(Tuning, ACandidateThatFailsIsGivenUp) {
  backend::NullOptions null;
  null.on_launch = [](const backend::NullLaunch& launch) -> Result<void> {
    if (launch.grid[0] != 1) return {};
    return std::unexpected(error_of(ErrorCode::DispatchFailed, "launch failed"));
  };
  const Machine m = machine({{2, 700}}, null);
  const Pipeline pipeline = compile(m.device, kShift);
  uint32_t failed = 0;
  for (int i = 0; i < 300; ++i) {
    const auto result = once(pipeline, tune(Tune::On));
    if (!result) {
      EXPECT_EQ(result.error().code, ErrorCode::DispatchFailed);
    }
    failed += result ? 0 : 1;
    if (const auto view = pipeline.tuning(); view && view->record) break;
  }
  const auto view = pipeline.tuning();
  ASSERT_TRUE(view && view->record && view->record->adopted);
  EXPECT_EQ(view->record->adopted->workgroups_per_block, 32u);
  // Three times each of those with one block.
  EXPECT_GE(failed, 3u);
  EXPECT_EQ(failed % 3, 0u);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(once(pipeline, tune(Tune::On)));
}

TEST_F(Tuning, ALossEndsTheCandidateAndNothingElse) {
  const Machine m = machine({{2, 700}});
  auto compiled = m.device.compile(program(kShift));
  Pipeline pipeline = compiled->pipeline;
  for (int i = 0; i < 10; ++i)
    if (once(pipeline, tune(Tune::On))->report.route == plan::Route::Persistent) break;
  // In the next pair, when the candidate is next.
  ASSERT_TRUE(once(pipeline, tune(Tune::On)));
  m.backend->lose_device_at(m.backend->calls() + 1);
  const auto lost = once(pipeline, tune(Tune::On));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::DeviceLost);
  ASSERT_TRUE(m.device.recover());
  pipeline = compile(m.device, kShift);
  settle(pipeline, tune(Tune::On));
  const auto view = pipeline.tuning();
  ASSERT_TRUE(view && view->record);
  EXPECT_EQ(std::ranges::count_if(view->rows,
                                  [](const auto& row) {
                                    return row.dropped.find("lost the device") != std::string::npos;
                                  }),
            1);
}

TEST_F(Tuning, SomeDispatchesOnlyRead) {
  const Machine m = machine({{2, 700}});
  const Pipeline pipeline = compile(m.device, kShift);
  const auto never = [&](DispatchConfig config) {
    config.tune = Tune::On;
    for (int i = 0; i < 4; ++i) {
      const auto result = once(pipeline, config);
      ASSERT_TRUE(result) << to_string(result.error());
      EXPECT_EQ(result->report.trial, "");
    }
    EXPECT_TRUE(pipeline.tuning()->rows.empty());
  };
  using namespace std::chrono_literals;
  never({.timeout = 500ms});
  never({.untrusted = true});
  never({.trap_handler = std::make_shared<const TrapHandler>(
             [](std::span<const TrapReport>, HandlerBuffers&) -> Result<void> { return {}; })});
  const std::vector<uint32_t> a(kWords);
  const std::array<Argument, 1> inputs = {a};
  for (int i = 0; i < 4; ++i) {
    auto pending = pipeline.dispatch_async({.inputs = inputs}, tune(Tune::On));
    ASSERT_TRUE(pending);
    EXPECT_EQ(pending->wait()->report.trial, "");
  }
  EXPECT_EQ(m.device.telemetry().tuning_trials, 0u);

  // With enough time, and in batches, they are measured.
  std::vector<Outputs> rows;
  const std::array<Arguments, 3> items = {
      {{.inputs = inputs}, {.inputs = inputs}, {.inputs = inputs}}};
  const auto reports = pipeline.dispatch_batch(items, rows, {.timeout = 60s, .tune = Tune::On});
  ASSERT_TRUE(reports);
  EXPECT_THAT(reports->back().trial, StartsWith("trial 2 of "));

  // What was adopted is for all of them.
  settle(pipeline, tune(Tune::On));
  EXPECT_TRUE(once(pipeline, {.timeout = 500ms, .tune = Tune::On})->report.tuned);
  auto pending = pipeline.dispatch_async({.inputs = inputs}, tune(Tune::Read));
  EXPECT_TRUE(pending->wait()->report.tuned);
}

TEST_F(Tuning, NothingToTryIsKnownAtOnce) {
  const Machine m = machine({});
  const Pipeline pipeline =
      compile(m.device, "program p { workgroup 4; over len(a); inout a : u32[]; a[gid.x] = 1; }");
  EXPECT_EQ(settle(pipeline, tune(Tune::On)).size(), 1u);
  EXPECT_EQ(pipeline.tuning()->rows.size(), 1u);
  EXPECT_EQ(m.device.telemetry().tuning_trials, 0u);
}

// What lost is not kept with the pipeline.
TEST_F(Tuning, OnlyWhatIsUsedStaysLoaded) {
  const Machine m = machine({{2, 700}});
  const Pipeline pipeline = compile(m.device, kShift);
  settle(pipeline, tune(Tune::On));
  ASSERT_TRUE(once(pipeline, tune(Tune::On)));
  EXPECT_LE(pipeline.manifest().variants.size(), 2u);
}

// A pair stays together: while one dispatch is measured, others run the default.
TEST(Tuner, OneTrialAtATime) {
  const auto tuner = std::make_shared<Tuner>(pipeline::CacheKey(), std::nullopt);
  EXPECT_TRUE(tuner->needs_candidates());
  EXPECT_FALSE(tuner->choose(true).trial);
  tuner->start({.route = plan::Route::Native}, {{.route = plan::Route::Resident}});
  EXPECT_FALSE(tuner->choose(false).trial);
  std::optional<Trial> first = std::move(tuner->choose(true).trial);
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->is_of_candidate());
  EXPECT_FALSE(tuner->choose(true).trial);
  first->finish(100);
  Tuner::Choice second = tuner->choose(true);
  ASSERT_TRUE(second.trial);
  EXPECT_TRUE(second.trial->is_of_candidate());
  EXPECT_EQ(second.tuned->variant.route, plan::Route::Resident);
  EXPECT_FALSE(tuner->choose(true).tuned);
  // One that is not finished is done again.
  second.trial.reset();
  EXPECT_TRUE(tuner->choose(true).trial->is_of_candidate());
}

// Threads that dispatch one program measure one after the other and agree in the end.
TEST_F(Tuning, SeveralThreads) {
  const Machine m = machine({{2, 100}});
  const Pipeline pipeline = compile(m.device, kShift);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      DispatchConfig config = tune(t == 3 ? Tune::Read : Tune::On);
      config.queue = t;
      for (int i = 0; i < 120; ++i) {
        const auto result = once(pipeline, config);
        EXPECT_TRUE(result) << to_string(result.error());
      }
    });
  for (std::thread& thread : threads) thread.join();
  const auto view = pipeline.tuning();
  ASSERT_TRUE(view && view->record);
  EXPECT_LE(view->runs, view->most_runs);
  EXPECT_EQ(m.device.telemetry().tuning_trials, view->runs);
  EXPECT_LE(m.device.telemetry().tuning_adopted, 1u);
  const auto used = once(pipeline, tune(Tune::Read));
  EXPECT_EQ(used->report.tuned, view->record->adopted.has_value());
}

}  // namespace
}  // namespace vyre::run
