// SPDX-License-Identifier: Apache-2.0
// The public face of a device (device/backend.hpp) is tested here too: null is its smallest user.
#include "vyre/backend/null.hpp"

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/null/heap_count_test.hpp"
#include "vyre/device/buffer.hpp"

namespace vyre::backend {
namespace {

using namespace device;
using CallKind = NullCall::Kind;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<uint32_t>;

Error broken(ErrorCode code = ErrorCode::DispatchFailed) {
  return {.code = code, .message = "broken. Fix: none", .context = {}, .at = {}, .diagnostics = {}};
}

Transfer to_device(const Region& region, void* host) {
  return {.direction = Transfer::Direction::ToDevice,
          .device = region,
          .host = static_cast<std::byte*>(host)};
}
Transfer to_host(const Region& region, void* host) {
  return {.direction = Transfer::Direction::ToHost,
          .device = region,
          .host = static_cast<std::byte*>(host)};
}

uint32_t word_of(std::span<const std::byte> bytes, size_t word = 0) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + word * 4, 4);
  return value;
}

class NullTest : public testing::Test {
 protected:
  void open(NullOptions options = {}) { device_ = open_null(std::move(options)); }

  LoadedArtifact load(uint32_t arguments) {
    Artifact artifact;
    artifact.entries.push_back({.name = "first"});
    artifact.entries.push_back({.name = "second"});
    for (Entry& entry : artifact.entries) entry.bindings.resize(arguments);
    auto loaded = device_->load(artifact);
    EXPECT_TRUE(loaded);
    return std::move(*loaded);
  }
  Result<Completion> run(std::span<const Step> steps, Submission submission = {}) {
    submission.steps = steps;
    const auto ticket = device_->submit(submission);
    if (!ticket) return std::unexpected(ticket.error());
    return device_->wait(*ticket);
  }
  Words read(const Buffer& buffer) {
    Words words(buffer.bytes() / 4);
    const Transfer transfer = to_host(buffer.whole(), words.data());
    EXPECT_TRUE(device_->transfer({&transfer, 1}));
    return words;
  }
  [[nodiscard]] std::vector<CallKind> kinds() const {
    std::vector<CallKind> kinds;
    for (const NullCall& call : device_->record()) kinds.push_back(call.kind);
    return kinds;
  }

  std::shared_ptr<NullBackend> device_;
};

// ---- memory

TEST_F(NullTest, HandlesAreSmallAndNeverUsedAgain) {
  open();
  Buffer a = *device_->allocate(4);
  EXPECT_EQ(a.handle().value, 1u);
  a = *device_->allocate(4);
  EXPECT_EQ(a.handle().value, 2u);
  const LoadedArtifact code = load(0);
  EXPECT_EQ(code.handle().value, 3u);
  const Buffer b = *device_->allocate(0);
  EXPECT_EQ(b.handle().value, 4u);
  EXPECT_EQ(device_->live_buffers(), 2u);
  EXPECT_EQ(device_->live_bytes(), 4u);
  EXPECT_EQ(device_->loaded(), 1u);
}

// D-RES.4: fresh memory is not zeros, and nothing may count on it.
TEST_F(NullTest, FreshMemoryHoldsThePattern) {
  open();
  EXPECT_THAT(read(*device_->allocate(12)), Each(0xA5A5A5A5));
  open({.fresh_fill = std::byte{0xFF}});
  EXPECT_THAT(read(*device_->allocate(12)), Each(0xFFFFFFFF));
}

