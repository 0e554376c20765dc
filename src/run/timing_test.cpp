// SPDX-License-Identifier: Apache-2.0
// D-RES.6: what is measured is what a config asks for.
#include <gmock/gmock.h>

#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using device::Measure;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// ---- the field

TEST(Timing, IsAFieldOfTheConfig) {
  EXPECT_EQ(name_of(Timing::None), "none");
  EXPECT_EQ(name_of(Timing::Dispatch), "dispatch");
  EXPECT_EQ(name_of(Timing::Segments), "segments");
  EXPECT_EQ(name_of(Timing::Regions), "regions");
  const DispatchConfig base = {.timing = Timing::Segments};
  EXPECT_EQ(merge(base, {}).timing, Timing::Segments);
  EXPECT_EQ(merge(base, {.timing = Timing::None}).timing, Timing::None);
  EXPECT_TRUE(check_config(base));
  const auto refused = check_config({.timing = static_cast<Timing>(4)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("Fix:"));
}

// It reaches no code: the key of the cache, the plan and the code are those without it.
TEST(Timing, IsNoPartOfTheCode) {
  const Device device = reference();
  const auto source =
      std::make_shared<const check::CheckedProgram>(*check::check_valid(program(kTwoSegments)));
  const Pipeline plain = compile(device, kTwoSegments);
  for (const Timing timing : {Timing::Dispatch, Timing::Segments, Timing::Regions}) {
    const auto timed = device.compile(program(kTwoSegments), {.timing = timing});
    ASSERT_TRUE(timed);
    EXPECT_EQ(timed->pipeline.id(), plain.id());
    EXPECT_EQ(timed->cache_hit, CacheHit::Yes);
    EXPECT_TRUE(device.cache_lookup(source, {.timing = timing}).key ==
                device.cache_lookup(source).key);
    EXPECT_EQ(timed->manifest.variants.at(0).artifact_digest,
              plain.manifest().variants.at(0).artifact_digest);
  }
}

// ---- what the device is asked for

struct Request {
  Measure measure = Measure::Nothing;
  bool counts = false;
  friend bool operator==(const Request&, const Request&) = default;
};

// Every submission of every path, with this config.
std::vector<Request> requests(const DispatchConfig& config, bool resident) {
  std::vector<Request> all;
  auto options = split_options();
  options.info.capabilities.resident_buffers = resident;
  options.on_submit = [&](const device::Submission& submission) {
    all.push_back({submission.measure, !submission.counts.empty()});
  };
  Fake fake(options);
  const Pipeline pipeline = compile(fake.device, kTwoSegments);
  const std::vector<uint32_t> one = {1};
  const std::vector<Argument> inputs = {one};
  const Arguments arguments = {.inputs = inputs};
  Outputs slots;
  std::vector<Outputs> rows;
  EXPECT_TRUE(pipeline.dispatch(arguments, config));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(pipeline.dispatch_into(arguments, slots, config));
  auto pending = pipeline.dispatch_async(arguments, config);
  EXPECT_TRUE(pending && pending->wait());
  EXPECT_TRUE(pipeline.dispatch_batch({&arguments, 1}, rows, config));
  DispatchConfig twice = config;
  twice.fixpoint_iterations = 2;
  EXPECT_TRUE(pipeline.dispatch(arguments, twice));
  if (!resident) return all;
  const Buffer a = *fake.device.allocate(4);
  const std::vector<Argument> buffers = {a};
  all.clear();
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(pipeline.dispatch_into({.inputs = buffers}, slots, config));
  return all;
}

TEST(Timing, NothingIsMeasuredUnlessAConfigRequiresIt) {
  for (const bool resident : {true, false}) {
    SCOPED_TRACE(resident ? "resident" : "host");
    EXPECT_THAT(requests({}, resident), Each(Request{Measure::Nothing, false}));
    EXPECT_THAT(requests({.timing = Timing::None}, resident),
                Each(Request{Measure::Nothing, false}));
    EXPECT_THAT(requests({.timing = Timing::Dispatch}, resident),
                testing::AllOf(testing::Not(IsEmpty()), Each(Request{Measure::Launches, false})));
    for (const Timing timing : {Timing::Segments, Timing::Regions})
      EXPECT_THAT(requests({.timing = timing}, resident), Each(Request{Measure::Steps, true}));
  }
}

TEST(Timing, ATraceRequiresSteps) {
  std::vector<Measure> all;
  auto options = split_options();
  options.on_submit = [&](const device::Submission& s) { all.push_back(s.measure); };
  Fake fake(options);
  Trace trace;
  fake.device.set_trace(&trace);
  const std::vector<uint32_t> one = {1};
  ASSERT_TRUE(compile(fake.device, kTwoSegments).dispatch({one}));
  EXPECT_THAT(all, testing::AllOf(testing::Not(IsEmpty()), Each(Measure::Steps)));
}

// ---- what the report says

constexpr std::string_view kLoop = R"(program loop {
  workgroup 1;
  over 1;
  inout a : u32[];
  inout d : u32[];
  region before { a[0] = a[0] + 1; }
  fixpoint max 10 over (d) { region pass { d[0] = min(d[0] + 1, 4); } }
  region after { a[0] = a[0] + 1; }
})";

