// SPDX-License-Identifier: Apache-2.0
// Every allocation of the host fails once, in every scenario (reliability.md 1.5, row 10).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/sanitizers.hpp"
#include "driver/heap.hpp"
#include "driver/scenarios.hpp"

namespace vyre::driver_test {
namespace {

using testing::HasSubstr;

class HostMemory : public testing::TestWithParam<Scenario> {
 protected:
  void SetUp() override {
    if (!kOwnHeap) GTEST_SKIP() << "not under ThreadSanitizer";
    World world(GetParam().options);
    const auto bytes = GetParam().run(world);
    ASSERT_TRUE(bytes);
    expected_ = *bytes;
  }

  // Until a run gets through without.
  void fail_each(bool all_after, uint64_t stride) {
    uint64_t n = 0;
    for (bool struck = true; struck; n += stride) {
      ASSERT_LT(n, 100'000U);
      std::shared_ptr<backend::NullBackend> backend;
      {
        World world(GetParam().options);
        backend = world.backend;
        Result<Bytes> result;
        {
          const FailingHeap failing(n, all_after);
          result = GetParam().run(world);
          struck = FailingHeap::struck();
        }
        check(result, n);
        const auto again = GetParam().run(world);
        if (!again || *again != expected_)
          ADD_FAILURE() << "allocation " << n << ": the device is not usable afterwards: "
                        << (again ? "other bytes" : to_string(again.error()));
      }
      if (backend->live_buffers() != 0 || backend->live_bytes() != 0 || backend->loaded() != 0 ||
          backend.use_count() != 1)
        ADD_FAILURE() << "allocation " << n << ": something is left on the device";
      if (HasFailure()) return;
    }
    EXPECT_GT(n, 2U);
    RecordProperty("allocations", static_cast<int>(n));
  }

  void check(const Result<Bytes>& result, uint64_t n) {
    if (result) {
      if (!GetParam().drops && *result != expected_)
        ADD_FAILURE() << "allocation " << n << ": other bytes";
      return;
    }
    // A device that is the host has as little.
    if (result.error().code == ErrorCode::DeviceOutOfMemory) return;
    EXPECT_EQ(result.error().code, ErrorCode::HostOutOfMemory) << to_string(result.error());
    EXPECT_THAT(result.error().message, HasSubstr("Fix: ")) << "allocation " << n;
  }

  Bytes expected_;
};

TEST_P(HostMemory, OneAllocationFails) {
  fail_each(false, base::kSanitized ? 7 : 1);
}
TEST_P(HostMemory, AllAllocationsFailFromThereOn) {
  fail_each(true, base::kSanitized ? 23 : 5);
}

INSTANTIATE_TEST_SUITE_P(All, HostMemory, testing::ValuesIn(scenarios().begin(), scenarios().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace vyre::driver_test
