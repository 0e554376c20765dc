// SPDX-License-Identifier: Apache-2.0
#include "device/host_steps.hpp"

#include <cstring>
#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/check_steps.hpp"

namespace vyre::device {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Handle kA{1};
constexpr Handle kB{2};
constexpr Handle kCode{9};

Word word(uint32_t n, Handle buffer = kA) {
  return {buffer, uint64_t{4} * n};
}
Region words(uint32_t first, uint32_t count, Handle buffer = kA) {
  return {buffer, uint64_t{4} * first, uint64_t{4} * count};
}

// Two buffers of eight words; a launch calls what the test says.
class Fake : public HostDevice {
 public:
  std::map<uint64_t, std::vector<uint32_t>> buffers = {{1, std::vector<uint32_t>(8)},
                                                       {2, std::vector<uint32_t>(8)}};
  std::function<Result<Timings>(const Launch&)> on_launch;
  std::vector<Axes> grids;
  std::vector<size_t> seen;  // alternatives of steps
  bool watches = true;
  std::map<uint32_t, Launch> known;  // by step, of this submission
  const Step* first = nullptr;

  std::span<std::byte> memory(Handle buffer) override {
    const auto row = buffers.find(buffer.value);
    if (row == buffers.end()) return {};
    return std::as_writable_bytes(std::span(row->second));
  }
  Result<Timings> launch(const Launch& launch, const Axes& grid, Completion&) override {
    if (!watches) known[static_cast<uint32_t>(step_ - first)] = launch;
    grids.push_back(grid);
    return on_launch ? on_launch(launch) : Timings{};
  }
  bool launch_again(uint32_t step, Completion&, std::optional<Error>& error) override {
    const auto row = known.find(step);
    if (row == known.end()) return false;
    grids.push_back(row->second.grid);
    if (!on_launch) return true;
    if (auto times = on_launch(row->second); !times) error = times.error();
    return true;
  }
  void on_step(const Step& step) override {
    step_ = &step;
    seen.push_back(step.index());
  }
  [[nodiscard]] bool watches_steps() const override { return watches; }
  uint32_t& at(uint32_t n, Handle buffer = kA) { return buffers[buffer.value][n]; }

 private:
  const Step* step_ = nullptr;
};

BackendInfo info() {
  BackendInfo info;
  info.id = "fake";
  info.capabilities.device_loops = info.capabilities.indirect = true;
  info.capabilities.max_workgroups = {1000, 10, 10};
  info.capabilities.max_workgroup_size = {64, 64, 4};
  info.capabilities.max_invocations_per_workgroup = 128;
  return info;
}

// With a device that watches all steps, and with one that lets loops come back to known ones.
class HostSteps : public testing::TestWithParam<bool> {
 protected:
  HostSteps() { device_.watches = GetParam(); }
  Result<Completion> run(const std::vector<Step>& steps, Submission submission = {}) {
    submission.steps = steps;
    submission.failed_step = &failed_step_;
    if (auto ok = check_steps(steps, info()); !ok) return std::unexpected(ok.error());
    device_.first = steps.data();
    device_.known.clear();
    Completion completion;
    completion.timings = start_;
    if (auto ok = run_steps(submission, info(), device_, completion); !ok)
      return std::unexpected(ok.error());
    return completion;
  }
  void fails(const std::vector<Step>& steps, ErrorCode code, const char* message, uint32_t step,
             const Submission& submission = {}) {
    const auto done = run(steps, submission);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, code);
    EXPECT_THAT(done.error().message, HasSubstr(message));
    EXPECT_THAT(done.error().message, HasSubstr(" Fix: "));
    EXPECT_EQ(failed_step_, step);
  }
  static Launch launch(uint32_t entry = 0) {
    return {.pipeline = kCode, .entry = entry, .grid = {1, 1, 1}};
  }

  Fake device_;
  Timings start_;
  uint32_t failed_step_ = 77;
};

