// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { uint x[]; };
layout(push_constant) uniform S { uint value; };
void main() {
  if (value != 0) x[gl_GlobalInvocationID.x] = value;
}
