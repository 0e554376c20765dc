// SPDX-License-Identifier: Apache-2.0
// D-OBS.5: what backends count of themselves moves with dispatches, and reaches whoever looks: on
// the CPU as it is, on a GPU over the driver of the tests.
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>

#include "backend/cuda/fake_test.hpp"
#include "base/sanitizers.hpp"
#include "driver/world.hpp"
#include "vyre/backend/cpu.hpp"

namespace vyre::driver_test {
namespace {

using backend::fake_cuda;
using backend::Parameters;
using backend::cuda::FakeLaunch;
using device::Metrics;
using device::TelemetrySnapshot;
using run::Argument;
using run::Buffer;
using testing::ElementsAre;
using namespace std::chrono_literals;

constexpr std::string_view kAddOne = R"(program add_one {
  workgroup 64;
  over 1048576;
  inout a : u32[];
  a[gid.x] = a[gid.x] + 1;
})";
constexpr uint64_t kElements = 1048576;
constexpr std::string_view kFour = R"(program four {
  workgroup 4;
  over 1;
  inout a : u32[4];
  a[gid.x] = 1;
})";

std::vector<std::string> names_of(const Metrics& metrics) {
  std::vector<std::string> names;
#define VYRE_METRIC(name, kind, help) \
  if (metrics.name) names.emplace_back(#name);
  VYRE_METRICS(VYRE_METRIC)
#undef VYRE_METRIC
  return names;
}

Result<run::Report> dispatch_on(const run::Pipeline& pipeline, const Buffer& buffer) {
  const std::array<Argument, 1> inputs = {buffer};
  run::Outputs slots;
  return pipeline.dispatch_into({.inputs = inputs}, slots);
}

// ---- cpu

class CpuMetrics : public testing::Test {
 protected:
  void SetUp() override {
    if (*backend::why_no_cpu() != '\0') GTEST_SKIP() << backend::why_no_cpu();
    auto backend = backend::open_cpu({.workers = 2, .spin = 0ns});
    ASSERT_TRUE(backend) << to_string(backend.error());
    device_ = run::Device::over(*backend, {.cache_directory = {}});
  }
  [[nodiscard]] Metrics metrics() const { return device_.telemetry().metrics; }
  run::Device device_;
};

TEST_F(CpuMetrics, EachMovesWithADispatch) {
  const Metrics start = metrics();
  EXPECT_THAT(names_of(start), ElementsAre("memory_bytes", "memory_peak_bytes", "memory_kept_bytes",
                                           "load_ns", "workers", "worker_wakes"));
  EXPECT_EQ(start, (Metrics{.memory_bytes = 0,
                            .memory_peak_bytes = 0,
                            .memory_kept_bytes = 0,
                            .load_ns = 0,
                            .workers = 1,
                            .worker_wakes = 0}));
  auto compiled = device_.compile(program_of(kAddOne));
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  const Metrics loaded = metrics();
  EXPECT_GT(*loaded.load_ns, 0U);
  EXPECT_EQ(loaded.memory_peak_bytes, 0U);
  Buffer buffer = *device_.allocate(kElements * 4);
  ASSERT_TRUE(dispatch_on(compiled->pipeline, buffer));
  const Metrics ran = metrics();
  EXPECT_GE(*ran.memory_bytes, kElements * 4);
  EXPECT_EQ(ran.memory_peak_bytes, ran.memory_bytes);
  EXPECT_EQ(ran.load_ns, loaded.load_ns) << "nothing was loaded";
  EXPECT_EQ(ran.workers, 2U) << "a large launch has started the helper";
  buffer.free();
  const Metrics freed = metrics();
  EXPECT_EQ(*freed.memory_bytes, *ran.memory_bytes - kElements * 4);
  EXPECT_EQ(freed.memory_peak_bytes, ran.memory_peak_bytes) << "the high-water mark stays";
  if (!base::kAddressSanitizer) {
    EXPECT_GE(*freed.memory_kept_bytes, kElements * 4);
  }
}

// A helper that does not spin sleeps until it is woken for work that is worth it.
TEST_F(CpuMetrics, SleepingWorkersAreWoken) {
  auto compiled = device_.compile(program_of(kAddOne));
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  const Buffer buffer = *device_.allocate(kElements * 4);
  for (int i = 0; i < 1000 && *metrics().worker_wakes == 0; ++i) {
    ASSERT_TRUE(dispatch_on(compiled->pipeline, buffer));
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GT(*metrics().worker_wakes, 0U);
}

TEST_F(CpuMetrics, ARecoveryFreesAndCountsOn) {
  const Buffer buffer = *device_.allocate(kElements * 4);
  ASSERT_TRUE(device_.recover());
  EXPECT_EQ(metrics().memory_bytes, 0U);
  EXPECT_GE(*metrics().memory_peak_bytes, kElements * 4);
}

// ---- cuda

class GpuMetrics : public testing::Test {
 protected:
  GpuMetrics() {
    ::setenv("VYRE_CUDA_MOMENT_MS", "500", 0);
    fake_cuda().reset({});
    fake_cuda().on_kernel("vyre_entry_0", [this](const FakeLaunch&) {
      while (!go_) std::this_thread::yield();
      return 0;
    });
    auto device = run::Device::open("cuda", {.cache_directory = {}});
    EXPECT_TRUE(device) << to_string(device.error());
    if (device) device_ = *device;
  }
  ~GpuMetrics() override {
    pipeline_ = {};
    buffers_.clear();
    device_ = {};
    EXPECT_TRUE(fake_cuda().live() == backend::cuda::FakeLive{}) << "something was not freed";
    fake_cuda().reset({});
  }
  void begin() {
    auto compiled = device_.compile(program_of(kAddOne));
    ASSERT_TRUE(compiled) << to_string(compiled.error());
    pipeline_ = compiled->pipeline;
    for (int i = 0; i < 2; ++i) buffers_.push_back(*device_.allocate(kElements * 4));
  }
  void dispatch(size_t buffer) {
    const auto done = dispatch_on(pipeline_, buffers_[buffer]);
    EXPECT_TRUE(done) << to_string(done.error());
  }
  [[nodiscard]] Metrics metrics() const { return device_.telemetry().metrics; }
  // What came since the call before.
  Metrics since() {
    const TelemetrySnapshot now = device_.telemetry();
    return (now - std::exchange(before_, now)).metrics;
  }

  backend::DriverFile file_{VYRE_FAKE_CUDA};
  std::atomic<bool> go_ = true;
  run::Device device_;
  run::Pipeline pipeline_;
  std::vector<Buffer> buffers_;
  TelemetrySnapshot before_;
};

TEST_F(GpuMetrics, GraphsAreBuiltReplayedAndPatched) {
  EXPECT_THAT(
      names_of(metrics()),
      ElementsAre("memory_bytes", "memory_peak_bytes", "staging_bytes", "submissions_in_flight",
                  "graphs_built", "graphs_replayed", "graphs_patched", "jit_ns", "load_ns"));
  begin();
  since();
  dispatch(0);
  Metrics now = since();
  EXPECT_EQ(now.graphs_built, 0U);
  EXPECT_EQ(now.graphs_replayed, 0U);
  // What comes again is recorded, and launched from then on.
  dispatch(0);
  now = since();
  EXPECT_EQ(now.graphs_built, 1U);
  EXPECT_EQ(now.graphs_replayed, 1U);
  EXPECT_EQ(now.graphs_patched, 0U);
  dispatch(0);
  now = since();
  EXPECT_EQ(now.graphs_built, 0U);
  EXPECT_EQ(now.graphs_replayed, 1U);
  EXPECT_EQ(now.graphs_patched, 0U) << "the arguments are those it has";
  dispatch(1);
  now = since();
  EXPECT_EQ(now.graphs_built, 0U);
  EXPECT_EQ(now.graphs_replayed, 1U);
  EXPECT_EQ(now.graphs_patched, 1U);
}

TEST_F(GpuMetrics, MemoryAndCode) {
  const Metrics start = metrics();
  EXPECT_EQ(start.memory_bytes, 0U);
  EXPECT_EQ(start.jit_ns, 0U);
  EXPECT_EQ(start.load_ns, 0U);
  EXPECT_GT(*start.staging_bytes, 0U) << "what every submission needs";
  begin();
  dispatch(0);
  const Metrics ran = metrics();
  EXPECT_GT(*ran.jit_ns, 0U);
  EXPECT_GT(*ran.load_ns, 0U);
  EXPECT_GE(*ran.memory_bytes, 2 * kElements * 4);
  EXPECT_EQ(ran.memory_peak_bytes, ran.memory_bytes);
  buffers_.pop_back();
  EXPECT_EQ(*metrics().memory_bytes, *ran.memory_bytes - kElements * 4);
  EXPECT_EQ(metrics().memory_peak_bytes, ran.memory_peak_bytes);
  // Bytes of the host go through staging memory, which the next submission uses again.
  auto short_one = device_.compile(program_of(kFour));
  ASSERT_TRUE(short_one);
  ASSERT_TRUE(short_one->pipeline.dispatch({count_to(4)}));
  const uint64_t staging = *metrics().staging_bytes;
  EXPECT_GT(staging, *start.staging_bytes);
  ASSERT_TRUE(short_one->pipeline.dispatch({count_to(4)}));
  EXPECT_EQ(metrics().staging_bytes, staging);
  ASSERT_TRUE(device_.recover());
  EXPECT_EQ(metrics().memory_bytes, 0U);
  EXPECT_EQ(metrics().staging_bytes, start.staging_bytes);
  EXPECT_GE(*metrics().jit_ns, *ran.jit_ns) << "a counter does not start again";
}

TEST_F(GpuMetrics, InFlightUntilItIsWaitedFor) {
  begin();
  dispatch(0);
  EXPECT_EQ(metrics().submissions_in_flight, 0U);
  // The first one makes the thread of the queue.
  const std::array<Argument, 1> inputs = {buffers_[0]};
  auto first = pipeline_.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(first && first->wait());
  go_ = false;
  auto second = pipeline_.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(second);
  while (*metrics().submissions_in_flight == 0) std::this_thread::yield();
  EXPECT_EQ(metrics().submissions_in_flight, 1U);
  go_ = true;
  ASSERT_TRUE(second->wait());
  EXPECT_EQ(metrics().submissions_in_flight, 0U);
}

// They are read at any time: of a lost device, too.
TEST_F(GpuMetrics, ALostDeviceStillCounts) {
  begin();
  dispatch(0);
  fake_cuda().on_kernel("vyre_entry_0", [](const FakeLaunch&) { return 700; });
  const auto lost = dispatch_on(pipeline_, buffers_[0]);
  ASSERT_FALSE(lost);
  ASSERT_TRUE(device_.is_lost());
  EXPECT_GT(*metrics().memory_bytes, 0U);
  EXPECT_GT(*metrics().jit_ns, 0U);
  EXPECT_EQ(device_.telemetry().device_lost, 1U);
}

// ---- the others, and all

TEST(BackendMetrics, OfTheInterpreter) {
  const auto device = run::Device::open("reference:3", {.cache_directory = {}});
  ASSERT_TRUE(device);
  auto compiled = device->compile(program_of(kFour));
  ASSERT_TRUE(compiled);
  ASSERT_TRUE(compiled->pipeline.dispatch({count_to(4)}));
  const Metrics metrics = device->telemetry().metrics;
  EXPECT_THAT(names_of(metrics), ElementsAre("memory_bytes", "memory_peak_bytes", "load_ns"));
  EXPECT_GT(*metrics.memory_peak_bytes, 0U);
  EXPECT_GT(*metrics.load_ns, 0U);
}

TEST(BackendMetrics, OfTheNullDevice) {
  backend::NullOptions options;
  auto backend = backend::open_null(options);
  EXPECT_THAT(names_of(backend->metrics()), ElementsAre("memory_bytes", "memory_peak_bytes"));
  options.info.capabilities.async_compute = true;
  backend = backend::open_null(options);
  const auto device = run::Device::over(backend, {.cache_directory = {}});
  auto compiled = device.compile(program_of(kFour));
  ASSERT_TRUE(compiled);
  const auto in_flight = [&] { return backend->metrics().submissions_in_flight; };
  EXPECT_EQ(in_flight(), 0U);
  const std::vector<Argument> inputs = {count_to(4)};
  auto first = compiled->pipeline.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(first && first->wait());
  auto second = compiled->pipeline.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(second);
  ASSERT_TRUE(device.flush());
  EXPECT_EQ(in_flight(), 0U);
  EXPECT_GT(*backend->metrics().memory_peak_bytes, 0U);
}

// As far as the text format of Prometheus goes: every line is a description, a type or a sample;
// samples follow the type of their name, which is there once.
void expect_parses(const std::string& text) {
  std::map<std::string, std::string> types;
  std::string current;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "#") {
      std::string what;
      std::string name;
      std::string rest;
      words >> what >> name >> rest;
      EXPECT_TRUE(what == "HELP" || what == "TYPE") << line;
      EXPECT_FALSE(rest.empty()) << line;
      current = name;
      if (what == "HELP") continue;
      EXPECT_TRUE(rest == "counter" || rest == "gauge") << line;
      EXPECT_EQ(name.ends_with("_total"), rest == "counter") << line;
      EXPECT_TRUE(types.emplace(name, rest).second) << line;
      continue;
    }
    const size_t brace = first.find('{');
    ASSERT_NE(brace, std::string::npos) << line;
    EXPECT_EQ(first.substr(0, brace), current) << line;
    EXPECT_TRUE(first.substr(brace).starts_with("{device=\"") && first.ends_with("\"}")) << line;
    std::string value;
    words >> value;
    EXPECT_FALSE(value.empty()) << line;
    EXPECT_EQ(value.find_first_not_of("0123456789"), std::string::npos) << line;
  }
  EXPECT_FALSE(types.empty());
}

TEST_F(GpuMetrics, ThePageOfAllParses) {
  begin();
  dispatch(0);
  const auto reference = run::Device::open("reference", {.cache_directory = {}});
  ASSERT_TRUE(reference);
  const std::array<device::DeviceTelemetry, 2> all = {{
      {.device = "cuda", .snapshot = device_.telemetry()},
      {.device = "reference", .snapshot = reference->telemetry()},
  }};
  const std::string page = to_prometheus(all);
  expect_parses(page);
  EXPECT_THAT(page, testing::HasSubstr("\nvyre_backend_jit_ns_total{device=\"cuda\"} "));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("vyre_backend_jit_ns_total{device=\"ref")));
  EXPECT_THAT(page, testing::HasSubstr("\nvyre_backend_memory_peak_bytes{device=\"reference\"} 0"));
}

}  // namespace
}  // namespace vyre::driver_test
