// SPDX-License-Identifier: Apache-2.0
// What a lane keeps in private arrays. A program's arrays all have places of their own on the stack
// of a thread, those of inlined functions as often as these are called.
#pragma once

#include <cstdint>
#include <optional>

#include "vyre/base/result.hpp"
#include "vyre/check/check.hpp"

namespace vyre::codegen {

// On a processor's stack for a block of lanes; beyond it blocks have one lane.
inline constexpr uint64_t kMostBlockArrays = uint64_t{1} << 22;

// Of one lane, with every call inlined.
uint64_t private_bytes(const check::CheckedProgram& program);

// LimitExceeded for a program whose lanes need more than any thread has.
std::optional<Error> private_refusal(const check::CheckedProgram& program);

}  // namespace vyre::codegen
