// SPDX-License-Identifier: Apache-2.0
__kernel void gather(__global const uint* restrict idx, __global const uint* restrict table,
                     __global uint* restrict o, uint n) {
  const uint i = get_global_id(0);
  if (i < n) o[i] = table[idx[i]] + i;
}
