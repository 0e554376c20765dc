// SPDX-License-Identifier: Apache-2.0
// Kernels of the corpus as one writes them for speed. Buffers and numbers are those of
// peers_corpus.cu.
#include "peers.cuh"

namespace peers {
namespace {

// Sixteen bytes at a time; every warp counts on its own.
__global__ void histogram_warps(const uint4* data, uint32_t* count, uint32_t n) {
  constexpr uint32_t kWarps = 8;
  __shared__ uint32_t own[kWarps][256];
  for (uint32_t w = 0; w < kWarps; ++w) own[w][threadIdx.x] = 0;
  __syncthreads();
  uint32_t* const mine = own[threadIdx.x / 32];
  const uint32_t lanes = gridDim.x * blockDim.x;
  const uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  const auto four = [&](uint32_t word) {
    for (uint32_t byte = 0; byte < 4; ++byte) atomicAdd(&mine[word >> 8 * byte & 255], 1);
  };
  for (uint32_t i = first; i < n / 16; i += lanes) {
    const uint4 v = data[i];
    four(v.x);
    four(v.y);
    four(v.z);
    four(v.w);
  }
  const uint32_t rest = n / 16 * 16 + first;
  if (rest < n) atomicAdd(&mine[reinterpret_cast<const uint8_t*>(data)[rest]], 1);
  __syncthreads();
  uint32_t all = 0;
  for (uint32_t w = 0; w < kWarps; ++w) all += own[w][threadIdx.x];
  if (all != 0) atomicAdd(&count[threadIdx.x], all);
}

__device__ float warp_sum(float v) {
  for (int distance = 16; distance > 0; distance /= 2)
    v += __shfl_down_sync(0xFFFFFFFFu, v, distance);
  return v;
}
// The sum of a block of 512, in thread 0.
__device__ float block_sum(float v) {
  __shared__ float parts[16];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < 16 ? parts[threadIdx.x] : 0;
  return threadIdx.x < 32 ? warp_sum(v) : 0;
}
// The last block to end adds up what the others left.
__global__ void __launch_bounds__(512)
    sum_vectors(const float4* x, float* total, float* partial, uint32_t* ended, uint32_t n) {
  const uint32_t lanes = gridDim.x * blockDim.x;
  const uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t vectors = n / 4;
  float mine = 0;
  uint32_t i = first;
  for (; i + 3 * lanes < vectors; i += 4 * lanes) {
    const float4 a = x[i], b = x[i + lanes], c = x[i + 2 * lanes], d = x[i + 3 * lanes];
    mine += ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
    mine += ((c.x + c.y) + (c.z + c.w)) + ((d.x + d.y) + (d.z + d.w));
  }
  for (; i < vectors; i += lanes) {
    const float4 v = x[i];
    mine += (v.x + v.y) + (v.z + v.w);
  }
  if (first < n % 4) mine += reinterpret_cast<const float*>(x)[vectors * 4 + first];
  mine = block_sum(mine);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = mine;
    __threadfence();
    last = atomicAdd(ended, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  mine = 0;
  for (uint32_t k = threadIdx.x; k < gridDim.x; k += blockDim.x)
    mine += *static_cast<volatile float*>(&partial[k]);
  mine = block_sum(mine);
  if (threadIdx.x == 0) {
    *total = mine;
    *ended = 0;
  }
}

// Tiles of 128 x 128; a thread has 8 x 8 elements in registers. Sizes are multiples of 128.
__global__ void __launch_bounds__(256)
    matmul_registers(const float* a, const float* b, float* c, uint32_t n) {
  constexpr uint32_t kTile = 128;
  constexpr uint32_t kDepth = 8;
  __shared__ float ta[kDepth][kTile];
  __shared__ float tb[kDepth][kTile];
  const uint32_t t = threadIdx.x;
  const uint32_t tx = t % 16;
  const uint32_t ty = t / 16;
  const float* const rows = a + size_t{blockIdx.y} * kTile * n;
  const float* const columns = b + blockIdx.x * kTile;
  float sum[8][8] = {};
  for (uint32_t first = 0; first < n; first += kDepth) {
    const float4 va =
        *reinterpret_cast<const float4*>(&rows[size_t{t / 2} * n + first + t % 2 * 4]);
    const float4 vb =
        *reinterpret_cast<const float4*>(&columns[size_t{first + t / 32} * n + t % 32 * 4]);
    __syncthreads();
    ta[t % 2 * 4 + 0][t / 2] = va.x;
    ta[t % 2 * 4 + 1][t / 2] = va.y;
    ta[t % 2 * 4 + 2][t / 2] = va.z;
    ta[t % 2 * 4 + 3][t / 2] = va.w;
    *reinterpret_cast<float4*>(&tb[t / 32][t % 32 * 4]) = vb;
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < kDepth; ++k) {
      float ra[8], rb[8];
      *reinterpret_cast<float4*>(&ra[0]) = *reinterpret_cast<float4*>(&ta[k][ty * 4]);
      *reinterpret_cast<float4*>(&ra[4]) = *reinterpret_cast<float4*>(&ta[k][64 + ty * 4]);
      *reinterpret_cast<float4*>(&rb[0]) = *reinterpret_cast<float4*>(&tb[k][tx * 4]);
      *reinterpret_cast<float4*>(&rb[4]) = *reinterpret_cast<float4*>(&tb[k][64 + tx * 4]);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] = fmaf(ra[i], rb[j], sum[i][j]);
    }
  }
#pragma unroll
  for (uint32_t i = 0; i < 8; ++i) {
    const size_t y = size_t{blockIdx.y} * kTile + i / 4 * 64 + ty * 4 + i % 4;
    float* const to = c + y * n + blockIdx.x * kTile;
    *reinterpret_cast<float4*>(to + tx * 4) =
        make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    *reinterpret_cast<float4*>(to + 64 + tx * 4) =
        make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
  }
}

__device__ uint32_t channel(float t, float phase) {
  return static_cast<uint32_t>(__fsub_rn(127.5f, __fmul_rn(127.5f, cosf(__fadd_rn(t, phase)))));
}
// Squares are kept, warps are squares of the picture, and the test is made every fourth step: who is
// past the border by then goes back.
__global__ void mandelbrot_steps(uint32_t* image, uint32_t w, uint32_t h, uint32_t limit, float re,
                                 float im, float height) {
  const uint32_t px = blockIdx.x * 16 + threadIdx.x % 8 + threadIdx.x / 32 % 2 * 8;
  const uint32_t py = blockIdx.y * 16 + threadIdx.x % 32 / 8 + threadIdx.x / 64 * 4;
  if (px >= w || py >= h) return;
  const float scale = __fdiv_rn(height, static_cast<float>(h));
  const auto place = [&](float centre, uint32_t p, uint32_t size) {
    return __fadd_rn(centre, __fmul_rn(__fsub_rn(static_cast<float>(p),
                                                 __fmul_rn(0.5f, static_cast<float>(size))),
                                       scale));
  };
  const float cx = place(re, px, w);
  const float cy = place(im, py, h);
  struct Point {
    float x, y, xx, yy;
  };
  const auto step = [&](Point z) {
    const float x = __fadd_rn(__fsub_rn(z.xx, z.yy), cx);
    const float y = __fadd_rn(__fmul_rn(__fadd_rn(z.x, z.x), z.y), cy);
    return Point{x, y, __fmul_rn(x, x), __fmul_rn(y, y)};
  };
  const auto near = [](const Point& z) { return __fadd_rn(z.xx, z.yy) < 64.0f; };
  Point z{};
  uint32_t n = 0;
  // A point that is far away stays far away (or is no number), so the last of four tells.
  while (n + 4 <= limit) {
    const Point later = step(step(step(step(z))));
    if (!near(later)) break;
    z = later;
    n += 4;
  }
  while (n < limit && near(z)) {
    z = step(z);
    n += 1;
  }
  uint32_t pixel = 0xFF000000u;
  if (n < limit) {
    const float smooth =
        __fsub_rn(__fadd_rn(static_cast<float>(n), 1.0f),
                  log2f(__fmul_rn(0.5f, log2f(__fadd_rn(z.xx, z.yy)))));
    const float t = __fadd_rn(0.3f, __fmul_rn(0.25f, smooth));
    pixel = channel(t, 0.0f) | channel(t, 0.7f) << 8 | channel(t, 1.4f) << 16 | 0xFF000000u;
  }
  image[py * w + px] = pixel;
}

__device__ void order(int32_t* a, uint32_t low, uint32_t high, uint32_t n) {
  if (high >= n) return;
  const int32_t first = a[low];
  const int32_t second = a[high];
  a[low] = min(first, second);
  a[high] = max(first, second);
}
// The lower element of the pair that thread i has at this distance.
__device__ uint32_t low_of(uint32_t i, uint32_t distance) {
  return i / distance * distance * 2 + i % distance;
}
constexpr uint32_t kPart = 2048;  // elements of a block of 1024 threads
__global__ void bitonic_far(int32_t* data, uint32_t n, uint32_t distance, uint32_t mask) {
  const uint32_t low = low_of(blockIdx.x * blockDim.x + threadIdx.x, distance);
  order(data, low, low ^ mask, n);
}
// Rounds that stay inside a part run in shared memory: of all blocks up to kPart, or those from
// kPart / 2 down that end a larger one.
__global__ void __launch_bounds__(1024) bitonic_near(int32_t* data, uint32_t n, bool all) {
  __shared__ int32_t s[kPart];
  const uint32_t base = blockIdx.x * kPart;
  for (uint32_t k = threadIdx.x; k < kPart; k += 1024)
    s[k] = base + k < n ? data[base + k] : INT32_MAX;
  __syncthreads();
  const auto down_from = [&](uint32_t distance) {
    for (; distance > 0; distance /= 2) {
      const uint32_t low = low_of(threadIdx.x, distance);
      order(s, low, low ^ distance, kPart);
      __syncthreads();
    }
  };
  if (all) {
    for (uint32_t block = 2; block <= kPart; block *= 2) {
      const uint32_t low = low_of(threadIdx.x, block / 2);
      order(s, low, low ^ (block - 1), kPart);
      __syncthreads();
      down_from(block / 4);
    }
  } else {
    down_from(kPart / 2);
  }
  for (uint32_t k = threadIdx.x; k < kPart; k += 1024)
    if (base + k < n) data[base + k] = s[k];
}

void histogram(void* const* d, const uint32_t* n) {
  begin();
  must(cudaMemsetAsync(d[1], 0, 1024, stream()));
  histogram_warps<<<132 * 8, 256, 0, stream()>>>(at<uint4>(d, 0), at<uint32_t>(d, 1), n[0]);
  done();
}
void sum(void* const* d, const uint32_t* n) {
  constexpr uint32_t kBlocks = 132 * 4;
  static float* const kPartial = static_cast<float*>(allocate(kBlocks * 4));
  static uint32_t* const kEnded = static_cast<uint32_t*>(allocate(4));
  begin();
  sum_vectors<<<kBlocks, 512, 0, stream()>>>(at<float4>(d, 0), at<float>(d, 1), kPartial, kEnded,
                                             n[0]);
  done();
}
void matmul(void* const* d, const uint32_t* n) {
  begin();
  matmul_registers<<<dim3(n[0] / 128, n[0] / 128), 256, 0, stream()>>>(
      at<float>(d, 0), at<float>(d, 1), at<float>(d, 2), n[0]);
  done();
}
void mandelbrot(void* const* d, const uint32_t* n) {
  begin();
  mandelbrot_steps<<<dim3(blocks_for(n[0], 16), blocks_for(n[1], 16)), 256, 0, stream()>>>(
      at<uint32_t>(d, 0), n[0], n[1], n[2], -0.6f, 0.0f, 2.5f);
  done();
}
// The length is a power of two, or at most kPart.
void bitonic(void* const* d, const uint32_t* n) {
  int32_t* const data = at<int32_t>(d, 0);
  const uint32_t parts = blocks_for(n[0], kPart);
  begin();
  bitonic_near<<<parts, 1024, 0, stream()>>>(data, n[0], true);
  for (uint32_t block = 2 * kPart; block / 2 < n[0]; block *= 2) {
    bitonic_far<<<parts * 4, 256, 0, stream()>>>(data, n[0], block / 2, block - 1);
    for (uint32_t distance = block / 4; distance >= kPart; distance /= 2)
      bitonic_far<<<parts * 4, 256, 0, stream()>>>(data, n[0], distance, distance);
    bitonic_near<<<parts, 1024, 0, stream()>>>(data, n[0], false);
  }
  done();
}

constexpr Named kRuns[] = {
    {"histogram_tuned", histogram},   {"sum_tuned", sum},         {"matmul_tuned", matmul},
    {"mandelbrot_tuned", mandelbrot}, {"bitonic_tuned", bitonic},
};

}  // namespace

List tuned_runs() {
  return {kRuns, std::size(kRuns)};
}

}  // namespace peers
