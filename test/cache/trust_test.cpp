// SPDX-License-Identifier: Apache-2.0
// Directories and key files that others could have had a hand in. D-PIPE.5.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/cache_test.hpp"

namespace vyre::pipeline::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

void make_directory(const fs::path& path, mode_t mode) {
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

unsigned mode_of(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

// Off with the reason in one warning, and otherwise like a cache that is empty.
void expect_off(const fs::path& directory, const std::string& reason) {
  Opened opened(directory);
  EXPECT_EQ(opened.cache.state(), CacheState::Off) << reason;
  opened.cache.store(key_of(1), payload_of(1, 100), "");
  EXPECT_FALSE(opened.cache.find(key_of(1)));
  EXPECT_FALSE(opened.cache.lock(key_of(1)).held());
  ASSERT_EQ(opened.warnings.size(), 1U) << reason;
  EXPECT_THAT(opened.warnings[0],
              testing::AllOf(HasSubstr("the compile cache is off: "), HasSubstr(reason),
                             HasSubstr(directory.filename().string()), HasSubstr("Fix: ")));
  EXPECT_THAT(opened.cache.stat().reason, HasSubstr(reason));
}

TEST(Trust, DirectoriesThatOthersMayWrite) {
  for (const mode_t mode : {0720U, 0702U, 0777U, 01777U}) {
    const Folder folder;
    make_directory(folder.path(), mode);
    expect_off(folder.path(), "can be written by others");
    EXPECT_THAT(names_in(folder.path()), IsEmpty());
  }
}

TEST(Trust, ADirectoryThatOthersMayReadIsClosedToThem) {
  const Folder folder;
  make_directory(folder.path(), 0755);
  Opened opened(folder.path());
  EXPECT_EQ(opened.cache.state(), CacheState::On);
  EXPECT_EQ(mode_of(folder.path()), 0700U);
  EXPECT_THAT(opened.warnings, IsEmpty());
}

// A slip with VYRE_CACHE_DIR must not change the mode of somebody's home.
TEST(Trust, ADirectoryOfOtherThingsIsNotTakenOver) {
  const Folder folder;
  make_directory(folder.path(), 0755);
  write_raw(folder.path() / "thesis.tex", payload_of(1, 10));
  expect_off(folder.path(), "holds other files");
  EXPECT_EQ(mode_of(folder.path()), 0755U);
  EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("thesis.tex"));
}

TEST(Trust, AnotherOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  const Folder folder;
  make_directory(folder.path(), 0700);
  ASSERT_EQ(::chown(folder.path().c_str(), 12345, 12345), 0);
  expect_off(folder.path(), "belongs to user 12345");
}

TEST(Trust, ASymbolicLinkIsNoDirectory) {
  const Folder folder;
  {
    Opened real(folder.path("real"));
    real.cache.store(key_of(1), payload_of(1, 100), "");
  }
  fs::create_directory_symlink(folder.path("real"), folder.path("link"));
  expect_off(folder.path("link"), "is a symbolic link");
  // A slash at its end does not lead through it.
  Opened slash(DiskCacheOptions{.directory = folder.path("link").string() + "/"});
  EXPECT_EQ(slash.cache.state(), CacheState::Off);
  Opened dot(DiskCacheOptions{.directory = folder.path("link").string() + "/."});
  EXPECT_EQ(dot.cache.state(), CacheState::Off);
  // A link further up is the user's own affair.
  fs::create_directory_symlink(folder.path(""), folder.path("up"));
  Opened above(folder.path("up") / "real");
  EXPECT_EQ(above.cache.find(key_of(1)), payload_of(1, 100));
}

TEST(Trust, PlacesWhereNoDirectoryCanBe) {
  const Folder folder;
  write_raw(folder.path("file"), payload_of(1, 10));
  expect_off(folder.path("file"), "cannot be opened: Not a directory");
  expect_off(folder.path("file") / "below", "cannot be made: Not a directory");
  expect_off("/proc/vyre", "cannot be made");
  expect_off(std::string(5000, 'x'), "cannot be made: File name too long");
}

class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    Opened opened(folder_.path());
    opened.cache.store(key_of(1), payload_of(1, 100), "");
    secret_ = read_raw(key_);
    ASSERT_EQ(secret_.size(), 32U);
  }

  // The key is a new one, what it sealed is built again, with one warning.
  void expect_replaced(const std::string& what) {
    Opened opened(folder_.path());
    EXPECT_EQ(opened.cache.state(), CacheState::On) << what;
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(key_))) << what;
    EXPECT_EQ(mode_of(key_), 0600U) << what;
    EXPECT_EQ(read_raw(key_).size(), 32U) << what;
    EXPECT_NE(read_raw(key_), secret_) << what;
    EXPECT_FALSE(opened.cache.find(key_of(1))) << what;
    EXPECT_EQ(opened.warnings.size(), 1U) << what;
    opened.cache.store(key_of(1), payload_of(1, 100), "");
    EXPECT_EQ(opened.cache.find(key_of(1)), payload_of(1, 100)) << what;
    EXPECT_EQ(opened.cache.stat().locks + opened.cache.stat().temps, 0U) << what;
    secret_ = read_raw(key_);
  }

  Folder folder_;
  const fs::path key_ = folder_.path() / "key";
  Bytes secret_;
};

