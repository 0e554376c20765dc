// SPDX-License-Identifier: Apache-2.0
// One round: each lane orders its place and the one at `place ^ mask`.
__kernel void bitonic(__global int* restrict data, uint n, uint mask) {
  const uint low = get_global_id(0);
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
