// SPDX-License-Identifier: Apache-2.0
// What the tests of the cache share: directories, keys, payloads, raw files.
#pragma once

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/cache_entry.hpp"
#include "pipeline/files.hpp"
#include "vyre/pipeline/disk_cache.hpp"

namespace vyre::pipeline::test {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

// A directory of its own, 0700, gone at the end of the test. In memory where it can be, because
// thousands of fsync() take minutes on some disks.
class Folder {
 public:
  enum class Where : uint8_t { Memory, Disk };
  explicit Folder(Where where = Where::Memory) {
    const bool memory = where == Where::Memory && ::access("/dev/shm", W_OK) == 0;
    std::string name = std::string(memory ? "/dev/shm" : "/tmp") + "/vyre_cache_test.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    root_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(root_, ignored))
      if (entry.is_directory(ignored) && !entry.is_symlink(ignored))
        fs::permissions(entry.path(), fs::perms::owner_all, ignored);
    fs::remove_all(root_, ignored);
  }
  [[nodiscard]] fs::path path(std::string_view name = "cache") const { return root_ / name; }

 private:
  fs::path root_;
};

inline Digest digest_of_text(std::string_view text) {
  return digest_of(std::as_bytes(std::span(text)));
}

inline CacheKey key_of(uint64_t number) {
  return {digest_of_text("program " + std::to_string(number)), digest_of_text("policy"),
          digest_of_text("runtime")};
}

// Bytes that follow from the number.
inline Bytes payload_of(uint64_t number, size_t size) {
  std::mt19937_64 random(number);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xFF);
  return bytes;
}

inline Bytes read_raw(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

inline void write_raw(const fs::path& path, std::span<const std::byte> bytes, mode_t mode = 0600) {
  fs::remove(path);
  const files::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const ssize_t written = ::write(file.value(), bytes.data(), bytes.size());
  if (written != static_cast<ssize_t>(bytes.size()) || ::fchmod(file.value(), mode) != 0)
    throw std::runtime_error("cannot write " + path.string());
}

// A cache and its warnings.
struct Opened {
  explicit Opened(DiskCacheOptions options)
      : cache(DiskCache::open((
            options.warn = [this](std::string_view text) { warnings.emplace_back(text); },
            std::move(options)))) {}
  explicit Opened(const fs::path& directory) : Opened(DiskCacheOptions{.directory = directory}) {}
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  std::vector<std::string> warnings;
  DiskCache cache;
};

inline size_t open_descriptors() {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

inline std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.push_back(entry.path().filename());
  return names;
}

// Active as long as it lives.
class ScopedFaults : public files::FaultPoint {
 public:
  ScopedFaults() { files::set_fault_point(this); }
  ScopedFaults(const ScopedFaults&) = delete;
  ScopedFaults& operator=(const ScopedFaults&) = delete;
  ~ScopedFaults() override { files::set_fault_point(nullptr); }
};

// Fails call number `at` (and, if `from_then_on`, all after it).
class FailAt final : public ScopedFaults {
 public:
  FailAt(int at, int error, bool from_then_on = false)
      : at_(at), error_(error), from_then_on_(from_then_on) {}
  int fail(files::Call) override {
    const int number = calls_++;
    return number == at_ || (from_then_on_ && number > at_) ? error_ : 0;
  }
  [[nodiscard]] bool reached() const { return calls_ > at_; }

 private:
  std::atomic<int> calls_ = 0;
  int at_;
  int error_;
  bool from_then_on_;
};

// Fails call number `at` and one soon after it.
class FailTwice final : public ScopedFaults {
 public:
  FailTwice(int at, int distance, int error) : at_(at), distance_(distance), error_(error) {}
  int fail(files::Call) override {
    const int number = calls_++;
    return number == at_ || number == at_ + distance_ ? error_ : 0;
  }
  [[nodiscard]] bool reached() const { return calls_ > at_; }

 private:
  std::atomic<int> calls_ = 0;
  int at_;
  int distance_;
  int error_;
};

// Fails every call of one kind.
class FailAll final : public ScopedFaults {
 public:
  FailAll(files::Call call, int error) : call_(call), error_(error) {}
  int fail(files::Call call) override { return call == call_ ? error_ : 0; }

 private:
  files::Call call_;
  int error_;
};

}  // namespace vyre::pipeline::test
