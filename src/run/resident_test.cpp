// SPDX-License-Identifier: Apache-2.0
// Data that stays on the device.
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

std::vector<NullCall> of_kind(const backend::NullBackend& backend, NullCall::Kind kind) {
  std::vector<NullCall> calls;
  for (const NullCall& call : backend.record())
    if (call.kind == kind) calls.push_back(call);
  return calls;
}

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// D-RES.1
TEST(Resident, BytesGoThereAndBack) {
  const Device device = reference();
  auto buffer = device.upload(bytes("hello, device"));
  ASSERT_TRUE(buffer);
  EXPECT_EQ(text(*device.read(*buffer)), "hello, device");
  ASSERT_TRUE(device.write(*buffer, bytes("HELLO")));
  ASSERT_TRUE(device.write(*buffer, bytes("D"), 7));
  EXPECT_EQ(text(*device.read(*buffer)), "HELLO, Device");
  auto other = device.allocate(13);
  ASSERT_TRUE(device.copy(*buffer, *other));
  ASSERT_TRUE(device.fill(*buffer, std::byte{'x'}));
  EXPECT_EQ(text(*device.read(*other)), "HELLO, Device");
  EXPECT_EQ(text(*device.read(*buffer)), "xxxxxxxxxxxxx");
  std::vector<std::byte> part(3);
  ASSERT_TRUE(device.read_range(*other, 2, part));
  EXPECT_EQ(text(part), "LLO");
}

// D-RES.1: a batch of writes is one call, and the device sees just these bytes.
TEST(Resident, WritesReachTheDeviceAsTheyAre) {
  Fake fake{{}};
  std::vector<Buffer> buffers;
  for (int i = 0; i < 7; ++i) buffers.push_back(*fake.device.allocate(32));
  EXPECT_EQ(buffers[6].handle().value, 7U);
  fake.backend->clear_record();
  const std::vector<Write> writes = {{&buffers[6], 12, bytes("abc")}, {&buffers[0], 0, bytes("d")}};
  const uint64_t calls = fake.backend->calls();
  ASSERT_TRUE(fake.device.write_many(writes));
  EXPECT_EQ(fake.backend->calls(), calls + 1);
  EXPECT_THAT(fake.backend->record(), ElementsAre(NullCall{NullCall::Kind::Write, {7}, 12, 3},
                                                  NullCall{NullCall::Kind::Write, {1}, 0, 1}));
  EXPECT_EQ(text(*fake.device.read(buffers[6])).substr(12, 3), "abc");
}

// D-RES.1: overlapping and adjacent ranges are one transfer.
TEST(Resident, RangesThatTouchAreReadOnce) {
  Fake fake{{}};
  const Buffer a = *fake.device.upload(bytes("0123456789"));
  const Buffer b = *fake.device.upload(bytes("abcdef"));
  fake.backend->clear_record();
  const std::vector<ReadRange> ranges = {{&a, 6, 2}, {&b, 1, 2}, {&a, 0, 3},
                                         {&a, 2, 2}, {&a, 4, 2}, {&a, 9, 0}};
  const auto read = fake.device.read_ranges(ranges);
  ASSERT_TRUE(read) << to_string(read.error());
  std::vector<std::string> texts;
  for (const auto& r : *read) texts.push_back(text(r));
  EXPECT_THAT(texts, ElementsAre("67", "bc", "012", "23", "45", ""));
  EXPECT_EQ(of_kind(*fake.backend, NullCall::Kind::Read).size(), 2U);
}

// D-RES.1
TEST(Resident, RangesOutsideABufferAreRefused) {
  const Device device = reference();
  const Buffer buffer = *device.allocate(8);
  std::vector<std::byte> to(4);
  for (const uint64_t offset : {uint64_t{5}, uint64_t{9}, ~uint64_t{0}}) {
    const auto read = device.read_range(buffer, offset, to);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::InvalidArgument);
    EXPECT_FALSE(device.write(buffer, to, offset));
  }
}

