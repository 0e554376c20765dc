// SPDX-License-Identifier: Apache-2.0
#include "pipeline/cache_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include "base/check.hpp"
#include "base/stop.hpp"

namespace vyre::pipeline {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kFixDirectory = "name a directory of your own with VYRE_CACHE_DIR";
constexpr std::chrono::hours kTempLife{1};  // where files cannot be locked
constexpr milliseconds kSecretWait{2000};
constexpr int kMaxTries = 8;

CacheDirectory off(const fs::path& path, std::string_view reason, std::string_view fix) {
  CacheDirectory result;
  result.reason = fmt::format("{} {}. Fix: {}", path.string(), reason, fix);
  return result;
}

CacheDirectory off(const fs::path& path, std::string_view what, int error) {
  return off(path, fmt::format("{}: {}", what, std::strerror(error)), kFixDirectory);
}

// Without a slash at the end, which would lead through a symbolic link.
fs::path plain(const fs::path& path) {
  fs::path result = path.lexically_normal();
  return result.has_filename() || !result.has_relative_path() ? result : result.parent_path();
}

int make_with_parents(const fs::path& path) {
  const int error = files::make_directory(path.string(), 0700);
  if (error != ENOENT || !path.has_parent_path() || path.parent_path() == path)
    return error == EEXIST ? 0 : error;
  if (const int above = make_with_parents(path.parent_path()); above != 0) return above;
  const int again = files::make_directory(path.string(), 0700);
  return again == EEXIST ? 0 : again;
}

// True if every name is one of ours, as in a new directory.
bool is_a_cache(int directory) {
  const auto names = files::list(directory);
  return names && std::ranges::all_of(*names, [](const std::string& name) {
           return kind_of(name) != FileKind::Other;
         });
}

enum class SecretState : uint8_t { Good, Absent, Bad, Unreadable };

SecretState read_secret(int directory, Secret& secret, int& error) {
  const auto file = files::open_at(directory, std::string(kSecretName), O_RDONLY | O_NONBLOCK);
  if (!file) {
    error = file.error();
    if (error == ENOENT) return SecretState::Absent;
    return error == ELOOP || error == ENXIO ? SecretState::Bad : SecretState::Unreadable;
  }
  const auto status = files::status_of(file->value());
  if (!status) {
    error = status.error();
    return SecretState::Unreadable;
  }
  if (!S_ISREG(status->st_mode) || status->st_uid != ::geteuid() || (status->st_mode & 077) != 0 ||
      status->st_size != static_cast<off_t>(secret.size()))
    return SecretState::Bad;
  const auto got = files::read_all(file->value(), std::as_writable_bytes(std::span(secret)));
  if (!got) {
    error = got.error();
    return SecretState::Unreadable;
  }
  return *got == secret.size() ? SecretState::Good : SecretState::Bad;
}

// 0 or errno. EEXIST if another process was quicker.
int write_secret(int directory) {
  auto temp = make_temp(directory);
  if (!temp) return temp.error();
  Secret secret{};
  randombytes_buf(secret.data(), secret.size());
  int error = files::write_all(temp->file.value(), std::as_bytes(std::span(secret)));
  if (error == 0) error = files::sync(temp->file.value());
  if (error != 0) {
    discard(directory, *temp);
    return error;
  }
  error = publish(directory, *temp, std::string(kSecretName), false);
  if (error == 0) (void)files::sync(directory);
  return error;
}

// A bad key file is replaced by one process at a time, so that all end up with the same one.
int make_secret(int directory, Secret& secret) {
  const auto lock = lock_file(directory, std::string(kSecretLockName), kSecretWait);
  int error = 0;
  for (int i = 0; i < kMaxTries; ++i) {
    switch (read_secret(directory, secret, error)) {
      case SecretState::Good:
        if (lock) (void)files::remove(directory, std::string(kSecretLockName));
        return 0;
      case SecretState::Unreadable: return error;
      case SecretState::Bad:
        if (!lock) return lock.error();
        error = files::remove(directory, std::string(kSecretName));
        if (error != 0 && error != ENOENT) return error;
        [[fallthrough]];
      case SecretState::Absent:
        error = write_secret(directory);
        if (error != 0 && error != EEXIST) return error;
    }
  }
  return error != 0 ? error : EAGAIN;
}

void load_secret(const DiskCacheOptions& options, const fs::path& path, CacheDirectory& result) {
  const int directory = result.descriptor.value();
  Secret secret{};
  int error = 0;
  const SecretState found = read_secret(directory, secret, error);
  if (found == SecretState::Good) {
    result.secret = secret;
    return;
  }
  if (found == SecretState::Absent && !options.create) return;
  if (found == SecretState::Unreadable) {
    result = off(path, "has a key file that cannot be read", error);
    return;
  }
  if (result.state == CacheState::ReadOnly) {
    result = off(path, "cannot be written and has no key file that can be trusted", kFixDirectory);
    return;
  }
  error = make_secret(directory, secret);
  if (error != 0) {
    result = off(path, "cannot keep a key file", error);
  } else {
    result.secret = secret;
  }
}

}  // namespace

