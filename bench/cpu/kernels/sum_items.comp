// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer B0 { uint x[]; };
layout(binding = 1) buffer B1 { uint total[]; };
layout(push_constant) uniform S { uint n; };
shared uint s[256];
void main() {
  const uint l = gl_LocalInvocationID.x;
  const uint first = gl_WorkGroupID.x * 4096 + l;
  uint mine = 0;
  for (uint k = 0; k < 16; ++k) {
    const uint i = first + k * 256;
    if (i < n) mine += x[i];
  }
  s[l] = mine;
  barrier();
  for (uint half_size = 128; half_size > 0; half_size /= 2) {
    if (l < half_size) s[l] += s[l + half_size];
    barrier();
  }
  if (l == 0) atomicAdd(total[0], s[0]);
}