// D-RES.4
TEST(Resident, EmptyBuffersWork) {
  const Device device = reference();
  const Buffer empty = *device.upload({});
  EXPECT_TRUE(device.read(empty)->empty());
  EXPECT_TRUE(device.fill(empty, std::byte{1}));
  const auto result = compile(device, R"(program none {
    workgroup 1;
    in a : u32[];
    out o : u32[] @count(len(a));
    if gid.x < len(a) { o[gid.x] = a[gid.x]; }
  })")
                          .dispatch({empty});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_TRUE(result->outputs[0].empty());
}

// D-RES.1: freeing waits for the work that uses a buffer.
TEST(Resident, FreeingInFlightWaits) {
  backend::NullOptions options;
  std::atomic<bool> started = false;
  std::atomic<bool> go = false;
  options.on_launch = [&](const NullLaunch&) -> Result<void> {
    started = true;
    while (!go) std::this_thread::yield();
    return {};
  };
  Fake fake(options);
  const Pipeline pipeline = compile(fake.device, R"(program touch {
    workgroup 1;
    inout a : u32[];
    a[0] = 1;
  })");
  auto buffer = std::make_unique<Buffer>(*fake.device.allocate(4));
  const std::vector<Argument> inputs = {*buffer};
  auto pending = pipeline.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(pending) << to_string(pending.error());
  while (!started) std::this_thread::yield();
  std::atomic<bool> freed = false;
  std::thread freeing([&] {
    buffer.reset();
    freed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(freed);
  EXPECT_TRUE(of_kind(*fake.backend, NullCall::Kind::Release).empty());
  go = true;
  freeing.join();
  EXPECT_TRUE(pending->wait());
  EXPECT_EQ(of_kind(*fake.backend, NullCall::Kind::Release).size(), 1U);
}

// D-RES.1, D-RES.3: also between the repeats of a sequence that returns to the host.
TEST(Resident, FreeingDuringASequenceWaitsForItsEnd) {
  auto options = split_options();
  std::atomic<uint32_t> started = 0;
  std::atomic<bool> go = false;
  options.on_launch = [&](const NullLaunch&) -> Result<void> {
    // The second repeat is held, when the first is over.
    if (++started == 2)
      while (!go) std::this_thread::yield();
    return {};
  };
  Fake fake(options);
  const std::atomic<bool> never = false;
  const Pipeline pipeline =
      compile(fake.device, R"(program touch {
    workgroup 1;
    inout a : u32[];
    a[0] = 1;
  })",
              {.cancel = &never});  // so that every item is a submission of its own
  auto buffer = std::make_unique<Buffer>(*fake.device.allocate(4));
  const std::vector<Argument> inputs = {*buffer};
  const std::vector<SequenceItem> items = {{pipeline, {.inputs = inputs}}};
  std::thread running([&] {
    const auto report = fake.device.run_sequence(items, 2);
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_EQ(report->submissions, 2U);
  });
  while (started < 2) std::this_thread::yield();
  std::atomic<bool> freed = false;
  std::thread freeing([&] {
    buffer.reset();
    freed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(freed);
  go = true;
  running.join();
  freeing.join();
}

constexpr std::string_view kThree = R"(program three {
  workgroup 1;
  over 1;
  inout a : u32[];
  in b : u32[];
  a[0] = b[0];
  barrier grid;
  a[0] = a[0] + 1;
  barrier grid;
  a[0] = a[0] * 2;
})";

