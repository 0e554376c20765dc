// SPDX-License-Identifier: Apache-2.0
// Losing and recovering devices, and dispatches that run on their own.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using backend::NullCall;
using backend::NullLaunch;
using testing::ElementsAre;
using testing::HasSubstr;

// D-LIFE.1
TEST(Life, ALostDeviceSaysSoOnceAndStaysLost) {
  auto options = split_options();
  options.on_launch = on_word([](uint32_t word) { return word + 1; });
  Fake fake(options);
  const Pipeline two = compile(fake.device, kTwoSegments);
  const std::vector<uint32_t> zero = {0};
  const Buffer old = *fake.device.allocate(4);
  ASSERT_TRUE(two.dispatch({zero}));
  fake.backend->fail_calls_like(NullCall::Kind::Launch, 1,
                                Error{.code = ErrorCode::DeviceLost,
                                      .message = "the device fell off the bus. Fix: recover()",
                                      .context = {},
                                      .at = {},
                                      .diagnostics = {}});
  const auto first = two.dispatch({zero});
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::DeviceLost);
  EXPECT_THAT(to_string(first.error()), HasSubstr("program `two`"));
  EXPECT_THAT(first.error().context, testing::Contains("segment 1 of 2"));
  EXPECT_TRUE(fake.device.is_lost());

  const uint64_t calls = fake.backend->calls();
  const auto second = two.dispatch({zero});
  ASSERT_FALSE(second);
  EXPECT_EQ(to_string(second.error()), to_string(first.error()));
  const auto read = fake.device.read(old);
  ASSERT_FALSE(read);
  EXPECT_EQ(to_string(read.error()), to_string(first.error()));
  EXPECT_FALSE(fake.device.allocate(4));
  EXPECT_EQ(fake.backend->calls(), calls) << "nobody asks a lost device";

  ASSERT_TRUE(fake.device.recover());
  EXPECT_FALSE(fake.device.is_lost());
  const auto stale_pipeline = two.dispatch({zero});
  ASSERT_FALSE(stale_pipeline);
  EXPECT_EQ(stale_pipeline.error().code, ErrorCode::StaleHandle);
  EXPECT_THAT(stale_pipeline.error().message, HasSubstr("generation 1"));
  const auto stale_buffer = fake.device.read(old);
  ASSERT_FALSE(stale_buffer);
  EXPECT_EQ(stale_buffer.error().code, ErrorCode::StaleHandle);
  const auto again = compile(fake.device, kTwoSegments).dispatch({zero});
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_THAT(words(again->outputs[0]), ElementsAre(2));
  EXPECT_EQ(fake.device.telemetry().device_lost, 1U);
  EXPECT_EQ(fake.device.telemetry().recoveries, 1U);
}

// D-LIFE.1
TEST(Life, PrepareFlushAndShutdown) {
  const Device device = reference();
  ASSERT_TRUE(device.prepare());
  const Pipeline two = compile(device, kTwoSegments);
  const std::vector<uint32_t> zero = {0};
  const std::vector<Argument> inputs = {zero};
  auto pending = two.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(pending);
  ASSERT_TRUE(device.flush());
  EXPECT_TRUE(pending->is_ready());
  ASSERT_TRUE(device.shutdown());
  EXPECT_TRUE(pending->wait()) << "what was done before is still there";
  const auto late = two.dispatch({zero});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::PoisonedState);
  EXPECT_FALSE(device.allocate(4));
  EXPECT_FALSE(device.recover());
}

// D-LIFE.2
TEST(Life, AnAsynchronousDispatchOwnsWhatItNeeds) {
  for (const bool split : {false, true}) {
    backend::ReferenceOptions options;
    options.whole_programs = options.grid_barrier = !split;
    std::optional<Pending> pending;
    {
      const Device device = reference(options);
      const Pipeline two = compile(device, kTwoSegments);
      std::vector<uint32_t> input = {40};
      const std::vector<Argument> inputs = {input};
      pending = *two.dispatch_async({.inputs = inputs});
      input[0] = 0;
    }
    const auto result = pending->wait();
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_THAT(words(result->outputs[0]), ElementsAre(42));
    const auto twice = pending->wait();
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code, ErrorCode::InvalidArgument);
  }
}

// D-LIFE.2: errors of arguments at once, of the device when it is waited for.
TEST(Life, ErrorsOfAnAsynchronousDispatch) {
  auto options = split_options();
  Fake fake(options);
  const Pipeline two = compile(fake.device, kTwoSegments);
  const auto started = two.dispatch_async({});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::InvalidArgument);
  fake.backend->fail_calls_like(NullCall::Kind::Submit, 0,
                                Error{.code = ErrorCode::DispatchFailed,
                                      .message = "no. Fix: none",
                                      .context = {},
                                      .at = {},
                                      .diagnostics = {}});
  const std::vector<uint32_t> zero = {0};
  const std::vector<Argument> inputs = {zero};
  auto pending = two.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(pending);
  const auto result = pending->wait();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::DispatchFailed);
}

