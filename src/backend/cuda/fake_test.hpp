// SPDX-License-Identifier: Apache-2.0
// The driver of the tests as a device, with code loaded on it.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/cuda/driver_api.hpp"
#include "backend/cuda/testdata/fake_driver.hpp"
#include "device/gpu_kernel.hpp"
#include "vyre/backend/cuda.hpp"
#include "vyre/device/buffer.hpp"

namespace vyre::backend {

using Words = std::vector<uint32_t>;

inline cuda::FakeCuda& fake_cuda() {
  static cuda::FakeCuda& kFake = [&]() -> cuda::FakeCuda& {
    void* const library = dlopen(VYRE_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::abort();
    using Get = cuda::FakeCuda* (*)();
    return *reinterpret_cast<Get>(dlsym(library, "vyre_fake_cuda"))();
  }();
  return kFake;
}

// The library that find_driver() loads, as long as this lives.
class DriverFile {
 public:
  explicit DriverFile(const char* path) { setenv(cuda::kDriverVariable, path, 1); }
  DriverFile(const DriverFile&) = delete;
  DriverFile& operator=(const DriverFile&) = delete;
  ~DriverFile() { unsetenv(cuda::kDriverVariable); }
};

// Real PTX, whose kernels do nothing: the functions of the fake driver do it.
inline std::string ptx_of(const std::vector<uint32_t>& arguments_by_entry) {
  std::string text = ".version 6.3\n.target sm_75\n.address_size 64\n";
  for (size_t i = 0; i < arguments_by_entry.size(); ++i)
    text += fmt::format(
        ".visible .entry vyre_entry_{}(.param .align 8 .b8 p[{}]) {{ ret; }}\n", i,
        sizeof(device::GpuArgs) + arguments_by_entry[i] * sizeof(device::KernelBinding));
  return text;
}

inline std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// What a kernel is launched with.
struct Parameters {
  device::GpuArgs args;
  std::vector<device::KernelBinding> bindings;

  explicit Parameters(const cuda::FakeLaunch& launch) {
    std::memcpy(&args, launch.parameters.data(), sizeof(args));
    bindings.resize((launch.parameters.size() - sizeof(args)) / sizeof(device::KernelBinding));
    std::memcpy(bindings.data(), launch.parameters.data() + sizeof(args),
                bindings.size() * sizeof(device::KernelBinding));
  }
  [[nodiscard]] device::GpuControl& control() const {
    return *reinterpret_cast<device::GpuControl*>(args.control);
  }
  [[nodiscard]] uint32_t* words(size_t argument) const {
    return reinterpret_cast<uint32_t*>(bindings[argument].address);
  }
  [[nodiscard]] bool cancelled() const { return std::atomic_ref(control().cancel).load() != 0; }
};

enum FakeKernel : uint32_t { kOne, kTwo, kBarrier, kShared, kKernelCount };

// Entries of one buffer of words, two, one with barriers inside, and shared memory.
inline device::Artifact fake_artifact() {
  device::Artifact artifact;
  artifact.format = device::Format::Ptx;
  artifact.code = bytes_of(ptx_of({1, 2, 1, 2}));
  artifact.entries.resize(kKernelCount);
  for (uint32_t i = 0; i < kKernelCount; ++i) {
    device::Entry& entry = artifact.entries[i];
    entry.name = fmt::format("kernel {}", i);
    entry.bindings = {{.name = "a", .written = true}};
    entry.workgroup = {8, 1, 1};
    entry.threads = 8;
    entry.shared_bytes = device::kGpuSharedHeader;
  }
  artifact.entries[kTwo].bindings.push_back({.name = "b", .written = true});
  artifact.entries[kBarrier].barriers_inside = true;
  constexpr uint32_t kSharedWords = 20000;
  artifact.entries[kShared].bindings.push_back(
      {.name = "s", .count = kSharedWords, .written = true, .shared = true});
  artifact.entries[kShared].shared_bytes += 4 * kSharedWords;
  artifact.explain = [](uint32_t entry, const device::KernelStop& stop) {
    const bool loop = stop.kind == device::KernelStop::Kind::Loop;
    return Error{.code = loop ? ErrorCode::Timeout : ErrorCode::OutOfBounds,
                 .message = fmt::format("kernel {} {} site {} lane {}", entry,
                                        loop ? "in a loop" : "out of bounds", stop.site, stop.lane),
                 .context = {},
                 .at = {},
                 .diagnostics = {}};
  };
  return artifact;
}

class CudaTest : public testing::Test {
 protected:
  CudaTest() { fake_cuda().reset({}); }
  ~CudaTest() override {
    close();
    EXPECT_TRUE(fake_cuda().live() == cuda::FakeLive{});
  }
  void close() {
    buffers_.clear();
    code_ = {};
    device_.reset();
  }
  void open() {
    close();
    ::setenv("VYRE_CUDA_MOMENT_MS", "500", 0);
    auto device = open_cuda();
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
    auto loaded = device_->load(fake_artifact());
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    code_ = std::move(*loaded);
  }
  void bind(const std::vector<Words>& contents) {
    buffers_.clear();
    regions_.clear();
    for (const Words& words : contents) {
      buffers_.push_back(*device_->allocate(words.size() * 4));
      regions_.push_back(buffers_.back().whole());
    }
    for (size_t i = 0; i < contents.size(); ++i) {
      Words words = contents[i];
      const device::Transfer transfer = to_device(buffers_[i].whole(), words.data());
      ASSERT_TRUE(device_->transfer({&transfer, 1}));
    }
  }
  Words read(size_t argument) {
    Words words(buffers_[argument].bytes() / 4);
    const device::Transfer transfer = to_host(buffers_[argument].whole(), words.data());
    EXPECT_TRUE(device_->transfer({&transfer, 1}));
    return words;
  }
  static device::Transfer to_device(const device::Region& region, void* host) {
    return {.direction = device::Transfer::Direction::ToDevice,
            .device = region,
            .host = static_cast<std::byte*>(host)};
  }
  static device::Transfer to_host(const device::Region& region, void* host) {
    return {.direction = device::Transfer::Direction::ToHost,
            .device = region,
            .host = static_cast<std::byte*>(host)};
  }
  device::Launch launch(uint32_t kernel, device::Axes grid = {1, 1, 1}) {
    const size_t count = kernel == kOne || kernel == kBarrier ? 1 : 2;
    return {.pipeline = code_.handle(),
            .entry = kernel,
            .arguments = std::span(regions_).first(std::min(count, regions_.size())),
            .workgroup = {8, 1, 1},
            .grid = grid};
  }
  device::Word word(uint64_t index, size_t argument = 0) {
    return {buffers_[argument].handle(), 4 * index};
  }
  Result<device::Completion> run(const std::vector<device::Step>& steps,
                                 device::Submission submission = {}) {
    submission.steps = steps;
    const auto ticket = device_->submit(submission);
    if (!ticket) return std::unexpected(ticket.error());
    return device_->wait(*ticket);
  }
  void expect_runs(const std::vector<device::Step>& steps) {
    const auto done = run(steps);
    EXPECT_TRUE(done) << to_string(done.error());
  }
  // Of a submission that fails; "" if it does not.
  std::string failure(const std::vector<device::Step>& steps, device::Submission submission = {}) {
    const auto done = run(steps, submission);
    return done ? "" : to_string(done.error());
  }

  DriverFile file_{VYRE_FAKE_CUDA};
  std::shared_ptr<device::Backend> device_;
  device::LoadedArtifact code_;
  std::vector<device::Buffer> buffers_;
  std::vector<device::Region> regions_;
};

}  // namespace vyre::backend
