// SPDX-License-Identifier: Apache-2.0
// One pass over data with OpenMP. Compiled once per set of flags: VYRE_PEER_TABLE is the name of
// the table, VYRE_PEER_FLAGS what the row says.
#include <cstring>
#include <vector>

#include <omp.h>

#include "peers.hpp"

namespace vyre::bench {
namespace {

using u32 = uint32_t;

void scale_add(const u32* __restrict a, const u32* __restrict b, u32* __restrict o, size_t n) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; ++i) o[i] = a[i] * 2 + b[i];
}

void chain(const u32* __restrict a, const u32* __restrict b, u32* __restrict o, size_t n) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; ++i) {
    const u32 t = a[i] * 2 + b[i];
    const u32 u = t ^ (t >> 7);
    o[i] = u * 3 + a[i];
  }
}

// The compiler may not carry anything from one pass to the next, as little as across a barrier.
void forget() {
  asm volatile("" ::: "memory");
}

void cached(const u32* __restrict a, const u32* __restrict b, u32* __restrict o, size_t n,
            u32 passes) {
  for (u32 k = 0; k < passes; ++k) {
    for (size_t i = 0; i < n; ++i) o[i] = a[i] * 2 + b[i] + k;
    forget();
  }
}

// What lies past the ends counts as zero, as in the program.
void near_ends(const u32* a, u32* o, size_t n, u32 k) {
  o[0] = a[0] * 2 + a[1] + k;
  o[n - 1] = a[n - 2] + a[n - 1] * 2 + k;
}

void cached_near(const u32* __restrict a, u32* __restrict o, size_t n, u32 passes) {
  for (u32 k = 0; k < passes; ++k) {
    near_ends(a, o, n, k);
    for (size_t i = 1; i + 1 < n; ++i) o[i] = a[i - 1] + a[i] * 2 + a[i + 1] + k;
    forget();
  }
}

void cached_all(const u32* __restrict a, const u32* __restrict b, u32* __restrict o, size_t n,
                u32 passes) {
#pragma omp parallel
  for (u32 k = 0; k < passes; ++k) {
#pragma omp for schedule(static)
    for (size_t i = 0; i < n; ++i) o[i] = a[i] * 2 + b[i] + k;
  }
}

void cached_near_all(const u32* __restrict a, u32* __restrict o, size_t n, u32 passes) {
#pragma omp parallel
  for (u32 k = 0; k < passes; ++k) {
#pragma omp for schedule(static)
    for (size_t i = 1; i < n - 1; ++i) o[i] = a[i - 1] + a[i] * 2 + a[i + 1] + k;
#pragma omp master
    near_ends(a, o, n, k);
  }
}

u32 sum(const u32* x, size_t n) {
  u32 total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
  for (size_t i = 0; i < n; ++i) total += x[i];
  return total;
}

// With leave to reorder, as a hand would write it; else the loop would be one long chain of adds.
float sum_f32(const float* x, size_t n) {
  float total = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : total)
  for (size_t i = 0; i < n; ++i) total += x[i];
  return total;
}

// Sums of the threads' blocks, then each block from its start.
void scan(const u32* __restrict x, u32* __restrict y, size_t n) {
  std::vector<u32> sums(static_cast<size_t>(omp_get_max_threads()) * 32 + 32);
#pragma omp parallel
  {
    const auto id = static_cast<size_t>(omp_get_thread_num());
    const auto threads = static_cast<size_t>(omp_get_num_threads());
    const size_t begin = n * id / threads;
    const size_t end = n * (id + 1) / threads;
    u32 mine = 0;
    for (size_t i = begin; i < end; ++i) mine += x[i];
    sums[id * 32] = mine;
#pragma omp barrier
    u32 running = 0;
    for (size_t t = 0; t < id; ++t) running += sums[t * 32];
#pragma omp simd reduction(inscan, + : running)
    for (size_t i = begin; i < end; ++i) {
      running += x[i];
#pragma omp scan inclusive(running)
      y[i] = running;
    }
  }
}

// A private copy of the counts per thread, added up at the end.
template <class Key>
void count_keys(const Key* keys, size_t n, u32* count, size_t bins) {
  std::memset(count, 0, bins * sizeof(u32));
#pragma omp parallel
  {
    std::vector<u32> own(bins);
#pragma omp for schedule(static) nowait
    for (size_t i = 0; i < n; ++i) ++own[keys[i]];
#pragma omp critical
    for (size_t b = 0; b < bins; ++b) count[b] += own[b];
  }
}

void histogram(const u32* keys, size_t n, u32* count, size_t bins) {
  count_keys(keys, n, count, bins);
}
void histogram_u8(const uint8_t* keys, size_t n, u32* count) {
  count_keys(keys, n, count, 256);
}

void direct(const u32* __restrict a, const u32* __restrict b, u32* __restrict o, size_t n) {
  for (size_t i = 0; i < n; ++i) o[i] = a[i] * 2 + b[i];
}

void matmul(const float* __restrict a, const float* __restrict b, float* __restrict c, size_t n) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; ++i) {
    std::memset(c + i * n, 0, n * sizeof(float));
    for (size_t k = 0; k < n; ++k) {
      const float factor = a[i * n + k];
      for (size_t j = 0; j < n; ++j) c[i * n + j] += factor * b[k * n + j];
    }
  }
}

}  // namespace

extern const OmpKernels VYRE_PEER_TABLE;
const OmpKernels VYRE_PEER_TABLE = {VYRE_PEER_FLAGS, scale_add,       chain,  cached,  cached_near,
                                    cached_all,      cached_near_all, sum,    sum_f32, scan,
                                    histogram,       histogram_u8,    direct, matmul};

}  // namespace vyre::bench
