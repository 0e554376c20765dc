// SPDX-License-Identifier: Apache-2.0
// The poison mode: memory that the driver and the code generators do not clear, because a proof
// says that its contents are never read, is filled with a pattern at each dispatch. A program whose
// results depend on the pattern has a wrong proof. For tests; any build has it.
#pragma once

#include <cstddef>
#include <optional>

#include "vyre/base/result.hpp"

namespace vyre::run {

inline constexpr const char* kPoisonVariable = "VYRE_POISON";

// The pattern that the environment sets: a byte, as 165 or 0xA5; none if the variable is empty
// or not set. InvalidArgument for anything else.
Result<std::optional<std::byte>> poison_of_environment();

}  // namespace vyre::run
