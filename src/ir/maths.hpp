// SPDX-License-Identifier: Apache-2.0
// The mathematical functions of the language (exp to recip, atan2 to exp10): one implementation in
// + - * fma, comparisons, select, bit and integer operations, so that every device gives the same
// bits.
//
// Each function is written once (maths_*.hpp) and comes out twice: as a C++ function, which the
// interpreter calls, and as a function of an IR program, which the compilers emit where a program
// uses it. Algorithms and measured errors: docs/design/maths.md.
#pragma once

#include <array>

#include "vyre/ir/ops.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::ir {

// True for Exp to Recip and Atan2 to Exp10.
bool is_maths(Intrinsic op);
// True if the function exists for the type: all do for F32 and F64.
bool has_maths(Intrinsic op, Type type);

// `y` is read by the functions of two arguments only: pow, atan2, hypot.
using MathsF32 = float (*)(float x, float y);
using MathsF64 = double (*)(double x, double y);
// `op` must be a function that exists for the type.
MathsF32 native_maths_f32(Intrinsic op);
MathsF64 native_maths_f64(Intrinsic op);
// A faster f32 form with an error of a few ULP; null: the function has none here.
MathsF32 native_approximation(Intrinsic op);

// A valid program that only declares the functions: exp_f32(x) to exp10_f64(x), then the
// approximations. None of them calls
// another one or uses anything but its parameters, so each can be copied out by itself.
struct MathsLibrary {
  Program program;
  std::array<FnId, kIntrinsicCount> f32_functions, f64_functions, f32_approximations;

  // Invalid if there is no such function.
  [[nodiscard]] FnId function(Intrinsic op, Type type) const;
  [[nodiscard]] FnId approximation(Intrinsic op) const;
};

// Built once, by the first caller; any thread may call it, also while it builds a program.
const MathsLibrary& maths_library();

}  // namespace vyre::ir