TEST_P(HostSteps, MovesFillsSetsAndCompares) {
  uint32_t in[2] = {5, 6};
  uint32_t out[2] = {0, 0};
  device_.at(7, kB) = 9;
  const auto done = run({
      Transfer{.device = words(0, 2), .host = reinterpret_cast<std::byte*>(in)},
      Copy{.to = words(3, 2, kB), .from = words(0, 2)},
      Fill{.to = words(6, 1), .value = std::byte{0xAB}},
      SetWord{.to = word(7), .value = 42},
      Compare{.a = words(0, 2), .b = words(3, 2, kB), .differs = word(7, kB)},  // equal: stays 9
      Compare{.a = words(0, 2), .b = words(2, 2, kB), .differs = word(6, kB)},
      Transfer{.direction = Transfer::Direction::ToHost,
               .device = words(3, 2, kB),
               .host = reinterpret_cast<std::byte*>(out)},
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(device_.buffers[1], ElementsAre(5, 6, 0, 0, 0, 0, 0xABABABAB, 42));
  EXPECT_THAT(device_.buffers[2], ElementsAre(0, 0, 0, 5, 6, 0, 1, 9));
  EXPECT_THAT(out, ElementsAre(5, 6));
  EXPECT_EQ(done->launches, 0u);
  EXPECT_FALSE(done->exited_at);
  EXPECT_TRUE(done->steps.empty());
  EXPECT_EQ(failed_step_, 77u);
  EXPECT_EQ(device_.seen.size(), 7u);
}

TEST_P(HostSteps, EmptyRegionsNeedNoBuffer) {
  EXPECT_TRUE(run({Copy{}, Fill{}, Transfer{}, Compare{.a = {}, .b = {}, .differs = word(0)}}));
  EXPECT_TRUE(run({}));
}

TEST_P(HostSteps, LaunchesHaveAGridWithinTheLimits) {
  device_.at(1) = 7;
  device_.at(2) = 2;
  device_.at(3) = 3;
  Launch from = launch();
  from.grid_from = word(1);
  Launch none = launch();
  none.grid = {4, 0, 4};
  const auto done = run({launch(), none, from});
  ASSERT_TRUE(done);
  EXPECT_THAT(device_.grids, ElementsAre(Axes{1, 1, 1}, Axes{7, 2, 3}));
  EXPECT_EQ(done->launches, 2u);  // the one over nothing is none

  device_.at(2) = 11;
  fails({launch(), from}, ErrorCode::LimitExceeded, "a grid of 7x11x3", 1);
  Launch wide = launch();
  wide.workgroup = {65, 1, 1};
  fails({wide}, ErrorCode::LimitExceeded, "a workgroup of 65x1x1", 0);
  wide.workgroup = {64, 3, 1};
  fails({wide}, ErrorCode::LimitExceeded, "a workgroup of 192 lanes", 0);
  wide.workgroup = {1, 0, 1};
  fails({wide}, ErrorCode::LimitExceeded, "a workgroup of 1x0x1", 0);
}

TEST_P(HostSteps, LanesHaveA32BitNumber) {
  BackendInfo big = info();
  big.capabilities.max_workgroups = {~0u, ~0u, ~0u};
  Launch x = launch();
  x.grid = {1u << 16, 1u << 15, 1};
  x.workgroup = {2, 1, 1};
  const std::vector<Step> steps = {x};
  Completion completion;
  const auto done = run_steps({.steps = steps}, big, device_, completion);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("more than 2^32-1 lanes"));
  x.grid = {~0u, ~0u, ~0u};
  EXPECT_FALSE(run_steps({.steps = std::vector<Step>{x}}, big, device_, completion));
}

TEST_P(HostSteps, ExitsIfTheComparisonHolds) {
  device_.at(0) = 3;
  const auto at = [&](bool equal, uint32_t value) {
    const auto done = run({Exit{.word = word(0), .if_equal = equal, .value = value},
                           SetWord{.to = word(1), .value = 1}});
    const bool left = done->exited_at.has_value();
    EXPECT_EQ(device_.at(1), left ? 0u : 1u);
    device_.at(1) = 0;
    return left;
  };
  EXPECT_TRUE(at(true, 3));
  EXPECT_FALSE(at(true, 4));
  EXPECT_FALSE(at(false, 3));
  EXPECT_TRUE(at(false, 4));
}

TEST_P(HostSteps, WhileReadsItsWordBeforeEachPass) {
  device_.on_launch = [&](const Launch& x) {
    if (x.entry == 0)
      device_.at(0) = device_.at(1) < 3 ? 5 : 0;  // any value but 0
    else
      ++device_.at(1);
    return Timings{};
  };
  const auto done = run({While{.condition_steps = 1, .body_steps = 1, .word = word(0)}, launch(0),
                         launch(1), SetWord{.to = word(2), .value = 8}});
  ASSERT_TRUE(done);
  EXPECT_THAT(device_.buffers[1], ElementsAre(0, 3, 8, 0, 0, 0, 0, 0));
  EXPECT_EQ(done->launches, 4u + 3u);
}

TEST_P(HostSteps, AWhileThatIsFalseRunsNoPass) {
  ASSERT_TRUE(run({While{.condition_steps = 0, .body_steps = 1, .word = word(0)}, launch()}));
  EXPECT_TRUE(device_.grids.empty());
}

TEST_P(HostSteps, RepeatCountsItsPasses) {
  device_.at(5) = 10;
  const auto done = run({Repeat{.body_steps = 1,
                                .most = 4,
                                .most_from = {},
                                .until_zero = {},
                                .result = word(2),
                                .total = word(5)},
                         launch(), launch()});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->launches, 5u);
  EXPECT_THAT(device_.buffers[1], ElementsAre(0, 0, 4, 0, 0, 14, 0, 0));
}

