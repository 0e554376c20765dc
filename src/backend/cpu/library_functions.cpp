// SPDX-License-Identifier: Apache-2.0
// What compilers call on their own. None of these reads or writes global state, and each
// gives the same bits on every machine (rounding and fma are exact).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <strings.h>

#include "backend/cpu/elf_loader.hpp"

namespace vyre::backend::cpu {

namespace {

struct Function {
  std::string_view name;
  uint64_t address;
};

template <class R, class... Args>
uint64_t address_of(R (*function)(Args...)) {
  return reinterpret_cast<uint64_t>(function);
}

using F32 = float (*)(float);
using F64 = double (*)(double);

std::array<Function, 23> make_table() {
  return {{
      {"memcpy", address_of(static_cast<void* (*)(void*, const void*, size_t)>(&::memcpy))},
      {"memmove", address_of(static_cast<void* (*)(void*, const void*, size_t)>(&::memmove))},
      {"memset", address_of(static_cast<void* (*)(void*, int, size_t)>(&::memset))},
      {"memcmp", address_of(static_cast<int (*)(const void*, const void*, size_t)>(&::memcmp))},
      {"bcmp", address_of(static_cast<int (*)(const void*, const void*, size_t)>(&::bcmp))},
      {"fma", address_of(static_cast<double (*)(double, double, double)>(&::fma))},
      {"fmaf", address_of(static_cast<float (*)(float, float, float)>(&::fmaf))},
      {"floor", address_of(static_cast<F64>(&::floor))},
      {"floorf", address_of(static_cast<F32>(&::floorf))},
      {"ceil", address_of(static_cast<F64>(&::ceil))},
      {"ceilf", address_of(static_cast<F32>(&::ceilf))},
      {"trunc", address_of(static_cast<F64>(&::trunc))},
      {"truncf", address_of(static_cast<F32>(&::truncf))},
      {"rint", address_of(static_cast<F64>(&::rint))},
      {"rintf", address_of(static_cast<F32>(&::rintf))},
      {"nearbyint", address_of(static_cast<F64>(&::nearbyint))},
      {"nearbyintf", address_of(static_cast<F32>(&::nearbyintf))},
      {"round", address_of(static_cast<F64>(&::round))},
      {"roundf", address_of(static_cast<F32>(&::roundf))},
      {"roundeven", address_of(static_cast<F64>(&::roundeven))},
      {"roundevenf", address_of(static_cast<F32>(&::roundevenf))},
      {"sqrt", address_of(static_cast<F64>(&::sqrt))},
      {"sqrtf", address_of(static_cast<F32>(&::sqrtf))},
  }};
}

}  // namespace

uint64_t library_function(std::string_view name) {
  static const auto kTable = make_table();
  const auto* const row = std::ranges::find(kTable, name, &Function::name);
  return row == kTable.end() ? 0 : row->address;
}

}  // namespace vyre::backend::cpu
