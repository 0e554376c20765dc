// SPDX-License-Identifier: Apache-2.0
// swap(a, b) on every kind of device: names keep what they hold, whoever's memory it is in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// After n steps `a` holds what n - 1 steps have left in it, turned round and raised.
constexpr std::string_view kSteps = R"(program steps {
  workgroup 4;
  over len(a);
  uniform n : u32[1];
  inout a : u32[];
  out   b : u32[] @count(len(a));
  let i = gid.x;
  for t in 0 .. n[0] {
    if i < len(a) {
      b[i] = a[len(a) - 1 - i] * 3 + t;
    }
    swap(a, b);
  }
})";
// The same with copies of every element, which leaves in `b` what is left there by swaps.
constexpr std::string_view kCopies = R"(program copies {
  workgroup 4;
  over len(a);
  uniform n : u32[1];
  inout a : u32[];
  out   b : u32[] @count(len(a));
  out   c : u32[] @count(len(a));
  let i = gid.x;
  for t in 0 .. n[0] {
    if i < len(a) {
      b[i] = a[len(a) - 1 - i] * 3 + t;
    }
    barrier grid;
    if i < len(a) {
      c[i] = a[i];
      a[i] = b[i];
      b[i] = c[i];
    }
    barrier grid;
  }
})";

std::vector<Device> all_devices() {
  std::vector<Device> devices;
  for (const backend::ReferenceOptions& options : backend::reference_devices())
    devices.push_back(reference(options));
  return devices;
}

std::vector<uint32_t> expected_after(uint32_t n, std::vector<uint32_t> a,
                                     std::vector<uint32_t>* other = nullptr) {
  std::vector<uint32_t> b(a.size());
  for (uint32_t t = 0; t < n; ++t) {
    for (size_t i = 0; i < a.size(); ++i) b[i] = a[a.size() - 1 - i] * 3 + t;
    a.swap(b);
  }
  if (other != nullptr) *other = b;
  return a;
}

const std::vector<uint32_t> kStart = {5, 1, 4, 1, 5, 9, 2, 6, 5, 3};

TEST(Swap, BytesOfTheHost) {
  for (const Device& device : all_devices())
    for (const uint32_t n : {0U, 1U, 2U, 7U}) {
      SCOPED_TRACE(testing::Message() << device.info().id << ", " << n << " steps");
      const std::vector<uint32_t> count = {n};
      const auto swapped = compile(device, kSteps).dispatch({count, kStart});
      const auto copied = compile(device, kCopies).dispatch({count, kStart});
      ASSERT_TRUE(swapped && copied) << to_string(swapped ? copied.error() : swapped.error());
      std::vector<uint32_t> other;
      EXPECT_EQ(words(swapped->outputs[0]), expected_after(n, kStart, &other));
      EXPECT_EQ(words(swapped->outputs[1]), other);
      EXPECT_EQ(swapped->outputs[0], copied->outputs[0]);
      EXPECT_EQ(swapped->outputs[1], copied->outputs[1]);
    }
}

// Twice on the same buffers, so that a second dispatch starts from where the names are.
TEST(Swap, BuffersOfTheCaller) {
  for (const Device& device : all_devices()) {
    if (!device.info().capabilities.resident_buffers) continue;
    for (const uint32_t n : {1U, 2U, 3U}) {
      SCOPED_TRACE(testing::Message() << device.info().id << ", " << n << " steps");
      const Pipeline steps = compile(device, kSteps);
      const Buffer a = *device.upload(bytes_of_words(kStart));
      const Buffer b = *device.upload(bytes_of_words(std::vector<uint32_t>(kStart.size())));
      const std::vector<uint32_t> count = {n};
      const std::vector<Argument> inputs = {count, a};
      std::vector<uint32_t> other;
      std::vector<uint32_t> wanted = expected_after(n, kStart, &other);
      // Both; one, and the other one comes back as bytes.
      const std::vector<const Buffer*> both = {&a, &b};
      ASSERT_TRUE(steps.dispatch({.inputs = inputs, .outputs = both}));
      EXPECT_EQ(words(*device.read(a)), wanted);
      EXPECT_EQ(words(*device.read(b)), other);
      const std::vector<const Buffer*> one = {&a, nullptr};
      const auto again = steps.dispatch({.inputs = inputs, .outputs = one});
      ASSERT_TRUE(again) << to_string(again.error());
      wanted = expected_after(n, wanted, &other);
      EXPECT_EQ(words(*device.read(a)), wanted);
      EXPECT_EQ(words(again->outputs[1]), other);
    }
  }
}

// Three buffers that rotate, two of them the caller's.
TEST(Swap, APermutationOfThree) {
  constexpr std::string_view kRotate = R"(program rotate {
    workgroup 2;
    over 2;
    inout a : u32[2];
    persistent p : u32[2];
    out o : u32[2];
    o[gid.x] = 70 + gid.x;
    swap(a, p);
    swap(p, o);
    a[gid.x] += 1;
  })";
  for (const Device& device : all_devices()) {
    if (!device.info().capabilities.resident_buffers) continue;
    SCOPED_TRACE(device.info().id);
    const Buffer a = *device.upload(bytes_of_words({1, 2}));
    const Buffer p = *device.upload(bytes_of_words({10, 20}));
    const std::vector<Argument> inputs = {a, p};
    const std::vector<const Buffer*> outputs = {&a, nullptr};
    const auto done = compile(device, kRotate).dispatch({.inputs = inputs, .outputs = outputs});
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_THAT(words(*device.read(a)), ElementsAre(11, 21));
    EXPECT_THAT(words(*device.read(p)), ElementsAre(70, 71));
    EXPECT_THAT(words(done->outputs[1]), ElementsAre(1, 2));
  }
}

