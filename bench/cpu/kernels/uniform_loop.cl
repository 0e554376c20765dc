// SPDX-License-Identifier: Apache-2.0
#pragma OPENCL FP_CONTRACT OFF

__kernel void uniform_loop(__global const float* restrict x, __global const float* restrict c,
                           __global float* restrict o, uint n, uint m) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  float sum = 0;
  const float mine = x[i];
  for (uint j = 0; j < m; ++j) {
    const float d = mine - c[j];
    sum += d * d;
  }
  o[i] = sum;
}
