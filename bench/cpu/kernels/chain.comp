// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer B0 { uint a[]; };
layout(binding = 1) readonly buffer B1 { uint b[]; };
layout(binding = 2) buffer B2 { uint o[]; };
layout(push_constant) uniform S { uint n; };
void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < n) {
    const uint t = a[i] * 2 + b[i];
    const uint u = t ^ (t >> 7);
    o[i] = u * 3 + a[i];
  }
}
