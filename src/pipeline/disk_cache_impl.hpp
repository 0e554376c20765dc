// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/cache_directory.hpp"
#include "vyre/pipeline/disk_cache.hpp"

namespace vyre::pipeline {

struct DiskCache::Impl {
  struct File {
    std::string name;
    struct stat status{};
  };
  struct Listing {
    std::vector<File> entries;
    std::vector<std::string> temps;
    std::vector<std::string> locks;
    uint64_t bytes = 0;  // of entries
  };

  Impl(DiskCacheOptions options_in, CacheDirectory directory_in);

  [[nodiscard]] int directory_descriptor() const { return directory.descriptor.value(); }
  // At most one warning is given; what comes after it is only counted.
  void warn(std::string_view text) const;

  // As those of DiskCache, which lets no exception out.
  std::optional<std::vector<std::byte>> find(const CacheKey& key, Finding& finding);
  void store(const CacheKey& key, std::span<const std::byte> payload, std::string_view about);

  // The payload, fully checked. A use is noted for gc.
  std::expected<std::vector<std::byte>, Refusal> read(const CacheKey& key, bool is_use) const;
  // Removes the file that was refused, unless another has taken its place. True if it is gone.
  [[nodiscard]] bool remove_refused(const std::string& name, const Refusal& refusal) const;
  [[nodiscard]] MissReason miss_reason(const CacheKey& key) const;
  // 0 or errno.
  int write(const CacheKey& key, std::span<const std::byte> payload, std::string_view about) const;

  // Nothing of a directory that cannot be read.
  [[nodiscard]] Listing list() const;
  // If entries have more than `limit` bytes, removes the oldest until `target` are left.
  CacheRemoval collect(uint64_t limit, uint64_t target) const;
  // Now and then, not each time, checks whether the cache has grown too large.
  void note_stored(uint64_t bytes);

  DiskCacheOptions options;
  CacheDirectory directory;
  std::atomic<CacheState> state;

  mutable std::atomic<bool> warned = false;
  std::atomic<uint64_t> hits = 0;
  std::atomic<uint64_t> misses = 0;
  std::atomic<uint64_t> stored = 0;
  mutable std::atomic<uint64_t> corrupt = 0;

  std::mutex growth_mutex;  // guards the three below
  uint64_t bytes_at_check = 0;
  uint64_t bytes_since_check = 0;
  uint32_t stores_until_check = 0;
};

}  // namespace vyre::pipeline