TEST_F(NullTest, MemoryIsAlignedAndEndsWhereItEnds) {
  const std::byte* seen = nullptr;
  open({.on_launch = [&](const NullLaunch& x) {
    seen = x.arguments[0].data();
    return Result<void>();
  }});
  const LoadedArtifact code = load(1);
  const Buffer odd = *device_->allocate(13);
  const Region all = odd.whole();
  const Step step = Launch{.pipeline = code.handle(), .arguments = {&all, 1}, .grid = {1, 1, 1}};
  ASSERT_TRUE(run({&step, 1}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(seen) % 256, 0u);
}

TEST_F(NullTest, MemoryHasALimit) {
  open({.memory_limit = 100});
  const Buffer a = *device_->allocate(60);
  const auto b = device_->allocate(41);
  ASSERT_FALSE(b);
  EXPECT_EQ(b.error().code, ErrorCode::DeviceOutOfMemory);
  EXPECT_THAT(b.error().message, HasSubstr("41 bytes are requested"));
  EXPECT_THAT(b.error().message, HasSubstr("40 bytes available"));
  EXPECT_TRUE(device_->allocate(40));
  EXPECT_EQ(device_->live_bytes(), 60u);
}

TEST_F(NullTest, BuffersLargerThanTheDeviceAllowsAreRefused) {
  NullOptions options;
  options.info.capabilities.storage_buffer_bytes = 16;
  open(options);
  EXPECT_TRUE(device_->allocate(16));
  const auto big = device_->allocate(17);
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(device_->calls(), 1u);  // the backend was not asked
}

TEST_F(NullTest, WithoutResidentBuffersNothingSurvivesASubmission) {
  NullOptions options;
  options.info.capabilities.resident_buffers = false;
  open(options);
  const Buffer a = *device_->allocate(4);
  const Buffer control = *device_->allocate(4, Memory::Control);
  uint32_t out = 0;
  const Step steps[] = {SetWord{.to = {a.handle(), 0}, .value = 7},
                        SetWord{.to = {control.handle(), 0}, .value = 8}, to_host(a.whole(), &out)};
  ASSERT_TRUE(run(steps));
  EXPECT_EQ(out, 7u);
  EXPECT_THAT(read(a), ElementsAre(0xA5A5A5A5));
  EXPECT_THAT(read(control), ElementsAre(8));  // the host's own
}

// ---- launches and steps

TEST_F(NullTest, LaunchesCallTheFunction) {
  std::vector<std::string> names;
  std::vector<uint64_t> numbers;
  open({.on_launch = [&](const NullLaunch& x) {
    names.push_back(x.entry.name);
    numbers.push_back(x.number);
    EXPECT_EQ(x.grid, (Axes{2, 3, 4}));
    EXPECT_EQ(x.arguments.size(), 2u);
    EXPECT_EQ(x.arguments[0].size(), 8u);
    EXPECT_TRUE(x.arguments[1].empty());
    const uint32_t sum = word_of(x.arguments[0]) + 1;
    std::memcpy(x.arguments[0].data(), &sum, 4);
    return Result<void>();
  }});
  const LoadedArtifact code = load(2);
  const Buffer a = *device_->allocate(16);
  const Region arguments[] = {*a.region(4, 8), Region{}};
  Launch launch{.pipeline = code.handle(), .entry = 1, .arguments = arguments, .grid = {2, 3, 4}};
  const Step steps[] = {SetWord{.to = {a.handle(), 4}, .value = 10},
                        Repeat{.body_steps = 1, .most = 3}, launch};
  const auto done = run(steps);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->launches, 3u);
  EXPECT_EQ(read(a)[1], 13u);
  EXPECT_THAT(names, Each("second"));
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2));
  EXPECT_EQ(device_->launches(), 3u);
}

TEST_F(NullTest, LaunchesOfWhatIsNotThereAreRefused) {
  open({.resident_groups = 4, .on_launch = [](const NullLaunch&) { return Result<void>(); }});
  const LoadedArtifact code = load(1);
  EXPECT_EQ(code.max_resident_groups(1), 4u);
  const Buffer a = *device_->allocate(16);
  Region region = a.whole();
  Launch launch{.pipeline = code.handle(), .arguments = {&region, 1}, .grid = {5, 1, 1}};
  const auto message = [&] {
    const Step step = launch;
    const auto done = run({&step, 1});
    return done ? "" : to_string(done.error());
  };
  EXPECT_EQ(message(), "");
  launch.cooperative = true;
  EXPECT_THAT(message(), HasSubstr("CooperativeResidencyExceeded"));
  launch.grid = {4, 1, 1};
  EXPECT_EQ(message(), "");
  region.bytes = 17;
  EXPECT_THAT(message(), HasSubstr("argument 0 of `first` is 17 bytes at 0 of handle 2"));
  launch.arguments = {};
  EXPECT_THAT(message(), HasSubstr("with 0 arguments"));
  launch.entry = 2;
  EXPECT_THAT(message(), HasSubstr("a launch of entry 2 of handle 1"));
  launch.pipeline = {99};
  EXPECT_THAT(message(), HasSubstr("handle 99"));
}

