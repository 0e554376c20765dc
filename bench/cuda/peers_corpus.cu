// SPDX-License-Identifier: Apache-2.0
// Kernels of the corpus line by line in CUDA C++: a lane is a thread, a grid barrier is that of
// cooperative groups. Streams are in peers_stream.cu, the same kernels by hand in peers_tuned.cu.
#include <cooperative_groups.h>

#include "peers.cuh"

namespace peers {
namespace {

namespace cg = cooperative_groups;
constexpr uint32_t kSize = 256;

__global__ void histogram_one(const uint8_t* data, uint32_t* count, uint32_t n, uint32_t lanes) {
  __shared__ uint32_t own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += lanes)
    atomicAdd(&own[data[i]], 1);
  __syncthreads();
  if (own[threadIdx.x] != 0) atomicAdd(&count[threadIdx.x], own[threadIdx.x]);
}

__device__ void add_up(float* s) {
  __syncthreads();
  for (uint32_t half = kSize / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
}
__global__ void sum_one(const float* x, float* total, float* partial, uint32_t n) {
  __shared__ float s[kSize];
  float mine = 0;
  for (uint32_t i = blockIdx.x * kSize + threadIdx.x; i < n; i += kSize * kSize) mine += x[i];
  s[threadIdx.x] = mine;
  add_up(s);
  if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
  cg::this_grid().sync();
  if (blockIdx.x != 0) return;
  s[threadIdx.x] = threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0;
  add_up(s);
  if (threadIdx.x == 0) total[0] = s[0];
}

__device__ uint32_t scan_block(uint32_t* s, uint32_t value) {
  uint32_t sum = value;
  s[threadIdx.x] = sum;
  __syncthreads();
  for (uint32_t distance = 1; distance < kSize; distance *= 2) {
    if (threadIdx.x >= distance) sum += s[threadIdx.x - distance];
    __syncthreads();
    s[threadIdx.x] = sum;
    __syncthreads();
  }
  return sum;
}
__global__ void __launch_bounds__(256, 8)
    scan_one(const uint32_t* x, uint32_t* y, uint32_t* blocks, uint32_t n) {
  __shared__ uint32_t s[kSize];
  const auto grid = cg::this_grid();
  const uint32_t i = blockIdx.x * kSize + threadIdx.x;
  const uint32_t within = scan_block(s, i < n ? x[i] : 0);
  if (threadIdx.x == kSize - 1) blocks[blockIdx.x] = within;
  grid.sync();
  if (blockIdx.x == 0) {
    uint32_t carry = 0;
    for (uint32_t first = 0; first < gridDim.x; first += kSize) {
      const uint32_t b = first + threadIdx.x;
      const uint32_t sum = scan_block(s, b < gridDim.x ? blocks[b] : 0);
      if (b < gridDim.x) blocks[b] = carry + sum;
      __syncthreads();
      carry += s[kSize - 1];
      __syncthreads();
    }
  }
  grid.sync();
  if (i < n) y[i] = (blockIdx.x > 0 ? blocks[blockIdx.x - 1] : 0) + within;
}

constexpr uint32_t kTile = 16;
__global__ void matmul_one(const float* a, const float* b, float* c, uint32_t n) {
  __shared__ float ta[kTile * kTile];
  __shared__ float tb[kTile * kTile];
  const uint32_t x = blockIdx.x * kTile + threadIdx.x;
  const uint32_t y = blockIdx.y * kTile + threadIdx.y;
  const uint32_t mine = threadIdx.y * kTile + threadIdx.x;
  float sum = 0;
  for (uint32_t first = 0; first < n; first += kTile) {
    const uint32_t ka = first + threadIdx.x;
    const uint32_t kb = first + threadIdx.y;
    ta[mine] = y < n && ka < n ? a[y * n + ka] : 0;
    tb[mine] = x < n && kb < n ? b[kb * n + x] : 0;
    __syncthreads();
    for (uint32_t k = 0; k < kTile; ++k)
      sum = fmaf(ta[threadIdx.y * kTile + k], tb[k * kTile + threadIdx.x], sum);
    __syncthreads();
  }
  if (x < n && y < n) c[y * n + x] = sum;
}

__device__ uint32_t channel(float t, float phase) {
  return static_cast<uint32_t>(
      __fsub_rn(127.5f, __fmul_rn(127.5f, cosf(__fadd_rn(t, phase)))));
}
__global__ void mandelbrot_one(uint32_t* image, uint32_t w, uint32_t h, uint32_t limit, float re,
                               float im, float height) {
  const uint32_t px = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= w || py >= h) return;
  const float scale = __fdiv_rn(height, static_cast<float>(h));
  const auto place = [&](float centre, uint32_t p, uint32_t size) {
    return __fadd_rn(centre, __fmul_rn(__fsub_rn(static_cast<float>(p),
                                                 __fmul_rn(0.5f, static_cast<float>(size))),
                                       scale));
  };
  const float cx = place(re, px, w);
  const float cy = place(im, py, h);
  float zx = 0;
  float zy = 0;
  uint32_t n = 0;
  while (n < limit && __fadd_rn(__fmul_rn(zx, zx), __fmul_rn(zy, zy)) < 64.0f) {
    const float x = __fadd_rn(__fsub_rn(__fmul_rn(zx, zx), __fmul_rn(zy, zy)), cx);
    zy = __fadd_rn(__fmul_rn(__fmul_rn(2.0f, zx), zy), cy);
    zx = x;
    n += 1;
  }
  uint32_t pixel = 0xFF000000u;
  if (n < limit) {
    const float far = __fadd_rn(__fmul_rn(zx, zx), __fmul_rn(zy, zy));
    const float smooth = __fsub_rn(__fadd_rn(static_cast<float>(n), 1.0f),
                                   log2f(__fmul_rn(0.5f, log2f(far))));
    const float t = __fadd_rn(0.3f, __fmul_rn(0.25f, smooth));
    pixel = channel(t, 0.0f) | channel(t, 0.7f) << 8 | channel(t, 1.4f) << 16 | 0xFF000000u;
  }
  image[py * w + px] = pixel;
}

__device__ void order(int32_t* a, uint32_t low, uint32_t high, uint32_t n) {
  if (low >= high || high >= n) return;
  const int32_t first = a[low];
  const int32_t second = a[high];
  if (first > second) {
    a[low] = second;
    a[high] = first;
  }
}
__global__ void __launch_bounds__(256, 8) bitonic_one(int32_t* data, uint32_t n) {
  const auto grid = cg::this_grid();
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  for (uint32_t block = 2; block / 2 < n; block *= 2) {
    order(data, i, i ^ (block - 1), n);
    grid.sync();
    for (uint32_t distance = block / 4; distance > 0; distance /= 2) {
      order(data, i, i ^ distance, n);
      grid.sync();
    }
  }
}

// Buffers: data, count. Numbers: bytes, lanes.
void histogram(void* const* d, const uint32_t* n) {
  const uint32_t blocks = blocks_for(n[0] < n[1] ? n[0] : n[1]);
  begin();
  must(cudaMemsetAsync(d[1], 0, 1024, stream()));
  histogram_one<<<blocks, 256, 0, stream()>>>(at<uint8_t>(d, 0), at<uint32_t>(d, 1), n[0], n[1]);
  done();
}
// Buffers: x, total.
void sum(void* const* d, const uint32_t* n) {
  static float* const kPartial = static_cast<float*>(allocate(kSize * 4));
  const uint32_t blocks = blocks_for(n[0] < kSize * kSize ? n[0] : kSize * kSize);
  begin();
  launch_cooperative(sum_one, blocks, kSize, at<float>(d, 0), at<float>(d, 1), kPartial, n[0]);
  done();
}
// Buffers: x, y.
void scan(void* const* d, const uint32_t* n) {
  static uint32_t* const kBlocks = static_cast<uint32_t*>(allocate(4096 * 4));
  begin();
  launch_cooperative(scan_one, blocks_for(n[0]), kSize, at<uint32_t>(d, 0), at<uint32_t>(d, 1),
                  kBlocks, n[0]);
  done();
}
// Buffers: a, b, c. Number: rows and columns.
void matmul(void* const* d, const uint32_t* n) {
  const uint32_t tiles = blocks_for(n[0], kTile);
  begin();
  matmul_one<<<dim3(tiles, tiles), dim3(kTile, kTile), 0, stream()>>>(
      at<float>(d, 0), at<float>(d, 1), at<float>(d, 2), n[0]);
  done();
}
// Buffer: image. Numbers: width, height, limit.
void mandelbrot(void* const* d, const uint32_t* n) {
  begin();
  mandelbrot_one<<<dim3(blocks_for(n[0], 16), blocks_for(n[1], 16)), dim3(16, 16), 0, stream()>>>(
      at<uint32_t>(d, 0), n[0], n[1], n[2], -0.6f, 0.0f, 2.5f);
  done();
}
// Buffer: data.
void bitonic(void* const* d, const uint32_t* n) {
  begin();
  launch_cooperative(bitonic_one, blocks_for(n[0]), 256, at<int32_t>(d, 0), n[0]);
  done();
}

constexpr Named kRuns[] = {
    {"histogram", histogram}, {"sum", sum},               {"scan", scan},
    {"matmul", matmul},       {"mandelbrot", mandelbrot}, {"bitonic", bitonic},
};

}  // namespace

List corpus_runs() {
  return {kRuns, std::size(kRuns)};
}

}  // namespace peers
