// SPDX-License-Identifier: Apache-2.0
// A kernel that never ends and polls nothing. Whoever waits gets Timeout soon after its deadline,
// the device is lost, nothing that the kernel may use is freed, and nothing waits for it any more.
// The limits on time are those of a loaded machine; a failure would be a test that never ends.
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

class CudaHang : public CudaTest {
 protected:
  ~CudaHang() override {
    go_ = true;
    await_running(0);
    close();
    fake_cuda().sweep();
  }
  // Ends when the test says so, and not before. Then it writes to all that it was launched with.
  void hang(uint32_t kernel, bool writes = true) {
    const std::string name = fmt::format("vyre_entry_{}", kernel);
    fake_cuda().on_kernel(name, [this, writes](const cuda::FakeLaunch& x) {
      const Parameters p(x);
      ++running_;
      while (!go_) std::this_thread::sleep_for(200us);
      for (const KernelBinding& binding : p.bindings)
        if (writes && binding.length != 0)  // as another kernel may
          std::atomic_ref(*reinterpret_cast<uint32_t*>(binding.address)).store(77);
      std::atomic_ref(p.control().stop.site).store(1);
      --running_;
      return 0;
    });
  }
  void await_running(int count = 1) const {
    while (running_ != count) std::this_thread::yield();
  }
  // A device with a kernel that was abandoned.
  void open_hung() {
    open();
    bind({{1, 2}});
    hang(kOne);
    ASSERT_FALSE(run({launch(kOne)}, {.deadline = Clock::now() + 5ms}));
    ASSERT_TRUE(device_->is_lost());
  }
  static void expect_soon(Clock::time_point since) { EXPECT_LT(Clock::now() - since, 5s); }
  static void expect_hung(const Result<Completion>& done) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::Timeout) << to_string(done.error());
    EXPECT_THAT(done.error().message, HasSubstr("and the device is lost: "));
    EXPECT_THAT(done.error().message, HasSubstr("did not end within 500 ms of being told to stop"));
    EXPECT_THAT(done.error().message, HasSubstr("Fix: restart the process"));
  }

  std::atomic<bool> cancel_ = false;
  std::atomic<int> running_ = 0;
  std::atomic<bool> go_ = false;
};

// ---- the caller

TEST_F(CudaHang, TheDeadlineEndsTheWaitAndTheDeviceIsLost) {
  open();
  bind({{1}});
  hang(kOne);
  uint32_t failed_step = 9;
  const auto began = Clock::now();
  const auto done = run({SetWord{.to = word(0), .value = 1}, launch(kOne)},
                        {.deadline = began + 100ms, .failed_step = &failed_step});
  expect_soon(began);
  EXPECT_GE(Clock::now() - began, 100ms + cuda::SubmissionTracker::kGrace);
  expect_hung(done);
  EXPECT_THAT(done.error().message, HasSubstr("ran longer than its time limit"));
  EXPECT_THAT(done.error().message, HasSubstr("the kernel of `kernel 0` on device `cuda`"));
  EXPECT_EQ(failed_step, 1u);
  EXPECT_EQ(running_, 1);

  // Every call gets the reason, at once.
  ASSERT_TRUE(device_->is_lost());
  EXPECT_EQ(device_->losses(), 1u);
  const auto again = Clock::now();
  for (const auto& error :
       {run({launch(kOne)}).error(), device_->allocate(4).error(),
        device_->load(fake_artifact()).error(), device_->check_usable().error()}) {
    EXPECT_EQ(error.code, ErrorCode::DeviceLost);
    EXPECT_THAT(error.message, HasSubstr("the kernel of `kernel 0` on device `cuda` did not end"));
  }
  EXPECT_LT(Clock::now() - again, 1s);
}

TEST_F(CudaHang, CancelEndsTheWait) {
  open();
  bind({{1}});
  hang(kOne);
  std::atomic<bool> cancel = false;
  const Step step = launch(kOne);
  const auto ticket = device_->submit({.steps = {&step, 1}, .cancel = &cancel});
  ASSERT_TRUE(ticket);
  await_running();
  const auto began = Clock::now();
  cancel = true;
  const auto done = device_->wait(*ticket);
  expect_soon(began);
  expect_hung(done);
  EXPECT_THAT(done.error().message, HasSubstr("was cancelled"));
}

