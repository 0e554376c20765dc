// SPDX-License-Identifier: Apache-2.0
__kernel void sum_items(__global const uint* restrict x, __global uint* restrict total, uint n) {
  __local uint s[256];
  const uint l = get_local_id(0);
  const uint first = get_group_id(0) * 4096 + l;
  uint mine = 0;
  for (uint k = 0; k < 16; ++k) {
    const uint i = first + k * 256;
    if (i < n) mine += x[i];
  }
  s[l] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = 128; half_size > 0; half_size /= 2) {
    if (l < half_size) s[l] += s[l + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) atomic_add(total, s[0]);
}
