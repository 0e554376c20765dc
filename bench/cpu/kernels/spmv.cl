// SPDX-License-Identifier: Apache-2.0
#pragma OPENCL FP_CONTRACT OFF

__kernel void spmv(__global const uint* restrict row, __global const uint* restrict col,
                   __global const float* restrict val, __global const float* restrict x,
                   __global float* restrict y, uint n) {
  const uint v = get_global_id(0);
  if (v >= n) return;
  float sum = 0;
  for (uint e = row[v]; e < row[v + 1]; ++e) sum += val[e] * x[col[e]];
  y[v] = sum;
}
