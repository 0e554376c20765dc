// SPDX-License-Identifier: Apache-2.0
#include "base/free_memory.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace vyre {

namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // v1 writes nearly 2^63 for none

std::atomic<uint64_t> readings = 0;
thread_local uint64_t granted = 0;

// What may be taken on the strength of the last reading.
class Credit {
 public:
  bool take(uint64_t bytes) {
    if (now() >= ends_.load(std::memory_order_relaxed)) return false;
    uint64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (bytes > left) return false;
    } while (!left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed));
    return true;
  }
  void set(uint64_t bytes) {
    left_.store(bytes, std::memory_order_relaxed);
    ends_.store(now() + kLife, std::memory_order_relaxed);
  }

 private:
  static constexpr int64_t kLife = 1'000'000'000;
  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  std::atomic<uint64_t> left_ = 0;
  std::atomic<int64_t> ends_ = 0;
};
Credit credit;
constexpr uint64_t kCreditShare = 16;

std::optional<uint64_t> number_at_start(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return ~uint64_t{0};
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// The number that a file consists of; none for "max".
std::optional<uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? number_at_start(line) : std::nullopt;
}

// The sum of the numbers behind these names, one to a line.
uint64_t sum_in(const std::string& path, std::initializer_list<std::string_view> names) {
  std::ifstream file(path);
  uint64_t sum = 0;
  for (std::string line; std::getline(file, line);)
    for (const std::string_view name : names)
      if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ')
        sum += number_at_start(std::string_view(line).substr(name.size())).value_or(0);
  return sum;
}

std::optional<uint64_t> system_bytes(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  constexpr std::string_view kName = "MemAvailable:";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kName))
      if (const auto kib = number_at_start(std::string_view(line).substr(kName.size())))
        return *kib * 1024;
  return std::nullopt;
}

// Names of the files of a version of control groups.
struct Version {
  std::string_view folder;  // under /sys/fs/cgroup
  std::vector<std::string_view> limits;
  std::string_view used;
  std::initializer_list<std::string_view> reclaimable;  // of memory.stat: counted as used, but free
};

const Version kVersion1{"/memory",
                        {"/memory.limit_in_bytes"},
                        "/memory.usage_in_bytes",
                        {"total_inactive_file", "total_active_file"}};
const Version kVersion2{"",
                        {"/memory.max", "/memory.high"},
                        "/memory.current",
                        {"inactive_file", "active_file", "slab_reclaimable"}};

std::optional<uint64_t> group_bytes(const Version& version, const std::string& folder) {
  uint64_t limit = kNoLimit;
  for (const std::string_view name : version.limits)
    limit = std::min(limit, number_in(folder + std::string(name)).value_or(kNoLimit));
  const auto used = number_in(folder + std::string(version.used));
  if (limit >= kNoLimit || !used) return std::nullopt;
  const uint64_t kept =
      *used - std::min(*used, sum_in(folder + "/memory.stat", version.reclaimable));
  return limit - std::min(limit, kept);
}

// The tightest of the group and all that it lies in. Inside a container the path may be that of the
// host: what is not there is left out, up to the group that is mounted.
void tighten(FreeMemory& free, const Version& version, std::string path, const std::string& root) {
  const std::string base = root + "/sys/fs/cgroup" + std::string(version.folder);
  if (path == "/") path.clear();
  for (;;) {
    const auto bytes = group_bytes(version, base + path);
    if (bytes && *bytes < free.bytes)
      free = {*bytes,
              fmt::format("below the limit of control group {}", path.empty() ? "/" : path)};
    if (path.empty()) return;
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

bool has_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "memory") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

// Read without a lock, since a child of fork() may read it; what it pointed to before stays valid.
const std::string kOwnRoot = [] {
  const char* const own = std::getenv("VYRE_MEMORY_ROOT");
  return std::string(own != nullptr ? own : "");
}();
std::atomic<const std::string*> memory_root = &kOwnRoot;

}  // namespace

std::optional<FreeMemory> free_memory(const std::string& root) {
  readings.fetch_add(1, std::memory_order_relaxed);
  FreeMemory free{kNoLimit, {}};
  if (const auto bytes = system_bytes(root)) free = {*bytes, "MemAvailable of the system"};
  std::ifstream groups(root + "/proc/self/cgroup");  // "4:memory,hugetlb:/a/b" or "0::/a/b"
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (controllers.empty())
      tighten(free, kVersion2, line.substr(second + 1), root);
    else if (has_memory(controllers))
      tighten(free, kVersion1, line.substr(second + 1), root);
  }
  return free.bytes >= kNoLimit ? std::nullopt : std::optional(std::move(free));
}

Result<void> check_memory_growth(uint64_t bytes, std::string_view what) {
  if (bytes >= kCheckedGrowth && !credit.take(bytes)) {
    const auto free = free_memory(*memory_root.load());
    const uint64_t most = free ? free->bytes / 100 * kGrowthPercent : kNoLimit;
    credit.set(bytes > most ? 0 : (most - bytes) / kCreditShare);
    if (bytes > most)
      return std::unexpected(Error{
          .code = ErrorCode::HostOutOfMemory,
          .message = fmt::format(
              "{} needs {} bytes of host memory, but {} bytes are free ({}), of which at most "
              "{} % are taken at once. Fix: use smaller buffers, or make memory free",
              what, bytes, free ? free->bytes : 0, free ? free->where : "no address space has more",
              kGrowthPercent),
          .context = {},
          .at = {},
          .diagnostics = {}});
  }
  granted += bytes;
  return {};
}

bool may_grow_memory(uint64_t bytes) noexcept {
  try {
    return check_memory_growth(bytes, "").has_value();
  } catch (const std::exception&) {
    return false;
  }
}

uint64_t granted_memory_bytes() {
  return granted;
}

void set_memory_root(std::string root) {
  static std::mutex mutex;
  static std::list<std::string> roots;
  const std::scoped_lock lock(mutex);
  memory_root = &roots.emplace_back(std::move(root));
  credit.set(0);
}

uint64_t memory_readings() {
  return readings.load(std::memory_order_relaxed);
}

}  // namespace vyre
