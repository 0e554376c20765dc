// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) buffer B0 { uint o[]; };
layout(push_constant) uniform S { uint w; uint h; uint limit; };
void main() {
  const uint px = gl_GlobalInvocationID.x;
  const uint py = gl_GlobalInvocationID.y;
  if (px >= w || py >= h) return;
  precise float cx = float(px) * 0.005859375 - 2.0;
  precise float cy = float(py) * 0.005859375 - 1.5;
  precise float zx = 0;
  precise float zy = 0;
  precise float size = 0;
  uint n = 0;
  while (n < limit && size < 4.0) {
    precise float x = zx * zx - zy * zy + cx;
    zy = 2.0 * zx * zy + cy;
    zx = x;
    n += 1;
    size = zx * zx + zy * zy;
  }
  o[py * w + px] = n;
}
