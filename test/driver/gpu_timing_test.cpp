// SPDX-License-Identifier: Apache-2.0
// D-RES.6, D-RES.7 over the driver of the tests: what a GPU measures is what a config asks for, and
// sequences count what their dispatches would.
#include <algorithm>
#include <array>
#include <list>

#include <gmock/gmock.h>

#include "backend/cuda/fake_test.hpp"
#include "driver/world.hpp"
#include "run/same_telemetry_test.hpp"

namespace vyre::driver_test {
namespace {

using backend::fake_cuda;
using run::Argument;
using run::Buffer;
using run::SequenceItem;
using run::Timing;
using testing::Each;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr std::string_view kSteps = R"(program steps {
  workgroup 4;
  over len(a);
  inout a : u32[];
  region first { a[gid.x] = a[gid.x] + 1; }
  barrier grid;
  region second { a[gid.x] = a[gid.x] * 3; }
})";
constexpr std::string_view kSettles = R"(program settles {
  workgroup 4;
  over len(a);
  inout a : u32[];
  fixpoint max 10 over (a) { region pass { a[gid.x] = min(a[gid.x] | 1, 3); } }
})";
constexpr std::string_view kPlain = R"(program plain {
  workgroup 4;
  over len(a);
  in b : u32[];
  inout a : u32[];
  a[gid.x] = b[0];
})";
constexpr uint32_t kCount = 12;

// A GPU without barriers over the grid.
class GpuTiming : public testing::Test {
 protected:
  GpuTiming() {
    ::setenv("VYRE_CUDA_MOMENT_MS", "500", 0);
    backend::cuda::FakeSettings settings;
    settings.attributes[95] = 0;  // no cooperative launches
    fake_cuda().reset(settings);
  }
  ~GpuTiming() override {
    kept_.clear();
    devices_.clear();
    EXPECT_TRUE(fake_cuda().live() == backend::cuda::FakeLive{}) << "something was not freed";
    fake_cuda().reset({});
  }
  run::Device open() {
    auto device = run::Device::open("cuda", {.cache_directory = {}});
    EXPECT_TRUE(device) << to_string(device.error());
    return devices_.emplace_back(*device);
  }
  static auto calls(const std::string& name) {
    return std::ranges::count(fake_cuda().record(), name);
  }

  // The items of a sequence on one device.
  struct Kept {
    std::list<Buffer> buffers;
    std::list<std::vector<Argument>> inputs;
    std::vector<SequenceItem> prefix, repeated, suffix;
    [[nodiscard]] run::Sequence sequence() const {
      return {.prefix = prefix, .repeated = repeated, .repeats = 40, .suffix = suffix};
    }
  };
  Kept& keep(const run::Device& device, const run::DispatchConfig& last) {
    Kept& kept = kept_.emplace_back();
    const Buffer& a = kept.buffers.emplace_back(*device.upload(std::as_bytes(count_to(kCount))));
    const auto item = [&](std::string_view text, std::vector<Argument> inputs,
                          const run::DispatchConfig& config) -> SequenceItem {
      const auto compiled = device.compile(program_of(text));
      EXPECT_TRUE(compiled) << to_string(compiled.error());
      const auto& arguments = kept.inputs.emplace_back(std::move(inputs));
      return {compiled->pipeline, {.inputs = arguments}, config};
    };
    kept.prefix = {item(kPlain, {count_to(1), a}, {})};
    kept.repeated = {item(kSteps, {a}, {}), item(kPlain, {count_to(2), a}, {})};
    kept.suffix = {item(kSettles, {a}, {}), item(kPlain, {count_to(3), a}, last)};
    return kept;
  }

  backend::DriverFile file_{VYRE_FAKE_CUDA};
  std::list<run::Device> devices_;
  std::list<Kept> kept_;
};

// D-RES.6
TEST_F(GpuTiming, MeasuresWithoutATraceWhatAConfigRequires) {
  for (const char* kernel : {"vyre_entry_0", "vyre_entry_1"})
    fake_cuda().on_kernel(kernel, [](const backend::cuda::FakeLaunch&) {
      std::this_thread::sleep_for(1ms);
      return 0;
    });
  const run::Device device = open();
  const auto compiled = device.compile(program_of(kSteps));
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  const auto dispatch = [&](const run::DispatchConfig& config) {
    fake_cuda().clear_record();
    auto result = compiled->pipeline.dispatch({count_to(kCount)}, config);
    EXPECT_TRUE(result) << to_string(result.error());
    return result ? result->report : run::Report();
  };
  const run::Report plain = dispatch({});
  EXPECT_FALSE(plain.timings.device_ns);
  EXPECT_EQ(calls("cuEventElapsedTime"), 0);
  const auto recorded = calls("cuEventRecord");
  const run::Report none = dispatch({.timing = Timing::None});
  EXPECT_FALSE(none.timings.device_ns);
  EXPECT_EQ(calls("cuEventElapsedTime"), 0);
  EXPECT_LE(calls("cuEventRecord"), recorded);

  const run::Report timed = dispatch({.timing = Timing::Dispatch});
  ASSERT_TRUE(timed.timings.device_ns);
  EXPECT_GE(*timed.timings.device_ns, 1'900'000U);
  EXPECT_TRUE(timed.timings.enqueue_ns && timed.timings.wait_ns);
  EXPECT_EQ(calls("cuEventElapsedTime"), 2) << "of two launches";
  EXPECT_EQ(timed.breakdown, run::Breakdown());

  const run::Report regions = dispatch({.timing = Timing::Regions});
  ASSERT_THAT(regions.breakdown.regions, SizeIs(2));
  uint64_t sum = 0;
  for (const run::RegionTime& region : regions.breakdown.regions) {
    EXPECT_EQ(region.own.launches, 1U);
    EXPECT_EQ(region.shared.launches, 0U);
    EXPECT_GE(region.own.device_ns.value_or(0), 900'000U) << region.name;
    sum += region.own.device_ns.value_or(0);
  }
  EXPECT_EQ(sum, regions.timings.device_ns);
  EXPECT_FALSE(dispatch({}).timings.device_ns);
}

// D-RES.7
TEST_F(GpuTiming, ASequenceCountsWhatItsDispatchesDo) {
  const std::atomic<bool> never = false;
  const std::pair<std::string, run::DispatchConfig> paths[] = {
      {"one submission", {}},
      {"item by item", {.cancel = &never}},
      {"several queues", {.queue = 2}},
      {"measured", {.timing = Timing::Regions}}};
  for (const auto& [path, last] : paths) {
    SCOPED_TRACE(path);
    const run::Device device = open();
    const run::Device other = open();
    const Kept& sequence = keep(device, last);
    const Kept& single = keep(other, last);
    const auto counted = run::expect_same_telemetry({.device = device,
                                                     .other = other,
                                                     .sequence = sequence.sequence(),
                                                     .single = single.sequence()});
    EXPECT_EQ(counted.dispatches, 1U + 40 * 2 + 2);
    EXPECT_EQ(counted.launches_whole, 1U + 40 + 1);
    EXPECT_EQ(counted.grid_sync_splits, 40U + 1);
    EXPECT_GE(counted.launches_resident, 80U);
  }
}

}  // namespace
}  // namespace vyre::driver_test
