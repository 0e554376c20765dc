// SPDX-License-Identifier: Apache-2.0
__kernel void chain(__global const uint* restrict a, __global const uint* restrict b,
                    __global uint* restrict o, uint n) {
  const uint i = get_global_id(0);
  if (i < n) {
    const uint t = a[i] * 2 + b[i];
    const uint u = t ^ (t >> 7);
    o[i] = u * 3 + a[i];
  }
}
