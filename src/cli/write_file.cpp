// SPDX-License-Identifier: Apache-2.0
#include "cli/write_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vyre::cli {
namespace {

// 0, or errno.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

int write_directly(const std::string& path, std::string_view content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  int error = write_all(descriptor, content);
  if (::close(descriptor) != 0 && error == 0) error = errno;
  return error;
}

mode_t default_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

// `old` is null for a new file.
int write_by_rename(const std::string& path, std::string_view content, const struct stat* old) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  // Cut, so that the longest file name still leaves room for what is added.
  std::string temporary = path.substr(0, name) + "." + path.substr(name, 200) + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return errno;

  int error = write_all(descriptor, content);
  // Only root may give files away; else the file belongs to who ran the command, as with an editor.
  if (old != nullptr) (void)!::fchown(descriptor, old->st_uid, old->st_gid);
  const mode_t mode = old != nullptr ? old->st_mode & 07777 : default_mode();
  if (error == 0 && ::fchmod(descriptor, mode) != 0) error = errno;
  if (error == 0 && ::fsync(descriptor) != 0) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(temporary.c_str());
  return error;
}

int write_somehow(const std::string& path, std::string_view content) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) return errno;
    // A link to nothing is refused, because renaming onto it would replace the link.
    if (::lstat(path.c_str(), &status) == 0) return ENOENT;
    return write_by_rename(path, content, nullptr);
  }
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return write_directly(path, content);
  if (::access(path.c_str(), W_OK) != 0) return errno;
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return errno;
  const std::string target = real;
  std::free(real);
  return write_by_rename(target, content, &status);
}

}  // namespace

std::optional<Failure> write_file(const std::string& path, std::string_view content) {
  const int error = write_somehow(path, content);
  if (error == 0) return std::nullopt;
  return Failure{kExitInvalidArgument,
                 fmt::format("cannot write {}: {}", path, std::strerror(error)),
                 "name a place that can be written"};
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;  // a file that does not exist is not the same
  return std::filesystem::equivalent(a, b, ignored);
}

}  // namespace vyre::cli
