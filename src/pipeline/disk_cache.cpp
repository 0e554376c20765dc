// SPDX-License-Identifier: Apache-2.0
#include "vyre/pipeline/disk_cache.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "pipeline/disk_cache_impl.hpp"

namespace vyre::pipeline {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

constexpr int64_t kTouchSeconds = 60;
constexpr uint32_t kStoresBetweenChecks = 64;

int64_t now_seconds() {
  return std::chrono::duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::string_view(value) : std::string_view();
}

}  // namespace

std::string_view name_of(MissReason reason) {
  switch (reason) {
    case MissReason::Empty: return "empty";
    case MissReason::Program: return "program";
    case MissReason::Policy: return "policy";
    case MissReason::Runtime: return "device/runtime";
    case MissReason::Absent: return "absent";
  }
  VYRE_CHECK(false && "a MissReason outside its enumeration");
}

std::string_view name_of(CacheState state) {
  switch (state) {
    case CacheState::On: return "on";
    case CacheState::ReadOnly: return "read-only";
    case CacheState::Off: return "off";
  }
  VYRE_CHECK(false && "a CacheState outside its enumeration");
}

DiskCache::Impl::Impl(DiskCacheOptions options_in, CacheDirectory directory_in)
    : options(std::move(options_in)),
      directory(std::move(directory_in)),
      state(directory.state),
      // Many short processes that store one entry each have to check at times too.
      stores_until_check(1 + randombytes_uniform(kStoresBetweenChecks)) {}

void DiskCache::Impl::warn(std::string_view text) const {
  if (options.warn && !warned.exchange(true)) options.warn(text);
}

std::expected<std::vector<std::byte>, Refusal> DiskCache::Impl::read(const CacheKey& key,
                                                                     bool is_use) const {
  if (state == CacheState::Off) return std::unexpected(Refusal{});
  VYRE_TRY_ASSIGN(const auto entry,
                  open_entry(directory_descriptor(), entry_name(key), options.max_entry_bytes));
  const auto bad = [&](const char* reason) {
    return std::unexpected(Refusal{Refusal::Kind::Bad, reason, entry.status});
  };
  if (entry.key != key) return bad("it is the entry of another key");
  if (!directory.secret) return bad("there is no key file to check it with");
  auto payload = read_payload(entry, *directory.secret);
  if (!payload || !is_use || state != CacheState::On) return payload;
  const int64_t age = now_seconds() - entry.status.st_mtim.tv_sec;
  if (age >= kTouchSeconds || age < -kTouchSeconds) (void)files::touch(entry.file.value());
  return payload;
}

bool DiskCache::Impl::remove_refused(const std::string& name, const Refusal& refusal) const {
  if (state != CacheState::On || refusal.kind != Refusal::Kind::Bad) return false;
  const auto named = files::status_at(directory_descriptor(), name);
  if (!named) return named.error() == ENOENT;
  const bool same =
      refusal.file ? files::same_file(*refusal.file, *named) : !S_ISREG(named->st_mode);
  return same && files::remove(directory_descriptor(), name) == 0;
}

MissReason DiskCache::Impl::miss_reason(const CacheKey& key) const {
  if (state == CacheState::Off) return MissReason::Empty;
  const auto names = files::list(directory_descriptor());
  if (!names) return MissReason::Absent;
  ClosestEntry closest;
  for (const std::string& name : *names)
    if (kind_of(name) == FileKind::Entry) closest.add(parts_equal(name, key));
  return closest.reason();
}

int DiskCache::Impl::write(const CacheKey& key, std::span<const std::byte> payload,
                           std::string_view about) const {
  const std::vector<std::byte> header =
      header_of(key, payload, about, now_seconds(), *directory.secret);
  auto temp = make_temp(directory_descriptor());
  if (!temp) return temp.error();
  const int file = temp->file.value();
  int error = files::write_all(file, header);
  if (error == 0) error = files::write_all(file, payload);
  if (error == 0) error = files::sync(file);
  if (error != 0) {
    discard(directory_descriptor(), *temp);
    return error;
  }
  // While it is open and so locked: no process takes it for abandoned.
  error = publish(directory_descriptor(), *temp, entry_name(key), true);
  if (error != 0) return error;
  // Else a crash of the machine may undo the rename, which is a miss and no more.
  (void)files::sync(directory_descriptor());
  return 0;
}

void DiskCache::Impl::note_stored(uint64_t bytes) {
  {
    const std::lock_guard guard(growth_mutex);
    bytes_since_check += bytes;
    --stores_until_check;
    if (stores_until_check != 0 && bytes_since_check <= options.max_bytes / 8 &&
        bytes_at_check + bytes_since_check <= options.max_bytes)
      return;
    bytes_since_check = 0;
    stores_until_check = kStoresBetweenChecks;
  }
  // Some room is made at once, so that this does not happen at every store of a full cache.
  const CacheRemoval removal = collect(options.max_bytes, options.max_bytes / 8 * 7);
  const std::lock_guard guard(growth_mutex);
  bytes_at_check = removal.bytes_left;
}

