// SPDX-License-Identifier: Apache-2.0
// D-RES.3: each step of a sequence keeps its whole config, whatever the others have: field by
// field, between steps that have none.
#include <atomic>
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
using testing::IsEmpty;
using testing::Not;
using namespace std::chrono_literals;

// One more for each lane.
constexpr std::string_view kCount = R"(program count {
  workgroup 1;
  over 1;
  inout n : u32[];
  atomic_add(n[0], 1);
})";

// A plain step, one with the config, and a plain one again, all on the words of one buffer.
class SequenceConfig : public testing::Test {
 protected:
  Result<SequenceReport> run(const Pipeline& pipeline, const DispatchConfig& config,
                             uint32_t repeats = 1) {
    const std::vector<Argument> inputs = {words_};
    const Arguments arguments = {.inputs = inputs};
    const std::vector<SequenceItem> items = {
        {pipeline, arguments}, {pipeline, arguments, config}, {pipeline, arguments}};
    return device_.run_sequence(items, repeats);
  }
  // What the first word comes to from 0.
  uint32_t value(const Pipeline& pipeline, const DispatchConfig& config, uint32_t repeats = 1) {
    EXPECT_TRUE(device_.fill(words_, std::byte{0}));
    const auto report = run(pipeline, config, repeats);
    EXPECT_TRUE(report) << to_string(report.error());
    submissions_ = report ? report->submissions : 0;
    return words(*device_.read(words_))[0];
  }
  Error error(const Pipeline& pipeline, const DispatchConfig& config) {
    const auto report = run(pipeline, config);
    EXPECT_FALSE(report);
    return report ? Error() : report.error();
  }

  Device device_ = reference();
  Buffer words_ = *device_.allocate(16);
  uint64_t submissions_ = 0;
};

// D-RES.3
TEST_F(SequenceConfig, GridAndWorkgroup) {
  const Pipeline count = compile(device_, kCount);
  EXPECT_EQ(value(count, {}), 3U);
  EXPECT_EQ(value(count, {.grid = check::Axes{5, 2, 1}}), 12U);
  EXPECT_EQ(value(count, {.grid = check::Axes{5, 2, 1}}, 3), 36U);
  EXPECT_EQ(value(count, {.workgroup = check::Axes{8, 1, 1}}), 10U);
  EXPECT_EQ(submissions_, 1U);
  const Buffer grid = *device_.upload(bytes_of_words({9, 7, 1, 1}));
  EXPECT_EQ(value(count, {.grid_from = GridFrom{&grid, 4}}), 9U);
  // Over what the pipeline was compiled with.
  const Pipeline four = compile(device_, kCount, {.grid = check::Axes{4, 1, 1}});
  EXPECT_EQ(value(four, {.grid = check::Axes{1, 1, 1}}), 9U);
  EXPECT_EQ(value(four, {.label = "x"}), 12U);
}

// D-RES.3
TEST_F(SequenceConfig, Iterations) {
  const Pipeline up = compile(device_, R"(program up {
    workgroup 1;
    over 1;
    inout n : u32[];
    n[0] = min(n[0] + 1, 10);
  })");
  EXPECT_EQ(value(up, {.fixpoint_iterations = 4}), 6U);
  EXPECT_EQ(value(up, {.fixpoint_iterations = 100}), 10U);
}

// D-RES.3
TEST_F(SequenceConfig, CheckedMode) {
  const Pipeline outside = compile(device_, R"(program outside {
    workgroup 1;
    over 1;
    inout n : u32[];
    n[len(n) + n[1]] = 1;
  })");
  EXPECT_EQ(value(outside, {}), 0U);
  const Error stopped = error(outside, {.checked = true});
  EXPECT_EQ(stopped.code, ErrorCode::OutOfBounds);
  EXPECT_THAT(stopped.context, testing::Contains("item 1 of 3 of the sequence"));
}

// D-RES.3
TEST_F(SequenceConfig, TrapHandlers) {
  const Pipeline resumes = compile(device_, R"(program resumes {
    workgroup 1;
    over 1;
    inout n : u32[];
    trap(1, n[0]);
    resume(1);
    n[0] = n[0] + 1;
  })");
  std::vector<uint32_t> reported;
  const auto handler = std::make_shared<const TrapHandler>(
      [&](std::span<const TrapReport> reports, HandlerBuffers&) -> Result<void> {
        for (const TrapReport& report : reports) reported.push_back(report.value);
        return {};
      });
  EXPECT_EQ(value(resumes, {.trap_handler = handler}, 2), 6U);
  EXPECT_THAT(reported, ElementsAre(1, 4));
}

// D-RES.3: the name of the step that failed, and of no other.
TEST_F(SequenceConfig, Labels) {
  Fake fake(split_options());
  const Pipeline two = compile(fake.device, kTwoSegments);
  const Buffer a = *fake.device.allocate(4);
  const std::vector<Argument> inputs = {a};
  const std::vector<SequenceItem> items = {{two, {.inputs = inputs}, {.label = "here"}},
                                           {two, {.inputs = inputs}, {.label = "there"}}};
  for (uint64_t launch = 0; launch < 4; ++launch) {
    fake.backend->fail_calls_like(NullCall::Kind::Launch, launch,
                                  Error{.code = ErrorCode::DispatchFailed,
                                        .message = "no. Fix: none",
                                        .context = {},
                                        .at = {},
                                        .diagnostics = {}});
    const auto report = fake.device.run_sequence(items, 1);
    ASSERT_FALSE(report);
    const std::string text = to_string(report.error());
    EXPECT_THAT(text, HasSubstr(launch < 2 ? "(here)" : "(there)"));
    EXPECT_THAT(text, Not(HasSubstr(launch < 2 ? "(there)" : "(here)")));
    EXPECT_THAT(text, HasSubstr(launch % 2 == 0 ? "segment 0 of 2" : "segment 1 of 2"));
  }
}

