// SPDX-License-Identifier: Apache-2.0
// A child of fork(): handles of the parent are PoisonedState and can be destroyed, whatever the
// parent's threads were doing, and a device that the child opens works. Nothing waits: an alarm
// ends a child that does.
#include "base/fork.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "driver/world.hpp"
#include "vyre/backend/reference.hpp"

// ThreadSanitizer allows no work in a child of a program with threads.
#if !VYRE_THREAD_SANITIZER

namespace {
bool g_is_child = false;
}
// What threads of the parent hold looks like leaks in a child, which does not have these threads.
extern "C" int __lsan_is_turned_off() {  // NOLINT(bugprone-reserved-identifier)
  return g_is_child ? 1 : 0;
}

namespace vyre::driver_test {
namespace {

using namespace std::chrono_literals;
using run::Argument;
using run::Buffer;

constexpr uint32_t kLength = 64;

// In a child that ends by itself, with static destructors. "": the function returned 0.
std::string in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child < 0) return "no fork";
  if (child == 0) {
    g_is_child = true;
    ::alarm(60);
    std::exit(work());
  }
  int status = -1;
  if (::waitpid(child, &status, 0) != child) return "no child";
  if (WIFEXITED(status))
    return WEXITSTATUS(status) == 0 ? "" : "wrong in step " + std::to_string(WEXITSTATUS(status));
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
             ? "hangs"
             : "ends with signal " + std::to_string(WTERMSIG(status));
}

// Everything that a program may hold of one device.
struct Handles {
  Trace trace;
  run::Device device;
  run::Pipeline add;
  Buffer a, c;
  std::optional<run::Pending> pending;

  explicit Handles(run::Device d) : device(std::move(d)) {
    add = device.compile(programs().add)->pipeline;
    a = *device.upload(std::as_bytes(count_to(kLength)));
    c = *device.allocate(4 * kLength);
  }
  Result<run::Pending> start(const run::DispatchConfig& config = {}) {
    const Argument inputs[] = {a, a};
    const Buffer* const outputs[] = {&c};
    return add.dispatch_async({.inputs = inputs, .outputs = outputs}, config);
  }
};

template <class T>
bool is_poisoned(const Result<T>& result) {
  return !result && result.error().code == ErrorCode::PoisonedState &&
         result.error().message.find("Fix: ") != std::string::npos;
}

// The number of the first call with another answer; 0: none.
int use_all(Handles& h) {
  int step = 0;
  const auto wrong = [&](bool right) { return ++step, !right; };
  const Argument inputs[] = {h.a, h.a};
  std::vector<std::byte> bytes(4 * kLength);
  if (h.pending) {
    if (wrong(h.pending->is_ready())) return step;
    if (wrong(is_poisoned(h.pending->wait()))) return step;
    h.pending->cancel();
    h.pending.reset();
  }
  if (wrong(is_poisoned(h.add.dispatch({.inputs = inputs})))) return step;
  if (wrong(is_poisoned(h.add.dispatch_async({.inputs = inputs})))) return step;
  std::vector<run::Outputs> rows;
  const run::Arguments items[] = {{.inputs = inputs}};
  if (wrong(is_poisoned(h.add.dispatch_batch(items, rows)))) return step;
  const run::SequenceItem sequence[] = {{.pipeline = h.add, .arguments = {.inputs = inputs}}};
  if (wrong(is_poisoned(h.device.run_sequence(sequence, 1)))) return step;
  if (wrong(is_poisoned(h.device.compile(programs().scale)))) return step;
  if (wrong(is_poisoned(h.device.compile(programs().scale->program)))) return step;
  if (wrong(is_poisoned(h.device.prewarm(programs().scale)))) return step;
  if (wrong(is_poisoned(h.device.allocate(4)))) return step;
  if (wrong(is_poisoned(h.device.upload(bytes)))) return step;
  if (wrong(is_poisoned(h.device.write(h.a, bytes)))) return step;
  if (wrong(is_poisoned(h.device.read(h.a)))) return step;
  if (wrong(is_poisoned(h.device.fill(h.a, std::byte{1})))) return step;
  if (wrong(is_poisoned(h.device.copy(h.a, h.c)))) return step;
  if (wrong(is_poisoned(h.device.prepare()))) return step;
  if (wrong(is_poisoned(h.device.flush()))) return step;
  if (wrong(is_poisoned(h.device.shutdown()))) return step;
  if (wrong(is_poisoned(h.device.recover()))) return step;
  if (wrong(is_poisoned(h.device.backend().allocate(4)))) return step;
  if (wrong(h.device.telemetry().dispatches == 0)) return step;
  if (wrong(h.add.manifest().variants.empty())) return step;
  (void)h.device.cache_audit();
  (void)h.device.compiler().memory();
  h.device.set_trace(nullptr);
  h.trace.add({.name = "in the child"});
  if (wrong(h.trace.size() == 0)) return step;
  if (wrong(h.trace.write_json().find("\"events\":0") != std::string::npos)) return step;
  return 0;
}