TEST_P(HostSteps, RepeatEndsAfterThePassThatLeavesZero) {
  device_.on_launch = [&](const Launch&) {
    device_.at(0) = ++device_.at(1) == 3 ? 0 : 1;
    return Timings{};
  };
  Repeat loop{.body_steps = 1,
              .most = 10,
              .most_from = {},
              .until_zero = word(0),
              .result = word(2),
              .total = word(5)};
  ASSERT_TRUE(run({loop, launch()}));
  EXPECT_THAT(device_.buffers[1], ElementsAre(0, 3, 3, 1, 0, 3, 0, 0));
  // The limit comes first.
  device_.at(1) = 0;
  device_.at(6) = 2;
  loop.most_from = word(6);
  ASSERT_TRUE(run({loop, launch()}));
  EXPECT_THAT(device_.buffers[1], ElementsAre(1, 2, 2, 0, 0, 5, 2, 0));
}

TEST_P(HostSteps, ZeroPassesDoNotConverge) {
  device_.at(2) = device_.at(3) = 7;
  device_.at(5) = 1;
  ASSERT_TRUE(run({Repeat{.body_steps = 1,
                          .most = 5,
                          .most_from = word(4),
                          .until_zero = word(0),
                          .result = word(2),
                          .total = word(5)},
                   launch()}));
  EXPECT_THAT(device_.buffers[1], ElementsAre(1, 0, 0, 0, 0, 1, 0, 0));
  EXPECT_TRUE(device_.grids.empty());
}

TEST_P(HostSteps, BranchesTakeOneSide) {
  const std::vector<Step> steps = {
      Branch{.then_steps = 1, .else_steps = 2, .word = word(0)}, SetWord{.to = word(1), .value = 1},
      SetWord{.to = word(2), .value = 2}, SetWord{.to = word(3), .value = 3},
      SetWord{.to = word(4), .value = 4}};
  ASSERT_TRUE(run(steps));
  EXPECT_THAT(device_.buffers[1], ElementsAre(0, 0, 2, 3, 4, 0, 0, 0));
  device_.buffers[1] = {9, 0, 0, 0, 0, 0, 0, 0};
  ASSERT_TRUE(run(steps));
  EXPECT_THAT(device_.buffers[1], ElementsAre(9, 1, 0, 0, 4, 0, 0, 0));
  // Without one of the sides.
  ASSERT_TRUE(run({Branch{.then_steps = 0, .else_steps = 1, .word = word(0)},
                   SetWord{.to = word(5), .value = 5}}));
  EXPECT_EQ(device_.at(5), 0u);
}

TEST_P(HostSteps, LoopsNest) {
  device_.on_launch = [&](const Launch&) {
    ++device_.at(0);
    return Timings{};
  };
  const Repeat inner{.body_steps = 1,
                     .most = 3,
                     .most_from = {},
                     .until_zero = {},
                     .result = {},
                     .total = word(1)};
  const auto done = run({Repeat{.body_steps = 5,
                                .most = 4,
                                .most_from = {},
                                .until_zero = {},
                                .result = {},
                                .total = word(2)},
                         inner, launch(), Branch{.then_steps = 0, .else_steps = 1, .word = word(7)},
                         launch(), SetWord{.to = word(7), .value = 1}, launch()});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->launches, 4u * 3u + 1u + 1u);
  EXPECT_THAT(device_.buffers[1], ElementsAre(14, 12, 4, 0, 0, 0, 0, 1));
}