// D-RES.2: the same handles are bound in every segment, those of the caller's buffers and no
// copies.
TEST(Resident, TheSameHandlesStayBoundInEverySegment) {
  auto options = split_options();
  std::vector<device::Region> bound_a;
  std::vector<device::Region> bound_b;
  std::vector<device::Region> bound_o;
  options.on_launch = [&](const NullLaunch& launch) -> Result<void> {
    for (size_t i = 0; i < launch.entry.bindings.size(); ++i) {
      const std::string& name = launch.entry.bindings[i].name;
      const device::Region& region = launch.launch.arguments[i];
      if (name == "a") bound_a.push_back(region);
      if (name == "b") bound_b.push_back(region);
      if (name == "o") bound_o.push_back(region);
    }
    return {};
  };
  Fake fake(options);
  const Pipeline pipeline = compile(fake.device, R"(program three {
    workgroup 1;
    over 1;
    inout a : u32[];
    in b : u32[];
    out o : u32[4];
    a[0] = b[0];
    o[0] = 1;
    barrier grid;
    a[0] = a[0] + b[0];
    o[1] = 1;
    barrier grid;
    a[0] = a[0] * b[0];
    o[2] = 1;
  })");
  const Buffer a = *fake.device.allocate(4);
  const Buffer b = *fake.device.allocate(8);
  const Buffer o = *fake.device.allocate(64);
  const std::vector<Argument> inputs = {a, b};
  const std::vector<const Buffer*> outputs = {&a, &o};
  Outputs slots;
  const auto three_of = [](const device::Region& region) {
    return ElementsAre(region, region, region);
  };
  const auto expect_bound = [&](std::string_view path) {
    SCOPED_TRACE(path);
    EXPECT_THAT(bound_a, three_of({a.handle(), 0, 4}));
    EXPECT_THAT(bound_b, three_of({b.handle(), 0, 8}));
    EXPECT_THAT(bound_o, three_of({o.handle(), 0, 16}));
    bound_a.clear();
    bound_b.clear();
    bound_o.clear();
  };
  const Arguments arguments = {.inputs = inputs, .outputs = outputs};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pipeline.dispatch_into(arguments, slots));
    expect_bound("into");
  }
  auto pending = pipeline.dispatch_async(arguments);
  ASSERT_TRUE(pending && pending->wait());
  expect_bound("async");
  const std::vector<SequenceItem> items = {{pipeline, arguments}};
  ASSERT_TRUE(fake.device.run_sequence(items, 1));
  expect_bound("sequence");
}

// Three segments, in one submission or, at the host, in three.
backend::NullOptions timed(bool resident) {
  auto options = split_options();
  options.info.capabilities.resident_buffers = resident;
  return options;
}

// D-RES.2: 2, 3 and 4 ns in each of three segments, also over several submissions and passes.
TEST(Resident, TimesOfSegmentsAreSummed) {
  for (const bool resident : {true, false}) {
    SCOPED_TRACE(resident ? "resident" : "host");
    auto options = timed(resident);
    options.times = {.device_ns = 2, .enqueue_ns = 3, .wait_ns = 4};
    uint32_t count = 0;
    options.on_launch = on_word([&](uint32_t) { return std::min(++count, 4U); });
    Fake fake(options);
    const Pipeline pipeline = compile(fake.device, kThree);
    const std::vector<uint32_t> one = {1};
    const auto once = pipeline.dispatch({one, one});
    ASSERT_TRUE(once) << to_string(once.error());
    EXPECT_EQ(once->report.timings,
              (device::Timings{.device_ns = 6, .enqueue_ns = 9, .wait_ns = 12}));
    const auto twice = pipeline.dispatch({one, one}, {.fixpoint_iterations = 2});
    ASSERT_TRUE(twice) << to_string(twice.error());
    ASSERT_EQ(twice->report.launches, 6U);
    EXPECT_EQ(twice->report.timings,
              (device::Timings{.device_ns = 12, .enqueue_ns = 18, .wait_ns = 24}));
    if (!resident) continue;
    const Buffer a = *fake.device.allocate(4);
    const Buffer b = *fake.device.allocate(4);
    const std::vector<Argument> inputs = {a, b};
    const std::vector<SequenceItem> items = {{pipeline, {.inputs = inputs}}};
    const auto sequence = fake.device.run_sequence(items, 2);
    ASSERT_TRUE(sequence) << to_string(sequence.error());
    EXPECT_EQ(sequence->timings,
              (device::Timings{.device_ns = 12, .enqueue_ns = 18, .wait_ns = 24}));
  }
}

