// SPDX-License-Identifier: Apache-2.0
// Which outputs need not begin as zeros, because it is unobservable: the program stores every
// element before it can be read. A question about one launch, since what the lanes reach
// depends on the grid, on lengths and on uniforms.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vyre/check/check.hpp"
#include "vyre/check/launch.hpp"

namespace vyre::check {

// By BufferId. True only of a buffer for which the caller gives no contents, and only if the
// program, once it ends without an error, has stored all of it, each element before its first read;
// of a program that may be stopped by a lane (a trap, a fixpoint of 0 passes) only if all of it is
// stored before it can be.
//
// It holds for one pass of a program that is not checked. `given` by BufferId: bytes of the caller,
// of which those of uniforms are looked at; none: not known here.
std::vector<bool> overwritten(const CheckedProgram& checked, const Launch& launch,
                              std::span<const std::span<const std::byte>> given);

}  // namespace vyre::check