// What a pass leaves is what the next one finds, however the steps were looked up.
TEST_P(HostSteps, PassesSeeEachOther) {
  device_.on_launch = [&](const Launch&) {
    device_.at(1, kB) += device_.at(2) + device_.at(0);
    device_.at(0) += 1;
    return Timings{};
  };
  const auto done = run({Repeat{.body_steps = 4, .most = 5}, launch(),
                         Copy{.to = words(2, 2), .from = words(0, 2)}, SetWord{word(5), 7},
                         Exit{.word = word(0), .if_equal = true, .value = 4},
                         Fill{.to = words(5, 1, kB), .value = std::byte{1}}});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->launches, 4u);
  EXPECT_EQ(done->exited_at, 4u);
  EXPECT_THAT(device_.buffers[1], ElementsAre(4, 0, 4, 0, 0, 7, 0, 0));
  EXPECT_THAT(device_.buffers[2], ElementsAre(0, 0 + 2 + 4 + 6, 0, 0, 0, 0, 0, 0));
}

TEST_P(HostSteps, AnExitLeavesAllLoops) {
  device_.on_launch = [&](const Launch&) {
    ++device_.at(0);
    return Timings{};
  };
  device_.at(1) = 1;
  const Repeat outer{.body_steps = 4,
                     .most = 9,
                     .most_from = {},
                     .until_zero = {},
                     .result = word(2),
                     .total = {}};
  const auto done =
      run({outer, While{.condition_steps = 0, .body_steps = 2, .word = word(1)}, launch(),
           Exit{.word = word(0), .if_equal = true, .value = 5}, launch(), launch()});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exited_at, 3u);
  EXPECT_EQ(done->launches, 5u);
  EXPECT_EQ(device_.at(2), 0u);
}

TEST_P(HostSteps, AFailingLaunchEndsTheSubmissionAndIsNamed) {
  device_.on_launch = [&](const Launch& x) -> Result<Timings> {
    if (x.entry == 0) return Timings{};
    return std::unexpected(Error{.code = ErrorCode::DispatchFailed,
                                 .message = "broken. Fix: none",
                                 .context = {},
                                 .at = {},
                                 .diagnostics = {}});
  };
  fails({launch(), Repeat{.body_steps = 2, .most = 2}, launch(), launch(1)},
        ErrorCode::DispatchFailed, "broken", 3);
}

TEST_P(HostSteps, BytesThatAreNotThereAreAnError) {
  fails({Fill{.to = words(7, 2)}}, ErrorCode::Internal, "8 bytes at 28 of handle 1", 0);
  fails({launch(), SetWord{.to = word(8)}}, ErrorCode::Internal, "has 32 bytes", 1);
  fails({Copy{.to = words(0, 1), .from = words(0, 1, Handle{5})}}, ErrorCode::Internal,
        "handle 5 are used, which has 0 bytes", 0);
  fails({Copy{.to = words(0, 2), .from = words(1, 2)}}, ErrorCode::Internal, "overlaps itself", 0);
  fails({Branch{.then_steps = 0, .else_steps = 0, .word = word(9)}}, ErrorCode::Internal, "at 36",
        0);
  fails({While{.condition_steps = 1, .body_steps = 0, .word = word(9)}, launch()},
        ErrorCode::Internal, "at 36", 0);
  fails({Exit{.word = word(9)}}, ErrorCode::Internal, "at 36", 0);
  Region huge = words(1, 1);
  huge.bytes = ~uint64_t{0} - 1;
  fails({Fill{.to = huge}}, ErrorCode::Internal, "at 4 of handle 1", 0);
}

