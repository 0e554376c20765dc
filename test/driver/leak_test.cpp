// SPDX-License-Identifier: Apache-2.0
// What one owner of memory wrote is never seen by another one: not by a program whose proof is
// wrong, not by a caller who asks for memory that is not cleared. And who keeps its memory pays
// nothing for it.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/sanitizers.hpp"
#include "driver/world.hpp"
#include "vyre/backend/cpu.hpp"
#include "vyre/device/registry.hpp"

namespace vyre::driver_test {
namespace {

using device::Allocation;
using device::Contents;
using run::Argument;
using run::Buffer;
using testing::Each;

constexpr std::byte kSecret{0x5E};
constexpr uint64_t kSizes[] = {16, 1000, 100'000, 131'072, 200'000, 1'000'000, 8'000'000};

// All devices that run programs here, without caches on disk.
std::vector<std::string> device_ids() {
  std::vector<std::string> ids;
  for (const device::BackendDescriptor& row : device::registry().registered_backends())
    for (const device::DeviceFacts& facts : row.enumerate())
      if (row.dispatches && facts.unusable.empty() && facts.capabilities.resident_buffers)
        ids.push_back(facts.id);
  return ids;
}

class Leaks : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto opened = run::Device::open(GetParam(), {.cache_directory = {}});
    ASSERT_TRUE(opened) << to_string(opened.error());
    device_ = *opened;
  }
  [[nodiscard]] device::Backend& backend() const { return device_.backend(); }

  // Memory of the owner that holds the secret, and is given back.
  void leave_secret(uint64_t bytes, uint64_t owner) const {
    std::vector<device::Buffer> blocks;
    for (int i = 0; i < 4; ++i) {
      auto made = backend().allocate({.bytes = bytes, .owner = owner});
      ASSERT_TRUE(made) << to_string(made.error());
      ASSERT_TRUE(device_.fill(*made, kSecret));
      blocks.push_back(std::move(*made));
    }
  }
  // How many bytes of the secret are in new memory.
  [[nodiscard]] uint64_t secrets(const Allocation& wanted) const {
    uint64_t found = 0;
    std::vector<device::Buffer> blocks;
    for (int i = 0; i < 6; ++i) {
      auto made = backend().allocate(wanted);
      EXPECT_TRUE(made) << to_string(made.error());
      if (!made) return ~uint64_t{0};
      const auto bytes = device_.read(*made);
      EXPECT_TRUE(bytes);
      found += static_cast<uint64_t>(std::ranges::count(*bytes, kSecret));
      blocks.push_back(std::move(*made));
    }
    return found;
  }

  [[nodiscard]] run::Pipeline compile(std::string_view text) const {
    auto compiled = device_.compile(program_of(text));
    EXPECT_TRUE(compiled) << to_string(compiled.error());
    return compiled->pipeline;
  }
  // A program that leaves so many words of a secret in its arena, and is closed.
  void run_secret_program(uint32_t words) const {
    const run::Pipeline pipeline = compile(fmt::format(
        "program secret {{ workgroup 64; over {0}; out o : u32[{0}]; o[gid.x] = 0x5E5E5E5E; }}",
        words));
    const auto result = pipeline.dispatch({});
    ASSERT_TRUE(result) << to_string(result.error());
  }

