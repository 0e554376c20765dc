// SPDX-License-Identifier: Apache-2.0
// Values that are known before the program runs, computed exactly as docs/language.md says the
// program would.
#pragma once

#include <optional>
#include <span>

#include "vyre/check/check.hpp"

namespace vyre::check {

// Number views of a constant's bits.
int64_t as_signed(Constant c);                     // I32 and I64, sign-extended
Constant make_float(ir::Type type, double value);  // rounds to F32 if asked
inline Constant make_float(ir::Type type, float value) {
  return make_float(type, static_cast<double>(value));
}

std::optional<Constant> fold(ir::UnaryOp op, Constant a);
std::optional<Constant> fold(ir::BinaryOp op, Constant a, Constant b);
Constant convert(Constant a, ir::Type to);
// Exactly defined functions only; none for the transcendental ones.
std::optional<Constant> fold(ir::Intrinsic op, std::span<const Constant> args);

// Types come from facts.expr_types, constants from facts.constants.
std::optional<Constant> evaluate(const ir::Program& p, const CheckedProgram& facts,
                                 ir::ExprId expr);

}  // namespace vyre::check
