// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer B0 { uint8_t data[]; };
layout(binding = 1) buffer B1 { uint count[]; };
layout(push_constant) uniform S { uint n; };
shared uint own[256];
void main() {
  const uint l = gl_LocalInvocationID.x;
  own[l] = 0;
  barrier();
  for (uint i = gl_GlobalInvocationID.x; i < n; i += 4096) atomicAdd(own[uint(data[i])], 1);
  barrier();
  if (own[l] != 0) atomicAdd(count[l], own[l]);
}
