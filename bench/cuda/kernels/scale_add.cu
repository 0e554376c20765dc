// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void scale_add(const unsigned* a, const unsigned* b, unsigned* o, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = a[i] * 2 + b[i];
}