// D-RES.2: wherever the launch is that does not report a time, that time alone is unknown.
TEST(Resident, ATimeThatOneLaunchDoesNotReportIsUnknown) {
  using Field = std::optional<uint64_t> device::Timings::*;
  constexpr Field kFields[] = {&device::Timings::device_ns, &device::Timings::enqueue_ns,
                               &device::Timings::wait_ns};
  for (const bool resident : {true, false}) {
    for (uint64_t launch = 0; launch < 3; ++launch) {
      for (const Field field : kFields) {
        SCOPED_TRACE(testing::Message() << resident << ", launch " << launch);
        auto options = timed(resident);
        options.times_of = [&](uint64_t n) {
          device::Timings times{.device_ns = 2, .enqueue_ns = 3, .wait_ns = 4};
          if (n == launch) (times.*field).reset();
          return times;
        };
        Fake fake(options);
        const std::vector<uint32_t> one = {1};
        const auto result = compile(fake.device, kThree).dispatch({one, one});
        ASSERT_TRUE(result) << to_string(result.error());
        device::Timings expected{.device_ns = 6, .enqueue_ns = 9, .wait_ns = 12};
        (expected.*field).reset();
        EXPECT_EQ(result->report.timings, expected);
      }
    }
  }
}

// D-RES.2: whichever time it is.
TEST(Resident, TimesThatOverflowAreAnError) {
  constexpr uint64_t kThird = ~uint64_t{0} / 3;
  const device::Timings too_much[] = {{.device_ns = kThird + 1, .enqueue_ns = 1, .wait_ns = 1},
                                      {.device_ns = 1, .enqueue_ns = kThird + 1, .wait_ns = 1},
                                      {.device_ns = 1, .enqueue_ns = 1, .wait_ns = kThird + 1}};
  const std::vector<uint32_t> one = {1};
  for (const bool resident : {true, false}) {
    for (const device::Timings& times : too_much) {
      auto options = timed(resident);
      options.times = times;
      Fake fake(options);
      const auto result = compile(fake.device, kThree).dispatch({one, one});
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, ErrorCode::LimitExceeded);
      EXPECT_THAT(result.error().message, HasSubstr("Fix:"));
    }
    auto options = timed(resident);
    options.times = {.device_ns = kThird};
    Fake fake(options);
    const auto most = compile(fake.device, kThree).dispatch({one, one});
    ASSERT_TRUE(most) << to_string(most.error());
    EXPECT_EQ(most->report.timings.device_ns, ~uint64_t{0});
  }
}

// D-RES.2: the wall time is there on every path, also of a device that measures nothing, and it is
// that of the call.
TEST(Resident, TheWallTimeIsAlwaysThere) {
  constexpr auto kLaunch = std::chrono::milliseconds(2);
  constexpr uint64_t kLeast = 3 * std::chrono::nanoseconds(kLaunch).count();
  auto options = split_options();
  options.on_launch = [&](const NullLaunch&) -> Result<void> {
    std::this_thread::sleep_for(kLaunch);
    return {};
  };
  Fake fake(options);
  const Pipeline pipeline = compile(fake.device, kThree);
  const Buffer a = *fake.device.allocate(4);
  const std::vector<Argument> inputs = {a, std::span<const std::byte>(bytes("four"))};
  const Arguments arguments = {.inputs = inputs};
  const auto expect = [&](std::string_view path, const Report& report) {
    EXPECT_GE(report.wall_ns, kLeast) << path;
    EXPECT_EQ(report.timings, device::Timings()) << path;
  };
  Outputs slots;
  std::vector<Outputs> rows;
  const auto blocking = pipeline.dispatch(arguments);
  ASSERT_TRUE(blocking) << to_string(blocking.error());
  expect("dispatch", blocking->report);
  expect("into, again", *pipeline.dispatch_into(arguments, slots));
  const std::vector<Arguments> two = {arguments, arguments};
  const auto batch = pipeline.dispatch_batch(two, rows);
  ASSERT_TRUE(batch) << to_string(batch.error());
  for (const Report& report : *batch) expect("batch", report);
  auto pending = pipeline.dispatch_async(arguments);
  ASSERT_TRUE(pending) << to_string(pending.error());
  expect("async", *pending->wait_into(slots));
  const std::vector<SequenceItem> items = {{pipeline, arguments}};
  const auto sequence = fake.device.run_sequence(items, 2);
  ASSERT_TRUE(sequence) << to_string(sequence.error());
  EXPECT_GE(sequence->wall_ns, 2 * kLeast);
  EXPECT_EQ(sequence->timings, device::Timings());
}

