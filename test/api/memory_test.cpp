// SPDX-License-Identifier: Apache-2.0
// Lets every single allocation of the host fail in turn: no call may throw, and the device goes on
// working. Allocations of other threads are left alone.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/vyre.hpp"

namespace {

// Allocations of this thread until one fails; below 0: none does.
thread_local int64_t allocations_left = -1;

// Not inlined: g++ takes the free() below for a mistake when it sees through both.
[[gnu::noinline]] void* allocate_or_null(size_t bytes, size_t alignment) {
  if (allocations_left >= 0 && allocations_left-- == 0) return nullptr;
  // A size of 0 still needs a place of its own.
  const size_t rounded = (bytes + alignment) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded);
}

void* allocate(size_t bytes, size_t alignment) {
  void* const at = allocate_or_null(bytes, alignment);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

[[gnu::noinline]] void release(void* at) {
  std::free(at);
}

}  // namespace

void* operator new(size_t bytes) {
  return allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new[](size_t bytes) {
  return allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
  return allocate_or_null(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(size_t bytes, std::align_val_t alignment,
                   const std::nothrow_t& /*unused*/) noexcept {
  return allocate_or_null(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* at) noexcept {
  release(at);
}
void operator delete[](void* at) noexcept {
  release(at);
}
void operator delete(void* at, size_t) noexcept {
  release(at);
}
void operator delete[](void* at, size_t) noexcept {
  release(at);
}
void operator delete(void* at, std::align_val_t) noexcept {
  release(at);
}
void operator delete[](void* at, std::align_val_t) noexcept {
  release(at);
}
void operator delete(void* at, size_t, std::align_val_t) noexcept {
  release(at);
}
void operator delete[](void* at, size_t, std::align_val_t) noexcept {
  release(at);
}

namespace vyre::test {
namespace {

constexpr std::string_view kReverse = R"(program reverse {
  workgroup 4;
  over len(a);
  inout a : u32[];
  var mine = 0;
  if gid.x < len(a) { mine = a[len(a) - 1 - gid.x]; }
  barrier grid;
  if gid.x < len(a) { a[gid.x] = mine; }
}
)";

// Runs `call` with the first allocation failing, then with the second one, until none fails.
template <class T>
void expect_survives(const char* what, const std::function<Result<T>()>& call) {
  for (int64_t n = 0;; ++n) {
    ASSERT_LT(n, 200'000) << what;
    bool threw = false;
    std::optional<Result<T>> result;
    allocations_left = n;
    try {
      result.emplace(call());
    } catch (...) {
      threw = true;
    }
    const bool failed = allocations_left < 0;
    allocations_left = -1;
    ASSERT_FALSE(threw) << what << " throws when allocation " << n << " fails";
    if (!failed) {
      EXPECT_TRUE(*result) << what << ": " << to_string(result->error());
      return;
    }
    // The memory of these devices is the host's.
    if (!*result) {
      ASSERT_THAT(result->error().code,
                  testing::AnyOf(ErrorCode::HostOutOfMemory, ErrorCode::DeviceOutOfMemory))
          << what << ", allocation " << n << ": " << to_string(result->error());
    }
  }
}

TEST(HostMemory, Parse) {
  expect_survives<CheckedProgram>("parse_checked", [] { return parse_checked(kReverse); });
}

TEST(HostMemory, Open) {
  expect_survives<Device>("open",
                          [] { return Device::open("reference", {.cache_directory = {}}); });
}

class HostMemoryOf : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto opened = Device::open(GetParam(), {.cache_directory = {}});
    ASSERT_TRUE(opened) << to_string(opened.error());
    device_ = std::move(*opened);
    auto parsed = parse_checked(kReverse);
    ASSERT_TRUE(parsed);
    program_ = std::make_shared<const CheckedProgram>(std::move(*parsed));
  }
  void expect_still_works() {
    const auto compiled = device_.compile(program_);
    ASSERT_TRUE(compiled) << to_string(compiled.error());
    const auto result = compiled->pipeline.dispatch({values_});
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_THAT(to_vector<uint32_t>(result->outputs[0]), testing::ElementsAre(5, 4, 3, 2, 1));
  }

  Device device_;
  std::shared_ptr<const CheckedProgram> program_;
  const std::vector<uint32_t> values_ = {1, 2, 3, 4, 5};
};

TEST_P(HostMemoryOf, Compile) {
  expect_survives<CompileResult>("compile", [&] {
    device_.compiler().clear_memory();
    return device_.compile(program_);
  });
  expect_still_works();
}

TEST_P(HostMemoryOf, Dispatch) {
  const auto compiled = device_.compile(program_);
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  const std::array<Argument, 1> inputs = {values_};
  expect_survives<DispatchResult>("dispatch",
                                  [&] { return compiled->pipeline.dispatch({values_}); });
  expect_survives<DispatchResult>("async", [&]() -> Result<DispatchResult> {
    auto pending = compiled->pipeline.dispatch_async({.inputs = inputs});
    if (!pending) return std::unexpected(pending.error());
    return pending->wait();
  });
  const std::array<Arguments, 2> items = {Arguments{.inputs = inputs}, {.inputs = inputs}};
  expect_survives<std::vector<Report>>("batch", [&] {
    std::vector<Outputs> rows;
    return compiled->pipeline.dispatch_batch(items, rows);
  });
  expect_still_works();
}

TEST_P(HostMemoryOf, Buffers) {
  if (!device_.info().capabilities.resident_buffers) GTEST_SKIP() << "keeps no buffers";
  const auto compiled = device_.compile(program_);
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  expect_survives<Buffer>("upload", [&] { return device_.upload(as_bytes(values_)); });
  const auto buffer = device_.upload(as_bytes(values_));
  const auto other = device_.upload(as_bytes(values_));
  ASSERT_TRUE(buffer && other);
  expect_survives<std::vector<std::byte>>("read", [&] { return device_.read(*buffer); });
  const std::array<ReadRange, 2> ranges = {ReadRange{&*buffer, 0, 8}, {&*buffer, 4, 8}};
  expect_survives<std::vector<std::vector<std::byte>>>("read_ranges",
                                                       [&] { return device_.read_ranges(ranges); });
  expect_survives<void>("copy", [&] { return device_.copy(*buffer, *other); });
  expect_survives<void>("fill", [&] { return device_.fill(*other, std::byte{1}); });
  const std::array<Argument, 1> inputs = {*buffer};
  const std::array<SequenceItem, 1> items = {
      SequenceItem{.pipeline = compiled->pipeline, .arguments = {.inputs = inputs}}};
  expect_survives<SequenceReport>("run_sequence", [&] {
    std::vector<std::vector<std::byte>> read;
    return device_.run_sequence({.repeated = items, .repeats = 3, .ranges = ranges}, &read);
  });
  expect_still_works();
}

INSTANTIATE_TEST_SUITE_P(Devices, HostMemoryOf,
                         testing::Values("reference", "reference:2", "reference:3", "reference:5"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace vyre::test