CacheDirectory open_directory(const DiskCacheOptions& options) {
  VYRE_CHECK(sodium_init() >= 0);
  if (options.directory.empty()) {
    CacheDirectory result;
    result.reason = "it is switched off, or there is no home directory. Fix: set VYRE_CACHE_DIR";
    result.quiet = true;
    return result;
  }
  const fs::path path = plain(options.directory);
  if (options.create) {
    if (const int error = make_with_parents(path); error != 0 && error != EROFS)
      return off(path, "cannot be made", error);
  }
  auto opened = files::open_at(AT_FDCWD, path.string(), O_RDONLY | O_DIRECTORY);
  if (!opened) {
    const int error = opened.error();
    // The system says ENOTDIR of a link, because the link itself is none.
    const auto itself = files::status_at(AT_FDCWD, path.string());
    if (itself && S_ISLNK(itself->st_mode))
      return off(path, "is a symbolic link", "name the directory that it leads to");
    CacheDirectory result = off(path, "cannot be opened", error);
    result.quiet = !options.create && error == ENOENT;
    return result;
  }
  const auto status = files::status_of(opened->value());
  if (!status) return off(path, "cannot be opened", status.error());
  const unsigned mode = status->st_mode & 07777;
  if (status->st_uid != ::geteuid())
    return off(path, fmt::format("belongs to user {}, not to {}", status->st_uid, ::geteuid()),
               kFixDirectory);
  if ((mode & 022) != 0)
    return off(path, fmt::format("can be written by others (mode {:04o})", mode),
               "look at what is in it, then `chmod 700` it");
  CacheDirectory result;
  result.descriptor = std::move(*opened);
  const int directory = result.descriptor.value();
  // The mode counts for root too, who could write anyway.
  result.state =
      (mode & 0200) != 0 && files::is_writable(directory) ? CacheState::On : CacheState::ReadOnly;
  if ((mode & 055) != 0 && result.state == CacheState::On && options.create) {
    if (!is_a_cache(directory))
      return off(path, fmt::format("is open to others (mode {:04o}) and holds other files", mode),
                 kFixDirectory);
    if (const int error = files::change_mode(directory, 0700); error != 0)
      return off(path, "cannot be kept from others", error);
  }
  if (result.state == CacheState::ReadOnly)
    result.reason = fmt::format("{} cannot be written. Fix: `chmod 700` it, or {}", path.string(),
                                kFixDirectory);
  load_secret(options, path, result);
  return result;
}

namespace {

// For link() and rename() of a file that another process may find: locked as its maker promises.
int link_and_rename(int directory, const TempFile& temp, const std::string& name) {
  const std::string between = temp_name();
  (void)files::try_lock(temp.file.value());
  int error = files::link_unnamed(temp.file.value(), directory, between);
  if (error != 0) return error;
  error = files::rename(directory, between, name);
  if (error != 0) (void)files::remove(directory, between);
  return error;
}

}  // namespace

