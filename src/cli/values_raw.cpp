// SPDX-License-Identifier: Apache-2.0
// Files and stdin as they are.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/descriptor.hpp"
#include "cli/values_forms.hpp"

namespace vyre::cli {
namespace {

std::unexpected<Failure> cannot_read(const std::string& name, int error) {
  return bad_value(fmt::format("cannot read {}: {}", name, std::strerror(error)),
                   "name a file that exists and can be read");
}

}  // namespace

std::expected<Content, Failure> read_content(const std::string& path, uint64_t limit,
                                             const ReadFor& reader) {
  const bool from_stdin = path == "-";
  const std::string name = from_stdin ? "stdin" : path;
  const Descriptor file(from_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0) return cannot_read(name, errno);
  struct stat status{};
  if (::fstat(file.value(), &status) != 0) return cannot_read(name, errno);
  if (S_ISDIR(status.st_mode)) return cannot_read(name, EISDIR);

  Content content;
  if (S_ISREG(status.st_mode) && !from_stdin) {
    content.size = static_cast<uint64_t>(status.st_size);
    if (*content.size > limit) {
      content.longer = true;
      return content;
    }
  }
  // One byte more than is expected distinguishes the end from a file that goes on. Files whose size
  // is not known grow by doubling: nothing is allocated for data that does not come.
  constexpr uint64_t kFirst = uint64_t{64} << 10;
  ValueBytes& bytes = content.bytes;
  uint64_t have = 0;
  uint64_t room = content.size ? *content.size + 1 : kFirst;
  while (have <= limit) {
    if (have == bytes.size()) {
      const uint64_t wanted = std::min(std::max(room, have * 2), limit + 1);
      // While it is moved, what is there already is there twice.
      if (auto failure = check_room(reader.spec, wanted)) return std::unexpected(*failure);
      bytes.resize(wanted);
    }
    if (content.size)
      if (auto failure = check_stop(reader.spec, reader.context)) return std::unexpected(*failure);
    const ssize_t got =
        ::read(file.value(), bytes.data() + have, std::min(bytes.size() - have, kBytesAtOnce));
    if (got < 0 && errno != EINTR) return cannot_read(name, errno);
    if (got == 0) break;
    have += static_cast<uint64_t>(std::max<ssize_t>(got, 0));
  }
  content.longer = have > limit;
  bytes.resize(content.longer ? 0 : have);
  return content;
}

ValueResult from_raw(const ValueSpec& spec, const std::string& path, ValueBytes file) {
  const uint64_t size = ir::bytes_of(spec.element);
  if (file.size() % size != 0) {
    return bad_value(fmt::format("{} has {} bytes, which is no multiple of {}, the size of {}",
                                 path, file.size(), size, ir::name_of(spec.element)),
                     fmt::format("give whole elements of {} bytes each", size));
  }
  if (auto failure = check_count(spec, file.size() / size, path))
    return std::unexpected(std::move(*failure));
  return file;
}

}  // namespace vyre::cli
