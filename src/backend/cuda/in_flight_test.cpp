// SPDX-License-Identifier: Apache-2.0
// Work that goes on while nobody waits, how it is stopped, and what it leaves behind.
#include <atomic>
#include <thread>

#include "backend/cuda/fake_test.hpp"
#include "backend/cuda/submission_tracker.hpp"

namespace vyre::backend {
namespace {

using namespace device;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;

class CudaInFlight : public CudaTest {
 protected:
  // A kernel that ends when it is cancelled, and says so, or when the test lets it go.
  void endless(uint32_t kernel, uint32_t site) {
    fake_cuda().on_kernel(
        fmt::format("vyre_entry_{}", kernel), [this, site](const cuda::FakeLaunch& x) {
          const Parameters p(x);
          ++running_;
          while (!p.cancelled() && !go_) std::this_thread::yield();
          if (p.cancelled())
            p.control().stop = {.kind = KernelStop::Kind::Loop, .site = site, .lane = 5};
          return 0;
        });
  }
  void await_running(int count = 1) {
    while (running_ < count) std::this_thread::yield();
  }
  Result<Ticket> submit(const std::vector<Step>& steps, Submission submission = {}) {
    submission.steps = steps;
    return device_->submit(submission);
  }

  std::atomic<int> running_ = 0;
  std::atomic<bool> go_ = false;
};

// ---- queues

TEST_F(CudaInFlight, SubmitDoesNotWait) {
  open();
  bind({{1, 2}});
  endless(kOne, 0);
  uint32_t in = 7;
  uint32_t out = 0;
  const auto ticket = submit({launch(kOne), to_device(*buffers_[0].region(0, 4), &in),
                              to_host(*buffers_[0].region(0, 4), &out)});
  ASSERT_TRUE(ticket);
  await_running();
  EXPECT_EQ(out, 0u);
  const auto early = device_->wait(*ticket, Clock::now() + 5ms);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::Timeout);
  EXPECT_THAT(early.error().message, HasSubstr("is not done yet"));
  go_ = true;
  const auto done = device_->wait(*ticket);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(out, 7u);
  EXPECT_EQ(done->launches, 1u);
  const auto again = device_->wait(*ticket);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("there is no such work"));
}

TEST_F(CudaInFlight, QueuesRunSideBySideAndWaitForEachOther) {
  open();
  bind({{0, 0}});
  endless(kOne, 0);
  const auto first = submit({launch(kOne), SetWord{.to = word(0), .value = 1}}, {.queue = 1});
  ASSERT_TRUE(first);
  await_running();
  // Another queue is not held up.
  EXPECT_TRUE(run({SetWord{.to = word(1), .value = 2}}, {.queue = 2}));
  EXPECT_THAT(read(0), ElementsAre(0, 2));
  const auto second =
      submit({Copy{.to = *buffers_[0].region(4, 4), .from = *buffers_[0].region(0, 4)}},
             {.queue = 2, .after = {&*first, 1}});
  ASSERT_TRUE(second);
  EXPECT_FALSE(device_->wait(*second, Clock::now() + 5ms));
  go_ = true;
  EXPECT_TRUE(device_->wait(*second));
  EXPECT_THAT(read(0), ElementsAre(1, 1));
  EXPECT_TRUE(device_->wait(*first));
  // What was waited for is over.
  EXPECT_TRUE(run({SetWord{.to = word(1), .value = 2}}, {.after = {&*first, 1}}));
}

TEST_F(CudaInFlight, ManyThreadsSubmitAtOnce) {
  open();
  bind({Words(8)});
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint32_t i = 1; i <= 20; ++i) {
        uint32_t out = 0;
        const Step steps[] = {SetWord{.to = word(t), .value = i}, launch(kOne),
                              Exit{.word = word(t), .value = 1000},
                              to_host(*buffers_[0].region(4 * t, 4), &out)};
        const auto done = device_->run({.steps = steps, .queue = t % 2, .checked = i % 2 == 0});
        failures += !done || out != i;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(CudaInFlight, WorkWithoutAWaiterIsStoppedAtTheEnd) {
  open();
  bind({{1}});
  endless(kOne, 0);
  ASSERT_TRUE(submit({launch(kOne), launch(kOne)}));
  await_running();
  close();
}

// ---- stops

TEST_F(CudaInFlight, TheDeadlineStopsALoop) {
  open();
  bind({{1}});
  endless(kOne, 42);
  uint32_t failed_step = 9;
  const auto began = Clock::now();
  const auto done = run({SetWord{.to = word(0), .value = 1}, launch(kTwo, {0, 1, 1}), launch(kOne)},
                        {.deadline = began + 20ms, .failed_step = &failed_step});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Timeout);
  EXPECT_EQ(done.error().message, "kernel 0 in a loop site 42 lane 5");
  EXPECT_EQ(failed_step, 2u);
  EXPECT_GE(Clock::now() - began, 20ms);
  EXPECT_FALSE(device_->is_lost());
  go_ = true;
  expect_runs({launch(kOne)});  // and what comes after is not cancelled
}