TEST_F(KeyFile, StaysTheSame) {
  Opened opened(folder_.path());
  EXPECT_EQ(read_raw(key_), secret_);
  EXPECT_TRUE(opened.cache.find(key_of(1)));
  EXPECT_NE(secret_, Bytes(32));
}

TEST_F(KeyFile, ThatOthersCouldReadOrWrite) {
  for (const mode_t mode : {0640U, 0604U, 0660U, 0606U}) {
    ASSERT_EQ(::chmod(key_.c_str(), mode), 0);
    expect_replaced("mode");
  }
}

TEST_F(KeyFile, OfAnotherLength) {
  for (const size_t size : {size_t{0}, size_t{31}, size_t{33}}) {
    write_raw(key_, payload_of(7, size));
    expect_replaced("length " + std::to_string(size));
  }
}

TEST_F(KeyFile, ThatIsALink) {
  fs::rename(key_, folder_.path("elsewhere"));
  fs::create_symlink(folder_.path("elsewhere"), key_);
  expect_replaced("a link");
  EXPECT_EQ(read_raw(folder_.path("elsewhere")).size(), 32U) << "what it led to is untouched";
}

TEST_F(KeyFile, OfAnotherOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(key_.c_str(), 12345, 12345), 0);
  expect_replaced("another owner");
}

TEST_F(KeyFile, ThatIsGone) {
  fs::remove(key_);
  expect_replaced("gone");
}

TEST_F(KeyFile, ThatCannotBeReplaced) {
  fs::remove(key_);
  fs::create_directory(key_);
  expect_off(folder_.path(), "cannot keep a key file");
}

// The mode keeps root from writing too, here as for everybody else; find() is what remains.
TEST(ReadOnly, FindsAndStoresNothing) {
  const Folder folder;
  {
    Opened writer(folder.path());
    writer.cache.store(key_of(1), payload_of(1, 100), "");
    writer.cache.store(key_of(2), payload_of(2, 100), "");
  }
  Bytes bytes = read_raw(folder.path() / entry_name(key_of(2)));
  bytes.back() ^= std::byte{1};
  write_raw(folder.path() / entry_name(key_of(2)), bytes);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
  const auto before = names_in(folder.path());
  Opened opened(folder.path());
  EXPECT_EQ(opened.cache.state(), CacheState::ReadOnly);
  EXPECT_EQ(opened.cache.find(key_of(1)), payload_of(1, 100));
  EXPECT_FALSE(opened.cache.find(key_of(2))) << "corrupt, and left alone";
  opened.cache.store(key_of(3), payload_of(3, 100), "");
  EXPECT_FALSE(opened.cache.find(key_of(3)));
  EXPECT_FALSE(opened.cache.lock(key_of(3)).held());
  EXPECT_EQ(opened.cache.clear().entries, 0U);
  EXPECT_EQ(opened.cache.verify().bad.size(), 1U);
  EXPECT_EQ(names_in(folder.path()), before);
  ASSERT_EQ(opened.warnings.size(), 1U);
  EXPECT_THAT(opened.warnings[0], HasSubstr("the compile cache is read-only: "));
}

TEST(ReadOnly, WithoutAKeyItIsOff) {
  const Folder folder;
  make_directory(folder.path(), 0500);
  expect_off(folder.path(), "cannot be written and has no key file");
}

// A file system that turns read-only while the cache is open.
TEST(ReadOnly, FromOneMomentToTheNext) {
  const Folder folder;
  Opened opened(folder.path());
  opened.cache.store(key_of(1), payload_of(1, 100), "");
  {
    const FailAll faults(files::Call::OpenUnnamed, EROFS);
    opened.cache.store(key_of(2), payload_of(2, 100), "");
  }
  EXPECT_EQ(opened.cache.state(), CacheState::ReadOnly);
  EXPECT_THAT(opened.cache.stat().reason, HasSubstr("Fix: "));
  EXPECT_EQ(opened.cache.find(key_of(1)), payload_of(1, 100));
  EXPECT_EQ(opened.warnings.size(), 1U);
}

}  // namespace
}  // namespace vyre::pipeline::test
