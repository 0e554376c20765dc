// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer B0 { uint row[]; };
layout(binding = 1) readonly buffer B1 { uint col[]; };
layout(binding = 2) readonly buffer B2 { float val[]; };
layout(binding = 3) readonly buffer B3 { float x[]; };
layout(binding = 4) buffer B4 { float y[]; };
layout(push_constant) uniform S { uint n; };
void main() {
  const uint v = gl_GlobalInvocationID.x;
  if (v >= n) return;
  precise float sum = 0;
  for (uint e = row[v]; e < row[v + 1]; ++e) sum += val[e] * x[col[e]];
  y[v] = sum;
}
