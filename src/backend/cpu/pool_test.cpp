// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/pool.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/cpu/processor.hpp"
#include "base/sanitizers.hpp"

namespace vyre::backend::cpu {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kBig = 1'000'000'000;

// Every number of a range once, whoever takes part.
struct Counting {
  explicit Counting(uint64_t total) : hits(total) {}
  std::vector<std::atomic<uint32_t>> hits;
  Chunks chunks;
  std::atomic<uint64_t> workers = 0;  // as bits

  static void body(void* context, uint32_t worker) {
    auto& me = *static_cast<Counting*>(context);
    for (auto r = me.chunks.claim(worker); r.count != 0; r = me.chunks.claim(worker)) {
      me.workers.fetch_or(uint64_t{1} << worker, std::memory_order_relaxed);
      for (uint64_t i = r.first; i < r.first + r.count; ++i)
        me.hits[i].fetch_add(1, std::memory_order_relaxed);
    }
  }
  void expect_all_once() const {
    for (size_t i = 0; i < hits.size(); ++i) ASSERT_EQ(hits[i].load(), 1u) << i;
  }
};

std::vector<std::string> thread_names() {
  std::vector<std::string> names;
  DIR* const tasks = ::opendir("/proc/self/task");
  while (const dirent* const task = ::readdir(tasks)) {
    std::ifstream file("/proc/self/task/" + std::string(task->d_name) + "/comm");
    std::string name;
    if (std::getline(file, name)) names.push_back(name);
  }
  ::closedir(tasks);
  return names;
}

TEST(Chunks, ShrinkTowardsTheEndOfAPart) {
  Chunks chunks;
  chunks.reset(1000, 1, 10, 100);
  uint64_t next = 0;
  uint64_t last = 1000;
  for (auto r = chunks.claim(0); r.count != 0; r = chunks.claim(0)) {
    EXPECT_EQ(r.first, next);
    EXPECT_LE(r.count, last);
    EXPECT_LE(r.count, 100u);
    last = r.count;
    next += r.count;
    EXPECT_EQ(chunks.claimed(), next);
  }
  EXPECT_EQ(next, 1000u);
  EXPECT_LE(last, 10u);
  chunks.reset(5, 2, 0, 0);
  EXPECT_EQ(chunks.claim(0).count, 1u);
  chunks.stop();
  EXPECT_EQ(chunks.claim(0).count, 0u);
  EXPECT_EQ(chunks.claimed(), 5u);
}

TEST(Chunks, EachWorkerBeginsWithItsOwnPart) {
  Chunks chunks;
  for (int job = 0; job < 3; ++job) {
    chunks.reset(1001, 3, 1, 1000);
    EXPECT_EQ(chunks.claim(2).first, 668u);
    EXPECT_EQ(chunks.claim(0).first, 0u);
    EXPECT_EQ(chunks.claim(1).first, 334u);
  }
}

// Also those that never come, and more of them than there are parts.
TEST(Chunks, WorkersFinishThePartsOfOthers) {
  for (const uint32_t workers : {1U, 2U, 3U, 16U, 100U}) {
    for (const uint64_t total : {0U, 1U, 2U, 50U, 1003U}) {
      Chunks chunks;
      chunks.reset(total, workers, 3, 40);
      std::vector<uint32_t> hits(total);
      for (auto r = chunks.claim(workers - 1); r.count != 0; r = chunks.claim(workers - 1))
        for (uint64_t i = r.first; i < r.first + r.count; ++i) ++hits.at(i);
      EXPECT_THAT(hits, testing::Each(1u)) << workers;
      EXPECT_EQ(chunks.claimed(), total);
    }
  }
}

TEST(Pool, RunsEverythingOnce) {
  for (const uint32_t workers : {2U, 3U, 5U}) {
    Pool pool({.workers = workers, .spin = 50us});
    ASSERT_TRUE(pool.try_own());
    for (int round = 0; round < 300; ++round) {
      Counting job(1 + static_cast<uint64_t>(round) * 7);
      job.chunks.reset(job.hits.size(), workers, 1, 16);
      pool.run(&Counting::body, &job, round % 2 == 0 ? kBig : 0);
      job.expect_all_once();
      if (round % 50 == 49) std::this_thread::sleep_for(1ms);  // they park
    }
    pool.disown();
  }
}

TEST(Pool, HelpersHelpAndAreNamed) {
  Pool pool({.workers = 3});
  ASSERT_TRUE(pool.try_own());
  EXPECT_EQ(pool.helpers(), 2u);
  // Wait for all three to be in it at the same time.
  std::atomic<uint32_t> inside = 0;
  pool.run(
      [](void* context, uint32_t) {
        auto& count = *static_cast<std::atomic<uint32_t>*>(context);
        count.fetch_add(1);
        while (count.load() < 3) std::this_thread::yield();
      },
      &inside, kBig);
  EXPECT_EQ(inside, 3u);
  EXPECT_THAT(thread_names(), testing::IsSupersetOf({"vyre-cpu-1", "vyre-cpu-2"}));
  pool.disown();
}

TEST(Pool, DoesNotWaitForSleepers) {
  Pool pool({.workers = 2, .spin = 0us});
  ASSERT_TRUE(pool.try_own());
  std::this_thread::sleep_for(20ms);  // parked
  const uint64_t before = pool.wakes();
  for (int i = 0; i < 1000; ++i) pool.run([](void*, uint32_t) {}, nullptr, 10);
  EXPECT_EQ(pool.wakes(), before);  // a trifle wakes nobody up
  for (int i = 0; i < 20; ++i) pool.run([](void*, uint32_t) {}, nullptr, 50'000);
  EXPECT_LE(pool.wakes(), before + 10);  // and many small jobs now and then
  pool.disown();
}

TEST(Pool, OneOwnerAtATime) {
  Pool pool({.workers = 2});
  ASSERT_TRUE(pool.try_own());
  EXPECT_FALSE(pool.try_own());
  std::thread([&] { EXPECT_FALSE(pool.try_own()); }).join();
  pool.disown();
  EXPECT_TRUE(pool.try_own());
  pool.disown();
  Pool alone({.workers = 1});
  EXPECT_FALSE(alone.try_own());
  EXPECT_EQ(alone.helpers(), 0u);
}

// Threads that fight for the helpers: who does not get them works alone.
TEST(Pool, ManyCallers) {
  Pool pool({.workers = 3, .spin = 20us});
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        Counting job(200);
        job.chunks.reset(job.hits.size(), 3, 1, 8);
        if (pool.try_own()) {
          pool.run(&Counting::body, &job, kBig);
          pool.disown();
        } else {
          Counting::body(&job, 0);
        }
        job.expect_all_once();
      }
    });
  for (std::thread& caller : callers) caller.join();
}

