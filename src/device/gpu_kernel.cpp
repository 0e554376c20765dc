// SPDX-License-Identifier: Apache-2.0
#include "device/gpu_kernel.hpp"

namespace vyre::device {

uint64_t gpu_shared_bytes(const check::CheckedProgram& program) {
  uint64_t bytes = kGpuSharedHeader;
  const auto& buffers = program.program.buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].kind != ir::BufferKind::Shared) continue;
    const uint64_t own =
        uint64_t{*program.buffers[i].constant_count} * ir::bytes_of(buffers[i].element);
    bytes += (own + kGpuSharedRow - 1) / kGpuSharedRow * kGpuSharedRow;
  }
  return bytes;
}

}  // namespace vyre::device
