// SPDX-License-Identifier: Apache-2.0
// The numbers of the binary form, shared by encoder and decoder. They are part of the format: a
// number never changes its meaning, and neither does the numeric value of an enumerator of
// types.hpp, ops.hpp or program.hpp that is written as a byte (binary_test.cpp pins them all).
// docs/design/binary-format.md describes the layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vyre::ir::binary {

// Not ASCII at the start, so no text begins like this; the line ends reveal a transfer that rewrote
// them.
inline constexpr std::array<uint8_t, 8> kMagic = {0x89, 'V', 'Y', 'R', 'E', '\r', '\n', 0x1a};
inline constexpr size_t kHeaderBytes = kMagic.size() + 4 + 4;  // magic, version, total length
inline constexpr size_t kMaxBytes = size_t{64} << 20;

// Numbers that came with a later version are marked; encoder and decoder call needs() for them.
inline constexpr uint32_t kFirstVersion = 1;

enum class Section : uint8_t { Declarations = 1, Header = 2, Functions = 3, Body = 4 };

enum class ExprCode : uint8_t {
  IntLiteral = 1,
  FloatLiteral = 2,
  BoolLiteral = 3,
  LocalRef = 4,
  ConstRef = 5,
  BuiltinRef = 6,
  Len = 7,
  Load = 8,
  Unary = 9,
  Binary = 10,
  Cast = 11,
  Bitcast = 12,
  IntrinsicCall = 13,
  Atomic = 14,
  Subgroup = 15,
  UniformLoad = 16,
  Call = 17,
  AxisIndex = 18,  // version 2
  AxisLen = 19,    // version 2
};

enum class StmtCode : uint8_t {
  Let = 1,
  Var = 2,
  DeclareArray = 3,
  Assign = 4,
  Store = 5,
  Eval = 6,
  If = 7,
  For = 8,
  While = 9,
  Break = 10,
  Continue = 11,
  Return = 12,
  Nested = 13,
  Region = 14,
  Barrier = 15,
  Fixpoint = 16,
  AsyncCopy = 17,
  Wait = 18,
  Trap = 19,
  Resume = 20,
  Collective = 21,
  Swap = 22,              // version 2
  Print = 23,             // version 2
  Assert = 24,            // version 2
  DeclareArrayWith = 25,  // version 2: a private array and its first values
  DeclareShaped = 26,     // version 2: a private array with axes
};

enum class ParamCode : uint8_t { Value = 1, Buffer = 2, Shaped = 3 };  // Shaped: version 2
enum class ArgCode : uint8_t { Value = 1, Memory = 2 };

// Which optional parts of a buffer declaration follow.
enum BufferPart : uint8_t {
  kHasCount = 1,
  kHasBinding = 2,
  kHasAlign = 4,
  kHasSize = 8,
  kHasRange = 16,
  kIsLiveOut = 32,
  kHasLocality = 64,
  kHasCoalesce = 128,
};

// Version 2: this bit of the kind in the declarations says that a second byte of parts follows the
// first.
inline constexpr uint8_t kHasMoreParts = 0x40;
enum MoreBufferPart : uint8_t { kIsScalar = 1, kHasAxes = 2 };
inline constexpr uint8_t kMoreParts = kIsScalar | kHasAxes;

enum ForPart : uint8_t { kHasStep = 1, kIsUnrolled = 2, kIsReversed = 4 /* version 2 */ };
inline constexpr uint8_t kForParts = kHasStep | kIsUnrolled | kIsReversed;

}  // namespace vyre::ir::binary
