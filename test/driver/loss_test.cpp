// SPDX-License-Identifier: Apache-2.0
// A device that is lost while 1 to 8 threads use it (reliability.md 1.5, row 12).
#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "driver/world.hpp"
#include "figure.hpp"

namespace vyre::driver_test {
namespace {

using backend::NullCall;
using run::Argument;
using run::Buffer;
using testing::HasSubstr;

constexpr uint32_t kLength = 8;

// What a thread works with, in one life of the device.
struct Tools {
  run::Pipeline split, add;
  Buffer a, c;
};

Result<Tools> make_tools(const run::Device& device) {
  Tools tools;
  auto split = device.compile(programs().split);
  if (!split) return std::unexpected(split.error());
  tools.split = split->pipeline;
  auto add = device.compile(programs().add);
  if (!add) return std::unexpected(add.error());
  tools.add = add->pipeline;
  auto a = device.upload(std::as_bytes(count_to(kLength)));
  if (!a) return std::unexpected(a.error());
  tools.a = std::move(*a);
  auto c = device.allocate(4 * kLength);
  if (!c) return std::unexpected(c.error());
  tools.c = std::move(*c);
  return tools;
}

Result<Bytes> work(const run::Device& device, const Tools& tools, uint32_t queue) {
  run::DispatchConfig config;
  config.queue = queue;
  const auto k = count_to(1);
  auto result = tools.split.dispatch({k, count_to(kLength)}, config);
  if (!result) return std::unexpected(result.error());
  Bytes all = result->outputs[0];
  const Argument inputs[] = {tools.a, tools.a};
  const Buffer* const outputs[] = {&tools.c};
  auto pending = tools.add.dispatch_async({.inputs = inputs, .outputs = outputs}, config);
  if (!pending) return std::unexpected(pending.error());
  if (auto done = pending->wait(); !done) return std::unexpected(done.error());
  auto bytes = device.read(tools.c);
  if (!bytes) return std::unexpected(bytes.error());
  all.insert(all.end(), bytes->begin(), bytes->end());
  return all;
}

// Everything of the old life is refused, naming both generations.
void expect_stale(const run::Device& device, const Tools& old, uint32_t generation) {
  const std::string then = fmt::format("generation {}", generation);
  const std::string now = fmt::format("generation {}", generation + 1);
  const auto stale = [&](const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::StaleHandle);
    EXPECT_THAT(error.message, HasSubstr(then));
    EXPECT_THAT(error.message, HasSubstr(now));
  };
  const auto dispatched = old.split.dispatch({count_to(1), count_to(kLength)});
  ASSERT_FALSE(dispatched);
  stale(dispatched.error());
  const auto read = device.read(old.a);
  ASSERT_FALSE(read);
  stale(read.error());
}

class Losses : public testing::Test {
 protected:
  // One loss, at the n-th call of a kind, while `threads` threads work.
  void lose(World& world, const Bytes& expected, uint32_t threads, NullCall::Kind kind,
            uint64_t n) {
    SCOPED_TRACE(fmt::format("{} threads, {} {}", threads, name_of(kind), n));
    const uint32_t generation = world.backend->generation();
    const auto tools = make_tools(world.device);
    ASSERT_TRUE(tools);
    const bool loads = kind == NullCall::Kind::Load;
    world.backend->fail_calls_like(kind, n,
                                   {.code = ErrorCode::DeviceLost,
                                    .message = "the device is lost. Fix: recover() it",
                                    .context = {},
                                    .at = {},
                                    .diagnostics = {}});
    std::vector<std::vector<Error>> errors(threads);
    std::vector<std::thread> list;
    for (uint32_t t = 0; t < threads; ++t)
      list.emplace_back([&, t] {
        // What is used again and again, and what is made anew for each round.
        for (int rounds = 0; errors[t].empty() && rounds < 10'000; ++rounds) {
          if (loads && t == 0) world.device.compiler().clear_memory();
          auto own = make_tools(world.device);
          auto bytes = own ? work(world.device, *own, t) : std::unexpected(own.error());
          if (!bytes)
            errors[t].push_back(bytes.error());
          else if (*bytes != expected)
            errors[t].push_back({});
        }
        // Later calls fail at once.
        for (int i = 0; i < 3; ++i) {
          const auto start = std::chrono::steady_clock::now();
          if (auto late = world.device.allocate(4); !late) errors[t].push_back(late.error());
          quickest_ = std::min<std::chrono::nanoseconds>(quickest_.load(),
                                                         std::chrono::steady_clock::now() - start);
        }
      });
    for (std::thread& thread : list) thread.join();

    ASSERT_TRUE(world.device.is_lost());
    const Error loss = world.backend->check_usable().error();
    std::set<std::string> described;
    for (const auto& of_thread : errors) {
      EXPECT_EQ(of_thread.size(), 4U);
      for (const Error& error : of_thread) {
        EXPECT_EQ(error.code, ErrorCode::DeviceLost) << to_string(error);
        described.insert(to_string(error));
      }
    }
    EXPECT_THAT(described, testing::ElementsAre(to_string(loss)));
    EXPECT_THAT(to_string(loss), HasSubstr("while "));
    if (kind == NullCall::Kind::Launch) {
      EXPECT_THAT(to_string(loss), HasSubstr("while running program `"));
      EXPECT_THAT(to_string(loss), testing::ContainsRegex("segment [0-9]+ of [0-9]+"));
    }
    if (loads) {
      EXPECT_THAT(to_string(loss), HasSubstr("while compiling program `"));
    }

    const uint64_t calls = world.backend->calls();
    for (int i = 0; i < 100; ++i) {
      const auto late = work(world.device, *tools, 0);
      ASSERT_FALSE(late);
      EXPECT_EQ(to_string(late.error()), to_string(loss));
      EXPECT_FALSE(make_tools(world.device));
    }
    EXPECT_EQ(world.backend->calls(), calls);

    ASSERT_TRUE(world.device.recover());
    EXPECT_FALSE(world.device.is_lost());
    expect_stale(world.device, *tools, generation);
    const auto fresh = make_tools(world.device);
    ASSERT_TRUE(fresh);
    const auto bytes = work(world.device, *fresh, 0);
    ASSERT_TRUE(bytes) << to_string(bytes.error());
    EXPECT_EQ(*bytes, expected);
  }

