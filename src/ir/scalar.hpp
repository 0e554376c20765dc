// SPDX-License-Identifier: Apache-2.0
// What operators, functions and conversions do to one value: the rules of semantics.hpp as code,
// in one place. Constant folding and the reference interpreter both call these functions, so they
// cannot disagree.
//
// A value travels as its bit pattern, zero-extended to 64 bits; bool is 0 or 1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vyre/ir/ops.hpp"
#include "vyre/ir/types.hpp"

namespace vyre::ir {

using Bits = uint64_t;

// Unused arguments are ignored.
using ScalarFn = Bits (*)(Bits a, Bits b, Bits c);

// All of these give null where the operator is not defined for the type. `type` is that of the
// first operand (for select: of the values); shift and rotate amounts may have another integer
// type. && and || get both operands: being lazy is the caller's part.
ScalarFn scalar_fn(UnaryOp op, Type type);
ScalarFn scalar_fn(BinaryOp op, Type type);
ScalarFn scalar_fn(Intrinsic op, Type type);
// `x as to`, between arithmetic types.
ScalarFn conversion(Type from, Type to);

// One element of memory, little-endian at any alignment: a load widens storage types and takes any
// nonzero bool for true, a store narrows.
Bits load_element(Type element, const std::byte* at);
void store_element(Type element, std::byte* at, Bits value);

// Bit patterns of the 16-bit floats. Widening is exact and shifts the payload of a NaN, signalling
// or not; narrowing rounds to nearest even and keeps the sign of a NaN and the top bits of its
// payload (the quiet bit if those are all zero). So narrowing undoes widening for every pattern.
float float_from_half(uint16_t bits);
uint16_t half_from_float(float value);
float float_from_bfloat(uint16_t bits);
uint16_t bfloat_from_float(float value);

// The value of an integer or bool, sign-extended where its type is signed.
constexpr __int128 integer_value(Type type, Bits bits) {
  if (type == Type::I32) return static_cast<int32_t>(static_cast<uint32_t>(bits));
  if (type == Type::I64) return static_cast<int64_t>(bits);
  return bits;
}

}  // namespace vyre::ir
