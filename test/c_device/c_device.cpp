// SPDX-License-Identifier: Apache-2.0
#include "c_device/c_device.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "vyre/backend/cpu.hpp"
#include "vyre/device/buffer.hpp"

namespace vyre::test {

using namespace device;

namespace {

// Code that is loaded as the cpu's objects are, and computes what the language says: products and
// sums are not fused, and memory that is known by two types is read as it is.
constexpr const char* kFlags =
    "-std=c17 -O1 -ffp-contract=off -fno-strict-aliasing -fno-math-errno -fPIC "
    "-fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none";

std::string compiler() {
  const char* const named = std::getenv("VYRE_CC");
  return named != nullptr && *named != '\0' ? named : "cc";
}

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "vyre_c_XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::filesystem::path file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

Result<std::vector<std::byte>> object_of(const std::vector<std::byte>& code) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("code.c"), std::ios::binary)
      .write(reinterpret_cast<const char*>(code.data()), static_cast<std::streamsize>(code.size()));
  const std::string command =
      fmt::format("{} {} -c -o {} {} > {} 2>&1", compiler(), kFlags, folder.file("code.o").string(),
                  folder.file("code.c").string(), folder.file("log").string());
  const bool compiled = std::system(command.c_str()) == 0;
  const std::string object = compiled ? bytes_of_file(folder.file("code.o")) : std::string();
  if (object.empty())
    return fail(ErrorCode::CompileFailed,
                fmt::format("`{}` refuses the printed code: {}. Fix: report this as a bug of Vyre",
                            compiler(), bytes_of_file(folder.file("log"))));
  const auto* const first = reinterpret_cast<const std::byte*>(object.data());
  return std::vector<std::byte>(first, first + object.size());
}

// All but the format of the code is the cpu's part.
class C : public Backend {
 public:
  explicit C(std::shared_ptr<Backend> cores) : Backend(c_info()), cores_(std::move(cores)) {}

 private:
  Result<Allocated> do_allocate(const Allocation& wanted) override {
    VYRE_TRY_ASSIGN(auto buffer, cores_->allocate(wanted));
    const Allocated allocated{.handle = buffer.handle()};
    const std::scoped_lock lock(mutex_);
    buffers_.emplace(allocated.handle.value, std::move(buffer));
    return allocated;
  }
  void do_release(Handle handle) noexcept override {
    const std::scoped_lock lock(mutex_);
    if (buffers_.erase(handle.value) == 0) loaded_.erase(handle.value);
  }
  Result<void> do_transfer(std::span<const Transfer> transfers) override {
    return cores_->transfer(transfers);
  }
  Result<Loaded> do_load(const Artifact& artifact) override {
    Artifact object = artifact;
    object.format = Format::Object;
    VYRE_TRY_ASSIGN(object.code, object_of(artifact.code));
    VYRE_TRY_ASSIGN(auto code, cores_->load(object));
    Loaded loaded{.handle = code.handle(), .max_resident_groups = {}, .native = {}};
    for (uint32_t i = 0; i < artifact.entries.size(); ++i)
      loaded.max_resident_groups.push_back(code.max_resident_groups(i));
    const std::scoped_lock lock(mutex_);
    loaded_.emplace(loaded.handle.value, std::move(code));
    return loaded;
  }
  Result<Ticket> do_submit(const Submission& submission) override {
    return cores_->submit(submission);
  }
  Result<Completion> do_wait(Ticket ticket, Deadline deadline) override {
    return cores_->wait(ticket, deadline);
  }
  Result<void> do_recover() override {
    const std::scoped_lock lock(mutex_);
    buffers_.clear();
    loaded_.clear();
    return cores_->recover();
  }

  std::shared_ptr<Backend> cores_;
  std::mutex mutex_;
  std::map<uint64_t, Buffer> buffers_;         // by handle
  std::map<uint64_t, LoadedArtifact> loaded_;  // likewise
};

}  // namespace

BackendInfo c_info() {
  BackendInfo info = backend::cpu_info({.workers = 1});
  info.id = "c";
  info.capabilities.formats = {Format::C};
  info.signature = fmt::format("{} {}", compiler(), kFlags);
  return info;
}

const std::string& why_no_c() {
  static const std::string kWhy = [] {
    if (const char* const why = backend::why_no_cpu(); *why != '\0') return std::string(why);
    const std::string command = fmt::format("{} --version > /dev/null 2>&1", compiler());
    return std::system(command.c_str()) == 0
               ? std::string()
               : fmt::format("there is no C compiler `{}`; VYRE_CC names another one", compiler());
  }();
  return kWhy;
}

Result<std::shared_ptr<Backend>> open_c() {
  if (!why_no_c().empty()) return fail(ErrorCode::Unavailable, why_no_c());
  VYRE_TRY_ASSIGN(auto cores, backend::open_cpu({.workers = 1}));
  return std::make_shared<C>(std::move(cores));
}

}  // namespace vyre::test
