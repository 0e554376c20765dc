// SPDX-License-Identifier: Apache-2.0
// The same computations with oneTBB's algorithms.
#include <cstring>
#include <functional>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>

#include "peers.hpp"

namespace vyre::bench {
namespace {

using u32 = uint32_t;
using Range = tbb::blocked_range<size_t>;

void scale_add(const u32* a, const u32* b, u32* o, size_t n) {
  tbb::parallel_for(Range(0, n), [=](const Range& r) {
    const u32* __restrict pa = a;
    const u32* __restrict pb = b;
    u32* __restrict po = o;
    for (size_t i = r.begin(); i < r.end(); ++i) po[i] = pa[i] * 2 + pb[i];
  });
}

u32 sum(const u32* x, size_t n) {
  return tbb::parallel_reduce(
      Range(0, n), u32{0},
      [=](const Range& r, u32 total) {
        for (size_t i = r.begin(); i < r.end(); ++i) total += x[i];
        return total;
      },
      std::plus<>());
}

// A function of its own: in a lambda g++ does not make vectors of it.
float add_up(const float* x, size_t n) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (size_t i = 0; i < n; ++i) total += x[i];
  return total;
}

float sum_f32(const float* x, size_t n) {
  return tbb::parallel_reduce(
      Range(0, n), 0.0f,
      [=](const Range& r, float before) { return before + add_up(x + r.begin(), r.size()); },
      std::plus<>());
}

void scan(const u32* x, u32* y, size_t n) {
  tbb::parallel_scan(
      Range(0, n), u32{0},
      [=](const Range& r, u32 running, bool last) {
        if (last) {
          for (size_t i = r.begin(); i < r.end(); ++i) y[i] = running += x[i];
        } else {
          for (size_t i = r.begin(); i < r.end(); ++i) running += x[i];
        }
        return running;
      },
      std::plus<>());
}

template <class Key>
void count_keys(const Key* keys, size_t n, u32* count, size_t bins) {
  tbb::enumerable_thread_specific<std::vector<u32>> copies(std::vector<u32>(bins, 0));
  tbb::parallel_for(Range(0, n), [&](const Range& r) {
    u32* own = copies.local().data();
    for (size_t i = r.begin(); i < r.end(); ++i) ++own[keys[i]];
  });
  std::memset(count, 0, bins * sizeof(u32));
  for (const std::vector<u32>& own : copies)
    for (size_t b = 0; b < bins; ++b) count[b] += own[b];
}

void histogram(const u32* keys, size_t n, u32* count, size_t bins) {
  count_keys(keys, n, count, bins);
}
void histogram_u8(const uint8_t* keys, size_t n, u32* count) {
  count_keys(keys, n, count, 256);
}

}  // namespace

extern const TbbKernels VYRE_PEER_TABLE;
const TbbKernels VYRE_PEER_TABLE = {VYRE_PEER_FLAGS, scale_add,   sum, sum_f32, scan,
                                    histogram,       histogram_u8};

}  // namespace vyre::bench
