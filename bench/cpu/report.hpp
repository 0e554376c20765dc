// SPDX-License-Identifier: Apache-2.0
// What a finished Bench has to say.
#pragma once

#include <string>

#include "harness.hpp"

namespace vyre::bench {

std::string to_markdown(const Bench& bench);
std::string to_json(const Bench& bench);

}  // namespace vyre::bench
