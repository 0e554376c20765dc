// SPDX-License-Identifier: Apache-2.0
#include "vyre/pipeline/disk_cache.hpp"

#include <cerrno>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "pipeline/cache_test.hpp"

namespace vyre::pipeline {
namespace {

using std::chrono::milliseconds;
using test::Bytes;
using test::Folder;
using test::key_of;
using test::Opened;
using test::payload_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void set_age(const std::filesystem::path& path, int64_t seconds) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const timespec times[] = {{now.tv_sec - seconds, 0}, {now.tv_sec - seconds, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

int64_t age_of(const std::filesystem::path& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec - status.st_mtim.tv_sec;
}

unsigned mode_of(const std::filesystem::path& path) {
  struct stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

// D-PIPE.4: unchanged hits, from this object and from another.
TEST(DiskCache, GivesBackWhatWasStored) {
  const Folder folder;
  Opened first(folder.path("a/b/cache"));
  ASSERT_EQ(first.cache.state(), CacheState::On);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{3'000'000}}) {
    first.cache.store(key_of(size), payload_of(size, size), "reach on cpu");
    EXPECT_EQ(first.cache.find(key_of(size)), payload_of(size, size));
  }
  Opened second(folder.path("a/b/cache"));
  EXPECT_EQ(second.cache.find(key_of(4096)), payload_of(4096, 4096));
  EXPECT_EQ(second.cache.why(key_of(4096)), std::nullopt);
  EXPECT_EQ(second.cache.stat().hits, 1U);
  EXPECT_EQ(first.cache.stat().stored, 4U);
  EXPECT_THAT(first.warnings, IsEmpty());
  EXPECT_THAT(second.warnings, IsEmpty());
}

TEST(DiskCache, ALaterStoreReplaces) {
  const Folder folder;
  Opened opened(folder.path());
  opened.cache.store(key_of(1), payload_of(1, 10), "");
  opened.cache.store(key_of(1), payload_of(2, 20), "");
  EXPECT_EQ(opened.cache.find(key_of(1)), payload_of(2, 20));
  EXPECT_EQ(opened.cache.stat().entries, 1U);
}

// D-PIPE.5: files and directory are the user's alone.
TEST(DiskCache, NoOtherUserMayReadIt) {
  const Folder folder;
  const mode_t old = ::umask(0);
  Opened opened(folder.path());
  opened.cache.store(key_of(1), payload_of(1, 10), "");
  ::umask(old);
  EXPECT_EQ(mode_of(folder.path()), 0700U);
  EXPECT_EQ(mode_of(folder.path() / "key"), 0600U);
  EXPECT_EQ(mode_of(folder.path() / entry_name(key_of(1))), 0600U);
  EXPECT_THAT(test::names_in(folder.path()),
              testing::UnorderedElementsAre("key", entry_name(key_of(1))));
}

// D-PIPE.5: data is on the disk before it has its name, and the name before store() returns.
TEST(DiskCache, WritesInTheOrderThatSurvivesACrash) {
  using files::Call;
  class Record final : public test::ScopedFaults {
   public:
    explicit Record(bool has_unnamed) : unnamed(has_unnamed) {}
    int fail(Call call) override {
      if (call == Call::Write || call == Call::Sync || call == Call::Rename || call == Call::Link)
        calls.push_back(call);
      return call == Call::OpenUnnamed && !unnamed ? EOPNOTSUPP : 0;
    }
    bool unnamed;
    std::vector<Call> calls;
  };
  const Folder folder;
  Opened opened(folder.path());
  const auto calls_of_store = [&](uint64_t number, bool unnamed) {
    Record record(unnamed);
    opened.cache.store(key_of(number), payload_of(number, 10), "");
    return record.calls;
  };
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(calls_of_store(1, false),
                ElementsAre(Call::Write, Call::Write, Call::Sync, Call::Rename, Call::Sync));
  const files::Descriptor directory(
      ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!files::open_unnamed(directory.value(), 0600)) GTEST_SKIP() << "there are no unnamed files";
  EXPECT_THAT(calls_of_store(2, true),
              ElementsAre(Call::Write, Call::Write, Call::Sync, Call::Link, Call::Sync));
  // In the place of another.
  EXPECT_THAT(calls_of_store(2, true), ElementsAre(Call::Write, Call::Write, Call::Sync, Call::Link,
                                                   Call::Link, Call::Rename, Call::Sync));
  EXPECT_EQ(opened.cache.find(key_of(2)), payload_of(2, 10));
}

// D-PIPE.4: the reasons of a miss.
TEST(DiskCache, MissesAreExplained) {
  const Folder folder;
  Opened opened(folder.path());
  const CacheKey key = key_of(1);
  MissReason why = MissReason::Absent;
  EXPECT_FALSE(opened.cache.find(key, &why));
  EXPECT_EQ(why, MissReason::Empty);
  opened.cache.store(key, payload_of(1, 10), "");
  const std::pair<Digest CacheKey::*, MissReason> parts[] = {
      {&CacheKey::program, MissReason::Program},
      {&CacheKey::policy, MissReason::Policy},
      {&CacheKey::runtime, MissReason::Runtime}};
  for (const auto& [part, reason] : parts) {
    for (size_t bit = 0; bit < 256; ++bit) {
      CacheKey other = key;
      (other.*part).bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_FALSE(opened.cache.find(other, &why));
      EXPECT_EQ(why, reason) << bit;
      EXPECT_EQ(opened.cache.why(other), why);
    }
  }
  CacheKey two = key;
  two.program.bytes[0] ^= 1;
  two.policy.bytes[0] ^= 1;
  EXPECT_EQ(opened.cache.why(two), MissReason::Absent);
  // An entry of the same program tells more than one of another program.
  opened.cache.store({two.program, key.policy, key.runtime}, payload_of(1, 10), "");
  EXPECT_EQ(opened.cache.why(two), MissReason::Policy);
  EXPECT_TRUE(opened.cache.find(key, &why));
  EXPECT_EQ(name_of(MissReason::Runtime), "device/runtime");
}

TEST(DiskCache, ListsItsEntries) {
  const Folder folder;
  Opened opened(folder.path());
  opened.cache.store(key_of(1), payload_of(1, 10), "old on cpu");
  opened.cache.store(key_of(2), payload_of(2, 20), "new on cpu");
  set_age(folder.path() / entry_name(key_of(1)), 1000);
  const std::vector<CacheEntry> entries = opened.cache.entries();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].about, "new on cpu");
  EXPECT_EQ(entries[1].about, "old on cpu");
  EXPECT_EQ(entries[1].key, key_of(1));
  EXPECT_EQ(entries[1].bytes, kMinHeaderBytes + 10 + 10);
  EXPECT_GE(entries[1].created - entries[1].used, std::chrono::seconds(999));
}

TEST(DiskCache, AUseIsNotedOnceAMinute) {
  const Folder folder;
  Opened opened(folder.path());
  opened.cache.store(key_of(1), payload_of(1, 10), "");
  const auto file = folder.path() / entry_name(key_of(1));
  set_age(file, 40);
  EXPECT_TRUE(opened.cache.find(key_of(1)));
  EXPECT_GE(age_of(file), 40);
  set_age(file, 100);
  EXPECT_FALSE(opened.cache.why(key_of(1)));
  EXPECT_GE(age_of(file), 100) << "to ask is not to use";
  EXPECT_TRUE(opened.cache.find(key_of(1)));
  EXPECT_LE(age_of(file), 30);
}

TEST(DiskCache, GcRemovesWhatWasNotUsedForLongest) {
  const Folder folder;
  Opened opened(folder.path());
  for (const uint64_t i : {1, 2, 3, 4}) {
    opened.cache.store(key_of(i), payload_of(i, 1000 - kMinHeaderBytes), "");
    set_age(folder.path() / entry_name(key_of(i)), static_cast<int64_t>(1000 * i));
  }
  EXPECT_TRUE(opened.cache.find(key_of(4)));  // used now
  EXPECT_EQ(opened.cache.gc(4000).entries, 0U);
  const CacheRemoval removal = opened.cache.gc(2500);
  EXPECT_EQ(removal.entries, 2U);
  EXPECT_EQ(removal.bytes, 2000U);
  EXPECT_EQ(removal.entries_left, 2U);
  EXPECT_EQ(removal.bytes_left, 2000U);
  EXPECT_TRUE(opened.cache.find(key_of(1)));
  EXPECT_FALSE(opened.cache.find(key_of(2)));
  EXPECT_FALSE(opened.cache.find(key_of(3)));
  EXPECT_TRUE(opened.cache.find(key_of(4)));
}

TEST(DiskCache, StaysWithinItsSize) {
  const Folder folder;
  Opened opened(DiskCacheOptions{.directory = folder.path(), .max_bytes = 100'000});
  uint64_t most = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    opened.cache.store(key_of(i), payload_of(i, 4000), "");
    most = std::max(most, opened.cache.stat().bytes);
  }
  EXPECT_LE(most, 100'000U + 100'000U / 8);
  EXPECT_GE(most, 80'000U);
  EXPECT_TRUE(opened.cache.find(key_of(199)));
  EXPECT_THAT(opened.warnings, IsEmpty());
}

TEST(DiskCache, TooLargeIsNotStored) {
  const Folder folder;
  Opened opened(DiskCacheOptions{.directory = folder.path(), .max_entry_bytes = 100});
  opened.cache.store(key_of(1), payload_of(1, 100), "");
  EXPECT_THAT(opened.warnings, IsEmpty());
  opened.cache.store(key_of(2), payload_of(2, 101), "big on cpu");
  opened.cache.store(key_of(3), payload_of(3, 101), "big on cpu");
  EXPECT_TRUE(opened.cache.find(key_of(1)));
  EXPECT_FALSE(opened.cache.find(key_of(2)));
  ASSERT_EQ(opened.warnings.size(), 1U);
  EXPECT_THAT(opened.warnings[0], HasSubstr("big on cpu is too large for the compile cache (101"));
  // And one that another cache object stored is refused before its size is allocated.
  Opened small(DiskCacheOptions{.directory = folder.path(), .max_entry_bytes = 99});
  EXPECT_FALSE(small.cache.find(key_of(1)));
}

TEST(DiskCache, ClearLeavesTheKeyAndWhatIsNotOurs) {
  const Folder folder;
  Opened opened(folder.path());
  opened.cache.store(key_of(1), payload_of(1, 10), "");
  test::write_raw(folder.path() / "thesis.tex", payload_of(3, 10));
  test::write_raw(folder.path() / entry_name(key_of(2)), {});  // an entry without a byte
  test::write_raw(folder.path() / temp_name(), payload_of(3, 10));
  test::write_raw(folder.path() / lock_name(key_of(2)), {});
  const CacheRemoval removal = opened.cache.clear();
  EXPECT_EQ(removal.entries, 2U);
  EXPECT_EQ(removal.temps, 1U);
  EXPECT_EQ(removal.locks, 1U);
  EXPECT_EQ(removal.failed, 0U);
  EXPECT_THAT(test::names_in(folder.path()), testing::UnorderedElementsAre("key", "thesis.tex"));
}

TEST(DiskCache, GcLeavesFilesThatAreInUse) {
  const Folder folder;
  Opened opened(folder.path());
  const DiskCache::Lock lock = opened.cache.lock(key_of(1));
  ASSERT_TRUE(lock.held());
  const auto temp = folder.path() / temp_name();
  test::write_raw(temp, {});
  set_age(temp, 100'000);  // a slow writer
  {
    const files::Descriptor writer(::open(temp.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::flock(writer.value(), LOCK_EX), 0);
    const CacheRemoval removal = opened.cache.gc(0);
    EXPECT_EQ(removal.temps + removal.locks + removal.failed, 0U);
    EXPECT_EQ(opened.cache.stat().temps, 1U);
    EXPECT_EQ(opened.cache.stat().locks, 1U);
  }
  EXPECT_EQ(opened.cache.gc(0).temps, 1U);
}

TEST(DiskCache, ALockIsHeldByOne) {
  const Folder folder;
  Opened opened(DiskCacheOptions{.directory = folder.path(), .lock_wait = milliseconds(30)});
  DiskCache::Lock first = opened.cache.lock(key_of(1));
  ASSERT_TRUE(first.held());
  EXPECT_TRUE(opened.cache.lock(key_of(2)).held());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(opened.cache.lock(key_of(1)).held());
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(30));
  // Moving keeps it.
  DiskCache::Lock moved = std::move(first);
  EXPECT_FALSE(opened.cache.lock(key_of(1)).held());
  moved = {};
  EXPECT_TRUE(opened.cache.lock(key_of(1)).held());
  EXPECT_EQ(opened.cache.stat().locks, 0U) << "lock files go with their locks";
}

TEST(DiskCache, AWaitingThreadGetsTheLock) {
  const Folder folder;
  Opened opened(folder.path());
  std::atomic<int> inside = 0;
  std::atomic<int> held = 0;
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        const DiskCache::Lock lock = opened.cache.lock(key_of(1));
        held += lock.held() ? 1 : 0;
        EXPECT_EQ(inside++, 0);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(held, 40);
}

// D-PIPE.5: a cache that is off works like one that is always empty.
TEST(DiskCache, OffIsQuiet) {
  Opened opened(DiskCacheOptions{});
  EXPECT_EQ(opened.cache.state(), CacheState::Off);
  opened.cache.store(key_of(1), payload_of(1, 10), "");
  MissReason why = MissReason::Absent;
  EXPECT_FALSE(opened.cache.find(key_of(1), &why));
  EXPECT_EQ(why, MissReason::Empty);
  EXPECT_FALSE(opened.cache.lock(key_of(1)).held());
  EXPECT_EQ(opened.cache.stat().entries, 0U);
  EXPECT_THAT(opened.cache.verify().bad, IsEmpty());
  EXPECT_EQ(opened.cache.clear().entries, 0U);
  EXPECT_THAT(opened.cache.entries(), IsEmpty());
  EXPECT_THAT(opened.cache.stat().reason, HasSubstr("Fix: "));
  EXPECT_THAT(opened.warnings, IsEmpty());
}

TEST(DiskCache, WithoutCreateNothingIsMade) {
  const Folder folder;
  Opened opened(DiskCacheOptions{.directory = folder.path(), .create = false});
  EXPECT_EQ(opened.cache.state(), CacheState::Off);
  EXPECT_FALSE(std::filesystem::exists(folder.path()));
  std::filesystem::create_directory(folder.path());
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  Opened empty(DiskCacheOptions{.directory = folder.path(), .create = false});
  EXPECT_EQ(empty.cache.state(), CacheState::On);
  empty.cache.store(key_of(1), payload_of(1, 10), "");
  EXPECT_THAT(test::names_in(folder.path()), IsEmpty());
  EXPECT_EQ(mode_of(folder.path()), 0755U);
  EXPECT_THAT(opened.warnings, IsEmpty());
  EXPECT_THAT(empty.warnings, IsEmpty());
}

TEST(DiskCache, TheEnvironmentNamesTheDirectory) {
  const Folder folder;
  const char* names[] = {"VYRE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::optional<std::string>> old;
  for (const char* name : names) {
    const char* value = std::getenv(name);
    old.push_back(value != nullptr ? std::optional<std::string>(value) : std::nullopt);
  }
  const auto with = [&](const char* own, const char* xdg, const std::string& home) {
    own != nullptr ? ::setenv(names[0], own, 1) : ::unsetenv(names[0]);
    xdg != nullptr ? ::setenv(names[1], xdg, 1) : ::unsetenv(names[1]);
    ::setenv(names[2], home.c_str(), 1);
    return DiskCache::default_directory().string();
  };
  const std::string home = folder.path("");
  EXPECT_EQ(with("/own", "/xdg", home), "/own");
  EXPECT_EQ(with("off", "/xdg", home), "");
  EXPECT_EQ(with("", "/xdg", home), "");
  EXPECT_EQ(with(nullptr, "/xdg", home), "/xdg/vyre");
  EXPECT_EQ(with(nullptr, "relative", home), std::filesystem::path(home) / ".cache/vyre");
  EXPECT_EQ(with(nullptr, "", home), std::filesystem::path(home) / ".cache/vyre");
  EXPECT_EQ(with(nullptr, nullptr, "/dev/null"), "");
  EXPECT_EQ(with(nullptr, nullptr, ""), "");
  for (size_t i = 0; i < old.size(); ++i)
    old[i] ? ::setenv(names[i], old[i]->c_str(), 1) : ::unsetenv(names[i]);
}

}  // namespace
}  // namespace vyre::pipeline
