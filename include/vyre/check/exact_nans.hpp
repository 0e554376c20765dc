// SPDX-License-Identifier: Apache-2.0
// Which buffers hold only bits that a program specifies. The bits of a NaN that arithmetic gives
// are unspecified, those of copies are not: two devices must agree on every bit of a buffer that
// nothing but copies reaches.
#pragma once

#include <vector>

#include "vyre/check/check.hpp"

namespace vyre::check {

// By BufferId. True: no NaN that arithmetic gives can get into the buffer, neither directly nor by
// way of locals, functions, other memory or its bits in integers. False also where that is not
// found out. Which way lanes take is not followed: a program whose branches depend on unspecified
// bits has no single result anyway.
std::vector<bool> exact_nans(const CheckedProgram& checked);

}  // namespace vyre::check
