// SPDX-License-Identifier: Apache-2.0
// Opens, uses and closes the CPU device again and again while other threads keep all cores busy. A
// device that does not close is found by the watchdog; threads, descriptors and memory that stay
// behind are counted. VYRE_SOAK_DEVICES says how often (default 300; nightly 100000).
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "driver/world.hpp"

namespace vyre::driver_test {
namespace {

using namespace std::chrono_literals;

// With enough work for helpers, so that the device has threads to end.
const char* const kWork = R"(program work {
  workgroup 64;
  over 16384;
  out b : u32[16384];
  var x = gid.x;
  for i in 0 .. 64 { x = x * 1664525 + 1013904223; }
  b[gid.x] = x;
})";

uint32_t rounds() {
  const char* const text = std::getenv("VYRE_SOAK_DEVICES");
  return text != nullptr ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : 300;
}

size_t entries(const char* directory) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    (void)entry;
    ++count;
  }
  return count;
}

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Threads that never sleep: as many as there are cores.
class Load {
 public:
  Load() {
    for (unsigned i = 0; i < std::max(2U, std::thread::hardware_concurrency()); ++i)
      threads_.emplace_back([this] {
        while (!stop_.load(std::memory_order_relaxed)) {
        }
      });
  }
  ~Load() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

// Ends the process with a message if nothing has happened for five minutes.
class Watchdog {
 public:
  Watchdog()
      : thread_([this] {
          uint64_t last = ~uint64_t{0};
          auto since = std::chrono::steady_clock::now();
          while (!stop_) {
            std::this_thread::sleep_for(50ms);
            const auto now = std::chrono::steady_clock::now();
            if (const uint64_t at = progress_; at != last) {
              last = at;
              since = now;
            } else if (now - since > 5min) {
              std::fprintf(stderr, "round %llu hangs\n", static_cast<unsigned long long>(at));
              std::abort();
            }
          }
        }) {}
  ~Watchdog() {
    stop_ = true;
    thread_.join();
  }
  void step() { ++progress_; }

 private:
  std::atomic<uint64_t> progress_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

class Soak {
 public:
  Soak() : program_(program_of(kWork)) {
    directory_ = std::filesystem::temp_directory_path() /
                 ("vyre_devices_soak_" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
  }
  ~Soak() { std::filesystem::remove_all(directory_); }

  void round(uint32_t number) {
    run::DeviceOptions options;
    options.cache_directory = directory_;
    auto device = run::Device::open("cpu", std::move(options));
    ASSERT_TRUE(device) << to_string(device.error());
    const auto compiled = device->compile(program_);
    ASSERT_TRUE(compiled) << to_string(compiled.error());
    if (number % 3 == 0) {
      auto pending = compiled->pipeline.dispatch_async({});
      ASSERT_TRUE(pending);
      if (number % 2 == 0) check(pending->wait());  // else the device closes with it in flight
    } else {
      for (uint32_t i = 0; i <= number % 4; ++i) check(compiled->pipeline.dispatch({}));
    }
    // Helpers spin for 80 us and then sleep: the device closes before, meanwhile or afterwards.
    const auto until = std::chrono::steady_clock::now() + 1us * (random_() % 160);
    while (number % 5 != 0 && std::chrono::steady_clock::now() < until) {
    }
  }

 private:
  void check(const Result<run::DispatchResult>& result) {
    ASSERT_TRUE(result) << to_string(result.error());
    if (expected_.empty()) expected_ = result->outputs[0];
    ASSERT_EQ(result->outputs[0], expected_);
  }
  Program program_;
  std::filesystem::path directory_;
  Bytes expected_;
  std::mt19937 random_{1};
};

// reliability.md 1.5, row 21, for devices.
TEST(Soak, DevicesOpenAndClose) {
  if (!run::Device::open("cpu", {.cache_directory = {}}))
    GTEST_SKIP() << "no CPU device in this build";
  Soak soak;
  const Load load;
  Watchdog watchdog;
  for (uint32_t i = 0; i < 50; ++i) soak.round(i);
  const size_t threads = entries("/proc/self/task");
  const size_t descriptors = entries("/proc/self/fd");
  const uint64_t bytes = resident_bytes();
  const uint32_t count = rounds();
  for (uint32_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    soak.round(i);
    watchdog.step();
  }
  // A thread that was detached a moment ago may still be ending.
  for (int i = 0; i < 1000 && entries("/proc/self/task") > threads; ++i)
    std::this_thread::sleep_for(5ms);
  EXPECT_LE(entries("/proc/self/task"), threads);
  EXPECT_LE(entries("/proc/self/fd"), descriptors);
  const uint64_t now = resident_bytes();
  std::printf("%u devices; resident memory %.1f MiB before, %.1f MiB after\n", count,
              static_cast<double>(bytes) / 0x100000, static_cast<double>(now) / 0x100000);
  // Allocators keep some: a leak of a device would be hundreds of megabytes at nightly figures.
  // AddressSanitizer keeps what was freed, to find who uses it still.
  if (!base::kAddressSanitizer) {
    EXPECT_LE(now, bytes + (uint64_t{64} << 20));
  }
}

}  // namespace
}  // namespace vyre::driver_test
