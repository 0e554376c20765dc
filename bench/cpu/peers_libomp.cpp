// SPDX-License-Identifier: Apache-2.0
// Compiled by clang with LLVM's OpenMP, loaded at run time: two OpenMP runtimes in one link would
// take each other's names. For the same reason nothing of <omp.h> is called.
#include <cstdint>

extern "C" void vyre_libomp_barriers(uint32_t passes);
extern "C" void vyre_libomp_barriers(uint32_t passes) {
#pragma omp parallel
  for (uint32_t k = 0; k < passes; ++k) {
#pragma omp barrier
  }
}