// D-RES.2
TEST_F(NullTest, TimesAreThoseOfTheTest) {
  open({.times = {.device_ns = 2, .enqueue_ns = 3, .wait_ns = 4}});
  LoadedArtifact code = load(0);
  const auto times_of_three = [&] {
    const Launch launch{.pipeline = code.handle(), .grid = {1, 1, 1}};
    const Step steps[] = {launch, launch, launch};
    return run(steps)->timings;
  };
  EXPECT_EQ(times_of_three(), (Timings{.device_ns = 6, .enqueue_ns = 9, .wait_ns = 12}));
  open({.times_of = [](uint64_t n) {
    return Timings{.device_ns = 10 * n, .enqueue_ns = n == 1 ? std::optional<uint64_t>() : 1};
  }});
  code = load(0);
  EXPECT_EQ(times_of_three(), (Timings{.device_ns = 30, .enqueue_ns = {}, .wait_ns = {}}));
  open();
  code = load(0);
  EXPECT_EQ(times_of_three(), Timings{});
}

// ---- the record

// D-RES.1: exactly handle 7, offset 12, 3 bytes.
TEST_F(NullTest, TransfersAreRecordedAsGiven) {
  open();
  std::vector<Buffer> buffers(7);
  for (Buffer& buffer : buffers) buffer = *device_->allocate(32);
  device_->clear_record();
  char host[8] = {};
  const Transfer batch[] = {to_device(*buffers[6].region(12, 3), host),
                            to_host(*buffers[0].region(0, 8), host)};
  ASSERT_TRUE(device_->transfer(batch));
  EXPECT_THAT(device_->record(), ElementsAre(NullCall{CallKind::Write, Handle{7}, 12, 3},
                                             NullCall{CallKind::Read, Handle{1}, 0, 8}));
  EXPECT_EQ(device_->calls(), 7u + 1u);  // a batch is one
}

TEST_F(NullTest, EverythingIsRecorded) {
  open();
  LoadedArtifact code = load(0);
  Buffer a = *device_->allocate(8);
  uint32_t host = 0;
  const Step steps[] = {
      Launch{.pipeline = code.handle(), .entry = 1, .grid = {2, 3, 1}},
      Copy{.to = *a.region(0, 4), .from = *a.region(4, 4)},
      Fill{.to = a.whole()},
      SetWord{.to = {a.handle(), 4}, .value = 1},
      Compare{.a = *a.region(0, 4), .b = *a.region(4, 4), .differs = {a.handle(), 0}},
      to_host(*a.region(0, 4), &host),
      Exit{.word = {a.handle(), 0}, .if_equal = true, .value = 9}};
  ASSERT_TRUE(run(steps));
  a.free();
  code = {};
  ASSERT_TRUE(device_->recover());
  const Handle c{1};
  const Handle m{2};
  EXPECT_THAT(
      device_->record(),
      ElementsAre(NullCall{CallKind::Load, c, 0, 0}, NullCall{CallKind::Allocate, m, 0, 8},
                  NullCall{CallKind::Submit, {}, 0, 7}, NullCall{CallKind::Launch, c, 1, 6},
                  NullCall{CallKind::Copy, m, 0, 4}, NullCall{CallKind::Fill, m, 0, 8},
                  NullCall{CallKind::SetWord, m, 4, 4}, NullCall{CallKind::Compare, m, 0, 4},
                  NullCall{CallKind::Read, m, 0, 4}, NullCall{CallKind::Exit, m, 0, 4},
                  NullCall{CallKind::Wait, {}, 0, 0}, NullCall{CallKind::Release, m, 0, 0},
                  NullCall{CallKind::Release, c, 0, 0}, NullCall{CallKind::Recover, {}, 0, 0}));
  EXPECT_EQ(host, 1u);
}

