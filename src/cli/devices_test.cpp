// SPDX-License-Identifier: Apache-2.0
// With backends of our own, because those of the program are always usable.
#include "cli/devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vyre::cli {
namespace {

using device::DeviceFacts;

device::Registry two_backends() {
  const auto open = [](uint32_t) -> Result<std::shared_ptr<device::Backend>> {
    ADD_FAILURE() << "listing opens nothing";
    return std::unexpected(Error{});
  };
  std::vector<device::BackendDescriptor> rows(2);
  rows[0].id = "gpu";
  rows[0].kind = device::Kind::Gpu;
  rows[0].rank = 10;
  rows[0].features = {"graphs"};
  rows[0].open = open;
  rows[0].enumerate = [] {
    DeviceFacts facts{.id = "gpu"};
    facts.profile.name = "Fake 3000";
    facts.profile.compute_units = 7;
    facts.capabilities.i64 = true;
    return std::vector<DeviceFacts>{facts, {.id = "gpu:1", .unusable = "it is asleep"}};
  };
  rows[1].id = "lib";
  rows[1].kind = device::Kind::Gpu;
  rows[1].rank = 20;
  rows[1].open = open;
  rows[1].enumerate = [] {
    return std::vector<DeviceFacts>{{.id = "lib", .unusable = "liblib.so.1 is missing"}};
  };
  return *device::Registry::make(std::move(rows));
}

// D-REG.1: a device says why it is not usable.
TEST(Devices, TextSaysWhatADeviceCanDoOrWhyItIsNotUsable) {
  const device::Registry registry = two_backends();
  const std::string text = devices_text(see_devices(registry, ""));
  EXPECT_THAT(text, testing::StartsWith("gpu: gpu, Fake 3000\n"
                                        "  can     i64, host_split\n"
                                        "  cannot  subgroup_ops, subgroup_shuffle, "));
  EXPECT_THAT(text, testing::HasSubstr("\n  limits  max_workgroup_size 1x1x1, "));
  EXPECT_THAT(text, testing::HasSubstr("\n  built   compute_units 7, timing_quality host_only\n"));
  EXPECT_THAT(text, testing::EndsWith("gpu:1: gpu\n  not usable: it is asleep\n"
                                      "lib: gpu\n  not usable: liblib.so.1 is missing\n"));
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 96u) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(Devices, JsonHasEveryFactWithItsType) {
  const device::Registry registry = two_backends();
  Json list = devices_json(see_devices(registry, ""));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["id"], "gpu");
  EXPECT_EQ(list[0]["backend"], "gpu");
  EXPECT_EQ(list[0]["kind"], "gpu");
  EXPECT_EQ(list[0]["name"], "Fake 3000");
  EXPECT_EQ(list[0]["usable"], true);
  EXPECT_EQ(list[0]["reason"], nullptr);
  EXPECT_EQ(list[0]["rank"], 10);
  EXPECT_EQ(list[0]["features"][0], "graphs");
  EXPECT_EQ(list[0]["capabilities"]["i64"], true);
  EXPECT_EQ(list[0]["capabilities"]["max_invocations_per_workgroup"], 1);
  EXPECT_EQ(list[0]["capabilities"]["max_workgroup_size"], "1x1x1");
  EXPECT_EQ(list[0]["capabilities"].size(), describe(device::Capabilities{}).size());
  EXPECT_EQ(list[0]["profile"].size(), describe(device::DeviceProfile{}).size());
  EXPECT_EQ(list[1]["usable"], false);
  EXPECT_EQ(list[1]["reason"], "it is asleep");
  EXPECT_EQ(list[1]["name"], nullptr);
}

TEST(Devices, OneBackendOrOneDevice) {
  const device::Registry registry = two_backends();
  EXPECT_EQ(see_devices(registry, "gpu").size(), 2u);
  EXPECT_EQ(see_devices(registry, "gpu:1").size(), 1u);
  EXPECT_EQ(see_devices(registry, "cpu").size(), 0u);
}

}  // namespace
}  // namespace vyre::cli