// Among many launches, the one that ran is named.
TEST_F(CudaInFlight, TheFirstLaunchThatWasGivenUpIsTheOne) {
  open();
  bind({{1}});
  endless(kBarrier, 7);
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch& x) {
    const Parameters p(x);
    if (p.cancelled()) p.control().stop = {.kind = KernelStop::Kind::Loop, .site = 1, .lane = 0};
    return 0;
  });
  std::vector<Step> steps(100, launch(kOne));
  steps[70] = launch(kBarrier);
  uint32_t failed_step = 0;
  EXPECT_THAT(failure(steps, {.deadline = Clock::now() + 400ms, .failed_step = &failed_step}),
              HasSubstr("kernel 2 in a loop site 7 lane 5"));
  EXPECT_EQ(failed_step, 70u);
}

TEST_F(CudaInFlight, CancelStopsALoop) {
  open();
  bind({{1}});
  Artifact silent = fake_artifact();
  silent.explain = {};
  code_ = *device_->load(silent);
  endless(kOne, 42);
  std::atomic<bool> cancel = false;
  const auto ticket = submit({launch(kOne)}, {.cancel = &cancel});
  ASSERT_TRUE(ticket);
  await_running();
  std::thread other([&] {
    std::this_thread::sleep_for(5ms);
    cancel = true;
  });
  const auto done = device_->wait(*ticket);
  other.join();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "the dispatch was cancelled. Fix: run it again");
  running_ = 0;
  EXPECT_THAT(failure({launch(kOne)}, {.cancel = &cancel}), HasSubstr("was cancelled"));
  EXPECT_EQ(running_, 0);  // it was so before the first step
}

