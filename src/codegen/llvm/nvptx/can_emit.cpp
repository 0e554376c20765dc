// SPDX-License-Identifier: Apache-2.0
// What PTX is not made for: said before code generation.
#include <array>

#include <fmt/format.h>

#include "codegen/llvm/nvptx/target.hpp"
#include "device/gpu_kernel.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// Of kernels: memory of a block at most (sm_90), and parameters.
constexpr uint64_t kSharedBytes = (227U << 10) - device::kGpuSharedHeader;
constexpr uint64_t kParameterBytes = 4096;
constexpr uint64_t kMostThreadsOfBlock = 1024;

}  // namespace

std::optional<Error> nvptx_refusal(const plan::Segment& segment) {
  const check::CheckedProgram& c = segment.program;
  const auto refuse = [&](std::string_view what) {
    return Error{.code = ErrorCode::Unsupported,
                 .message = fmt::format("no PTX is made for program `{}`: {}. Fix: use another "
                                        "device",
                                        c.program.name, what),
                 .context = {},
                 .at = {},
                 .diagnostics = {}};
  };
  const uint64_t threads = uint64_t{c.workgroup[0]} * c.workgroup[1] * c.workgroup[2];
  if (threads > kMostThreadsOfBlock)
    return refuse(fmt::format("its workgroup has more lanes ({}) than a block has threads ({})",
                              threads, kMostThreadsOfBlock));
  const uint64_t shared = block_shared_bytes(c) - device::kGpuSharedHeader;
  if (shared > kSharedBytes)
    return refuse(fmt::format("its shared memory ({} bytes) is more than a block has ({})", shared,
                              kSharedBytes));
  const uint64_t parameters =
      sizeof(device::GpuArgs) + c.program.buffers.size() * sizeof(device::KernelBinding);
  if (parameters > kParameterBytes)
    return refuse(fmt::format("its buffers take more parameters ({} bytes) than a kernel has ({})",
                              parameters, kParameterBytes));
  return std::nullopt;
}

device::Capabilities nvptx_capabilities() {
  device::Capabilities c = device::gpu_capabilities();
  c.cooperative_grid_barrier = true;
  c.shared_bytes = kSharedBytes;
  c.max_bindings = (kParameterBytes - sizeof(device::GpuArgs)) / sizeof(device::KernelBinding);
  c.formats = {device::Format::Ptx};
  return c;
}

}  // namespace vyre::codegen
