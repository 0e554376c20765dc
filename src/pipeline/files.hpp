// SPDX-License-Identifier: Apache-2.0
// The system calls of the disk cache. All of them go through one fault point, so that tests can
// make any single one fail. Errors are errno values; a call interrupted by a signal is made again,
// and so is, a few times, one that a network file system answers with EBUSY or ESTALE. A write
// beyond the file size limit of the process is EFBIG and no SIGXFSZ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

namespace vyre::pipeline::files {

enum class Call : uint8_t {
  Open,
  OpenUnnamed,
  MakeDirectory,
  Status,
  Access,
  ChangeMode,
  Read,
  Write,
  Sync,
  Close,
  Rename,
  Link,
  Remove,
  Lock,
  Touch,
  List,
};

// Called before every call; what it returns, if not 0, is the errno the call then ends with. Used
// from all threads at once.
class FaultPoint {
 public:
  virtual ~FaultPoint() = default;
  virtual int fail(Call call) = 0;
};
// For tests; null (the start) for none. The point must outlive its use.
void set_fault_point(FaultPoint* point);

template <class T>
using Io = std::expected<T, int>;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { (void)close(); }

  [[nodiscard]] int value() const { return value_; }
  [[nodiscard]] bool valid() const { return value_ >= 0; }
  int release();
  // 0 or errno; it is closed either way. For files just written, whose errors may come this late.
  int close();

 private:
  int value_ = -1;
};

// Two statuses are of one file.
bool same_file(const struct stat& a, const struct stat& b);

// Always with O_CLOEXEC and O_NOFOLLOW; `directory` may be AT_FDCWD.
Io<Descriptor> open_at(int directory, const std::string& name, int flags, mode_t mode = 0);
// A file for writing without a name, which is gone with its last descriptor, however the process
// ends. EOPNOTSUPP where the file system has none, or where it could not be given a name later.
Io<Descriptor> open_unnamed(int directory, mode_t mode);
int make_directory(const std::string& path, mode_t mode);
Io<struct stat> status_of(int descriptor);
Io<struct stat> status_at(int directory, const std::string& name);  // of a link itself
bool is_writable(int directory);
int change_mode(int descriptor, mode_t mode);
// As many bytes as there are, at most those that `bytes` has room for.
Io<size_t> read_all(int descriptor, std::span<std::byte> bytes);
int write_all(int descriptor, std::span<const std::byte> bytes);
int sync(int descriptor);
int rename(int directory, const std::string& from, const std::string& to);
// Fails with EEXIST if there is a file of that name.
int rename_new(int directory, const std::string& from, const std::string& to);
// Gives an unnamed file a name; EEXIST if that is taken.
int link_unnamed(int descriptor, int directory, const std::string& name);
int remove(int directory, const std::string& name);
// Takes the lock of an open file without waiting: EWOULDBLOCK if someone else has it.
int try_lock(int descriptor);
int touch(int descriptor);
// The names in a directory, without "." and "..", in no order.
Io<std::vector<std::string>> list(int directory);

}  // namespace vyre::pipeline::files
