// SPDX-License-Identifier: Apache-2.0
// Every call to a device fails once, in every scenario: D-LIFE.1, D-RES.4.
#include <algorithm>
#include <chrono>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "driver/scenarios.hpp"

namespace vyre::driver_test {
namespace {

using backend::NullCall;
using testing::HasSubstr;

Error injected(ErrorCode code) {
  return {.code = code,
          .message = "a fault that the test wants (native code 77). Fix: none",
          .context = {},
          .at = {},
          .diagnostics = {}};
}

std::string text_of(const Error& error) {
  return to_string(error);
}

void expect_good_error(const Error& error, ErrorCode code, bool launch) {
  EXPECT_EQ(error.code, code);
  EXPECT_THAT(error.message, HasSubstr("native code 77"));
  EXPECT_THAT(error.message, HasSubstr("Fix: "));
  const std::string text = text_of(error);
  EXPECT_TRUE(std::ranges::any_of(error.context, [](const std::string& line) {
    return line.starts_with("while ") && line.ends_with("on device `null`");
  })) << text;
  if (!launch) return;
  EXPECT_TRUE(std::regex_search(text, std::regex("segment \\d+ of \\d+"))) << text;
  EXPECT_THAT(text, HasSubstr("while running program `"));
}

// Entries are segments.
uint64_t last_segment(const backend::NullBackend& backend) {
  uint64_t segment = 0;
  for (const NullCall& call : backend.record())
    if (call.kind == NullCall::Kind::Launch) segment = call.offset;
  return segment;
}

void expect_nothing_left(std::shared_ptr<backend::NullBackend>& backend) {
  EXPECT_EQ(backend->live_buffers(), 0U);
  EXPECT_EQ(backend->live_bytes(), 0U);
  EXPECT_EQ(backend->loaded(), 0U);
  EXPECT_EQ(backend.use_count(), 1);
}

class Faults : public testing::TestWithParam<Scenario> {
 protected:
  void SetUp() override {
    World world(GetParam().options);
    const auto bytes = GetParam().run(world);
    ASSERT_TRUE(bytes) << text_of(bytes.error());
    expected_ = *bytes;
    calls_ = world.backend->calls();
    ASSERT_FALSE(expected_.empty());
    ASSERT_GT(calls_, 0U);
  }

  void again(World& world) {
    const auto bytes = GetParam().run(world);
    ASSERT_TRUE(bytes) << text_of(bytes.error());
    EXPECT_EQ(*bytes, expected_);
  }

  void fail_each_call(ErrorCode code) {
    for (uint64_t n = 0; n < calls_; ++n) {
      SCOPED_TRACE(fmt::format("call {} of {} fails with {}", n, calls_, name_of(code)));
      std::shared_ptr<backend::NullBackend> backend;
      {
        World world(GetParam().options);
        backend = world.backend;
        backend->fail_call(n, injected(code));
        const auto result = GetParam().run(world);
        if (GetParam().varies && backend->calls() <= n) continue;
        EXPECT_TRUE(GetParam().drops || !result);
        if (!result) expect_good_error(result.error(), code, false);
        if (code == ErrorCode::DeviceLost) {
          EXPECT_TRUE(world.device.is_lost());
          if (!result) lost(world, result.error());
          ASSERT_TRUE(world.device.recover());
        }
        again(world);
      }
      expect_nothing_left(backend);
      if (HasFailure()) return;
    }
  }

  // Everything fails at once, with the same error and without the device.
  void lost(World& world, const Error& first) {
    EXPECT_FALSE(world.device.flush());  // what was on the device already
    const uint64_t calls = world.backend->calls();
    const auto result = GetParam().run(world);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(result.error().message, first.message);
    // A batch or sequence says the item as well.
    const auto common = std::min(result.error().context.size(), first.context.size());
    for (size_t i = 0; i < common; ++i) {
      if (first.context[i].starts_with("item ")) continue;
      EXPECT_EQ(result.error().context[i], first.context[i]);
    }
    EXPECT_EQ(world.backend->calls(), calls);
  }

  Bytes expected_;
  uint64_t calls_ = 0;
};

TEST_P(Faults, AFailedDispatch) {
  fail_each_call(ErrorCode::DispatchFailed);
}
TEST_P(Faults, NoMemoryOnTheDevice) {
  fail_each_call(ErrorCode::DeviceOutOfMemory);
}
TEST_P(Faults, CodeThatDoesNotLoad) {
  fail_each_call(ErrorCode::CompileFailed);
}
TEST_P(Faults, ALostDevice) {
  fail_each_call(ErrorCode::DeviceLost);
}

// The error names the program and the segment.
TEST_P(Faults, EachLaunch) {
  World clean(GetParam().options);
  ASSERT_TRUE(GetParam().run(clean));
  for (uint64_t n = 0; n < clean.backend->launches(); ++n) {
    SCOPED_TRACE(fmt::format("launch {} of {}", n, clean.backend->launches()));
    World world(GetParam().options);
    world.backend->fail_calls_like(NullCall::Kind::Launch, n, injected(ErrorCode::DispatchFailed));
    const auto result = GetParam().run(world);
    EXPECT_EQ(!result, !GetParam().drops);
    if (!result) {
      expect_good_error(result.error(), ErrorCode::DispatchFailed, true);
      if (!GetParam().varies) {
        EXPECT_THAT(to_string(result.error()),
                    HasSubstr(fmt::format("segment {} of ", last_segment(*world.backend))));
      }
    }
    again(world);
    if (HasFailure()) return;
  }
}

// Two faults in a row: the second meets what the first one left.
TEST_P(Faults, TwoInARow) {
  for (uint64_t n = 0; n < calls_; ++n) {
    SCOPED_TRACE(fmt::format("calls {} and {}", n, n + 1));
    std::shared_ptr<backend::NullBackend> backend;
    {
      World world(GetParam().options);
      backend = world.backend;
      backend->fail_call(n, injected(ErrorCode::DispatchFailed));
      backend->fail_call(n + 1, injected(ErrorCode::DeviceOutOfMemory));
      while (backend->calls() <= n + 1) (void)GetParam().run(world);
      again(world);
    }
    expect_nothing_left(backend);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(scenarios().begin(), scenarios().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FaultScenarios, ThereAreEnough) {
  EXPECT_GE(scenarios().size(), 24U);
}

}  // namespace
}  // namespace vyre::driver_test