TEST_F(NullTest, EveryKindOfCallHasItsName) {
  std::set<std::string_view> names;
  for (int i = 0; i < kNullCallKinds; ++i) names.insert(name_of(static_cast<CallKind>(i)));
  EXPECT_EQ(names.size(), size_t{kNullCallKinds});
}

// A warm submission is not charged for the device that runs nothing.
TEST_F(NullTest, AWarmSubmissionAllocatesNothing) {
  open({.record = false, .on_launch = [](const NullLaunch&) { return Result<void>(); }});
  const LoadedArtifact code = load(3);
  const Buffer a = *device_->allocate(64);
  const Region arguments[] = {a.whole(), a.whole(), Region{}};
  char host[64];
  const Step steps[] = {
      to_device(a.whole(), host), to_device(a.whole(), host),
      Launch{.pipeline = code.handle(), .arguments = arguments, .grid = {1, 1, 1}},
      to_host(a.whole(), host)};
  ASSERT_TRUE(run(steps));
  const std::optional<uint64_t> before = heap_allocations();
  bool fine = true;
  for (int i = 0; i < 100; ++i) fine = fine && run(steps).has_value();
  EXPECT_EQ(heap_allocations(), before);
  EXPECT_TRUE(fine);
  EXPECT_THAT(device_->record(), IsEmpty());
}

// ---- faults

// Every call of a small dispatch fails once; nothing leaks, and what comes after works.
TEST_F(NullTest, EveryCallCanFail) {
  open();
  const auto dispatch = [&]() -> Result<void> {
    auto a = device_->allocate(4);
    if (!a) return std::unexpected(a.error());
    Artifact artifact;
    artifact.entries.push_back({.name = "one"});
    auto code = device_->load(artifact);
    if (!code) return std::unexpected(code.error());
    uint32_t host = 0;
    const Transfer transfer = to_device(a->whole(), &host);
    if (auto ok = device_->transfer({&transfer, 1}); !ok) return ok;
    const Launch launch{.pipeline = code->handle(), .grid = {1, 1, 1}};
    const Step steps[] = {launch, launch};
    const auto done = run(steps);
    if (!done) return std::unexpected(done.error());
    return {};
  };
  ASSERT_TRUE(dispatch());
  EXPECT_EQ(device_->calls(), 7u);
  for (uint64_t n = 0; n < 7; ++n) {
    device_->fail_call(device_->calls() + n, broken());
    const auto failed = dispatch();
    ASSERT_FALSE(failed) << n;
    EXPECT_EQ(failed.error().message, "broken. Fix: none");
    EXPECT_EQ(device_->live_buffers(), 0u);
    EXPECT_EQ(device_->loaded(), 0u);
    EXPECT_TRUE(dispatch()) << n;
  }
}

TEST_F(NullTest, CallsOfOneKindFail) {
  open();
  const LoadedArtifact code = load(0);
  Buffer a = *device_->allocate(4);
  uint32_t host = 0;
  device_->fail_calls_like(CallKind::Read, 1, broken());
  const Transfer write = to_device(a.whole(), &host);
  const Transfer both[] = {write, to_host(a.whole(), &host)};
  EXPECT_TRUE(device_->transfer(both));
  EXPECT_TRUE(device_->transfer({&write, 1}));
  EXPECT_FALSE(device_->transfer(both));
  EXPECT_TRUE(device_->transfer(both));

  device_->fail_calls_like(CallKind::Launch, 2, broken());
  uint32_t failed_step = 9;
  const Launch launch{.pipeline = code.handle(), .grid = {1, 1, 1}};
  const Step steps[] = {SetWord{.to = {a.handle(), 0}}, launch, launch, launch};
  // What goes wrong in the work is told at the end.
  const auto ticket = device_->submit({.steps = steps, .failed_step = &failed_step});
  ASSERT_TRUE(ticket);
  EXPECT_EQ(failed_step, 3u);
  EXPECT_FALSE(device_->wait(*ticket));
  device_->fail_calls_like(CallKind::Submit, 0, broken());
  EXPECT_FALSE(device_->submit({.steps = steps}));
  EXPECT_TRUE(run(steps));
}

