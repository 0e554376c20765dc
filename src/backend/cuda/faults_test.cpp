// SPDX-License-Identifier: Apache-2.0
// Every call of the driver fails once: what was asked for ends with an error that names the call,
// nothing leaks, and nothing hangs.
#include <algorithm>
#include <map>
#include <set>

#include "backend/cuda/fake_test.hpp"

namespace vyre::backend {
namespace {

using namespace device;
using testing::AnyOf;
using testing::HasSubstr;

// Their errors have nowhere to go: they free something, or come before that. A stream that does not
// say that it runs does not.
const std::set<std::string> kSilent = {"cuCtxPopCurrent_v2", "cuMemFree_v2",
                                       "cuMemFreeHost",      "cuLinkDestroy",
                                       "cuModuleUnload",     "cuStreamDestroy_v2",
                                       "cuEventDestroy_v2",  "cuDevicePrimaryCtxRelease_v2",
                                       "cuStreamQuery",      "cuCtxPushCurrent_v2",
                                       "cuMemFreeAsync",     "cuMemPoolDestroy",
                                       "cuGraphDestroy",     "cuGraphExecDestroy"};

// What cannot be made a graph, or patched, is given to the driver step by step.
bool belongs_to_graphs(const std::vector<std::string>& record, const std::string& name,
                       uint64_t n) {
  if (name.ends_with("SetParams") || name.ends_with("SetParams_v2")) return true;
  bool capturing = false;
  for (const std::string& call : record) {
    if (call == "cuStreamBeginCapture_v2") capturing = true;
    if (call == name && n-- == 0)
      return capturing || name == "cuStreamEndCapture" || name == "cuGraphInstantiateWithFlags";
    if (call == "cuStreamEndCapture") capturing = false;
  }
  return false;
}

// Asked in errors only, or when a device is recovered.
const std::set<std::string> kElsewhere = {"cuGetErrorName", "cuGetErrorString", "cuMemGetInfo_v2",
                                          "cuMemPoolTrimTo", "cuDevicePrimaryCtxReset_v2"};

std::vector<std::string> functions() {
  std::vector<std::string> names;
#define VYRE_NAME(name, symbol, ...) names.emplace_back(symbol);
  VYRE_CUDA_FUNCTIONS(VYRE_NAME)
#undef VYRE_NAME
  return names;
}

class CudaFaults : public CudaTest {
 protected:
  // Buffers are freed afterwards: the work is over, even if waiting did not begin.
  static Result<Completion> wait(Backend& device, Ticket ticket) {
    auto done = device.wait(ticket);
    if (!done) std::ignore = device.wait(ticket);
    return done;
  }

