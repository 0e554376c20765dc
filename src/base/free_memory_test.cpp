// SPDX-License-Identifier: Apache-2.0
#include "base/free_memory.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vyre {
namespace {

using testing::HasSubstr;

// Files of a made-up system.
class FreeMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/vyre_memory_test.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    root_ = name;
  }
  void TearDown() override {
    set_memory_root("");
    std::filesystem::remove_all(root_);
  }
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void put_system(uint64_t kib) const {
    put("/proc/meminfo",
        "MemTotal:       64000000 kB\nMemFree:          1000 kB\nMemAvailable:   " +
            std::to_string(kib) + " kB\nBuffers: 3 kB\n");
  }
  [[nodiscard]] uint64_t bytes() const {
    const auto free = free_memory(root_);
    return free ? free->bytes : ~uint64_t{0};
  }

  std::string root_;
};

TEST_F(FreeMemoryTest, OfTheSystem) {
  EXPECT_EQ(bytes(), ~uint64_t{0}) << "nothing is told";
  put_system(1000);
  EXPECT_EQ(bytes(), 1'024'000U);
  EXPECT_EQ(free_memory(root_)->where, "MemAvailable of the system");
  put("/proc/meminfo", "MemAvailable: lots\n");
  EXPECT_EQ(bytes(), ~uint64_t{0});
}

TEST_F(FreeMemoryTest, OfNestedControlGroups) {
  put_system(1'000'000);
  put("/proc/self/cgroup", "0::/user.slice/run-7.scope\n");
  EXPECT_EQ(bytes(), 1'024'000'000U) << "groups without files have no limits";
  const auto group = [&](const std::string& path, const std::string& max, uint64_t current) {
    put("/sys/fs/cgroup" + path + "/memory.max", max + "\n");
    put("/sys/fs/cgroup" + path + "/memory.current", std::to_string(current) + "\n");
  };
  group("/user.slice/run-7.scope", "max", 5000);
  EXPECT_EQ(bytes(), 1'024'000'000U);
  group("/user.slice/run-7.scope", "90000", 50'000);
  EXPECT_EQ(bytes(), 40'000U);
  EXPECT_EQ(free_memory(root_)->where, "below the limit of control group /user.slice/run-7.scope");
  group("/user.slice", "100000", 95'000);
  EXPECT_EQ(bytes(), 5'000U) << "the outer group is tighter";
  group("", "200000", 300'000);
  EXPECT_EQ(bytes(), 0U) << "more is used than allowed";
  // What is only cached goes when memory is needed.
  put("/sys/fs/cgroup/memory.stat",
      "anon 5\nfile 150000\ninactive_file 100000\nactive_file 50000\nslab_reclaimable 1000\n"
      "inactive_file_extra 7\n");
  EXPECT_EQ(bytes(), 5'000U);
  put("/sys/fs/cgroup/user.slice/memory.high", "96000\n");
  EXPECT_EQ(bytes(), 1'000U);
}

// As a container sees it: the path is of the host, the files are those of its own group.
TEST_F(FreeMemoryTest, OfAContainer) {
  put_system(1'000'000);
  put("/proc/self/cgroup", "0::/../docker/abc\n");
  put("/sys/fs/cgroup/memory.max", "60000\n");
  put("/sys/fs/cgroup/memory.current", "20000\n");
  EXPECT_EQ(bytes(), 40'000U);
  EXPECT_EQ(free_memory(root_)->where, "below the limit of control group /");
}

TEST_F(FreeMemoryTest, OfTheFirstVersion) {
  put_system(1'000'000);
  put("/proc/self/cgroup",
      "12:cpu,cpuacct:/a\n4:hugetlb,memory:/a/b\n3:memory_not:/x\n0::/elsewhere\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "70000\n");
  EXPECT_EQ(bytes(), 1'024'000'000U);
  put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "50000\n");
  put("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "20000\n");
  EXPECT_EQ(bytes(), 30'000U);
  put("/sys/fs/cgroup/memory/a/b/memory.stat", "total_inactive_file 1000\ninactive_file 9\n");
  EXPECT_EQ(bytes(), 31'000U);
}

TEST_F(FreeMemoryTest, EightyPercentOfItMayBeTaken) {
  put_system(100 * 1024);  // 100 MiB
  set_memory_root(root_);
  constexpr uint64_t kMib = uint64_t{1} << 20;
  EXPECT_TRUE(check_memory_growth(80 * kMib, "x"));
  const auto refused = check_memory_growth(80 * kMib + 1000, "buffer `x`");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::HostOutOfMemory);
  EXPECT_EQ(
      refused.error().message,
      "buffer `x` needs 83887080 bytes of host memory, but 104857600 bytes are free "
      "(MemAvailable of the system), of which at most 80 % are taken at once. Fix: use smaller "
      "buffers, or make memory free");
  EXPECT_FALSE(check_memory_growth(~uint64_t{0}, "x"));
}

TEST_F(FreeMemoryTest, LittleIsTakenUnseen) {
  put_system(0);
  set_memory_root(root_);
  const uint64_t before = memory_readings();
  const uint64_t granted = granted_memory_bytes();
  EXPECT_TRUE(check_memory_growth(kCheckedGrowth - 1, "x"));
  EXPECT_EQ(memory_readings(), before);
  EXPECT_EQ(granted_memory_bytes(), granted + kCheckedGrowth - 1);
  EXPECT_FALSE(check_memory_growth(kCheckedGrowth, "x"));
  EXPECT_EQ(memory_readings(), before + 1);
  EXPECT_EQ(granted_memory_bytes(), granted + kCheckedGrowth - 1) << "refused is not granted";
}

// Results of a steady program that the caller takes away.
TEST_F(FreeMemoryTest, ManySmallGrowthsShareAReading) {
  put_system(1024 * 1024);  // 1 GiB
  set_memory_root(root_);
  const uint64_t before = memory_readings();
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(check_memory_growth(kCheckedGrowth, "x"));
  EXPECT_LE(memory_readings(), before + 1)
      << "a machine that is stopped for a second reads once more";
  // One that is not small is looked at, and so is one more than the look was good for.
  put_system(1024);
  EXPECT_FALSE(check_memory_growth(uint64_t{100} << 20, "x"));
  EXPECT_FALSE(check_memory_growth(kCheckedGrowth, "x")) << "what was found then holds";
}

TEST_F(FreeMemoryTest, OfThisSystem) {
  const auto free = free_memory();
  ASSERT_TRUE(free);
  EXPECT_GT(free->bytes, 0U);
  EXPECT_THAT(free->where, testing::AnyOf(HasSubstr("MemAvailable"), HasSubstr("control group")));
}

}  // namespace
}  // namespace vyre