// A submission that needs a word, a grid or a long transfer behind the kernel waits itself.
TEST_F(CudaHang, SubmissionsThatWaitEndToo) {
  Words host(100'000);
  for (int kind = 0; kind < 6; ++kind) {
    SCOPED_TRACE(kind);
    go_ = false;
    open();
    bind({{1, 1, 1}, Words(100'000)});
    hang(kOne);
    Launch indirect = launch(kTwo);
    indirect.grid_from = word(0);
    const std::vector<std::vector<Step>> steps = {
        {launch(kOne), Exit{.word = word(0), .value = 9}},
        {launch(kOne), indirect},
        {launch(kOne), to_host(buffers_[1].whole(), host.data())},
        {launch(kOne), to_device(buffers_[1].whole(), host.data())},
        {While{.condition_steps = 0, .body_steps = 1, .word = word(0)}, launch(kOne)},
        {Repeat{.body_steps = 1, .most = 3, .until_zero = word(0)}, launch(kOne)}};
    const auto began = Clock::now();
    const Submission submission{.steps = steps[static_cast<size_t>(kind)],
                                .deadline = began + 200ms};
    const auto ticket = device_->submit(submission);
    expect_soon(began);
    ASSERT_FALSE(ticket);
    EXPECT_EQ(ticket.error().code, ErrorCode::Timeout) << to_string(ticket.error());
    EXPECT_THAT(ticket.error().message, HasSubstr("did not end within 500 ms"));
    EXPECT_TRUE(device_->is_lost());
    go_ = true;
    await_running(0);
    while (!device_->recover()) std::this_thread::sleep_for(1ms);
    close();
    EXPECT_TRUE(fake_cuda().live() == cuda::FakeLive{});
  }
}

// The driver takes so many calls behind a kernel, and then the thread would stay there.
TEST_F(CudaHang, ManyStepsBehindIt) {
  open();
  bind({{1}});
  hang(kOne);
  std::vector<Step> steps(3000, SetWord{.to = word(0), .value = 1});
  steps[0] = launch(kOne);
  const auto began = Clock::now();
  expect_hung(run(steps, {.deadline = began + 100ms}));
  expect_soon(began);
  EXPECT_LE(std::ranges::count(fake_cuda().record(), "cuMemsetD32Async"), 500);
}

TEST_F(CudaHang, ManySubmissionsBehindIt) {
  open();
  bind({{1}});
  hang(kOne);
  const Step first = launch(kOne);
  const auto slow = device_->submit({.steps = {&first, 1}});
  ASSERT_TRUE(slow);
  await_running();
  const std::vector<Step> steps(20, SetWord{.to = word(0), .value = 1});
  const auto began = Clock::now();
  std::vector<Ticket> given;
  std::thread other([&] {
    std::this_thread::sleep_for(100ms);
    cancel_ = true;
  });
  // Nobody has told the first one to stop, so nothing is lost; but no call waits for it for ever.
  while (given.size() < 200 && !cancel_) {
    const auto ticket = device_->submit({.steps = steps, .cancel = &cancel_});
    ASSERT_TRUE(ticket);
    given.push_back(*ticket);
  }
  other.join();
  expect_soon(began);
  EXPECT_LT(given.size(), 50u);
  EXPECT_FALSE(device_->is_lost());
  go_ = true;
  EXPECT_TRUE(device_->wait(*slow));
  for (const Ticket ticket : given) EXPECT_FALSE(device_->wait(ticket));
}

// Work that nobody told to stop may take its time, and so has what is behind it.
TEST_F(CudaHang, WorkWithoutALimitIsNoReasonToLoseTheDevice) {
  open();
  bind({{1}});
  hang(kOne);
  const Step first = launch(kOne);
  const auto slow = device_->submit({.steps = {&first, 1}});
  ASSERT_TRUE(slow);
  const Step second = launch(kTwo, {0, 1, 1});
  const auto behind = device_->submit({.steps = {&second, 1}, .deadline = Clock::now() + 100ms});
  ASSERT_TRUE(behind);
  const auto other = device_->submit(
      {.steps = {&second, 1}, .queue = 1, .after = {&*slow, 1}, .deadline = Clock::now() + 100ms});
  ASSERT_TRUE(other);
  EXPECT_FALSE(device_->wait(*behind, Clock::now() + 800ms));
  EXPECT_FALSE(device_->is_lost());
  go_ = true;
  EXPECT_TRUE(device_->wait(*slow));
  for (const Ticket ticket : {*behind, *other}) {
    const auto done = device_->wait(ticket);
    EXPECT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::Timeout);
  }
  EXPECT_FALSE(device_->is_lost());
}

TEST_F(CudaHang, OthersThatWaitGetTheLoss) {
  open();
  bind({{1}});
  hang(kOne);
  const Step step = launch(kOne);
  const auto hangs = device_->submit({.steps = {&step, 1}, .deadline = Clock::now() + 300ms});
  ASSERT_TRUE(hangs);
  await_running();
  const auto other = device_->submit({.steps = {&step, 1}, .queue = 1});
  ASSERT_TRUE(other);
  const auto began = Clock::now();
  Result<Completion> waited;
  std::thread waits([&] { waited = device_->wait(*other); });
  const auto done = device_->wait(*hangs);
  waits.join();
  expect_soon(began);
  expect_hung(done);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::DeviceLost);
}

TEST_F(CudaHang, TheEnvironmentSaysHowLong) {
  setenv(cuda::kGraceVariable, "50", 1);
  open();
  unsetenv(cuda::kGraceVariable);
  bind({{1}});
  hang(kOne);
  const auto done = run({launch(kOne)}, {.deadline = Clock::now() + 100ms});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("did not end within 50 ms of being told to stop"));
}

// ---- calls that the driver returns from only when nothing runs

// Loading code keeps everybody else from the device in the driver, also who would store `cancel`.
TEST_F(CudaHang, LoadingCodeDoesNotKeepAKernelFromBeingStopped) {
  open();
  bind({{1}});
  fake_cuda().on_kernel("vyre_entry_0", [this](const cuda::FakeLaunch& x) {
    const Parameters p(x);
    ++running_;
    while (!p.cancelled()) std::this_thread::yield();
    p.control().stop = {.kind = KernelStop::Kind::Loop, .site = 3, .lane = 5};
    --running_;
    return 0;
  });
  const Step step = launch(kOne);
  const auto ticket = device_->submit({.steps = {&step, 1}, .deadline = Clock::now() + 50ms});
  ASSERT_TRUE(ticket);
  await_running();
  std::thread loads([&] { EXPECT_TRUE(device_->load(fake_artifact())); });
  const auto done = device_->wait(*ticket);
  loads.join();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "kernel 0 in a loop site 3 lane 5");
  EXPECT_FALSE(device_->is_lost());
}