  run::Device device_;
};

TEST_P(Leaks, MemoryThatChangesItsOwner) {
  for (const uint64_t bytes : kSizes) {
    SCOPED_TRACE(bytes);
    const uint64_t one = device::new_owner();
    const uint64_t other = device::new_owner();
    leave_secret(bytes, one);
    EXPECT_EQ(secrets({.bytes = bytes, .owner = other}), 0U);
    leave_secret(bytes, one);
    EXPECT_EQ(secrets({.bytes = bytes}), 0U);  // nobody's
    leave_secret(bytes, 0);
    EXPECT_EQ(secrets({.bytes = bytes, .owner = other}), 0U);
    leave_secret(bytes, one);
    EXPECT_EQ(secrets({.bytes = bytes, .owner = one, .contents = Contents::Zeros}), 0U);
  }
}

// Blocks are a little larger than what is asked for: what lies behind must not come out when their
// owner asks for more the next time.
TEST_P(Leaks, BytesBehindTheRequestedOnes) {
  for (const uint64_t bytes : kSizes) {
    SCOPED_TRACE(bytes);
    const uint64_t one = device::new_owner();
    const uint64_t other = device::new_owner();
    leave_secret(bytes, one);
    for (int i = 0; i < 2; ++i) {
      std::vector<device::Buffer> blocks;
      for (int k = 0; k < 5; ++k)
        blocks.push_back(*backend().allocate({.bytes = bytes - 10, .owner = other}));
    }
    EXPECT_EQ(secrets({.bytes = bytes, .owner = other}), 0U);
  }
}

// An upload that is not cleared first is its caller's only where it was written.
TEST_P(Leaks, UploadsAreNotCleared) {
  for (const uint64_t bytes : kSizes) {
    SCOPED_TRACE(bytes);
    leave_secret(bytes, device::new_owner());
    for (int i = 0; i < 5; ++i) {
      const Bytes ones(bytes - 10, std::byte{1});
      const uint64_t before = backend().cleared_bytes();
      const Buffer there = *device_.upload(ones);
      EXPECT_EQ(backend().cleared_bytes(), before);
      EXPECT_EQ(*device_.read(there), ones);
    }
    const auto plain = device_.allocate(bytes, Contents::Uninitialised);
    ASSERT_TRUE(plain);
    EXPECT_EQ(std::ranges::count(*device_.read(*plain), kSecret), 0);
  }
}

TEST_P(Leaks, AllocateGivesZeros) {
  for (const uint64_t bytes : kSizes) {
    SCOPED_TRACE(bytes);
    for (int i = 0; i < 3; ++i) {
      const Buffer buffer = *device_.allocate(bytes);
      EXPECT_TRUE(*device_.read(buffer) == Bytes(bytes));
      ASSERT_TRUE(device_.fill(buffer, kSecret));
    }
    // On request it is what the caller of this handle left, or nothing.
    const run::Device other = run::Device::over(backend().shared_from_this());
    for (int i = 0; i < 3; ++i) {
      const Buffer buffer = *other.allocate(bytes, Contents::Uninitialised);
      EXPECT_EQ(std::ranges::count(*other.read(buffer), kSecret), 0);
    }
  }
}

// The case that was found: the function runs in one lane, and 8 MB of another program came back.
TEST_P(Leaks, AFunctionThatOneLaneCalls) {
  // An interpreter takes its time for two million lanes; one of them is enough.
  const bool compiled = device_.info().kind != device::Kind::Oracle;
  const uint32_t words = compiled || GetParam() == "reference" ? 2'000'000 : 50'000;
  const std::string lazy = fmt::format(
      "program lazy {{ workgroup 64; over {0}; out o : u32[{0}];\n"
      "  fn w(b : buffer u32[], i : u32) -> bool {{ b[i] = 7; return true; }}\n"
      "  let c = gid.x < 1 && w(o, gid.x);\n}}\n",
      words);
  for (int i = 0; i < (compiled ? 3 : 1); ++i) {
    run_secret_program(words);
    const auto result = compile(lazy).dispatch({});
    ASSERT_TRUE(result) << to_string(result.error());
    Bytes expected(4 * size_t{words});
    expected[0] = std::byte{7};
    EXPECT_TRUE(result->outputs[0] == expected);
  }
}

TEST_P(Leaks, ClosedProgramsAndTheirArenas) {
  const bool compiled = device_.info().kind != device::Kind::Oracle;
  for (const uint32_t words : {100U, 60'000U, 2'000'000U}) {
    if (!compiled && words > 100'000) continue;
    SCOPED_TRACE(words);
    run_secret_program(words);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(secrets({.bytes = uint64_t{4} * words, .owner = device::new_owner()}), 0U);
    const Buffer plain = *device_.allocate(uint64_t{4} * words, Contents::Uninitialised);
    EXPECT_EQ(std::ranges::count(*device_.read(plain), kSecret), 0);
  }
}

// Dispatches that come again clear nothing, alone or in turns with others.
TEST_P(Leaks, SteadyDispatchesClearNothing) {
  const run::Pipeline add = device_.compile(programs().add)->pipeline;
  const run::Pipeline scale = device_.compile(programs().scale)->pipeline;
  const run::Pipeline split = device_.compile(programs().split)->pipeline;
  const auto k = count_to(1);
  const auto words = count_to(64);
  run::Outputs slots;
  const auto all = [&] {
    const std::array<Argument, 2> both = {words, words};
    const std::array<Argument, 2> factor = {k, words};
    ASSERT_TRUE(add.dispatch_into({.inputs = both}, slots));
    ASSERT_TRUE(scale.dispatch_into({.inputs = factor}, slots));
    ASSERT_TRUE(split.dispatch_into({.inputs = factor}, slots));
  };
  for (int i = 0; i < 3; ++i) all();
  const uint64_t before = device_.telemetry().cleared_bytes;
  for (int i = 0; i < 50; ++i) all();
  EXPECT_EQ(device_.telemetry().cleared_bytes, before);
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace_if(name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Devices, Leaks, testing::ValuesIn(device_ids()), test_name);

// A wrong proof: the driver believes that the program overwrites its output, and the device leaves
// it as it was.
TEST(WrongProofs, ShowNothingOfOthers) {
  backend::NullOptions options;
  options.fresh_fill.reset();
  options.on_launch = [](const backend::NullLaunch&) { return Result<void>(); };
  const auto backend = backend::open_null(std::move(options));
  const run::Device device = run::Device::over(backend, {.cache_directory = {}});
  const Program idle =
      program_of("program idle { workgroup 64; over 10000; out o : u32[10000]; o[gid.x] = 1; }");
  for (int i = 0; i < 3; ++i) {
    std::vector<Buffer> secrets;
    for (int n = 0; n < 20; ++n) {
      secrets.push_back(*device.allocate(40'000 + 256 * (n % 3)));
      ASSERT_TRUE(device.fill(secrets.back(), kSecret));
    }
    secrets.clear();
    const auto given = device.compile(idle)->pipeline.dispatch({});
    ASSERT_TRUE(given) << to_string(given.error());
    EXPECT_THAT(given->outputs[0], Each(std::byte{0}));
  }
}

// In the poison mode it shows.
TEST(WrongProofs, ShowThePoison) {
  backend::NullOptions options;
  options.on_launch = [](const backend::NullLaunch&) { return Result<void>(); };
  const auto backend = backend::open_null(std::move(options));
  for (const std::byte poison : {std::byte{0xC3}, std::byte{0x3C}}) {
    const run::Device device =
        run::Device::over(backend, {.cache_directory = {}, .poison = poison});
    const auto compiled = device.compile(
        program_of("program idle { workgroup 64; over 100; out o : u32[100]; o[gid.x] = 1; }"));
    for (int i = 0; i < 3; ++i)
      EXPECT_THAT(compiled->pipeline.dispatch({})->outputs[0], Each(poison));
    const Buffer plain = *device.allocate(100, Contents::Uninitialised);
    EXPECT_THAT(*device.read(plain), Each(poison));
    EXPECT_THAT(*device.read(*device.allocate(100)), Each(std::byte{0}));
  }
}

// More arenas at once than a pipeline keeps: those that go to the pool come back as they are.
TEST(Arenas, TheirPipelineGetsThemBack) {
  if (*backend::why_no_cpu() != 0) GTEST_SKIP() << backend::why_no_cpu();
  if (base::kAddressSanitizer) GTEST_SKIP() << "the device keeps no blocks under this sanitizer";
  const auto backend = *backend::open_cpu({.workers = 1});
  const uint64_t owner = device::new_owner();
  const uint64_t other = device::new_owner();
  const auto take = [&](uint64_t who, int count) {
    std::vector<device::Buffer> blocks;
    for (int i = 0; i < count; ++i)
      blocks.push_back(*backend->allocate({.bytes = 1'000'000, .owner = who}));
  };
  take(owner, 20);
  take(other, 5);
  const uint64_t before = backend->cleared_bytes();
  for (int i = 0; i < 10; ++i) {
    take(owner, 15);
    take(other, 5);
  }
  EXPECT_EQ(backend->cleared_bytes(), before);
}

}  // namespace
}  // namespace vyre::driver_test
