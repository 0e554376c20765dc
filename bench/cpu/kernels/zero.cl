// SPDX-License-Identifier: Apache-2.0
__kernel void zero(__global uint* x, uint n) {
  if (get_global_id(0) < n) x[get_global_id(0)] = 0;
}
