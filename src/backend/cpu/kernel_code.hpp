// SPDX-License-Identifier: Apache-2.0
// An artifact as it lies in memory: its code, and for each entry what has to be known to call it.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/elf_loader.hpp"
#include "device/kernel.hpp"
#include "device/kernel_arguments.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/artifact.hpp"

namespace vyre::backend::cpu {

struct Kernel {
  device::KernelFn run = nullptr;
  device::KernelFinishFn finish = nullptr;  // null: none
  device::KernelInfo info;
  uint32_t number = 0;  // of its entry
  device::Entry entry;
  device::StopExplainer explain;
  std::vector<device::KernelArgument> arguments;
  // What a workgroup took in the last launches that were done in chunks; 0: unknown.
  // Read and written by atomic_ref.
  alignas(8) mutable uint64_t seen_group_ns = 0;
};

struct KernelCode {
  LoadedObject object;
  std::vector<Kernel> kernels;  // by entry
};

// CompileFailed for code that is damaged or does not have what its entries need.
Result<KernelCode> load_kernels(const device::Artifact& artifact);

}  // namespace vyre::backend::cpu
