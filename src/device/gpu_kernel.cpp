// SPDX-License-Identifier: Apache-2.0
#include "device/gpu_kernel.hpp"

#include <algorithm>
#include <variant>

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

Capabilities gpu_capabilities() {
  Capabilities c;
  c.subgroup_ops = c.subgroup_shuffle = c.f16_storage = c.bf16_storage = c.storage_8bit =
      c.storage_16bit = c.i64 = c.f64 = c.i64_atomics = c.f32_atomic_add = c.indirect =
          c.trap_propagation = c.mul_hi = c.strict_f32 = c.f32_subnormals = c.exact_fma =
              c.exact_division = c.exact_sqrt = c.exact_conversions = true;
  c.device_loops = c.resident_buffers = c.host_split = true;
  // A workgroup is one row of threads, whatever its shape is, and a large grid is several launches.
  c.max_workgroup_size = {1024, 1024, 1024};
  c.max_invocations_per_workgroup = 1024;
  c.max_workgroups = {0x7FFF'FFFF, 0x7FFF'FFFF, 0x7FFF'FFFF};
  c.storage_buffer_bytes = uint64_t{kMostKernelElements} * 8;
  c.subgroup_size = 32;
  c.native_integer_bits = 32;
  return c;
}

bool gpu_can_meet(const check::CheckedProgram& program, ir::LocalId live) {
  if (!live.valid()) return true;
  const ir::Program& p = program.program;
  return std::ranges::none_of(
             p.exprs, [](const ir::Expr& e) { return std::holds_alternative<ir::Subgroup>(e); }) &&
         std::ranges::none_of(p.stmts, [](const ir::Stmt& s) {
           const auto* barrier = std::get_if<ir::Barrier>(&s);
           return barrier != nullptr && barrier->scope == ir::Scope::Subgroup;
         });
}

}  // namespace vyre::device
