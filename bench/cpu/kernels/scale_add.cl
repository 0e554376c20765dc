// SPDX-License-Identifier: Apache-2.0
__kernel void scale_add(__global const uint* restrict a, __global const uint* restrict b,
                        __global uint* restrict o, uint n) {
  const uint i = get_global_id(0);
  if (i < n) o[i] = a[i] * 2 + b[i];
}
