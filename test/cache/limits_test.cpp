// SPDX-License-Identifier: Apache-2.0
// Disks and limits that are really full: a limit of file sizes, which ends a process that does not
// expect it, and a file system without room. The cache is never the reason why anything fails.
// D-PIPE.5, reliability 18.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "pipeline/cache_test.hpp"

namespace vyre::pipeline::test {
namespace {

using testing::IsEmpty;

// Runs `body` in a child: its result, or 1000 and the signal that ended it. What it says is the
// failure of the test.
int in_child(const std::function<int()>& body) {
  (void)std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

void limit_file_sizes(rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  (void)::setrlimit(RLIMIT_FSIZE, &limit);
}

bool is_pending() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
}

bool is_blocked() {
  sigset_t mask;
  return ::pthread_sigmask(SIG_BLOCK, nullptr, &mask) == 0 && ::sigismember(&mask, SIGXFSZ) == 1;
}

size_t temps_in(const fs::path& directory) {
  size_t count = 0;
  if (fs::exists(directory))
    for (const std::string& name : names_in(directory))
      count += kind_of(name) == FileKind::Temp ? 1 : 0;
  return count;
}

// All that a cache is used for, with entries of many sizes. 0, or the number of what is wrong.
int live(const fs::path& directory) {
  Opened opened(directory);
  for (uint64_t i = 0; i < 12; ++i) {
    const size_t size = size_t{1} << i;
    const DiskCache::Lock lock = opened.cache.lock(key_of(i));
    opened.cache.store(key_of(i), payload_of(i, size), "reach on cpu");
    const auto found = opened.cache.find(key_of(i));
    if (found && *found != payload_of(i, size)) return 2;
  }
  return opened.warnings.size() > 1 ? 3 : 0;
}

// The directory is as good as new once there is room.
void expect_sound(const fs::path& directory) {
  EXPECT_EQ(temps_in(directory), 0U) << "half a file is left";
  Opened after(directory);
  EXPECT_EQ(after.cache.state(), CacheState::On);
  EXPECT_THAT(after.cache.verify().bad, IsEmpty());
  after.cache.store(key_of(1), payload_of(1, 5000), "");
  EXPECT_EQ(after.cache.find(key_of(1)), payload_of(1, 5000));
  EXPECT_THAT(after.warnings, IsEmpty());
}

// Two ways to write a file: unnamed until it is whole, and under a temporary name where the file
// system cannot do that.
class Limits : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) named_.emplace(files::Call::OpenUnnamed, EOPNOTSUPP);
  }
  std::optional<FailAll> named_;
};
INSTANTIATE_TEST_SUITE_P(All, Limits, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& info) {
                           return info.param ? "Unnamed" : "Named";
                         });

TEST_P(Limits, AFileSizeLimitEndsNothing) {
  for (const rlim_t limit : {0, 1, 31, 32, 100, 164, 200, 300, 700, 1000, 3000}) {
    SCOPED_TRACE(limit);
    const Folder folder;
    EXPECT_EQ(in_child([&] {
                limit_file_sizes(limit);
                if (const int wrong = live(folder.path()); wrong != 0) return wrong;
                if (is_pending()) return 4;
                if (is_blocked()) return 5;
                return ::signal(SIGXFSZ, SIG_DFL) == SIG_DFL ? 0 : 6;
              }),
              0);
    expect_sound(folder.path());
  }
}

// Without the cache in between: the same limit does end a process, so the test shows something.
TEST(DiskLimits, TheLimitIsReal) {
  const Folder folder;
  fs::create_directory(folder.path());
  EXPECT_EQ(in_child([&] {
              const rlimit none{0, 0};
              (void)::setrlimit(RLIMIT_CORE, &none);
              limit_file_sizes(10);
              const int file = ::open((folder.path() / "x").c_str(), O_WRONLY | O_CREAT, 0600);
              char bytes[20] = {};
              (void)!::write(file, bytes, sizeof bytes);
              (void)!::write(file, bytes, sizeof bytes);
              return 0;
            }),
            1000 + SIGXFSZ);
}

