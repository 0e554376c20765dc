// SPDX-License-Identifier: Apache-2.0
// D-LIFE.3 over the driver of the tests: a kernel breaks the context of a GPU while the driver runs
// a program, with all that lies in between: streams, staging memory, pools, graphs. On a real GPU
// it is the check `loss` of vyre_gpu_soak.
#include <array>
#include <atomic>
#include <cstdlib>

#include <gmock/gmock.h>

#include "backend/cuda/fake_test.hpp"
#include "driver/world.hpp"

namespace vyre::driver_test {
namespace {

using backend::fake_cuda;
using backend::Parameters;
using backend::cuda::FakeLaunch;
using run::Argument;
using run::Buffer;
using testing::HasSubstr;

// Two kernels on a GPU without barriers over the grid: +1, then * 3.
constexpr std::string_view kSteps = R"(program steps {
  workgroup 4;
  over len(a);
  inout a : u32[];
  a[gid.x] = a[gid.x] + 1;
  barrier grid;
  a[gid.x] = a[gid.x] * 3;
})";
constexpr uint32_t kCount = 12;
constexpr int kIllegalAddress = 700;

class GpuLoss : public testing::Test {
 protected:
  GpuLoss() {
    ::setenv("VYRE_CUDA_MOMENT_MS", "500", 0);
    backend::cuda::FakeSettings settings;
    settings.attributes[95] = 0;  // no cooperative launches
    fake_cuda().reset(settings);
    kernel(0, [](uint32_t word) { return word + 1; });
    kernel(1, [](uint32_t word) { return word * 3; });
  }
  ~GpuLoss() override {
    life_ = {};
    device_ = {};
    EXPECT_TRUE(fake_cuda().live() == backend::cuda::FakeLive{}) << "something was not freed";
    fake_cuda().reset({});
  }

  struct Life {
    run::Pipeline steps;
    Buffer kept;
  };
  void begin() {
    auto compiled = device_.compile(program_of(kSteps));
    ASSERT_TRUE(compiled) << to_string(compiled.error());
    life_.steps = compiled->pipeline;
    auto kept = device_.upload(std::as_bytes(count_to(kCount)));
    ASSERT_TRUE(kept) << to_string(kept.error());
    life_.kept = std::move(*kept);
  }
  // On bytes and on the buffer, often enough that graphs are replayed.
  Bytes work(int times) {
    Bytes all;
    for (int i = 0; i < times; ++i) {
      const auto result = life_.steps.dispatch({count_to(kCount)});
      EXPECT_TRUE(result) << to_string(result.error());
      if (result) all.insert(all.end(), result->outputs[0].begin(), result->outputs[0].end());
      EXPECT_TRUE(on_buffer());
    }
    const auto kept = device_.read(life_.kept);
    EXPECT_TRUE(kept) << to_string(kept.error());
    if (kept) all.insert(all.end(), kept->begin(), kept->end());
    return all;
  }
  Result<void> on_buffer() {
    const Argument inputs[] = {life_.kept};
    const auto pending = life_.steps.dispatch_async({.inputs = inputs});
    if (!pending) return std::unexpected(pending.error());
    auto waited = *pending;
    if (auto done = waited.wait(); !done) return std::unexpected(done.error());
    return {};
  }
  // The kernel of this segment breaks the context in its next launch.
  void lose_in(uint32_t segment, bool async) {
    breaks_ = static_cast<int>(segment);
    std::string first;
    if (async) {
      const auto lost = on_buffer();
      ASSERT_FALSE(lost);
      EXPECT_EQ(lost.error().code, ErrorCode::DeviceLost);
      first = to_string(lost.error());
    } else {
      const auto lost = life_.steps.dispatch({count_to(kCount)});
      ASSERT_FALSE(lost);
      EXPECT_EQ(lost.error().code, ErrorCode::DeviceLost);
      first = to_string(lost.error());
    }
    EXPECT_THAT(first, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
    EXPECT_THAT(first, HasSubstr("while running program `steps`"));
    EXPECT_THAT(first, HasSubstr("segment "));
    EXPECT_TRUE(device_.is_lost());
    const auto late = device_.read(life_.kept);
    ASSERT_FALSE(late);
    EXPECT_EQ(to_string(late.error()), first) << "everybody gets the same";
    const auto again = life_.steps.dispatch({count_to(kCount)});
    ASSERT_FALSE(again);
    EXPECT_EQ(to_string(again.error()), first);
  }
  void expect_stale() {
    const auto dispatched = life_.steps.dispatch({count_to(kCount)});
    ASSERT_FALSE(dispatched);
    EXPECT_EQ(dispatched.error().code, ErrorCode::StaleHandle);
    const auto read = device_.read(life_.kept);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::StaleHandle);
  }

  backend::DriverFile file_{VYRE_FAKE_CUDA};
  run::Device device_;
  Life life_;

 private:
  void kernel(uint32_t segment, uint32_t (*change)(uint32_t)) {
    fake_cuda().on_kernel(fmt::format("vyre_entry_{}", segment),
                          [=, this](const FakeLaunch& launch) {
                            if (breaks_ == static_cast<int>(segment)) {
                              breaks_ = -1;
                              return kIllegalAddress;
                            }
                            const Parameters parameters(launch);
                            uint32_t* const words = parameters.words(0);
                            for (uint32_t i = 0; i < parameters.bindings[0].length; ++i)
                              words[i] = change(words[i]);
                            return 0;
                          });
  }
  std::atomic<int> breaks_ = -1;
};

// D-LIFE.3
TEST_F(GpuLoss, TheSameBytesAfterEveryRecovery) {
  auto device = run::Device::open("cuda", {.cache_directory = {}});
  ASSERT_TRUE(device) << to_string(device.error());
  device_ = *device;
  begin();
  const Bytes expected = work(5);
  EXPECT_EQ(Bytes(expected.begin(), expected.begin() + 8), bytes_of(std::array<uint32_t, 2>{6, 9}));
  uint64_t losses = 0;
  for (const bool graphs : {false, true})
    for (const uint32_t segment : {0U, 1U})
      for (const bool async : {false, true}) {
        SCOPED_TRACE(testing::Message() << graphs << " " << segment << " " << async);
        ASSERT_TRUE(device_.recover()) << "a new life, without graphs";
        begin();
        if (graphs) work(5);
        lose_in(segment, async);
        ASSERT_TRUE(device_.recover());
        EXPECT_FALSE(device_.is_lost());
        expect_stale();
        begin();
        EXPECT_EQ(work(5), expected);
        ++losses;
        EXPECT_EQ(device_.telemetry().device_lost, losses);
        EXPECT_EQ(device_.telemetry().recoveries, 2 * losses);
      }
}

}  // namespace
}  // namespace vyre::driver_test
