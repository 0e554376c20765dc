// SPDX-License-Identifier: Apache-2.0
// A kernel that never ends, and a driver that waits for it when the process ends: the tool tells of
// the timeout and leaves.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class Hang : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> arguments(std::vector<std::string> more) const {
    more.insert(more.begin(), {"run", program_, "--in", "a=iota(12)", "--device", "cuda"});
    return more;
  }
  // Also where two cores compile for eight others.
  void expect_soon() const { EXPECT_LT(Clock::now() - start_, std::chrono::seconds(60)); }

  Folder folder_;
  std::string program_ = folder_.write("good.vyre", kGood);
  Surroundings fake_{.environment = {"VYRE_CUDA_LIBRARY=" VYRE_FAKE_CUDA, "VYRE_FAKE_CUDA_HANGS=1",
                                     "VYRE_CACHE_DIR=off"}};
  Clock::time_point start_ = Clock::now();
};

TEST_F(Hang, TheToolLeavesWithTimeout) {
  const Outcome outcome =
      run_vyre(arguments({"--timeout", "0.5", "--metrics", folder_.path("metrics")}), fake_);
  expect_soon();
  EXPECT_EQ(outcome.exit_code, 8) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("error[Timeout 1009]"));
  EXPECT_THAT(outcome.err, HasSubstr("the device is lost: the kernel of `double_all"));
  EXPECT_THAT(outcome.err, HasSubstr("did not end within 500 ms of being told to stop"));
  EXPECT_THAT(outcome.err, HasSubstr("restart the process"));
  EXPECT_THAT(outcome.err, HasSubstr("while running program `double_all` on device `cuda`"));
  EXPECT_THAT(folder_.read("metrics"), HasSubstr("vyre_"));
}

TEST_F(Hang, TheDocumentIsWhole) {
  const Outcome outcome = run_vyre(arguments({"--timeout", "0.5", "--json"}), fake_);
  expect_soon();
  EXPECT_EQ(outcome.exit_code, 8) << outcome.err;
  const Json document = outcome.json();
  EXPECT_EQ(document["ok"], false) << outcome.out;
  EXPECT_EQ(document["error"]["code"], 1009) << outcome.out;
}

TEST_F(Hang, CtrlCActs) {
  // A while to start in, since before there is work the signal ends the process by itself.
  const Outcome outcome = run_interrupted(arguments({"--timeout", "0"}), 4000, fake_);
  expect_soon();
  EXPECT_TRUE(outcome.exit_code == 130 || outcome.signal == 2)
      << outcome.exit_code << " " << outcome.signal << outcome.err;
}

TEST_F(Hang, VerifyLeavesToo) {
  const Outcome outcome = run_vyre(
      {"verify", program_, "--in", "a=iota(12)", "--device", "cuda", "--timeout", "0.5"}, fake_);
  expect_soon();
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("did not end within 500 ms"));
}

}  // namespace
}  // namespace vyre::test
