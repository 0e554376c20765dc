// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(local_size_x = 64, local_size_y = 4) in;
layout(binding = 0) readonly buffer B0 { uint8_t old[]; };
layout(binding = 1) buffer B1 { uint8_t next[]; };
layout(push_constant) uniform S { uint w; uint h; };
uint cell(uint i) { return uint(old[i]); }
void main() {
  const uint x = gl_GlobalInvocationID.x;
  const uint y = gl_GlobalInvocationID.y;
  if (x >= w || y >= h) return;
  const uint left = x == 0 ? w - 1 : x - 1;
  const uint right = x == w - 1 ? 0 : x + 1;
  const uint up = (y == 0 ? h - 1 : y - 1) * w;
  const uint here = y * w;
  const uint down = (y == h - 1 ? 0 : y + 1) * w;
  const uint n = cell(up + left) + cell(up + x) + cell(up + right) + cell(here + left) +
                 cell(here + right) + cell(down + left) + cell(down + x) + cell(down + right);
  next[here + x] = uint8_t(n == 3 || (n == 2 && cell(here + x) == 1) ? 1 : 0);
}