void drop_all(Handles& h) {
  h.pending.reset();
  h.a = {};
  h.c = {};
  h.add = {};
  h.device = {};
}

// A device of the child's own. 0: it works.
int open_and_run(const std::string& id) {
  run::DeviceOptions options;
  options.cache_directory.clear();
  auto device = run::Device::open(id, std::move(options));
  if (!device) return 100;
  auto compiled = device->compile(programs().add);
  if (!compiled) return is_poisoned(compiled) && base::ForkSensitive::is_locked() ? 0 : 101;
  const Argument inputs[] = {count_to(kLength), count_to(kLength)};
  auto pending = compiled->pipeline.dispatch_async({.inputs = inputs});
  if (!pending) return 102;
  const auto done = pending->wait();
  if (!done) return 103;
  uint32_t last = 0;
  std::memcpy(&last, done->outputs[0].data() + 4 * (kLength - 1), 4);
  return last == 2 * kLength ? 0 : 104;
}

int everything(Handles& h) {
  if (const int wrong = use_all(h); wrong != 0) return wrong;
  drop_all(h);
  return open_and_run("reference");
}

// Launches that end when they are told to.
struct Gate {
  std::atomic<bool> entered = false;
  std::atomic<bool> open = false;
  std::shared_ptr<backend::NullBackend> backend(bool async_compute = false) {
    backend::NullOptions options;
    options.info.capabilities.async_compute = async_compute;
    options.on_launch = [this](const backend::NullLaunch& launch) -> Result<void> {
      entered = true;
      while (!open) std::this_thread::sleep_for(1ms);
      return interpret(launch);
    };
    return backend::open_null(std::move(options));
  }
};

run::Device over(std::shared_ptr<device::Backend> backend) {
  return run::Device::over(std::move(backend), {.cache_directory = {}});
}

// The queue's thread is inside of a launch, with a lock of the backend held, when the process
// forks.
TEST(Fork, WithWorkInFlight) {
  Gate gate;
  Handles h(over(gate.backend()));
  auto pending = h.start();
  ASSERT_TRUE(pending);
  h.pending = std::move(*pending);
  auto behind = h.start();  // waits for its turn
  ASSERT_TRUE(behind);
  while (!gate.entered) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(in_child([&] { return everything(h); }), "");
  EXPECT_EQ(in_child([&] {
              drop_all(h);
              return 0;
            }),
            "");
  gate.open = true;
  EXPECT_TRUE(h.pending->wait()) << "the parent goes on";
  EXPECT_TRUE(behind->wait());
}

// Work that the device was given and the queue's thread has not finished.
TEST(Fork, WithWorkStarted) {
  Gate gate;
  gate.open = true;
  auto backend = gate.backend(true);
  Handles h(over(backend));
  ASSERT_TRUE(h.start()->wait());  // from here on the queue has a thread
  auto pending = h.start();
  ASSERT_TRUE(pending);
  h.pending = std::move(*pending);
  EXPECT_EQ(in_child([&] { return everything(h); }), "");
  EXPECT_TRUE(h.pending->wait());
}

TEST(Fork, WithAThreadThatSleeps) {
  for (const bool shut_down : {false, true}) {
    Gate gate;
    gate.open = true;
    Handles h(over(gate.backend()));
    auto pending = h.start();
    ASSERT_TRUE(pending);
    ASSERT_TRUE(pending->wait());
    h.pending = std::move(*pending);  // a result that was taken
    if (shut_down) {
      ASSERT_TRUE(h.device.shutdown());
    }
    EXPECT_EQ(in_child([&] { return everything(h); }), "");
  }
}

// Before any thread was started, and in a child of the child.
TEST(Fork, WithoutThreadsAndTwice) {
  Gate gate;
  gate.open = true;
  Handles h(over(gate.backend()));
  EXPECT_EQ(in_child([&] {
              const std::string inner = in_child([&] { return everything(h); });
              return inner.empty() ? everything(h) : 99;
            }),
            "");
}

