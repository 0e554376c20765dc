// SPDX-License-Identifier: Apache-2.0
// The other side: the same computations as somebody would write them by hand for OpenMP, oneTBB and
// the C library. Tables of functions, because the same source is compiled with several sets of
// flags; the fastest set is the peer. No header of Vyre is seen here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vyre::bench {

struct CsrGraph {
  uint32_t nodes = 0;
  const uint32_t* row = nullptr;  // nodes + 1
  const uint32_t* col = nullptr;
};
struct EdgeList {
  uint32_t nodes = 0;
  size_t count = 0;
  const uint32_t* from = nullptr;
  const uint32_t* to = nullptr;
};

enum class Deal : uint8_t { Static, Dynamic };

// clang-format off
// One pass over data.
struct OmpKernels {
  const char* variant;
  void (*scale_add)(const uint32_t* a, const uint32_t* b, uint32_t* o, size_t n);
  void (*chain)(const uint32_t* a, const uint32_t* b, uint32_t* o, size_t n);
  // One thread, `passes` times; and all threads with a barrier after each pass.
  void (*cached)(const uint32_t* a, const uint32_t* b, uint32_t* o, size_t n, uint32_t passes);
  void (*cached_near)(const uint32_t* a, uint32_t* o, size_t n, uint32_t passes);
  void (*cached_all)(const uint32_t* a, const uint32_t* b, uint32_t* o, size_t n, uint32_t passes);
  void (*cached_near_all)(const uint32_t* a, uint32_t* o, size_t n, uint32_t passes);
  uint32_t (*sum)(const uint32_t* x, size_t n);
  float (*sum_f32)(const float* x, size_t n);
  void (*scan)(const uint32_t* x, uint32_t* y, size_t n);
  void (*histogram)(const uint32_t* keys, size_t n, uint32_t* count, size_t bins);
  void (*histogram_u8)(const uint8_t* keys, size_t n, uint32_t* count);
  void (*direct)(const uint32_t* a, const uint32_t* b, uint32_t* o, size_t n);  // the caller's thread
  void (*matmul)(const float* a, const float* b, float* c, size_t n);           // i-k-j
};

// Many passes with a barrier after each.
struct OmpPasses {
  const char* variant;
  void (*barriers)(uint32_t passes);
  // Steps from a to b and back; both are full grids, the border stays.
  void (*heat)(float* a, float* b, size_t width, size_t height, uint32_t steps);
  void (*heat_fork)(float* a, float* b, size_t width, size_t height, uint32_t steps);
  void (*life)(uint8_t* a, uint8_t* b, size_t width, size_t height, uint32_t steps);
  void (*life_fork)(uint8_t* a, uint8_t* b, size_t width, size_t height, uint32_t steps);
  void (*bfs)(const CsrGraph& graph, uint32_t start, uint32_t* depth, Deal deal);
  void (*components)(const EdgeList& graph, uint32_t* label);
  void (*pagerank)(const CsrGraph& incoming, float* rank, uint32_t* links, float* next,
                   uint32_t limit, Deal deal);
};

// exp, log and sin of every element, over all threads.
struct MathsKernels {
  const char* variant;
  void (*exp)(const float* x, float* y, size_t n);
  void (*log)(const float* x, float* y, size_t n);
  void (*sin)(const float* x, float* y, size_t n);
  void (*exp_f64)(const double* x, double* y, size_t n);
  void (*log_f64)(const double* x, double* y, size_t n);
  void (*sin_f64)(const double* x, double* y, size_t n);
};

struct TbbKernels {
  const char* variant;
  void (*scale_add)(const uint32_t* a, const uint32_t* b, uint32_t* o, size_t n);
  uint32_t (*sum)(const uint32_t* x, size_t n);
  float (*sum_f32)(const float* x, size_t n);
  void (*scan)(const uint32_t* x, uint32_t* y, size_t n);
  void (*histogram)(const uint32_t* keys, size_t n, uint32_t* count, size_t bins);
  void (*histogram_u8)(const uint8_t* keys, size_t n, uint32_t* count);
};
// clang-format on

// Empty where the family was not there when the build was configured.
std::span<const OmpKernels* const> omp_kernels();
std::span<const OmpPasses* const> omp_passes();
std::span<const TbbKernels* const> tbb_kernels();
const MathsKernels* maths_glibc();  // null: not there
const MathsKernels* maths_fast();

// A loop over the barrier of LLVM's OpenMP, from a library that clang compiled; null and a reason
// where there is none.
using BarrierLoop = void (*)(uint32_t passes);
BarrierLoop libomp_barriers(const char** why);

}  // namespace vyre::bench
