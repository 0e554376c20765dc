// SPDX-License-Identifier: Apache-2.0
// The same work by hand in CUDA C++:
//   nvcc -O3 -arch=native -shared -Xcompiler -fPIC -o libvyre_cuda_peers.so peers.cu
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>

#include "peers.hpp"

namespace {

void must(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "peers.cu: %s\n", cudaGetErrorString(status));
  std::abort();
}
void done() {
  must(cudaGetLastError());
  must(cudaStreamSynchronize(nullptr));
}

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
__global__ void stencil_one(const float* a, float* o, uint32_t w, uint32_t h) {
  const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t y = blockIdx.y;
  if (x > 0 && x < w - 1 && y > 0 && y < h - 1) {
    const uint32_t i = y * w + x;
    o[i] = __fmul_rn(0.25f, __fadd_rn(__fadd_rn(a[i - w], a[i + w]), __fadd_rn(a[i - 1], a[i + 1])));
  }
}
__global__ void barrier_passes(uint32_t passes) {
  const auto grid = cooperative_groups::this_grid();
  for (uint32_t i = 0; i < passes; ++i) grid.sync();
}
__global__ void one_pass(uint32_t* flag, uint32_t pass) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *flag = pass + 1;
}
__global__ void small(uint32_t* d) {
  d[threadIdx.x] = d[threadIdx.x] * 2 + 1;
}
__global__ void bfs_start(uint32_t* depth, uint32_t nodes, uint32_t start) {
  const uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < nodes) depth[v] = v == start ? 0 : 0xFFFFFFFFu;
}
__global__ void bfs_level(const uint32_t* row, const uint32_t* col, uint32_t* depth, uint32_t nodes,
                          uint32_t level, uint32_t* changed) {
  const uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= nodes || depth[v] != level) return;
  for (uint32_t e = row[v]; e < row[v + 1]; ++e)
    if (depth[col[e]] > level + 1 && atomicMin(&depth[col[e]], level + 1) > level + 1) *changed = 1;
}

uint32_t blocks_for(uint64_t n) { return static_cast<uint32_t>((n + 255) / 256); }

void* allocate(size_t bytes) {
  void* d = nullptr;
  if (cudaMalloc(&d, bytes) != cudaSuccess) return nullptr;
  must(cudaMemset(d, 0, bytes));
  return d;
}
void release(void* d) { must(cudaFree(d)); }
void upload(void* d, const void* host, size_t bytes) {
  must(cudaMemcpy(d, host, bytes, cudaMemcpyHostToDevice));
}
void download(void* host, const void* d, size_t bytes) {
  must(cudaMemcpy(host, d, bytes, cudaMemcpyDeviceToHost));
}
void scale_add(const uint32_t* a, const uint32_t* b, uint32_t* o, uint32_t n) {
  scale_add_one<<<blocks_for(n), 256>>>(a, b, o, n);
  done();
}
void scale_add4(const uint32_t* a, const uint32_t* b, uint32_t* o, uint32_t n) {
  scale_add_four<<<blocks_for((uint64_t{n} + 3) / 4), 256>>>(
      reinterpret_cast<const uint4*>(a), reinterpret_cast<const uint4*>(b),
      reinterpret_cast<uint4*>(o), n);
  done();
}
void copy(void* to, const void* from, size_t bytes) {
  must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice));
  done();
}
void widen(const uint8_t* a, uint32_t* o, uint32_t n) {
  widen_one<<<blocks_for(n), 256>>>(a, o, n);
  done();
}
void stencil(const float* a, float* o, uint32_t w, uint32_t h) {
  stencil_one<<<dim3(blocks_for(w), h), 256>>>(a, o, w, h);
  done();
}
void barriers(uint32_t blocks, uint32_t threads, uint32_t passes) {
  void* arguments[] = {&passes};
  must(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(barrier_passes), blocks, threads,
                                   arguments));
  done();
}
void host_passes(uint32_t blocks, uint32_t threads, uint32_t passes) {
  static uint32_t* flag = static_cast<uint32_t*>(allocate(4));
  static uint32_t* seen = nullptr;
  if (seen == nullptr) must(cudaMallocHost(&seen, 4));
  for (uint32_t i = 0; i < passes; ++i) {
    must(cudaMemsetAsync(flag, 0, 4));
    one_pass<<<blocks, threads>>>(flag, i);
    must(cudaMemcpyAsync(seen, flag, 4, cudaMemcpyDeviceToHost));
    must(cudaStreamSynchronize(nullptr));
    if (*seen == 0) return;
  }
}
void launch(uint32_t* d) {
  small<<<1, 64>>>(d);
  done();
}
void launch_many(uint32_t* d) {
  for (int i = 0; i < 100; ++i) small<<<1, 64>>>(d);
  done();
}
void sum(const uint32_t* d, uint32_t* total, uint32_t n) {
  static void* room = nullptr;
  static size_t bytes = 0;
  size_t needed = 0;
  must(cub::DeviceReduce::Sum(nullptr, needed, d, total, n));
  if (needed > bytes) {
    must(cudaFree(room));
    must(cudaMalloc(&room, needed));
    bytes = needed;
  }
  must(cub::DeviceReduce::Sum(room, needed, d, total, n));
  done();
}
void bfs(const uint32_t* row, const uint32_t* col, uint32_t* depth, uint32_t nodes, uint32_t start) {
  static uint32_t* changed = static_cast<uint32_t*>(allocate(4));
  static uint32_t* seen = nullptr;
  if (seen == nullptr) must(cudaMallocHost(&seen, 4));
  bfs_start<<<blocks_for(nodes), 256>>>(depth, nodes, start);
  for (uint32_t level = 0;; ++level) {
    must(cudaMemsetAsync(changed, 0, 4));
    bfs_level<<<blocks_for(nodes), 256>>>(row, col, depth, nodes, level, changed);
    must(cudaMemcpyAsync(seen, changed, 4, cudaMemcpyDeviceToHost));
    must(cudaStreamSynchronize(nullptr));
    if (*seen == 0) return;
  }
}

constexpr VyreCudaPeers kPeers = {
    .allocate = allocate,     .release = release,
    .upload = upload,         .download = download,
    .scale_add = scale_add,   .scale_add4 = scale_add4,
    .copy = copy,             .widen = widen,
    .stencil = stencil,       .barriers = barriers,
    .host_passes = host_passes, .launch = launch,
    .launch_many = launch_many, .sum = sum,
    .bfs = bfs,
};

}  // namespace

extern "C" const VyreCudaPeers* vyre_cuda_peers() { return &kPeers; }