TEST_F(NullTest, TheErrorOfAKernelNamesItsStep) {
  open({.on_launch = [](const NullLaunch& x) -> Result<void> {
    if (x.number == 1) return std::unexpected(broken());
    return {};
  }});
  const LoadedArtifact code = load(0);
  const Launch launch{.pipeline = code.handle(), .grid = {1, 1, 1}};
  const Step steps[] = {launch, Fill{}, launch};
  uint32_t failed_step = 9;
  EXPECT_FALSE(run(steps, {.failed_step = &failed_step}));
  EXPECT_EQ(failed_step, 2u);
}

// D-LIFE.1: lost is a state that only recover() ends, and old handles are stale then.
TEST_F(NullTest, ALostDeviceStaysLostUntilItRecovers) {
  open();
  Buffer a = *device_->allocate(4);
  LoadedArtifact code = load(0);
  device_->lose_device_at(device_->calls() + 1);
  const Launch launch{.pipeline = code.handle(), .grid = {1, 1, 1}};
  const Step steps[] = {launch};
  const auto lost = run(steps);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::DeviceLost);
  EXPECT_TRUE(device_->is_lost());
  EXPECT_EQ(device_->losses(), 1u);
  device_->describe_loss({"while running `p`, segment 1 of 3"});
  device_->describe_loss({"somebody else, later"});
  const uint64_t calls = device_->calls();
  const auto again = device_->allocate(4);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, lost.error().message);
  EXPECT_THAT(again.error().context, ElementsAre("while running `p`, segment 1 of 3"));
  EXPECT_FALSE(device_->transfer({}));
  EXPECT_FALSE(device_->submit({.steps = steps}));
  EXPECT_EQ(device_->calls(), calls);  // they fail at once

  device_->fail_calls_like(CallKind::Recover, 0, broken());
  EXPECT_FALSE(device_->recover());
  EXPECT_TRUE(device_->is_lost());
  ASSERT_TRUE(device_->recover());
  EXPECT_FALSE(device_->is_lost());
  EXPECT_EQ(device_->generation(), 2u);
  EXPECT_EQ(device_->live_buffers(), 0u);
  const auto stale = a.check_owner(*device_);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, ErrorCode::StaleHandle);
  EXPECT_THAT(stale.error().message, HasSubstr("generation 1"));
  EXPECT_THAT(stale.error().message, HasSubstr("generation 2"));
  EXPECT_FALSE(code.check_owner(*device_));
  device_->clear_record();
  a.free();
  code = {};
  EXPECT_THAT(kinds(), IsEmpty());  // what is stale is not freed again

  const Buffer b = *device_->allocate(4);
  EXPECT_TRUE(b.check_owner(*device_));
  EXPECT_GT(b.handle().value, 2u);
}

TEST_F(NullTest, BuffersOfAnotherDeviceAreStale) {
  open();
  const Buffer a = *device_->allocate(4);
  const auto other = open_null();
  const auto stale = a.check_owner(*other);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, ErrorCode::StaleHandle);
  EXPECT_THAT(stale.error().message,
              HasSubstr("(instance " + std::to_string(device_->instance()) + ")"));
  EXPECT_THAT(stale.error().message,
              HasSubstr("(instance " + std::to_string(other->instance()) + ")"));
  EXPECT_FALSE(Buffer().check_owner(*other));
}

// ---- owners

TEST_F(NullTest, OwnersFreeWhatTheyOwnAndKeepTheDevice) {
  open();
  Buffer kept;
  {
    const Buffer gone = *device_->allocate(4);
    Buffer moved = *device_->allocate(4);
    kept = std::move(moved);
  }
  EXPECT_EQ(device_->live_buffers(), 1u);
  {
    LoadedArtifact code = load(0);
    code = load(0);
    EXPECT_EQ(device_->loaded(), 1u);
  }
  EXPECT_EQ(device_->loaded(), 0u);
  const std::weak_ptr<Backend> device = device_;
  device_.reset();
  EXPECT_FALSE(device.expired());
  kept.free();
  EXPECT_TRUE(device.expired());
}

