// SPDX-License-Identifier: Apache-2.0
// Threads, asynchronous work, sequences, children of fork(), and the end of handles in every order.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "c_test.hpp"

namespace {
bool g_is_child = false;
}
// What threads of the parent hold looks like leaks in a child, which does not have these threads.
extern "C" int __lsan_is_turned_off() {  // NOLINT(bugprone-reserved-identifier)
  return g_is_child ? 1 : 0;
}

namespace vyre::c_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Call bound_call(const Pipeline& pipeline, vyre_arg* inout, vyre_arg* out,
                const vyre_options* options = nullptr) {
  vyre_call* call = nullptr;
  must(vyre_bind(pipeline.get(), inout, 1, out, out == nullptr ? 0 : 1, options, &call));
  return Call(call);
}
Pending start(const Call& call) {
  vyre_pending* pending = nullptr;
  must(vyre_call_start(call.get(), &pending));
  return Pending(pending);
}

TEST(Life, ThreadsShareHandles) {
  const Device device = open();
  const Pipeline twice = compile(device, kTwice);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (uint32_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 200; ++i) {
        uint32_t a[2] = {t, i};
        vyre_arg inout = VYRE_BYTES(a);
        vyre_data* data = nullptr;
        must(vyre_dispatch(twice.get(), &inout, 1, &inout, 1, nullptr,
                           i % 50 == 0 ? &data : nullptr));
        if (a[0] != 2 * t || a[1] != 2 * i) ++wrong;
        vyre_data_release(data);
        if (i % 20 == 0) {
          must(vyre_device_telemetry(device.get(), &data));
          vyre_data_release(data);
          const Pipeline again = compile(device, kTwice);
          vyre_pipeline_release(vyre_pipeline_retain(again.get()));
          vyre_arg missing = VYRE_MEMORY(nullptr, 4);
          expect_error(vyre_dispatch(twice.get(), &missing, 1, nullptr, 0, nullptr, nullptr),
                       VYRE_INVALID_ARGUMENT);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Life, PendingGivesItsResultOnce) {
  const Device device = open();
  const Pipeline twice = compile(device, kTwice);
  uint32_t in[2] = {5, 6};
  uint32_t result[2] = {0, 0};
  vyre_arg inout = VYRE_BYTES(in);
  vyre_arg out = VYRE_BYTES(result);
  const Call call = bound_call(twice, &inout, &out);
  EXPECT_EQ(out.written, 8U);
  const Pending pending = start(call);
  vyre_data* report = nullptr;
  must(vyre_pending_wait(pending.get(), UINT64_MAX, nullptr, &report));
  EXPECT_THAT(text_of(report), HasSubstr(R"("program":"twice")"));
  EXPECT_THAT(result, ElementsAre(10, 12));
  EXPECT_EQ(vyre_pending_done(pending.get()), 1);
  expect_error(vyre_pending_wait(pending.get(), 0, nullptr, nullptr), VYRE_INVALID_ARGUMENT,
               "has been taken");
  // A call can be run again, and reads its memory anew.
  in[0] = 50;
  must(vyre_call_run(call.get(), nullptr));
  EXPECT_THAT(result, ElementsAre(100, 12));
}

TEST(Life, WaitsEndInTime) {
  const Device device = open();
  const Pipeline endless = compile(device, kEndless);
  uint32_t flag = 0;
  vyre_arg inout = VYRE_MEMORY(&flag, 4);
  const Call call = bound_call(endless, &inout, &inout);
  const Pending pending = start(call);
  int done = 7;
  must(vyre_pending_wait(pending.get(), 1'000'000, &done, nullptr));
  EXPECT_EQ(done, 0);
  EXPECT_EQ(vyre_pending_done(pending.get()), 0);
  expect_error(vyre_pending_wait(pending.get(), 0, nullptr, nullptr), VYRE_TIMEOUT, "wait longer");
  vyre_pending_cancel(pending.get());
  expect_error(vyre_pending_wait(pending.get(), UINT64_MAX - 1, &done, nullptr), VYRE_TIMEOUT);
  EXPECT_EQ(done, 1);
  // The time limit of the dispatch itself is an error, however long the wait.
  vyre_options limit = options_with(VYRE_SET_TIMEOUT);
  limit.timeout_ns = 10'000'000;
  const Call limited = bound_call(endless, &inout, &inout, &limit);
  const Pending ended = start(limited);
  expect_error(vyre_pending_wait(ended.get(), UINT64_MAX, &done, nullptr), VYRE_TIMEOUT);
  EXPECT_EQ(done, 1);
}

TEST(Life, WorkThatIsLeftAloneFinishes) {
  Device device = open();
  vyre_trace* traced = nullptr;
  must(vyre_trace_new(0, &traced));
  Trace trace(traced);
  must(vyre_device_set_trace(device.get(), traced));
  vyre_cancel* flag_to_cancel = nullptr;
  must(vyre_cancel_new(&flag_to_cancel));
  Pipeline endless = compile(device, kEndless);
  uint32_t flag = 0;
  vyre_arg inout = VYRE_MEMORY(&flag, 4);
  vyre_options options = options_with(VYRE_SET_CANCEL | VYRE_SET_TIMEOUT);
  options.cancel = flag_to_cancel;
  options.timeout_ns = 100'000'000;
  Call call = bound_call(endless, &inout, &inout, &options);
  Pending pending = start(call);
  // All handles go before the work does, in this order.
  trace.reset();
  vyre_cancel_release(flag_to_cancel);
  endless.reset();
  call.reset();
  pending.reset();
  device.reset();
}

TEST(Life, OneThreadWaits) {
  const Device device = open();
  const Pipeline endless = compile(device, kEndless);
  uint32_t flag = 0;
  vyre_arg inout = VYRE_MEMORY(&flag, 4);
  const Call call = bound_call(endless, &inout, &inout);
  const Pending pending = start(call);
  std::atomic<bool> begins = false;
  std::thread waiter([&] {
    begins = true;
    expect_error(vyre_pending_wait(pending.get(), UINT64_MAX, nullptr, nullptr), VYRE_TIMEOUT);
  });
  while (!begins) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  expect_error(vyre_pending_wait(pending.get(), 0, nullptr, nullptr), VYRE_INVALID_ARGUMENT,
               "another thread waits");
  vyre_pending_cancel(pending.get());
  waiter.join();
}

TEST(Life, Sequences) {
  const Device device = open();
  const Pipeline twice = compile(device, kTwice);
  const uint32_t values[2] = {1, 3};
  const Buffer buffer = upload(device, values, sizeof values);
  vyre_arg resident = VYRE_RESIDENT(buffer.get());
  const Call call = bound_call(twice, &resident, nullptr);
  std::array<vyre_call*, 1> calls = {call.get()};
  uint32_t result[1] = {};
  vyre_read read = {buffer.get(), 4, result, 4};
  vyre_sequence sequence{};
  sequence.struct_size = sizeof sequence;
  sequence.prefix = sequence.suffix = sequence.repeated = calls.data();
  sequence.prefix_count = sequence.suffix_count = sequence.repeated_count = 1;
  sequence.repeats = 3;
  sequence.reads = &read;
  sequence.read_count = 1;
  vyre_data* report = nullptr;
  must(vyre_sequence_run(device.get(), &sequence, &report));
  EXPECT_EQ(result[0], 3U << 5);
  EXPECT_THAT(text_of(report), HasSubstr(R"("items":[{"dispatches":1)"));
  read.bytes = UINT64_MAX;
  expect_error(vyre_sequence_run(device.get(), &sequence, nullptr), VYRE_INVALID_ARGUMENT);
  read = {buffer.get(), 4, nullptr, 4};
  expect_error(vyre_sequence_run(device.get(), &sequence, nullptr), VYRE_INVALID_ARGUMENT);
  sequence.read_count = SIZE_MAX;
  expect_error(vyre_sequence_run(device.get(), &sequence, nullptr), VYRE_LIMIT_EXCEEDED);
  sequence.read_count = 0;
  sequence.prefix_count = SIZE_MAX;
  expect_error(vyre_sequence_run(device.get(), &sequence, nullptr), VYRE_LIMIT_EXCEEDED);
  sequence.prefix_count = 1;
  calls[0] = nullptr;
  expect_error(vyre_sequence_run(device.get(), &sequence, nullptr), VYRE_INVALID_ARGUMENT,
               "`prefix[0]` is NULL");
  uint32_t host[2] = {1, 2};
  vyre_arg memory = VYRE_BYTES(host);
  const Call on_host = bound_call(twice, &memory, &memory);
  calls[0] = on_host.get();
  expect_error(vyre_sequence_run(device.get(), &sequence, nullptr), VYRE_INVALID_ARGUMENT,
               "stay in buffers");
}

TEST(Life, AfterShutdownAndRecovery) {
  const Device device = open();
  const Pipeline twice = compile(device, kTwice);
  const uint32_t values[2] = {1, 3};
  const Buffer buffer = upload(device, values, sizeof values);
  vyre_arg resident = VYRE_RESIDENT(buffer.get());
  const auto run = [&] {
    return vyre_dispatch(twice.get(), &resident, 1, nullptr, 0, nullptr, nullptr);
  };
  must(run());
  must(vyre_device_flush(device.get()));
  must(vyre_device_recover(device.get()));
  expect_error(run(), VYRE_STALE_HANDLE);
  must(vyre_device_shutdown(device.get()));
  expect_error(vyre_buffer_fill(buffer.get(), 1), VYRE_POISONED_STATE);
  expect_error(run(), VYRE_POISONED_STATE);
}

#if !defined(__SANITIZE_THREAD__)
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
  if (!WIFEXITED(status)) return "ends with signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "wrong in step " + std::to_string(WEXITSTATUS(status));
}

bool is_poisoned(vyre_error* error) {
  const Error owned(error);
  return vyre_error_code(error) == VYRE_POISONED_STATE;
}

TEST(Life, ChildrenOfForkOpenTheirOwn) {
  const Device device = open();
  const Pipeline twice = compile(device, kTwice);
  const Pipeline endless = compile(device, kEndless);
  const uint32_t values[2] = {1, 3};
  uint32_t flag = 0;
  Buffer buffer = upload(device, values, sizeof values);
  vyre_arg wait_flag = VYRE_MEMORY(&flag, 4);
  vyre_options limit = options_with(VYRE_SET_TIMEOUT | VYRE_SET_QUEUE);
  limit.timeout_ns = 500'000'000;
  limit.queue = 1;
  Call call = bound_call(endless, &wait_flag, &wait_flag, &limit);
  Pending pending = start(call);
  EXPECT_EQ(in_child([&] {
              uint32_t a[2] = {1, 2};
              vyre_arg inout = VYRE_BYTES(a);
              vyre_data* data = nullptr;
              vyre_pipeline* none = nullptr;
              if (!is_poisoned(vyre_dispatch(twice.get(), &inout, 1, &inout, 1, nullptr, nullptr)))
                return 1;
              if (!is_poisoned(vyre_buffer_read(buffer.get(), 0, a, 8))) return 2;
              if (!is_poisoned(vyre_pending_wait(pending.get(), UINT64_MAX, nullptr, nullptr)))
                return 3;
              if (!is_poisoned(vyre_pipeline_manifest(twice.get(), &data))) return 4;
              if (!is_poisoned(vyre_pipeline_plan(twice.get(), nullptr, 0, nullptr, &data)))
                return 5;
              if (!is_poisoned(vyre_device_set_trace(device.get(), nullptr))) return 6;
              if (!is_poisoned(vyre_compile_text(device.get(), kAdd.data(), kAdd.size(), nullptr,
                                                 nullptr, &none)))
                return 7;
              if (!is_poisoned(vyre_device_flush(device.get()))) return 8;
              pending.reset();
              call.reset();
              buffer.reset();
              const Device own = open();
              const Pipeline again = compile(own, kTwice);
              if (Error(vyre_dispatch(again.get(), &inout, 1, &inout, 1, nullptr, nullptr)))
                return 9;
              return a[0] == 2 && a[1] == 4 ? 0 : 10;
            }),
            "");
  expect_error(vyre_pending_wait(pending.get(), UINT64_MAX, nullptr, nullptr), VYRE_TIMEOUT);
}
#endif

TEST(Life, ManyCallsLeaveNothingBehind) {
  const Device device = open();
  const Pipeline twice = compile(device, kTwice);
  uint32_t a[4] = {1, 1, 1, 1};
  vyre_arg inout = VYRE_BYTES(a);
  const Call call = bound_call(twice, &inout, &inout);
  const auto resident_pages = [] {
    FILE* const file = std::fopen("/proc/self/statm", "r");
    long size = 0, resident = 0;
    if (file != nullptr && std::fscanf(file, "%ld %ld", &size, &resident) != 2) resident = 0;
    if (file != nullptr) std::fclose(file);
    return resident;
  };
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) {
      must(vyre_call_run(call.get(), nullptr));
      vyre_arg small = VYRE_MEMORY(a, 8);
      vyre_arg whole = VYRE_BYTES(a);
      expect_error(vyre_dispatch(twice.get(), &whole, 1, &small, 1, nullptr, nullptr),
                   VYRE_INVALID_ARGUMENT);
      vyre_pending_release(start(call).release());
    }
  };
  run(2000);
  [[maybe_unused]] const long before = resident_pages();
  run(10000);
#if !defined(VYRE_C_SANITIZED) && !defined(__SANITIZE_ADDRESS__)  // which keeps what was freed
  EXPECT_LT(resident_pages() - before, 512);                      // pages of 4 KiB
#else
  EXPECT_GT(resident_pages(), 0);
#endif
}

}  // namespace
}  // namespace vyre::c_test
