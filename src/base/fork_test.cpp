// SPDX-License-Identifier: Apache-2.0
#include "base/fork.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "vyre/base/trace.hpp"

// ThreadSanitizer allows no work in a child of a program with threads.
#if !VYRE_THREAD_SANITIZER

namespace vyre::base {
namespace {

template <class Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(work());
  }
  int status = -1;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(Fork, EachChildHasAnotherEpoch) {
  const uint32_t here = fork_epoch();
  EXPECT_FALSE(is_forked_since(here));
  EXPECT_EQ(
      in_child([&] {
        if (!is_forked_since(here)) return 1;
        const uint32_t there = fork_epoch();
        if (is_forked_since(there)) return 2;
        return in_child([&] { return is_forked_since(here) && is_forked_since(there) ? 0 : 3; });
      }),
      0);
  EXPECT_FALSE(is_forked_since(here)) << "nothing changes for the parent";
}

TEST(Fork, OnlyLibrariesOfOtherThreadsAreLocked) {
  {
    const ForkSensitive mine;
    EXPECT_EQ(in_child([] { return ForkSensitive::is_locked() ? 1 : 0; }), 0);
  }
  std::atomic<int> stage = 0;
  std::thread other([&] {
    const ForkSensitive guard;
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  const ForkSensitive mine;
  EXPECT_EQ(in_child([] {
              if (!ForkSensitive::is_locked()) return 1;
              return in_child([] { return ForkSensitive::is_locked() ? 0 : 2; });
            }),
            0);
  EXPECT_FALSE(ForkSensitive::is_locked());
  stage = 2;
  other.join();
  EXPECT_EQ(in_child([] { return ForkSensitive::is_locked() ? 1 : 0; }), 0);
}

TEST(Fork, ATraceOfTheParentIsEmptyInTheChild) {
  Trace trace;
  trace.add({.name = "before"});
  EXPECT_EQ(in_child([&] {
              trace.add({.name = "after"});
              trace.name_thread("child");
              if (trace.size() != 0 || trace.dropped() != 0) return 1;
              return trace.write_json().find("before") == std::string::npos ? 0 : 2;
            }),
            0);
  EXPECT_EQ(trace.size(), 1U);
}

}  // namespace
}  // namespace vyre::base

#endif
