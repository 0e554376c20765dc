// SPDX-License-Identifier: Apache-2.0
// Dispatches on a device that goes on working after a submission: nothing is done before somebody
// waits for it.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>

#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using backend::NullCall;
using backend::NullLaunch;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::string_view kAdd = R"(program add {
  workgroup 1;
  over 1;
  inout a : u32[];
  a[0] = a[0] + 1;
})";

// No kernel ends before it.
std::atomic<bool> g_go = true;
std::atomic<int> g_running = 0;

backend::NullOptions later() {
  backend::NullOptions options;
  options.info.capabilities.async_compute = true;
  options.on_launch = on_word([](uint32_t word) {
    ++g_running;
    while (!g_go) std::this_thread::yield();
    --g_running;
    return word + 1;
  });
  return options;
}

// The first one makes the thread of the queue, and is posted to it.
class Async : public testing::Test {
 protected:
  explicit Async(backend::NullOptions options = later()) : fake_(std::move(options)) {
    add_ = compile(fake_.device, kAdd);
    buffer_ = *fake_.device.upload(bytes_of_words({0}));
    inputs_.emplace_back(buffer_);
    auto first = add_.dispatch_async({.inputs = inputs_});
    EXPECT_TRUE(first && first->wait() && fake_.device.flush());
    fake_.backend->clear_record();
  }
  uint32_t value() { return words(*fake_.device.read(buffer_))[0]; }
  size_t calls(NullCall::Kind kind) {
    return static_cast<size_t>(std::ranges::count(fake_.backend->record(), kind, &NullCall::kind));
  }
  Pending start(const DispatchConfig& config = {}) {
    auto pending = add_.dispatch_async({.inputs = inputs_}, config);
    EXPECT_TRUE(pending) << to_string(pending.error());
    return pending ? *pending : Pending();
  }

  Fake fake_;
  Pipeline add_;
  Buffer buffer_;
  std::vector<Argument> inputs_;
};

TEST_F(Async, ManyAreUnderWayAtOnce) {
  g_go = false;
  std::vector<Pending> pending;
  for (int i = 0; i < 20; ++i) pending.push_back(start());
  EXPECT_EQ(calls(NullCall::Kind::Submit), 20u);
  EXPECT_FALSE(pending.back().is_ready());
  g_go = true;
  fake_.backend->do_work();
  EXPECT_TRUE(pending.back().is_ready());
  for (Pending& p : pending) {
    const auto done = p.wait();
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_EQ(done->report.launches, 1u);
  }
  EXPECT_EQ(value(), 21u);
  EXPECT_EQ(fake_.device.telemetry().dispatches, 21u);
}

// The order of a queue is that of the calls, whether they wait or not.
TEST_F(Async, WhatComesLaterSeesWhatCameBefore) {
  Pending first = start();
  Outputs slots;
  ASSERT_TRUE(add_.dispatch_into({.inputs = inputs_}, slots));
  Pending second = start();
  EXPECT_EQ(value(), 4u) << "a read waits for what was started";
  EXPECT_TRUE(second.is_ready());
  Pending third = start();
  ASSERT_TRUE(fake_.device.write(buffer_, bytes_of_words({40})));
  EXPECT_TRUE(third.is_ready()) << "so does a write";
  Pending fourth = start();
  ASSERT_TRUE(fake_.device.fill(buffer_, std::byte{1}));
  EXPECT_TRUE(fourth.is_ready());
  const SequenceItem item{.pipeline = add_, .arguments = {.inputs = inputs_}};
  Pending fifth = start();
  ASSERT_TRUE(fake_.device.run_sequence({&item, 1}, 2));
  EXPECT_EQ(value(), 0x01010104u);
  for (Pending* p : {&first, &second, &third, &fourth, &fifth}) EXPECT_TRUE(p->wait());
}

TEST_F(Async, MoreThanThereIsRoomFor) {
  std::vector<Pending> pending;
  for (int i = 0; i < 300; ++i) pending.push_back(start());
  for (Pending& p : pending) ASSERT_TRUE(p.wait());
  EXPECT_EQ(value(), 301u);
}

// Somebody always waits in the end: buffers can be freed, and the device closed.
TEST_F(Async, UnawaitedWorkIsFinished) {
  {
    const Pending dropped = start();
  }
  buffer_.free();  // waits for work that uses it
  EXPECT_EQ(fake_.backend->launches(), 2u);
  buffer_ = *fake_.device.upload(bytes_of_words({0}));
  Pending pending = start();
  add_ = {};
  fake_.device = {};
  const auto done = pending.wait();
  EXPECT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(fake_.backend->launches(), 3u);
}

TEST_F(Async, BytesOfTheHostAreCopied) {
  Outputs slots;
  std::vector<uint32_t> words_in = {7};
  std::vector<Pending> pending;
  for (uint32_t i = 0; i < 3; ++i) {
    words_in[0] = 10 * i;
    const std::vector<Argument> inputs = {words_in};
    pending.push_back(*add_.dispatch_async({.inputs = inputs}));
  }
  words_in[0] = 999;
  for (uint32_t i = 0; i < 3; ++i) {
    const auto done = pending[i].wait_into(slots);
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_THAT(words(slots[0]), ElementsAre(10 * i + 1));
  }
}

