// SPDX-License-Identifier: Apache-2.0
// Entries that are not what was written: always a miss, a rebuild and one warning; never a byte.
// D-PIPE.5, reliability 16.
#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "figure.hpp"
#include "pipeline/cache_test.hpp"

namespace vyre::pipeline::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Corruption : public testing::Test {
 protected:
  static constexpr size_t kPayloadBytes = 64 * 1024 + 100;

  void SetUp() override {
    opened_.cache.store(key_, payload_, "reach on cpu");
    original_ = read_raw(file_);
    ASSERT_EQ(original_.size(), kHeaderBytes + kPayloadBytes);
    ASSERT_EQ(opened_.cache.find(key_), payload_);
  }

  // The entry is refused and gone; stored again it is found.
  void expect_refused(const std::string& what) {
    ASSERT_FALSE(opened_.cache.find(key_)) << what;
    ASSERT_FALSE(fs::is_regular_file(fs::symlink_status(file_))) << what << " is still there";
  }
  void expect_rebuilt() {
    opened_.cache.store(key_, payload_, "reach on cpu");
    EXPECT_EQ(opened_.cache.find(key_), payload_);
    EXPECT_EQ(opened_.warnings.size(), 1U) << "one for all, not one each";
    for (const std::string& warning : opened_.warnings)
      EXPECT_THAT(warning, testing::AllOf(HasSubstr(file_.filename().string()), HasSubstr("Fix:")));
  }

  static constexpr size_t kHeaderBytes = kMinHeaderBytes + 12;
  Folder folder_;
  Opened opened_{folder_.path()};
  const CacheKey key_ = key_of(1);
  const Bytes payload_ = payload_of(1, kPayloadBytes);
  const fs::path file_ = folder_.path() / entry_name(key_);
  Bytes original_;
};

TEST_F(Corruption, EveryBitOfTheHeader) {
  for (size_t bit = 0; bit < 8 * kHeaderBytes; ++bit) {
    Bytes bytes = original_;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    write_raw(file_, bytes);
    ASSERT_NO_FATAL_FAILURE(expect_refused("bit " + std::to_string(bit)));
  }
  EXPECT_EQ(opened_.cache.stat().corrupt, 8 * kHeaderBytes);
  write_raw(file_, original_);
  EXPECT_EQ(opened_.cache.find(key_), payload_) << "the bytes as they were are fine";
  expect_rebuilt();
}

// VYRE_CACHE_FLIPS=100000 with ten seeds is the nightly figure.
TEST_F(Corruption, BitsOfThePayload) {
  // A smaller one, or this takes long under sanitizers; every bit of it is as good as any other.
  const Bytes payload = payload_of(2, 2000);
  opened_.cache.store(key_of(2), payload, "");
  const fs::path file = folder_.path() / entry_name(key_of(2));
  Bytes bytes = read_raw(file);
  std::mt19937 random(static_cast<uint32_t>(vyre::test::figure("VYRE_CACHE_SEED", 5)));
  std::uniform_int_distribution<size_t> any(8 * kMinHeaderBytes, 8 * bytes.size() - 1);
  const uint64_t flips = vyre::test::figure("VYRE_CACHE_FLIPS", 10'000);
  for (uint64_t i = 0; i < flips; ++i) {
    const size_t bit = any(random);
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    write_raw(file, bytes);
    ASSERT_FALSE(opened_.cache.find(key_of(2))) << bit;
    ASSERT_FALSE(fs::exists(file)) << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
  write_raw(file, bytes);
  EXPECT_EQ(opened_.cache.find(key_of(2)), payload);
  EXPECT_EQ(opened_.warnings.size(), 1U);
}

TEST_F(Corruption, CutOffOrLengthened) {
  std::vector<size_t> sizes;
  for (size_t size = 0; size <= kHeaderBytes; ++size) sizes.push_back(size);
  for (size_t size = kHeaderBytes; size < original_.size(); size += 4096) sizes.push_back(size);
  sizes.push_back(original_.size() - 1);
  for (const size_t size : sizes) {
    write_raw(file_, std::span(original_).first(size));
    ASSERT_NO_FATAL_FAILURE(expect_refused("first " + std::to_string(size)));
  }
  for (const size_t more : {size_t{1}, size_t{4096}}) {
    Bytes bytes = original_;
    bytes.resize(bytes.size() + more);
    write_raw(file_, bytes);
    ASSERT_NO_FATAL_FAILURE(expect_refused("lengthened"));
  }
  expect_rebuilt();
}

// Sizes that would have to be allocated are refused from the file's size.
TEST_F(Corruption, SizesThatLie) {
  for (const uint64_t size : {UINT64_MAX, UINT64_MAX - kHeaderBytes + 1, uint64_t{1} << 40}) {
    Bytes bytes = original_;
    for (size_t i = 0; i < 8; ++i) bytes[16 + i] = static_cast<std::byte>(size >> 8 * i & 0xFF);
    write_raw(file_, bytes);
    ASSERT_NO_FATAL_FAILURE(expect_refused("payload size"));
  }
  write_raw(file_, original_);
  ASSERT_EQ(::truncate(file_.c_str(), off_t{1} << 36), 0);  // a hole of 64 GiB
  ASSERT_NO_FATAL_FAILURE(expect_refused("a large file"));
  expect_rebuilt();
}

TEST_F(Corruption, SwappedEntries) {
  opened_.cache.store(key_of(2), payload_of(2, 500), "other on cpu");
  const fs::path other = folder_.path() / entry_name(key_of(2));
  fs::rename(file_, folder_.path("aside"));
  fs::rename(other, file_);
  fs::rename(folder_.path("aside"), other);
  EXPECT_FALSE(opened_.cache.find(key_));
  EXPECT_FALSE(opened_.cache.find(key_of(2)));
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_FALSE(fs::exists(other));
  EXPECT_EQ(opened_.cache.stat().corrupt, 2U);
  expect_rebuilt();
}

TEST_F(Corruption, AnEntryOfAnotherUsersKey) {
  const Folder elsewhere;
  Opened other(elsewhere.path());
  other.cache.store(key_, payload_, "reach on cpu");
  write_raw(file_, read_raw(elsewhere.path() / entry_name(key_)));
  ASSERT_NO_FATAL_FAILURE(expect_refused("sealed with another key"));
  expect_rebuilt();
}

TEST_F(Corruption, ModesThatLetOthersIn) {
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0666U, 0777U}) {
    write_raw(file_, original_, mode);
    ASSERT_NO_FATAL_FAILURE(expect_refused("mode " + std::to_string(mode)));
  }
  write_raw(file_, original_, 0400);
  EXPECT_EQ(opened_.cache.find(key_), payload_) << "nobody else may touch it, so it is fine";
  expect_rebuilt();
}

