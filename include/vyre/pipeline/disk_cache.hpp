// SPDX-License-Identifier: Apache-2.0
// Compiled code kept on disk between runs. A key and bytes go in; the same bytes come out, or
// nothing: an entry is checked as a whole, with a key that only this user has, before any byte of
// it is handed out. No call fails: what goes wrong with the disk is a miss and one warning.
// docs/design/cache.md has the file format and what is defended against.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/digest.hpp"

namespace vyre::pipeline {

// What an entry was made from. Each part is a digest over everything of its kind, so that a miss
// can be explained.
struct CacheKey {
  Digest program;  // the canonical bytes of the program
  Digest policy;   // every option that reaches code generation
  Digest runtime;  // compiler build, target, device and driver

  [[nodiscard]] Digest combined() const;
  friend auto operator<=>(const CacheKey&, const CacheKey&) = default;
};

// Why there is no entry: nothing is cached at all; an entry differs in just this part (where
// several do, one of the same program counts first); or none is that close.
enum class MissReason : uint8_t { Empty, Program, Policy, Runtime, Absent };
// "empty", "program", "policy", "device/runtime", "absent"
std::string_view name_of(MissReason reason);

enum class CacheState : uint8_t { On, ReadOnly, Off };
// "on", "read-only", "off"
std::string_view name_of(CacheState state);

struct DiskCacheOptions {
  std::filesystem::path directory;  // empty: off, without a warning
  uint64_t max_bytes = uint64_t{1} << 30;
  uint64_t max_entry_bytes = uint64_t{256} << 20;  // of a payload
  std::chrono::milliseconds lock_wait{10'000};
  // Make the directory and its key file where there is none, and close it to others.
  bool create = true;
  // Called at most once in the life of a cache, from any thread that uses it.
  std::function<void(std::string_view)> warn{};
};

struct CacheStat {
  uint64_t entries = 0;
  uint64_t bytes = 0;  // of entries, with their headers
  uint64_t temps = 0;  // being written, or left by a process that was killed
  uint64_t locks = 0;
  // Counted by this object since it was opened.
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t stored = 0;
  uint64_t corrupt = 0;  // entries that were refused
  std::filesystem::path directory;
  CacheState state = CacheState::Off;
  std::string reason;  // why it is not on; ends with a "Fix:" part
};

struct CacheEntry {
  CacheKey key;
  std::string about;
  uint64_t bytes = 0;  // with the header
  std::chrono::sys_seconds created;
  std::chrono::sys_seconds used;  // to about a minute
};

struct CacheVerification {
  struct Bad {
    std::string file;
    std::string reason;
    bool removed = false;
  };
  uint64_t checked = 0;
  uint64_t bytes = 0;  // read
  std::vector<Bad> bad;
};

struct CacheRemoval {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t temps = 0;
  uint64_t locks = 0;
  uint64_t failed = 0;  // files that could not be removed
  uint64_t entries_left = 0;
  uint64_t bytes_left = 0;
};

// May be used by many threads at once, and its directory by many processes. Movable while nobody
// uses it.
class DiskCache {
  struct Impl;

 public:
  // One at a time compiles what a key stands for; the system takes the lock back from a process
  // that dies. Must not outlive the cache.
  class Lock {
   public:
    Lock() = default;
    Lock(Lock&& other) noexcept;
    Lock& operator=(Lock&& other) noexcept;
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();
    // False if others held it for too long or there is nothing to lock: go on without.
    [[nodiscard]] bool held() const { return descriptor_ >= 0; }

   private:
    friend class DiskCache;
    void release();
    const Impl* cache_ = nullptr;
    std::string name_;
    int descriptor_ = -1;
  };

  // $VYRE_CACHE_DIR, else $XDG_CACHE_HOME/vyre, else ~/.cache/vyre. Empty, that is off, if
  // VYRE_CACHE_DIR is empty or "off", or if there is no home directory.
  static std::filesystem::path default_directory();

  // A directory that cannot be made, or that others could have written to, gives a cache that is
  // off; one that cannot be written, a cache that only finds. stat() has the reason.
  static DiskCache open(DiskCacheOptions options);
  DiskCache(DiskCache&&) noexcept;
  DiskCache& operator=(DiskCache&&) noexcept;
  ~DiskCache();

  [[nodiscard]] CacheState state() const;

  // The bytes stored for this key. After a miss `why`, if given, has the reason; that
  // takes a listing of the directory.
  std::optional<std::vector<std::byte>> find(const CacheKey& key, MissReason* why = nullptr);
  // The same, and why there are no bytes. Unreadable: the system could not say whether there are.
  enum class Finding : uint8_t { Found, Absent, Corrupt, Unreadable };
  std::optional<std::vector<std::byte>> find(const CacheKey& key, Finding& finding);
  // The reason why find() would miss; nothing if it would not.
  [[nodiscard]] std::optional<MissReason> why(const CacheKey& key) const;
  // `about` is for people: the program's name and the device, at most 512 bytes of it.
  void store(const CacheKey& key, std::span<const std::byte> payload, std::string_view about);
  // Waits for the process that compiles this key, at most options.lock_wait. Find again after it.
  [[nodiscard]] Lock lock(const CacheKey& key) const;

  [[nodiscard]] CacheStat stat() const;
  // Newest use first. What they say of themselves is not checked; verify() does that.
  [[nodiscard]] std::vector<CacheEntry> entries() const;
  // Reads every entry; removes those that are unusable.
  CacheVerification verify();
  // Removes what was not used for longest until at most max_bytes are left, and what processes
  // left behind that were killed.
  CacheRemoval gc(uint64_t max_bytes);
  // Removes every entry and what was left behind; the key file stays.
  CacheRemoval clear();

 private:
  explicit DiskCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace vyre::pipeline