TEST_F(NullTest, RegionsStayInTheirBuffer) {
  open();
  const Buffer a = *device_->allocate(16);
  EXPECT_EQ(*a.region(4, 12), (Region{a.handle(), 4, 12}));
  EXPECT_TRUE(a.region(16, 0));
  for (const auto& [offset, bytes] :
       std::vector<std::pair<uint64_t, uint64_t>>{{17, 0}, {8, 9}, {~uint64_t{0}, 2}}) {
    const auto outside = a.region(offset, bytes);
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().code, ErrorCode::InvalidArgument);
  }
}

TEST_F(NullTest, FreeingABufferInFlightWaits) {
  open();
  auto buffer = std::make_unique<Buffer>(*device_->allocate(4));
  Buffer::Use use(*buffer);
  std::atomic<bool> freed = false;
  std::thread other([&] {
    buffer.reset();
    freed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(freed);
  EXPECT_EQ(device_->live_buffers(), 1u);
  use.end();
  other.join();
  EXPECT_EQ(device_->live_buffers(), 0u);
}

// ---- what a device may be asked

TEST_F(NullTest, StepsThatADeviceCannotFollowAreRefused) {
  NullOptions options;
  options.info.capabilities.device_loops = false;
  options.info.capabilities.indirect = false;
  open(options);
  const Buffer a = *device_->allocate(8);
  const auto message = [&](const Step& step) {
    const auto done = device_->submit({.steps = {&step, 1}});
    return done ? "" : to_string(done.error());
  };
  EXPECT_THAT(message(Branch{.then_steps = 0, .else_steps = 0, .word = {a.handle(), 0}}),
              HasSubstr("Unsupported"));
  EXPECT_THAT(message(Launch{.pipeline = Handle{1}, .grid_from = Word{a.handle(), 0}}),
              HasSubstr("a grid in device memory"));
  EXPECT_THAT(message(Launch{}), HasSubstr("a launch without code"));
  EXPECT_THAT(message(SetWord{.to = {a.handle(), 2}}), HasSubstr("a word without a place"));
  EXPECT_THAT(message(Copy{.to = a.whole(), .from = *a.region(0, 4)}),
              HasSubstr("a copy of two lengths"));
  EXPECT_THAT(message(Transfer{.device = a.whole()}), HasSubstr("without host bytes"));
  open();
  EXPECT_THAT(message(Repeat{.body_steps = 1, .most = 1}), HasSubstr("owns more steps"));
}

TEST_F(NullTest, WrongTicketsAreRefused) {
  open();
  const auto ticket = device_->submit({});
  ASSERT_TRUE(ticket);
  EXPECT_TRUE(device_->wait(*ticket));
  for (const Ticket wrong : {*ticket, Ticket{}, Ticket{99}}) {
    const auto again = device_->wait(wrong);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::Internal);
  }
}

TEST_F(NullTest, WorkOfSeveralThreadsDoesNotMix) {
  open({.on_launch = [](const NullLaunch& x) {
    const uint32_t next = word_of(x.arguments[0]) + 1;
    std::memcpy(x.arguments[0].data(), &next, 4);
    return Result<void>();
  }});
  const LoadedArtifact code = load(1);
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::atomic<int> right = 0;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 50; ++i) {
        const Buffer a = *device_->allocate(4);
        const Region region = a.whole();
        uint32_t in = t * 1000 + i;
        uint32_t out = 0;
        const Step steps[] = {
            to_device(region, &in),
            Launch{.pipeline = code.handle(), .arguments = {&region, 1}, .grid = {1, 1, 1}},
            to_host(region, &out)};
        if (run(steps) && out == in + 1) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
  EXPECT_EQ(device_->live_buffers(), 0u);
  EXPECT_EQ(device_->launches(), 200u);
}

}  // namespace
}  // namespace vyre::backend