TEST(Pool, HelpersTakeNoSignals) {
  static std::atomic<bool> seen = false;
  seen = false;
  struct sigaction action = {};
  struct sigaction old = {};
  action.sa_handler = [](int) { seen = true; };
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &old), 0);
  {
    Pool pool({.workers = 2});
    ASSERT_TRUE(pool.try_own());
    pool.disown();
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
    ::kill(::getpid(), SIGUSR1);  // only a helper could take it
    std::this_thread::sleep_for(5ms);
    EXPECT_FALSE(seen);
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    EXPECT_TRUE(seen);
  }
  ::sigaction(SIGUSR1, &old, nullptr);
}

TEST(Pool, TheThreadsEndWithIt) {
  for (int i = 0; i < 20; ++i) {
    Pool pool({.workers = 4, .spin = i % 2 == 0 ? 0us : 1000us});
    ASSERT_TRUE(pool.try_own());
    if (i % 4 == 0) std::this_thread::sleep_for(1ms);
    pool.disown();
  }
  // Sanitizers have threads of their own, and the kernel lists a joined one for another moment.
  const auto names = [] { return testing::PrintToString(thread_names()); };
  const auto deadline = std::chrono::steady_clock::now() + 2s;
  while (names().find("vyre-cpu") != std::string::npos &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  EXPECT_THAT(names(), testing::Not(testing::HasSubstr("vyre-cpu")));
}

// Pools that end while their helpers go to sleep, wake up or join. VYRE_SOAK_POOLS says how many.
TEST(Pool, ManyEnd) {
  const char* const text = std::getenv("VYRE_SOAK_POOLS");
  const unsigned long count = text != nullptr ? std::strtoul(text, nullptr, 10) : 500;
  uint32_t random = 1;
  for (unsigned long i = 0; i < count; ++i) {
    Pool pool({.workers = 2 + static_cast<uint32_t>(i % 3), .spin = 1us * (i % 7)});
    ASSERT_TRUE(pool.try_own());
    for (unsigned long job = 0; job < i % 4; ++job) {
      Counting counting(64);
      counting.chunks.reset(64, pool.workers(), 1, 4);
      pool.run(&Counting::body, &counting, kBig);
      counting.expect_all_once();
    }
    pool.disown();
    random = random * 1664525 + 1013904223;
    const auto until = std::chrono::steady_clock::now() + 1us * (random >> 27);
    while (i % 2 == 0 && std::chrono::steady_clock::now() < until) {
    }
  }
}

// ThreadSanitizer allows no work in a child of a program with threads.
#if !VYRE_THREAD_SANITIZER
TEST(Pool, AChildWorksAlone) {
  auto pool = std::make_unique<Pool>(Pool::Options{.workers = 2});
  ASSERT_TRUE(pool->try_own());
  pool->run([](void*, uint32_t) {}, nullptr, kBig);
  pool->disown();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(10);
    const bool owns = pool->try_own();
    pool.reset();
    Pool fresh({.workers = 2});
    bool works = fresh.try_own();
    if (works) fresh.run([](void*, uint32_t) {}, nullptr, kBig);
    ::_exit(owns || !works ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(pool->try_own());
  pool->disown();
}
#endif

TEST(KernelFloatingPoint, ComesAndGoes) {
#if defined(__x86_64__)
  const uint32_t before = _mm_getcsr();
  _mm_setcsr(0x9FC0);  // flush to zero, denormals are zero
  {
    KernelFloatingPoint inside;
    EXPECT_EQ(_mm_getcsr(), 0x1F80u);
    inside.leave();
    EXPECT_EQ(_mm_getcsr(), 0x9FC0u);
    inside.enter();
    _mm_setcsr(0x1FBF);  // sticky flags of a kernel
  }
  EXPECT_EQ(_mm_getcsr(), 0x9FC0u);
  _mm_setcsr(before);
#endif
}

// The cores that the helper of a pool of two may use, in the next job that it takes part in.
class Placed {
 public:
  explicit Placed(Pool& pool) : pool_(pool) {}
  cpu_set_t next(const cpu_set_t* give = nullptr) {
    give_ = give;
    there_.store(false);
    while (!there_.load()) {
      std::this_thread::sleep_for(2ms);  // longer than a helper waits before it sleeps
      pool_.run(
          [](void* context, uint32_t worker) {
            auto& me = *static_cast<Placed*>(context);
            if (worker == 0) return me.wait();
            ::sched_getaffinity(0, sizeof(me.mine_), &me.mine_);
            if (me.give_ != nullptr) ::sched_setaffinity(0, sizeof(*me.give_), me.give_);
            me.there_.store(true);
          },
          this, kBig);
    }
    return mine_;
  }

 private:
  void wait() const {
    for (int i = 0; i < 1000 && !there_.load(); ++i) std::this_thread::sleep_for(10us);
  }
  Pool& pool_;
  const cpu_set_t* give_ = nullptr;
  cpu_set_t mine_ = {};
  std::atomic<bool> there_ = false;
};

TEST(Pool, HelpersStayAwayFromTheCoreOfTheirOwner) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one core";
  int core = 0;
  while (!CPU_ISSET(core, &all)) ++core;
  Pool pool({.workers = 2});
  ASSERT_TRUE(pool.try_own());
  Placed placed(pool);
  placed.next();
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(core, &here);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(here), &here), 0);
  placed.next();
  cpu_set_t expected = all;
  CPU_CLR(core, &expected);
  const cpu_set_t helper = placed.next();
  EXPECT_TRUE(CPU_EQUAL(&helper, &expected));

  // Somebody else says where it may be: that stays, also if it is the core of the owner.
  placed.next(&here);
  const cpu_set_t given = placed.next();
  EXPECT_TRUE(CPU_EQUAL(&given, &here));
  ASSERT_EQ(::sched_setaffinity(0, sizeof(all), &all), 0);
  pool.disown();
}

}  // namespace
}  // namespace vyre::backend::cpu
