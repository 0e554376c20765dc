// SPDX-License-Identifier: Apache-2.0
#pragma OPENCL FP_CONTRACT OFF

__kernel void mandelbrot(__global uint* restrict o, uint w, uint h, uint limit) {
  const uint px = get_global_id(0);
  const uint py = get_global_id(1);
  if (px >= w || py >= h) return;
  const float cx = (float)px * 0.005859375f - 2.0f;
  const float cy = (float)py * 0.005859375f - 1.5f;
  float zx = 0;
  float zy = 0;
  uint n = 0;
  while (n < limit && zx * zx + zy * zy < 4.0f) {
    const float x = zx * zx - zy * zy + cx;
    zy = 2.0f * zx * zy + cy;
    zx = x;
    n += 1;
  }
  o[py * w + px] = n;
}
