// SPDX-License-Identifier: Apache-2.0
// Submissions and loops that are launched as graphs.
#include "backend/cuda/graph_test.hpp"

#include <chrono>
#include <thread>

namespace vyre::backend {
namespace {

using namespace device;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// ---- submissions

TEST_F(CudaGraph, TheSecondSubmissionOfAFormIsAGraph) {
  open();
  bind({{5, 6}, {0, 0}});
  count_up();
  const std::vector<Step> steps = {Fill{.to = *buffers_[0].region(0, 4)}, launch(kOne),
                                   launch(kOne),
                                   Copy{.to = buffers_[1].whole(), .from = buffers_[0].whole()},
                                   SetWord{.to = word(0), .value = 9}};
  for (uint32_t round = 1; round <= 4; ++round) {
    const auto done = replay(steps);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->launches, 2u);
    EXPECT_TRUE(done->timings.enqueue_ns && done->timings.wait_ns);
    EXPECT_EQ(launched_graphs(), round - 1);
    EXPECT_THAT(read(1), ElementsAre(2, 6 + 2 * round));
    EXPECT_EQ(read(0)[0], 9u);
  }
  EXPECT_EQ(calls("cuGraphInstantiateWithFlags"), 1u);
  EXPECT_EQ(calls("cuStreamBeginCapture_v2"), 1u);
  EXPECT_EQ(fake_cuda().launches().size(), 8u);
  ASSERT_TRUE(run(steps));  // nobody says that it may come again
  EXPECT_EQ(launched_graphs(), 3u);
}

// Neither what the host's bytes hold nor where they are is part of the graph.
TEST_F(CudaGraph, BytesOfTheHostAreThoseOfTheSubmission) {
  open();
  bind({{0, 0}});
  count_up();
  for (uint32_t round = 0; round < 4; ++round) {
    Words in = {10 * round, 20 * round};
    Words out(2);
    ASSERT_TRUE(replay({to_device(buffers_[0].whole(), in.data()), launch(kOne),
                        to_host(*buffers_[0].region(4, 4), &out[1]),
                        to_host(*buffers_[0].region(0, 4), out.data())}));
    EXPECT_THAT(out, ElementsAre(10 * round + 1, 20 * round + 1));
  }
  EXPECT_EQ(launched_graphs(), 3u);
}

// After so many runs of a graph its short copies and fills become launches of one kernel.
TEST_F(CudaGraph, ShortCopiesOfGraphsThatRunOftenAreOneLaunch) {
  open();
  bind({{0, 0, 0}, Words(8), Words(2000)});
  count_up();
  Words in(4);
  Words out(5);
  Words large(2000);
  std::byte odd{0};
  const auto once = [&](uint32_t round) {
    in = {round, round + 1, 7, 9};
    large.assign(2000, round);
    out.assign(5, 0);
    odd = std::byte{static_cast<uint8_t>(round)};
    return replay({to_device(*buffers_[0].region(0, 8), in.data()),
                   to_device(*buffers_[1].region(0, 8), &in[2]),
                   Fill{.to = *buffers_[0].region(8, 4), .value = std::byte{1}},
                   Fill{.to = *buffers_[1].region(8, 3), .value = std::byte{2}},
                   SetWord{.to = word(3, 1), .value = 0x12345678},
                   // What comes later wins, and what was stored is read.
                   SetWord{.to = word(1, 1), .value = 5},
                   Copy{.to = *buffers_[1].region(16, 4), .from = *buffers_[1].region(4, 4)},
                   to_device(*buffers_[1].region(20, 1), &odd), launch(kOne),
                   to_device(buffers_[2].whole(), large.data()),
                   to_host(buffers_[0].whole(), out.data()),
                   to_host(*buffers_[2].region(7996, 4), &out[3]),
                   to_host(*buffers_[1].region(16, 4), &out[4])});
  };
  for (uint32_t round = 1; round <= 260; ++round) {
    if (round == 258) fake_cuda().clear_record();
    ASSERT_TRUE(once(round));
    if (round == 258) {
      EXPECT_EQ(calls("cuLaunchKernel"), 4u);
      EXPECT_EQ(calls("cuMemcpyHtoDAsync_v2"), 1u);
      EXPECT_EQ(calls("cuMemcpyDtoHAsync_v2"), 0u);
    }
    ASSERT_THAT(out, ElementsAre(round + 1, round + 2, 0x01010102, round, 5));
    const Words b = read(1);
    ASSERT_THAT(Words(b.begin(), b.begin() + 2), ElementsAre(7, 5));
    ASSERT_EQ(b[2] & 0xFF'FFFF, 0x02'0202u);
    ASSERT_EQ(b[3], 0x12345678u);
    ASSERT_EQ(b[5] & 0xFF, round & 0xFF);
  }
  EXPECT_EQ(launched_graphs(), 3u);
  EXPECT_EQ(fake_cuda().live().graphs, 1u);
  // Another graph has it from the start.
  uint32_t value = 0;
  for (uint32_t round = 0; round < 3; ++round) {
    fake_cuda().clear_record();
    ASSERT_TRUE(replay(
        {SetWord{.to = word(0), .value = 3}, to_host(*buffers_[0].region(0, 4), &value)}, 8));
    EXPECT_EQ(value, 3u);
  }
  EXPECT_EQ(launched_graphs(), 1u);
}

// A graph tells that it is over by a word of its own, which may come before bytes for the host do.
TEST_F(CudaGraph, OnlyWorkOnTheDeviceMarksItsEnd) {
  open();
  bind({{1}});
  const Buffer pinned = *device_->allocate(4, Memory::Staging);
  uint32_t host = 0;
  const std::pair<Step, size_t> lists[] = {
      {launch(kOne), 1},
      {to_device(buffers_[0].whole(), &host), 1},
      {to_host(buffers_[0].whole(), &host), 0},
      {Copy{.to = pinned.whole(), .from = buffers_[0].whole()}, 0},
      {Copy{.to = buffers_[0].whole(), .from = pinned.whole()}, 1},
      {Fill{.to = pinned.whole()}, 0}};
  uint64_t key = 100;
  for (const auto& [step, marks] : lists) {
    fake_cuda().clear_record();
    ASSERT_TRUE(replay({step}, ++key));
    EXPECT_EQ(calls("cuMemsetD32Async"), 0u);
    // Also one that is of the same form as another list, but for this.
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(replay({step}, key));
    EXPECT_EQ(calls("cuMemsetD32Async"), marks);
    EXPECT_GE(launched_graphs(), 2u);
  }
}

// One run at a time: who comes while it is under way goes step by step.
TEST_F(CudaGraph, AGraphThatIsUnderWayIsNotLaunched) {
  open();
  bind({{0}});
  endless(kOne);
  go_ = true;
  expect_three_runs({launch(kOne)}, 2);
  go_ = false;
  const auto first = submit({launch(kOne)}, 7);
  ASSERT_TRUE(first);
  const auto second = submit({launch(kOne)}, 7);
  ASSERT_TRUE(second);
  EXPECT_EQ(launched_graphs(), 3u);
  EXPECT_EQ(fake_cuda().live().graphs, 1u);
  go_ = true;
  EXPECT_TRUE(device_->wait(*second));
  EXPECT_TRUE(device_->wait(*first));
  ASSERT_TRUE(replay({launch(kOne)}));
  EXPECT_EQ(launched_graphs(), 4u);
}

TEST_F(CudaGraph, WhatNeedsTheHostIsNone) {
  open();
  bind({{1, 1, 1, 0}, Words(20'000)});
  Words host(20'000);
  Launch indirect = launch(kOne);
  indirect.grid_from = word(0);
  const std::vector<std::vector<Step>> lists = {
      {launch(kOne), Exit{.word = word(0), .value = 5}},
      {indirect},
      {to_host(buffers_[1].whole(), host.data())},
      {Branch{.then_steps = 1, .word = word(0)}, launch(kOne)},
      {While{.body_steps = 1, .word = word(3)}, launch(kOne)},
      {Repeat{.body_steps = 1, .most = 2}, launch(kOne)}};
  for (size_t i = 0; i < lists.size(); ++i)
    for (int round = 0; round < 3; ++round) EXPECT_TRUE(replay(lists[i], 100 + i)) << "list " << i;
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(replay({launch(kOne)}, 200, {.measure = Measure::Launches}));
    EXPECT_TRUE(replay({launch(kOne)}, 201, {.checked = true}));
  }
  EXPECT_EQ(calls("cuStreamBeginCapture_v2"), 0u);
  EXPECT_EQ(launched_graphs(), 0u);
}

// D-RES.7: launches are counted by step, whether they go to a stream or are in a graph.
TEST_F(CudaGraph, CountsLaunchesByStep) {
  open();
  bind({{1, 0, 0}});
  count_up();
  const auto counted = [&](const std::vector<Step>& steps, uint64_t key) {
    std::vector<uint64_t> counts(steps.size());
    const auto done = replay(steps, key, {.counts = counts});
    EXPECT_TRUE(done);
    uint64_t launches = 0;
    for (size_t i = 0; i < steps.size(); ++i)
      if (std::holds_alternative<Launch>(steps[i])) launches += counts[i];
    if (done) {
      EXPECT_EQ(done->launches, launches);
    }
    return counts;
  };
  const std::vector<Step> plain = {launch(kOne), launch(kOne, {0, 1, 1}), launch(kOne)};
  for (int round = 0; round < 3; ++round)
    EXPECT_THAT(counted(plain, 7), ElementsAre(1u, 0u, 1u)) << round;
  EXPECT_GT(launched_graphs(), 0u);
  const uint64_t graphs = launched_graphs();
  const std::vector<Step> loop = {launch(kOne), Repeat{.body_steps = 2, .most = 200}, launch(kOne),
                                  launch(kOne, {1, 0, 1}), launch(kOne)};
  EXPECT_THAT(counted(loop, 0), ElementsAre(1u, 200u, 200u, 0u, 1u));
  EXPECT_GT(launched_graphs(), graphs) << "passes are a graph";
  const std::vector<Step> nested = {Repeat{.body_steps = 2, .most = 3},
                                    Repeat{.body_steps = 1, .most = 4, .until_zero = word(1)},
                                    launch(kOne)};
  EXPECT_THAT(counted(nested, 0), ElementsAre(3u, 12u, 12u));
}

// What fails in a capture fails again where it can be told.
TEST_F(CudaGraph, ErrorsAreReportedAsWithoutAGraph) {
  open();
  bind({{1}});
  const auto outside = SetWord{.to = {buffers_[0].handle(), 4}, .value = 1};
  for (int round = 0; round < 3; ++round) {
    uint32_t failed_step = 9;
    EXPECT_THAT(failure({launch(kOne), outside}, {.replay_key = 7, .failed_step = &failed_step}),
                HasSubstr("4 bytes at 4"));
    EXPECT_EQ(failed_step, 1u);
    // More blocks than fit at once would spoil a capture.
    EXPECT_THAT(failure({launch(kBarrier, {9, 1, 1})}, {.replay_key = 8}),
                HasSubstr("CooperativeResidencyExceeded"));
  }
  EXPECT_EQ(calls("cuStreamBeginCapture_v2"), 2u);  // once each
  EXPECT_EQ(launched_graphs(), 0u);
  for (int round = 0; round < 3; ++round) EXPECT_TRUE(replay({launch(kOne)}, 9));
  EXPECT_EQ(launched_graphs(), 2u);
}

TEST_F(CudaGraph, BlocksAreCountedFromZeroInEachRun) {
  open();
  bind({{0}});
  std::atomic<uint32_t> began_at = 0;
  fake_cuda().on_kernel("vyre_entry_2", [&](const cuda::FakeLaunch& x) {
    device::GpuControl& control = Parameters(x).control();
    began_at += control.arrived + static_cast<uint32_t>(control.even + control.odd);
    control.arrived = 4;
    control.even = control.odd = 4 + (uint64_t{4} << 32);
    return 0;
  });
  expect_three_runs({launch(kBarrier, {4, 1, 1}), launch(kBarrier, {4, 1, 1})}, 2);
  EXPECT_EQ(began_at, 0u);
}

// ---- stops

TEST_F(CudaGraph, TheDeadlineStopsAGraph) {
  open();
  bind({{1}});
  endless(kOne);
  go_ = true;
  const std::vector<Step> steps = {SetWord{.to = word(0), .value = 1}, launch(kTwo, {0, 1, 1}),
                                   launch(kOne)};
  expect_three_runs(steps, 2);
  go_ = false;
  uint32_t failed_step = 9;
  for (uint64_t round = 3; round < 5; ++round) {
    const auto done =
        replay(steps, 7, {.deadline = Clock::now() + 20ms, .failed_step = &failed_step});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "kernel 0 in a loop site 3 lane 5");
    EXPECT_EQ(failed_step, 2u);
    EXPECT_EQ(launched_graphs(), round);
  }
  go_ = true;
  EXPECT_TRUE(replay(steps));  // and the next run is not cancelled
  EXPECT_EQ(launched_graphs(), 5u);
  EXPECT_FALSE(device_->is_lost());
}

TEST_F(CudaGraph, CancelStopsAGraphAlsoBeforeItBegins) {
  open();
  bind({{1}});
  endless(kOne);
  go_ = true;
  expect_three_runs({launch(kOne)}, 2);
  go_ = false;
  std::atomic<bool> cancel = false;
  running_ = 0;
  std::thread other([&] {
    while (running_ == 0) std::this_thread::yield();
    cancel = true;
  });
  const auto done = replay({launch(kOne)}, 7, {.cancel = &cancel});
  other.join();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("kernel 0 in a loop site 3"));
  running_ = 0;
  EXPECT_THAT(failure({launch(kOne)}, {.replay_key = 7, .cancel = &cancel}),
              HasSubstr("was cancelled"));
  EXPECT_EQ(running_, 0);
  // Behind other work, which it has to be cancelled before.
  cancel = false;
  const auto first = submit({launch(kOne)}, 0);
  const std::vector<Step> steps = {launch(kOne)};
  const auto second = device_->submit({.steps = steps, .replay_key = 7, .cancel = &cancel});
  ASSERT_TRUE(first && second);
  cancel = true;
  EXPECT_FALSE(device_->wait(*second, Clock::now() + 5ms));
  fake_cuda().on_kernel("vyre_entry_0", {});
  go_ = true;
  EXPECT_TRUE(device_->wait(*first));
  EXPECT_FALSE(device_->wait(*second));
  cancel = false;
  EXPECT_TRUE(replay({launch(kOne)}, 7, {.cancel = &cancel}));
}

// A program with traps tells of its stops in each run, and only in that one.
TEST_F(CudaGraph, TrapsAreThoseOfTheRun) {
  open();
  Artifact trapping = fake_artifact();
  trapping.entries[kOne].can_trap = true;
  trapping.entries[kOne].whole = true;
  auto loaded = device_->load(trapping);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  code_ = std::move(*loaded);
  bind({{1}});
  std::atomic<uint32_t> lane = 0;
  fake_cuda().on_kernel("vyre_entry_0", [&](const cuda::FakeLaunch& x) {
    if (lane != 0) Parameters(x).control().stop = {.kind = KernelStop::Kind::Trap, .lane = lane};
    return 0;
  });
  const std::vector<Step> steps(70, launch(kOne));
  expect_three_runs(steps, 2);
  for (uint32_t round = 1; round < 4; ++round) {
    lane = round;
    uint32_t failed_step = 9;
    EXPECT_THAT(failure(steps, {.replay_key = 7, .failed_step = &failed_step}),
                HasSubstr(fmt::format("lane {}", round)));
    EXPECT_EQ(failed_step, 0u);
    lane = 0;
    EXPECT_TRUE(replay(steps));
  }
  EXPECT_EQ(launched_graphs(), 8u);
}

// ---- what graphs hold

TEST_F(CudaGraph, CodeStaysAsLongAsAGraphOfIt) {
  open();
  bind({{0}});
  endless(kOne);
  go_ = true;
  expect_three_runs({launch(kOne)}, 2);
  go_ = false;
  const auto ticket = submit({launch(kOne)}, 7);
  ASSERT_TRUE(ticket);
  code_ = {};
  EXPECT_EQ(fake_cuda().live().modules, 1u);
  go_ = true;
  EXPECT_TRUE(device_->wait(*ticket));
  code_ = *device_->load(fake_artifact());
  // Others push it out.
  for (uint32_t groups = 1; groups <= 64; ++groups)
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(replay({launch(kOne, {groups, 1, 1})}, 100 + groups));
  EXPECT_EQ(fake_cuda().live().modules, 1u);
}

TEST_F(CudaGraph, GraphsThatWereNotUsedForLongGo) {
  open();
  bind({{0}});
  const auto once = [&](uint32_t groups) {
    return replay({launch(kOne, {groups, 1, 1})}, groups).has_value();
  };
  for (uint32_t groups = 1; groups <= 64; ++groups)
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(once(groups));
  EXPECT_EQ(fake_cuda().live().graphs, 64u);
  EXPECT_TRUE(once(1));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(once(65));
  EXPECT_EQ(fake_cuda().live().graphs, 64u);
  fake_cuda().clear_record();
  EXPECT_TRUE(once(1));  // it was used again meanwhile
  EXPECT_EQ(calls("cuStreamBeginCapture_v2"), 0u);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(once(2));
  EXPECT_EQ(calls("cuStreamBeginCapture_v2"), 1u);
  EXPECT_EQ(fake_cuda().live().graphs, 64u);
}

TEST_F(CudaGraph, ALostDeviceLosesItsGraphs) {
  open();
  bind({{0}});
  std::atomic<int> status = 0;
  fake_cuda().on_kernel("vyre_entry_0", [&](const cuda::FakeLaunch&) { return status.load(); });
  expect_three_runs({launch(kOne)}, 2);
  status = 700;
  uint32_t failed_step = 9;
  const auto lost = replay({launch(kOne)}, 7, {.failed_step = &failed_step});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::DeviceLost);
  EXPECT_EQ(failed_step, 0u);
  status = 0;
  buffers_.clear();
  ASSERT_TRUE(device_->recover());
  EXPECT_EQ(fake_cuda().live().graphs, 0u);
  code_ = *device_->load(fake_artifact());
  bind({{0}});
  expect_three_runs({launch(kOne)}, 5);
}

TEST_F(CudaGraph, AFailedLaunchIsReportedAndTheNextOneRuns) {
  open();
  bind({{0}});
  expect_three_runs({launch(kOne)}, 2);
  fake_cuda().fail("cuGraphLaunch", 0, 701);
  EXPECT_THAT(failure({launch(kOne)}, {.replay_key = 7}),
              HasSubstr("a launch of recorded work on device `cuda` failed with "
                        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701) from cuGraphLaunch"));
  EXPECT_TRUE(replay({launch(kOne)}));
}

// ---- loops

TEST_F(CudaGraph, LongRepetitionsAreGraphsOfSeveralPasses) {
  open();
  for (const uint32_t most : {1U, 2U, 31U, 32U, 100U, 1001U}) {
    bind({{0}, {0}});
    count_up();
    fake_cuda().clear_record();
    const auto done = run({Repeat{.body_steps = 2, .most = most, .total = word(0, 1)}, launch(kOne),
                           SetWord{.to = word(0, 1), .value = 4}});
    ASSERT_TRUE(done);
    EXPECT_EQ(done->launches, most);
    EXPECT_THAT(read(0), ElementsAre(most));
    EXPECT_THAT(read(1), ElementsAre(4 + most));
    EXPECT_EQ(launched_graphs() != 0, most >= 31);
    EXPECT_LE(calls("cuLaunchKernel"), most < 31 ? most : 64u);
    EXPECT_EQ(fake_cuda().live().graphs, 0u);
  }
}

TEST_F(CudaGraph, LoopsThatAWordEndsAreGraphsAfterAFewPasses) {
  open();
  bind({{10, 0, 0, 0}});
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch& x) {
    uint32_t* const words = Parameters(x).words(0);
    --words[0];
    ++words[1];
    return 0;
  });
  const auto done =
      run({Repeat{.body_steps = 1, .most = 50, .until_zero = word(0), .result = word(2)},
           launch(kOne)});
  ASSERT_TRUE(done);
  // until_zero begins as 1, so the word was 1 at the first pass.
  EXPECT_THAT(read(0), ElementsAre(0, 1, 1, 1));
  fake_cuda().clear_record();
  const auto loop = run(
      {SetWord{.to = word(0), .value = 20}, While{.body_steps = 1, .word = word(0)}, launch(kOne)});
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->launches, 20u);
  EXPECT_THAT(read(0), ElementsAre(0, 21, 1, 1));
  EXPECT_EQ(launched_graphs(), 16u);
  EXPECT_EQ(calls("cuLaunchKernel"), 5u);
}

