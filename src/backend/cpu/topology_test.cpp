// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/topology.hpp"

#include <gmock/gmock.h>
#include <sched.h>

#include "backend/cpu/processor.hpp"

namespace vyre::backend::cpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Topology, QuotasOfControlGroups) {
  EXPECT_EQ(parse_cpu_max("max 100000\n"), std::nullopt);
  EXPECT_EQ(parse_cpu_max("100000 100000\n"), 1u);
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 2u);
  EXPECT_EQ(parse_cpu_max("1000 100000"), 1u);
  EXPECT_EQ(parse_cpu_max("6400000 100000"), 64u);
  for (const char* const none : {"", "100000", "0 100000", "-1 100000", "100000 0", "a b", "1 2 3"})
    EXPECT_EQ(parse_cpu_max(none), std::nullopt) << none;
  EXPECT_EQ(parse_cfs_quota("-1\n", "100000\n"), std::nullopt);
  EXPECT_EQ(parse_cfs_quota("250000\n", "100000\n"), 3u);
  EXPECT_EQ(parse_cfs_quota("9223372036854775807", "1"), 0x7FFF'FFFFu);
  EXPECT_EQ(parse_cfs_quota("99999999999999999999", "1"), std::nullopt);
}

constexpr const char* kMounts =
    "22 1 0:20 / /proc rw,nosuid - proc proc rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
    "short line\n";

TEST(Topology, FoldersOfControlGroups) {
  const char* const groups = "9:name=systemd:/\n4:memory:/m\n1:cpu,cpuacct:/a/b\n0::/x/y\n";
  EXPECT_THAT(cgroup_folders(groups, kMounts, "cpu"),
              ElementsAre("/sys/fs/cgroup/cpu/a/b", "/sys/fs/cgroup/cpu/a", "/sys/fs/cgroup/cpu"));
  EXPECT_THAT(cgroup_folders(groups, kMounts, ""),
              ElementsAre("/sys/fs/cgroup/unified/x/y", "/sys/fs/cgroup/unified/x",
                          "/sys/fs/cgroup/unified"));
  EXPECT_THAT(cgroup_folders("0::/\n", kMounts, ""), ElementsAre("/sys/fs/cgroup/unified"));
  EXPECT_THAT(cgroup_folders(groups, kMounts, "cpuset"), IsEmpty());
  EXPECT_THAT(cgroup_folders("", kMounts, "cpu"), IsEmpty());
  EXPECT_THAT(cgroup_folders(groups, "", "cpu"), IsEmpty());
  EXPECT_THAT(cgroup_folders("0::\n0:\n:\n", kMounts, ""), IsEmpty());
}

// A container sees its own group as the root of the mount.
TEST(Topology, FoldersInAContainer) {
  const char* const mounts = "41 31 0:38 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  EXPECT_THAT(cgroup_folders("0::/docker/1\n", mounts, ""), ElementsAre("/sys/fs/cgroup"));
  EXPECT_THAT(cgroup_folders("0::/docker/1/in\n", mounts, ""),
              ElementsAre("/sys/fs/cgroup/in", "/sys/fs/cgroup"));
  EXPECT_THAT(cgroup_folders("0::/docker/12\n", mounts, ""),
              ElementsAre("/sys/fs/cgroup/docker/12", "/sys/fs/cgroup/docker", "/sys/fs/cgroup"));
}

TEST(Topology, Sizes) {
  EXPECT_EQ(parse_cache_bytes("48K\n"), 49152u);
  EXPECT_EQ(parse_cache_bytes("2M"), 2097152u);
  EXPECT_EQ(parse_cache_bytes("512"), 512u);
  for (const char* const none :
       {"", "K", "4X", "-4K", "99999999999999999999K", "18446744073709551615K"})
    EXPECT_EQ(parse_cache_bytes(none), std::nullopt) << none;
  const char* const text = "MemTotal:       24682032 kB\nMemAvailable:   100 kB\nMemOdd: 3\n";
  EXPECT_EQ(parse_meminfo(text, "MemTotal"), uint64_t{24682032} * 1024);
  EXPECT_EQ(parse_meminfo(text, "MemAvailable"), 102400u);
  EXPECT_EQ(parse_meminfo(text, "Mem"), std::nullopt);
  EXPECT_EQ(parse_meminfo(text, "MemOdd"), std::nullopt);
  EXPECT_EQ(parse_meminfo("", "MemTotal"), std::nullopt);
}

TEST(Topology, OfThisMachine) {
  const Topology& machine = machine_topology();
  EXPECT_FALSE(machine.name.empty());
  EXPECT_GT(machine.memory_bytes, 0u);
  EXPECT_GT(available_memory(), 0u);
  if (kRunsObjects) {
    EXPECT_THAT(machine.features, HasSubstr(" xcr0:"));
  }
  EXPECT_GE(usable_cores(), 1u);
}

TEST(Topology, FollowsTheAffinity) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usable_cores(), 1u);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace vyre::backend::cpu
