// SPDX-License-Identifier: Apache-2.0
// Asynchronous dispatches of programs that are split at their grid barriers: the call returns
// before the work is done, whoever drives the segments.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using backend::NullCall;
using backend::NullLaunch;
using testing::Contains;
using testing::ElementsAre;
using namespace std::chrono_literals;

// Work that is held here goes on when it is let go, or after a time: a call that waits for it then
// returns with the work done, which the test sees.
class Gate {
 public:
  void hold() {
    ++waiting_;
    const auto end = std::chrono::steady_clock::now() + 3s;
    while (!open_ && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(100us);
  }
  void open() { open_ = true; }
  // Whether somebody is held, now or within a time.
  [[nodiscard]] bool is_reached() const {
    for (int i = 0; i < 30'000 && waiting_ == 0; ++i) std::this_thread::sleep_for(100us);
    return waiting_ != 0;
  }

 private:
  std::atomic<bool> open_ = false;
  std::atomic<int> waiting_ = 0;
};

backend::NullOptions held_at(Gate& gate, uint32_t segment, bool resident) {
  auto options = split_options();
  options.info.capabilities.resident_buffers = resident;
  options.on_launch = [&gate, segment](const NullLaunch& launch) -> Result<void> {
    if (launch.launch.segment == segment) gate.hold();
    return on_word([](uint32_t word) { return word + 1; })(launch);
  };
  return options;
}

// D-LIFE.2: on the queue's thread, at any segment; everything of the caller may be gone by then.
TEST(SplitAsync, TheCallReturnsWhileASegmentRuns) {
  for (const bool resident : {true, false}) {
    for (const uint32_t segment : {0U, 1U}) {
      SCOPED_TRACE(testing::Message() << (resident ? "resident" : "host") << ", " << segment);
      Gate gate;
      const auto backend = backend::open_null(held_at(gate, segment, resident));
      Pending pending;
      {
        const Device device = over(backend);
        const Pipeline two = compile(device, kTwoSegments);
        std::vector<uint32_t> input = {40};
        const std::vector<Argument> inputs = {input};
        auto started = two.dispatch_async({.inputs = inputs});
        ASSERT_TRUE(started) << to_string(started.error());
        pending = *started;
        input[0] = 1000;
      }
      ASSERT_TRUE(gate.is_reached());
      EXPECT_EQ(backend->launches(), segment + 1U) << "later segments wait for this one";
      EXPECT_FALSE(pending.is_ready());
      const auto early = pending.wait(std::chrono::steady_clock::now() + 1ms);
      ASSERT_FALSE(early);
      EXPECT_EQ(early.error().code, ErrorCode::Timeout);
      gate.open();
      const auto done = pending.wait();
      ASSERT_TRUE(done) << to_string(done.error());
      EXPECT_EQ(done->report.route, resident ? plan::Route::Resident : plan::Route::Host);
      EXPECT_EQ(done->report.launches, 2U);
      EXPECT_THAT(words(done->outputs[0]), ElementsAre(42));
    }
  }
}

// D-LIFE.2: and others go on meanwhile, also one of the same pipeline.
TEST(SplitAsync, OtherQueuesAreFree) {
  Gate gate;
  auto options = split_options();
  options.on_launch = [&gate](const NullLaunch& launch) -> Result<void> {
    if (words(launch.arguments[0])[0] == 40) gate.hold();
    return on_word([](uint32_t word) { return word + 1; })(launch);
  };
  Fake fake(options);
  const Pipeline two = compile(fake.device, kTwoSegments);
  const std::vector<uint32_t> held = {40};
  const std::vector<Argument> inputs = {held};
  auto pending = two.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(pending && gate.is_reached());
  const auto other = two.dispatch({std::vector<uint32_t>{7}}, {.queue = 1});
  ASSERT_TRUE(other) << to_string(other.error());
  EXPECT_THAT(words(other->outputs[0]), ElementsAre(9));
  EXPECT_FALSE(pending->is_ready());
  gate.open();
  const auto done = pending->wait();
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_THAT(words(done->outputs[0]), ElementsAre(42));
}

// D-LIFE.2: where the device works on its own, all segments are given to it in one submission, and
// several dispatches at once.
TEST(SplitAsync, ADeviceThatWorksOnItsOwnGetsAllSegments) {
  Gate gate;
  std::atomic<bool> holds = false;
  auto options = split_options();
  options.info.capabilities.async_compute = true;
  options.on_launch = [&](const NullLaunch& launch) -> Result<void> {
    if (holds) gate.hold();
    return on_word([](uint32_t word) { return word + 1; })(launch);
  };
  Fake fake(options);
  const Pipeline two = compile(fake.device, kTwoSegments);
  const Buffer buffer = *fake.device.upload(bytes_of_words({40}));
  const std::vector<Argument> inputs = {buffer};
  // The first one makes the thread of the queue.
  auto first = two.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(first && first->wait() && fake.device.flush());
  fake.backend->clear_record();
  const uint64_t before = fake.backend->launches();
  holds = true;
  std::vector<Pending> pending;
  for (int i = 0; i < 3; ++i) pending.push_back(*two.dispatch_async({.inputs = inputs}));
  EXPECT_EQ(std::ranges::count(fake.backend->record(), NullCall::Kind::Submit, &NullCall::kind), 3);
  EXPECT_LE(fake.backend->launches() - before, 1U) << "the thread may have begun with the first";
  for (const Pending& p : pending) EXPECT_FALSE(p.is_ready());
  gate.open();
  for (Pending& p : pending) {
    const auto done = p.wait();
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_EQ(done->report.route, plan::Route::Resident);
    EXPECT_EQ(done->report.launches, 2U);
  }
  EXPECT_THAT(words(*fake.device.read(buffer)), ElementsAre(48));
}

// D-LIFE.2: where the host takes part between segments, it is not the caller's thread that does.
TEST(SplitAsync, TheHostsPartIsNotTheCallers) {
  for (const bool resident : {true, false}) {
    SCOPED_TRACE(resident);
    backend::ReferenceOptions options;
    options.whole_programs = options.grid_barrier = options.device_loops = false;
    options.resident_buffers = resident;
    const Pipeline resumes = compile(reference(options), R"(program resumes {
      workgroup 1;
      over 1;
      inout a : u32[];
      if a[0] == 2 { trap(1, a[0]); }
      a[0] = a[0] + 10;
      resume(1);
      a[0] = a[0] + 100;
    })");
    Gate gate;
    std::atomic<std::thread::id> handled_by;
    const auto handler = std::make_shared<const TrapHandler>(
        [&](std::span<const TrapReport>, HandlerBuffers&) -> Result<void> {
          handled_by = std::this_thread::get_id();
          gate.hold();
          return {};
        });
    const std::vector<uint32_t> two = {2};
    const std::vector<Argument> inputs = {two};
    auto pending = resumes.dispatch_async({.inputs = inputs}, {.trap_handler = handler});
    ASSERT_TRUE(pending) << to_string(pending.error());
    ASSERT_TRUE(gate.is_reached());
    EXPECT_FALSE(pending->is_ready());
    EXPECT_NE(handled_by.load(), std::this_thread::get_id());
    gate.open();
    const auto done = pending->wait();
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_THAT(words(done->outputs[0]), ElementsAre(102));
  }
}

// D-LIFE.2: what a later segment does wrong comes when it is waited for, with its number.
TEST(SplitAsync, ErrorsOfASegmentComeWithTheWait) {
  for (const bool on_its_own : {false, true}) {
    SCOPED_TRACE(on_its_own);
    auto options = split_options();
    options.info.capabilities.async_compute = on_its_own;
    Fake fake(options);
    const Pipeline two = compile(fake.device, kTwoSegments);
    const std::vector<uint32_t> zero = {0};
    const std::vector<Argument> inputs = {zero};
    // Also when the queue has its thread.
    for (int i = 0; i < 2; ++i) {
      fake.backend->fail_calls_like(NullCall::Kind::Launch, 1,
                                    Error{.code = ErrorCode::DispatchFailed,
                                          .message = "code 719. Fix: none",
                                          .context = {},
                                          .at = {},
                                          .diagnostics = {}});
      auto pending = two.dispatch_async({.inputs = inputs});
      ASSERT_TRUE(pending) << to_string(pending.error());
      const auto result = pending->wait();
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, ErrorCode::DispatchFailed);
      EXPECT_THAT(result.error().context, Contains("segment 1 of 2"));
      auto next = two.dispatch_async({.inputs = inputs});
      ASSERT_TRUE(next);
      EXPECT_TRUE(next->wait());
    }
  }
}

}  // namespace
}  // namespace vyre::run
