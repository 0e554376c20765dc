// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer B0 { uint x[]; };
layout(push_constant) uniform S { uint n; };
void main() {
  if (gl_GlobalInvocationID.x < n) x[gl_GlobalInvocationID.x] = 0;
}