// Nor is it waited for if nobody waits for the work.
TEST_F(CudaHang, LoadingCodeChecksTimeLimits) {
  open();
  bind({{1}});
  hang(kOne);
  const Step step = launch(kOne);
  ASSERT_TRUE(device_->submit({.steps = {&step, 1}, .deadline = Clock::now() + 100ms}));
  await_running();
  const auto began = Clock::now();
  const auto loaded = device_->load(fake_artifact());
  expect_soon(began);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::DeviceLost);
  EXPECT_THAT(loaded.error().message, HasSubstr("did not end within 500 ms"));
  EXPECT_TRUE(device_->is_lost());
}

TEST_F(CudaHang, FreesDoNotWait) {
  open();
  bind({{1, 2}});
  hang(kOne);
  Buffer pinned = *device_->allocate(4, Memory::Staging);
  Buffer control = *device_->allocate(4, Memory::Control);
  Buffer plain = *device_->allocate(4);
  LoadedArtifact code = *device_->load(fake_artifact());
  const Step step = launch(kOne);
  const auto ticket = device_->submit({.steps = {&step, 1}});
  ASSERT_TRUE(ticket);
  await_running();
  const auto before = fake_cuda().live();
  const auto began = Clock::now();
  pinned.free();
  control.free();
  plain.free();
  code = {};
  expect_soon(began);
  EXPECT_EQ(fake_cuda().live().host_memory, before.host_memory);
  EXPECT_EQ(fake_cuda().live().modules, before.modules);
  go_ = true;
  EXPECT_TRUE(device_->wait(*ticket));
  // What was left is freed as soon as nothing runs.
  EXPECT_EQ(fake_cuda().live().host_memory, before.host_memory - 2);
  EXPECT_EQ(fake_cuda().live().modules, before.modules - 1);
}