// D-RES.3: items in order, repeated, without a return to the host.
TEST(Resident, ASequenceIsOneSubmission) {
  for (const bool loops : {true, false}) {
    SCOPED_TRACE(loops);
    backend::ReferenceOptions options;
    options.device_loops = loops;
    options.whole_programs = false;
    options.grid_barrier = false;
    const Device device = reference(options);
    const Pipeline add = compile(device, R"(program add {
      workgroup 4;
      over len(a);
      inout a : u32[];
      uniform n : u32[1];
      if gid.x < len(a) { a[gid.x] = a[gid.x] + n[0]; }
    })");
    const Pipeline rotate = compile(device, R"(program turn {
      workgroup 4;
      over len(a);
      inout a : u32[];
      let x = a[len(a) - 1 - gid.x];
      barrier grid;
      a[gid.x] = x;
    })");
    const Buffer a = *device.upload(bytes_of_words({1, 2, 3, 4}));
    const std::vector<uint32_t> ten = {10};
    const std::vector<Argument> add_inputs = {a, ten};
    const std::vector<Argument> rotate_inputs = {a};
    const std::vector<SequenceItem> items = {{add, {.inputs = add_inputs}},
                                             {rotate, {.inputs = rotate_inputs}}};
    const std::vector<ReadRange> ranges = {{&a, 0, 4}, {&a, 12, 4}};
    std::vector<std::vector<std::byte>> results;
    const auto report =
        device.run_sequence({.repeated = items, .repeats = 3, .ranges = ranges}, &results);
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_EQ(report->submissions, 1U);
    EXPECT_EQ(report->launches, 9U);
    EXPECT_THAT(words(*device.read(a)), ElementsAre(34, 33, 32, 31));
    EXPECT_THAT(words(results[0]), ElementsAre(34));
    EXPECT_THAT(words(results[1]), ElementsAre(31));
  }
}

// D-RES.3: where the host has to decide, the sequence still runs.
TEST(Resident, ASequenceMayNeedTheHost) {
  backend::ReferenceOptions options;
  options.whole_programs = false;
  options.grid_barrier = false;
  options.device_loops = false;
  const Device device = reference(options);
  const Pipeline down = compile(device, R"(program down {
    workgroup 1;
    over 1;
    inout a : u32[];
    fixpoint max 100 over (a) { if a[0] > 0 { a[0] = a[0] - 1; } }
    a[1] = a[1] + 1;
  })");
  const Buffer a = *device.upload(bytes_of_words({3, 0}));
  const std::vector<Argument> inputs = {a};
  const std::vector<SequenceItem> items = {{down, {.inputs = inputs}}};
  const auto report = device.run_sequence(items, 2);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_THAT(words(*device.read(a)), ElementsAre(0, 2));
  EXPECT_GT(report->submissions, 1U);
}

// D-RES.5
TEST(Resident, PersistentBuffersAreOnTheDevice) {
  const Device device = reference();
  const Pipeline pipeline = compile(device, R"(program keeps {
    workgroup 1;
    over 1;
    persistent total : u32[];
    in a : u32[];
    total[0] = total[0] + a[0];
  })");
  const std::vector<uint32_t> one = {1};
  const auto refused = pipeline.dispatch({one, one});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("`total` is persistent"));
  const Buffer total = *device.upload(bytes_of_words({40}));
  ASSERT_TRUE(pipeline.dispatch({total, one}));
  ASSERT_TRUE(pipeline.dispatch({total, one}));
  EXPECT_THAT(words(*device.read(total)), ElementsAre(42));
}

