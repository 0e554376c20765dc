// SPDX-License-Identifier: Apache-2.0
__kernel void empty(__global uint* x, uint value) {
  if (value != 0) x[get_global_id(0)] = value;
}
