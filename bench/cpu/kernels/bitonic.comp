// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 256) in;
layout(binding = 0) buffer B0 { int data[]; };
layout(push_constant) uniform S { uint n; uint mask; };
// One round: each lane orders its place and the one at `place ^ mask`.
void main() {
  const uint low = gl_GlobalInvocationID.x;
  const uint high = low ^ mask;
  if (low < high && high < n) {
    const int first = data[low];
    const int second = data[high];
    if (first > second) {
      data[low] = second;
      data[high] = first;
    }
  }
}
