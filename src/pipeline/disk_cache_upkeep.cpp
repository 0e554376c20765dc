// SPDX-License-Identifier: Apache-2.0
// What reads the whole directory: counting, checking, throwing away.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/errors.hpp"
#include "pipeline/disk_cache_impl.hpp"

namespace vyre::pipeline {
namespace {

std::chrono::sys_seconds at(int64_t since_1970) {
  return std::chrono::sys_seconds(std::chrono::seconds(since_1970));
}

bool older(const struct stat& a, const struct stat& b) {
  return std::pair(a.st_mtim.tv_sec, a.st_mtim.tv_nsec) <
         std::pair(b.st_mtim.tv_sec, b.st_mtim.tv_nsec);
}

}  // namespace

DiskCache::Impl::Listing DiskCache::Impl::list() const {
  Listing listing;
  if (state == CacheState::Off) return listing;
  auto names = files::list(directory_descriptor());
  if (!names) return listing;
  for (std::string& name : *names) {
    switch (kind_of(name)) {
      case FileKind::Entry: {
        const auto status = files::status_at(directory_descriptor(), name);
        if (!status) break;  // removed in the meantime
        listing.bytes += static_cast<uint64_t>(status->st_size);
        listing.entries.push_back({std::move(name), *status});
        break;
      }
      case FileKind::Temp: listing.temps.push_back(std::move(name)); break;
      case FileKind::Lock: listing.locks.push_back(std::move(name)); break;
      case FileKind::Secret:
      case FileKind::Other: break;
    }
  }
  return listing;
}

CacheRemoval DiskCache::Impl::collect(uint64_t limit, uint64_t target) const {
  CacheRemoval removal;
  Listing listing = list();
  removal.entries_left = listing.entries.size();
  removal.bytes_left = listing.bytes;
  if (state != CacheState::On) return removal;
  const auto remove_left_behind = [&](const std::vector<std::string>& names, uint64_t& count) {
    for (const std::string& name : names) {
      const int error = remove_abandoned(directory_descriptor(), name);
      if (error == 0) {
        ++count;
      } else if (error != EWOULDBLOCK) {
        ++removal.failed;
      }
    }
  };
  remove_left_behind(listing.temps, removal.temps);
  remove_left_behind(listing.locks, removal.locks);
  // A limit of 0 takes even entries that have no bytes.
  if (listing.bytes <= limit && limit != 0) return removal;

  std::ranges::sort(listing.entries,
                    [](const File& a, const File& b) { return older(a.status, b.status); });
  for (const File& file : listing.entries) {
    if (removal.bytes_left <= target && target != 0) break;
    const int error = files::remove(directory_descriptor(), file.name);
    if (error != 0 && error != ENOENT) {
      ++removal.failed;
      continue;
    }
    const auto bytes = static_cast<uint64_t>(file.status.st_size);
    ++removal.entries;
    removal.bytes += bytes;
    --removal.entries_left;
    removal.bytes_left -= bytes;
  }
  return removal;
}

CacheStat DiskCache::stat() const {
  const Impl::Listing listing = impl_->list();
  CacheStat stat;
  stat.entries = listing.entries.size();
  stat.bytes = listing.bytes;
  stat.temps = listing.temps.size();
  stat.locks = listing.locks.size();
  stat.hits = impl_->hits;
  stat.misses = impl_->misses;
  stat.stored = impl_->stored;
  stat.corrupt = impl_->corrupt;
  stat.directory = impl_->options.directory;
  stat.state = impl_->state;
  stat.reason = impl_->directory.reason;
  if (stat.reason.empty() && stat.state == CacheState::ReadOnly)
    stat.reason = "it became read-only. Fix: make it writable, or set VYRE_CACHE_DIR";
  return stat;
}

std::vector<CacheEntry> DiskCache::entries() const {
  std::vector<CacheEntry> result;
  Impl::Listing listing = impl_->list();
  std::ranges::sort(listing.entries, [](const Impl::File& a, const Impl::File& b) {
    return older(b.status, a.status);
  });
  for (const Impl::File& file : listing.entries) {
    auto entry =
        open_entry(impl_->directory_descriptor(), file.name, impl_->options.max_entry_bytes);
    if (!entry) continue;
    result.push_back({entry->key, std::move(entry->about),
                      static_cast<uint64_t>(entry->status.st_size), at(entry->created),
                      at(entry->status.st_mtim.tv_sec)});
  }
  return result;
}

CacheVerification DiskCache::verify() {
  CacheVerification verification;
  for (const Impl::File& file : impl_->list().entries) {
    const auto check = [&]() -> std::expected<void, Refusal> {
      const auto entry =
          open_entry(impl_->directory_descriptor(), file.name, impl_->options.max_entry_bytes);
      if (!entry) return std::unexpected(entry.error());
      if (entry_name(entry->key) != file.name)
        return std::unexpected(
            Refusal{Refusal::Kind::Bad, "it is the entry of another key", entry->status});
      if (!impl_->directory.secret)
        return std::unexpected(
            Refusal{Refusal::Kind::Bad, "there is no key file to check it with", entry->status});
      VYRE_TRY_ASSIGN(const auto payload, read_payload(*entry, *impl_->directory.secret));
      verification.bytes += entry->header.size() + payload.size();
      return {};
    };
    const auto checked = check();
    if (!checked && checked.error().kind == Refusal::Kind::Absent) continue;
    ++verification.checked;
    if (checked) continue;
    if (checked.error().kind == Refusal::Kind::Bad) ++impl_->corrupt;
    const bool removed = impl_->remove_refused(file.name, checked.error());
    verification.bad.push_back({file.name, checked.error().reason, removed});
  }
  return verification;
}

CacheRemoval DiskCache::gc(uint64_t max_bytes) {
  return impl_->collect(max_bytes, max_bytes);
}

CacheRemoval DiskCache::clear() {
  return impl_->collect(0, 0);
}

}  // namespace vyre::pipeline
