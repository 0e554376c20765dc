// SPDX-License-Identifier: Apache-2.0
// The C library's functions in a loop over all threads. Compiled twice: as it is (calls of the
// scalar functions), and with -ffast-math, when g++ calls the vector library of glibc.
#include <cmath>

#include "peers.hpp"

namespace vyre::bench {
namespace {

template <class Real>
void exp_all(const Real* __restrict x, Real* __restrict y, size_t n) {
#pragma omp parallel for simd schedule(static)
  for (size_t i = 0; i < n; ++i) y[i] = std::exp(x[i]);
}
template <class Real>
void log_all(const Real* __restrict x, Real* __restrict y, size_t n) {
#pragma omp parallel for simd schedule(static)
  for (size_t i = 0; i < n; ++i) y[i] = std::log(x[i]);
}
template <class Real>
void sin_all(const Real* __restrict x, Real* __restrict y, size_t n) {
#pragma omp parallel for simd schedule(static)
  for (size_t i = 0; i < n; ++i) y[i] = std::sin(x[i]);
}

}  // namespace

extern const MathsKernels VYRE_PEER_TABLE;
const MathsKernels VYRE_PEER_TABLE = {VYRE_PEER_FLAGS, exp_all<float>,  log_all<float>,
                                      sin_all<float>,  exp_all<double>, log_all<double>,
                                      sin_all<double>};

}  // namespace vyre::bench