TEST_F(CudaInFlight, ExitsAndLongTransfersObeyTheDeadline) {
  open();
  bind({{1}, Words(100'000)});
  endless(kOne, 3);
  Words host(100'000);
  for (const Step& second :
       {Step(Exit{.word = word(0), .value = 9}), Step(to_host(buffers_[1].whole(), host.data())),
        Step(to_device(buffers_[1].whole(), host.data()))}) {
    uint32_t failed_step = 9;
    EXPECT_THAT(failure({launch(kOne), second, SetWord{.to = word(0), .value = 3}},
                        {.deadline = Clock::now() + 10ms, .failed_step = &failed_step}),
                HasSubstr("kernel 0 in a loop site 3"));
    EXPECT_EQ(failed_step, 0u);
    EXPECT_THAT(read(0), ElementsAre(1));
  }
}

// A queue stands still because of work that nobody waits for: its time limit counts all the same.
TEST_F(CudaInFlight, AWaiterChecksTheLimitsOfAll) {
  open();
  bind({{1}});
  endless(kOne, 8);
  const auto first = submit({launch(kOne)}, {.deadline = Clock::now() + 20ms});
  ASSERT_TRUE(first);
  await_running();
  EXPECT_TRUE(run({SetWord{.to = word(0), .value = 4}}));
  EXPECT_THAT(read(0), ElementsAre(4));
  const auto done = device_->wait(*first);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("site 8"));
}

// The driver frees pinned memory when nothing runs any more.
TEST_F(CudaInFlight, SoDoesWhoeverFreesPinnedMemory) {
  open();
  bind({{1}});
  endless(kOne, 8);
  Buffer pinned = *device_->allocate(4, Memory::Staging);
  const auto first = submit({launch(kOne)}, {.deadline = Clock::now() + 20ms});
  ASSERT_TRUE(first);
  await_running();
  const Buffer other = *device_->allocate(4);
  {
    const Buffer freed = *device_->allocate(4);
  }  // which does not have to wait
  pinned.free();
  const auto done = device_->wait(*first);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("site 8"));
}

// The cancel word is not lost when the work has not begun yet.
TEST_F(CudaInFlight, WorkBehindOtherWorkCanBeStopped) {
  open();
  bind({{1}});
  endless(kOne, 1);
  fake_cuda().on_kernel("vyre_entry_2", [this](const cuda::FakeLaunch& x) {
    const Parameters p(x);
    ++running_;
    while (!p.cancelled()) std::this_thread::yield();
    p.control().stop = {.kind = KernelStop::Kind::Loop, .site = 2, .lane = 0};
    return 0;
  });
  const auto first = submit({launch(kOne)});
  ASSERT_TRUE(first);
  await_running();
  std::atomic<bool> cancel = false;
  const auto second = submit({launch(kBarrier)}, {.cancel = &cancel});
  ASSERT_TRUE(second);
  cancel = true;
  EXPECT_FALSE(device_->wait(*second, Clock::now() + 5ms));
  go_ = true;
  const auto done = device_->wait(*second);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("kernel 2 in a loop site 2"));
  EXPECT_TRUE(device_->wait(*first));
}

TEST_F(CudaInFlight, TimeIsOverBeforeTheFirstStep) {
  open();
  bind({{1}});
  uint32_t failed_step = 9;
  EXPECT_THAT(failure({SetWord{.to = word(0), .value = 3}},
                      {.deadline = Clock::now() - 1ms, .failed_step = &failed_step}),
              HasSubstr("ran longer than its time limit, up to step 0 of 1"));
  EXPECT_EQ(failed_step, 0u);
  EXPECT_THAT(read(0), ElementsAre(1));
}

// ---- accesses out of bounds

TEST_F(CudaInFlight, TheSmallestLaneOutOfBoundsIsReported) {
  open();
  bind({{1}});
  std::atomic<uint32_t> launches = 0;
  const uint32_t lanes[] = {30, 10, 20};
  fake_cuda().on_kernel("vyre_entry_0", [&](const cuda::FakeLaunch& x) {
    const uint32_t n = launches++;
    Parameters(x).control().stop = {
        .kind = KernelStop::Kind::OutOfBounds, .site = n, .lane = lanes[n % 3], .index = 9};
    return 0;
  });
  const std::vector<Step> steps(3, launch(kOne));
  const auto done = run(steps, {.checked = true});
  ASSERT_TRUE(done);
  ASSERT_TRUE(done->lane_stop);
  EXPECT_EQ(done->lane_stop->lane, 10u);
  EXPECT_EQ(done->lane_stop->error.message, "kernel 0 out of bounds site 1 lane 10");
  EXPECT_EQ(done->lane_stop->error.code, ErrorCode::OutOfBounds);
  EXPECT_EQ(done->launches, 3u);
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch&) { return 0; });
  EXPECT_FALSE(run(steps, {.checked = true})->lane_stop);
}

// A stop that nobody asked for is not taken for one of a later submission.
TEST_F(CudaInFlight, OldStopsAreForgotten) {
  open();
  bind({{1}});
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch& x) {
    Parameters(x).control().stop = {.kind = KernelStop::Kind::Trap, .lane = 1};
    return 0;
  });
  const std::vector<Step> many(70, launch(kOne));
  EXPECT_FALSE(run(many)->lane_stop);
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch&) { return 0; });
  EXPECT_FALSE(run({launch(kOne)})->lane_stop);
  EXPECT_FALSE(run(many, {.checked = true})->lane_stop);
}

// ---- times

TEST_F(CudaInFlight, TimesAreMeasuredWhereTheyAreWanted) {
  open();
  bind({{1}});
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch&) {
    std::this_thread::sleep_for(2ms);
    return 0;
  });
  const std::vector<Step> steps = {SetWord{.to = word(0), .value = 2}, launch(kOne),
                                   Exit{.word = word(0), .value = 2}};
  const auto now = [] {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
            .count());
  };
  for (int round = 0; round < 2; ++round) {
    const uint64_t begin = now();
    const auto done = run(steps, {.measure = Measure::Steps});
    const uint64_t end = now();
    ASSERT_TRUE(done);
    ASSERT_EQ(done->steps.size(), 3u);
    uint64_t last = begin;
    for (uint32_t i = 0; i < 3; ++i) {
      EXPECT_EQ(done->steps[i].step, i);
      EXPECT_GE(done->steps[i].begin_ns + 1000, last);
      EXPECT_GE(done->steps[i].end_ns, done->steps[i].begin_ns);
      last = done->steps[i].end_ns;
    }
    EXPECT_LE(last, end + 1'000'000);
    ASSERT_TRUE(done->timings.device_ns);
    EXPECT_GE(*done->timings.device_ns, 1'900'000u);
    EXPECT_TRUE(done->timings.enqueue_ns && done->timings.wait_ns);
  }
  const auto plain = run(steps);
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->timings.device_ns);
  EXPECT_TRUE(plain->timings.enqueue_ns && plain->timings.wait_ns);
  EXPECT_TRUE(plain->steps.empty());
}

