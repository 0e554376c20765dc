// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer B0 { float x[]; };
layout(binding = 1) readonly buffer B1 { float c[]; };
layout(binding = 2) buffer B2 { float o[]; };
layout(push_constant) uniform S { uint n; uint m; };
void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= n) return;
  precise float sum = 0;
  const float mine = x[i];
  for (uint j = 0; j < m; ++j) {
    precise float d = mine - c[j];
    sum += d * d;
  }
  o[i] = sum;
}
