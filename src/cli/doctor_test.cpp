// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vyre::cli {
namespace {

using testing::HasSubstr;

TEST(SelfTest, NoticesADeviceThatDoesNothing) {
  const auto null = run::Device::open("null", {.cache_directory = {}});
  ASSERT_TRUE(null);
  const SelfTest failed = self_test(*null);
  EXPECT_FALSE(failed.ok);
  EXPECT_THAT(failed.message, HasSubstr("is not what the reference interpreter says"));
  const auto reference = run::Device::open("reference:2", {.cache_directory = {}});
  ASSERT_TRUE(reference);
  const SelfTest passed = self_test(*reference);
  EXPECT_TRUE(passed.ok) << passed.message;
  EXPECT_GT(passed.ns, 0U);
  const SelfTest late = self_test(*reference, std::chrono::nanoseconds(1));
  EXPECT_FALSE(late.ok);
  EXPECT_THAT(late.message, HasSubstr("1009"));
}

}  // namespace
}  // namespace vyre::cli
