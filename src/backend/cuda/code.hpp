// SPDX-License-Identifier: Apache-2.0
// An artifact as the driver has loaded it: a module, and for each entry what has to be known to
// launch it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "backend/cuda/command_sink.hpp"
#include "backend/cuda/gpu.hpp"
#include "device/kernel_arguments.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/artifact.hpp"

namespace vyre::backend::cuda {

class Module {
 public:
  Module() = default;
  Module(const Gpu& gpu, ModuleHandle handle) : gpu_(&gpu), handle_(handle) {}
  Module(Module&& other) noexcept
      : gpu_(other.gpu_), handle_(std::exchange(other.handle_, nullptr)) {}
  Module& operator=(Module&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Module();
  [[nodiscard]] ModuleHandle handle() const { return handle_; }

 private:
  const Gpu* gpu_ = nullptr;
  ModuleHandle handle_ = nullptr;
};

struct Kernel {
  FunctionHandle function = nullptr;
  uint64_t resident_groups = 0;
  device::Entry entry;
  std::vector<device::KernelArgument> arguments;
};

struct Code {
  Module module;
  std::vector<Kernel> kernels;  // by entry
  device::StopExplainer explain;
};

// What PTX becomes; empty if it is a binary already. CompileFailed, with what the driver's compiler
// says. The context is current.
Result<std::vector<std::byte>> link_code(const Gpu& gpu, const device::Artifact& artifact);
// Only while no work is in flight (SubmissionTracker::exclusive).
Result<Code> load_code(const Gpu& gpu, const device::Artifact& artifact,
                       std::span<const std::byte> linked);

// A kernel of the backend itself. It is loaded at its first use, which is while no work is in
// flight.
class OwnKernel {
 public:
  OwnKernel(const Gpu& gpu, const char* ptx, const char* name)
      : gpu_(gpu), ptx_(ptx), name_(name) {}
  Result<FunctionHandle> function();
  [[nodiscard]] bool is_loaded() const {
    const std::scoped_lock lock(mutex_);
    return function_ != nullptr;
  }
  void clear() noexcept;

 private:
  const Gpu& gpu_;
  const char* ptx_;
  const char* name_;
  mutable std::mutex mutex_;
  Module module_;
  FunctionHandle function_ = nullptr;
};

// As the kernel reads it.
struct CompareArgs {
  DeviceAddress a = 0;
  DeviceAddress b = 0;
  uint64_t vectors = 0;  // of 16 bytes; the rest goes byte by byte
  uint64_t bytes = 0;
  DeviceAddress differs = 0;
};
static_assert(sizeof(CompareArgs) == 40);

// The kernel behind device::Compare.
class CompareKernel {
 public:
  explicit CompareKernel(const Gpu& gpu);
  // Stores 1 to the word at `differs` if any of the bytes differ. How to go through them is decided
  // here.
  Result<void> launch(const CompareArgs& what, CommandSink& sink);
  // Before the first launch, while no work is in flight.
  Result<void> load();
  [[nodiscard]] bool is_loaded() const { return kernel_.is_loaded(); }
  void clear() noexcept { kernel_.clear(); }

 private:
  const Gpu& gpu_;
  OwnKernel kernel_;
};

}  // namespace vyre::backend::cuda
