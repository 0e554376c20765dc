// SPDX-License-Identifier: Apache-2.0
#pragma OPENCL FP_CONTRACT OFF

__kernel void heat(__global const float* restrict old, __global float* restrict new, uint w,
                   uint h) {
  const uint x = get_global_id(0);
  const uint y = get_global_id(1);
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
    const uint i = y * w + x;
    new[i] = 0.25f * ((old[i - w] + old[i + w]) + (old[i - 1] + old[i + 1]));
  }
}
