// SPDX-License-Identifier: Apache-2.0
#include "pipeline/files.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <thread>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace vyre::pipeline::files {
namespace {

std::atomic<FaultPoint*> fault_point = nullptr;

int injected(Call call) {
  FaultPoint* point = fault_point.load(std::memory_order_acquire);
  return point != nullptr ? point->fail(call) : 0;
}

constexpr int kMaxInterrupts = 1000;  // then a signal storm counts as a failure
constexpr int kMaxBusy = 4;

// `action` gives -1 and sets errno on failure, like a system call. 0 or errno.
template <class Action>
int attempt(Call call, Action action) {
  for (int interrupts = 0, busy = 0;;) {
    int error = injected(call);
    if (error == 0) {
      if (action() >= 0) return 0;
      error = errno;
    }
    if (error == EINTR && ++interrupts < kMaxInterrupts) continue;
    if ((error == EBUSY || error == ESTALE) && ++busy < kMaxBusy) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1 << busy));
      continue;
    }
    return error;
  }
}

constexpr size_t kChunk = size_t{1} << 20;

// While it lives, a write of this thread beyond RLIMIT_FSIZE does not end the process. The signal
// goes to the thread that writes, so it is blocked there and taken away again; what the process
// does with SIGXFSZ, and a signal that was pending before, stay as they are.
class WithoutFileSizeSignal {
 public:
  WithoutFileSizeSignal() {
    sigset_t pending;
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    blocked_ = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 0 &&
               ::pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0;
  }
  WithoutFileSizeSignal(const WithoutFileSizeSignal&) = delete;
  WithoutFileSizeSignal& operator=(const WithoutFileSizeSignal&) = delete;
  ~WithoutFileSizeSignal() {
    if (!blocked_) return;
    const timespec at_once{};
    while (raised_ && ::sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  void note(int error) { raised_ = raised_ || error == EFBIG; }

 private:
  sigset_t signal_{};
  sigset_t before_{};
  bool blocked_ = false;
  bool raised_ = false;
};

// The name by which an open file can be linked.
std::string path_of(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

}  // namespace

void set_fault_point(FaultPoint* point) {
  fault_point.store(point, std::memory_order_release);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    (void)close();
    value_ = other.release();
  }
  return *this;
}

int Descriptor::release() {
  return std::exchange(value_, -1);
}

int Descriptor::close() {
  if (value_ < 0) return 0;
  // Not made again: the descriptor is gone even after EINTR.
  const int error = ::close(release()) == 0 ? 0 : errno;
  const int planted = injected(Call::Close);
  return error != 0 ? error : planted;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

Io<Descriptor> open_at(int directory, const std::string& name, int flags, mode_t mode) {
  int descriptor = -1;
  const int error = attempt(Call::Open, [&] {
    return descriptor =
               ::openat(directory, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, mode);
  });
  if (error != 0) return std::unexpected(error);
  return Descriptor(descriptor);
}

Io<Descriptor> open_unnamed(int directory, mode_t mode) {
  int descriptor = -1;
  int error = attempt(Call::OpenUnnamed, [&] {
    return descriptor = ::openat(directory, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
  });
  // Kernels and file systems that do not know it take it for the directory, or for nonsense.
  if (error == EISDIR || error == ENOENT || error == EINVAL) error = EOPNOTSUPP;
  if (error != 0) return std::unexpected(error);
  Descriptor file(descriptor);
  if (::access(path_of(descriptor).c_str(), F_OK) != 0) return std::unexpected(EOPNOTSUPP);
  return file;
}

int make_directory(const std::string& path, mode_t mode) {
  return attempt(Call::MakeDirectory, [&] { return ::mkdir(path.c_str(), mode); });
}

Io<struct stat> status_of(int descriptor) {
  struct stat status{};
  const int error = attempt(Call::Status, [&] { return ::fstat(descriptor, &status); });
  if (error != 0) return std::unexpected(error);
  return status;
}

Io<struct stat> status_at(int directory, const std::string& name) {
  struct stat status{};
  const int error = attempt(Call::Status, [&] {
    return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
  });
  if (error != 0) return std::unexpected(error);
  return status;
}

bool is_writable(int directory) {
  return attempt(Call::Access, [&] { return ::faccessat(directory, ".", W_OK, AT_EACCESS); }) == 0;
}

int change_mode(int descriptor, mode_t mode) {
  return attempt(Call::ChangeMode, [&] { return ::fchmod(descriptor, mode); });
}

Io<size_t> read_all(int descriptor, std::span<std::byte> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = 0;
    const int error = attempt(Call::Read, [&] {
      return got = ::read(descriptor, bytes.data() + done, std::min(bytes.size() - done, kChunk));
    });
    if (error != 0) return std::unexpected(error);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

int write_all(int descriptor, std::span<const std::byte> bytes) {
  WithoutFileSizeSignal limit;
  while (!bytes.empty()) {
    ssize_t written = 0;
    const int error = attempt(Call::Write, [&] {
      return written = ::write(descriptor, bytes.data(), std::min(bytes.size(), kChunk));
    });
    limit.note(error);
    if (error != 0) return error;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

int sync(int descriptor) {
  return attempt(Call::Sync, [&] { return ::fsync(descriptor); });
}

int rename(int directory, const std::string& from, const std::string& to) {
  return attempt(Call::Rename,
                 [&] { return ::renameat(directory, from.c_str(), directory, to.c_str()); });
}

int rename_new(int directory, const std::string& from, const std::string& to) {
  const int error = attempt(Call::Rename, [&] {
    return ::renameat2(directory, from.c_str(), directory, to.c_str(), RENAME_NOREPLACE);
  });
  if (error != EINVAL && error != ENOSYS) return error;
  // File systems without it, network ones above all, have hard links.
  const int linked = attempt(
      Call::Rename, [&] { return ::linkat(directory, from.c_str(), directory, to.c_str(), 0); });
  if (linked == 0) (void)remove(directory, from);  // a name too many does no harm
  return linked;
}

int link_unnamed(int descriptor, int directory, const std::string& name) {
  return attempt(Call::Link, [&] {
    return ::linkat(AT_FDCWD, path_of(descriptor).c_str(), directory, name.c_str(),
                    AT_SYMLINK_FOLLOW);
  });
}

int remove(int directory, const std::string& name) {
  return attempt(Call::Remove, [&] { return ::unlinkat(directory, name.c_str(), 0); });
}

int try_lock(int descriptor) {
  return attempt(Call::Lock, [&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); });
}

int touch(int descriptor) {
  return attempt(Call::Touch, [&] { return ::futimens(descriptor, nullptr); });
}

Io<std::vector<std::string>> list(int directory) {
  // A descriptor of its own: the place in the listing belongs to it.
  Io<Descriptor> again = open_at(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!again) return std::unexpected(again.error());
  DIR* stream = nullptr;
  const int error = attempt(Call::List, [&] {
    stream = ::fdopendir(again->value());
    return stream != nullptr ? 0 : -1;
  });
  if (error != 0) return std::unexpected(error);
  again->release();
  std::vector<std::string> names;
  for (;;) {
    const dirent* entry = nullptr;
    const int failed = attempt(Call::List, [&] {
      errno = 0;
      entry = ::readdir(stream);
      return entry != nullptr || errno == 0 ? 0 : -1;
    });
    if (failed != 0 || entry == nullptr) {
      ::closedir(stream);
      if (failed != 0) return std::unexpected(failed);
      return names;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

}  // namespace vyre::pipeline::files
