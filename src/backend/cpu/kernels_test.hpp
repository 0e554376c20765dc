// SPDX-License-Identifier: Apache-2.0
// The object code in testdata/ as artifacts, and a device that has loaded it.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "device/kernel.hpp"
#include "vyre/backend/cpu.hpp"
#include "vyre/device/buffer.hpp"

namespace vyre::backend {

using Words = std::vector<uint32_t>;

inline std::vector<std::byte> file_bytes(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_FALSE(text.empty()) << path;
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}
inline const std::vector<std::byte>& kernels_object() {
  static const auto kBytes = file_bytes(VYRE_CPU_KERNELS);
  return kBytes;
}
inline const std::vector<std::byte>& absolute_object() {
  static const auto kBytes = file_bytes(VYRE_CPU_ABSOLUTE);
  return kBytes;
}

enum KernelNumber : uint32_t {
  kCount,
  kEndless,
  kStop,
  kControl,
  kTally,
  kCalls,
  kWho,
  kStep,
  kGrid,
  kKernelCount,
};

inline device::Artifact kernels_artifact(bool whole = false) {
  device::Artifact artifact;
  artifact.format = device::Format::Object;
  artifact.code = kernels_object();
  for (uint32_t i = 0; i < kKernelCount; ++i) {
    device::Entry entry;
    entry.name = fmt::format("kernel {}", i);
    entry.bindings = {{.name = "a", .written = true}};
    if (i == kTally) entry.bindings.push_back({.name = "b", .written = true});
    entry.workgroup = {8, 1, 1};
    entry.whole = whole;
    artifact.entries.push_back(std::move(entry));
  }
  artifact.explain = [](uint32_t, const device::KernelStop& stop) {
    const bool loop = stop.kind == device::KernelStop::Kind::Loop;
    return Error{.code = loop ? ErrorCode::Timeout : ErrorCode::Trapped,
                 .message = fmt::format("{} {} lane {} value {}", loop ? "loop" : "trap", stop.site,
                                        stop.lane, stop.value),
                 .context = {},
                 .at = {},
                 .diagnostics = {}};
  };
  return artifact;
}

class CpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (*why_no_cpu() != 0) GTEST_SKIP() << why_no_cpu();
  }
  void open(CpuOptions options = {.workers = 2}, bool whole = false) {
    code_ = {};
    buffers_.clear();
    device_ = *open_cpu(options);
    load(kernels_artifact(whole));
  }
  void load(const device::Artifact& artifact) {
    auto loaded = device_->load(artifact);
    ASSERT_TRUE(loaded) << loaded.error().message;
    code_ = std::move(*loaded);
  }
  // Buffers by argument.
  void bind(const std::vector<Words>& contents) {
    buffers_.clear();
    regions_.clear();
    for (const Words& words : contents) {
      buffers_.push_back(*device_->allocate(words.size() * 4));
      regions_.push_back(buffers_.back().whole());
    }
    for (size_t i = 0; i < contents.size(); ++i) write(i, contents[i]);
  }
  void write(size_t argument, const Words& words) {
    const device::Transfer transfer{
        .device = buffers_[argument].whole(),
        .host = reinterpret_cast<std::byte*>(const_cast<uint32_t*>(words.data()))};
    ASSERT_TRUE(device_->transfer({&transfer, 1}));
  }
  Words read(size_t argument) {
    Words words(buffers_[argument].bytes() / 4);
    const device::Transfer transfer{.direction = device::Transfer::Direction::ToHost,
                                    .device = buffers_[argument].whole(),
                                    .host = reinterpret_cast<std::byte*>(words.data())};
    EXPECT_TRUE(device_->transfer({&transfer, 1}));
    return words;
  }
  device::Launch launch(uint32_t kernel, uint32_t groups, uint32_t lanes = 1) {
    return {.pipeline = code_.handle(),
            .entry = kernel,
            .arguments = regions_,
            .workgroup = {lanes, 1, 1},
            .grid = {groups, 1, 1}};
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
    EXPECT_TRUE(done) << done.error().message;
  }

  std::shared_ptr<device::Backend> device_;
  device::LoadedArtifact code_;
  std::vector<device::Buffer> buffers_;
  std::vector<device::Region> regions_;
};

}  // namespace vyre::backend
