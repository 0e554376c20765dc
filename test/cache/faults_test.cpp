// SPDX-License-Identifier: Apache-2.0
// Every system call of the cache fails once, in turn: nothing leaks, nothing is wrong, and the next
// run with a working system has everything. D-PIPE.5, reliability 10 and 18.
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/cache_test.hpp"

namespace vyre::pipeline::test {
namespace {

using testing::IsEmpty;

constexpr int kMaxCalls = 2000;  // of one life; far more than there are

void find_right_or_nothing(DiskCache& cache, uint64_t number) {
  MissReason why = MissReason::Empty;
  const auto found = cache.find(key_of(number), &why);
  if (found) {
    EXPECT_EQ(*found, payload_of(number, 300));
  }
}

// All that a cache is used for. What is committed stays within the four keys.
size_t live(const fs::path& directory) {
  Opened opened(
      DiskCacheOptions{.directory = directory, .lock_wait = std::chrono::milliseconds(5)});
  find_right_or_nothing(opened.cache, 1);
  {
    const DiskCache::Lock lock = opened.cache.lock(key_of(1));
    opened.cache.store(key_of(1), payload_of(1, 300), "one on cpu");
  }
  opened.cache.store(key_of(2), payload_of(2, 300), "two on cpu");
  find_right_or_nothing(opened.cache, 1);
  find_right_or_nothing(opened.cache, 2);
  find_right_or_nothing(opened.cache, 3);
  (void)opened.cache.entries();
  (void)opened.cache.stat();
  EXPECT_THAT(opened.cache.verify().bad.size(), testing::Le(2U));
  (void)opened.cache.gc(1'000'000);
  return opened.warnings.size();
}

// What looks only. Nothing of it may cost an entry that is fine.
size_t list(const fs::path& directory) {
  Opened opened(directory);
  find_right_or_nothing(opened.cache, 1);
  find_right_or_nothing(opened.cache, 3);
  (void)opened.cache.verify();
  (void)opened.cache.entries();
  (void)opened.cache.gc(1'000'000);
  return opened.warnings.size();
}

// `prepare` makes what a life finds in the directory; the number of lives that saw a failure.
int sweep(int error, bool from_then_on, const std::function<void(const fs::path&)>& prepare,
          const std::function<size_t(const fs::path&)>& life = live) {
  const size_t descriptors = open_descriptors();
  for (int n = 0; n < kMaxCalls; ++n) {
    SCOPED_TRACE("call " + std::to_string(n) + ", " + std::strerror(error));
    const Folder folder;
    prepare(folder.path());
    const bool is_new = !fs::exists(folder.path());
    const Bytes secret = read_raw(folder.path() / "key");
    bool reached = false;
    {
      const FailAt faults(n, error, from_then_on);
      EXPECT_LE(life(folder.path()), 1U) << "one warning at most";
      reached = faults.reached();
    }
    EXPECT_EQ(open_descriptors(), descriptors);
    // The disk works again.
    Opened after(folder.path());
    EXPECT_EQ(after.cache.state(), CacheState::On);
    if (!is_new) {
      EXPECT_EQ(read_raw(folder.path() / "key"), secret) << "a good key was thrown away";
      EXPECT_EQ(after.cache.find(key_of(1)), payload_of(1, 300)) << "a good entry is lost";
      EXPECT_EQ(after.cache.find(key_of(2)), payload_of(2, 300)) << "a good entry is lost";
    }
    EXPECT_THAT(after.cache.verify().bad, IsEmpty()) << "half an entry was left";
    after.cache.store(key_of(1), payload_of(1, 300), "");
    EXPECT_EQ(after.cache.find(key_of(1)), payload_of(1, 300));
    (void)after.cache.gc(1'000'000);
    EXPECT_EQ(after.cache.stat().temps, 0U);
    EXPECT_EQ(after.cache.stat().locks, 0U);
    EXPECT_THAT(after.warnings, IsEmpty());
    if (!reached) return n;
    if (testing::Test::HasFailure()) return -1;
  }
  return kMaxCalls;
}

void nothing(const fs::path&) {}

void two_entries(const fs::path& directory) {
  Opened opened(directory);
  opened.cache.store(key_of(1), payload_of(1, 300), "");
  opened.cache.store(key_of(2), payload_of(2, 300), "");
}

class OneFault : public testing::TestWithParam<int> {};

TEST_P(OneFault, InANewDirectory) {
  const int calls = sweep(GetParam(), false, nothing);
  EXPECT_GT(calls, 60) << "the fault point does not see the calls";
  EXPECT_LT(calls, kMaxCalls);
}

TEST_P(OneFault, InADirectoryWithEntries) {
  EXPECT_GT(sweep(GetParam(), false, two_entries), 60);
}

TEST_P(OneFault, WhileOnlyLooking) {
  EXPECT_GT(sweep(GetParam(), false, two_entries, list), 25);
}

// One call and every one after it. EBUSY and ESTALE, which are waited for, would take long.
class LastingFault : public testing::TestWithParam<int> {};

TEST_P(LastingFault, InANewDirectory) {
  EXPECT_GT(sweep(GetParam(), true, nothing), 60);
}

TEST_P(LastingFault, WhileOnlyLooking) {
  EXPECT_GT(sweep(GetParam(), true, two_entries, list), 25);
}

std::string name_of_error(const testing::TestParamInfo<int>& info) {
  return ::strerrorname_np(info.param);
}

INSTANTIATE_TEST_SUITE_P(All, OneFault,
                         testing::Values(EIO, ENOSPC, EINTR, EBUSY, ESTALE, EROFS, EACCES, EMFILE,
                                         ENOLCK),
                         name_of_error);
INSTANTIATE_TEST_SUITE_P(All, LastingFault, testing::Values(EIO, ENOSPC, EINTR, EROFS, EACCES),
                         name_of_error);

// What is looked at a second time may fail a second time: still no reason to throw it away.
TEST(Faults, TwoInARow) {
  const Folder folder;
  two_entries(folder.path());
  const Bytes secret = read_raw(folder.path() / "key");
  for (int distance = 1; distance <= 8; ++distance) {
    bool reached = true;
    for (int n = 0; reached; ++n) {
      ASSERT_LT(n, kMaxCalls);
      {
        const FailTwice faults(n, distance, EIO);
        (void)list(folder.path());
        reached = faults.reached();
      }
      ASSERT_EQ(read_raw(folder.path() / "key"), secret) << n << " and " << distance << " later";
      Opened after(folder.path());
      ASSERT_EQ(after.cache.find(key_of(1)), payload_of(1, 300)) << n;
      ASSERT_EQ(after.cache.find(key_of(2)), payload_of(2, 300)) << n;
    }
  }
}

// A single EBUSY, ESTALE or EINTR is not even noticed.
TEST(Faults, TransientErrorsAreWaitedFor) {
  for (const int error : {EBUSY, ESTALE, EINTR}) {
    for (int n = 0; n < kMaxCalls; ++n) {
      const Folder folder;
      const FailAt faults(n, error);
      Opened opened(folder.path());
      opened.cache.store(key_of(1), payload_of(1, 300), "");
      ASSERT_EQ(opened.cache.find(key_of(1)), payload_of(1, 300)) << n << " " << error;
      ASSERT_THAT(opened.warnings, IsEmpty()) << n << " " << error;
      if (!faults.reached()) break;
    }
  }
}

TEST(Faults, ABusyDiskIsAMissAndOneWarning) {
  const Folder folder;
  Opened opened(folder.path());
  opened.cache.store(key_of(1), payload_of(1, 300), "");
  for (const int error : {EBUSY, ESTALE}) {
    const FailAll faults(files::Call::Open, error);
    EXPECT_FALSE(opened.cache.find(key_of(1)));
    opened.cache.store(key_of(2), payload_of(2, 300), "");
    EXPECT_FALSE(opened.cache.lock(key_of(2)).held());
  }
  EXPECT_EQ(opened.warnings.size(), 1U);
  EXPECT_EQ(opened.cache.stat().corrupt, 0U);
  EXPECT_EQ(opened.cache.find(key_of(1)), payload_of(1, 300)) << "it was never bad";
}

TEST(Faults, AFullDiskIsOneWarning) {
  const Folder folder;
  Opened opened(folder.path());
  opened.cache.store(key_of(1), payload_of(1, 300), "");
  {
    const FailAll faults(files::Call::Write, ENOSPC);
    for (uint64_t i = 2; i < 10; ++i) {
      opened.cache.store(key_of(i), payload_of(i, 300), "reach on cpu");
      EXPECT_FALSE(opened.cache.find(key_of(i)));
    }
    EXPECT_EQ(opened.cache.find(key_of(1)), payload_of(1, 300));
  }
  EXPECT_EQ(opened.cache.stat().temps, 0U) << "what could not be written takes no room";
  ASSERT_EQ(opened.warnings.size(), 1U);
  EXPECT_THAT(opened.warnings[0], testing::HasSubstr("No space left on device. Fix: "));
  opened.cache.store(key_of(2), payload_of(2, 300), "");
  EXPECT_EQ(opened.cache.find(key_of(2)), payload_of(2, 300)) << "there is room again";
}

// Where files cannot be locked, who writes is told by age.
TEST(Faults, WithoutLocks) {
  const Folder folder;
  const FailAll faults(files::Call::Lock, ENOLCK);
  Opened opened(folder.path());
  EXPECT_EQ(opened.cache.state(), CacheState::On);
  opened.cache.store(key_of(1), payload_of(1, 300), "");
  EXPECT_EQ(opened.cache.find(key_of(1)), payload_of(1, 300));
  EXPECT_FALSE(opened.cache.lock(key_of(1)).held());
  const fs::path young = folder.path() / temp_name();
  const fs::path old = folder.path() / temp_name();
  write_raw(young, {});
  write_raw(old, {});
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  (void)opened.cache.gc(1'000'000);
  EXPECT_TRUE(fs::exists(young));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_THAT(opened.warnings, IsEmpty());
}

// File systems without an atomic "rename if it is new" get their key file by a hard link.
TEST(Faults, WithoutRenameNoReplace) {
  const Folder folder;
  {
    class Refuse final : public ScopedFaults {
     public:
      int fail(files::Call call) override {
        return call == files::Call::Rename && !std::exchange(done_, true) ? EINVAL : 0;
      }

     private:
      bool done_ = false;
    } const faults;
    Opened opened(folder.path());
    EXPECT_EQ(opened.cache.state(), CacheState::On);
    EXPECT_EQ(opened.cache.stat().temps, 0U);
    opened.cache.store(key_of(1), payload_of(1, 300), "");
  }
  Opened again(folder.path());
  EXPECT_EQ(again.cache.find(key_of(1)), payload_of(1, 300));
}

}  // namespace
}  // namespace vyre::pipeline::test
