// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) readonly buffer B0 { float a[]; };
layout(binding = 1) readonly buffer B1 { float b[]; };
layout(binding = 2) buffer B2 { float c[]; };
layout(push_constant) uniform S { uint n; };
shared float ta[256];
shared float tb[256];
void main() {
  const uint lx = gl_LocalInvocationID.x;
  const uint ly = gl_LocalInvocationID.y;
  const uint x = gl_GlobalInvocationID.x;
  const uint y = gl_GlobalInvocationID.y;
  precise float sum = 0;
  for (uint first = 0; first < n; first += 16) {
    ta[ly * 16 + lx] = a[y * n + first + lx];
    tb[ly * 16 + lx] = b[(first + ly) * n + x];
    barrier();
    for (uint k = 0; k < 16; ++k) sum += ta[ly * 16 + k] * tb[k * 16 + lx];
    barrier();
  }
  c[y * n + x] = sum;
}
