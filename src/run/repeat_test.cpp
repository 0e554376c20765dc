// SPDX-License-Identifier: Apache-2.0
// A dispatch like the one before it goes another way through the driver: nobody may notice.
#include <array>
#include <atomic>

#include <gmock/gmock.h>

#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using backend::NullCall;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kAdd = R"(program add {
  workgroup 4;
  over len(a);
  in    a : u32[];
  inout b : u32[];
  out   c : u32[] @count(len(a));
  if gid.x < len(a) {
    c[gid.x] = a[gid.x] + b[gid.x];
    b[gid.x] += 1;
  }
})";

backend::ReferenceOptions split_reference() {
  backend::ReferenceOptions options;
  options.whole_programs = false;
  options.grid_barrier = false;
  return options;
}

class Repeat : public testing::Test {
 protected:
  Buffer upload(const std::vector<uint32_t>& values) {
    return *device_.upload(bytes_of_words(values));
  }
  std::vector<uint32_t> read(const Buffer& buffer) { return words(*device_.read(buffer)); }
  Result<Report> dispatch(const Buffer& a, const Buffer& b, const Buffer& c,
                          const DispatchConfig& config = {}) {
    const std::array<Argument, 2> inputs = {a, b};
    const std::array<const Buffer*, 2> outputs = {&b, &c};
    return add_.dispatch_into({.inputs = inputs, .outputs = outputs}, slots_, config);
  }

  Device device_ = reference(split_reference());
  Pipeline add_ = compile(device_, kAdd);
  Outputs slots_;
};

TEST_F(Repeat, SeesWhatTheBuffersHoldNow) {
  const Buffer a = upload({1, 2, 3});
  const Buffer b = upload({10, 20, 30});
  const Buffer c = *device_.allocate(12);
  const auto first = dispatch(a, b, c);
  ASSERT_TRUE(first) << to_string(first.error());
  ASSERT_TRUE(device_.write(a, bytes_of_words({5, 6, 7})));
  const auto second = dispatch(a, b, c);
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_THAT(read(c), ElementsAre(5 + 11, 6 + 21, 7 + 31));
  EXPECT_THAT(read(b), ElementsAre(12, 22, 32));
  EXPECT_EQ(second->launches, first->launches);
  EXPECT_EQ(second->grid, first->grid);
  EXPECT_EQ(second->workgroup, first->workgroup);
  EXPECT_EQ(second->grid_barriers, first->grid_barriers);
  EXPECT_EQ(second->timings.device_ns.has_value(), first->timings.device_ns.has_value());
  EXPECT_EQ(slots_.size(), 2u);
}

TEST_F(Repeat, OtherBuffersAreOthers) {
  const Buffer a = upload({1, 2, 3});
  const Buffer longer = upload({1, 2, 3, 4});
  const Buffer b = upload({10, 20, 30});
  const Buffer longer_b = upload({10, 20, 30, 40});
  const Buffer c = *device_.allocate(16);
  const Buffer other = *device_.allocate(16);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(dispatch(a, b, c));
    ASSERT_TRUE(dispatch(a, b, other));
    ASSERT_TRUE(dispatch(longer, longer_b, other));
    ASSERT_TRUE(dispatch(longer, longer_b, other));
  }
  EXPECT_THAT(read(b), ElementsAre(16, 26, 36));
  EXPECT_THAT(read(longer_b), ElementsAre(16, 26, 36, 46));
  EXPECT_THAT(read(other), ElementsAre(16, 27, 38, 49));
  // Bytes of the host between two that are the same.
  ASSERT_TRUE(dispatch(a, b, c));
  const std::vector<uint32_t> host = {7, 7, 7};
  const auto result = add_.dispatch({host, host});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_THAT(words(result->outputs[1]), ElementsAre(14, 14, 14));
  ASSERT_TRUE(dispatch(a, b, c));
  EXPECT_THAT(read(b), ElementsAre(18, 28, 38));
}

TEST_F(Repeat, AConfigOfTheCallCounts) {
  const Buffer a = upload({1, 2, 3, 4, 5});
  const Buffer b = upload({0, 0, 0, 0, 0});
  const Buffer c = *device_.allocate(20);
  ASSERT_TRUE(dispatch(a, b, c));
  ASSERT_TRUE(dispatch(a, b, c));
  DispatchConfig one;
  one.grid = check::Axes{1, 1, 1};
  ASSERT_TRUE(dispatch(a, b, c, one));
  EXPECT_THAT(read(b), ElementsAre(3, 3, 3, 3, 2));
  ASSERT_TRUE(dispatch(a, b, c));
  EXPECT_THAT(read(b), ElementsAre(4, 4, 4, 4, 3));
}