// D-LIFE.2
TEST(Life, WaitingHasADeadlineAndKeepsSlots) {
  backend::NullOptions options;
  std::atomic<bool> go = false;
  options.on_launch = [&](const NullLaunch& launch) -> Result<void> {
    while (!go) std::this_thread::yield();
    return on_word([](uint32_t word) { return word + 2; })(launch);
  };
  Fake fake(options);
  const Pipeline two = compile(fake.device, kTwoSegments);
  const std::vector<uint32_t> zero = {0};
  const std::vector<Argument> inputs = {zero};
  auto pending = two.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(pending);
  EXPECT_FALSE(pending->is_ready());
  Outputs slots(1);
  slots[0].reserve(16);
  const std::byte* const slot = slots[0].data();
  const auto early =
      pending->wait_into(slots, std::chrono::steady_clock::now() + std::chrono::milliseconds(5));
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::Timeout);
  go = true;
  const auto late = pending->wait_into(slots);
  ASSERT_TRUE(late) << to_string(late.error());
  EXPECT_THAT(words(slots[0]), ElementsAre(2));
  EXPECT_EQ(slots[0].data(), slot);
}

// D-LIFE.2
TEST(Life, ADroppedDispatchFinishesOnItsOwn) {
  for (const bool split : {false, true}) {
    SCOPED_TRACE(split);
    auto options = split ? split_options() : backend::NullOptions();
    std::atomic<int> ran = 0;
    options.on_launch = [&](const NullLaunch&) -> Result<void> {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++ran;
      return {};
    };
    const int launches = split ? 6 : 3;
    const auto backend = backend::open_null(options);
    {
      // The device, the pipeline and the handle all go before the work is done.
      const std::vector<uint32_t> zero = {0};
      const std::vector<Argument> inputs = {zero};
      const Device device = over(backend);
      const Pipeline two = compile(device, kTwoSegments);
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(two.dispatch_async({.inputs = inputs}));
      EXPECT_LT(ran, launches);
    }
    for (int i = 0; i < 2000 && (ran != launches || backend->live_buffers() != 0); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(ran, launches);
    EXPECT_EQ(backend->live_buffers(), 0U);
  }
}

TEST(Life, EndlessLoopsEndAtTheTimeout) {
  constexpr std::string_view kEndless = R"(program endless {
    workgroup 1;
    over 1;
    inout a : u32[];
    var x = a[0];
    while x == 0 { x = x * 2; }
    a[0] = x;
  })";
  constexpr std::string_view kEndlessLaunches = R"(program launches {
    workgroup 1;
    over 1;
    inout a : u32[];
    while grid_load(a[0]) == 0 { a[1] = a[1] + 1; }
  })";
  for (const std::string_view text : {kEndless, kEndlessLaunches}) {
    for (const bool split : {false, true}) {
      backend::ReferenceOptions options;
      options.whole_programs = options.grid_barrier = options.device_loops = !split;
      const Pipeline pipeline = compile(reference(options), text);
      const std::vector<uint32_t> zero = {0, 0};
      const auto start = std::chrono::steady_clock::now();
      const auto result = pipeline.dispatch({zero}, {.timeout = std::chrono::milliseconds(50)});
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, ErrorCode::Timeout) << to_string(result.error());
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
      // The pipeline is as good as before.
      const std::vector<uint32_t> one = {1, 0};
      EXPECT_TRUE(pipeline.dispatch({one}));
    }
  }
}

TEST(Life, ADispatchCanBeCancelled) {
  const Pipeline pipeline = compile(reference(), R"(program endless {
    workgroup 1;
    over 1;
    inout a : u32[];
    var x = a[0];
    while x == 0 { x = x * 2; }
  })");
  const std::vector<uint32_t> zero = {0};
  const std::vector<Argument> inputs = {zero};
  auto pending = pipeline.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(pending);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  pending->cancel();
  const auto result = pending->wait();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Timeout);
}

// Queues: work of one is in order, work of two is independent.
TEST(Life, QueuesAreInOrderAndIndependent) {
  backend::NullOptions options;
  std::atomic<bool> go = false;
  options.on_launch = [&](const NullLaunch& launch) -> Result<void> {
    while (!go && launch.arguments[0].size() == 8) std::this_thread::yield();
    return {};
  };
  Fake fake(options);
  const Pipeline two = compile(fake.device, kTwoSegments);
  const std::vector<uint32_t> held = {0, 0};
  const std::vector<Argument> inputs = {held};
  auto pending = two.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(pending);
  const std::vector<uint32_t> free = {0};
  EXPECT_TRUE(two.dispatch({free}, {.queue = 1})) << "queue 1 does not wait for queue 0";
  std::atomic<bool> done = false;
  std::thread behind([&] {
    EXPECT_TRUE(two.dispatch({free}));
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(done);
  go = true;
  behind.join();
  EXPECT_TRUE(pending->wait());
  const auto none = two.dispatch({free}, {.queue = 64});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace vyre::run