// D-RES.3
TEST_F(SequenceConfig, Limits) {
  const Pipeline endless = compile(device_, R"(program endless {
    workgroup 1;
    over 1;
    inout n : u32[];
    n[0] = n[0] + 1;
    var x = n[0];
    while x == 2 { x = x * 1; }
  })");
  ASSERT_TRUE(device_.fill(words_, std::byte{0}));
  EXPECT_EQ(error(endless, {.timeout = 30ms}).code, ErrorCode::Timeout);
  ASSERT_TRUE(device_.fill(words_, std::byte{0}));
  std::atomic<bool> cancel = false;
  std::jthread other([&] {
    std::this_thread::sleep_for(20ms);
    cancel = true;
  });
  EXPECT_EQ(error(endless, {.cancel = &cancel}).code, ErrorCode::Timeout);

  backend::ReferenceOptions options;
  options.whole_programs = options.grid_barrier = false;
  device_ = reference(options);
  words_ = *device_.allocate(16);
  const Pipeline keeps = compile(device_, R"(program keeps {
    workgroup 4;
    over 4;
    inout n : u32[];
    let x = n[gid.x];
    n[gid.x] = 0;
    barrier grid;
    n[gid.x] = x + 1;
  })");
  EXPECT_EQ(value(keeps, {.max_state_bytes = 1000}), 3U);
  const Error state = error(keeps, {.max_state_bytes = 4});
  EXPECT_EQ(state.code, ErrorCode::LimitExceeded);
  EXPECT_THAT(state.message, HasSubstr("`x`"));
  EXPECT_THAT(state.context, testing::Contains("item 1 of 3 of the sequence"));
  EXPECT_EQ(error(keeps, {.cooperative = Cooperative::Require}).code, ErrorCode::Unsupported);
  EXPECT_EQ(error(keeps, {.fixpoint_iterations = 0}).code, ErrorCode::InvalidArgument);
}

std::vector<uint64_t> queues_of(const backend::NullBackend& backend) {
  std::vector<uint64_t> queues;
  for (const NullCall& call : backend.record())
    if (call.kind == NullCall::Kind::Submit) queues.push_back(call.offset);
  return queues;
}

// D-RES.3: each step runs in its queue, behind what is there, and waits for no other.
TEST_F(SequenceConfig, Queues) {
  std::atomic<bool> go = false;
  std::atomic<bool> held = false;
  auto options = split_options();
  options.on_launch = [&](const NullLaunch& launch) -> Result<void> {
    if (launch.arguments[0].size() != 8) return {};
    held = true;
    const auto end = std::chrono::steady_clock::now() + 3s;
    while (!go && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(100us);
    return {};
  };
  Fake fake(options);
  const Pipeline count = compile(fake.device, kCount, {.queue = 2});
  const Buffer a = *fake.device.allocate(4);
  const std::vector<Argument> inputs = {a};
  const Arguments arguments = {.inputs = inputs};
  const std::vector<SequenceItem> in_two = {{count, arguments}, {count, arguments}};
  const std::vector<SequenceItem> in_two_and_five = {{count, arguments},
                                                     {count, arguments, {.queue = 5}}};
  fake.backend->clear_record();
  ASSERT_TRUE(fake.device.run_sequence(in_two, 2));
  EXPECT_THAT(queues_of(*fake.backend), ElementsAre(2)) << "one submission";
  fake.backend->clear_record();
  ASSERT_TRUE(fake.device.run_sequence(in_two_and_five, 2));
  EXPECT_THAT(queues_of(*fake.backend), ElementsAre(2, 5, 2, 5)) << "in order";

  const std::vector<uint32_t> eight_bytes = {0, 0};
  const std::vector<Argument> held_inputs = {eight_bytes};
  auto pending = count.dispatch_async({.inputs = held_inputs}, {.queue = 5});
  ASSERT_TRUE(pending);
  while (!held) std::this_thread::yield();
  fake.backend->clear_record();
  ASSERT_TRUE(fake.device.run_sequence(in_two, 1));
  EXPECT_FALSE(pending->is_ready()) << "queue 2 has waited for queue 5";
  fake.backend->clear_record();
  std::atomic<bool> done = false;
  std::jthread behind([&] {
    EXPECT_TRUE(fake.device.run_sequence(in_two_and_five, 1));
    done = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(done);
  EXPECT_THAT(queues_of(*fake.backend), IsEmpty()) << "nothing of it runs before all of it can";
  go = true;
  behind.join();
  EXPECT_TRUE(pending->wait());
  const std::vector<SequenceItem> in_none = {{count, arguments, {.queue = kQueues}}};
  const auto none = fake.device.run_sequence(in_none, 1);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace vyre::run
