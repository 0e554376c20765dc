// SPDX-License-Identifier: Apache-2.0
__kernel void life(__global const uchar* restrict old, __global uchar* restrict new, uint w,
                   uint h) {
  const uint x = get_global_id(0);
  const uint y = get_global_id(1);
  if (x >= w || y >= h) return;
  const uint left = x == 0 ? w - 1 : x - 1;
  const uint right = x == w - 1 ? 0 : x + 1;
  const uint up = (y == 0 ? h - 1 : y - 1) * w;
  const uint here = y * w;
  const uint down = (y == h - 1 ? 0 : y + 1) * w;
  const uint n = old[up + left] + old[up + x] + old[up + right] + old[here + left] +
                 old[here + right] + old[down + left] + old[down + x] + old[down + right];
  new[here + x] = n == 3 || (n == 2 && old[here + x] == 1) ? 1 : 0;
}