// Threads take and release every lock all the time; some are held at each fork.
TEST(Fork, WithLocksHeld) {
  Gate gate;
  gate.open = true;
  Handles h(over(gate.backend()));
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  const auto keep = [&](auto work) {
    threads.emplace_back([&stop, work] {
      while (!stop) work();
    });
  };
  keep([&] { (void)h.start()->wait(); });
  keep([&] { (void)h.add.dispatch({count_to(kLength), count_to(kLength)}); });
  keep([&] { (void)h.device.compile(programs().scale); });
  keep([&] { (void)h.device.telemetry(); });
  keep([&] {
    h.trace.add({.name = "in the parent"});
    (void)h.device.allocate(256);
  });
  for (int i = 0; i < 60 && !HasFailure(); ++i)
    EXPECT_EQ(in_child([&] { return everything(h); }), "") << "fork " << i;
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(h.start()->wait());
}

// LLVM has locks of its own: if another thread compiles, the child does not.
TEST(Fork, WhileAnotherThreadCompiles) {
  std::atomic<bool> inside = false;
  std::atomic<bool> leave = false;
  std::thread compiling([&] {
    const base::ForkSensitive guard;
    inside = true;
    while (!leave) std::this_thread::sleep_for(1ms);
  });
  while (!inside) std::this_thread::sleep_for(1ms);
  const auto compile = [] {
    const run::Device device = over(*backend::open_reference({}));
    const auto compiled = device.compile(programs().add);
    return compiled ? 0 : is_poisoned(compiled) ? 1 : 2;
  };
  EXPECT_EQ(in_child(compile), "wrong in step 1");
  EXPECT_EQ(compile(), 0);
  leave = true;
  compiling.join();
  EXPECT_EQ(in_child(compile), "");
}

// A handler that forks and returns in both processes.
TEST(Fork, InACallback) {
  const World world;
  const auto compiled = world.device.compile(programs().resumed);
  ASSERT_TRUE(compiled);
  pid_t child = -1;
  run::DispatchConfig config;
  config.trap_handler = std::make_shared<const TrapHandler>([&](auto&&...) -> Result<void> {
    if (child == -1) child = ::fork();
    if (child == 0) ::alarm(60);
    return {};
  });
  const auto result = compiled->pipeline.dispatch({count_to(kLength)}, config);
  if (child == 0) std::exit(is_poisoned(result) ? 0 : 1);
  ASSERT_GT(child, 0);
  EXPECT_TRUE(result) << to_string(result.error());
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// ---- the CPU, with helpers

const char* const kLong = R"(program long_one {
  workgroup 64;
  over 65536;
  out b : u32[65536];
  var x = gid.x;
  for i in 0 .. 20000 { x = x * 1664525 + 1013904223; }
  b[gid.x] = x;
})";

std::optional<run::Device> open_cpu() {
  auto device = run::Device::open("cpu", {.cache_directory = {}});
  return device ? std::optional(std::move(*device)) : std::nullopt;
}

TEST(Fork, TheCpuWithWorkInFlight) {
  auto device = open_cpu();
  if (!device) GTEST_SKIP() << "no CPU device in this build";
  const auto compiled = device->compile(program_of(kLong));
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  Handles h(*device);
  const auto expected = compiled->pipeline.dispatch({});
  ASSERT_TRUE(expected);
  auto pending = compiled->pipeline.dispatch_async({});
  ASSERT_TRUE(pending);
  h.pending = std::move(*pending);
  EXPECT_EQ(in_child([&] {
              if (const int wrong = everything(h); wrong != 0) return wrong;
              return open_and_run("cpu");
            }),
            "");
  const auto done = h.pending->wait();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->outputs, expected->outputs);
}

// Helpers are in the job when its owner forks: in the child the job ends without them.
TEST(Fork, TheCpuInACallback) {
  auto device = open_cpu();
  if (!device) GTEST_SKIP() << "no CPU device in this build";
  const auto compiled = device->compile(program_of(kLong));
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  pid_t child = -1;
  run::DispatchConfig config;
  config.progress = std::make_shared<const run::ProgressFunction>([&](auto&&...) {
    if (child == -1) child = ::fork();
    if (child == 0) ::alarm(60);
  });
  const auto result = compiled->pipeline.dispatch({}, config);
  if (child == 0) std::exit(is_poisoned(result) ? 0 : 1);
  EXPECT_TRUE(result);
  if (child == -1) GTEST_SKIP() << "the work was over before it reported progress";
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace vyre::driver_test

#endif