// What a failed dispatch leaves in buffers of the caller goes by name as well.
TEST(Swap, AfterATrap) {
  constexpr std::string_view kTraps = R"(program traps {
    workgroup 2;
    over 2;
    inout a : u32[2];
    inout b : u32[2];
    a[gid.x] += 1;
    swap(a, b);
    a[gid.x] += 100;
    if b[gid.x] == 3 { trap(9, 7); }
    barrier grid;
    a[gid.x] = 0;
  })";
  for (const Device& device : all_devices()) {
    if (!device.info().capabilities.resident_buffers) continue;
    SCOPED_TRACE(device.info().id);
    const Buffer a = *device.upload(bytes_of_words({1, 2}));
    const Buffer b = *device.upload(bytes_of_words({10, 20}));
    const auto done = compile(device, kTraps).dispatch({a, b});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::Trapped);
    EXPECT_THAT(words(*device.read(a)), ElementsAre(110, 120));
    EXPECT_THAT(words(*device.read(b)), ElementsAre(2, 3));
  }
}

TEST(Swap, AHandlerSeesNames) {
  constexpr std::string_view kWaits = R"(program waits {
    workgroup 2;
    over 2;
    inout a : u32[2];
    inout b : u32[2];
    swap(a, b);
    if gid.x == 0 { trap(1, a[0]); }
    swap(a, b);
    resume(1);
    a[gid.x] += b[gid.x];
  })";
  for (const Device& device : all_devices()) {
    SCOPED_TRACE(device.info().id);
    const auto handler = std::make_shared<const TrapHandler>(
        [](std::span<const TrapReport> reports, HandlerBuffers& buffers) -> Result<void> {
          EXPECT_EQ(reports[0].value, 10U);
          EXPECT_THAT(words(buffers.read(ir::BufferId{0})), ElementsAre(1, 2));
          const std::span<std::byte> b = buffers.write(ir::BufferId{1});
          EXPECT_THAT(words(b), ElementsAre(10, 20));
          const uint32_t more = 500;
          std::memcpy(b.data(), &more, 4);
          return {};
        });
    const std::vector<uint32_t> a = {1, 2};
    const std::vector<uint32_t> b = {10, 20};
    const auto done = compile(device, kWaits).dispatch({a, b}, {.trap_handler = handler});
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_THAT(words(done->outputs[0]), ElementsAre(501, 22));
    EXPECT_THAT(words(done->outputs[1]), ElementsAre(500, 20));
  }
}

// Passes of the whole program start from the names of the one before.
TEST(Swap, RepeatedPrograms) {
  constexpr std::string_view kOnce = R"(program once {
    workgroup 1;
    over 1;
    inout a : u32[1];
    inout b : u32[1];
    a[0] = a[0] * 10 + 1;
    swap(a, b);
  })";
  for (const Device& device : all_devices()) {
    SCOPED_TRACE(device.info().id);
    const std::vector<uint32_t> one = {1};
    const std::vector<uint32_t> two = {2};
    const auto done = compile(device, kOnce).dispatch({one, two}, {.fixpoint_iterations = 3});
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_EQ(done->report.iterations, 3U);
    EXPECT_THAT(words(done->outputs[0]), ElementsAre(21));
    EXPECT_THAT(words(done->outputs[1]), ElementsAre(111));
  }
}

TEST(Swap, InASequence) {
  for (const Device& device : all_devices()) {
    if (!device.info().capabilities.resident_buffers) continue;
    SCOPED_TRACE(device.info().id);
    const Pipeline steps = compile(device, kSteps);
    const Buffer a = *device.upload(bytes_of_words(kStart));
    const Buffer b = *device.upload(bytes_of_words(std::vector<uint32_t>(kStart.size())));
    const std::vector<uint32_t> one = {1};
    const std::vector<Argument> inputs = {one, a};
    const std::vector<const Buffer*> outputs = {&a, &b};
    const std::vector<SequenceItem> items = {{steps, {.inputs = inputs, .outputs = outputs}, {}}};
    const auto done = device.run_sequence(items, 3);
    ASSERT_TRUE(done) << to_string(done.error());
    std::vector<uint32_t> wanted = kStart;
    for (int i = 0; i < 3; ++i) wanted = expected_after(1, wanted);
    EXPECT_EQ(words(*device.read(a)), wanted);
  }
}

TEST(Swap, LengthsAreThoseOfTheDispatch) {
  constexpr std::string_view kTwo = R"(program two {
    workgroup 1;
    inout a : u32[];
    inout b : u32[];
    if len(a) == 77 { swap(a, b); }
  })";
  for (const Device& device : all_devices()) {
    const std::vector<uint32_t> three(3);
    const std::vector<uint32_t> four(4);
    const auto done = compile(device, kTwo).dispatch({three, four});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::InvalidArgument);
    EXPECT_THAT(done.error().message, HasSubstr("`a` (3 elements) with `b` (4 elements)"));
    EXPECT_EQ(done.error().at.line, 5U);
  }
}

}  // namespace
}  // namespace vyre::run