// A (buffers), D-BIND.5
TEST(Resident, WrongBuffersAreRefused) {
  const Device device = reference();
  const Device another = reference();
  const Pipeline pipeline = compile(device, R"(program duplicate {
    workgroup 1;
    over len(a);
    in a : u32[];
    inout b : u32[4];
    if gid.x < 4 { b[gid.x] = a[gid.x]; }
  })");
  const Buffer a = *device.upload(bytes_of_words({1, 2, 3, 4}));
  const Buffer foreign = *another.upload(bytes_of_words({1, 2, 3, 4}));
  const auto stale = pipeline.dispatch({a, foreign});
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, ErrorCode::StaleHandle);
  EXPECT_THAT(to_string(stale.error()), HasSubstr(std::to_string(another.backend().instance())));
  EXPECT_THAT(to_string(stale.error()), HasSubstr("`b`"));
  const auto same = pipeline.dispatch({a, a});
  ASSERT_FALSE(same);
  EXPECT_EQ(same.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(same.error().message, HasSubstr("`a` and `b`"));
  const Buffer small = *device.allocate(12);
  const auto shorter = pipeline.dispatch({a, small});
  ASSERT_FALSE(shorter);
  EXPECT_EQ(shorter.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(shorter.error().message, HasSubstr("expected 16 bytes"));
  EXPECT_THAT(shorter.error().message, HasSubstr("received 12"));
  const Buffer larger = *device.allocate(100);
  EXPECT_TRUE(pipeline.dispatch({a, larger}));
  const auto fewer = pipeline.dispatch({a});
  ASSERT_FALSE(fewer);
  EXPECT_THAT(fewer.error().message, HasSubstr("dispatch expected 2 input buffers"));
  EXPECT_THAT(fewer.error().message, HasSubstr("received 1"));
  const std::vector<uint8_t> odd(7);
  const auto uneven = pipeline.dispatch({odd, larger});
  ASSERT_FALSE(uneven);
  EXPECT_THAT(uneven.error().message, HasSubstr("multiple of 4"));
}

// A (buffers)
TEST(Resident, WhatDecidesAboutSizesMustBeBytes) {
  const Device device = reference();
  const Pipeline pipeline = compile(device, R"(program sized {
    workgroup 1;
    over n[0];
    uniform n : u32[1];
    out o : u32[] @count(n[0]);
    o[gid.x] = 7;
  })");
  const std::vector<uint32_t> three = {3};
  const auto result = pipeline.dispatch({three});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_THAT(words(result->outputs[0]), ElementsAre(7, 7, 7));
  const std::vector<uint32_t> two = {2};
  EXPECT_THAT(words(pipeline.dispatch({two})->outputs[0]), ElementsAre(7, 7));
  const Buffer n = *device.upload(bytes_of_words({3}));
  const auto refused = pipeline.dispatch({n});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("`n`"));
}

TEST(Resident, ADeviceThatKeepsNothingHasNoBuffers) {
  backend::ReferenceOptions options;
  options.resident_buffers = false;
  const auto buffer = reference(options).allocate(4);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, ErrorCode::Unsupported);
}

// D-RES.4: the run's error wins, and everything is freed.
TEST(Resident, AFailingRunStillFrees) {
  auto options = split_options();
  Fake fake(options);
  const Pipeline pipeline = compile(fake.device, kThree);
  const std::vector<uint32_t> one = {1};
  const uint64_t before = fake.backend->live_buffers();
  fake.backend->fail_calls_like(NullCall::Kind::Launch, 0,
                                Error{.code = ErrorCode::DispatchFailed,
                                      .message = "no. Fix: none",
                                      .context = {},
                                      .at = {},
                                      .diagnostics = {}});
  {
    const Buffer a = *fake.device.allocate(4);
    const auto result = pipeline.dispatch({a, one});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::DispatchFailed);
    EXPECT_TRUE(pipeline.dispatch({a, one}));
  }
  EXPECT_LE(fake.backend->live_buffers(), before + 1) << "one arena is kept for the next dispatch";
}

}  // namespace
}  // namespace vyre::run