int publish(int directory, const TempFile& temp, const std::string& name, bool replace) {
  if (!temp.name.empty()) {
    const int error = replace ? files::rename(directory, temp.name, name)
                              : files::rename_new(directory, temp.name, name);
    if (error != 0) discard(directory, temp);
    return error;
  }
  const int error = files::link_unnamed(temp.file.value(), directory, name);
  return error == EEXIST && replace ? link_and_rename(directory, temp, name) : error;
}

void discard(int directory, const TempFile& temp) {
  if (!temp.name.empty()) (void)files::remove(directory, temp.name);
}

files::Io<TempFile> make_temp(int directory) {
  if (auto unnamed = files::open_unnamed(directory, 0600)) {
    if (const int failed = files::change_mode(unnamed->value(), 0600); failed != 0)
      return std::unexpected(failed);
    return TempFile{{}, std::move(*unnamed)};
  } else if (unnamed.error() != EOPNOTSUPP) {
    return std::unexpected(unnamed.error());
  }
  int error = EAGAIN;
  for (int i = 0; i < kMaxTries; ++i) {
    TempFile temp{temp_name(), {}};
    auto file = files::open_at(directory, temp.name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!file) {
      error = file.error();
      if (error == EEXIST) continue;
      return std::unexpected(error);
    }
    temp.file = std::move(*file);
    // A clean-up may have come before the lock: then there is no such file any more.
    const int locked = files::try_lock(temp.file.value());
    const auto named = files::status_at(directory, temp.name);
    if (locked == EWOULDBLOCK || (!named && named.error() == ENOENT)) continue;
    error = named ? files::change_mode(temp.file.value(), 0600) : named.error();
    if (error == 0) return temp;
    (void)files::remove(directory, temp.name);
    return std::unexpected(error);
  }
  return std::unexpected(error);
}

int remove_abandoned(int directory, const std::string& name) {
  const auto file = files::open_at(directory, name, O_RDWR | O_NONBLOCK);
  if (!file) {
    if (file.error() == ENOENT) return 0;
    // A link, a directory: nothing that a process holds a lock of.
    return file.error() == ELOOP || file.error() == ENXIO ? files::remove(directory, name)
                                                          : file.error();
  }
  const int locked = files::try_lock(file->value());
  if (locked == EWOULDBLOCK) return locked;
  const auto status = files::status_of(file->value());
  if (!status) return status.error();
  if (locked != 0) {
    const auto age = std::chrono::system_clock::now().time_since_epoch() -
                     std::chrono::seconds(status->st_mtim.tv_sec);
    if (age < kTempLife) return EWOULDBLOCK;
  }
  const auto named = files::status_at(directory, name);
  if (!named) return named.error() == ENOENT ? 0 : named.error();
  // Another process's by now.
  if (!files::same_file(*named, *status)) return EWOULDBLOCK;
  const int error = files::remove(directory, name);
  return error == ENOENT ? 0 : error;
}

files::Io<files::Descriptor> lock_file(int directory, const std::string& name, milliseconds wait) {
  const auto deadline = steady_clock::now() + wait;
  milliseconds pause{1};
  for (;;) {
    auto file = files::open_at(directory, name, O_RDWR | O_CREAT | O_NONBLOCK, 0600);
    if (!file) {
      if (file.error() != ELOOP) return std::unexpected(file.error());
      if (const int error = files::remove(directory, name); error != 0)
        return std::unexpected(error);
      if (steady_clock::now() >= deadline) return std::unexpected(EWOULDBLOCK);
      continue;
    }
    int error = files::try_lock(file->value());
    while (error == EWOULDBLOCK && steady_clock::now() < deadline) {
      poll_stop_now();
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, milliseconds(16));
      error = files::try_lock(file->value());
    }
    if (error != 0) return std::unexpected(error);
    // The one before removes the file when it is done, and the next may have made a new one.
    const auto mine = files::status_of(file->value());
    const auto named = files::status_at(directory, name);
    if (!mine) return std::unexpected(mine.error());
    if (named && files::same_file(*mine, *named)) return std::move(*file);
    if (!named && named.error() != ENOENT) return std::unexpected(named.error());
    if (steady_clock::now() >= deadline) return std::unexpected(EWOULDBLOCK);
  }
}

}  // namespace vyre::pipeline
