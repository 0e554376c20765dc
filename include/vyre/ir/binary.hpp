// SPDX-License-Identifier: Apache-2.0
// The binary form of a Program: canonical bytes. Equal programs have equal bytes whatever the order
// in which their nodes were made; decode() accepts exactly the bytes that encode() gives and
// nothing else.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vyre/base/digest.hpp"
#include "vyre/base/result.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::ir {

// The newest version that decode() reads. A program is written with the lowest version that has
// what it uses, so a new version changes neither the bytes nor the digest of an older program.
inline constexpr uint32_t kBinaryVersion = 2;

// The program must be free of Poison. Any depth is encoded; decode() holds the limits.
std::vector<std::byte> encode(const Program& program);
// An Error is InvalidProgram with one diagnostic whose message starts with the byte offset: V086 or
// V087, or the code of the text for a limit or name (V007 V008 V009 V015 V022 V027 V061). Locals
// are used only in their block.
Result<Program> decode(std::span<const std::byte> bytes);
// True if the bytes start like an encoded program (so that a tool can tell bytes from text).
bool is_encoded(std::span<const std::byte> bytes);
// Of the canonical bytes.
Digest digest_of(const Program& program);

}  // namespace vyre::ir
