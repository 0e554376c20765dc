// SPDX-License-Identifier: Apache-2.0
// The C library's functions in a loop over all threads. Compiled twice: as it is (calls of the
// scalar functions), and with -ffast-math, when g++ calls the vector library of glibc.
#include <cmath>

#include "peers.hpp"

namespace vyre::bench {
namespace {

void exp_all(const float* __restrict x, float* __restrict y, size_t n) {
#pragma omp parallel for simd schedule(static)
  for (size_t i = 0; i < n; ++i) y[i] = std::exp(x[i]);
}
void log_all(const float* __restrict x, float* __restrict y, size_t n) {
#pragma omp parallel for simd schedule(static)
  for (size_t i = 0; i < n; ++i) y[i] = std::log(x[i]);
}
void sin_all(const float* __restrict x, float* __restrict y, size_t n) {
#pragma omp parallel for simd schedule(static)
  for (size_t i = 0; i < n; ++i) y[i] = std::sin(x[i]);
}

}  // namespace

extern const MathsKernels VYRE_PEER_TABLE;
const MathsKernels VYRE_PEER_TABLE = {VYRE_PEER_FLAGS, exp_all, log_all, sin_all};

}  // namespace vyre::bench