TEST_F(Async, FlushShutdownAndRecoveryWaitForIt) {
  Pending first = start();
  ASSERT_TRUE(fake_.device.flush());
  EXPECT_TRUE(first.is_ready());
  Pending second = start();
  ASSERT_TRUE(fake_.device.recover());
  EXPECT_TRUE(second.is_ready());
  EXPECT_TRUE(second.wait());
  add_ = compile(fake_.device, kAdd);
  buffer_ = *fake_.device.upload(bytes_of_words({0}));
  Pending third = start();
  ASSERT_TRUE(fake_.device.shutdown());
  EXPECT_TRUE(third.is_ready());
  EXPECT_TRUE(third.wait());
}

// D-LIFE.2
TEST_F(Async, ErrorsComeWhenItIsWaitedFor) {
  const auto failing = [&](NullCall::Kind kind) {
    fake_.backend->fail_calls_like(kind, 0,
                                   {.code = ErrorCode::DispatchFailed,
                                    .message = "it broke. Fix: mend it",
                                    .context = {},
                                    .at = {},
                                    .diagnostics = {}});
    Pending pending = start();
    const auto done = pending.wait();
    ASSERT_FALSE(done) << name_of(kind);
    EXPECT_THAT(to_string(done.error()), HasSubstr("it broke"));
    EXPECT_THAT(to_string(done.error()), HasSubstr("while running program `add`"));
    Pending next = start();
    EXPECT_TRUE(next.wait());
  };
  failing(NullCall::Kind::Submit);
  failing(NullCall::Kind::Launch);
  failing(NullCall::Kind::Wait);
}

TEST_F(Async, ADeadlineLeavesItAsItIs) {
  g_go = false;
  Pending pending = start();
  const auto early = pending.wait(std::chrono::steady_clock::now() + 1ms);
  g_go = true;
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::Timeout);
  fake_.backend->do_work();
  EXPECT_TRUE(pending.wait(std::chrono::steady_clock::now() + 10s));
}

// D-LIFE.2: work in front that takes its time does not keep a dispatch from its own time limit.
TEST_F(Async, ATimeLimitCountsBehindWorkThatWasStarted) {
  g_go = false;
  Pending slow = start();
  while (g_running == 0) std::this_thread::yield();
  const auto late = add_.dispatch(Arguments{.inputs = inputs_}, {.timeout = 50ms});
  std::atomic<bool> cancel = false;
  std::jthread other([&] {
    std::this_thread::sleep_for(20ms);
    cancel = true;
  });
  const auto cancelled = add_.dispatch(Arguments{.inputs = inputs_}, {.cancel = &cancel});
  g_go = true;
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::Timeout);
  EXPECT_THAT(late.error().message, HasSubstr("waited for work before it in its queue"));
  ASSERT_FALSE(cancelled);
  EXPECT_THAT(cancelled.error().message, HasSubstr("was cancelled"));
  EXPECT_TRUE(slow.wait());
  EXPECT_TRUE(add_.dispatch(Arguments{.inputs = inputs_}, {.timeout = 60s}));
  EXPECT_EQ(value(), 3u);
}

// Nor does a caller that runs its work. Who comes after those that gave up gets its turn.
TEST_F(Async, ATimeLimitCountsBehindOtherCallers) {
  g_go = false;
  std::jthread slow([&] { EXPECT_TRUE(add_.dispatch(Arguments{.inputs = inputs_})); });
  while (g_running == 0) std::this_thread::yield();
  for (int i = 0; i < 2; ++i) {
    const auto late = add_.dispatch(Arguments{.inputs = inputs_}, {.timeout = 20ms});
    ASSERT_FALSE(late);
    EXPECT_THAT(late.error().message, HasSubstr("waited for work before it in its queue"));
  }
  std::jthread next([&] { EXPECT_TRUE(add_.dispatch(Arguments{.inputs = inputs_})); });
  const auto late = add_.dispatch(Arguments{.inputs = inputs_}, {.timeout = 20ms});
  EXPECT_FALSE(late);
  g_go = true;
  slow.join();
  next.join();
  EXPECT_EQ(value(), 3u);
}

// Several threads may wait for one and the same, and start more meanwhile.
TEST_F(Async, ManyThreads) {
  std::atomic<uint32_t> ran = 1;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::vector<Pending> pending;
        for (int i = 0; i < 50; ++i) {
          auto one = add_.dispatch_async({.inputs = inputs_});
          ASSERT_TRUE(one);
          ++ran;
          if (i % 3 == t % 3) pending.push_back(*one);
          if (i % 7 == 0)
            for (Pending& p : pending) std::ignore = p.wait(std::chrono::steady_clock::now() + 1ms);
        }
      });
  }
  EXPECT_EQ(value(), ran);
}

}  // namespace
}  // namespace vyre::run