// The devices, and whether fixpoints and regions are told apart there.
struct Case {
  std::string name;
  backend::ReferenceOptions options;
  bool split = true;
};
std::vector<Case> cases() {
  return {
      {"loops on the device", {.whole_programs = false, .grid_barrier = false}},
      {"loops by the host",
       {.whole_programs = false, .grid_barrier = false, .device_loops = false}},
      {"at the host", {.whole_programs = false, .grid_barrier = false, .resident_buffers = false}},
      {"barriers inside", {.whole_programs = false}, false},
      {"whole", {}, false},
  };
}

void expect_times(const Breakdown& b, uint64_t dispatches, bool split) {
  const auto own = [&](const LaunchTime& time, uint64_t launches) {
    EXPECT_EQ(time.launches, launches);
    ASSERT_TRUE(time.device_ns);
    EXPECT_EQ(*time.device_ns != 0, launches != 0);
  };
  ASSERT_THAT(b.regions, SizeIs(3));
  ASSERT_THAT(b.fixpoints, SizeIs(1));
  EXPECT_EQ(b.fixpoints[0].at.line, 7U);
  const uint64_t passes[] = {1, 5, 1};
  for (size_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(b.regions[i].name);
    own(b.regions[i].own, split ? passes[i] * dispatches : 0);
    own(b.regions[i].shared, split ? 0 : dispatches);
  }
  own(b.fixpoints[0].own, split ? 5 * dispatches : 0);
  own(b.fixpoints[0].shared, split ? 0 : dispatches);
  ASSERT_THAT(b.segments, SizeIs(split ? 3 : 1));
  for (size_t i = 0; i < b.segments.size(); ++i)
    own(b.segments[i].time, (split ? passes[i] : 1) * dispatches);
  if (split) {
    EXPECT_THAT(b.segments[1].regions, ElementsAre("pass"));
    EXPECT_EQ(b.fixpoints[0].passes, 5 * dispatches);
    EXPECT_EQ(b.segments[1].time, b.regions[1].own);
  }
}

TEST(Timing, RegionsAndFixpointsOnEveryPath) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Device device = reference(c.options);
    const Pipeline pipeline = compile(device, kLoop, {.timing = Timing::Regions});
    const std::vector<uint32_t> one = {1};
    const std::vector<uint32_t> zero = {0};
    const std::vector<Argument> inputs = {one, zero};
    const Arguments arguments = {.inputs = inputs};
    Outputs slots;
    std::vector<Outputs> rows;
    const auto blocking = pipeline.dispatch(arguments);
    ASSERT_TRUE(blocking) << to_string(blocking.error());
    EXPECT_THAT(words(blocking->outputs[0]), ElementsAre(3));
    expect_times(blocking->report.breakdown, 1, c.split);
    expect_times(pipeline.dispatch_into(arguments, slots)->breakdown, 1, c.split);
    auto pending = pipeline.dispatch_async(arguments);
    ASSERT_TRUE(pending);
    expect_times(pending->wait()->report.breakdown, 1, c.split);
    const std::vector<Arguments> two = {arguments, arguments};
    const auto batch = pipeline.dispatch_batch(two, rows);
    ASSERT_TRUE(batch);
    for (const Report& report : *batch) expect_times(report.breakdown, 1, c.split);
    if (!device.info().capabilities.resident_buffers) continue;
    // From 0 each time, so that each dispatch has as many passes.
    const Pipeline clear = compile(device, R"(program clear {
      workgroup 1;
      over 1;
      inout d : u32[];
      d[0] = 0;
    })");
    const Buffer a = *device.allocate(4);
    const Buffer d = *device.allocate(4);
    const std::vector<Argument> buffers = {a, d};
    const std::vector<Argument> cleared = {d};
    const std::vector<SequenceItem> items = {{clear, {.inputs = cleared}},
                                             {pipeline, {.inputs = buffers}}};
    const auto sequence = device.run_sequence(items, 3);
    ASSERT_TRUE(sequence) << to_string(sequence.error());
    EXPECT_EQ(sequence->items[0].breakdown, Breakdown());
    expect_times(sequence->items[1].breakdown, 3, c.split);
    if (!c.split) {
      EXPECT_EQ(sequence->items[1].breakdown.fixpoints[0].passes, std::nullopt);
    }
  }
}