// Not without end: from some number on a free waits for a moment without work.
TEST_F(CudaHang, FreesDoNotPileUp) {
  open();
  bind({{1, 2}});
  hang(kOne);
  std::vector<Buffer> pinned;
  for (int i = 0; i < 100; ++i) pinned.push_back(*device_->allocate(4, Memory::Staging));
  const Step step = launch(kOne);
  const auto ticket = device_->submit({.steps = {&step, 1}});
  ASSERT_TRUE(ticket);
  await_running();
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    go_ = true;
  });
  pinned.clear();
  later.join();
  EXPECT_LE(fake_cuda().live().host_memory, 64u);
  EXPECT_TRUE(device_->wait(*ticket));
}

// A graph of many nodes is made while nothing runs. Else the steps go to the stream.
TEST_F(CudaHang, GraphsAreNotMadeBehindAKernel) {
  open();
  bind({{1}});
  hang(kBarrier);
  const Step slow = launch(kBarrier);
  const auto ticket =
      device_->submit({.steps = {&slow, 1}, .queue = 1, .deadline = Clock::now() + 1s});
  ASSERT_TRUE(ticket);
  await_running();
  const std::vector<Step> many(100, launch(kOne));
  for (uint64_t key = 1; key < 4; ++key) EXPECT_TRUE(run(many, {.replay_key = key}));
  EXPECT_EQ(std::ranges::count(fake_cuda().record(), "cuGraphInstantiateWithFlags"), 0);
  expect_hung(device_->wait(*ticket));
}

TEST_F(CudaHang, AComparisonIsLoadedBeforeTheWork) {
  open();
  bind({{1}, {1}});
  hang(kOne);
  const auto began = Clock::now();
  const std::vector<Step> steps = {
      launch(kOne),
      Compare{.a = buffers_[0].whole(), .b = buffers_[1].whole(), .differs = word(0)}};
  expect_hung(run(steps, {.deadline = began + 100ms}));
  expect_soon(began);
}

// ---- afterwards

// The kernel writes to its buffers, its control block and staging memory when all of them are long
// closed. AddressSanitizer sees it if one of them was freed.
TEST_F(CudaHang, NothingThatTheKernelMayUseIsFreed) {
  open();
  bind({{1, 2}});
  hang(kOne);
  uint32_t in = 5;
  uint32_t out = 6;
  const std::vector<Step> steps = {to_device(*buffers_[0].region(0, 4), &in), launch(kOne),
                                   to_host(*buffers_[0].region(0, 4), &out)};
  expect_hung(run(steps, {.deadline = Clock::now() + 100ms}));
  const auto before = fake_cuda().live();
  const auto began = Clock::now();
  close();
  expect_soon(began);
  cuda::FakeLive after = fake_cuda().live();
  EXPECT_TRUE(after == before);
  EXPECT_EQ(after.contexts, 1u);
  EXPECT_GE(after.memory, 2u);       // the buffer and the control blocks
  EXPECT_GE(after.host_memory, 2u);  // staging memory
  EXPECT_GE(after.modules, 1u);
  go_ = true;
  await_running(0);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(out, 6u);  // nobody writes to the caller's bytes any more
}

TEST_F(CudaHang, ADeviceWithUnawaitedWorkIsClosed) {
  open();
  bind({{1}});
  hang(kOne, false);  // who frees a buffer that work uses has waited for the work
  const Step step = launch(kOne);
  ASSERT_TRUE(device_->submit({.steps = {&step, 1}}));
  await_running();
  const auto began = Clock::now();
  close();
  expect_soon(began);
  EXPECT_EQ(fake_cuda().live().contexts, 1u);
}

