// SPDX-License-Identifier: Apache-2.0
// Streams of elements: one lane per thread as anybody writes it, and by hand with 16-byte accesses.
#include "peers.cuh"

namespace peers {
namespace {

__global__ void scale_add_one(const uint32_t* a, const uint32_t* b, uint32_t* o, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = a[i] * 2 + b[i];
}
__global__ void scale_add_four(const uint4* a, const uint4* b, uint4* o, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i * 4 + 4 <= n) {
    const uint4 x = a[i];
    const uint4 y = b[i];
    o[i] = {x.x * 2 + y.x, x.y * 2 + y.y, x.z * 2 + y.z, x.w * 2 + y.w};
    return;
  }
  for (uint32_t k = i * 4; k < n; ++k)
    reinterpret_cast<uint32_t*>(o)[k] = reinterpret_cast<const uint32_t*>(a)[k] * 2 +
                                        reinterpret_cast<const uint32_t*>(b)[k];
}
__global__ void widen_one(const uint8_t* a, uint32_t* o, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = a[i];
}
__global__ void widen_four(const uchar4* a, uint4* o, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i * 4 + 4 <= n) {
    const uchar4 x = a[i];
    o[i] = {x.x, x.y, x.z, x.w};
    return;
  }
  for (uint32_t k = i * 4; k < n; ++k)
    reinterpret_cast<uint32_t*>(o)[k] = reinterpret_cast<const uint8_t*>(a)[k];
}
__global__ void narrow_one(const uint32_t* a, uint8_t* o, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = static_cast<uint8_t>(a[i]);
}
__global__ void gather_one(const uint32_t* index, const uint32_t* table, uint32_t* o, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = table[index[i]] + i;
}
__global__ void gather_four(const uint4* index, const uint32_t* table, uint4* o, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t k = i * 4;
  if (k + 4 <= n) {
    const uint4 x = index[i];
    o[i] = {table[x.x] + k, table[x.y] + k + 1, table[x.z] + k + 2, table[x.w] + k + 3};
    return;
  }
  for (uint32_t j = k; j < n; ++j)
    reinterpret_cast<uint32_t*>(o)[j] = table[reinterpret_cast<const uint32_t*>(index)[j]] + j;
}

// Rounded one by one, as the language has it: nvcc would fuse.
__device__ float mean(float up, float down, float left, float right) {
  return __fmul_rn(0.25f, __fadd_rn(__fadd_rn(up, down), __fadd_rn(left, right)));
}
__global__ void stencil_one(const float* a, float* o, uint32_t w, uint32_t h) {
  const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t y = blockIdx.y;
  if (x > 0 && x < w - 1 && y > 0 && y < h - 1) {
    const uint32_t i = y * w + x;
    o[i] = mean(a[i - w], a[i + w], a[i - 1], a[i + 1]);
  }
}
// A thread takes four columns of four rows and keeps the rows in registers. The width is a multiple
// of four.
constexpr uint32_t kRows = 4;
__global__ void stencil_tile(const float4* a, float4* o, uint32_t w, uint32_t h) {
  const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t first = blockIdx.y * kRows;
  const uint32_t vectors = w / 4;
  if (x >= vectors) return;
  const float* const cells = reinterpret_cast<const float*>(a);
  float4 up{}, here = a[first * vectors + x];
  if (first > 0) up = a[(first - 1) * vectors + x];
#pragma unroll
  for (uint32_t r = 0; r < kRows; ++r) {
    const uint32_t y = first + r;
    if (y + 1 >= h) return;
    const float4 down = a[(y + 1) * vectors + x];
    if (y > 0) {
      const uint32_t i = y * w + x * 4;
      const float left = x > 0 ? cells[i - 1] : 0;
      const float right = x + 1 < vectors ? cells[i + 4] : 0;
      float4 to = {mean(up.x, down.x, left, here.y), mean(up.y, down.y, here.x, here.z),
                   mean(up.z, down.z, here.y, here.w), mean(up.w, down.w, here.z, right)};
      // The border stays.
      float* const out = reinterpret_cast<float*>(o) + i;
      if (x > 0 && x + 1 < vectors) {
        *reinterpret_cast<float4*>(out) = to;
      } else {
        if (x > 0) out[0] = to.x;
        out[1] = to.y;
        out[2] = to.z;
        if (x + 1 < vectors) out[3] = to.w;
      }
    }
    up = here;
    here = down;
  }
}

void scale_add(void* const* d, const uint32_t* n) {
  begin();
  scale_add_one<<<blocks_for(n[0]), 256, 0, stream()>>>(at<uint32_t>(d, 0), at<uint32_t>(d, 1),
                                                        at<uint32_t>(d, 2), n[0]);
  done();
}
void scale_add4(void* const* d, const uint32_t* n) {
  begin();
  scale_add_four<<<blocks_for(blocks_for(n[0], 4)), 256, 0, stream()>>>(
      at<uint4>(d, 0), at<uint4>(d, 1), at<uint4>(d, 2), n[0]);
  done();
}
void widen(void* const* d, const uint32_t* n) {
  begin();
  widen_one<<<blocks_for(n[0]), 256, 0, stream()>>>(at<uint8_t>(d, 0), at<uint32_t>(d, 1), n[0]);
  done();
}
void widen4(void* const* d, const uint32_t* n) {
  begin();
  widen_four<<<blocks_for(blocks_for(n[0], 4)), 256, 0, stream()>>>(at<uchar4>(d, 0),
                                                                    at<uint4>(d, 1), n[0]);
  done();
}
void narrow(void* const* d, const uint32_t* n) {
  begin();
  narrow_one<<<blocks_for(n[0]), 256, 0, stream()>>>(at<uint32_t>(d, 0), at<uint8_t>(d, 1), n[0]);
  done();
}
void gather(void* const* d, const uint32_t* n) {
  begin();
  gather_one<<<blocks_for(n[0]), 256, 0, stream()>>>(at<uint32_t>(d, 0), at<uint32_t>(d, 1),
                                                     at<uint32_t>(d, 2), n[0]);
  done();
}
void gather4(void* const* d, const uint32_t* n) {
  begin();
  gather_four<<<blocks_for(blocks_for(n[0], 4)), 256, 0, stream()>>>(
      at<uint4>(d, 0), at<uint32_t>(d, 1), at<uint4>(d, 2), n[0]);
  done();
}
// Numbers: width, height.
void stencil(void* const* d, const uint32_t* n) {
  begin();
  stencil_one<<<dim3(blocks_for(n[0]), n[1]), 256, 0, stream()>>>(at<float>(d, 0), at<float>(d, 1),
                                                                  n[0], n[1]);
  done();
}
void stencil4(void* const* d, const uint32_t* n) {
  begin();
  stencil_tile<<<dim3(blocks_for(n[0] / 4), blocks_for(n[1], kRows)), 256, 0, stream()>>>(
      at<float4>(d, 0), at<float4>(d, 1), n[0], n[1]);
  done();
}
// Number: KiB.
void copy(void* const* d, const uint32_t* n) {
  begin();
  must(cudaMemcpyAsync(d[1], d[0], size_t{n[0]} << 10, cudaMemcpyDeviceToDevice, stream()));
  done();
}

constexpr Named kRuns[] = {
    {"scale_add", scale_add}, {"scale_add4", scale_add4}, {"widen", widen},
    {"widen4", widen4},       {"narrow", narrow},         {"gather", gather},
    {"gather4", gather4},     {"stencil", stencil},       {"stencil4", stencil4},
    {"copy", copy},
};

}  // namespace

List stream_runs() {
  return {kRuns, std::size(kRuns)};
}

}  // namespace peers
