// SPDX-License-Identifier: Apache-2.0
// Which maths functions a target computes less exactly, and faster, for a caller who allows an
// error (DispatchConfig::ulp_budget). One table per target; without a row that the budget permits a
// function is strict.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "vyre/check/check.hpp"
#include "vyre/ir/ops.hpp"

namespace vyre::codegen {

// Of a function of f32.
struct Approximation {
  enum class Kind : uint8_t {
    Library,      // another function of the maths library, the same bits on every device
    Instruction,  // of the device, through ThreadLowering::approximate()
  };
  ir::Intrinsic op = ir::Intrinsic::Exp;
  // The most ULP of a result from the exact value, and the most numbers from the strict one,
  // for all arguments. Special values and signs of zeros are those of the strict function.
  uint32_t ulps = 0;
  Kind kind = Kind::Library;
};

// What is faster on processors of the host. vyre_verify_maths compares every argument
// (docs/design/maths.md has the figures).
inline constexpr std::array kHostApproximations = {
    Approximation{.op = ir::Intrinsic::Recip, .ulps = 1},
    Approximation{.op = ir::Intrinsic::Rsqrt, .ulps = 2},
    Approximation{.op = ir::Intrinsic::Sin, .ulps = 2},
    Approximation{.op = ir::Intrinsic::Cos, .ulps = 2},
};

// Of a GPU. The bounds of instructions are those of NVIDIA's PTX ISA 9.1, which gives them for the
// full range of inputs and with subnormal numbers; no other instruction has a bound in ULP. A
// strict result is less than one ULP from the exact value, and below a power of two ULPs are half
// as large: the sum, rounded up. `vyre_gpu_soak --only approximations` compares every argument on a
// GPU.
//   rcp.approx.f32    1 ULP                              1 x 2 below a power of two
//   rsqrt.approx.f32  2^-22.9 of the value: 2.15 ULP     2.15 + 0.5
//   ex2.approx.f32    2 ULP from the correctly rounded   2 + 1
inline constexpr std::array kGpuApproximations = {
    Approximation{ir::Intrinsic::Recip, 2, Approximation::Kind::Instruction},
    Approximation{ir::Intrinsic::Rsqrt, 3, Approximation::Kind::Instruction},
    Approximation{ir::Intrinsic::Exp2, 3, Approximation::Kind::Instruction},
    Approximation{ir::Intrinsic::Sin, 2, Approximation::Kind::Library},
    Approximation{ir::Intrinsic::Cos, 2, Approximation::Kind::Library},
};

// Under a budget; null: the strict function.
inline const Approximation* find_approximation(std::span<const Approximation> table,
                                               ir::Intrinsic op, ir::Type type,
                                               uint32_t ulp_budget) {
  if (type != ir::Type::F32) return nullptr;
  const auto row = std::ranges::find_if(
      table, [&](const Approximation& a) { return a.op == op && a.ulps <= ulp_budget; });
  return row == table.end() ? nullptr : &*row;
}

// The least budget that permits every approximation which the program gets under a given one; 0:
// its code is strict.
uint32_t ulps_of(std::span<const Approximation> table, const check::CheckedProgram& program,
                 uint32_t ulp_budget);

}  // namespace vyre::codegen