// A loop in a loop is captured once.
TEST_F(CudaGraph, LoopsInLoops) {
  open();
  bind({{0}, {0}});
  count_up();
  const auto done = run({Repeat{.body_steps = 3, .most = 5}, Repeat{.body_steps = 1, .most = 64},
                         launch(kOne), SetWord{.to = word(0, 1), .value = 3}});
  ASSERT_TRUE(done);
  EXPECT_THAT(read(0), ElementsAre(5 * 64));
  EXPECT_EQ(done->launches, 5u * 64);
  EXPECT_EQ(calls("cuStreamBeginCapture_v2"), 1u);
}

TEST_F(CudaGraph, TheDeadlineStopsALoopOfGraphs) {
  open();
  bind({{0}});
  endless(kOne);
  uint32_t failed_step = 9;
  EXPECT_THAT(failure({Repeat{.body_steps = 1, .most = 1000}, launch(kOne)},
                      {.deadline = Clock::now() + 20ms, .failed_step = &failed_step}),
              HasSubstr("kernel 0 in a loop site 3"));
  EXPECT_EQ(failed_step, 1u);
  EXPECT_GE(launched_graphs(), 1u);
  go_ = true;
  expect_runs({Repeat{.body_steps = 1, .most = 1000}, launch(kOne)});
}

TEST_F(CudaGraph, BlocksAreCountedFromZeroInEachPass) {
  open();
  bind({{0}});
  std::atomic<uint32_t> began_at = 0;
  fake_cuda().on_kernel("vyre_entry_2", [&](const cuda::FakeLaunch& x) {
    device::GpuControl& control = Parameters(x).control();
    began_at += control.arrived + static_cast<uint32_t>(control.even + control.odd);
    control.arrived = 4;
    control.even = control.odd = 4 + (uint64_t{4} << 32);
    return 0;
  });
  expect_runs({Repeat{.body_steps = 1, .most = 200}, launch(kBarrier, {4, 1, 1})});
  EXPECT_GE(launched_graphs(), 1u);
  EXPECT_EQ(began_at, 0u);
}

}  // namespace
}  // namespace vyre::backend
