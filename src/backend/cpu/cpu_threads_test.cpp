// SPDX-License-Identifier: Apache-2.0
// Several callers at once, and what a device leaves behind after a long life.
#include <algorithm>
#include <thread>

#include <dirent.h>

#include "backend/cpu/kernels_test.hpp"
#include "backend/null/heap_count_test.hpp"

namespace vyre::backend {
namespace {

using namespace device;
using testing::Each;

uint64_t entries_of(const char* folder) {
  uint64_t count = 0;
  DIR* const open = ::opendir(folder);
  while (::readdir(open) != nullptr) ++count;
  ::closedir(open);
  return count;
}
uint64_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  file >> total >> resident;
  return resident;
}

class CpuThreads : public CpuTest {};

TEST_F(CpuThreads, SubmissionsAtTheSameTime) {
  open({.workers = 2});
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kRounds = 100;
  constexpr uint32_t kGroups = 3000;
  std::vector<Words> contents(kThreads, Words(kGroups));
  bind(contents);
  const std::vector<Region> regions = regions_;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Launch mine = launch(kCount, kGroups, 64);
      mine.arguments = {&regions[t], 1};
      for (uint32_t round = 0; round < kRounds; ++round) {
        const Step step = mine;
        const auto ticket = device_->submit({.steps = {&step, 1}});
        ASSERT_TRUE(ticket);
        ASSERT_TRUE(device_->wait(*ticket));
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (uint32_t t = 0; t < kThreads; ++t) EXPECT_THAT(read(t), Each(kRounds));
}

TEST_F(CpuThreads, AWarmSubmissionTakesNothingFromTheHeap) {
  open({.workers = 2});
  bind({Words(5000), Words(2)});
  const std::vector<Region> first = {regions_[0]};
  Launch small = launch(kCount, 4);
  Launch large = launch(kCount, 5000, 256);
  Launch scratch = launch(kTally, 5000, 64);
  small.arguments = large.arguments = first;
  const std::vector<Step> steps = {small,
                                   large,
                                   scratch,
                                   Repeat{.body_steps = 1, .most = 3},
                                   SetWord{word(1), 0},
                                   Fill{buffers_[0].whole()}};
  uint64_t before = 0;
  for (int i = 0; i < 400; ++i) {
    // Helpers take their scratch memory when they first take part.
    if (i == 200) before = heap_allocations().value_or(0);
    const auto ticket = device_->submit({.steps = steps});
    ASSERT_TRUE(ticket);
    ASSERT_TRUE(device_->wait(*ticket));
  }
  EXPECT_EQ(heap_allocations().value_or(0), before);
}

TEST_F(CpuThreads, AHundredThousandSubmissionsLeaveNothing) {
  open({.workers = 2});
  bind({Words(4000)});
  const std::vector<Step> tiny = {launch(kCount, 2)};
  const std::vector<Step> larger = {launch(kCount, 4000, 64)};
  const auto submit = [&](const std::vector<Step>& steps) {
    const auto ticket = device_->submit({.steps = steps});
    ASSERT_TRUE(ticket);
    ASSERT_TRUE(device_->wait(*ticket));
  };
  const auto many = [&](int count) {
    for (int i = 0; i < count; ++i) submit(i % 10 == 0 ? larger : tiny);
  };
  many(1000);
  const uint64_t threads = entries_of("/proc/self/task");
  const uint64_t files = entries_of("/proc/self/fd");
  const uint64_t pages = resident_pages();
  many(100'000);
  EXPECT_EQ(entries_of("/proc/self/task"), threads);
  EXPECT_EQ(entries_of("/proc/self/fd"), files);
  if (heap_allocations()) {  // a sanitizer has books of its own
    EXPECT_LE(resident_pages(), pages + 256);
  }
  EXPECT_EQ(read(0)[3], 1000u / 10 + 100'000 / 10);
  EXPECT_EQ(read(0)[0], 101'000u);
}

// Freed memory is there again without its pages being made anew.
TEST_F(CpuThreads, WarmMemoryFaultsNoPages) {
  if (!heap_allocations()) GTEST_SKIP() << "a sanitizer has its own heap";
  open({.workers = 1});
  const auto faults = [] {
    std::ifstream file("/proc/self/stat");
    std::string word;
    for (int i = 0; i < 10; ++i) file >> word;
    return std::stoull(word);
  };
  const auto once = [&] {
    const Buffer buffer = *device_->allocate(uint64_t{6} << 20);
    const Step fill = Fill{buffer.whole(), std::byte{1}};
    const auto ticket = device_->submit({.steps = {&fill, 1}});
    ASSERT_TRUE(ticket);
    ASSERT_TRUE(device_->wait(*ticket));
  };
  for (int i = 0; i < 3; ++i) once();
  const uint64_t before = faults();
  for (int i = 0; i < 10; ++i) once();
  EXPECT_LE(faults(), before + 20);
}

}  // namespace
}  // namespace vyre::backend
