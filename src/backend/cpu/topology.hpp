// SPDX-License-Identifier: Apache-2.0
// What this process may use of the machine: cores, caches, memory, and what its processor can do.
// Reading files is one thing and understanding them another; the latter is done by functions of
// text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vyre::backend::cpu {

struct Topology {
  uint64_t l2_total = 0;      // bytes, of all usable cores; 0: unknown, as all sizes here
  uint64_t memory_bytes = 0;  // of the machine
  std::string name;           // of the processor
  // Everything that decides whether code for this processor runs: vendor, model, features, and
  // which registers the system saves.
  std::string features;
};

// Read once. Files that are missing leave their facts unknown.
const Topology& machine_topology();

// These may change while the process runs. Cores: those it may run on, but not more than it is
// given the time of; at least 1.
uint32_t usable_cores();
uint64_t available_memory();

// "48K", "2048K", "2M", "512"; nothing for other text.
std::optional<uint64_t> parse_cache_bytes(std::string_view text);
// The bytes of a row of /proc/meminfo: "MemAvailable:   123 kB".
std::optional<uint64_t> parse_meminfo(std::string_view text, std::string_view row);

// Cores that a control group is given the time of, rounded up; nothing: no limit.
// cpu.max: "max 100000", "150000 100000".
std::optional<uint32_t> parse_cpu_max(std::string_view text);
// cpu.cfs_quota_us ("-1": no limit) and cpu.cfs_period_us.
std::optional<uint32_t> parse_cfs_quota(std::string_view quota, std::string_view period);

// The folders in which this process's limits lie, from its own up to the root, for one hierarchy:
// "cpu" of version 1, or "" for version 2. From /proc/self/cgroup and /proc/self/mountinfo.
std::vector<std::string> cgroup_folders(std::string_view cgroup, std::string_view mountinfo,
                                        std::string_view controller);

}  // namespace vyre::backend::cpu