  // A little of everything.
  Result<void> session() {
    auto opened = open_cuda();
    if (!opened) return std::unexpected(opened.error());
    Backend& device = **opened;
    std::vector<Buffer> buffers;
    for (const Memory kind : {Memory::Device, Memory::Device, Memory::Staging}) {
      auto buffer = device.allocate(64, kind);
      if (!buffer) return std::unexpected(buffer.error());
      buffers.push_back(std::move(*buffer));
    }
    auto code = device.load(fake_artifact());
    if (!code) return std::unexpected(code.error());
    Words host(16, 3);
    const Transfer transfer = to_device(buffers[0].whole(), host.data());
    if (auto ok = device.transfer({&transfer, 1}); !ok) return ok;
    const Region arguments[] = {buffers[0].whole(), buffers[1].whole()};
    const Launch one{.pipeline = code->handle(),
                     .entry = kOne,
                     .arguments = {arguments, 1},
                     .workgroup = {8, 1, 1},
                     .grid = {1, 1, 1}};
    Launch barrier = one;
    barrier.entry = kBarrier;
    Launch indirect = one;
    indirect.grid_from = Word{buffers[0].handle(), 0};
    std::vector<std::byte> big(70'000);
    auto large = device.allocate(big.size());
    if (!large) return std::unexpected(large.error());
    const Step steps[] = {
        one,
        barrier,
        to_device(buffers[1].whole(), host.data()),
        Copy{.to = buffers[2].whole(), .from = buffers[1].whole()},
        Fill{.to = *buffers[1].region(0, 16)},
        SetWord{.to = {buffers[1].handle(), 0}, .value = 4},
        Compare{
            .a = buffers[0].whole(), .b = buffers[1].whole(), .differs = {buffers[2].handle(), 0}},
        Exit{.word = {buffers[1].handle(), 0}, .value = 5},
        indirect,
        to_device(large->whole(), big.data()),
        to_host(large->whole(), big.data()),
        to_host(buffers[1].whole(), host.data())};
    const auto first =
        device.submit({.steps = steps, .measure = device::Measure::Steps, .checked = true});
    if (!first) return std::unexpected(first.error());
    const auto second = device.submit({.steps = steps, .queue = 1, .after = {&*first, 1}});
    const auto first_done = wait(device, *first);
    if (!second) return std::unexpected(second.error());
    if (!first_done && first_done.error().code == ErrorCode::DeviceLost)
      return std::unexpected(first_done.error());
    const auto second_done = wait(device, *second);
    if (!first_done) return std::unexpected(first_done.error());
    if (!second_done) return std::unexpected(second_done.error());
    // Once more, with what the first ones have left.
    const auto third = device.submit({.steps = steps});
    if (!third) return std::unexpected(third.error());
    const auto third_done = wait(device, *third);
    if (!third_done) return std::unexpected(third_done.error());
    return graphs(device, one, barrier, *buffers[0].region(0, 16), *buffers[1].region(0, 16));
  }

  static Result<void> graphs(Backend& device, const Launch& one, const Launch& barrier,
                             const Region& region, const Region& other) {
    Words host(4, 3);
    const Step again[] = {to_device(region, host.data()), Fill{.to = region}, one, barrier,
                          to_host(region, host.data())};
    Launch one_other = one;
    one_other.arguments = {&other, 1};
    const Step patched[] = {to_device(other, host.data()), Fill{.to = other}, one_other, barrier,
                            to_host(other, host.data())};
    const Step loop[] = {Repeat{.body_steps = 1, .most = 40}, one};
    const Submission submissions[] = {{.steps = again, .replay_key = 1},
                                      {.steps = again, .replay_key = 1},
                                      {.steps = again, .replay_key = 1},
                                      {.steps = patched, .replay_key = 2},
                                      {.steps = loop}};
    for (const Submission& submission : submissions) {
      const auto ticket = device.submit(submission);
      if (!ticket) return std::unexpected(ticket.error());
      const auto done = wait(device, *ticket);
      if (!done) return std::unexpected(done.error());
    }
    return {};
  }

  static void expect_named(const Error& error, const std::string& call, int status,
                           ErrorCode code) {
    const std::string text = to_string(error);
    EXPECT_THAT(text, HasSubstr(fmt::format("({})", status)));
    EXPECT_THAT(text, HasSubstr("Fix: "));
    // After a silent one, whatever meets the same trouble next names itself.
    if (!kSilent.contains(call)) {
      EXPECT_THAT(text, HasSubstr(call));
    }
    EXPECT_THAT(error.code, AnyOf(code, ErrorCode::Unavailable)) << text;
  }

  void every_call(int status, ErrorCode code) {
    fake_cuda().reset({});
    const auto fine = session();
    ASSERT_TRUE(fine) << to_string(fine.error());
    std::map<std::string, uint64_t> calls;
    for (const std::string& call : fake_cuda().record()) ++calls[call];
    for (const std::string& name : functions())
      EXPECT_EQ(calls.contains(name), !kElsewhere.contains(name)) << name;
    calls["cuEventQuery"] = 20;  // asked as often as there is time for
    calls["cuStreamQuery"] = 20;
    int thrown_away = 0;
    int in_captures = 0;
    for (const auto& [name, count] : calls)
      for (uint64_t n = 0; n < count; ++n) {
        SCOPED_TRACE(fmt::format("{} {}", name, n));
        fake_cuda().reset({});
        fake_cuda().fail(name, n, status);
        const auto result = session();
        ASSERT_TRUE(fake_cuda().live() == cuda::FakeLive{});
        if (std::ranges::count(fake_cuda().record(), name) <= static_cast<ptrdiff_t>(n)) continue;
        // What a submission leaves to the next one cannot be cleared: it is thrown away, and a
        // device that is lost by that is found to be by the next call.
        const bool clears = name == "cuMemcpyHtoDAsync_v2" || name == "cuEventRecord";
        if (belongs_to_graphs(fake_cuda().record(), name, n) ||
            (name == "cuStreamCreate" && n + 1 == count)) {
          // A device that is lost by it is found to be by the step that comes next.
          if (!result) expect_named(result.error(), "", status, code);
          EXPECT_EQ(!result, status == 700);
          ++in_captures;
        } else if (clears && (result || !to_string(result.error()).contains(name))) {
          ++thrown_away;
        } else if (!result) {
          expect_named(result.error(), name, status, code);
        } else if (name != "cuMemAllocFromPoolAsync" || status != 2) {  // that is tried again
          EXPECT_TRUE(kSilent.contains(name));
        }
      }
    EXPECT_LE(thrown_away, 2 * 4);  // two calls each for four submissions that count blocks
    EXPECT_GE(in_captures, 12);
  }
};

TEST_F(CudaFaults, EveryCallFailsOnce) {
  every_call(701, ErrorCode::DispatchFailed);
}

TEST_F(CudaFaults, EveryCallLosesTheDeviceOnce) {
  every_call(700, ErrorCode::DeviceLost);
}

TEST_F(CudaFaults, EveryCallRunsOutOfMemoryOnce) {
  every_call(2, ErrorCode::DeviceOutOfMemory);
}

// A recovery that fails is an error like the loss, and can be tried again.
TEST_F(CudaFaults, EveryCallOfARecoveryFailsOnce) {
  const auto lose_and_recover = [&](uint64_t fail_at) -> std::pair<Result<void>, uint64_t> {
    fake_cuda().reset({});
    open();
    bind({{1}});
    fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch&) { return 700; });
    EXPECT_FALSE(run({launch(kOne)}));
    fake_cuda().clear_record();
    const uint64_t before = fake_cuda().calls();
    if (fail_at != ~uint64_t{0}) fake_cuda().fail("", fail_at, 701);
    auto back = device_->recover();
    fake_cuda().clear_faults();  // waiting takes as many calls as it takes time
    const uint64_t calls = fake_cuda().calls() - before;
    if (!back) {
      EXPECT_TRUE(device_->is_lost());
      EXPECT_EQ(back.error().code, ErrorCode::Unavailable);
      EXPECT_THAT(back.error().message, HasSubstr("Fix: restart the process"));
      EXPECT_THAT(back.error().message, HasSubstr(fake_cuda().record()[fail_at]));
      EXPECT_TRUE(device_->recover());
    }
    EXPECT_TRUE(device_->allocate(4));
    close();
    EXPECT_TRUE(fake_cuda().live() == cuda::FakeLive{});
    return {std::move(back), calls};
  };
  const auto [fine, calls] = lose_and_recover(~uint64_t{0});
  ASSERT_TRUE(fine);
  int failures = 0;
  for (uint64_t n = 0; n < calls; ++n) failures += !lose_and_recover(n).first;
  EXPECT_GE(failures, 5);
}

}  // namespace
}  // namespace vyre::backend