// Bytes of the host are those of each call, wherever they are.
TEST_F(Repeat, BytesOfTheHostAreThoseOfTheCall) {
  for (uint32_t round = 1; round < 6; ++round) {
    const std::vector<uint32_t> a = {round, 2 * round};
    const std::vector<uint32_t> b = {10, 20 * round};
    const auto before = device_.telemetry();
    const auto done = add_.dispatch({a, b});
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_THAT(words(done->outputs[0]), ElementsAre(11, 20 * round + 1));
    EXPECT_THAT(words(done->outputs[1]), ElementsAre(10 + round, 22 * round));
    EXPECT_EQ(device_.telemetry().input_bytes - before.input_bytes, 16u);
    EXPECT_EQ(device_.telemetry().output_bytes - before.output_bytes, 16u);
  }
  const std::vector<uint32_t> longer = {1, 2, 3};
  const auto other = add_.dispatch({longer, longer});
  ASSERT_TRUE(other);
  EXPECT_THAT(words(other->outputs[1]), ElementsAre(2, 4, 6));
}

// What sizes depend on is compared, not only counted.
TEST_F(Repeat, ContentsThatDecideAboutSizesCount) {
  const Pipeline fill = compile(device_, R"(program fill {
  workgroup 4;
  over n[0];
  uniform n : u32[1];
  uniform v : u32[1];
  out c : u32[] @count(n[0]);
  if gid.x < n[0] { c[gid.x] = v[0]; }
})");
  for (const uint32_t n : {2U, 2U, 2U, 3U, 3U, 1U})
    for (const uint32_t v : {7U, 7U, 8U}) {
      const auto done = fill.dispatch({std::vector{n}, std::vector{v}});
      ASSERT_TRUE(done) << to_string(done.error());
      EXPECT_EQ(words(done->outputs[0]), std::vector<uint32_t>(n, v));
    }
}

// An equal config is as good as the same one; limits and queues are those of the call.
TEST_F(Repeat, EqualConfigsRepeat) {
  const Buffer a = upload({1, 2, 3, 4, 5});
  const Buffer b = upload({0, 0, 0, 0, 0});
  const Buffer c = *device_.allocate(20);
  const auto config = [](uint32_t groups) {
    DispatchConfig one;
    one.grid = check::Axes{groups, 1, 1};
    return one;
  };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(dispatch(a, b, c, config(1)));
  EXPECT_THAT(read(b), ElementsAre(3, 3, 3, 3, 0));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(dispatch(a, b, c, config(2)));
  EXPECT_THAT(read(b), ElementsAre(6, 6, 6, 6, 3));
  std::atomic<bool> cancel = true;
  DispatchConfig cancelled = config(2);
  cancelled.cancel = &cancel;
  const auto stopped = dispatch(a, b, c, cancelled);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::Timeout);
  ASSERT_TRUE(dispatch(a, b, c, config(2)));
}

TEST_F(Repeat, IsRefusedLikeAnyOther) {
  const Buffer a = upload({1, 2, 3});
  Buffer b = upload({10, 20, 30});
  const Buffer c = *device_.allocate(12);
  ASSERT_TRUE(dispatch(a, b, c));
  ASSERT_TRUE(dispatch(a, b, c));
  b.free();
  const auto freed = dispatch(a, b, c);
  ASSERT_FALSE(freed);
  EXPECT_EQ(freed.error().code, ErrorCode::InvalidArgument);
  b = upload({10, 20, 30});
  ASSERT_TRUE(dispatch(a, b, c));
  EXPECT_THAT(read(b), ElementsAre(11, 21, 31));
  ASSERT_TRUE(device_.recover());
  const auto stale = dispatch(a, b, c);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, ErrorCode::StaleHandle);
}

TEST(RepeatOnFake, CountsAndFailsLikeTheFirst) {
  auto options = split_options();
  options.on_launch = on_word([](uint32_t word) { return word + 1; });
  Fake fake(options);
  const Pipeline two = compile(fake.device, kTwoSegments);
  const Buffer a = *fake.device.upload(bytes_of_words({0}));
  const std::array<Argument, 1> inputs = {a};
  Outputs slots;
  const auto once = [&] { return two.dispatch_into({.inputs = inputs}, slots); };
  const auto before = fake.device.telemetry();
  ASSERT_TRUE(once());
  const auto after_one = fake.device.telemetry();
  ASSERT_TRUE(once());
  const auto after_two = fake.device.telemetry();
  EXPECT_EQ(after_one.launches - before.launches, 2U);
  EXPECT_EQ(after_two.launches - after_one.launches, 2U);
  EXPECT_EQ(after_two.dispatches - after_one.dispatches, 1U);
  EXPECT_EQ(after_two.grid_sync_splits - after_one.grid_sync_splits, 1U);

  fake.backend->fail_calls_like(NullCall::Kind::Launch, 1,
                                {.code = ErrorCode::DispatchFailed,
                                 .message = "no. Fix: none",
                                 .context = {},
                                 .at = {},
                                 .diagnostics = {}});
  const auto failed = once();
  ASSERT_FALSE(failed);
  EXPECT_THAT(to_string(failed.error()), HasSubstr("segment 1 of 2"));
  EXPECT_THAT(to_string(failed.error()), HasSubstr("while running program `two`"));
  const auto read = words(*fake.device.read(a));
  ASSERT_TRUE(once());
  EXPECT_THAT(words(*fake.device.read(a)), ElementsAre(read[0] + 2));
}

}  // namespace
}  // namespace vyre::run
