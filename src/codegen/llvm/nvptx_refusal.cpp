// SPDX-License-Identifier: Apache-2.0
// What PTX is not made for: said before code generation.
#include <array>

#include <fmt/format.h>

#include "codegen/llvm/nvptx.hpp"
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
  const uint64_t shared = device::gpu_shared_bytes(c) - device::kGpuSharedHeader;
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
  device::Capabilities c;
  c.subgroup_ops = c.subgroup_shuffle = c.f16_storage = c.bf16_storage = c.storage_8bit =
      c.storage_16bit = c.i64 = c.f64 = c.i64_atomics = c.f32_atomic_add = c.indirect =
          c.trap_propagation = c.mul_hi = c.strict_f32 = c.f32_subnormals = c.exact_fma =
              c.exact_division = c.exact_sqrt = c.exact_conversions = true;
  c.resident_buffers = c.cooperative_grid_barrier = true;
  c.max_workgroup_size = {1024, 1024, 1024};
  c.max_invocations_per_workgroup = kMostThreadsOfBlock;
  c.max_workgroups = {0x7FFF'FFFF, 0x7FFF'FFFF, 0x7FFF'FFFF};
  c.shared_bytes = kSharedBytes;
  c.storage_buffer_bytes = uint64_t{device::kMostKernelElements} * 8;
  c.max_bindings = 64;
  c.subgroup_size = 32;
  c.native_integer_bits = 32;
  c.formats = {device::Format::Ptx};
  return c;
}

}  // namespace vyre::codegen
