// SPDX-License-Identifier: Apache-2.0
#pragma OPENCL FP_CONTRACT OFF

__kernel void matmul(__global const float* restrict a, __global const float* restrict b,
                     __global float* restrict c, uint n) {
  __local float ta[256];
  __local float tb[256];
  const uint lx = get_local_id(0);
  const uint ly = get_local_id(1);
  const uint x = get_global_id(0);
  const uint y = get_global_id(1);
  float sum = 0;
  for (uint first = 0; first < n; first += 16) {
    ta[ly * 16 + lx] = a[y * n + first + lx];
    tb[ly * 16 + lx] = b[(first + ly) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 16; ++k) sum += ta[ly * 16 + k] * tb[k * 16 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[y * n + x] = sum;
}
