// SPDX-License-Identifier: Apache-2.0
#include "device/gpu_kernel.hpp"

namespace vyre::device {

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
  return c;
}

}  // namespace vyre::device
