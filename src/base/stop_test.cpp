// SPDX-License-Identifier: Apache-2.0
#include "base/stop.hpp"

#include <optional>
#include <thread>

#include <gmock/gmock.h>

namespace vyre {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;

// What poll_stop() throws within a number of calls that covers its longest interval.
std::optional<Stopped> poll() {
  try {
    for (int32_t i = 0; i <= StopState::kPollEvery; ++i) poll_stop();
  } catch (const Stopped& stopped) {
    return stopped;
  }
  return std::nullopt;
}

StopCondition past() {
  return {.deadline = steady_clock::now() - std::chrono::seconds(1)};
}

TEST(Stop, NothingStopsWithoutAScope) {
  EXPECT_FALSE(StopScope::active());
  EXPECT_FALSE(stop_requested());
  EXPECT_FALSE(poll());
  EXPECT_EQ(StopScope::deadline(), StopCondition::Time::max());
}

TEST(Stop, ADeadlineThatHasPassedStopsAndNamesTheStage) {
  const StopScope scope(past());
  const StageScope stage(Stage::Plan);
  EXPECT_TRUE(stop_requested());
  const auto stopped = poll();
  ASSERT_TRUE(stopped);
  EXPECT_FALSE(stopped->cancelled);
  const Error error = error_of(*stopped);
  EXPECT_EQ(error.code, ErrorCode::Timeout);
  EXPECT_THAT(error.message, HasSubstr("time limit"));
  EXPECT_THAT(error.message, HasSubstr("planning the program"));
  EXPECT_THAT(error.message, HasSubstr("Fix:"));
}

TEST(Stop, ADeadlineToComeDoesNot) {
  const StopScope scope(StopCondition::after(std::chrono::hours(1)));
  EXPECT_TRUE(StopScope::active());
  EXPECT_FALSE(poll());
}

TEST(Stop, AFlagStops) {
  std::atomic<bool> cancel = false;
  const StopScope scope({.cancel = &cancel});
  EXPECT_FALSE(poll());
  cancel = true;
  const auto stopped = poll();
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->cancelled);
  EXPECT_THAT(error_of(*stopped).message, HasSubstr("cancelled while preparing"));
}

TEST(Stop, EachOfNestedScopesStops) {
  std::atomic<bool> cancel = true;
  const auto soon = steady_clock::now() + std::chrono::hours(1);
  const StopScope outer({.deadline = soon, .cancel = &cancel});
  {
    const StopScope inner({.deadline = soon + std::chrono::hours(1)});
    EXPECT_TRUE(poll());
    EXPECT_EQ(StopScope::deadline(), soon);
  }
  cancel = false;
  {
    const StopScope inner(past());
    EXPECT_TRUE(poll());
  }
  EXPECT_FALSE(poll());
}

TEST(Stop, StagesNest) {
  const StopScope scope(past());
  const StageScope outer(Stage::Generate);
  {
    const StageScope inner(Stage::Plan);
  }
  const auto stopped = poll();
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->stage, Stage::Generate);
}

TEST(Stop, AScopeIsOfItsThread) {
  const StopScope scope(past());
  bool other = true;
  std::thread([&] { other = StopScope::active() || stop_requested(); }).join();
  EXPECT_FALSE(other);
}

TEST(Stop, NoLimitAndHugeLimitsAreNone) {
  const auto none = StopCondition::Time::max();
  EXPECT_EQ(StopCondition::after(std::chrono::nanoseconds(0)).deadline, none);
  EXPECT_EQ(StopCondition::after(std::chrono::nanoseconds::max()).deadline, none);
  EXPECT_LT(StopCondition::after(std::chrono::seconds(5)).deadline, none);
}

}  // namespace
}  // namespace vyre
