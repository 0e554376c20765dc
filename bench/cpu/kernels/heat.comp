// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 64, local_size_y = 4) in;
layout(binding = 0) readonly buffer B0 { float old[]; };
layout(binding = 1) buffer B1 { float next[]; };
layout(push_constant) uniform S { uint w; uint h; };
void main() {
  const uint x = gl_GlobalInvocationID.x;
  const uint y = gl_GlobalInvocationID.y;
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
    const uint i = y * w + x;
    precise float mean = 0.25 * ((old[i - w] + old[i + w]) + (old[i - 1] + old[i + 1]));
    next[i] = mean;
  }
}
