// SPDX-License-Identifier: Apache-2.0
// The list of backends that the build has written. The choice among made-up ones is tested beside
// its source (src/device/registry_test.cpp).
#include "vyre/device/registry.hpp"

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/backend/reference.hpp"

namespace vyre::test {
namespace {

using namespace device;
using testing::HasSubstr;

bool is_core(const BackendDescriptor& row) {
  return row.kind == Kind::Oracle || row.kind == Kind::Null;
}

// D-REG.1: the build lists every backend that it has, and each row says where it comes from. What
// the core alone registers: test/backend/core_only.
TEST(BackendList, HasEveryBackendAndNoOtherOracle) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(VYRE_SOURCE_DIR) / "src" / "backend"))
    if (entry.is_directory()) folders.push_back(entry.path().filename().string());
  std::vector<std::string> ids;
  std::vector<std::string> core;
  for (const BackendDescriptor& row : registry().registered_backends()) {
    ids.push_back(row.id);
    if (is_core(row)) core.push_back(row.id);
    EXPECT_THAT(row.site, HasSubstr("src/backend/" + row.id + "/")) << row.id;
    EXPECT_FALSE(row.features.empty()) << row.id;
  }
  EXPECT_THAT(ids, testing::UnorderedElementsAreArray(folders));
  EXPECT_THAT(core, testing::UnorderedElementsAre("null", "reference"));
  EXPECT_EQ(&registry(), &registry());
}

// D-REG.2
TEST(BackendList, IsSortedByRankAndId) {
  EXPECT_TRUE(std::ranges::is_sorted(
      registry().registered_backends(), {},
      [](const BackendDescriptor& row) { return std::pair(row.rank, row.id); }));
  EXPECT_TRUE(registry().backend_dispatches("reference"));
  EXPECT_FALSE(registry().backend_dispatches("null"));
  EXPECT_LT(registry().backend_precedence("reference"), registry().backend_precedence("null"));
}

// Each device is what it said it is before it was opened, and its id opens it.
TEST(BackendList, EveryUsableDeviceOpensAsItWasSeen) {
  for (const BackendDescriptor& row : registry().registered_backends()) {
    const std::vector<DeviceFacts> devices = row.enumerate();
    EXPECT_FALSE(devices.empty()) << row.id << " has neither a device nor a reason";
    for (size_t i = 0; i < devices.size(); ++i) {
      EXPECT_EQ(devices[i].id, i == 0 ? row.id : row.id + ":" + std::to_string(i));
      if (!devices[i].unusable.empty()) continue;
      const auto device = registry().acquire(devices[i].id);
      ASSERT_TRUE(device) << device.error().message;
      EXPECT_EQ((*device)->info().id, devices[i].id);
      EXPECT_EQ((*device)->info().kind, row.kind);
      EXPECT_EQ((*device)->info().capabilities, devices[i].capabilities);
      EXPECT_EQ((*device)->info().profile, devices[i].profile);
    }
  }
}

// D-REG.3: an oracle can be named.
TEST(BackendList, TheReferenceHasADeviceForEachRoute) {
  const auto can = [](const char* id) { return (*registry().acquire(id))->info().capabilities; };
  EXPECT_TRUE(can("reference").whole_programs);
  EXPECT_TRUE(!can("reference:1").whole_programs && can("reference:1").cooperative_grid_barrier);
  EXPECT_TRUE(can("reference:2").cooperative_grid_barrier);
  EXPECT_EQ(backend::reference_devices()[2].resident_groups, 2u);
  EXPECT_TRUE(!can("reference:3").cooperative_grid_barrier && can("reference:3").device_loops);
  EXPECT_TRUE(can("reference:3").resident_buffers);
  EXPECT_TRUE(!can("reference:4").device_loops && can("reference:4").resident_buffers);
  EXPECT_TRUE(!can("reference:5").resident_buffers && can("reference:5").host_split);
}

// D-REG.4, D-REG.6: nobody gets the reference without asking for it.
TEST(BackendList, TheReferenceIsNeverPreferred) {
  Selection trace;
  const auto device = registry().acquire_preferred({.allow_cpu = true}, &trace);
  if (device) {
    EXPECT_TRUE((*device)->info().kind == Kind::Gpu || (*device)->info().kind == Kind::Cpu);
    return;
  }
  EXPECT_EQ(device.error().code, ErrorCode::Unavailable);
  if (std::ranges::all_of(registry().registered_backends(), is_core)) {
    EXPECT_THAT(device.error().message,
                HasSubstr("(only reference oracle backend(s) were available: reference)"));
  }
}

}  // namespace
}  // namespace vyre::test
