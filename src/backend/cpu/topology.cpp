// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/topology.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <ranges>
#include <set>

#include <fmt/format.h>
#include <sched.h>

#include "backend/cpu/processor.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace vyre::backend::cpu {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (const auto part : text | std::views::split(separator))
    parts.emplace_back(part.begin(), part.end());
  return parts;
}

bool has(const std::vector<std::string_view>& parts, std::string_view part) {
  return std::ranges::find(parts, part) != parts.end();
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<uint32_t> cores_of(std::string_view quota, std::string_view period) {
  const auto q = number<int64_t>(quota);
  const auto p = number<int64_t>(period);
  if (!q || !p || *q <= 0 || *p <= 0) return std::nullopt;
  const int64_t cores = *q / *p + (*q % *p != 0 ? 1 : 0);
  return static_cast<uint32_t>(std::min<int64_t>(cores, INT32_MAX));
}

std::optional<std::string> file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// By number. A machine may have more than fit into a cpu_set_t.
std::vector<uint32_t> usable_cpus() {
  std::vector<uint32_t> cpus;
  for (size_t most = 1024; most <= 1 << 20; most *= 4) {
    cpu_set_t* const set = CPU_ALLOC(most);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(most);
    const bool fits = ::sched_getaffinity(0, bytes, set) == 0;
    const bool larger = !fits && errno == EINVAL;
    for (size_t cpu = 0; fits && cpu < most; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(static_cast<uint32_t>(cpu));
    CPU_FREE(set);
    if (!larger) break;
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

// The smallest limit from the group of this process up to the root.
std::optional<uint32_t> cgroup_cores() {
  const std::string cgroup = file_text("/proc/self/cgroup").value_or("");
  const std::string mounts = file_text("/proc/self/mountinfo").value_or("");
  std::optional<uint32_t> least;
  const auto limit = [&](std::optional<uint32_t> cores) {
    if (cores && (!least || *cores < *least)) least = cores;
  };
  for (const std::string& folder : cgroup_folders(cgroup, mounts, ""))
    if (const auto max = file_text(folder + "/cpu.max")) limit(parse_cpu_max(*max));
  for (const std::string& folder : cgroup_folders(cgroup, mounts, "cpu")) {
    const auto quota = file_text(folder + "/cpu.cfs_quota_us");
    const auto period = file_text(folder + "/cpu.cfs_period_us");
    if (quota && period) limit(parse_cfs_quota(*quota, *period));
  }
  return least;
}

void read_caches(const std::vector<uint32_t>& cpus, Topology& topology) {
  std::set<std::string> counted;  // second-level caches, by the cores that share one
  for (const uint32_t cpu : cpus) {
    for (uint32_t index = 0; index < 8; ++index) {
      const std::string folder =
          fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}", cpu, index);
      const auto level = file_text(folder + "/level");
      const auto type = file_text(folder + "/type");
      const auto size = file_text(folder + "/size");
      if (!level || !type || !size) break;
      const uint64_t bytes = parse_cache_bytes(*size).value_or(0);
      if (trimmed(*type) == "Instruction") continue;
      if (trimmed(*level) != "2") continue;
      if (counted.insert(file_text(folder + "/shared_cpu_list").value_or(folder)).second)
        topology.l2_total += bytes;
    }
  }
}

#if defined(__x86_64__)

void read_processor(Topology& topology) {
  struct Registers {
    uint32_t a = 0, b = 0, c = 0, d = 0;
  };
  const auto cpuid = [](uint32_t leaf, uint32_t sub = 0) {
    Registers r;
    if (__get_cpuid_max(leaf & 0x8000'0000, nullptr) >= leaf)
      __cpuid_count(leaf, sub, r.a, r.b, r.c, r.d);
    return r;
  };
  const auto append = [](std::string& text, std::initializer_list<uint32_t> words) {
    for (const uint32_t word : words)
      for (int byte = 0; byte < 4; ++byte)
        if (const char c = static_cast<char>(word >> (8 * byte)); c != 0) text += c;
  };
  const Registers vendor = cpuid(0);
  append(topology.features, {vendor.b, vendor.d, vendor.c});
  for (uint32_t leaf = 0x8000'0002; leaf <= 0x8000'0004; ++leaf) {
    const Registers r = cpuid(leaf);
    append(topology.name, {r.a, r.b, r.c, r.d});
  }
  topology.name = trimmed(topology.name);
  const Registers one = cpuid(1);
  const Registers seven = cpuid(7);
  const Registers seven1 = seven.a >= 1 ? cpuid(7, 1) : Registers{};
  const Registers extended = cpuid(0x8000'0001);
  constexpr uint32_t kSavesExtendedState = 1U << 27;
  uint32_t low = 0;
  uint32_t high = 0;
  if ((one.c & kSavesExtendedState) != 0) asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  topology.features +=
      fmt::format(" {:x} 1:{:x},{:x} 7:{:x},{:x},{:x} 7.1:{:x},{:x} 80000001:{:x},{:x} xcr0:{:x}",
                  one.a, one.c, one.d, seven.b, seven.c, seven.d, seven1.a, seven1.d, extended.c,
                  extended.d, (uint64_t{high} << 32) | low);
}

#else

void read_processor(Topology&) {}

#endif

}  // namespace

std::optional<uint64_t> parse_cache_bytes(std::string_view text) {
  text = trimmed(text);
  uint64_t unit = 1;
  if (text.ends_with('K'))
    unit = uint64_t{1} << 10;
  else if (text.ends_with('M'))
    unit = uint64_t{1} << 20;
  else if (text.ends_with('G'))
    unit = uint64_t{1} << 30;
  if (unit != 1) text.remove_suffix(1);
  const auto count = number<uint64_t>(text);
  if (!count || *count > UINT64_MAX / unit) return std::nullopt;
  return *count * unit;
}

std::optional<uint64_t> parse_meminfo(std::string_view text, std::string_view row) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(row) || line.substr(row.size(), 1) != ":") continue;
    std::string_view value = trimmed(line.substr(row.size() + 1));
    if (!value.ends_with("kB")) return std::nullopt;
    value.remove_suffix(2);
    const auto kilobytes = number<uint64_t>(trimmed(value));
    if (!kilobytes || *kilobytes > UINT64_MAX / 1024) return std::nullopt;
    return *kilobytes * 1024;
  }
  return std::nullopt;
}

std::optional<uint32_t> parse_cpu_max(std::string_view text) {
  text = trimmed(text);
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  return cores_of(text.substr(0, space), text.substr(space + 1));
}

std::optional<uint32_t> parse_cfs_quota(std::string_view quota, std::string_view period) {
  return cores_of(trimmed(quota), trimmed(period));
}

std::vector<std::string> cgroup_folders(std::string_view cgroup, std::string_view mountinfo,
                                        std::string_view controller) {
  // "4:cpu,cpuacct:/group"; version 2: "0::/group"
  std::optional<std::string_view> group;
  for (const std::string_view line : split(cgroup, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    const bool is_it = controller.empty() ? names.empty() && line.starts_with("0:")
                                          : has(split(names, ','), controller);
    if (is_it) group = line.substr(second + 1);
  }
  if (!group || !group->starts_with('/')) return {};
  // "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:7 - cgroup cgroup rw,cpu": root in its
  // hierarchy, where it is mounted, and after the dash type, source and options.
  for (const std::string_view line : split(mountinfo, '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto before = split(line.substr(0, dash), ' ');
    const auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    const bool is_it = controller.empty()
                           ? after[0] == "cgroup2"
                           : after[0] == "cgroup" && has(split(trimmed(after[2]), ','), controller);
    if (!is_it) continue;
    // In a container the mount shows a part of the hierarchy only.
    std::string_view path = *group;
    const std::string_view root = before[3];
    if (path.starts_with(root) && path.substr(root.size()).starts_with('/'))
      path.remove_prefix(root.size());
    else if (path == root)
      path = {};
    std::vector<std::string> folders;
    for (;;) {
      while (path.ends_with('/')) path.remove_suffix(1);
      folders.push_back(fmt::format("{}{}", before[4], path));
      if (path.empty()) return folders;
      path = path.substr(0, path.rfind('/'));  // it begins with one
    }
  }
  return {};
}

uint32_t usable_cores() {
  const auto cores = static_cast<uint32_t>(usable_cpus().size());
  return std::max(std::min(cores, cgroup_cores().value_or(cores)), 1U);
}

uint64_t available_memory() {
  const std::string memory = file_text("/proc/meminfo").value_or("");
  return parse_meminfo(memory, "MemAvailable")
      .value_or(parse_meminfo(memory, "MemTotal").value_or(0));
}

const Topology& machine_topology() {
  static const Topology kTopology = [] {
    Topology topology;
    read_caches(usable_cpus(), topology);
    topology.memory_bytes =
        parse_meminfo(file_text("/proc/meminfo").value_or(""), "MemTotal").value_or(0);
    read_processor(topology);
    if (topology.name.empty()) topology.name = "processor of the host";
    return topology;
  }();
  return kTopology;
}

}  // namespace vyre::backend::cpu