TEST_F(CudaHang, RecoverySaysThatTheKernelRuns) {
  open_hung();
  const auto began = Clock::now();
  const auto back = device_->recover();
  EXPECT_LT(Clock::now() - began, 1s);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::DeviceLost);
  EXPECT_TRUE(device_->is_lost());
  EXPECT_EQ(std::ranges::count(fake_cuda().record(), "cuDevicePrimaryCtxReset_v2"), 0);
  EXPECT_EQ(fake_cuda().live().contexts, 1u);
  buffers_.clear();
  EXPECT_EQ(device_->recover().error().code, ErrorCode::DeviceLost);
}

TEST_F(CudaHang, RecoveryWorksWhenTheKernelHasEnded) {
  open_hung();
  EXPECT_FALSE(device_->recover());
  Buffer old = std::move(buffers_[0]);
  buffers_.clear();
  code_ = {};  // both are kept
  go_ = true;
  await_running(0);
  while (!device_->recover()) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(old.check_owner(*device_).error().code, ErrorCode::StaleHandle);
  old.free();
  EXPECT_EQ(fake_cuda().live().memory, 0u);
  EXPECT_EQ(fake_cuda().live().modules, 0u);
  code_ = *device_->load(fake_artifact());
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch&) { return 0; });
  bind({{1, 2}});
  expect_runs({launch(kOne)});
  EXPECT_THAT(read(0), ElementsAre(1, 2));
  close();
  EXPECT_TRUE(fake_cuda().live() == cuda::FakeLive{});
}

// Recovery of a device that works stops what runs, and does not wait for what does not stop.
TEST_F(CudaHang, RecoveryOfAWorkingDeviceDoesNotWaitForEver) {
  open();
  bind({{1}});
  hang(kOne);
  const Step step = launch(kOne);
  ASSERT_TRUE(device_->submit({.steps = {&step, 1}}));
  await_running();
  const auto began = Clock::now();
  const auto back = device_->recover();
  expect_soon(began);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::DeviceLost);
  EXPECT_THAT(back.error().message, HasSubstr("still runs on device `cuda`, and 1 buffers of 4 "
                                              "bytes that it may use are kept. Fix: restart"));
  EXPECT_TRUE(device_->is_lost());
}

TEST_F(CudaHang, TheDeviceIsNotOpenedAgainWhileTheKernelRuns) {
  open_hung();
  close();
  const auto refused = open_cuda();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::DeviceLost);
  EXPECT_THAT(refused.error().message, HasSubstr("Fix: restart the process"));
  go_ = true;
  await_running(0);
  while (!open_cuda()) std::this_thread::sleep_for(1ms);
}

// ---- a context that others use

TEST_F(CudaHang, AContextThatOthersHadIsNotReset) {
  fake_cuda().reset({.context_in_use = true});
  open();
  bind({{1}});
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch&) { return 700; });
  EXPECT_THAT(failure({launch(kOne)}), HasSubstr("DeviceLost"));
  const auto back = device_->recover();
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::DeviceLost);
  EXPECT_THAT(back.error().message, HasSubstr("others in this process use its context"));
  EXPECT_THAT(back.error().message, HasSubstr("Fix: restart the process"));
  EXPECT_EQ(std::ranges::count(fake_cuda().record(), "cuDevicePrimaryCtxReset_v2"), 0);
}

TEST_F(CudaHang, WithoutAResetADeviceComesBackIfItsContextIsSound) {
  fake_cuda().reset({.context_in_use = true});
  open_hung();
  go_ = true;
  await_running(0);
  while (!device_->recover()) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(std::ranges::count(fake_cuda().record(), "cuDevicePrimaryCtxReset_v2"), 0);
  code_ = *device_->load(fake_artifact());
  bind({{1}});
  go_ = true;
  expect_runs({launch(kOne)});
}

TEST_F(CudaHang, TwoDevicesOfOneGpuDoNotResetEachOther) {
  open();
  const auto other = open_cuda();
  ASSERT_TRUE(other);
  const Buffer buffer = *(*other)->allocate(4);
  ASSERT_TRUE(device_->recover());
  EXPECT_EQ(std::ranges::count(fake_cuda().record(), "cuDevicePrimaryCtxReset_v2"), 0);
}

}  // namespace
}  // namespace vyre::backend
