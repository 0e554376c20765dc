// SPDX-License-Identifier: Apache-2.0
// What a dispatch adds to the memory of the host is held against what is free, and only then.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <gmock/gmock.h>

#include "base/free_memory.hpp"
#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using testing::HasSubstr;

constexpr std::string_view kGrows = R"(program grows {
  workgroup 64;
  over 1;
  in a : u32[];
  uniform n : u32[1];
  out b : u32[] @count(n[0]);
  b[0] = a[0];
})";
constexpr uint64_t kMib = uint64_t{1} << 20;

class Growth : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/vyre_growth_test.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    root_ = name;
    std::filesystem::create_directories(root_ + "/proc");
    have_free(1000 * kMib);
  }
  void TearDown() override {
    set_memory_root("");
    std::filesystem::remove_all(root_);
  }
  void have_free(uint64_t bytes) const {
    std::ofstream(root_ + "/proc/meminfo") << "MemAvailable: " << bytes / 1024 << " kB\n";
    set_memory_root(root_);
  }
  // A result of so many bytes.
  static Result<Report> into(const Pipeline& pipeline, Outputs& slots, uint64_t bytes) {
    const std::vector<uint32_t> one = {7};
    const std::vector<uint32_t> count = {static_cast<uint32_t>(bytes / 4)};
    const std::array<Argument, 2> inputs = {one, count};
    return pipeline.dispatch_into({.inputs = inputs}, slots);
  }

  std::string root_;
};

TEST_F(Growth, TooMuchIsRefusedWithBothNumbers) {
  const Device device = reference();
  const Pipeline pipeline = compile(device, kGrows);
  have_free(10 * kMib);
  Outputs slots;
  // On the device alone it is too much.
  const auto large = into(pipeline, slots, 9 * kMib);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::DeviceOutOfMemory);
  EXPECT_EQ(exit_code_of(large.error().code), 7);
  EXPECT_THAT(large.error().message,
              HasSubstr("bytes of host memory, but 10485760 bytes are free"));
  // On the device it fits, and the result would, but not both.
  const auto both = into(pipeline, slots, 5 * kMib);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().code, ErrorCode::HostOutOfMemory);
  EXPECT_EQ(exit_code_of(both.error().code), 7);
  EXPECT_THAT(both.error().message, HasSubstr("results of 5242880 bytes"));
  EXPECT_THAT(both.error().message, HasSubstr("10485760 bytes are free"));
  // The device is fine.
  const auto fits = into(pipeline, slots, 3 * kMib);
  EXPECT_TRUE(fits) << to_string(fits.error());
  have_free(1000 * kMib);
  EXPECT_TRUE(into(pipeline, slots, 9 * kMib));
}

TEST_F(Growth, SteadyDispatchesReadNoFiles) {
  const Device device = reference();
  const Pipeline pipeline = compile(device, kGrows);
  Outputs slots;
  ASSERT_TRUE(into(pipeline, slots, 4 * kMib));
  have_free(0);  // nothing grows, so nothing is refused
  const uint64_t readings = memory_readings();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(into(pipeline, slots, 4 * kMib));
  EXPECT_EQ(memory_readings(), readings);
  EXPECT_FALSE(into(pipeline, slots, 8 * kMib));
  EXPECT_GT(memory_readings(), readings);
}

TEST_F(Growth, BuffersOfTheCallerCount) {
  const Device device = reference();
  have_free(10 * kMib);
  const auto buffer = device.allocate(9 * kMib);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, ErrorCode::DeviceOutOfMemory);
  EXPECT_THAT(buffer.error().message,
              HasSubstr("needs 9437184 bytes of host memory, but 10485760 bytes are free"));
  EXPECT_TRUE(device.allocate(7 * kMib));
}

}  // namespace
}  // namespace vyre::run