TEST_F(Corruption, AnotherOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(file_.c_str(), 12345, 12345), 0);
  ASSERT_NO_FATAL_FAILURE(expect_refused("another owner"));
  expect_rebuilt();
}

TEST_F(Corruption, ThingsThatAreNoFiles) {
  const fs::path target = folder_.path("target");
  fs::rename(file_, target);
  fs::create_symlink(target, file_);
  ASSERT_NO_FATAL_FAILURE(expect_refused("a link to a perfect entry"));
  EXPECT_FALSE(fs::is_symlink(fs::symlink_status(file_)));
  EXPECT_EQ(read_raw(target), original_) << "what it led to is untouched";
  fs::create_symlink("/nonexistent", file_);
  ASSERT_NO_FATAL_FAILURE(expect_refused("a link to nothing"));
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  ASSERT_NO_FATAL_FAILURE(expect_refused("a pipe"));
  EXPECT_FALSE(fs::exists(file_));
  expect_rebuilt();
}

TEST_F(Corruption, ADirectoryInTheWayIsOnlyAMiss) {
  fs::remove(file_);
  fs::create_directory(file_);
  EXPECT_FALSE(opened_.cache.find(key_));
  opened_.cache.store(key_, payload_, "");
  EXPECT_FALSE(opened_.cache.find(key_));
  EXPECT_EQ(opened_.warnings.size(), 1U);
  EXPECT_EQ(opened_.cache.stat().temps, 0U);
}

// Another process builds the entry again between our look and our removal.
TEST_F(Corruption, WhatTookItsPlaceStays) {
  class Replace final : public ScopedFaults {
   public:
    Replace(fs::path from, fs::path to) : from_(std::move(from)), to_(std::move(to)) {}
    int fail(files::Call call) override {
      if (call == files::Call::Close && fs::exists(from_)) fs::rename(from_, to_);
      return 0;
    }

   private:
    fs::path from_;
    fs::path to_;
  };
  const fs::path good = folder_.path("good");
  fs::rename(file_, good);
  Bytes bytes = original_;
  bytes.back() ^= std::byte{1};
  write_raw(file_, bytes);
  {
    const Replace faults(good, file_);
    EXPECT_FALSE(opened_.cache.find(key_));
  }
  EXPECT_EQ(opened_.cache.find(key_), payload_);
}

TEST_F(Corruption, VerifyListsAndRemovesTheBadOnes) {
  for (uint64_t i = 2; i <= 6; ++i) opened_.cache.store(key_of(i), payload_of(i, 100), "");
  const auto path = [&](uint64_t i) { return folder_.path() / entry_name(key_of(i)); };
  Bytes bytes = read_raw(path(2));
  bytes.back() ^= std::byte{1};
  write_raw(path(2), bytes);
  write_raw(path(3), read_raw(path(4)));
  fs::remove(path(5));
  fs::create_symlink(path(6), path(5));
  const CacheVerification found = opened_.cache.verify();
  EXPECT_EQ(found.checked, 6U);
  ASSERT_EQ(found.bad.size(), 3U);
  const auto reason = [&](uint64_t i) {
    const auto bad =
        std::ranges::find(found.bad, entry_name(key_of(i)), &CacheVerification::Bad::file);
    if (bad == found.bad.end()) return std::string("not listed");
    return bad->removed ? bad->reason : "not removed";
  };
  EXPECT_EQ(reason(2), "its checksum is wrong");
  EXPECT_EQ(reason(3), "it is the entry of another key");
  EXPECT_EQ(reason(5), "it is a symbolic link");
  EXPECT_THAT(opened_.cache.verify().bad, IsEmpty());
  EXPECT_EQ(opened_.cache.stat().entries, 3U);
  EXPECT_EQ(opened_.cache.find(key_), payload_);
}

}  // namespace
}  // namespace vyre::pipeline::test
