// SPDX-License-Identifier: Apache-2.0
// `vyre tune`, and what the other commands make of its records (D-MODE.3, D-GRID.13).
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kScale =
    "program scale { workgroup 64; over len(x); in x : f32[]; out y : f32[] @count(len(x));\n"
    "  if gid.x < len(x) { y[gid.x] = x[gid.x] * 2.0; } }\n";

class TuneCommand : public testing::Test {
 protected:
  Outcome run(const std::vector<std::string>& arguments) const {
    return run_vyre(arguments, {.environment = {"VYRE_CACHE_DIR=" + folder_.path("cache"),
                                                "VYRE_CUDA_LIBRARY=/nonexistent/libcuda.so"}});
  }
  Folder folder_;
  std::string file_ = folder_.write("scale.vyre", kScale);
};

TEST_F(TuneCommand, ShowsATableAndKeepsARecord) {
  const Outcome tuned = run({"tune", file_, "--device", "cpu", "--in", "x=iota(5000)", "--json"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  const Json json = tuned.json();
  EXPECT_EQ(json.at("over"), true);
  EXPECT_LE(json.at("runs"), json.at("most_runs"));
  ASSERT_FALSE(json.at("candidates").empty());
  size_t adopted = 0;
  for (const Json& row : json.at("candidates")) {
    adopted += row.at("adopted").get<bool>() ? 1 : 0;
    if (row.at("adopted").get<bool>()) {
      EXPECT_EQ(row.at("strategy"), json.at("adopted"));
      EXPECT_LE(row.at("ratio").get<double>(), 0.99);
    }
    if (row.at("dropped").is_null()) {
      EXPECT_GE(row.at("pairs"), 7);
    }
  }
  EXPECT_EQ(adopted, json.at("adopted").is_null() ? 0u : 1u);

  // The others use what it found, and only where it is for.
  const auto shown = [&](const std::string& command, std::vector<std::string> more) {
    std::vector<std::string> arguments = {command, file_, "--device", "cpu", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.json();
  };
  const bool any = !json.at("adopted").is_null();
  const Json ran = shown("run", {"--in", "x=iota(5000)"});
  EXPECT_EQ(ran.at("tuned"), any);
  if (any) {
    EXPECT_EQ(ran.at("strategy"), json.at("adopted"));
  }
  EXPECT_EQ(shown("plan", {"--in", "x=iota(5000)"}).at("tuned"), any);
  EXPECT_EQ(shown("run", {"--in", "x=iota(5000)", "--tune", "off"}).at("tuned"), false);
  EXPECT_EQ(shown("plan", {"--in", "x=iota(5000)", "--tune", "off"}).at("tuned"), false);
  EXPECT_EQ(shown("run", {"--in", "x=iota(50)"}).at("tuned"), false);
  EXPECT_EQ(shown("run", {"--in", "x=iota(5000)", "--no-cache"}).at("tuned"), false);
  EXPECT_EQ(shown("plan", {}).at("tuned"), false);

  const Outcome table = run({"tune", file_, "--device", "cpu", "--in", "x=iota(5000)"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("scale on cpu, grid 79x1x1"));
  EXPECT_THAT(table.out, HasSubstr("candidate"));
  EXPECT_THAT(table.out, HasSubstr("64 lanes side by side"));
}

TEST_F(TuneCommand, RunMeasuresToo) {
  const Outcome ran = run({"run", file_, "--device", "cpu", "--in", "x=iota(5000)", "--repeat", "2",
                           "--tune", "on", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.json().at("trial").get<std::string>(), HasSubstr("trial 1 of "));
  EXPECT_THAT(ran.json().at("why").get<std::string>(), HasSubstr("no grid barrier"));
}

TEST_F(TuneCommand, WhereThereIsNothingToTry) {
  const Outcome tuned = run({"tune", file_, "--device", "reference", "--in", "x=iota(50)"});
  EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_THAT(tuned.out, HasSubstr("there is no other strategy to try"));
}

TEST_F(TuneCommand, ABudgetThatDoesNotSuffice) {
  const Outcome tuned = run(
      {"tune", file_, "--device", "cpu", "--in", "x=iota(5000)", "--budget", "0.000001", "--json"});
  EXPECT_EQ(tuned.exit_code, 8);
  EXPECT_EQ(tuned.json().at("over"), false);
  EXPECT_THAT(tuned.err, HasSubstr("nothing is kept"));
  EXPECT_THAT(tuned.err, HasSubstr("Fix:"));
  const Outcome ran = run({"run", file_, "--device", "cpu", "--in", "x=iota(5000)", "--json"});
  EXPECT_EQ(ran.json().at("tuned"), false);
}

// Processes that measure the same thing at once: each is done, and one of their records is kept.
TEST_F(TuneCommand, TwoProcesses) {
  const std::vector<std::string> arguments = {"tune", file_,  "--device",
                                              "cpu",  "--in", "x=iota(5000)"};
  Outcome other;
  std::thread thread([&] { other = run(arguments); });
  const Outcome mine = run(arguments);
  thread.join();
  EXPECT_EQ(mine.exit_code, 0) << mine.err;
  EXPECT_EQ(other.exit_code, 0) << other.err;
  const Outcome verified = run({"cache", "verify", "--json"});
  EXPECT_EQ(verified.exit_code, 0);
  EXPECT_TRUE(verified.json().at("bad").empty());
  EXPECT_EQ(run({"run", file_, "--device", "cpu", "--in", "x=iota(5000)"}).exit_code, 0);
}

TEST_F(TuneCommand, AProcessThatIsInterruptedKeepsNothing) {
  const Surroundings around{.environment = {"VYRE_CACHE_DIR=" + folder_.path("cache")}};
  const Outcome tuned = run_interrupted(
      {"tune", file_, "--device", "cpu", "--in", "x=zeros(30000000)", "--timeout", "0"}, 700,
      around);
  EXPECT_EQ(tuned.exit_code, 130) << tuned.err;
  EXPECT_EQ(run({"cache", "verify"}).exit_code, 0);
  const Outcome listed = run({"cache", "stat", "--json"});
  EXPECT_THAT(listed.out, Not(HasSubstr("tuning of")));
}

TEST_F(TuneCommand, Misuse) {
  const auto refused = [&](const std::vector<std::string>& arguments, std::string_view message) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(std::string(message)));
  };
  refused({"tune"}, "FILE");
  refused({"tune", file_, "--budget", "0"}, "--budget takes seconds");
  refused({"tune", file_, "--budget", "long"}, "--budget 30");
  refused({"run", file_, "--tune", "always"}, "none of off, read, on");
  refused({"plan", file_, "--tune", "on"}, "none of off, read");
  refused({"tune", file_, "--tune", "on"}, "--tune");
}

}  // namespace
}  // namespace vyre::test
