// SPDX-License-Identifier: Apache-2.0
// Which peers the build found.
#include "peers.hpp"

#include <array>

#include <dlfcn.h>

namespace vyre::bench {

#ifdef VYRE_BENCH_OPENMP
extern const OmpKernels kOmpKernels256;
extern const OmpKernels kOmpKernels512;
extern const OmpPasses kOmpPasses256;
extern const OmpPasses kOmpPasses512;
extern const MathsKernels kMathsGlibc;
extern const MathsKernels kMathsFast;
#endif
#ifdef VYRE_BENCH_TBB
extern const TbbKernels kTbbKernels256;
extern const TbbKernels kTbbKernels512;
#endif

std::span<const OmpKernels* const> omp_kernels() {
#ifdef VYRE_BENCH_OPENMP
  static constexpr std::array kAll = {&kOmpKernels512, &kOmpKernels256};
  return kAll;
#else
  return {};
#endif
}

std::span<const OmpPasses* const> omp_passes() {
#ifdef VYRE_BENCH_OPENMP
  static constexpr std::array kAll = {&kOmpPasses512, &kOmpPasses256};
  return kAll;
#else
  return {};
#endif
}

std::span<const TbbKernels* const> tbb_kernels() {
#ifdef VYRE_BENCH_TBB
  static constexpr std::array kAll = {&kTbbKernels512, &kTbbKernels256};
  return kAll;
#else
  return {};
#endif
}

const MathsKernels* maths_glibc() {
#ifdef VYRE_BENCH_OPENMP
  return &kMathsGlibc;
#else
  return nullptr;
#endif
}

const MathsKernels* maths_fast() {
#ifdef VYRE_BENCH_OPENMP
  return &kMathsFast;
#else
  return nullptr;
#endif
}

BarrierLoop libomp_barriers(const char** why) {
#ifdef VYRE_BENCH_LIBOMP
  // The library calls nothing but __kmpc_ functions, which libgomp does not have, so the two do not
  // meet. (RTLD_DEEPBIND, which would keep them apart more strictly, made libomp 19 crash.)
  void* library = dlopen(VYRE_BENCH_LIBOMP, RTLD_NOW | RTLD_LOCAL);
  void* found = library != nullptr ? dlsym(library, "vyre_libomp_barriers") : nullptr;
  if (found == nullptr) *why = dlerror();
  return reinterpret_cast<BarrierLoop>(found);
#else
  *why = "no clang++-19 or libomp when the build was configured (clang-19, libomp5-19)";
  return nullptr;
#endif
}

}  // namespace vyre::bench