std::atomic<int> handled = 0;

// The process keeps its own handler, its mask, and a signal that is pending already.
TEST_P(Limits, SignalsOfTheProcessStayItsOwn) {
  const Folder folder;
  EXPECT_EQ(in_child([&] {
              struct sigaction mine{};
              mine.sa_handler = [](int) { ++handled; };
              ::sigaction(SIGXFSZ, &mine, nullptr);
              limit_file_sizes(300);
              std::thread other([&] {
                sigset_t only;
                ::sigemptyset(&only);
                ::sigaddset(&only, SIGXFSZ);
                ::pthread_sigmask(SIG_BLOCK, &only, nullptr);
                ::pthread_kill(::pthread_self(), SIGXFSZ);
                (void)live(folder.path());
                // Now it arrives, once.
                if (!is_pending() || !is_blocked() || handled != 0) ::_exit(2);
                ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
              });
              other.join();
              if (handled != 1) return 3;
              if (const int wrong = live(folder.path()); wrong != 0) return 10 + wrong;
              if (handled != 1) return 4;
              struct sigaction now{};
              ::sigaction(SIGXFSZ, nullptr, &now);
              return now.sa_handler == mine.sa_handler ? 0 : 5;
            }),
            0);
  expect_sound(folder.path());
}

// As an unprivileged user where that is allowed: a file system of 64 KiB in a name space of our
// own.
TEST_P(Limits, AFileSystemWithoutRoom) {
  const Folder folder;
  fs::create_directory(folder.path());
  constexpr int kCannot = 77;
  const int code = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kCannot;
    (void)::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("vyre", folder.path().c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0)
      return kCannot;
    const fs::path directory = folder.path() / "cache";
    {
      Opened opened(directory);
      if (opened.cache.state() != CacheState::On) return 2;
      for (uint64_t i = 0; i < 40; ++i) {
        opened.cache.store(key_of(i), payload_of(i, 5000), "reach on cpu");
        const auto found = opened.cache.find(key_of(i));
        if (found && *found != payload_of(i, 5000)) return 3;
      }
      if (opened.warnings.size() != 1) return 4;
      if (opened.warnings[0].find("No space left on device") == std::string::npos) return 5;
      if (opened.cache.stat().entries == 0) return 6;
      if (opened.cache.stat().temps != 0 || temps_in(directory) != 0) return 7;
      if (!opened.cache.verify().bad.empty()) return 8;
      (void)opened.cache.clear();
      opened.cache.store(key_of(1), payload_of(1, 5000), "");
      if (opened.cache.find(key_of(1)) != payload_of(1, 5000)) return 9;
    }
    return 0;
  });
  if (code == kCannot) GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_EQ(code, 0);
}

// Errors of the disk at a write: no temporary file, one warning, and all is well afterwards.
TEST(DiskLimits, AWriteThatFailsLeavesNothing) {
  for (const int error : {ENOSPC, EDQUOT, EIO, EFBIG}) {
    for (const bool unnamed : {true, false}) {
      SCOPED_TRACE(std::string(::strerrorname_np(error)) + (unnamed ? " unnamed" : " named"));
      class Fail final : public ScopedFaults {
       public:
        Fail(int with, bool has_unnamed) : error(with), unnamed(has_unnamed) {}
        int fail(files::Call call) override {
          if (call == files::Call::OpenUnnamed && !unnamed) return EOPNOTSUPP;
          return call == files::Call::Write ? error : 0;
        }
        int error;
        bool unnamed;
      };
      const Folder folder;
      {
        Opened make(folder.path());
      }
      {
        const Fail faults(error, unnamed);
        EXPECT_EQ(live(folder.path()), 0);
      }
      expect_sound(folder.path());
    }
  }
}

}  // namespace
}  // namespace vyre::pipeline::test