// The interpreter counts the passes of whole programs; no counter sees those inside of a launch.
TEST(Timing, PassesInsideALaunchAreUnknown) {
  const std::vector<uint32_t> one = {1};
  const std::vector<uint32_t> zero = {0};
  const DispatchConfig config = {.timing = Timing::Regions};
  const auto whole = compile(reference(), kLoop).dispatch({one, zero}, config);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->report.breakdown.fixpoints[0].passes, 5U);
  const auto native =
      compile(reference({.whole_programs = false}), kLoop).dispatch({one, zero}, config);
  ASSERT_TRUE(native);
  EXPECT_EQ(native->report.breakdown.fixpoints[0].passes, std::nullopt);
}

TEST(Timing, EachLevelReportsItsTimes) {
  const Device device = reference({.whole_programs = false, .grid_barrier = false});
  const Pipeline pipeline = compile(device, kTwoSegments);
  const std::vector<uint32_t> one = {1};
  const auto at = [&](Timing timing) {
    return pipeline.dispatch({one}, {.timing = timing})->report;
  };
  EXPECT_EQ(at(Timing::None).breakdown, Breakdown());
  EXPECT_EQ(at(Timing::Dispatch).breakdown, Breakdown());
  EXPECT_TRUE(at(Timing::Dispatch).timings.device_ns);
  const Breakdown segments = at(Timing::Segments).breakdown;
  EXPECT_THAT(segments.segments, SizeIs(2));
  EXPECT_THAT(segments.segments[1].regions, ElementsAre("second"));
  EXPECT_THAT(segments.regions, IsEmpty());
  const Breakdown regions = at(Timing::Regions).breakdown;
  EXPECT_THAT(regions.segments, SizeIs(2));
  ASSERT_THAT(regions.regions, SizeIs(2));
  EXPECT_EQ(regions.regions[0].name, "first");
  EXPECT_EQ(regions.regions[0].own, regions.segments[0].time);
}

// What was recorded by a dispatch that is done again is measured as well.
TEST(Timing, ADispatchLikeTheLastOneIsMeasured) {
  const Device device = reference({.whole_programs = false, .grid_barrier = false});
  const Pipeline pipeline = compile(device, kTwoSegments);
  const Buffer a = *device.allocate(4);
  const std::vector<Argument> inputs = {a};
  Outputs slots;
  for (int round = 0; round < 2; ++round) {
    const auto plain = pipeline.dispatch_into({.inputs = inputs}, slots);
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->breakdown, Breakdown());
    for (int i = 0; i < 2; ++i) {
      const auto timed =
          pipeline.dispatch_into({.inputs = inputs}, slots, {.timing = Timing::Regions});
      ASSERT_TRUE(timed);
      ASSERT_THAT(timed->breakdown.regions, SizeIs(2));
      for (const RegionTime& region : timed->breakdown.regions) {
        EXPECT_EQ(region.own.launches, 1U);
        EXPECT_GT(region.own.device_ns.value_or(0), 0U);
      }
    }
  }
}

// A repeated program: the sum over its passes.
TEST(Timing, PassesOfTheWholeProgramAreSummed) {
  for (const bool device_loops : {true, false}) {
    const Device device =
        reference({.whole_programs = false, .grid_barrier = false, .device_loops = device_loops});
    const std::vector<uint32_t> one = {1};
    const auto result = compile(device, kTwoSegments)
                            .dispatch({one}, {.fixpoint_iterations = 4, .timing = Timing::Regions});
    ASSERT_TRUE(result) << to_string(result.error());
    for (const RegionTime& region : result->report.breakdown.regions) {
      EXPECT_EQ(region.own.launches, 4U);
      EXPECT_GT(region.own.device_ns.value_or(0), 0U);
    }
  }
}

}  // namespace
}  // namespace vyre::run