TEST_P(HostSteps, StopsBetweenStepsAtTheDeadlineOrWhenCancelled) {
  device_.at(0) = 1;
  Submission late;
  late.deadline = std::chrono::steady_clock::now();
  fails({launch()}, ErrorCode::Timeout, "longer than its time limit", 0, late);
  EXPECT_TRUE(device_.grids.empty());
  // Loops that never end, with and without steps.
  late.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  fails({launch(), While{.condition_steps = 0, .body_steps = 0, .word = word(0)}},
        ErrorCode::Timeout, "up to step 1 of 2", 1, late);
  std::atomic<bool> cancel = false;
  device_.on_launch = [&](const Launch&) {
    if (++device_.at(1) == 3) cancel = true;
    return Timings{};
  };
  Submission cancelled;
  cancelled.cancel = &cancel;
  fails({While{.condition_steps = 0, .body_steps = 1, .word = word(0)}, launch()},
        ErrorCode::Timeout, "cancelled", 0, cancelled);
  EXPECT_EQ(device_.at(1), 3u);
}

TEST_P(HostSteps, TimesOfSingleStepsAreListed) {
  const auto done = run({Repeat{.body_steps = 1, .most = 2}, launch(), Fill{.to = words(0, 1)}},
                        {.measure = Measure::Steps});
  ASSERT_TRUE(done);
  ASSERT_EQ(done->steps.size(), 3u);
  EXPECT_EQ(done->steps[0].step, 1u);
  EXPECT_EQ(done->steps[1].step, 1u);
  EXPECT_EQ(done->steps[2].step, 2u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LE(done->steps[i].begin_ns, done->steps[i].end_ns);
    if (i > 0) {
      EXPECT_LE(done->steps[i - 1].end_ns, done->steps[i].begin_ns);
    }
  }
}

// D-RES.6: where only launches are to be measured, the device says what they took.
TEST_P(HostSteps, StepsAreTimedOnlyWhereTheyAreWanted) {
  for (const Measure measure : {Measure::Nothing, Measure::Launches}) {
    const auto done = run({launch()}, {.measure = measure});
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->steps.empty());
  }
}

// D-RES.7: what each step came to, in loops as well.
TEST_P(HostSteps, LaunchesAndPassesAreCountedByStep) {
  const auto counted = [&](const std::vector<Step>& steps) {
    std::vector<uint64_t> counts(steps.size());
    EXPECT_TRUE(run(steps, {.counts = counts}));
    return counts;
  };
  Launch none = launch();
  none.grid = {3, 0, 1};
  EXPECT_THAT(counted({launch(), none, Fill{.to = words(0, 1)}, launch()}),
              ElementsAre(1u, 0u, 0u, 1u));
  EXPECT_THAT(counted({Repeat{.body_steps = 3, .most = 3}, launch(),
                       Repeat{.body_steps = 1, .most = 4}, launch(), launch()}),
              ElementsAre(3u, 3u, 12u, 12u, 1u));
}

// D-RES.2: summed, absent as soon as one is absent, too much is an error.
TEST_P(HostSteps, TimesOfLaunchesAreSummed) {
  device_.on_launch = [&](const Launch& x) {
    return Timings{
        .device_ns = 2, .enqueue_ns = 3, .wait_ns = x.entry == 1 ? std::optional<uint64_t>() : 4};
  };
  start_ = {.device_ns = 0, .enqueue_ns = 0, .wait_ns = 0};
  auto done = run({launch(), launch(), launch()});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->timings, (Timings{.device_ns = 6, .enqueue_ns = 9, .wait_ns = 12}));
  done = run({launch(), launch(1), launch()});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->timings, (Timings{.device_ns = 6, .enqueue_ns = 9, .wait_ns = {}}));
  start_.device_ns = ~uint64_t{0} - 3;
  fails({launch(), launch()}, ErrorCode::LimitExceeded, "more than 2^64-1 ns", 1);
}

INSTANTIATE_TEST_SUITE_P(Watching, HostSteps, testing::Bool(),
                         [](const auto& param) { return param.param ? "all" : "some"; });

TEST(Residency, IsRequiredOfCooperativeLaunchesOnly) {
  Launch x{.pipeline = kCode, .workgroup = {1, 1, 1}, .grid = {4, 2, 1}};
  EXPECT_TRUE(check_residency(x, x.grid, 7, info()));
  x.cooperative = true;
  EXPECT_TRUE(check_residency(x, x.grid, 8, info()));
  const auto no = check_residency(x, x.grid, 7, info());
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code, ErrorCode::CooperativeResidencyExceeded);
  EXPECT_THAT(no.error().message, HasSubstr("8 workgroups have to run at once"));
  x.blocks = 7;
  EXPECT_TRUE(check_residency(x, x.grid, 7, info()));
}

}  // namespace
}  // namespace vyre::device
