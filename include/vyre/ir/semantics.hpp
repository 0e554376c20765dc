// SPDX-License-Identifier: Apache-2.0
// What programs mean: the rules every stage follows, in one place, and the limits of the language
// as constants. docs/language.md is the guide for users; the reference interpreter is this page as
// code.
//
// Execution. A dispatch runs a grid of workgroups of lanes, and every lane of every workgroup runs
// the whole
//   program: nothing hides an `id < n` guard. The grid is fixed once per dispatch. Within an
//   expression the left operand comes before the right one and each is evaluated once, arguments
//   from left to right; `&&` and `||` skip the right operand when the left one decides, select(c,
//   a, b) always evaluates both values. Statements run in source order. The bounds and the step of
//   a `for` and the maximum of a `fixpoint` are evaluated once, before the first pass. A `for` that
//   has an iteration and a step below 1 stops the lane like a trap, with the tag of
//   step_trap_tag() (src/ir/properties.hpp) and the low 32 bits of the step as value.
//
// Lanes that ended. A `return` outside functions or a trap without a resume ends the lane for the
// rest of the program:
//   it takes part in nothing more and no barrier waits for it. Barriers count only lanes that are
//   live.
//
// Memory is little-endian. `out` and `writeonly` buffers and private arrays start as zeros,
// `shared` buffers as zeros
//   in each workgroup. Nothing uninitialised can be read.
//
// Out of bounds is defined. An index may have any integer type; a negative or too large one makes a
// load give 0, a
//   store vanish, and an atomic do nothing and give 0. The same holds for buffers, shared memory,
//   tables and private arrays. In checked mode the access stops the dispatch instead and names
//   buffer, index, lane and line.
//
// Races. Two accesses to one element, at least one of them a write and not both atomic, that
// neither barriers nor
//   acquire/release order: a racing load gives one value, some earlier, concurrent or torn one, and
//   all uses of that load see the same value. Other elements are never touched, also when elements
//   are 8 or 16 bits wide.
//
// Integers wrap modulo 2^width. x / 0 = x and x % 0 = 0; MIN / -1 = MIN and MIN % -1 = 0; division
// truncates toward
//   zero, the remainder has the sign of the dividend. A literal zero as divisor is an error. Shifts
//   and rotates take an amount of any integer type and use its low log2(width) bits; >> copies the
//   sign of signed values. Unary minus wraps on unsigned values. clz(0) = ctz(0) = width, abs(MIN)
//   = MIN, abs_diff is modulo 2^width, clamp(x, lo, hi) = min(max(x, lo), hi), also for floats.
//   Counts have the operand's type.
//
// Floats are IEEE-754. + - * / fma sqrt and conversions are rounded once, to nearest even; nothing
// is contracted,
//   reassociated or replaced by an approximation unless the caller allows some ULP. Subnormals are
//   kept unless the device says otherwise. min and max ignore one NaN, min(-0, +0) = -0; round is
//   half to even; sign(+-0) = +-0. The bits of a NaN that arithmetic gives (every operator and
//   function of floats, also unary minus, abs, min and max, and `as`) are unspecified; loads,
//   stores, select, bitcast, shuffles, atomic exchange and copies keep all bits. Transcendental
//   functions have one implementation, so they give the same bits everywhere. There is no float %.
//
// Conversions happen only where `as` stands. Integer to integer keeps the low bits (signed sources
// extend their
//   sign); float to integer truncates, saturates, and takes NaN to 0; to float rounds to nearest
//   even; to bool is
//   `!= 0`; bool to number is 0 or 1. bitcast<T>(x) reinterprets bits of the same width. Storage
//   types exist in buffers only: loads widen (u8 u16 to u32, i8 i16 to i32, f16 bf16 to f32,
//   exactly), stores keep the low bits or round to nearest even. A load of f16 or bf16 widens a NaN
//   by shifting its payload, signalling or not; a store keeps its sign and the top bits of its
//   payload, and sets the quiet bit if those are all zero: what is only loaded and stored keeps all
//   bits. A bool in a buffer takes 4 bytes; any nonzero word reads as true, stores write 0 or 1.
//
// Types of literals. A literal without a suffix takes the type its place expects (destination,
// declared type,
//   parameter, the other operand, select arm or range bound) if it is exactly representable there;
//   decimals fit float types only and are rounded. Where nothing is expected a whole number is u32,
//   i32 if it carries a minus, and a decimal is f32. A minus directly before a literal is part of
//   it. A value that does not fit is an error.
//
// Atomics give the old value; atomic_cas is strong. On elements of 8 and 16 bits v counts with as
// many low bits, and the old value widens as a load does. min and max of floats change the element,
// to the bits of v, only if v is a number and the old value is a NaN or v comes strictly before
// (max: after) it, -0 before +0. Orders are relaxed (default), acquire, release,
// acq_rel, of
//   device scope, or of workgroup scope on shared memory; there is no seq_cst. `b[i] op= e`
//   evaluates i once and is a plain load and store, not an atomic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vyre::ir {

// Blocks around a statement. The braces of the program itself do not count, the body of a function
// counts as one, and so does the `region main` that wraps loose top-level statements. An `else if`
// is an If inside an else block: one deeper.
inline constexpr uint32_t kMaxNesting = 64;
// Nodes on the longest path through one expression; a leaf alone has depth 1.
inline constexpr uint32_t kMaxExprDepth = 128;
inline constexpr size_t kMaxNameBytes = 255;
// After inlining.
inline constexpr uint32_t kMaxStatements = 100'000;
inline constexpr uint32_t kMaxBindings = 64;
inline constexpr uint32_t kMaxArrayElements = 4096;
inline constexpr uint32_t kMaxUniformBytes = 65'536;
inline constexpr uint32_t kMaxTag = 65'535;
// Of a print or an assert; so many bytes in its format.
inline constexpr uint32_t kMaxPrintArguments = 16;
inline constexpr uint32_t kMaxFormatBytes = 4'096;
// Expressions and statements of one program in all, as written: keeps the memory of a hostile
// program in bounds.
inline constexpr size_t kMaxNodes = size_t{1} << 21;

}  // namespace vyre::ir