  std::atomic<std::chrono::nanoseconds> quickest_{std::chrono::hours(1)};
};

// VYRE_LOSSES=2000 is the nightly figure.
TEST_F(Losses, ManyOverSeveralThreads) {
  using enum NullCall::Kind;
  constexpr NullCall::Kind kKinds[] = {Allocate, Write, Read, Load, Submit, Wait, Launch};
  const auto losses = static_cast<uint32_t>(vyre::test::figure("VYRE_LOSSES", 105));
  World world({.barriers = false, .record = false});
  Bytes expected;
  {
    const auto tools = make_tools(world.device);
    ASSERT_TRUE(tools);
    const auto bytes = work(world.device, *tools, 0);
    ASSERT_TRUE(bytes) << to_string(bytes.error());
    expected = *bytes;
  }
  std::mt19937 random(1);
  for (uint32_t i = 0; i < losses; ++i) {
    const uint32_t threads = 1 + i % 8;
    const NullCall::Kind kind = kKinds[i % std::size(kKinds)];
    lose(world, expected, threads, kind, random() % (kind == Load ? 2 : 12));
    if (HasFailure()) return;
    EXPECT_EQ(world.device.telemetry().device_lost, i + 1);
    EXPECT_EQ(world.device.telemetry().recoveries, i + 1);
  }
  // The best of several, since other programs run on this machine as well.
  EXPECT_LT(quickest_.load(), std::chrono::milliseconds(1));
  EXPECT_EQ(world.backend->live_buffers(), 0U);
}

}  // namespace
}  // namespace vyre::driver_test