// D-RES.6: only launches are timed where only these are wanted, and a loop that the host leads
// needs no more timers the longer it is.
TEST_F(CudaInFlight, TimersAreUsedAgainInLoops) {
  open();
  bind({{1, 0}});
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch&) {
    std::this_thread::sleep_for(100us);
    return 0;
  });
  const std::vector<Step> steps = {SetWord{.to = word(0), .value = 2},
                                   Repeat{.body_steps = 1, .most = 40, .until_zero = word(1)},
                                   launch(kOne)};
  EXPECT_EQ(run(steps)->launches, 40u);
  const uint64_t events = fake_cuda().live().events;
  const auto launches = run(steps, {.measure = Measure::Launches});
  ASSERT_TRUE(launches);
  EXPECT_GE(launches->timings.device_ns.value_or(0), 40 * 90'000u);
  EXPECT_TRUE(launches->steps.empty());
  EXPECT_LE(fake_cuda().live().events, events + 3);
  const auto all = run(steps, {.measure = Measure::Steps});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->steps.size(), 41u);
  uint64_t sum = 0;
  for (size_t i = 1; i < all->steps.size(); ++i) {
    EXPECT_EQ(all->steps[i].step, 2u);
    sum += all->steps[i].end_ns - all->steps[i].begin_ns;
  }
  EXPECT_EQ(sum, all->timings.device_ns);
}

// ---- a lost device

TEST_F(CudaInFlight, AKernelThatBreaksTheContextLosesTheDevice) {
  open();
  bind({{1}});
  fake_cuda().on_kernel("vyre_entry_0", [this](const cuda::FakeLaunch&) {
    while (!go_) std::this_thread::yield();
    return 700;
  });
  uint32_t failed_step = 9;
  const auto ticket = submit({SetWord{.to = word(0)}, launch(kOne)}, {.failed_step = &failed_step});
  ASSERT_TRUE(ticket);
  go_ = true;
  const auto lost = device_->wait(*ticket);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::DeviceLost);
  EXPECT_THAT(lost.error().message,
              HasSubstr("work on device `cuda` failed with CUDA_ERROR_ILLEGAL_ADDRESS (700) from "
                        "cuEventQuery: an illegal memory access was encountered. Fix: recover()"));
  EXPECT_EQ(failed_step, 1u);
  EXPECT_TRUE(device_->is_lost());
  EXPECT_FALSE(device_->allocate(4));

  const Buffer old = std::move(buffers_[0]);
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch&) { return 0; });
  ASSERT_TRUE(device_->recover());
  EXPECT_EQ(fake_cuda().live().memory, 0u);
  EXPECT_EQ(fake_cuda().live().modules, 0u);
  EXPECT_EQ(fake_cuda().live().contexts, 1u);
  EXPECT_EQ(old.check_owner(*device_).error().code, ErrorCode::StaleHandle);
  buffers_.clear();
  code_ = *device_->load(fake_artifact());
  bind({{1}});
  expect_runs({launch(kOne)});
}

TEST_F(CudaInFlight, AContextThatStaysBrokenIsSaidSo) {
  fake_cuda().reset({.stays_broken = true});
  open();
  bind({{1}});
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch&) { return 719; });
  EXPECT_THAT(failure({launch(kOne)}), HasSubstr("DeviceLost"));
  const auto back = device_->recover();
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(back.error().message, HasSubstr("Fix: restart the process"));
  EXPECT_TRUE(device_->is_lost());
  fake_cuda().reset({});
  EXPECT_TRUE(device_->recover());
  code_ = *device_->load(fake_artifact());
  bind({{1}});
  expect_runs({launch(kOne)});
}

TEST_F(CudaInFlight, RecoveryStopsWhatRuns) {
  open();
  bind({{1}});
  endless(kOne, 1);
  const auto ticket = submit({launch(kOne)});
  ASSERT_TRUE(ticket);
  await_running();
  ASSERT_TRUE(device_->recover());
  EXPECT_FALSE(device_->wait(*ticket));
}

}  // namespace
}  // namespace vyre::backend
