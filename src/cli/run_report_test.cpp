// SPDX-License-Identifier: Apache-2.0
#include "cli/run_report.hpp"

#include <gtest/gtest.h>

namespace vyre::cli {
namespace {

TEST(SpreadOf, MinMedianMax) {
  using Times = std::vector<std::optional<uint64_t>>;
  const auto spread = spread_of(Times{5, 1, 9, 3});
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->min, 1U);
  EXPECT_EQ(spread->median, 3U);
  EXPECT_EQ(spread->max, 9U);
  EXPECT_EQ(spread_of(Times{7})->median, 7U);
  EXPECT_FALSE(spread_of(Times{}));
  EXPECT_FALSE(spread_of(Times{5, std::nullopt}));
}

}  // namespace
}  // namespace vyre::cli
