// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void matmul(const float* a, const float* b, float* c, unsigned n) {
  const unsigned tile = 16;
  __shared__ float ta[tile * tile];
  __shared__ float tb[tile * tile];
  const unsigned x = blockIdx.x * tile + threadIdx.x;
  const unsigned y = blockIdx.y * tile + threadIdx.y;
  const unsigned mine = threadIdx.y * tile + threadIdx.x;
  float sum = 0;
  for (unsigned first = 0; first < n; first += tile) {
    ta[mine] = a[y * n + first + threadIdx.x];
    tb[mine] = b[(first + threadIdx.y) * n + x];
    __syncthreads();
    for (unsigned k = 0; k < tile; ++k)
      sum += ta[threadIdx.y * tile + k] * tb[k * tile + threadIdx.x];
    __syncthreads();
  }
  c[y * n + x] = sum;
}