std::optional<std::vector<std::byte>> DiskCache::Impl::find(const CacheKey& key, Finding& finding) {
  auto payload = read(key, true);
  if (payload) {
    ++hits;
    finding = Finding::Found;
    return std::move(*payload);
  }
  ++misses;
  const Refusal& refusal = payload.error();
  switch (refusal.kind) {
    case Refusal::Kind::Absent: finding = Finding::Absent; break;
    case Refusal::Kind::Unreadable: finding = Finding::Unreadable; break;
    case Refusal::Kind::Bad:
      finding = Finding::Corrupt;
      ++corrupt;
      (void)remove_refused(entry_name(key), refusal);
      break;
  }
  if (refusal.kind != Refusal::Kind::Absent)
    warn(
        fmt::format("an entry of the compile cache cannot be used ({}: {}), so it is "
                    "compiled again. Fix: `vyre cache verify` looks for more like it",
                    entry_name(key), refusal.reason));
  return std::nullopt;
}

void DiskCache::Impl::store(const CacheKey& key, std::span<const std::byte> payload,
                            std::string_view about) {
  if (state != CacheState::On || !directory.secret) return;
  const uint64_t bytes = kMinHeaderBytes + kMaxAboutBytes + payload.size();
  if (payload.size() > options.max_entry_bytes || bytes > options.max_bytes) {
    warn(
        fmt::format("{} is too large for the compile cache ({} bytes). Fix: none is "
                    "needed; it is compiled each time",
                    about, payload.size()));
    return;
  }
  const int error = write(key, payload, about);
  if (error == 0) {
    ++stored;
    note_stored(bytes);
    return;
  }
  if (error == EROFS) state = CacheState::ReadOnly;
  warn(fmt::format(
      "{} cannot be kept in the compile cache {}: {}. Fix: {}, or name another directory with "
      "VYRE_CACHE_DIR",
      about, options.directory.string(), std::strerror(error),
      error == EFBIG ? "raise the limit of file sizes (ulimit -f)" : "make room there"));
}

DiskCache::Lock::Lock(Lock&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)),
      name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

DiskCache::Lock& DiskCache::Lock::operator=(Lock&& other) noexcept {
  if (this != &other) {
    release();
    cache_ = std::exchange(other.cache_, nullptr);
    name_ = std::move(other.name_);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

DiskCache::Lock::~Lock() {
  release();
}

void DiskCache::Lock::release() {
  if (descriptor_ < 0) return;
  const files::Descriptor closes(std::exchange(descriptor_, -1));
  // While it is still locked: who waits notices that the file has no name any more.
  (void)files::remove(cache_->directory_descriptor(), name_);
}

std::filesystem::path DiskCache::default_directory() {
  if (const char* own = std::getenv("VYRE_CACHE_DIR"); own != nullptr)
    return std::string_view(own) == "off" ? "" : own;
  // Relative paths in it are to be ignored (XDG base directory specification).
  if (const std::filesystem::path xdg = environment("XDG_CACHE_HOME"); xdg.is_absolute())
    return xdg / "vyre";
  // Users that are no people have /nonexistent or /dev/null for a home.
  const std::filesystem::path home = environment("HOME");
  std::error_code ignored;
  if (!home.is_absolute() || !std::filesystem::is_directory(home, ignored)) return {};
  return home / ".cache" / "vyre";
}

DiskCache DiskCache::open(DiskCacheOptions options) {
  CacheDirectory directory = open_directory(options);
  const bool quiet = directory.state == CacheState::On || directory.quiet;
  auto impl = std::make_unique<Impl>(std::move(options), std::move(directory));
  if (!quiet)
    impl->warn(fmt::format("the compile cache is {}: {}", name_of(impl->directory.state),
                           impl->directory.reason));
  return DiskCache(std::move(impl));
}

DiskCache::DiskCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DiskCache::DiskCache(DiskCache&&) noexcept = default;
DiskCache& DiskCache::operator=(DiskCache&&) noexcept = default;
DiskCache::~DiskCache() = default;

CacheState DiskCache::state() const {
  return impl_->state;
}

// What a cache lacks memory for is a miss and nothing more: who compiles may still have enough.
std::optional<std::vector<std::byte>> DiskCache::find(const CacheKey& key, MissReason* why) {
  Finding finding{};
  auto found = find(key, finding);
  if (why == nullptr || found) return found;
  try {
    *why = impl_->miss_reason(key);
  } catch (const std::bad_alloc&) {
    *why = MissReason::Absent;
  }
  return found;
}

std::optional<std::vector<std::byte>> DiskCache::find(const CacheKey& key, Finding& finding) {
  finding = Finding::Absent;
  try {
    return impl_->find(key, finding);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

std::optional<MissReason> DiskCache::why(const CacheKey& key) const {
  if (impl_->read(key, false)) return std::nullopt;
  return impl_->miss_reason(key);
}

void DiskCache::store(const CacheKey& key, std::span<const std::byte> payload,
                      std::string_view about) {
  try {
    impl_->store(key, payload, about);
  } catch (const std::bad_alloc&) {
    // It is compiled again next time.
  }
}

DiskCache::Lock DiskCache::lock(const CacheKey& key) const {
  Lock lock;
  if (impl_->state != CacheState::On) return lock;
  try {
    lock.name_ = lock_name(key);
    auto file = lock_file(impl_->directory_descriptor(), lock.name_, impl_->options.lock_wait);
    if (!file) return lock;
    lock.cache_ = impl_.get();
    lock.descriptor_ = file->release();
  } catch (const std::bad_alloc&) {
    // Without the lock, then: two may compile the same.
  }
  return lock;
}

}  // namespace vyre::pipeline
