// SPDX-License-Identifier: Apache-2.0
__kernel void histogram_shared(__global const uchar* restrict data, __global uint* restrict count,
                               uint n) {
  __local uint own[256];
  const uint l = get_local_id(0);
  own[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < n; i += 4096) atomic_inc(&own[data[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (own[l] != 0) atomic_add(&count[l], own[l]);
}
